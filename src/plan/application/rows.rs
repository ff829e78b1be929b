//! What the sync does to one object of Git: applied, run as a hook, or made because an option asks for it.
//!
//! Takes the pair of target and live object; hands on a [`Row`].

use std::borrow::Cow;

use serde_json::Value;

use super::row::Row;
use super::{Planner, Run};
use crate::argocd::hook::{self, DeletePolicy};
use crate::manifest::ResourceKey;
use crate::plan::change::{Action, FieldChange, Phase};
use crate::plan::diff::{self, Method, ObjectDiff};
use crate::plan::failure::{self, Apply, ApplyStrategy, Failure, FailureKind, Outcome};
use crate::plan::pairing::Pair;
use crate::plan::reason::{LiveCopy, Reason, Refused};
use crate::snapshot::LiveObject;

impl Planner<'_> {
    /// What the sync does to an object that Git has.
    pub(super) fn applied(&self, pair: &Pair, diff: Option<ObjectDiff>, run: &Run<'_>) -> Row {
        let Some(target) = &pair.target else { return Row::new(pair, Action::None, Reason::InSync) };
        let Some(live) = &pair.live else {
            if let Some(message) = self.missing_ground(target) {
                return Row::new(pair, Action::Fail, nothing_there(message));
            }
            let apply = self.apply(&target.object, None);
            return match failure::foresee_create(&target.object, apply, self.world.failure_context(&self.server)) {
                Some(failure) => Row::new(pair, Action::Fail, failing(&failure)),
                None => Row::new(pair, Action::Create, Reason::NotLive),
            };
        };
        let Some(diff) = diff else { return Row::new(pair, Action::None, Reason::InSync) };
        let only_out_of_sync = self.options().has("ApplyOutOfSyncOnly=true");
        let mut row = Row::new(pair, Action::None, Reason::InSync);
        if !diff.modified && (!run.happens() || only_out_of_sync) {
            return row;
        }
        if let Some(message) = self.missing_ground(target) {
            row.action = Action::Fail;
            row.reason = nothing_there(message);
            return row;
        }
        let respected = self.options().has("RespectIgnoreDifferences=true");
        let known = self.known(target, live);
        let sent = if respected {
            Cow::Owned(run.rules.respect(&target.object, &known, self.world.respect_options()))
        } else {
            Cow::Borrowed(&*target.object)
        };
        let apply = self.apply(&target.object, Some(live.object()));
        let outcome = failure::foresee_apply(&sent, &known, apply, self.world.failure_context(&self.server));
        let unseen = self.unseen(&sent, &known, run, respected);
        row.diff = diff.fields;
        if let Some((whole, _)) = &unseen {
            let seen = std::mem::take(&mut row.diff);
            row.diff.clone_from(&whole.fields);
            row.diff.extend(seen.into_iter().filter(|field| whole.fields.iter().all(|other| other.path != field.path)));
        }
        let erased = if run.writes { self.erased(pair, &sent, &known, apply, &outcome, &row.diff) } else { Vec::new() };
        let erases = erased.len();
        row.diff.extend(erased);
        (row.action, row.reason) = match outcome {
            Outcome::Fail(failure) => (Action::Fail, failing(&failure)),
            Outcome::Recreate if diff.modified || apply.strategy == ApplyStrategy::Replace => {
                let is_reconciled = pair.key.group.as_ref() == "rbac.authorization.k8s.io" && apply.strategy == ApplyStrategy::ClientSide;
                (Action::Recreate, if is_reconciled { Reason::RoleRef } else { Reason::ForceOption })
            }
            Outcome::Replace if is_updated_in_place(&pair.key) && diff.modified => self.updated(live, row.diff.len()),
            Outcome::Replace if is_updated_in_place(&pair.key) => (Action::Update, Reason::Reapplied { option: "Replace=true" }),
            Outcome::Replace if diff.modified => (Action::Replace, Reason::ReplaceOption),
            Outcome::Replace if erases > 0 => (Action::Replace, Reason::ReplaceErases { fields: erases }),
            Outcome::Replace => (Action::Replace, Reason::Reapplied { option: "Replace=true" }),
            _ if diff.modified => self.updated(live, row.diff.len()),
            _ if erases > 0 => (Action::Update, Reason::ReplaceErases { fields: erases }),
            _ => unseen.map_or((Action::None, Reason::InSync), |(_, reason)| (Action::Update, reason)),
        };
        row
    }

    /// An update, or an adoption where the live object belongs to nobody or to another Application.
    fn updated(&self, live: &LiveObject, fields: usize) -> (Action, Reason) {
        let instance = self.input.application.id.instance(&self.settings().namespace);
        match self.world.live.is_tracked(live) {
            _ if live.key.is("apiextensions.k8s.io", "CustomResourceDefinition") => (Action::Update, Reason::Differs { fields }),
            Some(tracked) if tracked == instance => (Action::Update, Reason::Differs { fields }),
            Some(other) => (Action::Adopt, Reason::TrackedBy { application: other.replace('_', "/") }),
            None => (Action::Adopt, Reason::Untracked),
        }
    }

    /// The fields that a replace, or a deletion with a new creation, takes away beyond those that differ.
    fn erased(
        &self,
        pair: &Pair,
        sent: &Value,
        live: &Value,
        apply: Apply,
        outcome: &Outcome,
        differing: &[FieldChange],
    ) -> Vec<FieldChange> {
        let rewrites = match outcome {
            Outcome::Replace | Outcome::Recreate => true,
            // Kinds that are updated in place, with the whole target.
            Outcome::Update => apply.strategy == ApplyStrategy::Replace,
            Outcome::Fail(_) => false,
        };
        if !rewrites || self.world.live.is_assumed() {
            return Vec::new();
        }
        let before = self.base.get(&pair.key).map(|base| &*base.object);
        let is_new = |field: &FieldChange| {
            let within = |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            let covers = |other: &FieldChange| within(&field.path, &other.path) || within(&other.path, &field.path);
            !differing.iter().any(covers)
        };
        diff::taken_away(sent, live, before).into_iter().filter(is_new).collect()
    }

    /// What a sync writes that the comparison does not see, with the reason: Argo CD's comparison leaves ignored fields out, but a sync writes the
    /// whole target unless it respects the rules; and it may compare in another way than it applies.
    fn unseen(&self, sent: &Value, live: &Value, run: &Run<'_>, respected: bool) -> Option<(ObjectDiff, Reason)> {
        let method = if self.applies_server_side(sent) { Method::StructuredMerge } else { Method::ThreeWay };
        let ignored = !respected && run.rules.concerns(live);
        if !run.writes || !(ignored || method != self.method(sent)) {
            return None;
        }
        let rules = if ignored { self.world.no_rules() } else { run.rules };
        let whole = diff::diff(sent, live, &self.world.diff_context(rules, method));
        let reason = if ignored { Reason::IgnoredButWritten } else { Reason::UnseenButWritten };
        (whole.modified && whole.error.is_none()).then_some((whole, reason))
    }

    pub(super) fn hook_row(&self, pair: &Pair, phase: Phase) -> Row {
        let mut row = Row::new(pair, Action::Hook, Reason::Hook { live_copy: LiveCopy::Stays });
        row.phase = phase;
        row.hook = true;
        let Some(target) = &pair.target else { return row };
        let named = crate::manifest::metadata_str(&target.object, "name").is_some_and(|name| !name.is_empty());
        let live = pair.live.as_ref().filter(|_| named);
        let policies = hook::delete_policies(&target.object);
        let recreates = policies.contains(&DeletePolicy::BeforeHookCreation);
        let context = self.world.failure_context(&self.server);
        let problem = match live {
            Some(live) if !recreates => {
                let apply = self.apply(&target.object, Some(live.object()));
                match failure::foresee_apply(&target.object, live.object(), apply, context) {
                    Outcome::Fail(failure) => Some(failing(&failure)),
                    _ => {
                        if policies.contains(&DeletePolicy::HookSucceeded) {
                            row.reason = Reason::Hook { live_copy: LiveCopy::DeletedAfter };
                        }
                        None
                    }
                }
            }
            _ => {
                if live.is_some() {
                    row.reason = Reason::Hook { live_copy: LiveCopy::DeletedFirst };
                }
                let ground = if live.is_none() { self.missing_ground(target) } else { None };
                let unfit = || failure::foresee_create(&target.object, self.apply(&target.object, None), context);
                ground.map(nothing_there).or_else(|| unfit().map(|failure| failing(&failure)))
            }
        };
        if let Some(reason) = problem {
            row.action = Action::Fail;
            row.reason = reason;
        }
        row
    }
}

