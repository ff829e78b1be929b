//! Why live state cannot be captured.

use miette::Diagnostic;
use thiserror::Error;

use super::client::causes;

/// Why live state cannot be captured. No message repeats a token or what an object holds.
#[derive(Debug, Error, Diagnostic)]
pub enum CaptureError {
    /// There is no configuration to connect with.
    #[error("cannot tell which cluster to capture: {why}")]
    #[diagnostic(
        code(presync::capture::config),
        help("set KUBECONFIG or give --kubeconfig and --context; in a pod the service account is taken")
    )]
    Config {
        /// What is wrong with it.
        why: String,
    },
    /// The client cannot be set up for a server.
    #[error("cannot connect to {server}: {why}")]
    #[diagnostic(code(presync::capture::connect), help("check the URL and the certificates"))]
    Connect {
        /// URL.
        server: String,
        /// What is wrong.
        why: String,
    },
    /// A request got no usable answer.
    #[error("{server}{path}: {why}")]
    #[diagnostic(code(presync::capture::request))]
    Request {
        /// URL.
        server: String,
        /// Path without query.
        path: String,
        /// What went wrong.
        why: String,
    },
    /// The server does not know who asks.
    #[error("{server} does not accept the credentials (401)")]
    #[diagnostic(code(presync::capture::unauthorized), help("the token or certificate is missing, wrong or expired"))]
    Unauthorized {
        /// URL.
        server: String,
    },
    /// Not one kind may be listed.
    #[error("nothing can be listed on {server}; the first reason: {why}")]
    #[diagnostic(
        code(presync::capture::nothing),
        help("bind the ClusterRole of deploy/ to the account, or give --namespace for what it may list")
    )]
    Nothing {
        /// URL.
        server: String,
        /// The first reason.
        why: String,
    },
    /// A file that the command line names cannot be used.
    #[error("cannot read {path}: {why}")]
    #[diagnostic(code(presync::capture::file))]
    File {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// No room for what was read, or no place for the snapshot.
    #[error("cannot write what was captured: {0}")]
    #[diagnostic(
        code(presync::capture::write),
        help("objects are kept in the folder for temporary files until all are there; TMPDIR names another one")
    )]
    Write(#[from] std::io::Error),
    /// Somebody pressed Ctrl-C.
    #[error("interrupted; nothing was written")]
    #[diagnostic(code(presync::capture::interrupted))]
    Interrupted,
}

impl CaptureError {
    /// The client cannot be set up.
    pub(super) fn connect(server: &str, error: &dyn std::error::Error) -> Self {
        Self::Connect { server: server.to_owned(), why: causes(error) }
    }
}
