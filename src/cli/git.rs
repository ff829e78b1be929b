//! Runs the `git` program to write repositories of our own, without the user's configuration, so that they are the same everywhere.

use std::io;
use std::path::Path;
use std::process::Command;

/// Why git did not do its job.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(super) enum GitError {
    /// The `git` program is missing.
    #[error("the program git is not installed")]
    #[diagnostic(help(
        "Install Git (https://git-scm.com/downloads) so that `git` is found in PATH. Only commands that write a repository of their own need it; \
         the others read repositories themselves."
    ))]
    Missing,
    /// The `git` program cannot be started.
    #[error("cannot start git")]
    Start {
        /// Why.
        source: io::Error,
    },
    /// The `git` program failed.
    #[error("git {arguments} failed: {message}")]
    Failed {
        /// Its arguments.
        arguments: String,
        /// What it said.
        message: String,
    },
}

/// Runs git in a directory; hands on what it prints.
pub(super) fn git(directory: &Path, arguments: &[&str], author: (&str, &str), date: Option<&str>) -> Result<String, GitError> {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(name);
    }
    command
        .current_dir(directory)
        .args(["-c", "core.autocrlf=false", "-c", "init.defaultObjectFormat=sha1", "-c", "init.defaultRefFormat=files"])
        .args(arguments)
        .envs([
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", author.0),
            ("GIT_AUTHOR_EMAIL", author.1),
            ("GIT_COMMITTER_NAME", author.0),
            ("GIT_COMMITTER_EMAIL", author.1),
        ]);
    if let Some(date) = date {
        command.env("GIT_AUTHOR_DATE", date).env("GIT_COMMITTER_DATE", date);
    }
    let output = command.output().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => GitError::Missing,
        _ => GitError::Start { source },
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(GitError::Failed { arguments: arguments.join(" "), message })
}
