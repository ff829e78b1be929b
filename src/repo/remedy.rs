//! The Git commands that bring missing history and objects, as text for the help of an error.

use std::borrow::Cow;

use gix::bstr::ByteSlice;
use gix::remote::Direction;

/// The remote to fetch from: the one that the current branch follows or else `origin` or the only one.
pub(super) fn fetch_remote(repo: &gix::Repository) -> Option<String> {
    repo.remote_default_name(Direction::Fetch).map(|name| name.to_str_lossy().into_owned())
}

/// The remote that promised the objects a partial clone left out.
pub(super) fn promisor_remote(repo: &gix::Repository) -> Option<String> {
    let config = repo.config_snapshot();
    let names = repo.remote_names();
    let promised = names.iter().find(|name| config.boolean(format!("remote.{name}.promisor").as_str()) == Some(true));
    promised.map(|name| name.to_str_lossy().into_owned()).or_else(|| {
        let name = config.string("extensions.partialClone")?;
        Some(name.to_str_lossy().into_owned())
    })
}

/// How to get at a revision that is not here.
pub(super) fn unknown_revision(repo: &gix::Repository, revision: &str, shallow: bool) -> String {
    if revision.trim().is_empty() {
        return "name a branch, a tag or a commit, for example `--base main`".to_owned();
    }
    if revision.contains("..") {
        return "name one revision, not a range: presync compares with the commit where base and head part by itself".to_owned();
    }
    if repo.config_snapshot().string("extensions.refStorage").is_some_and(|format| !format.eq_ignore_ascii_case(b"files")) {
        return "this repository keeps its references in a format that presync does not read: `git refs migrate --ref-format=files`"
            .to_owned();
    }
    if repo.head().is_ok_and(|head| head.is_unborn()) {
        return "nothing is committed on the current branch yet: commit first, or name another revision".to_owned();
    }
    let Some(remote) = fetch_remote(repo) else {
        return "the repository has no remote to fetch from; `git branch --all` and `git tag` list what is here".to_owned();
    };
    let unshallow = if shallow { "--unshallow " } else { "" };
    let fetch = |what: &str| format!("`git fetch {unshallow}{} {}`", shell_word(&remote), shell_word(what));
    if revision.contains(['~', '^', '@', ':']) {
        return if shallow {
            format!("the history was cut when it was fetched: `git fetch --unshallow {}`{IN_ACTIONS}", shell_word(&remote))
        } else {
            format!("`git fetch {}` brings what is new; `git log` shows how far the history goes", shell_word(&remote))
        };
    }
    if revision.len() == 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return format!("{} brings it", fetch(revision));
    }
    let branch = revision.strip_prefix(&format!("{remote}/")).unwrap_or(revision);
    let branch = branch.strip_prefix("refs/heads/").unwrap_or(branch);
    let branch_command = fetch(&format!("+refs/heads/{branch}:refs/remotes/{remote}/{branch}"));
    if branch == revision {
        let tag_command = fetch(&format!("+refs/tags/{branch}:refs/tags/{branch}"));
        format!("a branch: {branch_command}, then name it `{remote}/{branch}`; a tag: {tag_command}")
    } else {
        format!("{branch_command} brings it")
    }
}

/// How to find the common ancestor of two commits.
pub(super) fn no_merge_base(repo: &gix::Repository, shallow: bool) -> String {
    match (shallow, fetch_remote(repo)) {
        (true, Some(remote)) => {
            let remote = shell_word(&remote);
            format!(
                "the history was cut when it was fetched: `git fetch --unshallow {remote}`, or a piece of it with `git fetch --deepen=50 {remote}`{IN_ACTIONS}"
            )
        }
        _ => "they share no history; name the commit to compare with, for example `--base HEAD~1`".to_owned(),
    }
}

/// How to bring an object that should be here.
pub(super) fn missing_object(repo: &gix::Repository) -> (bool, String) {
    match promisor_remote(repo) {
        Some(remote) => {
            (true, format!("bring the contents that the clone left out: `git fetch --refetch --no-filter {}`", shell_word(&remote)))
        }
        None => (false, "`git fsck` shows what else is missing; a new clone mends it".to_owned()),
    }
}

const IN_ACTIONS: &str = " (in GitHub Actions: `fetch-depth: 0` for actions/checkout)";

/// `text` as one word of a POSIX shell.
pub(super) fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:+@,=%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
    }
}
