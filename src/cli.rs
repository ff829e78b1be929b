//! The command line: one file a command, wiring, exit codes.
//!
//! Takes arguments; hands on an exit code: 0 nothing at or above `--fail-on`, 1 such a finding, 2 the job could not be done.

mod baseline;
mod cache_folder;
mod check;
mod completions;
mod demo;
mod evaluate;
mod fix;
mod git;
mod init;
mod output;
mod progress;
mod rules;
mod shared;
mod snapshot;
mod surroundings;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::finding::bug;
use crate::render::jsonnet;
#[cfg(unix)]
use crate::render::leftovers;

/// Shows what Argo CD will do to your cluster because of a change, and stops the merges that would hurt.
#[derive(Debug, Parser)]
#[command(name = "presync", version, about, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compare two revisions, build the sync plan, evaluate the rules, print findings
    Check(check::CheckArgs),
    /// Print the sync plan, resource by resource, in the order Argo CD works
    Plan(check::PlanArgs),
    /// Record, import or show live state
    Snapshot(snapshot::SnapshotArgs),
    /// Write a commented configuration and, on request, the workflow and the pre-commit entry
    Init(init::InitArgs),
    /// List the rules, or run the tests of your own
    Rules(rules::RulesArgs),
    /// Explain one rule in full
    Explain(rules::ExplainArgs),
    /// Lay out a small example repository and show presync at work on it, step by step
    Demo(demo::DemoArgs),
    /// Print a completion script
    Completions(completions::CompletionsArgs),
    /// Print the manual page
    Man,
    /// Evaluate jsonnet for another process of presync
    #[command(name = jsonnet::COMMAND, hide = true)]
    EvaluateJsonnet(evaluate::EvaluateArgs),
}

/// Why a command could not do its job.
#[derive(Debug)]
enum Failure {
    /// Reported with its help.
    Report(miette::Report),
    /// The reader of our output went away.
    BrokenPipe,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::BrokenPipe
        } else {
            Self::Report(miette::miette!("cannot write the output: {error}"))
        }
    }
}

impl From<miette::Report> for Failure {
    fn from(report: miette::Report) -> Self {
        Self::Report(report)
    }
}

/// Runs the command line.
pub fn run() -> ExitCode {
    crate::snapshot::capture::choose_cryptography();
    let cli = Cli::parse();
    bug::tell_only_once();
    // A capture ends by itself, and says so.
    #[cfg(unix)]
    if !matches!(cli.command, Command::Snapshot(_)) {
        leave_nothing_behind();
    }
    let result =
        bug::caught(|| "the command".to_owned(), || dispatch(cli.command)).unwrap_or_else(|bug| Err(miette::miette!("{bug}").into()));
    match result {
        Ok(code) => code,
        Err(Failure::BrokenPipe) => ExitCode::SUCCESS,
        Err(Failure::Report(report)) => {
            output::print_failure(&report);
            ExitCode::from(2)
        }
    }
}

/// Ends programs and removes folders when the run is interrupted: renderers have process groups of their own, which no terminal and no runner
/// ends.
#[cfg(unix)]
#[allow(clippy::exit, reason = "a signal ends the process, whatever its other threads are at")]
fn leave_nothing_behind() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // Where it cannot be done the run is not worse for it.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            leftovers::clear();
            std::process::exit(128 + signal);
        }
    });
}

fn dispatch(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Check(args) => check::check(&args),
        Command::Plan(args) => check::plan(&args),
        Command::Snapshot(args) => snapshot::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Rules(args) => rules::list(&args),
        Command::Explain(args) => rules::explain(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::Man => completions::man(),
        Command::EvaluateJsonnet(args) => evaluate::evaluate(&args),
    }
}
