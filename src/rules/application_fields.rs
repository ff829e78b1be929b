//! Where the definition of an Application and its live object say different things; what says the same in other words is left out.
//!
//! Takes two Application objects; hands on [`Difference`]s. Source: Argo CD `util/argo/argo.go:NormalizeApplicationSpec`, and for what
//! controllers write on Applications `controller/appcontroller.go`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::argocd::names::{LAST_APPLIED, RESOURCES_FINALIZER, SKIP_RECONCILE, TRACKING_ID};

/// A field that differs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    /// JSON pointer into the Application.
    pub(super) pointer: String,
    /// How messages name it, for example `helm parameter max` or `spec.syncPolicy.automated.prune`.
    pub(super) name: String,
    /// Git's value; `None` where the definition does not name it.
    pub(super) file: Option<Value>,
    /// The live value; `None` where it is absent.
    pub(super) live: Option<Value>,
    /// Whether the definition names the field, or the list that holds it.
    pub(super) named_in_file: bool,
    /// The value is not for a report.
    pub(super) hidden: bool,
}

/// The differences between a definition and a live object, by pointer.
pub(super) fn differences(file: &Value, live: &Value) -> Vec<Difference> {
    let mut walk = Walk::default();
    walk.compare("/spec", file.get("spec"), live.get("spec"));
    walk.finalizers(file, live);
    walk.metadata(file, live, "annotations");
    walk.metadata(file, live, "labels");
    walk.found.sort_by(|a, b| a.pointer.cmp(&b.pointer));
    walk.found
}

/// Whether two pointers are about the same field, or one contains the other.
pub(super) fn overlaps(a: &str, b: &str) -> bool {
    let within = |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    within(a, b) || within(b, a)
}

#[derive(Default)]
struct Walk {
    found: Vec<Difference>,
}

impl Walk {
    /// The depth of an Application's spec is bounded by the reader of manifests.
    fn compare(&mut self, pointer: &str, file: Option<&Value>, live: Option<&Value>) {
        if same(pointer, file, live) {
            return;
        }
        let nothing = Map::new();
        match (file, live) {
            (Some(Value::Object(file)), Some(Value::Object(live))) => self.compare_maps(pointer, file, live),
            // A whole block that only one side has: name its fields, except where its mere presence decides.
            (Some(Value::Object(file)), None | Some(Value::Null)) if !presence_decides(pointer) => {
                self.compare_maps(pointer, file, &nothing)
            }
            (None | Some(Value::Null), Some(Value::Object(live))) if !presence_decides(pointer) => {
                self.compare_maps(pointer, &nothing, live)
            }
            (file, live) if pointer.ends_with("/helm/parameters") => self.compare_parameters(pointer, file, live),
            (Some(Value::Array(file)), Some(Value::Array(live))) if pointer == "/spec/sources" && file.len() == live.len() => {
                for (index, (file, live)) in file.iter().zip(live).enumerate() {
                    self.compare(&format!("{pointer}/{index}"), Some(file), Some(live));
                }
            }
            (file, live) => self.add(pointer, dotted(pointer), file, live, file.is_some()),
        }
    }

    fn compare_maps(&mut self, pointer: &str, file: &Map<String, Value>, live: &Map<String, Value>) {
        let names: BTreeSet<&String> = file.keys().chain(live.keys()).collect();
        for name in names {
            let below = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
            self.compare(&below, file.get(name), live.get(name));
        }
    }

    /// Helm parameters are told apart by name; a list in Git is applied as a whole.
    fn compare_parameters(&mut self, pointer: &str, file: Option<&Value>, live: Option<&Value>) {
        let items = |list: Option<&Value>| list.and_then(Value::as_array).cloned().unwrap_or_default();
        let (in_file, in_live) = (items(file), items(live));
        let name = |item: &Value| item.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let names: BTreeSet<String> = in_file.iter().chain(&in_live).map(name).collect();
        for parameter in names {
            let value = |items: &[Value]| {
                items.iter().rev().find(|item| name(item) == parameter).map(|item| item.get("value").cloned().unwrap_or_default())
            };
            let (before, now) = (value(&in_file), value(&in_live));
            if before != now {
                self.found.push(Difference {
                    pointer: pointer.to_owned(),
                    name: format!("helm parameter {parameter}"),
                    hidden: looks_secret(&parameter),
                    file: before,
                    live: now,
                    named_in_file: !in_file.is_empty(),
                });
            }
        }
    }

