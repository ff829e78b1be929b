//! By which names others know the repository: addresses of its remotes, branches, tags and the default branch.

use std::collections::BTreeSet;

use gix::bstr::ByteSlice;
use gix::remote::Direction;

use super::url::without_password;
use super::{RepoError, Repository};

/// The short names of branches and tags, each sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefNames {
    /// Local branches and those of the remote that is fetched from, without the remote's name.
    pub branches: Vec<String>,
    /// Tags.
    pub tags: Vec<String>,
}

impl Repository {
    /// The addresses of all remotes for fetching and pushing, sorted: as written in the configuration, and as `url.<base>.insteadOf` rewrites
    /// them. Passwords are cut out.
    #[must_use]
    pub fn remote_urls(&self) -> Vec<String> {
        let repo = self.local();
        let mut urls = BTreeSet::new();
        for name in repo.remote_names() {
            let remotes = [repo.try_find_remote(name.as_bstr()), repo.try_find_remote_without_url_rewrite(name.as_bstr())];
            for remote in remotes.into_iter().flatten().flatten() {
                for direction in [Direction::Fetch, Direction::Push] {
                    if let Some(url) = remote.url(direction) {
                        urls.insert(without_password(&url.to_bstring().to_str_lossy()));
                    }
                }
            }
        }
        urls.into_iter().collect()
    }

    /// The branch that is checked out; `None` for a detached head.
    #[must_use]
    pub fn current_branch(&self) -> Option<String> {
        Some(self.local().head_name().ok()??.shorten().to_string())
    }

    /// The branch that the remote's `HEAD` named when it was last asked (`refs/remotes/origin/HEAD`). Checkouts in CI often lack it;
    /// `git remote set-head origin --auto` asks again.
    #[must_use]
    pub fn default_branch(&self) -> Option<String> {
        let repo = self.local();
        let remote = self.main_remote(&repo)?;
        let head = repo.try_find_reference(format!("refs/remotes/{remote}/HEAD").as_str()).ok()??;
        let target = head.target().try_name()?.as_bstr().to_str_lossy().into_owned();
        Some(target.strip_prefix(&format!("refs/remotes/{remote}/"))?.to_owned())
    }

    /// The names of branches and tags.
    ///
    /// # Errors
    /// When the references cannot be read.
    pub fn ref_names(&self) -> Result<RefNames, RepoError> {
        let repo = self.local();
        let mut prefixes = vec!["refs/heads/".to_owned()];
        if let Some(remote) = self.main_remote(&repo) {
            prefixes.push(format!("refs/remotes/{remote}/"));
        }
        let mut branches = BTreeSet::new();
        for prefix in &prefixes {
            branches.extend(names_under(&repo, prefix)?.into_iter().filter(|name| name != "HEAD"));
        }
        let tags: BTreeSet<_> = names_under(&repo, "refs/tags/")?.into_iter().collect();
        Ok(RefNames { branches: branches.into_iter().collect(), tags: tags.into_iter().collect() })
    }

    /// `origin`, or the only remote.
    fn main_remote(&self, repo: &gix::Repository) -> Option<String> {
        let names = repo.remote_names();
        let mut names = names.iter().map(|name| name.to_str_lossy().into_owned());
        let first = names.next()?;
        if first == "origin" {
            return Some(first);
        }
        match names.next() {
            None => Some(first),
            Some(second) => std::iter::once(second).chain(names).find(|name| name == "origin"),
        }
    }
}

fn names_under(repo: &gix::Repository, prefix: &str) -> Result<Vec<String>, RepoError> {
    let failed = |source| RepoError::git(format!("listing `{prefix}`"), source);
    let platform = repo.references().map_err(failed)?;
    let mut names = Vec::new();
    for reference in platform.prefixed(prefix).map_err(failed)?.flatten() {
        let name = reference.name().as_bstr().to_str_lossy().into_owned();
        names.extend(name.strip_prefix(prefix).map(str::to_owned));
    }
    Ok(names)
}
