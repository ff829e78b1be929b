//! `presync demo`: lays out the bookshop as a repository with live state and shows `plan` and `check` at work on it, step by step.
//!
//! Takes where to lay it out; hands on text. It always succeeds where it could show everything, whatever the checks of the steps say.

mod layout;
mod steps;

use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use owo_colors::OwoColorize;
use tempfile::TempDir;

use super::shared::{Color, failed};
use super::{Failure, output};
use crate::check::{self, Head, Options, Outcome};
use crate::finding::Severity;
use crate::render::Programs;
use crate::report::{Report, Setting, Style, plan_text, text};
use layout::DemoError;
use steps::{STEPS, Step};

/// Arguments of `presync demo`.
#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Where the repository and its live state are left to play with: empty, or not there yet. Without it a temporary directory is used
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Keep the temporary directory
    #[arg(long, conflicts_with = "directory")]
    keep: bool,
    /// Colour
    #[arg(long, value_enum, default_value_t = Color::Auto, value_name = "WHEN", help_heading = "Output")]
    color: Color,
}

pub(super) fn run(args: &DemoArgs) -> Result<ExitCode, Failure> {
    let place = Place::of(args).map_err(failed)?;
    layout::lay_out(place.path()).map_err(failed)?;
    let stdout = io::stdout();
    let style = output::style(args.color, stdout.is_terminal());
    let mut out = BufWriter::new(stdout.lock());
    write_introduction(&place, style, &mut out)?;
    let mut failing = Vec::new();
    for (index, step) in STEPS.iter().enumerate() {
        failing.push(write_step(index + 1, step, place.path(), style, &mut out)?);
        out.flush()?;
    }
    write_summary(&failing, style, &mut out)?;
    write_closing(&place, style, &mut out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Where the demo is laid out.
enum Place {
    /// A directory that stays.
    Kept(PathBuf),
    /// A directory that goes when this value is dropped.
    Temporary(TempDir),
}

impl Place {
    fn of(args: &DemoArgs) -> Result<Self, DemoError> {
        let Some(directory) = &args.directory else {
            let temporary = tempfile::Builder::new().prefix("presync-demo-").tempdir().map_err(|source| DemoError::Temporary { source })?;
            return Ok(if args.keep { Self::Kept(temporary.keep()) } else { Self::Temporary(temporary) });
        };
        let unusable = |source| DemoError::Directory { path: directory.clone(), source };
        fs::create_dir_all(directory).map_err(unusable)?;
        if fs::read_dir(directory).map_err(unusable)?.next().is_some() {
            return Err(DemoError::NotEmpty { path: directory.clone() });
        }
        Ok(Self::Kept(directory.clone()))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(directory) => directory.path(),
        }
    }
}

fn write_introduction(place: &Place, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let text = "An Application named bookshop watches the folder apps/bookshop of a repository. The branch main is what is deployed. Each step is a \
                branch, as a pull request would bring it, and a file of live state, as kubectl get -o yaml prints it. Of each: what would happen \
                on merge, and is it dangerous?";
    writeln!(out, "The bookshop, laid out in {}", place.path().display())?;
    write_wrapped(text, style, out)?;
    writeln!(out)
}

/// Writes one step; hands on whether its check fails.
fn write_step(number: usize, step: &Step, directory: &Path, style: Style, out: &mut dyn Write) -> Result<bool, Failure> {
    let title = format!("Step {number} of {}: {}", STEPS.len(), step.title);
    let line = if style.unicode { "─" } else { "-" };
    let rule = line.repeat(style.width.saturating_sub(title.chars().count() + 4));
    writeln!(out, "{}", strong(&format!("{line}{line} {title} {rule}"), style))?;
    write_wrapped(step.story, style, out)?;
    let outcome = judged(number, step, directory)?;
    let setting = Setting::default();
    let report = report(&outcome, &setting);
    writeln!(out, "\n{}\n", strong(&format!("$ {}", command("plan", number, step)), style))?;
    plan_text::write(&report, style, out)?;
    writeln!(out, "\n{}\n", strong(&format!("$ {}", command("check", number, step)), style))?;
    text::write(&report, style, out)?;
    writeln!(out, "{}\n", verdict(report.fails()))?;
    Ok(report.fails())
}

fn verdict(fails: bool) -> &'static str {
    if fails { "exit code 1: in CI this stops the merge" } else { "exit code 0: in CI this lets the merge pass" }
}

