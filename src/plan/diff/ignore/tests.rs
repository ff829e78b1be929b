use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::argocd::Version;

use super::{CompareOptions, IgnoreError, IgnoreRules, RespectOptions, StatusIgnore, Target};

fn rules(application: Value) -> IgnoreRules {
    IgnoreRules::compile(Some(&application), &BTreeMap::new()).expect("valid rules")
}

fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn key<'k>(group: &'k str, kind: &'k str, namespace: &'k str, name: &'k str) -> Target<'k> {
    Target { group, kind, namespace, name }
}

fn without(rules: &IgnoreRules, mut object: Value) -> Value {
    rules.normalize(&mut object, StatusIgnore::None);
    object
}

#[test]
fn group_and_kind_are_globs_and_name_and_namespace_are_exact() {
    let covers = |rule: Value, target: Target<'_>| {
        let mut rule = rule;
        rule["jsonPointers"] = json!(["/spec/a"]);
        rules(json!([rule])).ignores(&target, &json!({}), "/spec/a")
    };
    let deployment = key("apps", "Deployment", "ns", "web");
    for (rule, expected) in [
        (json!({"group": "apps", "kind": "Deployment"}), true),
        (json!({"kind": "Deployment"}), false),
        (json!({"group": "*", "kind": "*"}), true),
        (json!({"group": "a*", "kind": "{StatefulSet,Deployment}"}), true),
        (json!({"group": "apps", "kind": "[CD]eploymen?"}), true),
        (json!({"group": "apps", "kind": "[!D]*"}), false),
        (json!({"group": "apps", "kind": "Deployment", "name": "web", "namespace": "ns"}), true),
        (json!({"group": "apps", "kind": "Deployment", "name": "w*"}), false),
        (json!({"group": "apps", "kind": "Deployment", "namespace": "other"}), false),
    ] {
        assert_eq!(covers(rule.clone(), deployment), expected, "{rule}");
    }
    assert!(covers(json!({"kind": "ConfigMap"}), key("", "ConfigMap", "ns", "a")), "an empty group is the core group");
    assert!(covers(json!({"group": "*.example.test", "kind": "*"}), key("a.b.example.test", "Shelf", "", "s")), "a star spans dots");
}

#[test]
fn pointers_remove_fields_and_elements_and_do_not_mind_missing_ones() {
    let rules = rules(
        json!([{"group": "*", "kind": "*", "jsonPointers": ["/metadata/annotations/a~1b", "/spec/list/1", "/spec/none/x", "/spec/list/9"]}]),
    );
    let object = json!({"metadata": {"annotations": {"a/b": "1", "c": "2"}}, "spec": {"list": [1, 2, 3]}});
    assert_eq!(without(&rules, object), json!({"metadata": {"annotations": {"c": "2"}}, "spec": {"list": [1, 3]}}));
}

#[test]
fn jq_expressions_delete_what_they_select() {
    let rules = |expression: &str| rules(json!([{"group": "*", "kind": "*", "jqPathExpressions": [expression]}]));
    let object = json!({"spec": {"replicas": 2, "containers": [{"name": "a", "x": 1}, {"name": "b", "x": 2}, {"name": "c", "x": 3}]}});
    for (expression, expected) in [
        (".spec.replicas", json!({"spec": {"containers": [{"name": "a", "x": 1}, {"name": "b", "x": 2}, {"name": "c", "x": 3}]}})),
        (
            ".spec.containers[] | select(.name == \"b\")",
            json!({"spec": {"replicas": 2, "containers": [{"name": "a", "x": 1}, {"name": "c", "x": 3}]}}),
        ),
        (".spec.containers[0,2]", json!({"spec": {"replicas": 2, "containers": [{"name": "b", "x": 2}]}})),
        (".spec.containers[1:]", json!({"spec": {"replicas": 2, "containers": [{"name": "a", "x": 1}]}})),
        (
            ".spec.containers[-1].x",
            json!({"spec": {"replicas": 2, "containers": [{"name": "a", "x": 1}, {"name": "b", "x": 2}, {"name": "c"}]}}),
        ),
        (".spec.containers[] | select(.name | IN(\"a\", \"c\"))", json!({"spec": {"replicas": 2, "containers": [{"name": "b", "x": 2}]}})),
        (".spec.nope[]?.x", object.clone()),
        (".spec.nope.deep", object.clone()),
        (".spec.replicas.x", object.clone()),
        (".spec.containers[].x, .spec.replicas", json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}})),
    ] {
        assert_eq!(without(&rules(expression), object.clone()), expected, "{expression}");
    }
}

#[test]
fn expressions_that_are_no_jq_are_errors() {
    let compile = |expression: &str| {
        IgnoreRules::compile(Some(&json!([{"kind": "*", "jqPathExpressions": [expression]}])), &BTreeMap::new()).map(|_| ())
    };
    assert!(matches!(compile(".spec["), Err(IgnoreError::Jq { .. })));
    assert!(matches!(compile(".spec | nothing_like_this"), Err(IgnoreError::Jq { .. })));
    assert!(IgnoreRules::compile(Some(&json!({"kind": "x"})), &BTreeMap::new()).is_err());
}

