use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::super::around::Around;
use super::super::functions;
use super::super::variables::{app_facts, argocd_facts, change_facts, now_facts};
use super::*;
use crate::plan::{Action, Reason};
use crate::rules::facts::View;
use crate::rules::fixture::*;

/// Paths and types of everything that expressions are given.
fn given() -> BTreeMap<String, Kind> {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}});
    let plan = plan("a", vec![changed(map.clone(), map.clone(), map, Action::Update, Reason::Differs { fields: 1 })]);
    let run = Run { plans: vec![plan], ..Run::default() };
    let (view, plan) = (View::new(run.facts()), &run.plans[0]);
    let around = Around::for_all_members(&view);
    let mut found = BTreeMap::new();
    flatten("change", &change_facts(&plan.changes[0]), &mut found);
    flatten("change", &Value::Object(around.of_change(plan, &plan.changes[0])), &mut found);
    flatten("app", &app_facts(plan), &mut found);
    flatten("app", &Value::Object(around.of_application(&plan.application.id)), &mut found);
    flatten("argocd", &argocd_facts(&snapshot(&[])), &mut found);
    flatten("now", &now_facts(0), &mut found);
    found
}

fn flatten(path: &str, value: &Value, into: &mut BTreeMap<String, Kind>) {
    let kind = match value {
        Value::Object(map) if !matches!(path, "app.labels" | "app.annotations") => {
            map.iter().for_each(|(name, value)| flatten(&format!("{path}.{name}"), value, into));
            return;
        }
        Value::Object(_) => Kind::Map,
        Value::String(_) => Kind::Text,
        Value::Number(_) => Kind::Int,
        Value::Bool(_) => Kind::Bool,
        Value::Array(_) => Kind::List,
        Value::Null => Kind::Any,
    };
    into.insert(path.to_owned(), kind);
}

#[test]
fn the_list_names_what_expressions_are_given_with_its_type() {
    let listed: BTreeMap<String, Kind> =
        FACTS.iter().filter(|(path, ..)| path.contains('.')).map(|(path, kind, _)| ((*path).to_owned(), *kind)).collect();
    assert_eq!(listed, given());
    let calls: Vec<&str> = FUNCTIONS.iter().filter_map(|(call, ..)| call.split('(').next()).collect();
    assert_eq!(calls, functions::NAMES);
}

/// With `PRESYNC_WRITE_DOCS=1` in the environment the page is written instead of compared.
#[test]
fn the_page_of_facts_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/facts.md");
    if std::env::var_os("PRESYNC_WRITE_DOCS").is_some() {
        fs::write(&path, page()).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == page(),
        "docs/facts.md is not current; run the tests with PRESYNC_WRITE_DOCS=1"
    );
}

#[test]
fn a_fact_that_there_is_not_is_told_with_the_nearest() {
    assert!(knows("change.kind") && knows("app.destination") && knows("app.labels.env") && knows("object.spec.anything"));
    assert!(!knows("change.knid") && !knows("change.kind.x") && !knows("app.destination.cluster"));
    assert_eq!((nearest("change.knid"), nearest("app.names"), nearest("change.colour")), (Some("change.kind"), Some("app.name"), None));
}

#[test]
fn types_that_do_not_fit_are_refused_before_anything_runs() {
    let env = super::super::environment();
    let checked = |source: &str| check_yields(env.compile(source).unwrap().expression(), Kind::Bool);
    for fine in [
        "change.wave > 3",
        "app.labels.env == 'prod' || object.spec.replicas > 1",
        "change.kind in ['a', 'b'] && !change.hook",
        "change.cascade.all(c, c.kind != 'Pod')",
        "has(object.spec)",
        "change.name.startsWith('a') ? true : size(app.options) == 0",
    ] {
        assert_eq!(checked(fine), Ok(()), "{fine}");
    }
    for wrong in [
        "change.wave > '3'",
        "change.kind",
        "!change.kind",
        "change.hook && change.name",
        "change.wave.startsWith('a')",
        "change.kind == 3",
        "change.name + change.wave == 'a1'",
        "change.wave.all(w, w > 1)",
    ] {
        assert!(checked(wrong).is_err(), "{wrong}");
    }
}
