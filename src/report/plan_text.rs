//! What `presync plan` prints: Application by Application, resource by resource, in the order in which Argo CD works.
//!
//! Takes a [`Report`]; hands on text that is the same for the same report. Values of fields are printed by [`fields`](super::fields).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};

use super::Report;
use super::dependents::write_dependents;
use super::fields::write_fields;
use super::style::{Style, Tone, clean, columns, one_line, wrap};
use super::summary::{Counts, listed, mode_words, parts, reason_words, resource};
use crate::argocd::AppId;
use crate::argocd::names::GROUP;
use crate::plan::{Action, AppChange, Basis, Change, Phase, SyncMode, SyncPlan};

/// Columns that a resource may take before its reason moves to the next line.
const MAX_RESOURCE: usize = 44;

/// Writes the plan as text.
pub fn write(report: &Report<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    for plan in parents_first(report.plans) {
        write_application(plan, report.all, style, &mut out)?;
    }
    for unjudged in report.unjudged {
        let name = unjudged.application.as_deref().map(|id| format!("{}: ", clean(id))).unwrap_or_default();
        let text = format!("{name}{}: {}", one_line(&unjudged.what), one_line(&unjudged.why));
        write_wrapped(&style.paint(Tone::Doubtful, "not judged: "), 12, &text, style, &mut out)?;
    }
    for note in report.notes {
        write_wrapped(&style.paint(Tone::Faint, "note: "), 6, &one_line(note), style, &mut out)?;
    }
    if !(report.unjudged.is_empty() && report.notes.is_empty()) {
        writeln!(out)?;
    }
    write_wrapped("", 2, &closing(report), style, &mut out)?;
    out.flush()
}

/// The plans, each Application after the one that creates, changes or deletes it.
fn parents_first(plans: &[SyncPlan]) -> Vec<&SyncPlan> {
    let positions: BTreeMap<&AppId, usize> = plans.iter().enumerate().map(|(index, plan)| (&plan.application.id, index)).collect();
    let children = |index: usize| -> Vec<usize> {
        let Some(plan) = plans.get(index) else { return Vec::new() };
        let applications = plan.changes.iter().filter(|change| change.key.is(GROUP, "Application"));
        let ids = applications.map(|change| AppId::new(&change.key.namespace, &change.key.name));
        ids.filter_map(|id| positions.get(&id).copied()).filter(|child| *child != index).collect()
    };
    let children: Vec<Vec<usize>> = (0..plans.len()).map(children).collect();
    let has_parent: BTreeSet<usize> = children.iter().flatten().copied().collect();
    // Applications that contain each other have no top: they come last, in the order of their names.
    let tops = (0..plans.len()).filter(|index| !has_parent.contains(index)).chain(0..plans.len());
    let (mut seen, mut ordered) = (BTreeSet::new(), Vec::with_capacity(plans.len()));
    for top in tops {
        let mut pending = vec![top];
        while let Some(index) = pending.pop() {
            if seen.insert(index) {
                ordered.extend(plans.get(index));
                pending.extend(children.get(index).into_iter().flatten().rev());
            }
        }
    }
    ordered
}

fn write_application(plan: &SyncPlan, all: bool, style: Style, out: &mut dyn Write) -> io::Result<()> {
    write_head(plan, style, out)?;
    let changes: Vec<&Change> = listed(plan, all).collect();
    let steps: Vec<(Phase, i64)> = changes.iter().filter(|change| has_step(change)).map(|change| (change.phase, change.wave)).collect();
    let several = steps.windows(2).any(|pair| pair.first() != pair.last());
    let columns = Columns::of(&changes, if several { "    " } else { "  " });
    let mut step = None;
    for change in &changes {
        let next = has_step(change).then_some((change.phase, change.wave));
        if several && step != Some(next) {
            let title = next.map_or_else(|| "untouched".to_owned(), |(phase, wave)| format!("{}, wave {wave}", phase.as_str()));
            writeln!(out, "  {}", style.paint(Tone::Known, &title))?;
        }
        step = Some(next);
        write_change(change, &columns, all, style, out)?;
    }
    if changes.is_empty() && !matches!(plan.sync.mode, SyncMode::Refused | SyncMode::Error) {
        writeln!(out, "  {}", style.paint(Tone::Faint, "nothing to do"))?;
    }
    for condition in &plan.conditions {
        let text = format!("{}: {}", condition.kind, one_line(&condition.message));
        write_wrapped(&style.paint(Tone::Doubtful, "  ! "), 4, &text, style, out)?;
    }
    writeln!(out)
}