#[test]
fn an_expression_that_selects_too_much_is_skipped() {
    let object = json!({"spec": {"a": vec![0; 1000]}});
    let selecting = |times: usize| super::jq::PathExpression::compile(&vec![".spec.a[]"; times].join(", ")).unwrap().paths(&object);
    assert_eq!(selecting(3).map(|paths| paths.len()), Some(3000));
    assert_eq!(selecting(101), None);
}

#[test]
fn expressions_that_could_run_for_ever_are_not_run_and_said() {
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"a": {"x": 1}, "x": 2}});
    let not_run = |expression: &str| {
        let rules = rules(json!([{"group": "apps", "kind": "*", "jqPathExpressions": [expression]}]));
        rules.not_run(&object).map(ToString::to_string)
    };
    for expression in ["last(repeat(.))", "def f: f; f", "recurse (.a)", ".spec | select(env.HOME)", ".spec[$ENV.X]"] {
        assert!(not_run(expression).is_some_and(|text| text.contains(expression)), "{expression}");
    }
    for expression in [".spec.range, .metadata.annotations[\"input\"]", "recurse | objects | .x", ".. | objects | .x"] {
        assert_eq!(not_run(expression), None, "{expression}");
    }
    let rules = rules(json!([{"kind": "Service", "jqPathExpressions": ["def f: f; f"]}]));
    assert_eq!(rules.not_run(&object), None, "the rule is for another kind");
}

#[test]
fn everything_of_a_name_at_any_depth_can_be_selected() {
    let object = json!({"spec": {"a": {"x": 1, "y": 2}, "x": 2, "list": [{"x": 3}]}});
    for expression in ["recurse | objects | .x", ".. | objects | .x", "..|select(type == \"object\" and has(\"x\")).x"] {
        let rules = rules(json!([{"group": "*", "kind": "*", "jqPathExpressions": [expression]}]));
        assert_eq!(without(&rules, object.clone()), json!({"spec": {"a": {"y": 2}, "list": [{}]}}), "{expression}");
    }
}

#[test]
fn fields_of_known_types_are_compared_as_the_built_in_type_is() {
    let settings = settings(&[(
        "resource.customizations.knownTypeFields.example.test_Shelf",
        "- {field: spec.pod, type: core/v1/PodSpec}\n- {field: spec.sizes.limit, type: core/Quantity}\n- {field: spec.wait, type: meta/v1/Duration}\n- {field: spec.other, type: apps/v1/Deployment}\n",
    )]);
    let rules = IgnoreRules::compile(None, &settings).expect("valid");
    let shelf = |cpu: Value, limit: Value, wait: &str| {
        json!({"apiVersion": "example.test/v1", "kind": "Shelf", "spec": {"wait": wait, "other": {"cpu": cpu}, "sizes": [{"limit": limit}],
            "pod": {"containers": [{"name": "a", "resources": {"limits": {"cpu": cpu}}}]}}})
    };
    let mut expected = shelf(json!("500m"), json!("1Gi"), "1m30s");
    expected["spec"]["other"]["cpu"] = json!(0.5);
    let found = without(&rules, shelf(json!(0.5), json!("1024Mi"), "90s"));
    assert_eq!(found, expected);
}

#[test]
fn a_key_of_argocd_cm_that_argo_cd_cannot_read_is_an_error() {
    for key in ["ignoreDifferences.apps_v1_Deployment", "ignoreDiff.apps_Deployment"] {
        let key = format!("resource.customizations.{key}");
        assert!(
            matches!(IgnoreRules::compile(None, &settings(&[(&key, "jsonPointers: [/spec]")])), Err(IgnoreError::Setting { .. })),
            "{key}"
        );
    }
}

#[test]
fn system_settings_are_united_with_the_application_and_a_split_key_replaces_the_map() {
    let settings = settings(&[
        (
            "resource.customizations",
            "apps/Deployment:\n  ignoreDifferences: |\n    jsonPointers: [/spec/map]\n/ConfigMap:\n  ignoreDifferences: |\n    jsonPointers: [/data/map]\n",
        ),
        ("resource.customizations.ignoreDifferences.apps_Deployment", "jsonPointers: [/spec/split]\n"),
        ("resource.customizations.ignoreDifferences.all", "jqPathExpressions: [.metadata.labels.x]\n"),
        ("resource.customizations.health.apps_Deployment", "return {}"),
    ]);
    let rules = IgnoreRules::compile(Some(&json!([{"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/app"]}])), &settings)
        .expect("valid");
    let deployment = key("apps", "Deployment", "ns", "web");
    let object = json!({"metadata": {"labels": {"x": "1"}}});
    for (pointer, expected) in
        [("/spec/app", true), ("/spec/split/below", true), ("/spec/map", false), ("/metadata/labels/x", true), ("/spec", false)]
    {
        assert_eq!(rules.ignores(&deployment, &object, pointer), expected, "{pointer}");
    }
    assert!(rules.ignores(&key("", "ConfigMap", "ns", "c"), &object, "/data/map"));
    assert!(IgnoreRules::compile(None, &self::settings(&[("resource.customizations", "- a")])).is_err());
}