/// Kinds that are updated where others are replaced.
///
/// Source: Argo CD `gitops-engine/pkg/sync/sync_context.go:applyObject`.
fn is_updated_in_place(key: &ResourceKey) -> bool {
    key.is("", "Namespace") || key.is("apiextensions.k8s.io", "CustomResourceDefinition")
}

fn nothing_there(message: String) -> Reason {
    Reason::Fails { message, cause: Refused::Missing, fields: Vec::new() }
}

fn failing(failure: &Failure) -> Reason {
    let (cause, place) = match &failure.kind {
        FailureKind::Immutable { .. } | FailureKind::ClaimShrinks | FailureKind::ClaimCannotGrow => (Refused::Immutable, None),
        FailureKind::AnnotationTooLarge { .. } => (Refused::TooLargeToApply, None),
        FailureKind::TypeError { pointer, .. } | FailureKind::MissingFields { pointer, .. } | FailureKind::InvalidValue { pointer } => {
            (Refused::Invalid, Some(pointer))
        }
        FailureKind::ObjectTooLarge { .. } | FailureKind::SelectorMismatch => (Refused::Invalid, None),
        FailureKind::ReplaceLosesVolumeName | FailureKind::ReplaceLosesFields { .. } => (Refused::ReplaceLosesFields, None),
        FailureKind::ForceDeletes { .. } => (Refused::ForceDeletes, None),
        FailureKind::ForceWithServerSideApply => (Refused::Options, None),
    };
    let changed = failure.changes.iter().map(|change| &change.pointer);
    // The object itself is shown anyway.
    let place = place.filter(|pointer| !pointer.is_empty());
    Reason::Fails { message: failure.message.clone(), cause, fields: changed.chain(place).cloned().collect() }
}
