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
