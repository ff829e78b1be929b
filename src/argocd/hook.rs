//! Hooks: which objects are hooks, in which phases they run and when they are deleted.

use std::collections::BTreeSet;

use serde_json::Value;

use super::names::{HELM_HOOK, HELM_HOOK_DELETE_POLICY, HOOK, HOOK_DELETE_POLICY};
use super::version::Version;
use crate::manifest::annotation;

/// A hook type of the sync itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookType {
    /// Before the sync.
    PreSync,
    /// With the sync.
    Sync,
    /// After the sync, when all is healthy.
    PostSync,
    /// After a failed sync.
    SyncFail,
    /// Never applied.
    Skip,
}

/// A hook type of the Application's deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeletionHook {
    /// Before the Application's objects are deleted.
    PreDelete,
    /// After the Application's objects were deleted.
    PostDelete,
}

/// When a hook object is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeletePolicy {
    /// After the sync succeeded.
    HookSucceeded,
    /// After the sync failed.
    HookFailed,
    /// Before it is created again; what holds where nothing is said.
    BeforeHookCreation,
}

/// The hook types of an object; types that the sync does not know are left out.
///
/// Source: Argo CD `gitops-engine/pkg/sync/hook/hook.go:Types` and `hook/helm/type.go`.
pub fn hook_types(object: &Value) -> BTreeSet<HookType> {
    let argocd: BTreeSet<_> = list(annotation(object, HOOK))
        .filter_map(|text| match text {
            "PreSync" => Some(HookType::PreSync),
            "Sync" => Some(HookType::Sync),
            "PostSync" => Some(HookType::PostSync),
            "SyncFail" => Some(HookType::SyncFail),
            "Skip" => Some(HookType::Skip),
            _ => None,
        })
        .collect();
    if !argocd.is_empty() {
        return argocd;
    }
    list(annotation(object, HELM_HOOK))
        .filter_map(|text| match text {
            "pre-install" | "pre-upgrade" => Some(HookType::PreSync),
            "post-install" | "post-upgrade" => Some(HookType::PostSync),
            _ => None,
        })
        .collect()
}

/// The hook types that concern the Application's deletion.
///
/// Source: Argo CD `controller/hook.go:isHookOfType`.
pub fn deletion_hooks(object: &Value) -> BTreeSet<DeletionHook> {
    let argocd = list(annotation(object, HOOK)).filter_map(|text| match text {
        "PreDelete" => Some(DeletionHook::PreDelete),
        "PostDelete" => Some(DeletionHook::PostDelete),
        _ => None,
    });
    let helm = list(annotation(object, HELM_HOOK)).filter_map(|text| match text {
        "pre-delete" => Some(DeletionHook::PreDelete),
        "post-delete" => Some(DeletionHook::PostDelete),
        _ => None,
    });
    argocd.chain(helm).collect()
}

/// Whether the object is a hook of the Application's deletion in a version. Before 3.3 `PostDelete` was known alone, and only where nothing
/// stood beside it.
///
/// Source: Argo CD `controller/hook.go:isHookOfType`, and `isPostDeleteHook` before it.
pub fn runs_on_deletion(object: &Value, version: Version) -> bool {
    if version.knows_pre_delete_hooks() {
        !deletion_hooks(object).is_empty()
    } else {
        annotation(object, HOOK) == Some("PostDelete") || annotation(object, HELM_HOOK) == Some("post-delete")
    }
}

/// Whether the object is a hook, be its type known or not. `Skip` alone makes no hook, nor does Helm's `crd-install`.
///
/// Source: Argo CD `gitops-engine/pkg/sync/hook/hook.go:IsHook`.
pub fn is_hook(object: &Value) -> bool {
    match annotation(object, HOOK) {
        Some(_) => !is_skipped(object),
        None => annotation(object, HELM_HOOK).is_some_and(|text| text != "crd-install"),
    }
}

/// Whether the object carries `Skip` and no other known type, so that it is never applied.
pub fn is_skipped(object: &Value) -> bool {
    annotation(object, HOOK).is_some() && hook_types(object) == BTreeSet::from([HookType::Skip])
}

