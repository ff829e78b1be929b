//! How the comparison sees the objects of one Application.
//!
//! Takes the targets by what becomes of them; hands on pairs of target and live object, each with its difference and standing.

use std::borrow::Cow;

use serde_json::Value;

use super::{Planner, Split};
use crate::argocd::{hook, options};
use crate::manifest::{Manifest, ResourceKey};
use crate::plan::change::{Condition, NOT_JUDGED, SERVER_SIDE_DIFF};
use crate::plan::decision::Standing;
use crate::plan::diff::{self, IgnoreRules, Method, ObjectDiff};
use crate::plan::pairing::{self, Pair};
use crate::plan::{permission, redaction};
use crate::snapshot::LiveObject;

/// A pair with what the comparison says about it.
pub(super) struct Compared {
    pub(super) pair: Pair,
    pub(super) diff: Option<ObjectDiff>,
    pub(super) standing: Standing,
    /// Why Argo CD cannot compare it.
    pub(super) problem: Option<String>,
}

impl Planner<'_> {
    /// The pairs of targets and live objects, each with what the comparison says.
    pub(super) fn compared(&self, split: &Split, instance: &str, rules: &IgnoreRules) -> Vec<Compared> {
        let permitted = |object: &LiveObject| {
            self.world.sees(&self.server, &object.key) && permission::live_object(&self.input.application, self.world, &self.server, object)
        };
        let frame = pairing::Frame { live: self.world.live, server: &self.server, instance, permitted: &permitted };
        let hooks: Vec<&ResourceKey> = split.hooks.iter().map(|(hook, _)| hook).chain(&split.on_deletion).map(|hook| &hook.key).collect();
        let mut pairs = pairing::pair(&split.plain, &hooks, &frame);
        self.keep_managed_namespace(&mut pairs);
        pairs.into_iter().map(|pair| self.compare(pair, rules)).collect()
    }

    fn compare(&self, pair: Pair, rules: &IgnoreRules) -> Compared {
        let (mut diff, mut problem) = (None, None);
        if let (Some(target), Some(live)) = (&pair.target, &pair.live) {
            let known = self.known(target, live);
            diff = Some(diff::diff(&target.object, &known, &self.world.diff_context(rules, self.method(&target.object))));
            problem = self.incomparable(&pair, diff.as_ref(), &known);
        }
        Compared { standing: self.standing(&pair, diff.as_ref()), diff, problem, pair }
    }

    /// What presync does not compare exactly as Argo CD does.
    pub(super) fn approximations(&self, compared: &[Compared], rules: &IgnoreRules) -> Vec<Condition> {
        let pairs = || compared.iter().filter(|compared| compared.diff.is_some());
        let mut found = Vec::new();
        if self.world.compares_server_side(&self.input.application) && pairs().next().is_some() {
            let message = "Argo CD compares by a dry run of server-side apply; presync works it out from managedFields and the types, without \
                           admission webhooks, defaults of custom resources and the server's whole validation";
            found.push(Condition { kind: SERVER_SIDE_DIFF, message: message.to_owned(), key: None, origin: self.input.origin.clone() });
        }
        found.extend(pairs().filter_map(|Compared { pair, .. }| {
            let target = pair.target.as_ref()?;
            let message = rules.not_run(&target.object)?.to_string();
            Some(Condition { kind: NOT_JUDGED, message, key: Some(pair.key.clone()), origin: Some(target.origin.clone()) })
        }));
        found
    }

    /// Source: Argo CD `controller/state.go:CompareAppState` and `gitops-engine/pkg/diff/diff.go:Diff`: an object that turns server-side apply
    /// off is applied client-side, but compared as its Application says.
    pub(super) fn method(&self, target: &Value) -> Method {
        if self.world.compares_server_side(&self.input.application) {
            Method::ServerSide
        } else if self.options().has("ServerSideApply=true") || options::object_has(target, "ServerSideApply=true") {
            Method::StructuredMerge
        } else {
            Method::ThreeWay
        }
    }

    /// The live object, with what Git had before the change in place of values that the snapshot left out.
    pub(super) fn known<'l>(&self, target: &Manifest, live: &'l LiveObject) -> Cow<'l, Value> {
        redaction::completed(live.object(), self.base.get(&target.key).map(|base| &*base.object), &target.object)
    }

    pub(super) fn self_referenced(&self, live: &LiveObject) -> bool {
        pairing::is_self_referenced(live, self.settings().tracking.method)
    }

    fn standing(&self, pair: &Pair, diff: Option<&ObjectDiff>) -> Standing {
        match (&pair.target, &pair.live) {
            (Some(target), _) if hook::is_skipped(&target.object) => Standing::Without,
            // In a version that is served no longer the live object is not found.
            (Some(target), Some(_)) if diff.is_some_and(|diff| !diff.modified) && self.withdrawn(target).is_none() => Standing::Synced,
            (Some(_), _) => Standing::OutOfSync,
            (None, Some(live)) if !self.self_referenced(live) => Standing::Without,
            (None, Some(live)) if hook::is_hook(live.object()) => Standing::HookLeft,
            (None, Some(live)) => Standing::Extraneous { ignored: options::object_compares(live.object(), "IgnoreExtraneous") },
            (None, None) => Standing::Without,
        }
    }

    pub(super) fn shared_resources(&self, compared: &[Compared], instance: &str) -> Vec<Condition> {
        let own = self.input.application.id.to_string();
        let shared = compared.iter().filter_map(|Compared { pair, .. }| {
            let live = pair.live.as_ref()?;
            let other = self.world.live.is_tracked(live).filter(|other| *other != instance)?;
            Some(Condition {
                kind: "SharedResourceWarning",
                message: format!("{} is part of Applications {own} and {}", pair.key.named(), other.replace('_', "/")),
                key: Some(pair.key.clone()),
                origin: pair.target.as_ref().map(|target| target.origin.clone()),
            })
        });
        shared.collect()
    }
}
