//! The plan's vocabulary: actions, changes, and the decision whether a sync runs.

use std::sync::Arc;

use serde_json::Value;

use super::dependents::Dependent;
use super::reason::Reason;
use crate::argocd::Application;
use crate::manifest::{Manifest, Origin, ResourceKey};
use crate::snapshot::LiveObject;

/// What Argo CD will do with one object. The words are those of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// A target without a live object.
    Create,
    /// Live differs from target.
    Update,
    /// The live object is tracked by nobody or by another Application; the sync takes it over.
    Adopt,
    /// `Replace=true`.
    Replace,
    /// Deleted and created again.
    Recreate,
    /// In sync.
    None,
    /// A hook that will run.
    Hook,
    /// A target that is never applied.
    Skip,
    /// Argo CD will try and be refused.
    Fail,
    /// Live, tracked, no longer in Git, deleted by the sync.
    Prune,
    /// The same, but prune is off: stays.
    Leftover,
    /// The same, prune is on, but `Prune=false` holds: stays.
    Retain,
    /// The same, but `Prune=confirm`: the sync waits for a person.
    Confirm,
    /// Goes with its Application.
    Delete,
    /// Stays in the cluster and nothing manages it any more.
    Orphan,
}

impl Action {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Create,
        Self::Update,
        Self::Adopt,
        Self::Replace,
        Self::Recreate,
        Self::None,
        Self::Hook,
        Self::Skip,
        Self::Fail,
        Self::Prune,
        Self::Leftover,
        Self::Retain,
        Self::Confirm,
        Self::Delete,
        Self::Orphan,
    ];

    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Adopt => "adopt",
            Self::Replace => "replace",
            Self::Recreate => "recreate",
            Self::None => "none",
            Self::Hook => "hook",
            Self::Skip => "skip",
            Self::Fail => "fail",
            Self::Prune => "prune",
            Self::Leftover => "leftover",
            Self::Retain => "retain",
            Self::Confirm => "confirm",
            Self::Delete => "delete",
            Self::Orphan => "orphan",
        }
    }

    /// One character for terminals.
    pub fn symbol(self) -> char {
        match self {
            Self::Create => '+',
            Self::Update | Self::Adopt => '~',
            Self::Replace | Self::Recreate => '±',
            Self::None => '=',
            Self::Hook => '»',
            Self::Skip => '·',
            Self::Fail => '!',
            Self::Prune | Self::Delete => '-',
            Self::Leftover | Self::Retain | Self::Orphan => 'o',
            Self::Confirm => '?',
        }
    }

    /// Whether the live object is deleted for good.
    pub fn deletes(self) -> bool {
        matches!(self, Self::Prune | Self::Delete)
    }

    /// Whether the object has left Git (or its Application has), be it deleted or kept.
    pub fn is_removal(self) -> bool {
        matches!(self, Self::Prune | Self::Leftover | Self::Retain | Self::Confirm | Self::Delete | Self::Orphan)
    }
}

/// The phases of a sync and of an Application's deletion, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Hooks before an Application's objects are deleted.
    PreDelete,
    /// Hooks before the sync.
    PreSync,
    /// The sync itself.
    Sync,
    /// Hooks after the sync.
    PostSync,
    /// Hooks after a failed sync.
    SyncFail,
    /// Hooks after an Application's objects were deleted.
    PostDelete,
}

impl Phase {
    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreDelete => "PreDelete",
            Self::PreSync => "PreSync",
            Self::Sync => "Sync",
            Self::PostSync => "PostSync",
            Self::SyncFail => "SyncFail",
            Self::PostDelete => "PostDelete",
        }
    }
}

/// Whether live state came from a snapshot, or the base revision stands in for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Basis {
    /// From a snapshot.
    Live,
    /// The base revision's manifests stand in.
    Assumed,
}

impl Basis {
    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Assumed => "assumed",
        }
    }
}

/// One field in which live and target differ.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldChange {
    /// JSON pointer into the object.
    pub path: String,
    /// Live value; `None` where the field is absent. Values of Secrets are replaced by a marker.
    pub live: Option<Value>,
    /// Value after the sync; `None` where the field goes.
    pub target: Option<Value>,
    /// The manager that owns the field in the live object.
    pub owner: Option<String>,
    /// When that manager last wrote the object, RFC 3339.
    pub owner_time: Option<String>,
}

/// What happens to one object of one Application.
#[derive(Clone, Debug)]
pub struct Change {
    /// The object.
    pub key: ResourceKey,
    /// API version that is applied, or that the live object was read in.
    pub version: Arc<str>,
    /// What happens.
    pub action: Action,
    /// Why; explains and never steers.
    pub reason: Reason,
    /// Phase in which it happens.
    pub phase: Phase,
    /// Wave in which it happens (after mirroring and moving).
    pub wave: i64,
    /// Position in the Application's sync, from 1.
    pub order: usize,
    /// Whether the change under review brings this about.
    pub introduced: bool,
    /// Git says the same before and after the change under review, and no sync has carried it out yet.
    pub earlier: bool,
    /// Whether the sync gets this far.
    pub reached: bool,
    /// What Git renders, as it is applied.
    pub target: Option<Arc<Manifest>>,
    /// What the cluster has.
    pub live: Option<Arc<LiveObject>>,
    /// Where the object stands in the base revision, if it does.
    pub base: Option<Arc<Manifest>>,
    /// Differing fields, for updates.
    pub diff: Vec<FieldChange>,
    /// What goes along with a deletion.
    pub cascade: Vec<Dependent>,
    /// What stays although it hangs on a deleted object.
    pub stays: Vec<Dependent>,
    /// Name of the cluster (its server URL where it has none), where it is not the Application's own destination.
    pub cluster: Option<Arc<str>>,
}

