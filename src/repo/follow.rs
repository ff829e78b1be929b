//! Which revision an Argo CD source follows: tells whether merging into a branch reaches the source at all.
//!
//! Takes a `targetRevision` and the names of branches and tags, hands on a [`Follows`]. Pure: it reads no repository.

use super::semver::{Constraint, Version};

/// The merge that is looked at, and the names the repository knows.
#[derive(Debug, Clone, Copy, Default)]
pub struct MergeTarget<'a> {
    /// The branch that the change will be merged into, without `refs/heads/`.
    pub base_branch: &'a str,
    /// The branch that the change comes from, where one is known (preview Applications may follow it).
    pub head_branch: Option<&'a str>,
    /// The branch that the remote's `HEAD` names.
    pub default_branch: Option<&'a str>,
    /// Branches of the repository, by short name. May be incomplete: a checkout in CI often has one only.
    pub branches: &'a [String],
    /// Tags of the repository, by short name.
    pub tags: &'a [String],
}

/// What a `targetRevision` follows, seen from a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Follows {
    /// The branch that is merged into: the merge reaches the source.
    BaseBranch,
    /// The branch that is merged: the change has reached the source already.
    HeadBranch,
    /// Another branch: this merge does not reach the source.
    OtherBranch(String),
    /// A fixed point: nothing reaches the source until the pin is moved.
    Pinned(Pin),
    /// `HEAD` is followed, and nothing tells which branch that is.
    UnknownDefaultBranch,
    /// A name that is neither a known branch nor a known tag. It is not the base branch.
    Unresolved(String),
}

/// A fixed point in a repository's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pin {
    /// A commit, in full or shortened.
    Commit(String),
    /// A tag.
    Tag(String),
    /// The highest tag that satisfies a constraint: the source moves when a higher one is pushed. No known tag satisfies it where `tag` is `None`.
    Newest {
        /// The constraint as written.
        constraint: String,
        /// The tag that satisfies it now.
        tag: Option<String>,
    },
}

/// Tells what a source with this `targetRevision` and `tagPrefix` (empty for none) follows.
///
/// The order of the questions is that of Argo CD (`util/git/client.go:lsRemote`, `util/versions/tags.go:MaxVersion`): a full commit id, the
/// default branch, an exact version as a name, a constraint over the tags, a branch before a tag of the same name, a shortened commit id.
#[must_use]
pub fn revision_follows(target_revision: &str, tag_prefix: &str, merge: &MergeTarget<'_>) -> Follows {
    if is_hex(target_revision) && target_revision.len() == 40 {
        return Follows::Pinned(Pin::Commit(target_revision.to_owned()));
    }
    if target_revision.is_empty() || target_revision == "HEAD" {
        return merge.default_branch.map_or(Follows::UnknownDefaultBranch, |branch| follows_branch(branch, merge));
    }
    if let Some(branch) = target_revision.strip_prefix("refs/heads/") {
        return follows_branch(branch, merge);
    }
    if let Some(tag) = target_revision.strip_prefix("refs/tags/") {
        return Follows::Pinned(Pin::Tag(tag.to_owned()));
    }
    if Version::parse(target_revision).is_some() {
        return follows_name(&format!("{tag_prefix}{target_revision}"), merge);
    }
    if let Some(constraint) = Constraint::parse(target_revision) {
        let tag = constraint.newest(merge.tags, tag_prefix);
        // Argo CD falls back to a branch of that very name when no tag satisfies the constraint.
        if tag.is_some() || !is_branch(target_revision, merge) {
            return Follows::Pinned(Pin::Newest { constraint: target_revision.to_owned(), tag: tag.map(str::to_owned) });
        }
    }
    follows_name(target_revision, merge)
}

fn follows_name(name: &str, merge: &MergeTarget<'_>) -> Follows {
    if is_branch(name, merge) {
        follows_branch(name, merge)
    } else if merge.tags.iter().any(|tag| tag == name) {
        Follows::Pinned(Pin::Tag(name.to_owned()))
    } else if name.len() >= 7 && is_hex(name) {
        Follows::Pinned(Pin::Commit(name.to_owned()))
    } else {
        Follows::Unresolved(name.to_owned())
    }
}

fn follows_branch(branch: &str, merge: &MergeTarget<'_>) -> Follows {
    if branch == merge.base_branch {
        Follows::BaseBranch
    } else if Some(branch) == merge.head_branch {
        Follows::HeadBranch
    } else {
        Follows::OtherBranch(branch.to_owned())
    }
}

