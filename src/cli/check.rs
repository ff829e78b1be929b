//! `presync check` and `presync plan`.

use std::process::ExitCode;
use std::time::Instant;

use clap::Args;

use super::output::{self, Text};
use super::shared::{Format, SharedArgs};
use super::{Failure, baseline, fix, surroundings};
use crate::check::Outcome;
use crate::finding::Severity;
use crate::report::applications::Node;
use crate::report::{Report, RuleText, Setting, applications};

/// Arguments of `presync check`.
#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    shared: SharedArgs,
    /// Write the findings that count into .presync-baseline.json, from where they count no more once it is merged
    #[arg(long, help_heading = "Output")]
    write_baseline: bool,
    /// Carry out the findings' safe edits in the working tree, and check again; comments and layout stay
    #[arg(long, conflicts_with_all = ["head", "staged"], help_heading = "Output")]
    fix: bool,
    /// Show the edits of --fix as a diff, and write nothing
    #[arg(long, requires = "fix", help_heading = "Output")]
    diff: bool,
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
    let started = Instant::now();
    let mut outcome = args.shared.run()?;
    if args.diff {
        return fix::diff(&outcome, &args.shared, report(&outcome, &args.shared, &Frame::default()).fails());
    }
    if args.fix {
        let edits = fix::write(&outcome, &args.shared)?;
        if edits.change_something() {
            outcome = args.shared.run()?;
        }
        edits.tell(&outcome)?;
    }
    if args.write_baseline {
        baseline::write(&outcome, &args.shared)?;
    }
    finish(outcome, &args.shared, Text::Findings, started)
}

pub(super) fn plan(args: &PlanArgs) -> Result<ExitCode, Failure> {
    if args.applications { applications(&args.shared) } else { run(&args.shared, Text::Plan) }
}

/// Prints the tree of Applications.
fn applications(args: &SharedArgs) -> Result<ExitCode, Failure> {
    let outcome = args.run()?;
    let nodes = applications::tree(&outcome.inventory, &outcome.plans, args.all);
    output::write_applications(&nodes, &outcome, args)?;
    let frame = Frame::default();
    Ok(exit_code(&outcome, &report(&outcome, args, &frame)))
}

/// A run in which presync came upon a mistake of its own has not done the whole job.
fn exit_code(outcome: &Outcome, report: &Report<'_>) -> ExitCode {
    match (outcome.bugs.is_empty(), report.fails()) {
        (false, _) => ExitCode::from(2),
        (true, true) => ExitCode::from(1),
        (true, false) => ExitCode::SUCCESS,
    }
}

fn run(args: &SharedArgs, text: Text) -> Result<ExitCode, Failure> {
    let started = Instant::now();
    let outcome = args.run()?;
    finish(outcome, args, text, started)
}

fn finish(mut outcome: Outcome, args: &SharedArgs, text: Text, started: Instant) -> Result<ExitCode, Failure> {
    keep_from(&mut outcome, args.min_severity.severity());
    fix::withdraw(&mut outcome, args)?;
    // Most formats show neither, and a fleet's tree is large.
    let writes = |wanted: Format| args.formats().any(|format| format == wanted);
    let frame = Frame {
        rules: if writes(Format::Sarif) { surroundings::rule_texts()? } else { Vec::new() },
        tree: if writes(Format::Markdown) { applications::tree(&outcome.inventory, &outcome.plans, true) } else { Vec::new() },
        setting: Setting {
            files: surroundings::file_links(&outcome.base, &outcome.head),
            complete: surroundings::complete_report(),
            now: Some(args.options().now),
            elapsed: Some(started.elapsed()),
        },
    };
    let report = report(&outcome, args, &frame);
    output::write(&report, args, text)?;
    let code = exit_code(&outcome, &report);
    // The program ends: what a large repository left in memory need not be freed piece by piece.
    std::mem::forget(outcome);
    Ok(code)
}

/// Leaves out the findings below a severity, and says how many.
fn keep_from(outcome: &mut Outcome, lowest: Option<Severity>) {
    let before = outcome.findings.len();
    outcome.findings.retain(|finding| lowest.is_some_and(|lowest| finding.severity >= lowest));
    let left_out = before - outcome.findings.len();
    if left_out > 0 {
        outcome.notes.push(format!("{left_out} findings below --min-severity are left out"));
    }
}

/// What a report says besides an outcome.
#[derive(Default)]
pub(super) struct Frame {
    rules: Vec<RuleText>,
    tree: Vec<Node>,
    setting: Setting,
}

/// The report on an outcome.
pub(super) fn report<'a>(outcome: &'a Outcome, args: &SharedArgs, frame: &'a Frame) -> Report<'a> {
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
        same: &outcome.same,
        fail_on: args.fail_on.severity(),
        strict: args.strict,
        rules: &frame.rules,
        tree: &frame.tree,
        setting: &frame.setting,
    }
}
