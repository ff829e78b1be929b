//! Counts: what of a plan is listed, how much of it there is, and the words for it.
//!
//! Takes a [`Report`]; hands on numbers that every format shows alike.

use super::Report;
use super::style::{clean, one_line, plural};
use crate::finding::Severity;
use crate::plan::{Action, AppChange, Basis, Change, SyncMode, SyncPlan};

/// The changes that a report lists: none of a refused Application or one without manifests, because none will happen; objects in sync only
/// where all are asked for.
pub fn listed(plan: &SyncPlan, all: bool) -> impl Iterator<Item = &Change> {
    let happens = !matches!(plan.sync.mode, SyncMode::Refused | SyncMode::Error);
    plan.changes.iter().filter(move |change| happens && (all || change.action != Action::None))
}

/// How many changes there are of each kind. Changes that their sync does not reach count too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// `create`.
    pub create: usize,
    /// `update`, `adopt`, `replace` and `recreate`.
    pub update: usize,
    /// `prune`.
    pub prune: usize,
    /// `delete`.
    pub delete: usize,
    /// `leftover`.
    pub leftover: usize,
    /// `retain`.
    pub retain: usize,
    /// `confirm`.
    pub confirm: usize,
    /// `orphan`.
    pub orphan: usize,
    /// `hook`.
    pub hook: usize,
    /// `skip`.
    pub skip: usize,
    /// `fail`.
    pub fail: usize,
    /// Changes of any kind that their sync does not reach.
    pub unreached: usize,
    /// Changes of any kind that would happen without the change under review too.
    pub standing: usize,
}

impl Counts {
    /// Counts changes.
    pub fn of<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Self {
        let mut counts = Self::default();
        for change in changes {
            match change.action {
                Action::Create => counts.create += 1,
                Action::Update | Action::Adopt | Action::Replace | Action::Recreate => counts.update += 1,
                Action::Prune => counts.prune += 1,
                Action::Delete => counts.delete += 1,
                Action::Leftover => counts.leftover += 1,
                Action::Retain => counts.retain += 1,
                Action::Confirm => counts.confirm += 1,
                Action::Orphan => counts.orphan += 1,
                Action::Hook => counts.hook += 1,
                Action::Skip => counts.skip += 1,
                Action::Fail => counts.fail += 1,
                Action::None => continue,
            }
            counts.unreached += usize::from(!change.reached);
            counts.standing += usize::from(!change.introduced);
        }
        counts
    }

    /// `+1 ~2 -1`: created, updated, deleted; empty where there is nothing of these.
    pub fn signs(&self) -> String {
        let signs = [('+', self.create), ('~', self.update), ('-', self.prune + self.delete)];
        let signs: Vec<String> = signs.iter().filter(|(_, count)| *count > 0).map(|(sign, count)| format!("{sign}{count}")).collect();
        signs.join(" ")
    }

    /// What the signs do not say, such as `1 leftover` and `2 hooks`.
    pub fn words(&self) -> Vec<String> {
        let words = [
            (self.fail, "will fail", "will fail"),
            (self.confirm, "waits for approval", "wait for approval"),
            (self.leftover, "leftover", "leftovers"),
            (self.retain, "retained", "retained"),
            (self.orphan, "orphaned", "orphaned"),
            (self.hook, "hook", "hooks"),
            (self.skip, "never applied", "never applied"),
            (self.unreached, "not reached", "not reached"),
            (self.standing, "due anyway", "due anyway"),
        ];
        parts(words)
    }
}

/// `1 one` and `2 many`, without what there is none of.
pub(super) fn parts<const N: usize>(words: [(usize, &str, &str); N]) -> Vec<String> {
    words.iter().filter(|(count, ..)| *count > 0).map(|(count, one, many)| plural(*count, one, many)).collect()
}

/// The counts of a whole report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Applications that were planned and are listed.
    pub applications: usize,
    /// Their changes.
    pub changes: Counts,
    /// Findings of severity `error` that are not suppressed.
    pub errors: usize,
    /// The same for `warning`.
    pub warnings: usize,
    /// The same for `info`.
    pub infos: usize,
    /// Suppressed findings.
    pub suppressed: usize,
    /// Things that could not be looked at.
    pub unjudged: usize,
}

impl Summary {
    /// Counts a report.
    pub fn of(report: &Report<'_>) -> Self {
        let mut summary = Self {
            applications: report.plans.len(),
            changes: Counts::of(report.plans.iter().flat_map(|plan| listed(plan, false))),
            unjudged: report.unjudged.len(),
            ..Self::default()
        };
        for finding in report.findings {
            let counter = match finding.severity {
                _ if finding.suppressed.is_some() => &mut summary.suppressed,
                Severity::Error => &mut summary.errors,
                Severity::Warning => &mut summary.warnings,
                Severity::Info => &mut summary.infos,
            };
            *counter += 1;
        }
        summary
    }
}

/// How an Application is synced, in a few words.
pub(super) fn mode_words(plan: &SyncPlan) -> String {
    let sync = &plan.sync;
    let mut words = sync.mode.as_str().to_owned();
    if sync.mode == SyncMode::Automated {
        words.push_str(if sync.prune { ", prune on" } else { ", prune off" });
        if sync.self_heal {
            words.push_str(", self-heal");
        }
    }
    words
}

/// The object of a change, with its cluster where that is another than the Application's.
pub(super) fn resource(change: &Change) -> String {
    let cluster = change.cluster.as_ref().map(|server| format!(" on {server}")).unwrap_or_default();
    clean(&format!("{}{cluster}", change.key)).into_owned()
}

/// Why a change happens, with what is special about it.
pub(super) fn reason_words(change: &Change) -> String {
    let mut reason = one_line(&change.reason.to_string());
    if change.earlier {
        reason.push_str(" (an earlier change)");
    } else if !change.introduced && change.action != Action::None {
        reason.push_str(" (due anyway)");
    }
    if !change.reached {
        reason.push_str(" (not reached)");
    }
    reason
}

/// What is left to say of an Application besides its mode: the changes, the definition, and whether live state was assumed.
pub(super) fn plan_words(plan: &SyncPlan) -> Vec<String> {
    let counts = Counts::of(listed(plan, false));
    let mut words = counts.words();
    if counts == Counts::default() && !matches!(plan.sync.mode, SyncMode::Refused | SyncMode::Error | SyncMode::Deleted) {
        words.push("nothing to do".to_owned());
    }
    if plan.change != AppChange::Unchanged {
        words.push(format!("{} by the change", plan.change.as_str()));
    }
    if plan.basis == Basis::Assumed {
        words.push("assumed".to_owned());
    }
    words
}
