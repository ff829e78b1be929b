//! Plans and findings made by hand, for the tests of the formats.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::super::applications::Node;
use super::super::{Report, RuleText, Setting};
use crate::argocd::AppId;
use crate::argocd::Application;
use crate::finding::{Finding, Location, Severity, Suppression, Unjudged};
use crate::manifest::{Manifest, Origin, ResourceKey, Side};
use crate::plan::reason::LiveCopy;
use crate::plan::{Action, AppChange, Basis, Change, Dependent, FieldChange, Phase, Reason, SyncDecision, SyncMode, SyncPlan, Tie};
use crate::snapshot::SnapshotSource;

/// Everything that a [`Report`] borrows.
pub(super) struct Sample {
    pub(super) snapshots: Vec<SnapshotSource>,
    pub(super) plans: Vec<SyncPlan>,
    pub(super) findings: Vec<Finding>,
    pub(super) unjudged: Vec<Unjudged>,
    pub(super) texts: BTreeMap<(Side, Arc<str>), Arc<str>>,
    pub(super) notes: Vec<String>,
    pub(super) same: Vec<AppId>,
    pub(super) all: bool,
    pub(super) fail_on: Option<Severity>,
    pub(super) strict: bool,
    pub(super) rules: Vec<RuleText>,
    pub(super) tree: Vec<Node>,
    pub(super) setting: Setting,
}

impl Sample {
    pub(super) fn empty() -> Self {
        Self {
            snapshots: Vec::new(),
            plans: Vec::new(),
            findings: Vec::new(),
            unjudged: Vec::new(),
            texts: BTreeMap::new(),
            notes: Vec::new(),
            same: Vec::new(),
            all: false,
            fail_on: Some(Severity::Error),
            strict: false,
            rules: Vec::new(),
            tree: Vec::new(),
            setting: Setting::default(),
        }
    }

    /// One Application with the given changes.
    pub(super) fn of_changes(changes: Vec<Change>) -> Self {
        Self { plans: vec![plan("bookshop", SyncMode::Automated, changes)], ..Self::empty() }
    }

    /// One finding, with the files it points at.
    pub(super) fn of_finding(finding: Finding, files: &[(Side, &str, &str)]) -> Self {
        let texts = files.iter().map(|(side, path, text)| ((*side, Arc::from(*path)), Arc::from(*text))).collect();
        Self { findings: vec![finding], texts, ..Self::empty() }
    }

    pub(super) fn report(&self) -> Report<'_> {
        Report {
            base: "4f61afe0c0ffee4f61afe0c0ffee4f61afe0c0ff".to_owned(),
            head: "worktree".to_owned(),
            snapshots: &self.snapshots,
            plans: &self.plans,
            all: self.all,
            findings: &self.findings,
            unjudged: &self.unjudged,
            texts: &self.texts,
            notes: &self.notes,
            same: &self.same,
            fail_on: self.fail_on,
            strict: self.strict,
            rules: &self.rules,
            tree: &self.tree,
            setting: &self.setting,
        }
    }
}

/// A snapshot as a report names it.
pub(super) fn snapshot() -> SnapshotSource {
    SnapshotSource {
        digest: None,
        source: "live.presync.zst".to_owned(),
        captured_at: Some("2026-11-30T04:00:00Z".to_owned()),
        cluster: "https://kubernetes.default.svc".to_owned(),
        objects: 1234,
    }
}

/// An Application in namespace `argocd` that goes to a namespace of its own name.
pub(super) fn plan(name: &str, mode: SyncMode, changes: Vec<Change>) -> SyncPlan {
    let object = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
        "metadata": {"name": name, "namespace": "argocd"},
        "spec": {
            "destination": {"server": "https://kubernetes.default.svc", "namespace": name},
            "source": {"repoURL": "https://git.example.test/platform/fleet.git", "path": format!("apps/{name}")},
        },
    });
    let automated = mode == SyncMode::Automated;
    SyncPlan {
        application: Arc::new(Application::read(Arc::new(object), "argocd").unwrap()),
        origin: Some(origin(&format!("argocd/{name}.yaml"), 1, Side::Head)),
        server: "https://kubernetes.default.svc".into(),
        change: AppChange::Unchanged,
        sync: SyncDecision { mode, prune: automated, self_heal: false, starts: automated, reason: reason(mode).to_owned() },
        changes,
        conditions: Vec::new(),
        too_early: Vec::new(),
        basis: Basis::Live,
        affected: true,
    }
}

fn reason(mode: SyncMode) -> &'static str {
    match mode {
        SyncMode::Automated => "automated sync starts: something differs",
        SyncMode::Manual => "no automated sync: it waits for a person",
        SyncMode::Refused => "the sync would delete every object of the Application, and allowEmpty is off",
        SyncMode::Error => "the source path apps/gone does not exist at this revision, so there are no target manifests",
        SyncMode::Blocked => "a sync window of project default denies syncs from 22:00 for 8h",
        SyncMode::Deleted => "its parent argocd/root no longer renders it, and prunes",
    }
}

pub(super) fn origin(path: &str, line: u32, side: Side) -> Origin {
    Origin { path: path.into(), side, document: 0..0, line, within: String::new(), rendered: None }
}

