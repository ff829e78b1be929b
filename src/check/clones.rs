//! Other repositories of which the configuration names a local clone.
//!
//! Takes their URLs and folders; hands on the files that a git generator reads of them, as the clone has them: nothing is fetched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::revisions::Revisions;
use crate::config::LocalClone;
use crate::repo::follow::Pin;
use crate::repo::{Follows, MergeTarget, RefNames, RepoError, RepoUrl, Repository, Tree, clean_path, revision_follows, without_password};

/// Index of a clone, and a revision as generators name it.
type Wanted = (usize, String);
/// Files and commit, or why there are none.
type Read = Result<(Tree, String), String>;

/// The clones that the configuration names.
#[derive(Default)]
pub(super) struct Clones {
    list: Vec<Clone>,
    /// What was read, by clone and revision.
    files: Mutex<BTreeMap<Wanted, Read>>,
}

struct Clone {
    url: RepoUrl,
    /// URL and folder as the configuration has them.
    shown: String,
    folder: PathBuf,
    opened: OnceLock<Result<Opened, String>>,
}

/// A clone with the names that its revisions go by.
struct Opened {
    repository: Repository,
    names: RefNames,
    default_branch: Option<String>,
}

impl Clones {
    /// The clones that can be used. Of the others it is noted why not. Folders are from the repository's root.
    pub(super) fn new(configured: &[LocalClone], revisions: &mut Revisions) -> Self {
        let (mut list, mut notes): (Vec<Clone>, Vec<String>) = Default::default();
        for LocalClone { url, path } in configured {
            let shown = format!("the clone {path} of {}", without_password(url));
            let Some(parsed) = RepoUrl::parse(url) else {
                notes.push(format!("{shown} is left out: this is no URL of a repository"));
                continue;
            };
            if revisions.urls.contains(&parsed) {
                notes.push(format!("{shown} is left out: this is the repository that is checked"));
            } else if list.iter().any(|known| known.url == parsed) {
                notes.push(format!("{shown} is left out: the configuration names another clone of it before"));
            } else if is_tracked(path, revisions) {
                notes.push(format!("{shown} is left out: the folder is a part of this repository, and the change decides what is in it"));
            } else {
                let folder = revisions.repository.root().map_or_else(|| Path::new(path).to_owned(), |root| root.join(path));
                list.push(Clone { url: parsed, shown, folder, opened: OnceLock::new() });
            }
        }
        revisions.notes.extend(notes);
        Self { list, files: Mutex::default() }
    }

    /// The files of another repository at a revision; `None` where no clone of it is named.
    pub(super) fn files(&self, url: &str, revision: &str) -> Option<Result<Tree, String>> {
        if self.list.is_empty() {
            return None;
        }
        let url = RepoUrl::parse(url)?;
        let index = self.list.iter().position(|clone| clone.url == url)?;
        let clone = self.list.get(index)?;
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let found = files.entry((index, revision.to_owned())).or_insert_with(|| clone.at(revision));
        Some(found.clone().map(|(tree, _)| tree))
    }

    /// What was read, for people.
    pub(super) fn notes(&self) -> Vec<String> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |(index, revision): &Wanted, read: &Read| {
            let (clone, (_, commit)) = (self.list.get(*index)?, read.as_ref().ok()?);
            let revision = if revision.is_empty() { "HEAD" } else { revision };
            Some(format!("generators read {revision} of {}: commit {}", clone.shown, commit.get(..12).unwrap_or(commit)))
        };
        files.iter().filter_map(|(wanted, read)| of(wanted, read)).collect()
    }
}

/// Whether the repository that is checked has files in this folder.
fn is_tracked(path: &str, revisions: &Revisions) -> bool {
    let from_root = revisions.repository.root().and_then(|root| Path::new(path).strip_prefix(root).ok()).and_then(Path::to_str);
    let path = from_root.unwrap_or(path);
    !path.starts_with('/') && clean_path(path).is_some_and(|path| revisions.base.is_dir(&path) || revisions.head.is_dir(&path))
}

impl Clone {
    /// The files of a revision and their commit.
    ///
    /// Source: Argo CD `util/git/client.go:lsRemote` decides what a revision means.
    fn at(&self, revision: &str) -> Read {
        let opened = self.opened.get_or_init(|| self.open()).as_ref().map_err(String::clone)?;
        let merge = MergeTarget {
            base_branch: "",
            head_branch: None,
            default_branch: opened.default_branch.as_deref(),
            branches: &opened.names.branches,
            tags: &opened.names.tags,
        };
        let names = match revision_follows(revision, "", &merge) {
            Follows::OtherBranch(branch) => vec![format!("refs/remotes/origin/{branch}"), format!("refs/heads/{branch}")],
            Follows::Pinned(Pin::Commit(commit)) => vec![commit],
            Follows::Pinned(Pin::Tag(tag) | Pin::Newest { tag: Some(tag), .. }) => vec![format!("refs/tags/{tag}")],
            Follows::UnknownDefaultBranch => {
                return Err(format!(
                    "{} does not tell which branch HEAD is; `git remote set-head origin --auto` in it asks for that",
                    self.shown
                ));
            }
            _ => Vec::new(),
        };
        let repository = &opened.repository;
        let commit = names.iter().find_map(|name| repository.resolve(name).ok());
        let commit = commit.ok_or_else(|| format!("{} does not have the revision {revision}; fetch it there", self.shown))?;
        let tree = repository.commit_tree(&commit).map_err(|error| format!("{}: {error}", self.shown))?;
        Ok((tree, commit.to_string()))
    }

    fn open(&self) -> Result<Opened, String> {
        let failed = |error: RepoError| format!("{} cannot be read: {error}", self.shown);
        let repository = Repository::at(&self.folder).map_err(failed)?;
        let names = repository.ref_names().map_err(failed)?;
        let default_branch = repository.default_branch().or_else(|| repository.current_branch());
        Ok(Opened { repository, names, default_branch })
    }
}
