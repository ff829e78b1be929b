//! Opens the two sides of the change.
//!
//! Takes the options; hands on the trees of base and head, what changed between them, and under which names the repository is known.

use std::env;

use super::options::{Head, Options};
use crate::manifest::Side;
use crate::repo::{ChangeSet, Commit, Kept, RepoError, RepoUrl, Repository, Tree, TreeNote};

/// The two sides of the change.
pub(super) struct Revisions {
    /// The repository.
    pub(super) repository: Repository,
    /// What is deployed now.
    pub(super) base: Tree,
    /// What would be merged.
    pub(super) head: Tree,
    /// Full commit id of the base.
    pub(super) base_name: String,
    /// Full commit id of the head, or `worktree` or `index`.
    pub(super) head_name: String,
    /// Paths that differ.
    pub(super) changes: ChangeSet,
    /// URLs of this repository; empty where none is known and every source counts as this repository.
    pub(super) urls: Vec<RepoUrl>,
    /// The branch that the change will be merged into.
    pub(super) base_branch: String,
    /// The branch that the change comes from.
    pub(super) head_branch: Option<String>,
    /// The branch that `HEAD` means in a `targetRevision`.
    pub(super) default_branch: Option<String>,
    /// Branches of the repository.
    pub(super) branches: Vec<String>,
    /// Tags of the repository.
    pub(super) tags: Vec<String>,
    /// Remarks for people.
    pub(super) notes: Vec<String>,
}

impl Revisions {
    /// The tree of a side.
    pub(super) fn tree(&self, side: Side) -> &Tree {
        match side {
            Side::Base => &self.base,
            Side::Head => &self.head,
        }
    }

    /// Whether a file that the change writes mentions a setting of Argo CD's, so that the snapshot may soon be wrong about it.
    pub(super) fn change_mentions(&self, setting: &str) -> bool {
        let finder = memchr::memmem::Finder::new(setting);
        let mut texts = self.changes.touched().iter().filter_map(|path| self.head.read(path).ok());
        texts.any(|text| finder.find(&text).is_some())
    }

    /// Finds out under which URLs this repository is known.
    pub(super) fn know_urls(&mut self, options: &Options, configured: &[String]) {
        self.urls = known_urls(&self.repository, options, configured);
        if self.urls.is_empty() {
            self.notes.push(without_url(&self.repository.remote_urls()));
        }
    }
}

/// The note on a repository of which no URL is known that Applications could name.
fn without_url(remotes: &[String]) -> String {
    let why = match remotes {
        [] => "this repository has no remote".to_owned(),
        [url] => format!("this repository's remote, {url}, is no address of a server that Applications could name"),
        [url, ..] => format!("none of this repository's remotes, such as {url}, is the address of a server that Applications could name"),
    };
    format!("{why}, so every Application source counts as being in it; say --repo-url URL to tell them apart")
}

/// Opens the repository and both sides, and what earlier runs have read of it.
pub(super) fn open(options: &Options) -> Result<(Revisions, Kept), RepoError> {
    let repository = Repository::discover(&options.repo)?;
    let mut notes = Vec::new();
    let asked = options.base.clone().or_else(base_from_ci).unwrap_or_else(|| "HEAD".to_owned());
    let tip = match &options.head {
        Head::Revision(revision) => Some(repository.resolve(revision)?),
        Head::Worktree | Head::Index => None,
    };
    let base_commit = base_commit(&repository, &asked, tip.as_ref(), &mut notes)?;
    let (head, (base, kept)) = rayon::join(
        || match (&options.head, &tip) {
            (Head::Revision(_), Some(commit)) => repository.commit_tree(commit),
            (Head::Index, _) => repository.index_tree(),
            _ => repository.worktree(),
        },
        || {
            let kept = options.cache.as_deref().map(|directory| Kept::open(directory, &repository));
            (repository.commit_tree(&base_commit), kept.unwrap_or_default())
        },
    );
    let (base, head) = (base?, head?);
    for note in base.notes().iter().chain(head.notes()) {
        notes.push(describe(note));
    }
    let names = repository.ref_names()?;
    let default_branch = repository.default_branch();
    let base_branch = base_branch(&asked, &names.branches, default_branch.as_deref(), repository.current_branch().as_deref());
    let head_branch = head_branch(&options.head, &names.branches, repository.current_branch());
    let revisions = Revisions {
        repository,
        changes: ChangeSet::between(&base, &head),
        base_name: base_commit.to_string(),
        head_name: match (&options.head, tip) {
            (Head::Revision(_), Some(commit)) => commit.to_string(),
            (Head::Index, _) => "index".to_owned(),
            _ => "worktree".to_owned(),
        },
        head_branch,
        default_branch: default_branch.or_else(|| Some(base_branch.clone())),
        base,
        head,
        urls: Vec::new(),
        base_branch,
        branches: names.branches,
        tags: names.tags,
        notes,
    };
    Ok((revisions, kept))
}

