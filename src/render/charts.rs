//! Charts of Helm repositories and registries, fetched by `helm` with the user's own configuration of it.
//!
//! Takes a chart's name, repository and version; hands on its files as a tree. What is fetched stays in the cache folder.

pub mod access;

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tempfile::TempDir;

use self::access::Access;
use super::helm;
use super::program::{Call, ProgramError};
use super::request::{RenderError, Stop, Workshop};
use crate::repo::{Repository, Tree, private_folder, without_password};

/// Bytes of all files of one chart.
const MAX_BYTES: u64 = 128 << 20;
/// Files of one chart.
const MAX_FILES: usize = 20_000;
/// Opens the name of a folder that is being filled.
const ASIDE: &str = "aside-";

/// A chart of a Helm repository or registry, as a source or a dependency names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// `repoURL`.
    pub repository: String,
    /// The chart's name.
    pub chart: String,
    /// A version or a range of versions.
    pub version: String,
}

/// A chart that was fetched.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Its files, from the folder with `Chart.yaml`.
    pub tree: Tree,
    /// Its version.
    pub version: String,
}

/// A helm that knows one repository, whose index it has read, or one registry.
struct Client {
    home: TempDir,
    environment: Vec<(OsString, OsString)>,
}

type Once<T> = Arc<OnceLock<Result<T, Stop>>>;

/// The charts of a run, each fetched once, and each index read once.
#[derive(Default)]
pub struct Charts {
    folder: Option<PathBuf>,
    access: Access,
    charts: Mutex<HashMap<Wanted, Once<Fetched>>>,
    clients: Mutex<HashMap<String, Once<Arc<Client>>>>,
}

impl Charts {
    /// Charts are kept below the cache folder; without one they go with the run.
    pub fn new(cache: Option<&Path>, access: Access) -> Self {
        Self { folder: cache.map(|cache| cache.join("charts-1")), access, ..Self::default() }
    }

    /// The user's configuration of helm.
    pub(super) fn access(&self) -> &Access {
        &self.access
    }

    /// Fetches a chart, or finds it where it was fetched before: exact versions never change.
    ///
    /// # Errors
    /// When there is no such chart, as Argo CD would find as well, or when it cannot be fetched from here.
    ///
    /// Source: Argo CD `util/helm/client.go:ExtractChart`, `reposerver/repository/repository.go:newHelmClientResolveRevision`.
    pub fn fetch(&self, wanted: &Wanted, workshop: &Workshop, repository: &Repository) -> Result<Fetched, Stop> {
        let cell = Arc::clone(self.charts.lock().unwrap_or_else(PoisonError::into_inner).entry(wanted.clone()).or_default());
        cell.get_or_init(|| self.fetch_anew(wanted, workshop, repository)).clone()
    }

    fn fetch_anew(&self, wanted: &Wanted, workshop: &Workshop, repository: &Repository) -> Result<Fetched, Stop> {
        let place = Place::of(wanted)?;
        let kept = self.folder.as_ref().map(|folder| folder.join(wanted.key()));
        if (workshop.offline || is_exact(&wanted.version))
            && let Some(fetched) = kept.as_deref().and_then(|kept| read(wanted, kept, repository).ok())
        {
            return Ok(fetched);
        }
        if workshop.offline {
            return Err(Stop::unjudged(wanted.to_string(), "it comes from the network, which --offline rules out"));
        }
        let unreadable = |error: io::Error| Stop::unjudged(wanted.to_string(), format!("it cannot be kept on disk: {error}"));
        let client = self.client(wanted, &place, workshop)?;
        let aside = match &self.folder {
            Some(folder) => private_folder(folder).and_then(|()| tempfile::Builder::new().prefix(ASIDE).tempdir_in(folder)),
            None => tempfile::tempdir_in(client.home.path()),
        };
        let aside = aside.map_err(unreadable)?;
        pull(wanted, &place, workshop, &client, aside.path())?;
        let fetched = read(wanted, aside.path(), repository)?;
        if let Some(kept) = kept {
            keep(aside, &kept, is_exact(&wanted.version)).map_err(unreadable)?;
        }
        Ok(fetched)
    }

    /// The client of a chart's repository.
    fn client(&self, wanted: &Wanted, place: &Place, workshop: &Workshop) -> Result<Arc<Client>, Stop> {
        let url = wanted.repository.trim_end_matches('/').to_owned();
        let cell = Arc::clone(self.clients.lock().unwrap_or_else(PoisonError::into_inner).entry(url).or_default());
        let made = cell.get_or_init(|| {
            let home = workshop.scratch.home().map_err(|error| Stop::scratch(wanted.to_string(), &error))?;
            let environment = self
                .access
                .environment(home.path(), [wanted.repository.as_str()])
                .map_err(|error| Stop::unjudged(wanted.to_string(), format!("the configuration for helm cannot be written: {error}")))?;
            let client = Client { home, environment };
            if matches!(place, Place::Repository) {
                client.run(wanted, workshop, ["repo", "update", access::FIRST_NAME].map(OsString::from).into())?;
            }
            Ok(Arc::new(client))
        });
        made.clone()
    }
}