/// A change of an object in namespace `shop`; `kind` is `Kind` or `group/Kind`.
pub(super) fn change(order: usize, action: Action, kind: &str, name: &str, reason: Reason) -> Change {
    let (group, kind) = kind.split_once('/').unwrap_or(("", kind));
    let side = if action.is_removal() { Side::Base } else { Side::Head };
    let manifest = Arc::new(Manifest {
        key: ResourceKey::new(group, kind, "shop", name),
        object: Value::Null.into(),
        origin: origin(&format!("apps/shop/{name}.yaml"), 2, side),
    });
    let (target, base) = if action.is_removal() { (None, Some(manifest)) } else { (Some(manifest), None) };
    Change {
        key: ResourceKey::new(group, kind, "shop", name),
        version: "v1".into(),
        action,
        reason,
        phase: Phase::Sync,
        wave: 0,
        order,
        introduced: true,
        earlier: false,
        reached: true,
        target,
        live: None,
        base,
        diff: Vec::new(),
        cascade: Vec::new(),
        stays: Vec::new(),
        cluster: None,
    }
}

pub(super) fn field(path: &str, live: Option<Value>, target: Option<Value>) -> FieldChange {
    FieldChange { path: path.to_owned(), live, target, owner: None, owner_time: None }
}

pub(super) fn dependent(kind: &str, name: &str, tie: Tie, application: Option<&str>) -> Dependent {
    Dependent::direct(ResourceKey::new("", kind, "shop", name), tie, application.map(str::to_owned))
}

/// One change of every action, in several phases and waves.
pub(super) fn every_action() -> Vec<Change> {
    let hook = Change {
        phase: Phase::PreSync,
        ..change(1, Action::Hook, "batch/Job", "migrate", Reason::Hook { live_copy: LiveCopy::DeletedFirst })
    };
    let update = Change {
        diff: vec![
            FieldChange {
                owner: Some("kube-controller-manager".to_owned()),
                owner_time: Some("2026-11-29T22:14:00Z".to_owned()),
                ..field("/spec/replicas", Some(json!(6)), Some(json!(2)))
            },
            field("/spec/paused", None, Some(json!(true))),
            field("/metadata/labels/team", Some(json!("shop")), None),
            field("/spec/strategy", Some(Value::Null), Some(json!({"type": "Recreate"}))),
        ],
        ..change(3, Action::Update, "apps/Deployment", "web", Reason::Differs { fields: 4 })
    };
    let fails = Reason::Fails {
        message: "spec.selector of a Deployment cannot change; the API server refuses the update".to_owned(),
        cause: crate::plan::reason::Refused::Immutable,
        fields: vec!["/spec/selector".to_owned()],
    };
    let prune = Change {
        cascade: vec![
            dependent("PersistentVolumeClaim", "orders-data", Tie::InNamespace, Some("argocd/orders")),
            dependent("Secret", "orders-db", Tie::Owned, None),
        ],
        wave: 2,
        ..change(9, Action::Prune, "Namespace", "shop", Reason::RemovedFromGit { automated: true })
    };
    let moved = Change {
        cluster: Some("https://eu-1.example.test".into()),
        ..change(15, Action::Orphan, "ConfigMap", "settings", Reason::DestinationMoved)
    };
    let anyway = Change { introduced: false, ..change(4, Action::Adopt, "Service", "web", Reason::Untracked) };
    let unreached = Change {
        reached: false,
        wave: 2,
        ..change(10, Action::Confirm, "PersistentVolumeClaim", "orders", Reason::PruneConfirm { on_application: false })
    };
    vec![
        hook,
        change(2, Action::Create, "ConfigMap", "flags", Reason::NotLive),
        update,
        anyway,
        change(5, Action::Replace, "apps/StatefulSet", "db", Reason::ReplaceOption),
        change(6, Action::Recreate, "batch/Job", "seed", Reason::ForceOption),
        Change { wave: 1, ..change(7, Action::Fail, "apps/Deployment", "api", fails) },
        Change { reached: false, wave: 2, ..change(8, Action::Create, "Service", "api", Reason::NotLive) },
        prune,
        unreached,
        change(11, Action::Skip, "batch/Job", "presync-typo", Reason::UnknownHook { value: "presync".to_owned() }),
        change(12, Action::Leftover, "Service", "old", Reason::PruneOff),
        change(13, Action::Retain, "PersistentVolumeClaim", "uploads", Reason::PruneFalse { on_application: false }),
        change(14, Action::None, "ServiceAccount", "web", Reason::InSync),
        moved,
    ]
}

/// A finding of severity `error` that points nowhere.
pub(super) fn finding(message: &str, help: &str) -> Finding {
    Finding {
        rule: "prune-persistent-data".into(),
        severity: Severity::Error,
        message: message.to_owned(),
        help: help.to_owned(),
        application: Some("argocd/bookshop".to_owned()),
        resource: Some(ResourceKey::new("", "PersistentVolumeClaim", "shop", "orders")),
        places: Vec::new(),
        locations: Vec::new(),
        introduced: true,
        assumed: false,
        discriminator: String::new(),
        fixable: false,
        fix: None,
        suppressed: None,
    }
}

/// Suppressed by the configuration.
pub(super) fn suppression() -> Suppression {
    Suppression { by: "config", reason: "test data only".to_owned(), expires: Some("2027-01-01".to_owned()) }
}

/// The place of the first occurrence of `needle` in `text`.
pub(super) fn location(side: Side, path: &str, text: &str, needle: &str, label: &str) -> Location {
    let start = text.find(needle).unwrap();
    let before = &text[..start];
    let line = before.matches('\n').count() as u32 + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() as u32 + 1;
    let lines = needle.matches('\n').count() as u32;
    let end_column = if lines == 0 { column + needle.chars().count() as u32 } else { 1 };
    Location {
        path: path.into(),
        side,
        line,
        column,
        end_line: line + lines,
        end_column,
        span: start..start + needle.len(),
        label: label.to_owned(),
    }
}