    /// Only the resources-finalizer decides something; the controller sets others by itself.
    fn finalizers(&mut self, file: &Value, live: &Value) {
        let of = |object: &Value| {
            let list = object.pointer("/metadata/finalizers").and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).find(|one| one.starts_with(RESOURCES_FINALIZER)).map(str::to_owned)
        };
        let (before, now) = (of(file), of(live));
        if before != now {
            let named = file.pointer("/metadata/finalizers").is_some();
            self.add(
                "/metadata/finalizers",
                "the resources-finalizer".into(),
                before.map(Value::from).as_ref(),
                now.map(Value::from).as_ref(),
                named,
            );
        }
    }

    /// What the file names must be live as it stands there; of what only the live object has, `skip-reconcile` alone decides something.
    fn metadata(&mut self, file: &Value, live: &Value, map: &str) {
        let of = |object: &Value| object.pointer(&format!("/metadata/{map}")).and_then(Value::as_object).cloned().unwrap_or_default();
        let (before, now) = (of(file), of(live));
        let own = before.keys().filter(|name| ![TRACKING_ID, LAST_APPLIED].contains(&name.as_str()));
        let extra = [SKIP_RECONCILE.to_owned()];
        let extra = extra.iter().filter(|name| map == "annotations" && now.contains_key(*name) && !before.contains_key(*name));
        for name in own.chain(extra) {
            if before.get(name) != now.get(name) {
                let pointer = format!("/metadata/{map}/{}", name.replace('~', "~0").replace('/', "~1"));
                let noun = map.trim_end_matches('s');
                self.add(&pointer, format!("{noun} {name}"), before.get(name), now.get(name), before.contains_key(name));
            }
        }
    }

    fn add(&mut self, pointer: &str, name: String, file: Option<&Value>, live: Option<&Value>, named_in_file: bool) {
        // Values files written into the Application are long and hold what is nobody's business.
        let hidden = pointer.ends_with("/helm/values") || pointer.split('/').any(looks_secret);
        let known = |value: Option<&Value>| value.filter(|value| !value.is_null()).cloned();
        self.found.push(Difference { pointer: pointer.to_owned(), name, file: known(file), live: known(live), named_in_file, hidden });
    }
}

/// Whether both say the same. Absent, null, empty and false mean the same, except where absent means something else.
fn same(pointer: &str, file: Option<&Value>, live: Option<&Value>) -> bool {
    if file == live {
        return true;
    }
    match pointer {
        "/spec/project" => text_or(file, "default") == text_or(live, "default"),
        // Absent means on.
        "/spec/syncPolicy/automated/enabled" => boolean_or(file, true) == boolean_or(live, true),
        // `automated: {}` is on, no `automated` is off.
        "/spec/syncPolicy/automated" => is_null(file) && is_null(live),
        _ if pointer.ends_with("/targetRevision") => text_or(file, "HEAD") == text_or(live, "HEAD"),
        _ if pointer.ends_with("/syncOptions") => words(file) == words(live),
        _ if contains_deciding(pointer) => false,
        _ => is_zero(file) && is_zero(live),
    }
}

fn presence_decides(pointer: &str) -> bool {
    pointer == "/spec/syncPolicy/automated"
}

/// Whether a block can hold `automated`, so that being empty on one side does not say that nothing differs below.
fn contains_deciding(pointer: &str) -> bool {
    matches!(pointer, "/spec" | "/spec/syncPolicy")
}

fn is_null(value: Option<&Value>) -> bool {
    value.is_none_or(Value::is_null)
}

fn text_or<'v>(value: Option<&'v Value>, default: &'v str) -> &'v str {
    value.and_then(Value::as_str).filter(|text| !text.is_empty()).unwrap_or(default)
}

fn boolean_or(value: Option<&Value>, default: bool) -> bool {
    value.and_then(Value::as_bool).unwrap_or(default)
}

