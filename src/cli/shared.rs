//! Options that `check` and `plan` share, and their conversion into what a run needs.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};

use super::{Failure, cache_folder, progress};
use crate::check::{self, Head, Options, Outcome};
use crate::config::duration;
use crate::finding::Severity;
use crate::render::Programs;

/// Options that `check` and `plan` share.
#[derive(Debug, Args)]
pub(super) struct SharedArgs {
    /// The Git repository; the one around the current directory if not given
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true, help_heading = "Input")]
    pub(super) repo: PathBuf,
    /// What is deployed now [default: the pull request's base in CI, else HEAD]
    #[arg(long, value_name = "REV", env = "PRESYNC_BASE", help_heading = "Input")]
    pub(super) base: Option<String>,
    /// What would be merged [default: the working tree]
    #[arg(long, value_name = "REV", env = "PRESYNC_HEAD", help_heading = "Input")]
    pub(super) head: Option<String>,
    /// Take the index as what would be merged
    #[arg(long, conflicts_with = "head", help_heading = "Input")]
    pub(super) staged: bool,
    /// Live state: a snapshot file or URL (s3://, gs://, az://, https://), or files and folders that `kubectl get -o yaml` wrote (repeatable)
    #[arg(long, value_name = "SRC", env = "PRESYNC_SNAPSHOT", help_heading = "Input")]
    pub(super) snapshot: Vec<String>,
    /// Report a snapshot that is older than this, for example 90m, 24h or 7d [default: 24h]
    #[arg(long, value_name = "DUR", value_parser = duration, help_heading = "Input")]
    pub(super) max_snapshot_age: Option<i64>,
    /// Take it to be this time, for example 2026-11-30T18:00:00Z, for sync windows and the age of snapshots [default: now]
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Input")]
    pub(super) now: Option<jiff::Timestamp>,
    /// A URL under which Applications know this repository, besides its remotes' (repeatable)
    #[arg(long, value_name = "URL", help_heading = "Input")]
    pub(super) repo_url: Vec<String>,
    /// Only Applications whose name or namespace/name matches (repeatable)
    #[arg(long, value_name = "GLOB", help_heading = "Plan")]
    pub(super) app: Vec<String>,
    /// Every Application, and findings that were there before the change
    #[arg(long, help_heading = "Plan")]
    pub(super) all: bool,
    /// Use no network: remote bases and charts only where they are at hand
    #[arg(long, help_heading = "Input")]
    pub(super) offline: bool,
    /// The configuration; inside of the repository, the base revision's version counts [default: .presync.yaml]
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub(super) config: Option<PathBuf>,
    /// Folder in which the next run finds what this one has read and rendered [default: the user's cache folder]
    #[arg(long, value_name = "DIR", env = "PRESYNC_CACHE_DIR", help_heading = "Input")]
    pub(super) cache_dir: Option<PathBuf>,
    /// Keep nothing for the next run, and use nothing of earlier ones
    #[arg(long, help_heading = "Input")]
    pub(super) no_cache: bool,
    /// What goes to standard output; in GitHub Actions, annotations besides text
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub(super) format: Format,
    /// Also write this format to a file, as FORMAT=FILE (repeatable)
    #[arg(long, value_name = "F=FILE", value_parser = report_target, help_heading = "Output")]
    pub(super) report: Vec<(Format, PathBuf)>,
    /// From which severity on findings fail the check
    #[arg(long, value_enum, default_value_t = Level::Error, value_name = "LEVEL", help_heading = "Output")]
    pub(super) fail_on: Level,
    /// From which severity on findings are reported; those below count for nothing
    #[arg(long, value_enum, default_value_t = Level::Info, value_name = "LEVEL", help_heading = "Output")]
    pub(super) min_severity: Level,
    /// Fail as well if something could not be judged
    #[arg(long, help_heading = "Output")]
    pub(super) strict: bool,
    /// Colour
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN", help_heading = "Output")]
    pub(super) color: Color,
    /// Print nothing to standard output
    #[arg(short, long, help_heading = "Output")]
    pub(super) quiet: bool,
    /// Tell on standard error which programs were run, and how long everything took
    #[arg(short, long, help_heading = "Output")]
    pub(super) verbose: bool,
    /// Show no progress; it goes to standard error, and only where that is a terminal
    #[arg(long, help_heading = "Output")]
    pub(super) no_progress: bool,
}

