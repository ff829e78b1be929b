//! Sync options: the lists on the Application and in an object's annotation, read as Argo CD reads them.

use serde_json::Value;

use super::hook::list;
use super::names::{COMPARE_OPTIONS, HELM_RESOURCE_POLICY, SYNC_OPTIONS};
use crate::manifest::annotation;

/// The sync options of an Application, or of one operation: entries are compared as they stand, unknown ones are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncOptions(pub Vec<String>);

/// What becomes of the objects that a deleted object owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They go first.
    Foreground,
    /// They go after it.
    Background,
    /// They stay.
    Orphan,
}

impl SyncOptions {
    /// How prunes delete.
    ///
    /// Source: Argo CD `controller/sync.go:SyncAppState`, where `background` and `foreground` win over `orphan`.
    pub fn prune_propagation(&self) -> Propagation {
        let policy = |name: &str| self.has(&format!("PrunePropagationPolicy={name}"));
        match (policy("background"), policy("foreground"), policy("orphan")) {
            (true, ..) => Propagation::Background,
            (false, false, true) => Propagation::Orphan,
            _ => Propagation::Foreground,
        }
    }

    /// Whether the list holds exactly this entry, for example `CreateNamespace=true`.
    pub fn has(&self, entry: &str) -> bool {
        self.0.iter().any(|one| one == entry)
    }

    /// The value of the first entry that starts with `key=`.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.0.iter().find_map(|one| one.strip_prefix(key)?.strip_prefix('='))
    }
}

/// Whether an object's `sync-options` annotation holds exactly this option.
///
/// Source: Argo CD `gitops-engine/pkg/sync/resource/annotations.go:HasAnnotationOption`.
pub fn object_has(object: &Value, option: &str) -> bool {
    list(annotation(object, SYNC_OPTIONS)).any(|one| one == option)
}

/// The value of `key=` in an object's `sync-options` annotation; the first one counts.
///
/// Source: Argo CD `gitops-engine/pkg/sync/resource/annotations.go:GetAnnotationOptionValue`.
pub fn object_value<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    list(annotation(object, SYNC_OPTIONS)).find_map(|one| one.strip_prefix(key)?.strip_prefix('='))
}

/// Whether Helm's resource policy keeps an object when its Application is deleted.
///
/// Source: Argo CD `controller/appcontroller.go:shouldBeDeleted`.
pub fn is_kept_by_helm(object: &Value) -> bool {
    list(annotation(object, HELM_RESOURCE_POLICY)).any(|one| one == "keep")
}

/// Whether an object's `compare-options` annotation holds exactly this option.
pub fn object_compares(object: &Value, option: &str) -> bool {
    list(annotation(object, COMPARE_OPTIONS)).any(|one| one == option)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn items_are_trimmed_but_not_inside() {
        let object = json!({"metadata": {"annotations": {SYNC_OPTIONS: "Validate=false, Prune=false"}}});
        assert_eq!(object_value(&object, "Prune"), Some("false"));
        let spaced = json!({"metadata": {"annotations": {SYNC_OPTIONS: "Prune = false"}}});
        assert_eq!(object_value(&spaced, "Prune"), None);
    }

    #[test]
    fn the_first_of_two_values_counts() {
        let object = json!({"metadata": {"annotations": {SYNC_OPTIONS: "Prune=false,Prune=true"}}});
        assert_eq!(object_value(&object, "Prune"), Some("false"));
        let options = SyncOptions(vec!["Prune=confirm".into(), "Prune=false".into()]);
        assert_eq!(options.value("Prune"), Some("confirm"));
    }
}