fn write_summary(failing: &[bool], style: Style, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", strong("In short", style))?;
    let width = STEPS.iter().map(|step| step.title.chars().count()).max().unwrap_or(0);
    for (number, (step, fails)) in (1..).zip(STEPS.iter().zip(failing)) {
        writeln!(out, "  {number}  {:width$}  {}", step.title, verdict(*fails))?;
    }
    writeln!(out)
}

/// What the check of a step finds.
fn judged(number: usize, step: &Step, directory: &Path) -> Result<Outcome, Failure> {
    let options = Options {
        repo: directory.to_path_buf(),
        base: Some(step.base.to_owned()),
        head: Head::Revision(step.branch.to_owned()),
        snapshots: vec![directory.join(snapshot(number)).to_string_lossy().into_owned()],
        max_snapshot_age: None,
        now: jiff::Timestamp::now(),
        repo_urls: Vec::new(),
        applications: Vec::new(),
        all: false,
        offline: true,
        programs: Programs::default(),
        config: None,
        cache: None,
    };
    let mut outcome = check::run(&options).map_err(failed)?;
    // As the command that is shown names it.
    for source in &mut outcome.snapshots {
        source.source = snapshot(number);
    }
    Ok(outcome)
}

fn report<'a>(outcome: &'a Outcome, setting: &'a Setting) -> Report<'a> {
    Report {
        base: outcome.base.clone(),
        head: outcome.head.clone(),
        snapshots: &outcome.snapshots,
        plans: &outcome.plans,
        all: false,
        findings: &outcome.findings,
        unjudged: &outcome.unjudged,
        texts: &outcome.texts,
        notes: &outcome.notes,
        same: &outcome.same,
        fail_on: Some(Severity::Error),
        strict: false,
        rules: &[],
        tree: &[],
        setting,
    }
}

/// Path of a step's live state from the repository.
fn snapshot(number: usize) -> String {
    format!("live/step-{number}.yaml")
}

fn command(name: &str, number: usize, step: &Step) -> String {
    format!("presync {name} --base {} --head {} --snapshot {}", step.base, step.branch, snapshot(number))
}

fn write_closing(place: &Place, style: Style, out: &mut dyn Write) -> io::Result<()> {
    match place {
        Place::Temporary(_) => {
            let text = "The directory is removed now. presync demo DIR lays the bookshop out in a directory that stays, with the commands to go on \
                        from there.";
            write_wrapped(text, style, out)
        }
        Place::Kept(path) => {
            writeln!(out, "{}", strong("Go on from here", style))?;
            writeln!(out, "  cd {}", quoted(path))?;
            for (index, step) in STEPS.iter().enumerate() {
                writeln!(out, "  {}", command("check", index + 1, step))?;
            }
            writeln!(out)?;
            let text = "Or change a file, and see what that would do; without --head the working tree is what would be merged:";
            write_wrapped(text, style, out)?;
            writeln!(out, "  git rm apps/bookshop/service.yaml")?;
            writeln!(out, "  presync plan --base main --snapshot {}", snapshot(2))
        }
    }
}

/// A path as a shell reads it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:\\".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn strong(text: &str, style: Style) -> String {
    if style.color { text.bold().to_string() } else { text.to_owned() }
}

fn write_wrapped(text: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > style.width {
            writeln!(out, "{line}")?;
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(out, "{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_a_shell_would_take_apart_is_quoted() {
        assert_eq!(quoted(Path::new("/tmp/presync-demo-a.b_1")), "/tmp/presync-demo-a.b_1");
        assert_eq!(quoted(Path::new("my shop")), "'my shop'");
        assert_eq!(quoted(Path::new("it's; rm")), r"'it'\''s; rm'");
    }
}
