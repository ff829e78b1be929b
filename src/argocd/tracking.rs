//! Who tracks an object: tracking methods, tracking ids, and writing them on targets.

use std::fmt;

use serde_json::Value;

use super::names::{INSTALLATION_ID, TRACKING_ID};
use crate::manifest::{ResourceKey, annotation, label};

/// How Argo CD marks the objects of an Application.
///
/// Source: Argo CD `util/argo/resource_tracking.go`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackingMethod {
    /// The annotation `tracking-id`.
    Annotation,
    /// The annotation decides, a label informs.
    AnnotationAndLabel,
    /// The instance label.
    Label,
    /// A word that Argo CD does not know: it writes and reads the annotation, but does not look whether it was copied.
    Unknown,
}

impl TrackingMethod {
    /// Reads the setting.
    pub fn parse(text: &str) -> Self {
        match text {
            "label" => Self::Label,
            "annotation+label" => Self::AnnotationAndLabel,
            "annotation" => Self::Annotation,
            _ => Self::Unknown,
        }
    }

    /// Whether a tracking id that names another object makes an object a copy.
    ///
    /// Source: Argo CD `util/argo/resource_tracking.go:GetAppInstance`.
    pub fn tells_copies(self) -> bool {
        matches!(self, Self::Annotation | Self::AnnotationAndLabel)
    }
}

/// The content of a tracking id: `<instance>:<group>/<kind>:<namespace>/<name>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackingId {
    /// Instance name of the Application.
    pub instance: String,
    /// The object that the id was written for.
    pub key: ResourceKey,
}

impl TrackingId {
    /// Reads a tracking id; what does not have its shape means "untracked".
    ///
    /// Source: Argo CD `util/argo/resource_tracking.go:ParseAppInstanceValue`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ':');
        let (instance, kind, name) = (parts.next()?, parts.next()?, parts.next()?);
        let (group, kind) = split_once_only(kind)?;
        let (namespace, name) = split_once_only(name)?;
        Some(Self { instance: instance.to_owned(), key: ResourceKey::new(group, kind, namespace, name) })
    }
}

fn split_once_only(text: &str) -> Option<(&str, &str)> {
    let (first, second) = text.split_once('/')?;
    (!second.contains('/')).then_some((first, second))
}

impl fmt::Display for TrackingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ResourceKey { group, kind, namespace, name } = &self.key;
        write!(f, "{}:{group}/{kind}:{namespace}/{name}", self.instance)
    }
}

/// The tracking settings of an Argo CD installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracking {
    /// `application.resourceTrackingMethod`.
    pub method: TrackingMethod,
    /// `application.instanceLabelKey`.
    pub label_key: String,
    /// `installationID`; empty where there is none.
    pub installation_id: String,
}

impl Tracking {
    /// The instance name that an object is tracked under, as one of Argo CD's own lookups would find it.
    ///
    /// Source: Argo CD `util/argo/resource_tracking.go:GetAppName`.
    pub fn instance_of<'a>(&self, object: &'a Value) -> Option<std::borrow::Cow<'a, str>> {
        self.instance_from(|name| label(object, name), |name| annotation(object, name))
    }

    /// The same, from a look-up of labels and one of annotations.
    pub fn instance_from<'a>(
        &self,
        label: impl Fn(&str) -> Option<&'a str>,
        annotation: impl Fn(&str) -> Option<&'a str>,
    ) -> Option<std::borrow::Cow<'a, str>> {
        match self.method {
            TrackingMethod::Label => label(&self.label_key).filter(|name| !name.is_empty()).map(Into::into),
            TrackingMethod::Annotation | TrackingMethod::AnnotationAndLabel | TrackingMethod::Unknown => {
                if !self.installation_id.is_empty() && annotation(INSTALLATION_ID) != Some(&self.installation_id) {
                    return None;
                }
                TrackingId::parse(annotation(TRACKING_ID)?).map(|id| id.instance.into())
            }
        }
    }

    /// Writes the marks of an Application on a target. CustomResourceDefinitions carry none; the caller leaves them out.
    ///
    /// `namespace` is the object's namespace or, where it has none, the Application's destination namespace.
    ///
    /// Source: Argo CD `util/argo/resource_tracking.go:SetAppInstance`.
    pub fn mark(&self, object: &mut Value, instance: &str, key: &ResourceKey, namespace: &str) {
        if self.method == TrackingMethod::Label {
            set_metadata(object, "labels", &self.label_key, Some(instance.to_owned()));
            return;
        }
        let id = TrackingId { instance: instance.to_owned(), key: key.in_namespace(namespace) };
        set_metadata(object, "annotations", TRACKING_ID, Some(id.to_string()));
        let installation = (!self.installation_id.is_empty()).then(|| self.installation_id.clone());
        set_metadata(object, "annotations", INSTALLATION_ID, installation);
        if self.method == TrackingMethod::AnnotationAndLabel {
            set_metadata(object, "labels", &self.label_key, Some(truncate_label(instance).to_owned()));
        }
    }

    /// Writes the marks that one object carries on another one that has none of its own.
    pub fn carry_over(&self, from: &Value, to: &mut Value) {
        let written: &[(&str, &str)] = match self.method {
            TrackingMethod::Label => &[("labels", &self.label_key)],
            TrackingMethod::AnnotationAndLabel => {
                &[("annotations", TRACKING_ID), ("annotations", INSTALLATION_ID), ("labels", &self.label_key)]
            }
            TrackingMethod::Annotation | TrackingMethod::Unknown => &[("annotations", TRACKING_ID), ("annotations", INSTALLATION_ID)],
        };
        for &(map, name) in written {
            let read = |object: &Value| if map == "labels" { label(object, name) } else { annotation(object, name) }.map(str::to_owned);
            if let (Some(mark), None) = (read(from), read(to)) {
                set_metadata(to, map, name, Some(mark));
            }
        }
    }
}