impl Client {
    fn run(&self, wanted: &Wanted, workshop: &Workshop, arguments: Vec<OsString>) -> Result<(), Stop> {
        let program = workshop.programs.helm().map_err(|missing| Stop::missing(wanted.to_string(), missing))?;
        let (home, limits) = (self.home.path(), workshop.limits.clone());
        let call = Call { program, arguments, directory: home, home, environment: self.environment.clone(), limits };
        call.run().map(drop).map_err(|error| refused(wanted, &error))
    }
}

/// Has helm fetch a chart and lay out its files below `into`.
fn pull(wanted: &Wanted, place: &Place, workshop: &Workshop, client: &Client, into: &Path) -> Result<(), Stop> {
    let mut untar = OsString::from("--untardir=");
    untar.push(into);
    let named = match place {
        Place::Registry(url) => url.clone(),
        Place::Repository => format!("{}/{}", access::FIRST_NAME, wanted.chart),
    };
    // Behind the dashes nothing is an option, whatever the pull request calls it.
    let arguments = vec!["pull".into(), format!("--version={}", wanted.version).into(), "--untar".into(), untar, "--".into(), named.into()];
    client.run(wanted, workshop, arguments)
}

/// Where a chart is.
enum Place {
    /// In a repository with an index.
    Repository,
    /// In a registry, under this address.
    Registry(String),
}

impl Place {
    /// Source: Argo CD `util/helm/client.go` and `reposerver/repository/repository.go`: a `repoURL` without scheme is a registry's.
    fn of(wanted: &Wanted) -> Result<Self, Stop> {
        let Wanted { repository, chart, version } = wanted;
        if version.is_empty() {
            let message = format!("the chart {chart} has no version: Argo CD needs targetRevision where a source names a chart");
            return Err(RenderError::new("render-failed", message, "Set targetRevision to a version of the chart.").into());
        }
        match repository.split_once("://") {
            Some(("https" | "http", _)) => Ok(Self::Repository),
            Some(("oci", host)) => Ok(Self::Registry(format!("oci://{}/{chart}", host.trim_end_matches('/')))),
            None => Ok(Self::Registry(format!("oci://{}/{chart}", repository.trim_end_matches('/')))),
            Some((scheme, _)) => {
                Err(Stop::unjudged(wanted.to_string(), format!("presync fetches charts over https and oci, not over {scheme}")))
            }
        }
    }
}

impl Wanted {
    fn key(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for part in [&self.repository, &self.chart, &self.version] {
            hasher.update(part.as_bytes()).update(&[0]);
        }
        hasher.finalize().to_hex().to_string()
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "chart {} {} of {}", self.chart, self.version, without_password(&self.repository))
    }
}

/// Whether a version names one release of a chart and no range.
pub(super) fn is_exact(version: &str) -> bool {
    let version = version.strip_prefix('v').unwrap_or(version);
    let numbers = version.split(['-', '+']).next().unwrap_or_default();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let rest = version.get(numbers.len()..).unwrap_or_default();
    numbers.split('.').count() == 3
        && numbers.split('.').all(is_number)
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.'))
}

/// What it means that helm could not fetch something: a chart or version that does not exist stops Argo CD as well; the rest may be due to
/// this machine's network or credentials.
pub(super) fn refused(what: &impl std::fmt::Display, error: &ProgramError) -> Stop {
    let said = crate::repo::without_passwords(&error.to_string());
    let said = said.rfind("Error: ").and_then(|at| said.get(at + "Error: ".len()..)).unwrap_or(&said).trim();
    let first = said.lines().next().unwrap_or_default();
    if is_absent(first) {
        let message = format!("{what} does not exist: {first}");
        return RenderError::new("render-failed", message, "Name a version of the chart that its repository has.").into();
    }
    Stop::unjudged(what.to_string(), format!("helm cannot fetch it from here: {first}"))
}

/// Whether helm says that a chart or version does not exist.
pub(super) fn is_absent(said: &str) -> bool {
    ["no chart name found", "no chart version found", "chart version not found", "could not find version", "can't get a valid version"]
        .iter()
        .any(|text| said.contains(text))
        || (said.contains("chart \"") && said.contains("not found in"))
        || (said.contains("matching") && said.contains("not found in"))
        || said.ends_with(": not found")
}

