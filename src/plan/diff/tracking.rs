//! The tracking normaliser: takes a pair and the tracking settings, hands on the live object with tracking metadata that differs only in form
//! taken out (`util/argo/resource_tracking.go:Normalize`).

use serde_json::{Map, Value};

const TRACKING_ID: &str = "argocd.argoproj.io/tracking-id";

/// How objects are tracked (`application.resourceTrackingMethod`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrackingMethod {
    /// By annotation.
    #[default]
    Annotation,
    /// By annotation, with the label for people.
    AnnotationAndLabel,
    /// By label.
    Label,
}

/// The settings that the comparison needs.
#[derive(Debug, Clone)]
pub struct Tracking {
    /// The method.
    pub method: TrackingMethod,
    /// `application.instanceLabelKey`.
    pub label_key: String,
    /// Argo CD 3.4 and later leave another application's tracking id standing, so that it shows as a difference.
    pub keeps_foreign_id: bool,
}

impl Default for Tracking {
    fn default() -> Tracking {
        Tracking { method: TrackingMethod::Annotation, label_key: "app.kubernetes.io/instance".to_owned(), keeps_foreign_id: true }
    }
}

impl Tracking {
    /// Whether anything would be changed: only then is the live object copied.
    pub(super) fn applies(&self, target: &Value, live: &Value) -> bool {
        self.method != TrackingMethod::Label
            && live.get("kind").is_none_or(|kind| kind != "CustomResourceDefinition")
            && has_label(live, &self.label_key)
            && (self.sets_id(target, live).is_some() || !has_label(target, &self.label_key))
    }

    /// Copies the target's tracking id to a live object that was tracked by label, and drops the label where the target has none.
    pub(super) fn normalize(&self, target: &Value, live: &mut Value) {
        let id = self.sets_id(target, live).map(str::to_owned);
        let Some(metadata) = live.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        if let Some(id) = id {
            let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
            if let Some(annotations) = annotations.as_object_mut() {
                annotations.insert(TRACKING_ID.to_owned(), Value::String(id));
            }
        }
        if !has_label(target, &self.label_key) {
            let labels = metadata.get_mut("labels").and_then(Value::as_object_mut);
            if labels.is_some_and(|labels| labels.remove(&self.label_key).is_some() && labels.is_empty()) {
                metadata.remove("labels");
            }
        }
    }

    fn sets_id<'t>(&self, target: &'t Value, live: &Value) -> Option<&'t str> {
        let missing = text(live, "annotations", TRACKING_ID).is_none_or(str::is_empty);
        if missing || !self.keeps_foreign_id { text(target, "annotations", TRACKING_ID) } else { None }
    }
}

fn has_label(object: &Value, key: &str) -> bool {
    text(object, "labels", key).is_some_and(|label| !label.is_empty())
}

fn text<'v>(object: &'v Value, map: &str, key: &str) -> Option<&'v str> {
    object.get("metadata")?.get(map)?.get(key)?.as_str()
}
