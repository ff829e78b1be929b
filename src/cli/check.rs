//! `presync check` and `presync plan`.

use std::process::ExitCode;

use clap::Args;

use super::Failure;
use super::output::{self, Text};
use super::shared::{SharedArgs, failed};
use crate::check::{self, Outcome};
use crate::report::{Report, applications};

/// Arguments of `presync check`.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    shared: SharedArgs,
}

/// Arguments of `presync plan`.
#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    shared: SharedArgs,
    /// Print the tree of Applications instead: which are created, changed and deleted, and by whom
    #[arg(long, help_heading = "Plan")]
    applications: bool,
}

pub(super) fn check(args: &CheckArgs) -> Result<ExitCode, Failure> {
    run(&args.shared, Text::Findings)
}

pub(super) fn plan(args: &PlanArgs) -> Result<ExitCode, Failure> {
    if args.applications { applications(&args.shared) } else { run(&args.shared, Text::Plan) }
}

/// Prints the tree of Applications.
fn applications(args: &SharedArgs) -> Result<ExitCode, Failure> {
    let outcome = check::run(&args.options()).map_err(failed)?;
    let nodes = applications::tree(&outcome.inventory, &outcome.plans, args.all);
    output::write_applications(&nodes, &outcome, args)?;
    let report = report(&outcome, args);
    Ok(if report.fails() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn run(args: &SharedArgs, text: Text) -> Result<ExitCode, Failure> {
    let outcome = check::run(&args.options()).map_err(failed)?;
    let report = report(&outcome, args);
    output::write(&report, args, text)?;
    Ok(if report.fails() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// The report on an outcome.
pub(super) fn report<'a>(outcome: &'a Outcome, args: &SharedArgs) -> Report<'a> {
    Report {
        base: outcome.base.clone(),
        head: outcome.head.clone(),
        snapshots: &outcome.snapshots,
        plans: &outcome.plans,
        all: args.all,
        findings: &outcome.findings,
        unjudged: &outcome.unjudged,
        texts: &outcome.texts,
        notes: &outcome.notes,
        fail_on: args.fail_on.severity(),
        strict: args.strict,
    }
}