/// Whether the change takes place in a phase and wave: what stays in the cluster does not.
fn has_step(change: &Change) -> bool {
    !matches!(change.action, Action::Leftover | Action::Retain | Action::Orphan | Action::Skip | Action::None)
}

fn write_head(plan: &SyncPlan, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let tone = match plan.sync.mode {
        SyncMode::Refused | SyncMode::Error | SyncMode::Deleted => Tone::Bad,
        SyncMode::Blocked | SyncMode::Manual => Tone::Doubtful,
        SyncMode::Automated => Tone::Good,
    };
    let mut line =
        format!("{}  {}", style.paint(Tone::Strong, &clean(&plan.application.id.to_string())), style.paint(tone, &mode_words(plan)),);
    if plan.change != AppChange::Unchanged {
        line.push_str(&format!("  ({} by the change)", plan.change.as_str()));
    }
    if plan.basis == Basis::Assumed {
        line.push_str("  (assumed)");
    }
    writeln!(out, "{line}")?;
    let destination = &plan.application.spec.destination;
    let cluster = if destination.name.is_empty() { &*plan.server } else { &*destination.name };
    let mut place = if cluster.is_empty() { "unknown cluster".to_owned() } else { clean(cluster).into_owned() };
    if !destination.namespace.is_empty() {
        place.push_str(&format!(", namespace {}", clean(&destination.namespace)));
    }
    let origin = plan.origin.as_ref().map(|origin| format!("; defined in {}:{}", clean(&origin.path), origin.line)).unwrap_or_default();
    for (index, line) in wrap(&format!("{place}{origin}"), style.width.saturating_sub(6)).iter().enumerate() {
        let arrow = if index == 0 { format!("{} ", style.arrow()) } else { "  ".to_owned() };
        writeln!(out, "  {}", style.paint(Tone::Faint, &format!("{arrow}{line}")))?;
    }
    let is_plain = plan.sync.mode == SyncMode::Automated && plan.sync.starts;
    if !is_plain && !plan.sync.reason.is_empty() {
        for reason in wrap(&one_line(&plan.sync.reason), style.width.saturating_sub(4)) {
            writeln!(out, "  {reason}")?;
        }
    }
    Ok(())
}

/// How the lines of one Application are aligned.
struct Columns {
    indent: &'static str,
    action: usize,
    resource: usize,
}

impl Columns {
    fn of(changes: &[&Change], indent: &'static str) -> Self {
        let action = changes.iter().map(|change| columns(change.action.as_str())).max().unwrap_or(0);
        let resource = changes.iter().map(|change| columns(&resource(change))).filter(|width| *width <= MAX_RESOURCE).max().unwrap_or(0);
        Self { indent, action, resource }
    }
}