impl Change {
    /// The object's text in the repository: head where it is rendered, else base.
    pub fn origin(&self) -> Option<&Origin> {
        self.target.as_ref().or(self.base.as_ref()).map(|manifest| &manifest.origin)
    }

    /// The live object as it was captured.
    pub fn live_object(&self) -> Option<&Value> {
        self.live.as_ref().map(|live| live.object())
    }

    /// The target as it is applied.
    pub fn target_object(&self) -> Option<&Value> {
        self.target.as_ref().map(|target| &*target.object)
    }
}

/// How an Application is synced. The words are those of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SyncMode {
    /// Happens on merge.
    Automated,
    /// Waits for a person.
    Manual,
    /// Argo CD starts no sync, or fails it before anything is applied.
    Refused,
    /// No target manifests.
    Error,
    /// A sync window holds it back.
    Blocked,
    /// The Application itself goes.
    Deleted,
}

impl SyncMode {
    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Automated => "automated",
            Self::Manual => "manual",
            Self::Refused => "refused",
            Self::Error => "error",
            Self::Blocked => "blocked",
            Self::Deleted => "deleted",
        }
    }
}

/// Whether and how a sync runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncDecision {
    /// The mode.
    pub mode: SyncMode,
    /// Whether the sync deletes what left Git.
    pub prune: bool,
    /// Whether Argo CD undoes changes made in the cluster.
    pub self_heal: bool,
    /// Whether an operation starts by itself because of what differs.
    pub starts: bool,
    /// Why, in a sentence.
    pub reason: String,
}

/// Kind of a remark that Argo CD compares by a dry run in the cluster, which is approximated here.
pub const SERVER_SIDE_DIFF: &str = "ServerSideDiff";
/// Kind of a remark on an Application whose project does not exist.
pub const PROJECT_MISSING: &str = "ProjectMissing";

/// Kind of a remark on an object in a version that the cluster serves until another Application has applied its CustomResourceDefinition.
pub const KIND_WITHDRAWN: &str = "KindWithdrawn";

/// Kind of a remark on something that Argo CD looks at and presync does not.
pub const NOT_JUDGED: &str = "NotJudged";

/// Kind of a remark that something else happens once the Application's definition is applied, which the merge alone does not do.
pub const ONCE_APPLIED: &str = "OnceApplied";

/// Kind of a remark on a sync that has been running for long and that the next one waits for.
pub const SYNC_RUNNING: &str = "SyncRunning";
/// Kind of a remark on a running sync that goes on only when a person approves a deletion.
pub const SYNC_NEEDS_APPROVAL: &str = "SyncNeedsApproval";

/// Kind of a remark on a hook that leaves Git while a copy of it is live.
pub const HOOK_LEFT: &str = "HookLeft";
/// Kind of a remark on an object that leaves Git while nobody tracks the live one.
pub const UNTRACKED_LEFT: &str = "UntrackedLeft";

/// A remark on the whole Application, such as a resource that appears twice.
#[derive(Clone, Debug)]
pub struct Condition {
    /// Argo CD's name for it, for example `RepeatedResourceWarning`.
    pub kind: &'static str,
    /// In words.
    pub message: String,
    /// The object it is about.
    pub key: Option<ResourceKey>,
    /// Where it stands.
    pub origin: Option<Origin>,
}

/// What the change under review does to the Application object itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppChange {
    /// Only at head.
    Added,
    /// Only at base.
    Removed,
    /// Its definition differs.
    Modified,
    /// Its definition is the same.
    Unchanged,
}

impl AppChange {
    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Modified => "modified",
            Self::Unchanged => "unchanged",
        }
    }
}

/// What Argo CD will do to one Application.
#[derive(Clone, Debug)]
pub struct SyncPlan {
    /// The Application as it will be in effect after the merge (the live object where no parent applies the file).
    pub application: Arc<Application>,
    /// The Application's definition in the repository: head, else base.
    pub origin: Option<Origin>,
    /// Server URL of the destination; empty where it cannot be resolved.
    pub server: Arc<str>,
    /// What happens to its definition.
    pub change: AppChange,
    /// Whether and how a sync runs.
    pub sync: SyncDecision,
    /// What happens, in the order of the sync. With `none` for objects in sync.
    pub changes: Vec<Change>,
    /// Remarks on the whole.
    pub conditions: Vec<Condition>,
    /// What a sync would still delete that starts before the edited definition of the Application is in the cluster, and that is not
    /// deleted with the edited one.
    pub too_early: Vec<Change>,
    /// Where live state came from.
    pub basis: Basis,
    /// Whether the change under review touches anything of it.
    pub affected: bool,
}