fn words(value: Option<&Value>) -> BTreeSet<&str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

fn is_zero(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => true,
        Some(Value::Bool(true)) => false,
        Some(Value::Number(number)) => number.as_f64() == Some(0.0),
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(fields)) => fields.values().all(|value| is_zero(Some(value))),
    }
}

fn looks_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    ["password", "passwd", "secret", "token", "apikey", "api_key", "private", "credential"].iter().any(|word| name.contains(word))
}

fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".").replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(file: Value, live: Value) -> Vec<String> {
        differences(&json!({"spec": file}), &json!({"spec": live})).into_iter().map(|found| found.name).collect()
    }

    #[test]
    fn other_words_for_the_same_are_no_difference() {
        let same = [
            (json!({}), json!({"project": "default"})),
            (
                json!({"syncPolicy": {"automated": {}}}),
                json!({"syncPolicy": {"automated": {"prune": false, "selfHeal": false, "enabled": true}}}),
            ),
            (
                json!({"source": {"targetRevision": "HEAD"}}),
                json!({"source": {"helm": {"parameters": []}, "directory": {"recurse": false}}}),
            ),
            (json!({"syncPolicy": {"syncOptions": ["A=true", "B=true"]}}), json!({"syncPolicy": {"syncOptions": ["B=true", "A=true"]}})),
            (json!({}), json!({"syncPolicy": {}})),
            (json!({"ignoreDifferences": []}), json!({})),
        ];
        for (file, live) in same {
            assert_eq!(names(file.clone(), live.clone()), [""; 0], "{file} {live}");
            assert_eq!(names(live, file), [""; 0]);
        }
    }

    #[test]
    fn what_decides_differs() {
        let differ = [
            (json!({"syncPolicy": {"automated": {}}}), json!({}), "spec.syncPolicy.automated"),
            (
                json!({"syncPolicy": {"automated": {}}}),
                json!({"syncPolicy": {"automated": {"enabled": false}}}),
                "spec.syncPolicy.automated.enabled",
            ),
            (
                json!({"syncPolicy": {"automated": {"prune": true}}}),
                json!({"syncPolicy": {"automated": {}}}),
                "spec.syncPolicy.automated.prune",
            ),
            (json!({"source": {}}), json!({"source": {"helm": {"parameters": [{"name": "max", "value": "40"}]}}}), "helm parameter max"),
            (json!({"source": {"targetRevision": "main"}}), json!({"source": {"targetRevision": "hotfix"}}), "spec.source.targetRevision"),
            (json!({}), json!({"source": {"kustomize": {"images": ["a:9"]}}}), "spec.source.kustomize.images"),
        ];
        for (file, live, name) in differ {
            assert_eq!(names(file, live), [name]);
        }
    }

    #[test]
    fn finalizers_and_metadata_count_only_where_they_decide_or_git_names_them() {
        let file = json!({"metadata": {"labels": {"team": "a"}, "finalizers": [RESOURCES_FINALIZER]}});
        let noise = json!({"metadata": {
            "labels": {"team": "a", "app.kubernetes.io/instance": "root"},
            "annotations": {"argocd.argoproj.io/refresh": "normal", TRACKING_ID: "root:x"},
            "finalizers": [RESOURCES_FINALIZER, "post-delete-finalizer.argocd.argoproj.io"],
        }, "status": {}, "operation": {}});
        assert_eq!(differences(&file, &noise), []);
        let drifted = json!({"metadata": {"labels": {"team": "b"}, "annotations": {SKIP_RECONCILE: "true"}}});
        let found: Vec<String> = differences(&file, &drifted).into_iter().map(|found| found.name).collect();
        assert_eq!(found, [format!("annotation {SKIP_RECONCILE}"), "the resources-finalizer".into(), "label team".into()]);
    }

    #[test]
    fn values_that_may_be_secret_are_marked() {
        let file = json!({"spec": {}});
        let live = json!({"spec": {"source": {"helm": {"values": "a: b", "parameters": [{"name": "db.password", "value": "x"}]}}}});
        assert!(differences(&file, &live).iter().all(|found| found.hidden));
    }
}