#[test]
fn compare_options_are_read_with_their_odd_spellings() {
    let (old, new) = (Version { major: 2, minor: 14 }, Version { major: 3, minor: 0 });
    let of = |text: &str, version| CompareOptions::from_settings(&settings(&[("resource.compareoptions", text)]), version);
    let read = |text: &str| of(text, new).expect("valid");
    assert_eq!(CompareOptions::from_settings(&BTreeMap::new(), new), Ok(CompareOptions::default()));
    let before = |text: &str| of(text, old).expect("valid").ignore_status;
    assert_eq!(before(""), StatusIgnore::CrdAndUnknownFields, "the default before 3.0");
    assert_eq!(before("ignoreResourceStatusField: none"), StatusIgnore::Crd, "a word that 2.x does not know");
    assert_eq!(before("ignoreResourceStatusField: all"), StatusIgnore::All);
    assert!(of("ignoreAggregatedRoles: maybe", new).is_err() && of("- a", new).is_err());
    for (word, expected) in [
        ("all", StatusIgnore::All),
        ("crd", StatusIgnore::Crd),
        ("none", StatusIgnore::None),
        ("off", StatusIgnore::None),
        ("false", StatusIgnore::None),
        ("what", StatusIgnore::All),
    ] {
        assert_eq!(read(&format!("ignoreResourceStatusField: {word}")).ignore_status, expected, "{word}");
    }
    assert!(read("ignoreAggregatedRoles: true").ignore_aggregated_roles);
}

#[test]
fn s9_60_the_live_replicas_are_applied_under_respect_ignore_differences() {
    let rules = rules(json!([{"group": "apps", "kind": "Deployment", "jsonPointers": ["/spec/replicas"]}]));
    let deployment = |replicas: i32, image: &str| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": replicas,
            "template": {"spec": {"containers": [{"name": "a", "image": image}]}}}})
    };
    let applied = rules.respect(&deployment(1, "new"), &deployment(4, "old"), RespectOptions::default());
    assert_eq!(applied, deployment(4, "new"));
}

#[test]
fn s9_61_an_ignored_field_that_live_lacks_is_not_applied() {
    let rules = rules(json!([{"group": "apps", "kind": "Deployment", "jsonPointers": ["/metadata/annotations/a"]}]));
    let deployment =
        |annotations: Value| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"annotations": annotations}, "spec": {}});
    let applied = rules.respect(&deployment(json!({"a": "1", "b": "2"})), &deployment(json!({"b": "1"})), RespectOptions::default());
    assert_eq!(applied, deployment(json!({"b": "2"})));
}

#[test]
fn s9_62_fields_beside_an_ignored_one_keep_the_target_value_where_the_parent_is_replaced() {
    let rules = rules(json!([{"group": "policy", "kind": "PodDisruptionBudget", "jsonPointers": ["/spec/selector/matchLabels/version"]}]));
    let budget =
        |labels: Value| json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": {"selector": {"matchLabels": labels}}});
    let (target, live) = (budget(json!({"app": "new", "version": "v2"})), budget(json!({"app": "old", "version": "v1", "extra": "x"})));
    let applied = rules.respect(&target, &live, RespectOptions::default());
    assert_eq!(applied, budget(json!({"app": "new", "version": "v1"})));
    let before = RespectOptions { restores_siblings: false, ..RespectOptions::default() };
    assert_eq!(rules.respect(&target, &live, before), budget(json!({"app": "old", "version": "v1", "extra": "x"})));
}

#[test]
fn the_live_status_is_never_applied() {
    let shelf = |spec: Value, status: Value| json!({"apiVersion": "example.test/v1", "kind": "Shelf", "spec": spec, "status": status});
    let applied = rules(json!([])).respect(
        &shelf(json!({"a": 1}), json!(null)),
        &shelf(json!({"a": 2}), json!({"phase": "Old"})),
        RespectOptions::default(),
    );
    assert_eq!(applied["status"], json!(null));
    assert_eq!(applied["spec"], json!({"a": 1}));
}

#[test]
fn fields_of_a_trusted_manager_are_left_out_of_the_comparison() {
    let rules = rules(json!([{"group": "apps", "kind": "Deployment", "managedFieldsManagers": ["scaler"]}]));
    let live = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"managedFields": [
        {"manager": "scaler", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]}, "spec": {"replicas": 5, "paused": true}});
    let deployment = key("apps", "Deployment", "", "");
    assert!(rules.ignores(&deployment, &live, "/spec/replicas"));
    assert!(!rules.ignores(&deployment, &live, "/spec/paused"));
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 1, "paused": true}});
    let applied = rules.respect(&target, &live, RespectOptions::default());
    assert_eq!(applied["spec"]["replicas"], 5);
}