/// The commit that is deployed now: where base and head part.
fn base_commit(repository: &Repository, asked: &str, tip: Option<&Commit>, notes: &mut Vec<String>) -> Result<Commit, RepoError> {
    let base = repository.resolve(asked)?;
    let tip = match tip {
        Some(tip) => *tip,
        // Without a commit there is nothing to part from; an unborn branch compares with the base itself.
        None => match repository.resolve("HEAD") {
            Ok(tip) => tip,
            Err(_) => return Ok(base),
        },
    };
    if base == tip {
        return Ok(base);
    }
    let parted = repository.merge_base_or_explain(&base, &tip)?;
    if parted != base {
        notes.push(format!(
            "{asked} has moved on since this change branched off; compared with the merge base {}",
            short(&parted.to_string())
        ));
    }
    Ok(parted)
}

fn describe(note: &TreeNote) -> String {
    match note {
        TreeNote::PathNotUtf8 { path } => format!("{path} is left out: its name is not UTF-8"),
        TreeNote::Unreadable { path, reason } => format!("{path} is left out: {reason}"),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// The pull request's base in CI.
fn base_from_ci() -> Option<String> {
    if let Some(branch) = env_text("GITHUB_BASE_REF") {
        return Some(format!("origin/{branch}"));
    }
    env_text("CI_MERGE_REQUEST_DIFF_BASE_SHA")
}

fn env_text(name: &str) -> Option<String> {
    env::var(name).ok().filter(|text| !text.is_empty())
}

/// The branch that the change will be merged into.
fn base_branch(asked: &str, branches: &[String], default: Option<&str>, current: Option<&str>) -> String {
    let named = ["refs/heads/", "refs/remotes/origin/", "origin/"].iter().find_map(|prefix| asked.strip_prefix(prefix)).unwrap_or(asked);
    if branches.iter().any(|branch| branch == named) {
        return named.to_owned();
    }
    let from_ci = env_text("GITHUB_BASE_REF").or_else(|| env_text("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"));
    let usual = ["main", "master"].into_iter().find(|usual| branches.iter().any(|branch| branch == usual));
    from_ci.as_deref().or(default).or(usual).or(current).unwrap_or("main").to_owned()
}

/// The branch that the change comes from: what CI says, the branch that was asked for, or the one that is checked out.
fn head_branch(head: &Head, branches: &[String], current: Option<String>) -> Option<String> {
    let from_ci = || env_text("GITHUB_HEAD_REF").or_else(|| env_text("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME"));
    let asked = match head {
        Head::Revision(revision) if revision != "HEAD" => {
            let prefixes = ["refs/heads/", "refs/remotes/origin/", "origin/"];
            let named = prefixes.iter().find_map(|prefix| revision.strip_prefix(prefix)).unwrap_or(revision);
            branches.iter().find(|branch| *branch == named).cloned()
        }
        _ => current,
    };
    from_ci().or(asked)
}

fn known_urls(repository: &Repository, options: &Options, configured: &[String]) -> Vec<RepoUrl> {
    let mut texts = options.repo_urls.clone();
    texts.extend_from_slice(configured);
    texts.extend(repository.remote_urls());
    if let (Some(server), Some(name)) = (env_text("GITHUB_SERVER_URL"), env_text("GITHUB_REPOSITORY")) {
        texts.push(format!("{server}/{name}"));
    }
    texts.extend(env_text("CI_PROJECT_URL"));
    let mut urls: Vec<RepoUrl> = Vec::new();
    for url in texts.iter().filter_map(|text| RepoUrl::parse(text)) {
        if !urls.contains(&url) {
            urls.push(url);
        }
    }
    urls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_that_is_no_server_is_not_called_missing() {
        assert!(without_url(&[]).starts_with("this repository has no remote, so every Application source"));
        let of_file = without_url(&["file:///srv/fleet".to_owned()]);
        assert!(of_file.contains("file:///srv/fleet, is no address of a server") && of_file.contains("--repo-url"), "{of_file}");
    }
}
