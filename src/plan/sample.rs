//! Live objects for the tests of this room.

use std::sync::Arc;

use serde_json::Value;

use crate::manifest::ResourceKey;
use crate::snapshot::{AssumedObject, LiveObject, LiveState};

/// A live object on the cluster Argo CD runs in.
pub(crate) fn live(object: Value) -> Arc<LiveObject> {
    let key = ResourceKey::of(&object).unwrap();
    let cluster = crate::argocd::names::IN_CLUSTER_SERVER.into();
    let state = LiveState::assumed([AssumedObject::as_is(key, cluster, Arc::new(object), None)]);
    Arc::clone(&state.all()[0])
}

/// Live state of a snapshot with these settings (YAML) and objects.
pub(crate) fn snapshot(settings: &str, objects: &[Value]) -> LiveState {
    let folder = tempfile::tempdir().unwrap();
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": objects});
    std::fs::write(folder.path().join("settings.yaml"), settings).unwrap();
    std::fs::write(folder.path().join("objects.json"), list.to_string()).unwrap();
    crate::snapshot::load(&[folder.path().to_str().unwrap()]).unwrap()
}