fn write_change(change: &Change, aligned: &Columns, all: bool, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let tone = if change.reached { tone(change.action) } else { Tone::Faint };
    let symbol = symbol(change.action, style);
    let action = format!("{:<width$}", change.action.as_str(), width = aligned.action);
    let resource = resource(change);
    let reason = reason_words(change);
    let start = columns(aligned.indent) + 2 + aligned.action + 1;
    write!(out, "{}{}", aligned.indent, style.paint(tone, &format!("{symbol} {action}")))?;
    let name = if change.reached { resource.clone() } else { style.paint(Tone::Faint, &resource) };
    write!(out, " {name}")?;
    let beside = start + aligned.resource + 2;
    let paint = |line: &str| if change.reached { line.to_owned() } else { style.paint(Tone::Faint, line) };
    if columns(&resource) <= aligned.resource && beside + 30 <= style.width {
        write!(out, "{}", " ".repeat(aligned.resource - columns(&resource) + 2))?;
        for (index, line) in wrap(&reason, style.width - beside).iter().enumerate() {
            if index > 0 {
                write!(out, "{}", " ".repeat(beside))?;
            }
            writeln!(out, "{}", paint(line))?;
        }
    } else {
        writeln!(out)?;
        for line in wrap(&reason, style.width.saturating_sub(start + 2).max(20)) {
            writeln!(out, "{}{}", " ".repeat(start + 2), paint(&line))?;
        }
    }
    let indent = " ".repeat(columns(aligned.indent) + 4);
    write_fields(&change.diff, &indent, all, style, out)?;
    write_dependents(change, &indent, all, style, out)
}

fn tone(action: Action) -> Tone {
    match action {
        Action::Create => Tone::Good,
        Action::Update | Action::Adopt | Action::Confirm => Tone::Doubtful,
        Action::Replace | Action::Recreate | Action::Fail | Action::Prune | Action::Delete => Tone::Bad,
        Action::Hook => Tone::Known,
        Action::None | Action::Skip | Action::Leftover | Action::Retain | Action::Orphan => Tone::Faint,
    }
}

fn symbol(action: Action, style: Style) -> String {
    match action.symbol() {
        '±' if !style.unicode => "%".to_owned(),
        '»' if !style.unicode => ">".to_owned(),
        '·' if !style.unicode => ".".to_owned(),
        symbol => symbol.to_string(),
    }
}

fn write_wrapped(label: &str, label_width: usize, text: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    for (index, line) in wrap(text, style.width.saturating_sub(label_width).max(20)).iter().enumerate() {
        if index == 0 { writeln!(out, "{label}{line}")? } else { writeln!(out, "{}{line}", " ".repeat(label_width))? }
    }
    Ok(())
}

/// `Plan: 2 to create, 1 to prune; 1 stays behind`.
fn closing(report: &Report<'_>) -> String {
    let counts = Counts::of(report.plans.iter().flat_map(|plan| listed(plan, false)));
    let mut going: Vec<&SyncPlan> = report.plans.iter().collect();
    going.retain(|plan| listed(plan, false).any(|change| change.action == Action::Delete));
    let with = match going.as_slice() {
        [only] => format!("deleted with Application {}", clean(&only.application.id.to_string())),
        _ => "deleted with their Applications".to_owned(),
    };
    let happens = [
        (counts.create, "to create", "to create"),
        (counts.update, "to update", "to update"),
        (counts.prune, "to prune", "to prune"),
        (counts.delete, &*with, &*with),
        (counts.hook, "hook to run", "hooks to run"),
        (counts.fail, "will fail", "will fail"),
    ];
    let stays = [
        (counts.leftover + counts.retain + counts.orphan, "stays behind", "stay behind"),
        (counts.confirm, "waits for approval", "wait for approval"),
        (counts.skip, "is never applied", "are never applied"),
        (counts.unreached, "of all these is not reached", "of all these are not reached"),
    ];
    let refused = report.plans.iter().filter(|plan| matches!(plan.sync.mode, SyncMode::Refused | SyncMode::Error)).count();
    let refused = [(refused, "Application is not synced at all", "Applications are not synced at all")];
    let clauses = [parts(happens), parts(stays), parts(refused)];
    let clauses: Vec<String> = clauses.iter().filter(|clause| !clause.is_empty()).map(|clause| clause.join(", ")).collect();
    let clauses = if clauses.is_empty() { "nothing to do".to_owned() } else { clauses.join("; ") };
    if report.plans.is_empty() { "Plan: nothing to do; 0 Applications affected".to_owned() } else { format!("Plan: {clauses}") }
}