fn is_branch(name: &str, merge: &MergeTarget<'_>) -> bool {
    name == merge.base_branch || Some(name) == merge.head_branch || merge.branches.iter().any(|branch| branch == name)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn follows(target: &str, base: &str) -> Follows {
        let (branches, tags) = (names(&["master", "dev", "env/test", "2"]), names(&["v1.0.0", "dev-tag"]));
        let merge = MergeTarget {
            base_branch: base,
            head_branch: Some("feature"),
            default_branch: Some("master"),
            branches: &branches,
            tags: &tags,
        };
        revision_follows(target, "", &merge)
    }

    #[test]
    fn s10_44_which_push_reaches_a_source() {
        assert_eq!(follows("", "master"), Follows::BaseBranch);
        assert_eq!(follows("", "dev"), Follows::OtherBranch("master".to_owned()));
        assert_eq!(follows("HEAD", "master"), Follows::BaseBranch);
        assert_eq!(follows("dev", "master"), Follows::OtherBranch("dev".to_owned()));
        assert_eq!(follows("dev", "dev"), Follows::BaseBranch);
        assert_eq!(follows("refs/heads/dev", "master"), Follows::OtherBranch("dev".to_owned()));
        assert_eq!(follows("refs/heads/dev", "dev"), Follows::BaseBranch);
        assert_eq!(follows("env/test", "env/test"), Follows::BaseBranch);
        assert_eq!(follows("refs/heads/env/test", "env/test"), Follows::BaseBranch);
        assert_eq!(follows("three/part/rev", "rev"), Follows::Unresolved("three/part/rev".to_owned()));
    }

    #[test]
    fn s10_44_a_constraint_follows_the_tags_that_satisfy_it() {
        let newest = |tags: &[&str]| {
            let tags = names(tags);
            revision_follows("1.*", "", &MergeTarget { base_branch: "master", tags: &tags, ..MergeTarget::default() })
        };
        let pinned = |tag: Option<&str>| Follows::Pinned(Pin::Newest { constraint: "1.*".to_owned(), tag: tag.map(str::to_owned) });
        assert_eq!(newest(&["1.1.0"]), pinned(Some("1.1.0")));
        assert_eq!(newest(&["2.0.0"]), pinned(None));
        assert_eq!(newest(&["dev"]), pinned(None));
    }

    #[test]
    fn fixed_points_are_pins() {
        let sha = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(follows(sha, "master"), Follows::Pinned(Pin::Commit(sha.to_owned())));
        assert_eq!(follows("0123456", "master"), Follows::Pinned(Pin::Commit("0123456".to_owned())));
        assert_eq!(follows("v1.0.0", "master"), Follows::Pinned(Pin::Tag("v1.0.0".to_owned())));
        assert_eq!(follows("refs/tags/dev", "dev"), Follows::Pinned(Pin::Tag("dev".to_owned())));
        assert_eq!(follows("dev-tag", "master"), Follows::Pinned(Pin::Tag("dev-tag".to_owned())));
    }

    #[test]
    fn the_branch_of_the_change_itself_is_told_apart() {
        assert_eq!(follows("feature", "master"), Follows::HeadBranch);
    }

    #[test]
    fn a_branch_that_reads_as_a_version_is_taken_by_name() {
        assert_eq!(follows("2", "2"), Follows::BaseBranch);
    }

    #[test]
    fn a_branch_that_reads_as_a_constraint_counts_only_when_no_tag_satisfies_it() {
        let tags = names(&["1.5.0"]);
        let merge = |tags| MergeTarget { base_branch: "1.x", tags, ..MergeTarget::default() };
        assert_eq!(revision_follows("1.x", "", &merge(&[])), Follows::BaseBranch);
        let newest = Pin::Newest { constraint: "1.x".to_owned(), tag: Some("1.5.0".to_owned()) };
        assert_eq!(revision_follows("1.x", "", &merge(&tags)), Follows::Pinned(newest));
    }

    #[test]
    fn head_cannot_be_judged_without_a_default_branch() {
        let merge = MergeTarget { base_branch: "main", ..MergeTarget::default() };
        assert_eq!(revision_follows("HEAD", "", &merge), Follows::UnknownDefaultBranch);
    }

    #[test]
    fn a_tag_prefix_belongs_to_an_exact_version() {
        let tags = names(&["prod/1.2.3"]);
        let merge = MergeTarget { base_branch: "main", tags: &tags, ..MergeTarget::default() };
        assert_eq!(revision_follows("1.2.3", "prod/", &merge), Follows::Pinned(Pin::Tag("prod/1.2.3".to_owned())));
    }
}
