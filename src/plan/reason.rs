//! Why an object gets its action: data for rules and machines, and the one place where the sentence is written.

use std::fmt;

/// What kind of refusal ends a sync at an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refused {
    /// Fields cannot change after creation.
    Immutable,
    /// What client-side apply notes down is larger than annotations may be.
    TooLargeToApply,
    /// The manifest has a value that the API server does not accept, or is too large to be stored.
    Invalid,
    /// `Replace=true` leaves out what cannot be taken away.
    ReplaceLosesFields,
    /// `Force=true` deletes the object and does not get it back.
    ForceDeletes,
    /// The kind or the namespace is not there by then.
    Missing,
    /// The sync options exclude each other.
    Options,
}

impl Refused {
    /// The word by which rules know it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Immutable => "immutable",
            Self::TooLargeToApply => "too-large-to-apply",
            Self::Invalid => "invalid",
            Self::ReplaceLosesFields => "replace-loses-fields",
            Self::ForceDeletes => "force-deletes",
            Self::Missing => "missing",
            Self::Options => "options",
        }
    }
}

/// What becomes of the live object under a hook's name.
///
/// Source: Argo CD `gitops-engine/pkg/sync/sync_task.go:deleteBeforeCreation`, `deleteOnPhaseSuccessful`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveCopy {
    /// There is none, or it stays.
    Stays,
    /// Deleted before the hook is created.
    DeletedFirst,
    /// Deleted when the sync has succeeded.
    DeletedAfter,
}