/// Moves what was fetched to where it is kept. Another process may have been faster.
fn keep(aside: TempDir, kept: &Path, is_exact: bool) -> io::Result<()> {
    if !is_exact && kept.exists() {
        // What a range meant the last time gives way.
        let old = tempfile::Builder::new().prefix(ASIDE).tempdir_in(kept.parent().unwrap_or(kept))?;
        let _ = fs::rename(kept, old.path().join("old"));
    }
    match fs::rename(aside.path(), kept) {
        Ok(()) => {
            let _ = aside.keep();
            Ok(())
        }
        Err(_) if kept.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// The files of a chart that helm has laid out in a folder of its own below `folder`.
fn read(wanted: &Wanted, folder: &Path, repository: &Repository) -> Result<Fetched, Stop> {
    let unjudged = |why: String| Stop::unjudged(wanted.to_string(), why);
    let root = fs::read_dir(folder)
        .and_then(|mut entries| entries.find(|entry| entry.as_ref().is_ok_and(|entry| entry.path().is_dir())).transpose())
        .map_err(|error| unjudged(error.to_string()))?
        .ok_or_else(|| unjudged("helm fetched nothing".to_owned()))?;
    let mut files = Vec::new();
    walk(&root.path(), "", &mut files, &mut 0).map_err(|error| unjudged(error.to_string()))?;
    let tree = repository.unpacked(files).map_err(|error| unjudged(error.to_string()))?;
    let version = helm::chart_version(&tree).unwrap_or_else(|| wanted.version.clone());
    Ok(Fetched { tree, version })
}

fn walk(folder: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>, bytes: &mut u64) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let Some(path) = entry.file_name().to_str().map(|name| format!("{prefix}{name}")) else { continue };
        if kind.is_dir() {
            walk(&entry.path(), &format!("{path}/"), files, bytes)?;
        } else if kind.is_file() {
            *bytes += entry.metadata()?.len();
            if *bytes > MAX_BYTES || files.len() >= MAX_FILES {
                return Err(io::Error::other(format!("the chart has more than {MAX_FILES} files or {} MiB", MAX_BYTES >> 20)));
            }
            files.push((path, fs::read(entry.path())?));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_told_from_a_range() {
        for version in ["1.2.3", "v1.2.3", "0.1.0-rc.1", "1.2.3+build.5"] {
            assert!(is_exact(version), "{version}");
        }
        for range in ["", "*", "1", "1.2", "1.x", "^1.2.3", "~1.2.3", ">=1.2.3", "1.2.3 - 2.0.0", "1.2.3 || 2.0.0"] {
            assert!(!is_exact(range), "{range}");
        }
    }

    #[test]
    fn a_chart_of_too_many_or_too_large_files_is_refused_and_links_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let walked = || {
            let mut files = Vec::new();
            walk(folder.path(), "", &mut files, &mut 0).map(|()| files.len()).map_err(|error| error.to_string())
        };
        fs::write(folder.path().join("Chart.yaml"), "name: a\n").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("values.yaml")).unwrap();
        assert_eq!(walked(), Ok(1));
        let large = fs::File::create(folder.path().join("large")).unwrap();
        large.set_len(MAX_BYTES + 1).unwrap();
        assert_eq!(walked().unwrap_err(), "the chart has more than 20000 files or 128 MiB");
        large.set_len(1).unwrap();
        (1..MAX_FILES).for_each(|number| fs::write(folder.path().join(number.to_string()), "").unwrap());
        assert_eq!(walked().unwrap_err(), "the chart has more than 20000 files or 128 MiB");
    }

    #[test]
    fn only_what_does_not_exist_is_argo_cds_failure_too() {
        let said = |stderr: &str| {
            let error = ProgramError::Failed { program: "helm".into(), status: "exit status: 1".into(), stderr: stderr.into() };
            refused(&"chart web 9.9.9 of https://charts.example.test", &error)
        };
        let absent = "Error: chart \"web\" version \"9.9.9\" not found in https://charts.example.test repository";
        assert!(matches!(said(absent), Stop::Failed(_)));
        assert!(matches!(said("Error: looks like \"https://x\" is not a valid chart repository: 401 Unauthorized"), Stop::Unjudged { .. }));
        assert!(matches!(said("Error: dial tcp: lookup charts.example.test: no such host"), Stop::Unjudged { .. }));
    }

    #[test]
    fn a_registry_is_what_has_no_scheme_or_oci() {
        let place = |repository: &str| {
            let wanted = Wanted { repository: repository.into(), chart: "web".into(), version: "1.0.0".into() };
            match Place::of(&wanted) {
                Ok(Place::Registry(url)) => url,
                Ok(Place::Repository) => "repository".to_owned(),
                Err(stop) => format!("{stop:?}"),
            }
        };
        assert_eq!(place("registry.example.test/charts/"), "oci://registry.example.test/charts/web");
        assert_eq!(place("oci://registry.example.test/charts"), "oci://registry.example.test/charts/web");
        assert_eq!(place("https://charts.example.test"), "repository");
        assert!(place("file:///etc").contains("not over file"));
    }
}
