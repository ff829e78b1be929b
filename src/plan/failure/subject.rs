//! Names one object and its fields the way messages spell them.
//!
//! Takes a manifest or a JSON pointer; hands on `Deployment shop/front` or `spec.ports[0].targetPort`.

use std::fmt;

use serde_json::Value;

use crate::manifest::pointer::escape;

/// The identity of the object that is judged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) kind: &'a str,
    namespace: &'a str,
    name: &'a str,
}

impl<'a> Subject<'a> {
    /// Reads the identity of `object`; `live` gives the namespace where the manifest leaves it out.
    pub(super) fn of(object: &'a Value, live: Option<&'a Value>) -> Self {
        let api_version = text(object, "/apiVersion");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let named = text(object, "/metadata/name");
        let own = text(object, "/metadata/namespace");
        Self {
            group,
            version,
            kind: text(object, "/kind"),
            namespace: if own.is_empty() { live.map_or("", |live| text(live, "/metadata/namespace")) } else { own },
            name: if named.is_empty() { text(object, "/metadata/generateName") } else { named },
        }
    }

    /// Whether the object is of this API group and kind.
    pub(super) fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// Where the Pod's spec stands in objects of this kind, as a JSON pointer.
    pub(super) fn pod_spec(&self) -> Option<&'static str> {
        match (self.group, self.kind) {
            ("", "Pod") => Some("/spec"),
            ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch", "Job") => Some("/spec/template/spec"),
            ("batch", "CronJob") => Some("/spec/jobTemplate/spec/template/spec"),
            _ => None,
        }
    }

    /// Whether the values of the object may never be shown.
    pub(super) fn is_secret(&self) -> bool {
        self.is("", "Secret")
    }

    /// Whether kubectl knows the type and merges its lists by key (strategic merge patch); custom resources get a JSON merge patch.
    pub(super) fn is_built_in(&self) -> bool {
        matches!(
            self.group,
            "" | "apps"
                | "batch"
                | "autoscaling"
                | "policy"
                | "extensions"
                | "networking.k8s.io"
                | "rbac.authorization.k8s.io"
                | "storage.k8s.io"
                | "scheduling.k8s.io"
                | "node.k8s.io"
                | "discovery.k8s.io"
                | "coordination.k8s.io"
                | "certificates.k8s.io"
                | "resource.k8s.io"
                | "admissionregistration.k8s.io"
                | "flowcontrol.apiserver.k8s.io"
                | "events.k8s.io"
        )
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(formatter, "{} {}", self.kind, self.name)
        } else {
            write!(formatter, "{} {}/{}", self.kind, self.namespace, self.name)
        }
    }
}

/// The string at `pointer`, or nothing.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Appends one key to a JSON pointer.
pub(super) fn join(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", escape(key))
}

/// A JSON pointer as people write paths: `/spec/ports/0/port` is `spec.ports[0].port`.
pub(super) fn dotted(pointer: &str) -> String {
    let mut path = String::new();
    for raw in pointer.split('/').skip(1) {
        let key = raw.replace("~1", "/").replace("~0", "~");
        if !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{key}]"));
        } else if key.contains(['.', '/']) || key.is_empty() {
            path.push_str(&format!("[\"{key}\"]"));
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&key);
        }
    }
    path
}

/// A value in a message: strings bare, other values as JSON, cut at 60 characters; `absent` for nothing.
pub(super) fn shown(value: Option<&Value>) -> String {
    let full = match value {
        None | Some(Value::Null) => return "absent".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    if full.chars().count() <= 60 {
        return full;
    }
    let cut: String = full.chars().take(57).collect();
    format!("{cut}...")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pointer_is_written_as_people_write_paths() {
        assert_eq!(dotted("/spec/ports/0/targetPort"), "spec.ports[0].targetPort");
        assert_eq!(dotted("/metadata/annotations/prometheus.io~1scrape"), "metadata.annotations[\"prometheus.io/scrape\"]");
    }

    #[test]
    fn the_live_object_lends_its_namespace_to_a_manifest_without_one() {
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "front"}});
        let live = json!({"metadata": {"namespace": "shop"}});
        assert_eq!(Subject::of(&target, Some(&live)).to_string(), "Deployment shop/front");
        assert_eq!(Subject::of(&target, None).to_string(), "Deployment front");
    }

    #[test]
    fn long_values_are_cut() {
        assert_eq!(shown(Some(&json!("x".repeat(200)))).chars().count(), 60);
        assert_eq!(shown(None), "absent");
    }
}
