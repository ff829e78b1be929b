//! The built-in rules. This list is the one place where a rule is registered; its definition is `rules/<id>.yaml`, and the module of a
//! native one is `src/rules/<id in snake case>.rs`.

use super::draft::Findings;
use super::facts::View;

/// What a native rule is: it looks at the facts and writes findings down.
pub(super) type Native = fn(&View<'_>, &mut Findings<'_>);

macro_rules! definition {
    ($id:literal) => {
        include_str!(concat!("../../rules/", $id, ".yaml"))
    };
}

macro_rules! rules {
    (native: { $($module:ident: $native:literal,)* } cel: { $($cel:literal,)* }) => {
        /// Id, definition, and the logic where it is native.
        pub(super) const DEFINITIONS: &[(&str, &str, Option<Native>)] = &[
            $(($native, definition!($native), Some(super::$module::judge as Native)),)*
            $(($cel, definition!($cel), None),)*
        ];
    };
}

rules! {
    native: {
        app_renders_nothing: "app-renders-nothing",
        app_wave_not_gated: "app-wave-not-gated",
        application_renamed: "application-renamed",
        appset_app_left_behind: "appset-app-left-behind",
        appset_drops_application: "appset-drops-application",
        appset_generates_nothing: "appset-generates-nothing",
        appset_generation_fails: "appset-generation-fails",
        cascade_delete_application: "cascade-delete-application",
        change_not_noticed: "change-not-noticed",
        config_change_no_rollout: "config-change-no-rollout",
        definition_too_late: "definition-too-late",
        destination_changed: "destination-changed",
        duplicate_application_name: "duplicate-application-name",
        duplicate_key: "duplicate-key",
        duplicate_resource: "duplicate-resource",
        field_owned_by_other: "field-owned-by-other",
        finalizer_missing: "finalizer-missing",
        generate_paths_miss_change: "generate-paths-miss-change",
        hook_deletes_data: "hook-deletes-data",
        hook_leftover: "hook-leftover",
        hook_needs_later_object: "hook-needs-later-object",
        ignore_rule_never_matches: "ignore-rule-never-matches",
        ignored_field_reset_on_sync: "ignored-field-reset-on-sync",
        image_updater_override: "image-updater-override",
        invalid_sync_wave: "invalid-sync-wave",
        kind_not_served: "kind-not-served",
        leftover_untracked: "leftover-untracked",
        live_application_drift: "live-application-drift",
        live_edit_overwritten: "live-edit-overwritten",
        manual_sync_pending: "manual-sync-pending",
        mass_prune: "mass-prune",
        mass_rename: "mass-rename",
        moved_between_apps: "moved-between-apps",
        namespace_metadata_ignored: "namespace-metadata-ignored",
        non_string_metadata: "non-string-metadata",
        nondeterministic_render: "nondeterministic-render",
        orphaned_by_app_removal: "orphaned-by-app-removal",
        out_of_bounds_symlink: "out-of-bounds-symlink",
        pending_changes: "pending-changes",
        pod_security_rejects_live: "pod-security-rejects-live",
        project_denies: "project-denies",
        project_removed_in_use: "project-removed-in-use",
        protection_misspelled: "protection-misspelled",
        prune_collects_dependents: "prune-collects-dependents",
        prune_namespace: "prune-namespace",
        prune_persistent_data: "prune-persistent-data",
        prune_referenced_object: "prune-referenced-object",
        prune_unrendered: "prune-unrendered",
        render_failed: "render-failed",
        replicas_drop_to_default: "replicas-drop-to-default",
        replicas_owned_by_autoscaler: "replicas-owned-by-autoscaler",
        resources_owned_by_recommender: "resources-owned-by-recommender",
        revision_not_tracked: "revision-not-tracked",
        shared_resource: "shared-resource",
        snapshot_stale: "snapshot-stale",
        source_path_missing: "source-path-missing",
        stateful_identity_changed: "stateful-identity-changed",
        suppression_expired: "suppression-expired",
        suppression_unused: "suppression-unused",
        sync_refused: "sync-refused",
        sync_window_blocks: "sync-window-blocks",
        tracking_changes: "tracking-changes",
        unknown_argocd_annotation: "unknown-argocd-annotation",
        unknown_field: "unknown-field",
        unknown_hook_type: "unknown-hook-type",
        unknown_sync_option: "unknown-sync-option",
        unmanaged_application: "unmanaged-application",
        wave_deadlock: "wave-deadlock",
    }
    cel: {
        "apply-refused",
        "appset-unknown-generator",
        "crd-left-behind",
        "force-deletes-claim",
        "force-replace-stateful",
        "hook-cannot-replace-live",
        "immutable-field-changed",
        "job-reruns-under-selfheal",
        "last-applied-too-large",
        "leftover-namespace",
        "namespace-adopted",
        "protection-misplaced",
        "protection-not-live",
        "prune-crd",
        "prune-custom-resource",
        "prune-needs-confirmation",
        "prune-off-leftover",
        "pvc-unprotected",
        "replace-cannot-apply",
        "rolling-sync-disables-automated",
        "root-prunes-itself",
        "schema-violation",
        "sync-still-running",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::rules::definition::{Definition, Logic};

    /// Modules of `src/rules` that are no rules.
    const ENGINE: [&str; 16] = [
        "baseline",
        "builtin",
        "cel",
        "definition",
        "draft",
        "edits",
        "facts",
        "fixture",
        "judge",
        "mutation",
        "pages",
        "policy",
        "precedence",
        "set",
        "suppress",
        "application_fields",
    ];

    fn names(folder: &str, extension: &str) -> BTreeSet<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let named = files.filter(|path| path.extension().is_some_and(|own| own == extension));
        named.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn every_definition_is_registered_and_every_native_rule_has_its_module() {
        let registered: BTreeSet<String> = DEFINITIONS.iter().map(|(id, ..)| (*id).to_owned()).collect();
        assert_eq!(registered.len(), DEFINITIONS.len(), "an id is registered twice");
        assert_eq!(registered, names("rules", "yaml"));
        let native = DEFINITIONS.iter().filter(|(_, _, native)| native.is_some());
        let modules: BTreeSet<String> = native.map(|(id, ..)| id.replace('-', "_")).collect();
        let found = names("src/rules", "rs");
        assert_eq!(found.iter().filter(|name| !ENGINE.contains(&name.as_str())).cloned().collect::<BTreeSet<_>>(), modules);
    }

    #[test]
    fn every_definition_is_complete_and_its_texts_follow_the_style() {
        for (id, text, native) in DEFINITIONS {
            let definition = Definition::parse(text, id).unwrap();
            assert_eq!(definition.id, *id);
            assert_eq!(native.is_some(), definition.logic == Logic::Native, "{id}");
            assert!(id.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase()), "{id}: lower-case words and hyphens");
            let texts = [&definition.why, &definition.help, &definition.fix];
            for text in texts {
                assert!(text.trim().ends_with(['.', '`', ':']) && text.trim().len() > 20, "{id}: whole sentences: {text}");
            }
            assert!(!definition.summary.trim_end().ends_with('.'), "{id}: a summary is one line without a full stop");
            assert!(definition.summary.len() <= 110 && !definition.summary.trim().contains('\n'), "{id}: {}", definition.summary);
            for (name, grade) in &definition.grades {
                assert!(!grade.when.ends_with('.') && !grade.when.is_empty(), "{id}: grade {name}");
            }
            assert!(!definition.example.bad.trim().is_empty() && !definition.example.good.trim().is_empty(), "{id}: example");
            assert!(definition.example.finding.len() > 30, "{id}: the example shows what is reported");
        }
    }

    #[test]
    fn at_least_a_quarter_of_the_rules_are_written_as_users_write_theirs() {
        // Those that speak of waivers look at no plan.
        let of_plans = DEFINITIONS.iter().filter(|(id, ..)| !id.starts_with("suppression-"));
        let is_cel: Vec<bool> = of_plans.map(|(_, _, native)| native.is_none()).collect();
        let cel = is_cel.iter().filter(|is_cel| **is_cel).count();
        assert!(cel * 4 >= is_cel.len(), "{cel} of {}", is_cel.len());
    }
}
