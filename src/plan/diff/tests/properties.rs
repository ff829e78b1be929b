//! What holds for all objects.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::random::{KINDS, Random};
use super::{applied, compare, compare_with, context, overlay, rules};
use crate::argocd::names::LAST_APPLIED;
use crate::argocd::settings::Settings;
use crate::plan::diff::{DiffContext, IgnoreRules, Method, ObjectDiff, Pair, diff, fill_defaults, normalize, remarshal};
use crate::plan::schema::Schemas;

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

/// Objects that fit their types. No map is empty: an empty one in Git clears what live has there.
fn readable() -> impl Strategy<Value = Value> {
    let words = || prop::collection::btree_map("[a-z]{1,4}", "[a-z]{1,4}", 1..5);
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

/// A seed and a built-in kind.
fn seeds() -> impl Strategy<Value = (u64, usize)> {
    (any::<u64>(), 0..KINDS.len())
}

fn made((seed, kind): (u64, usize)) -> Value {
    let (api_version, kind) = KINDS[kind];
    Random(seed).object(api_version, kind)
}

/// The object as the API server keeps it: canonical, with defaults.
fn stored(written: &Value) -> Value {
    let node = Schemas::builtin().scheme_type(written).expect("a built-in kind");
    let mut object = written.clone();
    remarshal::remarshal(node, &mut object);
    normalize::normalize(&mut object, false);
    fill_defaults(node, &mut object);
    without_directives(&mut object);
    object
}

/// The patch that adds a default leaves a directive behind, which no cluster keeps.
fn without_directives(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !key.starts_with('$'));
            map.values_mut().for_each(without_directives);
        }
        Value::Array(items) => items.iter_mut().for_each(without_directives),
        _ => {}
    }
}

const METHODS: [Method; 3] = [Method::ThreeWay, Method::StructuredMerge, Method::ServerSide];

fn by(method: Method, target: &Value, live: &Value) -> ObjectDiff {
    let (rules, tracking) = (IgnoreRules::default(), Settings::default().tracking);
    diff(target, live, &DiffContext { method, ..context(&rules, &tracking) })
}

/// The live object after a sync that writes what the comparison predicts.
fn synced(method: Method, target: &Value, live: &Value) -> Option<Value> {
    let (rules, tracking) = (IgnoreRules::default(), Settings::default().tracking);
    let ctx = DiffContext { method, ..context(&rules, &tracking) };
    let pair = Pair::new(target, live, &ctx);
    let same = pair.live.clone();
    let outcome = match method {
        Method::ThreeWay => Ok(pair.three_way(None, &ctx)),
        Method::StructuredMerge => pair.structured(live, &ctx),
        Method::ServerSide => pair.server_side(live, &ctx),
    };
    let mut after = outcome.ok()?.map_or(same, |(_, predicted)| predicted);
    without_directives(&mut after);
    after["metadata"]["namespace"] = json!("ns");
    Some(after)
}

/// The text of an object with the keys of every map in reverse.
fn reversed(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let members: Vec<String> =
                map.iter().rev().map(|(key, inner)| format!("{}:{}", Value::from(key.as_str()), reversed(inner))).collect();
            format!("{{{}}}", members.join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(reversed).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn what_the_cluster_made_of_an_object_is_no_difference(seed in seeds()) {
        let written = made(seed);
        let live = stored(&written);
        for method in METHODS {
            let found = by(method, &written, &live);
            prop_assert!(!found.modified, "{method:?} {:?} {:?}\n{written}\n{live}", found.fields, found.error);
        }
        let noted = applied_as(&live, &written);
        let found = by(Method::ThreeWay, &written, &noted);
        prop_assert!(!found.modified, "{:?}\n{written}", found.fields);
    }

    #[test]
    fn a_sync_leaves_no_difference_behind(target in seeds(), live in any::<u64>()) {
        a_sync_settles(target, live)?;
    }

    #[test]
    fn the_order_of_keys_in_the_text_does_not_matter(target in seeds(), live in any::<u64>()) {
        key_order_decides_nothing(target, live)?;
    }
}

/// `live` with a note that `written` was applied last.
fn applied_as(live: &Value, written: &Value) -> Value {
    let mut noted = live.clone();
    noted["metadata"]["annotations"][LAST_APPLIED] = Value::String(format!("{written}\n"));
    noted
}

fn key_order_decides_nothing(target: (u64, usize), live: u64) -> Result<(), TestCaseError> {
    let (written, live) = (made(target), stored(&made((live, target.1))));
    let turned = |object: &Value| serde_json::from_str::<Value>(&reversed(object)).expect("JSON");
    for method in METHODS {
        prop_assert_eq!(by(method, &written, &live), by(method, &turned(&written), &turned(&live)));
    }
    let noted = applied_as(&live, &made((target.0 ^ 1, target.1)));
    let mut otherwise = noted.clone();
    let text = noted["metadata"]["annotations"][LAST_APPLIED].as_str().expect("noted");
    otherwise["metadata"]["annotations"][LAST_APPLIED] = Value::from(reversed(&serde_json::from_str::<Value>(text).expect("JSON")));
    prop_assert_eq!(compare(&written, &noted), compare(&written, &otherwise));
    Ok(())
}

fn a_sync_settles(target: (u64, usize), live: u64) -> Result<(), TestCaseError> {
    let written = made(target);
    let live = stored(&made((live, target.1)));
    for method in METHODS {
        let Some(after) = synced(method, &written, &live) else { continue };
        let found = by(method, &written, &after);
        prop_assert!(!found.modified, "{method:?} {:?} {:?}\n{written}\n{live}\n{after}", found.fields, found.error);
    }
    Ok(())
}

#[test]
fn cases_that_were_wrong_once_hold() {
    key_order_decides_nothing((1_863_532_592_755_225_894, 14), 10_565_679_132_999_707_020).expect("the order of keys decides nothing");
    a_sync_settles((894_039_335_737_622_716, 2), 7_307_578_082_270_533_722).expect("a sync leaves no difference");
}
