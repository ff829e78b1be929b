//! What holds for all objects.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{applied, compare, compare_with, overlay, rules};
use crate::plan::diff::IgnoreRules;

/// Objects with nested maps, lists and all kinds of plain values, of built-in and unknown kinds.
fn objects() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from)
    ];
    let tree = leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map("[a-e]{1,2}|name|ports|spec|replicas", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    let kinds = prop_oneof![
        Just(("v1", "ConfigMap")),
        Just(("v1", "Service")),
        Just(("apps/v1", "Deployment")),
        Just(("example.test/v1", "Shelf")),
        Just(("v1", "Secret")),
        Just(("rbac.authorization.k8s.io/v1", "Role"))
    ];
    (kinds, tree.clone(), tree).prop_map(|((version, kind), spec, data)| {
        json!({"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": "ns"}, "spec": spec, "data": data})
    })
}

/// Objects that fit their types.
fn readable() -> impl Strategy<Value = Value> {
    let words = || prop::collection::btree_map("[a-z]{1,4}", "[a-z]{1,4}", 0..5);
    let map = words()
        .prop_map(|data| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "ns"}, "data": data}));
    let deployment = (words(), words(), 0..3, 0..9).prop_map(|(labels, env, replicas, port)| {
        let env: Vec<_> = env.into_iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x", "namespace": "ns", "labels": labels}, "spec": {
            "replicas": replicas, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
            "spec": {"containers": [{"name": "a", "env": env, "ports": [{"containerPort": port}]}]}}}})
    });
    prop_oneof![map, deployment, objects().prop_filter("custom", |object| object["kind"] == "Shelf")]
}

proptest! {
    #[test]
    fn an_object_never_differs_from_itself(object in objects(), server_side in any::<bool>()) {
        let found = compare_with(&object, &object, &IgnoreRules::default(), server_side);
        prop_assert!(!found.modified || found.error.is_some(), "{:?}", found.fields);
    }

    #[test]
    fn a_comparison_gives_the_same_answer_each_time(target in objects(), live in objects(), server_side in any::<bool>()) {
        let run = || compare_with(&target, &live, &IgnoreRules::default(), server_side);
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn a_live_field_that_git_never_had_is_no_difference(object in readable(), key in "unrelated-[a-z]{1,5}", value in "[a-z]*") {
        let mut live = applied(&object, &json!({"metadata": {"labels": {key.clone(): value.clone()}}}));
        if let Some(data) = live.get_mut("data").and_then(Value::as_object_mut) {
            data.insert(key, Value::String(value));
        }
        let found = compare(&object, &live);
        prop_assert!(!found.modified, "{:?}", found.fields);
    }

    #[test]
    fn the_short_way_and_the_long_way_agree(target in objects(), live in objects(), merge in any::<bool>()) {
        let live = if merge { let mut both = target.clone(); overlay(&mut both, &live); both["kind"] = target["kind"].clone(); both["apiVersion"] = target["apiVersion"].clone(); both } else { live };
        // A rule on a field that nothing has forces the long way.
        let long = rules(json!([{"group": "*", "kind": "*", "jsonPointers": ["/none/0"]}]));
        let quick = compare(&target, &live);
        let slow = compare_with(&target, &live, &long, false);
        prop_assert_eq!(quick, slow);
    }
}
