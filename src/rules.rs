//! Judges a plan: loads the rule definitions, evaluates them, hands on findings.
//!
//! Takes [`Facts`]; rules never read the repository, render, or compute anew what Argo CD does: they read it off the plan.

mod application_fields;
pub mod baseline;
mod builtin;
mod cel;
mod definition;
mod draft;
mod edits;
mod facts;
#[cfg(test)]
mod fixture;
mod judge;
#[cfg(test)]
mod mutation;
mod pages;
pub mod policy;
mod precedence;
mod set;
pub mod suppress;

mod app_renders_nothing;
mod app_wave_not_gated;
mod application_renamed;
mod appset_app_left_behind;
mod appset_drops_application;
mod appset_generates_nothing;
mod appset_generation_fails;
mod cascade_delete_application;
mod change_not_noticed;
mod config_change_no_rollout;
mod definition_too_late;
mod destination_changed;
mod duplicate_application_name;
mod duplicate_key;
mod duplicate_resource;
mod field_owned_by_other;
mod finalizer_missing;
mod generate_paths_miss_change;
mod hook_deletes_data;
mod hook_leftover;
mod hook_needs_later_object;
mod ignore_rule_never_matches;
mod ignored_field_reset_on_sync;
mod image_updater_override;
mod invalid_sync_wave;
mod kind_not_served;
mod leftover_untracked;
mod live_application_drift;
mod live_edit_overwritten;
mod manual_sync_pending;
mod mass_prune;
mod mass_rename;
mod moved_between_apps;
mod namespace_metadata_ignored;
mod non_string_metadata;
mod nondeterministic_render;
mod orphaned_by_app_removal;
mod out_of_bounds_symlink;
mod pending_changes;
mod pod_security_rejects_live;
mod project_denies;
mod project_removed_in_use;
mod protection_misspelled;
mod prune_collects_dependents;
mod prune_namespace;
mod prune_persistent_data;
mod prune_referenced_object;
mod prune_unrendered;
mod render_failed;
mod replicas_drop_to_default;
mod replicas_owned_by_autoscaler;
mod resources_owned_by_recommender;
mod revision_not_tracked;
mod shared_resource;
mod snapshot_stale;
mod source_path_missing;
mod stateful_identity_changed;
mod suppression_expired;
mod suppression_unused;
mod sync_refused;
mod sync_window_blocks;
mod tracking_changes;
mod unknown_argocd_annotation;
mod unknown_field;
mod unknown_hook_type;
mod unknown_sync_option;
mod unmanaged_application;
mod wave_deadlock;

pub use definition::{At, Cel, Definition, DefinitionError, Example, Grade, Logic, Match, Need, Of, Status, Validation};
pub use facts::workload_of;
pub use judge::{Judged, Skipped, judge, of_idle_comments, sort};
pub use pages::{Page, pages};
pub use set::{RuleError, RuleSet, RuleSettings};

use std::sync::Arc;

use crate::argocd::AppId;
use crate::inventory::Inventory;
use crate::manifest::{Origin, ResourceKey, Side};
use crate::plan::SyncPlan;
use crate::snapshot::LiveState;

/// What rules may look at.
#[derive(Clone, Copy)]
pub struct Facts<'a> {
    /// The plans of the Applications that are looked at, by Application id.
    pub plans: &'a [SyncPlan],
    /// Every Application that is known.
    pub inventory: &'a Inventory,
    /// Live state.
    pub live: &'a LiveState,
    /// Keys that appear twice in one mapping, in manifests of the planned Applications.
    pub duplicate_keys: &'a [DuplicateKey],
    /// Manifests that could not be rendered.
    pub render_failures: &'a [RenderFailure],
    /// Objects of which something is rendered differently each time.
    pub unstable: &'a [UnstableObject],
    /// Objects that the change gives to an Application while another one, which it does not touch, renders them as well.
    pub rendered_elsewhere: &'a [RenderedElsewhere],
    /// Seconds since 1970 at the time of the run.
    pub now: i64,
    /// Age in seconds from which a snapshot counts as stale.
    pub max_snapshot_age: i64,
    /// Comments of the change that waive findings.
    pub comments: &'a [WaiverComment],
    /// Whether only what the change introduces counts in the end.
    pub only_introduced: bool,
    /// Whether every Application was looked at, so that what matches nothing is not needed.
    pub complete: bool,
}

/// A comment that waives findings, in a file that the change touches.
#[derive(Clone, Debug)]
pub struct WaiverComment {
    /// The line, from 1, and the file.
    pub origin: Origin,
    /// The rules that it names.
    pub rules: Vec<String>,
    /// The reason that it gives; may be empty.
    pub reason: String,
    /// Whether only head has it.
    pub introduced: bool,
}

/// A key that appears twice in one mapping.
#[derive(Clone, Debug)]
pub struct DuplicateKey {
    /// The Application that renders the file, `namespace/name`.
    pub application: String,
    /// The object that the document makes, where it makes one.
    pub resource: Option<ResourceKey>,
    /// The document; `within` is empty.
    pub origin: Origin,
    /// JSON pointer of the key from the document.
    pub pointer: String,
    /// Whether only head has it.
    pub introduced: bool,
}

/// An object of which something is rendered differently each time.
#[derive(Clone, Debug)]
pub struct UnstableObject {
    /// The Application, `namespace/name`.
    pub application: String,
    /// The object, in the namespace that it lands in.
    pub key: ResourceKey,
    /// JSON pointers of the fields; one empty pointer where the object is not there each time.
    pub pointers: Vec<String>,
}

/// An object that an Application takes over while the Application that has it so far renders it on.
#[derive(Clone, Debug)]
pub struct RenderedElsewhere {
    /// The object.
    pub key: ResourceKey,
    /// The Application that takes it over, `namespace/name`.
    pub application: String,
    /// The Application that has it.
    pub other: AppId,
    /// Whether that one heals itself.
    pub other_heals: bool,
    /// Where it renders the object.
    pub origin: Origin,
}

/// A source that could not be rendered.
#[derive(Clone, Debug)]
pub struct RenderFailure {
    /// The Application, `namespace/name`.
    pub application: String,
    /// What went wrong, in a sentence.
    pub message: String,
    /// What to do, in a sentence.
    pub help: String,
    /// Rule that reports it: `render-failed`, or a more exact one such as `source-path-missing`.
    pub rule: &'static str,
    /// File and line, where it is about one: path, side, line, and the bytes of the place.
    pub place: Option<FailurePlace>,
    /// The object and field, where it is about one.
    pub object: Option<(Origin, String, ResourceKey)>,
    /// Whether only head fails.
    pub introduced: bool,
}

/// Where a source cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailurePlace {
    /// Path from the repository root.
    pub path: Arc<str>,
    /// The side.
    pub side: Side,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}
