//! What can go wrong with a repository, and the command that mends it.

use std::path::{Path, PathBuf};

use miette::Diagnostic;
use thiserror::Error;

use super::remedy;

/// Why the repository could not answer. The help of each error holds the exact command that mends it, where one does.
#[derive(Debug, Error, Diagnostic)]
#[non_exhaustive]
pub enum RepoError {
    /// Neither the directory nor one above it is a Git repository.
    #[error("`{}` is not inside a Git repository", dir.display())]
    #[diagnostic(code(presync::repo::not_a_repository), help("run presync inside a Git repository, or name one with `--repo DIR`"))]
    NotARepository {
        /// The directory where the search began.
        dir: PathBuf,
    },
    /// The repository belongs to another user, and its configuration is therefore not trusted.
    #[error("the repository at `{}` belongs to another user", dir.display())]
    #[diagnostic(code(presync::repo::dubious_ownership), help("if you trust it: `{command}`"))]
    DubiousOwnership {
        /// The working tree, or the Git directory of a bare repository.
        dir: PathBuf,
        /// The command that trusts it.
        command: String,
    },
    /// A bare repository was asked for its working tree or index.
    #[error("the repository at `{}` is bare: it has no working tree", git_dir.display())]
    #[diagnostic(code(presync::repo::no_working_tree), help("name the revision that would be merged, for example `--head main`"))]
    NoWorkingTree {
        /// The Git directory.
        git_dir: PathBuf,
    },
    /// The name of a revision leads to no commit that is here.
    #[error("there is no revision `{revision}` in {}", if *shallow { "this shallow clone" } else { "this repository" })]
    #[diagnostic(code(presync::repo::unknown_revision))]
    UnknownRevision {
        /// The name as given.
        revision: String,
        /// Whether the history was cut when it was fetched.
        shallow: bool,
        /// What to do.
        #[help]
        remedy: String,
    },
    /// Two commits have no ancestor in common, as far as the history is here.
    #[error("`{base}` and `{head}` have no common ancestor in {}", if *shallow { "this shallow clone" } else { "this repository" })]
    #[diagnostic(code(presync::repo::no_merge_base))]
    NoMergeBase {
        /// One commit.
        base: super::Commit,
        /// The other commit.
        head: super::Commit,
        /// Whether the history was cut when it was fetched.
        shallow: bool,
        /// What to do.
        #[help]
        remedy: String,
    },
    /// An object that the repository refers to is not in it.
    #[error("{what} is not in {}", if *partial { "this partial clone" } else { "the repository's object database" })]
    #[diagnostic(code(presync::repo::missing_object))]
    MissingObject {
        /// What the object would hold.
        what: String,
        /// Whether objects were left out when the repository was fetched (`git clone --filter`).
        partial: bool,
        /// What to do.
        #[help]
        remedy: String,
    },
    /// The index holds a conflict, so nothing could be committed from it.
    #[error("`{path}` has conflicts that are not resolved")]
    #[diagnostic(code(presync::repo::unmerged), help("resolve it and run `git add {path}`, or leave out `--staged`"))]
    Unmerged {
        /// The path, relative to the repository root.
        path: String,
    },
    /// There is no such file at that revision.
    #[error("there is no file `{path}` in {revision}")]
    #[diagnostic(code(presync::repo::no_such_file))]
    NoSuchFile {
        /// The path, relative to the repository root.
        path: String,
        /// The revision that was looked at.
        revision: super::Revision,
    },
    /// The entry is a submodule, whose contents are in another repository.
    #[error("`{path}` is a submodule")]
    #[diagnostic(code(presync::repo::submodule))]
    Submodule {
        /// The path, relative to the repository root.
        path: String,
    },
    /// A file of the working tree is no longer what it was when the tree was listed, or a symbolic link has taken the place of a directory.
    #[error("`{path}` changed while presync was reading the working tree")]
    #[diagnostic(code(presync::repo::changed), help("run presync again when nothing writes to the working tree"))]
    Changed {
        /// The path, relative to the repository root.
        path: String,
    },
    /// The file is larger than presync reads.
    #[error("`{path}` has {size} bytes; presync reads files of up to {limit} bytes")]
    #[diagnostic(code(presync::repo::too_large))]
    TooLarge {
        /// The path, relative to the repository root.
        path: String,
        /// Its size in bytes.
        size: u64,
        /// The largest size in bytes that is read.
        limit: u64,
    },
    /// A file or directory of the working tree could not be read.
    #[error("cannot read `{path}`")]
    #[diagnostic(code(presync::repo::unreadable))]
    Unreadable {
        /// The path, relative to the repository root.
        path: String,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The repository is damaged or uses something that is not understood.
    #[error("{doing} failed")]
    #[diagnostic(code(presync::repo::git), help("`git fsck` tells whether the repository is damaged"))]
    Git {
        /// What was being done.
        doing: String,
        /// The cause.
        source: gix::Error,
    },
}

impl RepoError {
    pub(super) fn git(doing: impl Into<String>, source: gix::Error) -> Self {
        Self::Git { doing: doing.into(), source }
    }

    pub(super) fn dubious_ownership(dir: &Path) -> Self {
        let command = format!("git config --global --add safe.directory {}", remedy::shell_word(&dir.to_string_lossy()));
        Self::DubiousOwnership { dir: dir.to_owned(), command }
    }
}