/// At most 63 characters; where it is cut, it ends in a letter or digit.
fn truncate_label(text: &str) -> &str {
    if text.len() <= 63 {
        return text;
    }
    let mut end = 63;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].trim_end_matches(|last: char| !last.is_ascii_alphanumeric())
}

/// Sets or removes an entry of a metadata map, keeping an absent map absent on removal.
fn set_metadata(object: &mut Value, map: &str, name: &str, value: Option<String>) {
    let Some(root) = object.as_object_mut() else { return };
    if value.is_none() && root.get("metadata").and_then(|metadata| metadata.get(map)).is_none() {
        return;
    }
    let metadata = root.entry("metadata").or_insert_with(|| Value::Object(Default::default()));
    let Some(metadata) = metadata.as_object_mut() else { return };
    let entries = metadata.entry(map).or_insert_with(|| Value::Object(Default::default()));
    if entries.is_null() {
        *entries = Value::Object(Default::default());
    }
    let Some(entries) = entries.as_object_mut() else { return };
    match value {
        Some(value) => {
            entries.insert(name.to_owned(), Value::String(value));
        }
        None => {
            entries.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tracking(method: TrackingMethod) -> Tracking {
        Tracking { method, label_key: "app.kubernetes.io/instance".into(), installation_id: String::new() }
    }

    #[test]
    fn s9_07_names_may_hold_colons_and_other_shapes_mean_untracked() {
        let id = TrackingId::parse("app:g/K:ns/x:y").unwrap();
        assert_eq!((&*id.key.name, id.to_string().as_str()), ("x:y", "app:g/K:ns/x:y"));
        for bad in ["app;g/k/n", "app:g/K", "app:gK:ns/x", "app:g/K:ns/x/y", "app:g/h/K:ns/x"] {
            assert_eq!(TrackingId::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn s9_08_a_foreign_installation_id_means_untracked_only_if_one_is_set() {
        let object = json!({"metadata": {"annotations": {TRACKING_ID: "a:/ConfigMap:ns/cm", INSTALLATION_ID: "i2"}}});
        let mut settings = tracking(TrackingMethod::Annotation);
        assert_eq!(settings.instance_of(&object).as_deref(), Some("a"));
        settings.installation_id = "i1".into();
        assert_eq!(settings.instance_of(&object), None);
    }

    #[test]
    fn marks_name_the_destination_namespace_for_cluster_scoped_objects() {
        let mut object = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "r"}});
        let key = ResourceKey::of(&object).unwrap();
        tracking(TrackingMethod::Annotation).mark(&mut object, "a", &key, "ns");
        assert_eq!(annotation(&object, TRACKING_ID), Some("a:rbac.authorization.k8s.io/ClusterRole:ns/r"));
    }

    #[test]
    fn the_informational_label_is_cut_to_63_and_ends_alphanumeric() {
        let mut object = json!({"kind": "ConfigMap", "metadata": {"name": "c"}});
        let key = ResourceKey::of(&object).unwrap();
        let long = format!("{}-{}", "a".repeat(62), "b".repeat(10));
        tracking(TrackingMethod::AnnotationAndLabel).mark(&mut object, &long, &key, "ns");
        assert_eq!(label(&object, "app.kubernetes.io/instance"), Some("a".repeat(62).as_str()));
    }

    #[test]
    fn an_installation_id_written_in_git_is_removed_when_none_is_configured() {
        let mut object = json!({"kind": "ConfigMap", "metadata": {"name": "c", "annotations": {INSTALLATION_ID: "x"}}});
        let key = ResourceKey::of(&object).unwrap();
        tracking(TrackingMethod::Annotation).mark(&mut object, "a", &key, "ns");
        assert_eq!(annotation(&object, INSTALLATION_ID), None);
    }

    #[test]
    fn tracking_by_label_leaves_the_installation_id_as_git_has_it() {
        let mut object = json!({"kind": "ConfigMap", "metadata": {"name": "c", "annotations": {INSTALLATION_ID: "x"}}});
        let key = ResourceKey::of(&object).unwrap();
        tracking(TrackingMethod::Label).mark(&mut object, "a", &key, "ns");
        assert_eq!(annotation(&object, INSTALLATION_ID), Some("x"));
        assert_eq!((annotation(&object, TRACKING_ID), label(&object, "app.kubernetes.io/instance")), (None, Some("a")));
    }

    #[test]
    fn an_unknown_method_reads_the_annotation_and_takes_no_object_for_a_copy() {
        let method = TrackingMethod::parse("labels");
        let object = json!({"metadata": {"annotations": {TRACKING_ID: "a:/ConfigMap:ns/cm"}}});
        assert_eq!(tracking(method).instance_of(&object).as_deref(), Some("a"));
        assert!(!method.tells_copies() && TrackingMethod::Annotation.tells_copies());
    }
}
