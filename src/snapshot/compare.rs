//! What changed between two live states.
//!
//! Takes two; hands on a [`Comparison`]: objects that came, went and changed, and fields that differ. Values are never told.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::live::{LiveObject, LiveState};
use crate::manifest::ResourceKey;

/// Fields that say when and by whom an object was written, and nothing about it.
const BOOKKEEPING: [&str; 3] = ["/metadata/generation", "/metadata/managedFields", "/metadata/resourceVersion"];

/// An object of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Server URL of its cluster.
    pub cluster: Arc<str>,
    /// Its identity.
    pub key: ResourceKey,
}

/// An object that is in both states and not the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differing {
    /// The object.
    pub place: Place,
    /// JSON pointers of what differs, without bookkeeping.
    pub paths: Vec<String>,
    /// It was deleted and made again: the UID is another one.
    pub replaced: bool,
}

/// What changed from one state to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Only in the second.
    pub added: Vec<Place>,
    /// Only in the first.
    pub removed: Vec<Place>,
    /// In both, and other than only in their status.
    pub changed: Vec<Differing>,
    /// Number of objects whose status alone changed.
    pub only_status: usize,
    /// Keys of `argocd-cm` whose values differ.
    pub settings: Vec<String>,
    /// Clusters that only one of both holds objects of.
    pub clusters: Vec<String>,
}

impl Comparison {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Compares two states.
pub fn compare(first: &LiveState, second: &LiveState) -> Comparison {
    let mut found = Comparison::default();
    let (mut before, mut after) = (first.all().iter().peekable(), second.all().iter().peekable());
    let place = |object: &LiveObject| Place { cluster: object.cluster.clone(), key: object.key.clone() };
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => (&a.cluster, &a.key).cmp(&(&b.cluster, &b.key)),
        };
        match order {
            Ordering::Less => found.removed.extend(before.next().map(|object| place(object))),
            Ordering::Greater => found.added.extend(after.next().map(|object| place(object))),
            Ordering::Equal => {
                let (Some(a), Some(b)) = (before.next(), after.next()) else { continue };
                let mut paths = Vec::new();
                differences(&a.glance(), &b.glance(), &mut String::new(), &mut paths);
                let replaced = a.uid.is_some() && b.uid.is_some() && a.uid != b.uid;
                if paths.is_empty() {
                    continue;
                } else if !replaced && paths.iter().all(|path| path.starts_with("/status")) {
                    found.only_status += 1;
                } else {
                    found.changed.push(Differing { place: place(a), paths, replaced });
                }
            }
        }
    }
    let (before, after) = (&first.settings().entries, &second.settings().entries);
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    found.settings = keys.into_iter().filter(|key| before.get(*key) != after.get(*key)).cloned().collect();
    let clusters = |state: &LiveState| state.all().iter().map(|object| object.cluster.to_string()).collect::<BTreeSet<_>>();
    found.clusters = clusters(first).symmetric_difference(&clusters(second)).cloned().collect();
    found
}

fn differences(a: &Value, b: &Value, path: &mut String, found: &mut Vec<String>) {
    if a == b || BOOKKEEPING.contains(&path.as_str()) {
        return;
    }
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                let step = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
                below(step, path, |path| match (a.get(name), b.get(name)) {
                    (Some(a), Some(b)) => differences(a, b, path, found),
                    _ if BOOKKEEPING.contains(&path.as_str()) => {}
                    _ => found.push(path.clone()),
                });
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                below(format!("/{index}"), path, |path| differences(a, b, path, found));
            }
        }
        _ => found.push(path.clone()),
    }
}

/// Runs something one step deeper.
fn below(step: String, path: &mut String, run: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push_str(&step);
    run(path);
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argocd::names::IN_CLUSTER_SERVER;
    use crate::snapshot::Capture;
    use serde_json::json;

    fn state(objects: &[Value]) -> LiveState {
        let mut capture = Capture::default();
        objects.iter().for_each(|object| capture.add(IN_CLUSTER_SERVER, object.clone()));
        capture.finish()
    }

    fn object(name: &str, more: Value) -> Value {
        let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": "1"}});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    }

    #[test]
    fn what_came_went_and_changed_is_told_by_fields() {
        let first = state(&[object("a", json!({"data": {"x/y": "1", "z": [1, 2]}})), object("b", json!({})), object("c", json!({}))]);
        let second = state(&[object("a", json!({"data": {"x/y": "2", "z": [1, 3]}})), object("b", json!({})), object("d", json!({}))]);
        let found = compare(&first, &second);
        assert_eq!(found.changed[0].paths, ["/data/x~1y", "/data/z/1"]);
        assert_eq!((found.added.len(), found.removed.len(), found.changed.len()), (1, 1, 1));
        assert_eq!((&*found.added[0].key.name, &*found.removed[0].key.name), ("d", "c"));
    }

    #[test]
    fn bookkeeping_is_no_change_and_status_is_counted() {
        let mut later = object("a", json!({}));
        later["metadata"]["resourceVersion"] = "2".into();
        later["metadata"]["managedFields"] = json!([{}]);
        assert!(compare(&state(&[object("a", json!({}))]), &state(&[later])).is_empty());
        let found = compare(&state(&[object("a", json!({}))]), &state(&[object("a", json!({"status": {"phase": "Bound"}}))]));
        assert_eq!((found.only_status, found.changed.len()), (1, 0));
    }

    #[test]
    fn an_object_that_was_made_again_is_told() {
        let mut later = object("a", json!({}));
        later["metadata"]["uid"] = "other".into();
        assert!(compare(&state(&[object("a", json!({}))]), &state(&[later])).changed[0].replaced);
    }
}
