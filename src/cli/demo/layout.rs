//! Writes the bookshop to disk: a Git repository with one branch a step, and the steps' live state beside it.
//!
//! Takes an empty directory. Uses the `git` program, without the user's configuration, so that the commit ids are the same everywhere.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::git::{GitError, git};
use super::steps::{Commit, DEPLOYED, Edit, STEPS};

/// The URL that the Application names.
const ORIGIN: &str = "https://git.example.com/bookshop/gitops-practice.git";
/// What stands in the live Application for the commit that is deployed.
const DEPLOYED_REVISION: &str = "DEPLOYED_REVISION";

/// Why the demo could not be laid out.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub(super) enum DemoError {
    /// There is no temporary directory.
    #[error("cannot make a temporary directory")]
    #[diagnostic(help("Say where the demo may be laid out: presync demo DIR."))]
    Temporary {
        /// Why.
        source: io::Error,
    },
    /// The directory cannot be made or read.
    #[error("cannot use {} as a directory", path.display())]
    #[diagnostic(help("Name a directory that is empty or does not exist yet."))]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The directory holds something.
    #[error("{} is not empty", path.display())]
    #[diagnostic(help("Name a directory that is empty or does not exist yet: the demo overwrites nothing."))]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The `git` program did not do its job.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Git(#[from] GitError),
}

/// Lays out repository and live state. `main` is checked out at the end.
pub(super) fn lay_out(directory: &Path) -> Result<(), DemoError> {
    let repository = Repository { directory };
    repository.git(&["init", "--quiet", "--template="], None)?;
    repository.git(&["symbolic-ref", "HEAD", "refs/heads/main"], None)?;
    repository.git(&["remote", "add", "origin", ORIGIN], None)?;
    // Live state is no part of the change.
    repository.write(".git/info/exclude", "/live/\n")?;
    for commit in &DEPLOYED {
        repository.commit(commit)?;
    }
    for (index, step) in STEPS.iter().enumerate() {
        match &step.commit {
            Some(commit) => {
                repository.git(&["checkout", "--quiet", "-b", step.branch, step.base], None)?;
                repository.commit(commit)?;
                repository.git(&["checkout", "--quiet", "main"], None)?;
            }
            None => drop(repository.git(&["branch", "--quiet", step.branch, "main"], None)?),
        }
        let deployed = repository.git(&["rev-parse", step.base], None)?;
        repository.write(&super::snapshot(index + 1), &list(step.live).replace(DEPLOYED_REVISION, deployed.trim()))?;
    }
    Ok(())
}

/// Items as kubectl prints them when it is asked for several kinds.
fn list(items: &[&str]) -> String {
    format!("apiVersion: v1\nitems:\n{}kind: List\nmetadata:\n  resourceVersion: \"\"\n", items.concat())
}

/// A page as a ConfigMap.
fn config_map(page: &str) -> String {
    let lines: String = page.lines().map(|line| format!("    {line}\n")).collect();
    format!("apiVersion: v1\ndata:\n  index.html: |\n{lines}kind: ConfigMap\nmetadata:\n  name: bookshop-page\n")
}

/// The repository that is being written.
struct Repository<'a> {
    directory: &'a Path,
}

impl Repository<'_> {
    fn commit(&self, commit: &Commit) -> Result<(), DemoError> {
        for edit in commit.edits {
            match edit {
                Edit::Write(path, text) => self.write(path, text)?,
                Edit::WritePage(path, page) => self.write(path, &config_map(page))?,
                Edit::Remove(path) => drop(self.git(&["rm", "--quiet", path], None)?),
                Edit::Replace(path, old, new) => {
                    let file = self.directory.join(path);
                    let text = fs::read_to_string(&file).map_err(|source| DemoError::Write { path: file, source })?;
                    self.write(path, &text.replace(old, new))?;
                }
            }
        }
        self.git(&["add", "--all"], None)?;
        self.git(&["commit", "--quiet", "--message", commit.subject], Some(commit.date))?;
        Ok(())
    }

    fn write(&self, path: &str, text: &str) -> Result<(), DemoError> {
        let file = self.directory.join(path);
        let parent = file.parent().map_or(Ok(()), fs::create_dir_all);
        parent.and_then(|()| fs::write(&file, text)).map_err(|source| DemoError::Write { path: file, source })
    }

    /// Runs git; hands on what it prints.
    fn git(&self, arguments: &[&str], date: Option<&str>) -> Result<String, DemoError> {
        Ok(git(self.directory, arguments, ("The bookshop", "bookshop@example.com"), date)?)
    }
}