/// Why a change has its action. It explains and never steers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// In Git, not in the cluster.
    NotLive,
    /// Live and target differ in this many fields.
    Differs {
        /// Number of differing fields.
        fields: usize,
    },
    /// Nothing differs, but a full sync applies it all the same with this option.
    Reapplied {
        /// The option, for example `Replace=true`.
        option: &'static str,
    },
    /// `Replace=true` takes away what only the cluster has, which the comparison does not see.
    ReplaceErases {
        /// How many fields go.
        fields: usize,
    },
    /// The live object is tracked by nobody.
    Untracked,
    /// The live object is tracked by another Application.
    TrackedBy {
        /// That Application, as its tracking id names it.
        application: String,
    },
    /// Live and target are the same.
    InSync,
    /// `Replace=true`.
    ReplaceOption,
    /// `Force=true`, alone or with `Replace=true`.
    ForceOption,
    /// The role that a binding binds changes, which only a new binding can do.
    RoleRef,
    /// Argo CD's comparison ignores the differing fields, but the sync writes them all the same.
    IgnoredButWritten,
    /// Argo CD compares in another way than it applies and does not see the differing fields, but the sync writes them.
    UnseenButWritten,
    /// A hook of the sync.
    Hook {
        /// What becomes of the object that is there under its name.
        live_copy: LiveCopy,
    },
    /// A hook of the Application's deletion.
    DeletionHook,
    /// `Skip`.
    Skipped,
    /// A hook whose type nobody knows.
    UnknownHook {
        /// The annotation's value.
        value: String,
    },
    /// Argo CD will be refused.
    Fails {
        /// What is refused and why, in a sentence.
        message: String,
        /// What kind of refusal it is.
        cause: Refused,
        /// The fields that it is about, as JSON pointers; empty where it is about none.
        fields: Vec<String>,
    },
    /// Left Git and prune is on.
    RemovedFromGit {
        /// The sync runs by itself.
        automated: bool,
    },
    /// Git has it only as a hook that no sync runs, so it counts as removed, and prune is on.
    OnlyAHookInGit {
        /// The hook annotation's value.
        value: String,
    },
    /// Left Git, and prune is off.
    PruneOff,
    /// Left Git, and the sync is manual, which prunes only on request.
    ManualSync,
    /// Left Git, but nothing else differs that would start a sync.
    NoSyncStarts,
    /// Left Git, and `Prune=false` holds.
    PruneFalse {
        /// It stands on the Application, not on the live object.
        on_application: bool,
    },
    /// Left Git, and `Prune=confirm` holds.
    PruneConfirm {
        /// It stands on the Application, not on the live object.
        on_application: bool,
    },
    /// Its Application goes and has a finalizer.
    Cascade,
    /// Something that it hangs on is deleted: its namespace, its kind or its owner.
    GoesWith {
        /// What is deleted.
        object: String,
    },
    /// Its Application goes and has no finalizer.
    NoFinalizer,
    /// Its Application goes, but the object is not deleted with it.
    KeptOnDeletion {
        /// Why, for example `Delete=false`.
        because: &'static str,
    },
    /// A CustomResourceDefinition that left Git: it carries no tracking.
    CrdUntracked,
    /// Its Application goes, and Argo CD no longer knows the Application's cluster.
    DestinationUnknown,
    /// The Application moves to another cluster.
    DestinationMoved,
    /// The Application's project no longer permits it, so Argo CD does not see it.
    NotPermitted,
    /// Argo CD is limited to other namespaces of the cluster, so it does not see the object.
    OutsideNamespaces,
    /// A namespace that an earlier sync made because of `CreateNamespace=true`; nothing tracks it.
    AutoCreatedNamespace,
    /// A namespace that the sync makes because of `CreateNamespace=true`.
    CreateNamespace,
    /// `managedNamespaceMetadata` differs from the live namespace.
    NamespaceMetadata,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLive => write!(f, "in Git, not in the cluster"),
            Self::Differs { fields: 1 } => write!(f, "1 field differs"),
            Self::Differs { fields } => write!(f, "{fields} fields differ"),
            Self::Reapplied { option } => write!(f, "nothing differs, but {option} rewrites it at every full sync"),
            Self::ReplaceErases { fields } => {
                let what = if *fields == 1 {
                    "1 field that Git does not set".to_owned()
                } else {
                    format!("{fields} fields that Git does not set")
                };
                write!(f, "the comparison sees no difference, but Replace=true resets {what}")
            }
            Self::Untracked => write!(f, "exists and is tracked by no Application"),
            Self::TrackedBy { application } => write!(f, "tracked by Application {application} until now"),
            Self::InSync => write!(f, "in sync"),
            Self::ReplaceOption => write!(f, "Replace=true"),
            Self::ForceOption => write!(f, "Force=true deletes it and creates it again"),
            Self::RoleRef => write!(f, "its roleRef cannot be changed, so the sync deletes it and creates it again"),
            Self::IgnoredButWritten => write!(f, "the differing fields are ignored in the comparison, but this sync writes them"),
            Self::UnseenButWritten => write!(f, "the comparison does not see the differing fields, but this sync writes them"),
            Self::Hook { live_copy: LiveCopy::DeletedFirst } => write!(f, "hook; its live copy is deleted first"),
            Self::Hook { live_copy: LiveCopy::DeletedAfter } => write!(f, "hook; its live copy is deleted when the sync has succeeded"),
            Self::Hook { live_copy: LiveCopy::Stays } => write!(f, "hook"),
            Self::DeletionHook => write!(f, "hook of the Application's deletion"),
            Self::Skipped => write!(f, "hook: Skip, never applied"),
            Self::UnknownHook { value } => write!(f, "`{value}` is no hook type, so it is never applied"),
            Self::Fails { message, .. } => f.write_str(message),
            Self::RemovedFromGit { automated: true } => write!(f, "removed from Git; automated prune is on"),
            Self::RemovedFromGit { automated: false } => write!(f, "removed from Git; pruned by the sync"),
            Self::OnlyAHookInGit { value } => {
                write!(f, "Git has it only as a hook that no sync runs (`{value}`), so it counts as removed and is pruned")
            }
            Self::PruneOff => write!(f, "removed from Git; prune is off"),
            Self::ManualSync => write!(f, "removed from Git; a manual sync prunes only on request"),
            Self::NoSyncStarts => write!(f, "removed from Git; no sync starts because of it, but the next one deletes it"),
            Self::PruneFalse { on_application: false } => write!(f, "removed from Git; kept by Prune=false on the live object"),
            Self::PruneFalse { on_application: true } => write!(f, "removed from Git; kept by the Application's sync option Prune=false"),
            Self::PruneConfirm { on_application: false } => {
                write!(f, "removed from Git; Prune=confirm on the live object waits for approval")
            }
            Self::PruneConfirm { on_application: true } => {
                write!(f, "removed from Git; the Application's sync option Prune=confirm waits for approval")
            }
            Self::Cascade => write!(f, "goes with its Application, by the live finalizer"),
            Self::GoesWith { object } => write!(f, "goes with {object}, whatever its own options say"),
            Self::NoFinalizer => write!(f, "its Application goes without a live resources-finalizer; it stays, unmanaged"),
            Self::KeptOnDeletion { because } => write!(f, "its Application goes; it stays, kept by {because}"),
            Self::CrdUntracked => write!(f, "removed from Git; CustomResourceDefinitions carry no tracking and are never pruned"),
            Self::DestinationUnknown => {
                write!(f, "its Application goes, but Argo CD no longer knows the cluster; it stays, unmanaged")
            }
            Self::DestinationMoved => write!(f, "the Application moves to another cluster and leaves this object behind"),
            Self::OutsideNamespaces => {
                write!(f, "Argo CD is limited to other namespaces of the cluster and does not see it; it stays, unmanaged")
            }
            Self::NotPermitted => write!(f, "the Application's project no longer permits it; it stays, unmanaged"),
            Self::AutoCreatedNamespace => write!(f, "made by CreateNamespace=true; nothing tracks it, so it stays"),
            Self::CreateNamespace => write!(f, "CreateNamespace=true"),
            Self::NamespaceMetadata => write!(f, "managedNamespaceMetadata differs, and every sync writes it"),
        }
    }
}
