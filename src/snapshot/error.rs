//! Why a snapshot cannot be used.

use miette::Diagnostic;
use thiserror::Error;

/// Why a snapshot cannot be used. No message repeats what an object holds.
#[derive(Debug, Error, Diagnostic)]
pub enum SnapshotError {
    /// A file or folder cannot be read.
    #[error("cannot read the snapshot {path}")]
    #[diagnostic(code(presync::snapshot::io), help("give a snapshot file, or a file or folder that `kubectl get -o yaml` wrote"))]
    Io {
        /// File or folder.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A folder without anything to read.
    #[error("no snapshot and no YAML or JSON file in {path}")]
    #[diagnostic(code(presync::snapshot::empty), help("files that end in .yaml, .yml, .json, .jsonl or .zst are read"))]
    Empty {
        /// The folder.
        path: String,
    },
    /// A file whose documents are no Kubernetes objects.
    #[error("nothing in {path} is a Kubernetes object with kind and name")]
    #[diagnostic(code(presync::snapshot::no_objects), help("give a snapshot file, or what `kubectl get -o yaml` or `-o json` printed"))]
    NoObjects {
        /// The file.
        path: String,
    },
    /// Sources without a single object.
    #[error("there is not a single object in {path}")]
    #[diagnostic(
        code(presync::snapshot::nothing),
        help("the command that wrote it may have failed; against an empty cluster every deletion would go unnoticed")
    )]
    Nothing {
        /// The sources.
        path: String,
    },
    /// A text is no YAML or JSON.
    #[error("{path}:{line}: {message}")]
    #[diagnostic(
        code(presync::snapshot::syntax),
        help("a cut or edited file cannot stand for the live state; write it again with kubectl")
    )]
    Syntax {
        /// The file.
        path: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },
    /// A `settings.yaml` has a key that cannot be understood.
    #[error("{path}: {message}")]
    #[diagnostic(code(presync::snapshot::settings))]
    Settings {
        /// The file.
        path: String,
        /// What is wrong.
        message: String,
    },
    /// A snapshot file is not as it was written.
    #[error("the snapshot {path} is damaged: {why}")]
    #[diagnostic(code(presync::snapshot::damaged), help("capture or import it again"))]
    Damaged {
        /// The file.
        path: String,
        /// What shows it.
        why: String,
    },
    /// A file of a kind that only snapshots have, with something else in it.
    #[error("{path} is no snapshot of presync")]
    #[diagnostic(
        code(presync::snapshot::no_snapshot),
        help("give what `presync snapshot capture` or `import` wrote, or what `kubectl get -o yaml` or `-o json` printed, as it is")
    )]
    NoSnapshot {
        /// The file.
        path: String,
    },
    /// A snapshot cannot be written to its place.
    #[error("cannot write the snapshot to {path}")]
    #[diagnostic(code(presync::snapshot::write))]
    Write {
        /// The place.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A snapshot at a URL cannot be used.
    #[error("cannot {doing} the snapshot {url}: {why}")]
    #[diagnostic(
        code(presync::snapshot::remote),
        help("credentials are read from the environment, as the tools of the provider read them (AWS_…, GOOGLE_…, AZURE_…)")
    )]
    Remote {
        /// The URL, without password and query.
        url: String,
        /// What was tried.
        doing: &'static str,
        /// What went wrong.
        why: String,
    },
    /// A snapshot file of another format version.
    #[error("the snapshot {path} has format version {version}; this presync reads version 1")]
    #[diagnostic(code(presync::snapshot::version), help("use the presync that wrote it, or a newer one"))]
    Version {
        /// The file.
        path: String,
        /// Its version.
        version: u64,
    },
}
