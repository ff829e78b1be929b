//! Which version of the configuration counts.
//!
//! Takes the two sides; hands on the [`Configuration`] of the base. A pull request cannot give itself permissions: what it changes in the
//! configuration counts after the merge.

use std::fs;
use std::path::{Path, PathBuf};

use super::options::Options;
use super::revisions::Revisions;
use crate::config::{Cluster, Config, ConfigError, FILE};
use crate::repo::{LinkError, LinkTarget, Tree};
use crate::snapshot::ClusterInfo;

/// The configuration that counts, and what the change does to it.
#[derive(Default)]
pub(super) struct Configuration {
    /// The settings.
    pub(super) config: Config,
    /// The file's path and text, where there is one.
    pub(super) file: Option<(String, String)>,
    /// Whether the file is one of the repository.
    pub(super) is_inside: bool,
    /// The file as the change leaves it, where the change touches it.
    pub(super) after: Option<(Config, String)>,
}

/// Reads the configuration. A file inside of the repository is read as the base has it, one elsewhere as it is on disk.
pub(super) fn read(options: &Options, revisions: &mut Revisions) -> Result<Configuration, ConfigError> {
    let path = match &options.config {
        None => FILE.to_owned(),
        Some(file) => match inside(file, revisions.repository.root())? {
            Some(path) => path,
            None => {
                let text = fs::read_to_string(file).map_err(|error| unreadable(file, &error))?;
                let config = Config::parse(&shown(file), &text)?;
                return Ok(Configuration { config, file: Some((shown(file), text)), ..Configuration::default() });
            }
        },
    };
    let mut after = None;
    if revisions.changes.touches(&path) {
        revisions
            .notes
            .push(format!("the configuration is that of the base revision; what this change does to {path} counts after the merge"));
        // Whoever breaks it is told now, and not by the next check.
        after = text(&revisions.head, &path)?.map(|text| Ok((Config::parse(&path, &text)?, text))).transpose()?;
    }
    match text(&revisions.base, &path)? {
        Some(text) => Ok(Configuration { config: Config::parse(&path, &text)?, file: Some((path, text)), is_inside: true, after }),
        None if options.config.is_none() => {
            Ok(Configuration { file: Some((path, String::new())), is_inside: true, after, ..Configuration::default() })
        }
        None => Err(ConfigError::Unreadable {
            file: path,
            reason: "the base revision does not have it".to_owned(),
            help: Some(
                "A configuration inside of the repository is read from the base revision. Commit it there first, or name a file elsewhere."
                    .to_owned(),
            ),
        }),
    }
}

impl Configuration {
    /// The configured snapshots, where no others are asked for. Paths are from the repository's root.
    pub(super) fn snapshots(&self, options: &Options, revisions: &mut Revisions) -> Option<Vec<String>> {
        let sources = &self.config.snapshots.sources;
        if sources.is_empty() || !options.snapshots.is_empty() {
            return None;
        }
        for source in sources.iter().filter(|source| revisions.changes.touches(source)) {
            revisions.notes.push(format!("the snapshot {source} is one that this change edits: its live state is what the change says"));
        }
        let root = revisions.repository.root();
        let placed = |source: &String| match root {
            Some(root) if !source.contains("://") => root.join(source).to_string_lossy().into_owned(),
            _ => source.clone(),
        };
        Some(sources.iter().map(placed).collect())
    }
}

/// The clusters that the configuration names.
pub(super) fn clusters(config: &Config) -> Vec<ClusterInfo> {
    let of = |cluster: &Cluster| {
        let Cluster { name, server, project, labels, annotations } = cluster;
        ClusterInfo::configured(name, server, project, labels.clone(), annotations.clone())
    };
    config.clusters.iter().map(of).collect()
}

/// The path from the repository's root, of a file inside of it.
fn inside(file: &Path, root: Option<&Path>) -> Result<Option<String>, ConfigError> {
    let real = |path: &Path| -> Result<PathBuf, ConfigError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = fs::canonicalize(folder).map_err(|error| unreadable(file, &error))?;
        Ok(path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name)))
    };
    let Some(root) = root.and_then(|root| fs::canonicalize(root).ok()) else { return Ok(None) };
    // As it is named, and where a link leads: neither may be a file of the pull request.
    let named = real(file)?;
    let led = fs::canonicalize(&named).unwrap_or_else(|_| named.clone());
    let relative = [&named, &led].into_iter().find_map(|path| path.strip_prefix(&root).ok());
    Ok(relative.map(|path| path.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")))
}

/// The text of a file at a revision; `None` where there is none.
pub(super) fn text(tree: &Tree, path: &str) -> Result<Option<String>, ConfigError> {
    let unreadable = |reason: String| ConfigError::Unreadable { file: path.to_owned(), reason, help: None };
    let entry = match tree.resolve_link(path) {
        Ok(LinkTarget::File(entry)) => entry,
        Ok(LinkTarget::Directory(_)) => return Err(unreadable("it is a directory".to_owned())),
        Err(LinkError::Dangling { .. }) => return Ok(None),
        Err(error) => return Err(unreadable(error.to_string())),
    };
    let bytes = tree.read_entry(&entry).map_err(|error| unreadable(error.to_string()))?;
    String::from_utf8(bytes.to_vec()).map(Some).map_err(|_| unreadable("it is not UTF-8".to_owned()))
}

fn unreadable(file: &Path, error: &std::io::Error) -> ConfigError {
    ConfigError::Unreadable { file: shown(file), reason: error.to_string(), help: None }
}

fn shown(file: &Path) -> String {
    file.display().to_string()
}