/// The delete policies of a hook; [`DeletePolicy::BeforeHookCreation`] where none is valid.
///
/// Source: Argo CD `gitops-engine/pkg/sync/hook/delete_policy.go:DeletePolicies`.
pub fn delete_policies(object: &Value) -> BTreeSet<DeletePolicy> {
    let argocd = list(annotation(object, HOOK_DELETE_POLICY)).filter_map(|text| match text {
        "HookSucceeded" => Some(DeletePolicy::HookSucceeded),
        "HookFailed" => Some(DeletePolicy::HookFailed),
        "BeforeHookCreation" => Some(DeletePolicy::BeforeHookCreation),
        _ => None,
    });
    let helm = list(annotation(object, HELM_HOOK_DELETE_POLICY)).filter_map(|text| match text {
        "hook-succeeded" => Some(DeletePolicy::HookSucceeded),
        "hook-failed" => Some(DeletePolicy::HookFailed),
        "before-hook-creation" => Some(DeletePolicy::BeforeHookCreation),
        _ => None,
    });
    let mut policies: BTreeSet<_> = argocd.chain(helm).collect();
    if policies.is_empty() {
        policies.insert(DeletePolicy::BeforeHookCreation);
    }
    policies
}

/// The items of a comma-separated annotation, trimmed, without empty ones.
///
/// Source: Argo CD `gitops-engine/pkg/sync/resource/annotations.go:GetAnnotationCSVs`.
pub(crate) fn list(text: Option<&str>) -> impl Iterator<Item = &str> {
    text.unwrap_or_default().split(',').map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(annotations: Value) -> Value {
        json!({"metadata": {"annotations": annotations}})
    }

    #[test]
    fn s9_43_an_unknown_type_makes_a_hook_without_phase() {
        let garbage = object(json!({HOOK: "presync"}));
        assert!(is_hook(&garbage));
        assert!(hook_types(&garbage).is_empty());
        assert_eq!(hook_types(&object(json!({HOOK: "Sync,Garbage"}))), [HookType::Sync].into());
    }

    #[test]
    fn s9_44_helm_tests_have_no_phase_and_crd_install_is_no_hook() {
        let test = object(json!({HELM_HOOK: "test"}));
        assert!(is_hook(&test) && hook_types(&test).is_empty());
        assert!(!is_hook(&object(json!({HELM_HOOK: "crd-install"}))));
        let both = object(json!({HELM_HOOK: "crd-install,pre-install"}));
        assert!(is_hook(&both));
        assert_eq!(hook_types(&both), [HookType::PreSync].into());
    }

    #[test]
    fn s9_45_argocd_types_hide_helm_types_on_one_object() {
        let both = object(json!({HOOK: "Sync", HELM_HOOK: "pre-install"}));
        assert_eq!(hook_types(&both), [HookType::Sync].into());
        let garbage = object(json!({HOOK: "nope", HELM_HOOK: "pre-install"}));
        assert_eq!(hook_types(&garbage), [HookType::PreSync].into());
    }

    #[test]
    fn hooks_of_the_deletion_are_those_that_the_version_knows() {
        let (old, new) = (Version { major: 3, minor: 2 }, Version { major: 3, minor: 3 });
        for (value, before, now) in
            [("PreDelete", false, true), ("PostDelete", true, true), ("PostDelete,Other", false, true), ("PreSync", false, false)]
        {
            let hook = object(json!({HOOK: value}));
            assert_eq!((runs_on_deletion(&hook, old), runs_on_deletion(&hook, new)), (before, now), "{value}");
        }
    }

    #[test]
    fn skip_alone_is_no_hook_but_with_another_type_it_is() {
        assert!(!is_hook(&object(json!({HOOK: "Skip"}))));
        assert!(is_skipped(&object(json!({HOOK: "Skip"}))));
        assert!(is_hook(&object(json!({HOOK: "Skip,PreSync"}))));
        assert!(!is_skipped(&object(json!({HOOK: "Skip,PreSync"}))));
    }

    #[test]
    fn s9_48_no_valid_delete_policy_means_before_creation() {
        assert_eq!(delete_policies(&object(json!({}))), [DeletePolicy::BeforeHookCreation].into());
        assert_eq!(
            delete_policies(&object(json!({HOOK_DELETE_POLICY: "HookSucceeded", HELM_HOOK_DELETE_POLICY: "hook-failed"}))),
            [DeletePolicy::HookSucceeded, DeletePolicy::HookFailed].into()
        );
    }
}
