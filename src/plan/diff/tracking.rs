//! The tracking normaliser: takes a pair and the tracking settings, hands on the live object with tracking metadata that differs only in form
//! taken out (`util/argo/resource_tracking.go:Normalize`).

use serde_json::{Map, Value};

use crate::argocd::names::TRACKING_ID;
use crate::argocd::tracking::{Tracking, TrackingMethod};

/// The settings, and whether this version shows another application's tracking id as a difference (3.4 and later).
#[derive(Clone, Copy)]
pub(super) struct Normaliser<'t> {
    pub(super) tracking: &'t Tracking,
    pub(super) shows_foreign_id: bool,
}

impl Normaliser<'_> {
    /// Whether anything would be changed: only then is it worth doing.
    pub(super) fn applies(self, target: &Value, live: &Value) -> bool {
        let label = &self.tracking.label_key;
        self.tracking.method != TrackingMethod::Label
            && live.get("kind").is_none_or(|kind| kind != "CustomResourceDefinition")
            && has_label(live, label)
            && (self.sets_id(target, live).is_some() || !has_label(target, label))
    }

    /// Copies the target's tracking id to a live object that was tracked by label, and drops the label where the target has none.
    pub(super) fn normalize(self, target: &Value, live: &mut Value) {
        let label = &self.tracking.label_key;
        let id = self.sets_id(target, live).map(str::to_owned);
        let Some(metadata) = live.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        if let Some(id) = id {
            let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
            if let Some(annotations) = annotations.as_object_mut() {
                annotations.insert(TRACKING_ID.to_owned(), Value::String(id));
            }
        }
        if !has_label(target, label) {
            let labels = metadata.get_mut("labels").and_then(Value::as_object_mut);
            if labels.is_some_and(|labels| labels.remove(label).is_some() && labels.is_empty()) {
                metadata.remove("labels");
            }
        }
    }

    fn sets_id<'v>(self, target: &'v Value, live: &Value) -> Option<&'v str> {
        let missing = text(live, "annotations", TRACKING_ID).is_none_or(str::is_empty);
        if missing || !self.shows_foreign_id { text(target, "annotations", TRACKING_ID) } else { None }
    }
}

fn has_label(object: &Value, key: &str) -> bool {
    text(object, "labels", key).is_some_and(|label| !label.is_empty())
}

fn text<'v>(object: &'v Value, map: &str, key: &str) -> Option<&'v str> {
    object.get("metadata")?.get(map)?.get(key)?.as_str()
}