/// Formats of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For code scanning (SARIF 2.1.0).
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
    /// For a comment on a pull request.
    Markdown,
    /// For systems that show test results (JUnit XML).
    Junit,
    /// For merge requests of GitLab (code quality).
    Gitlab,
    /// One page for a browser.
    Html,
}

/// From which severity on findings fail the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Level {
    /// Errors.
    Error,
    /// Warnings and errors.
    Warning,
    /// Every finding.
    Info,
    /// None.
    Never,
}

impl Level {
    /// The severity; `None` for never.
    pub(super) fn severity(self) -> Option<Severity> {
        match self {
            Self::Error => Some(Severity::Error),
            Self::Warning => Some(Severity::Warning),
            Self::Info => Some(Severity::Info),
            Self::Never => None,
        }
    }
}

/// When output is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl SharedArgs {
    /// All formats that are written: those of the files, then that of standard output.
    pub(super) fn formats(&self) -> impl Iterator<Item = Format> + '_ {
        self.report.iter().map(|(format, _)| *format).chain([self.format])
    }

    /// Runs the check, and tells meanwhile and afterwards what it does, as far as that is wanted.
    pub(super) fn run(&self) -> Result<Outcome, Failure> {
        let started = Instant::now();
        let shows_progress = !self.no_progress && !self.quiet && std::io::stderr().is_terminal();
        let calls = progress::calls(shows_progress);
        let mut options = self.options();
        options.programs = options.programs.noted(calls.clone());
        let outcome = check::run(&options);
        if shows_progress {
            progress::end();
        }
        if self.verbose {
            progress::tell(&calls, started.elapsed());
        }
        outcome.map_err(failed)
    }

    /// What a run needs.
    pub(super) fn options(&self) -> Options {
        let head = match (&self.head, self.staged) {
            (Some(revision), _) => Head::Revision(revision.clone()),
            (None, true) => Head::Index,
            (None, false) => Head::Worktree,
        };
        Options {
            repo: self.repo.clone(),
            base: self.base.clone(),
            head,
            snapshots: self.snapshot.clone(),
            max_snapshot_age: self.max_snapshot_age,
            repo_urls: self.repo_url.clone(),
            applications: self.app.clone(),
            now: self.now.unwrap_or_else(jiff::Timestamp::now),
            all: self.all,
            offline: self.offline,
            programs: programs(),
            config: self.config.clone(),
            cache: if self.no_cache { None } else { self.cache_dir.clone().or_else(cache_folder::of_user) },
        }
    }
}

/// The programs that render, presync itself among them.
fn programs() -> Programs {
    let programs = Programs::from_environment();
    match std::env::current_exe() {
        Ok(presync) => programs.with_presync(presync),
        Err(_) => programs,
    }
}

fn time(text: &str) -> Result<jiff::Timestamp, String> {
    text.parse().map_err(|_| "a time in RFC 3339 is needed, for example 2026-11-30T18:00:00Z".to_owned())
}

fn report_target(text: &str) -> Result<(Format, PathBuf), String> {
    let (format, file) = text.split_once('=').ok_or("FORMAT=FILE is needed, for example json=plan.json")?;
    let format = Format::from_str(format, false)?;
    if file.is_empty() { Err("the file name is empty".to_owned()) } else { Ok((format, file.into())) }
}

/// Turns any diagnostic into a failed command.
pub(super) fn failed(error: impl miette::Diagnostic + Send + Sync + 'static) -> Failure {
    Failure::Report(miette::Report::new(error))
}
