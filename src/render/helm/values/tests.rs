use serde_json::json;

use super::*;
use crate::render::Job;
use crate::render::fixture::{Setup, source, tree};

const FILES: [(&str, &str); 7] = [
    (
        "web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: db, alias: store, version: 1.0.0, condition: store.enabled, tags: [data]}\n",
    ),
    ("web/values.yaml", "replicas: 1\nkeep: 1\nstore: {enabled: true, size: 1Gi}\nglobal: {zone: a}\nlist: [1, 2]\n"),
    ("web/prod.yaml", "replicas: 2\nlist: [3]\n"),
    ("web/templates/web.yaml", "kind: A\nspec:\n  replicas: {{ .Values.replicas }}\n"),
    ("web/charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n"),
    ("web/charts/db/values.yaml", "size: 9Gi\nclass: slow\nglobal: {only: 1}\n"),
    (
        "web/charts/db/templates/claim.yaml",
        "kind: B\nspec:\n  class: {{ .Values.class }}\n  size: {{ .Values.size }}\n  zone: {{ .Values.global.zone }}\n  only: {{ .Values.global.only }}\n",
    ),
];

fn values(helm: Value, more: &[(&str, &str)]) -> Values {
    let files: Vec<(&str, &str)> = FILES.iter().chain(more).copied().collect();
    let tree = tree(&files, &[]);
    let setup = Setup::new("web");
    let source = source(json!({"repoURL": "https://git.example.test/a.git", "path": "web", "helm": helm}));
    let request = setup.request(&tree, &source);
    Job::new(request).unwrap_or_else(|stop| panic!("{stop:?}")).values().unwrap()
}

fn path(name: &str) -> ValuePath {
    name.split('.').map(str::to_owned).collect()
}

fn shown(place: Option<SetAt>) -> String {
    match place {
        Some(SetAt::File(origin, pointer)) => format!("{} {pointer}", origin.path),
        Some(SetAt::Source(pointer)) => format!("source {pointer}"),
        Some(SetAt::Text(pointer)) => format!("text {pointer}"),
        Some(SetAt::Elsewhere) => "elsewhere".to_owned(),
        None => "nowhere".to_owned(),
    }
}

#[test]
fn the_last_layer_that_says_something_decides() {
    let values = values(
        json!({"valueFiles": ["prod.yaml"], "valuesObject": {"store": {"enabled": false}}, "parameters": [{"name": "keep", "value": "2"}]}),
        &[],
    );
    let scope = values.scope("web/templates/web.yaml", "web").unwrap();
    let at = |name: &str| shown(values.set_at(&scope, &path(name)));
    assert_eq!(at("replicas"), "web/prod.yaml /replicas");
    assert_eq!(at("store.enabled"), "source /helm/valuesObject/store/enabled");
    assert_eq!(at("store.size"), "web/values.yaml /store/size");
    assert_eq!(at("keep"), "source /helm/parameters/0/value");
    assert_eq!(at("none"), "nowhere");
    assert_eq!(at("list.1"), "web/prod.yaml /list", "a list takes the place of the whole list");
    assert_eq!(values.value(&scope, &path("store")), Some(json!({"enabled": false, "size": "1Gi"})));
    assert_eq!(values.value(&scope, &path("keep")), Some(json!(2)));
}

#[test]
fn a_chart_below_has_its_values_under_its_name_and_is_switched_by_its_parents() {
    let values = values(json!({"values": "store:\n  class: fast\n"}), &[]);
    let file = "web/charts/db/templates/claim.yaml";
    let scope = values.scope(file, "web-store").unwrap();
    let origin =
        Origin { path: file.into(), side: Side::Head, document: 0..FILES[6].1.len(), line: 1, within: String::new(), rendered: None };
    let own = |pointer: &str| values.deciding(&origin, &scope, pointer).unwrap().own.unwrap();
    assert_eq!(shown(values.set_at(&scope, &own("/spec/class"))), "text /store/class");
    assert_eq!(shown(values.set_at(&scope, &own("/spec/size"))), "web/values.yaml /store/size");
    assert_eq!(shown(values.set_at(&scope, &own("/spec/zone"))), "web/values.yaml /global/zone");
    assert_eq!(shown(values.set_at(&scope, &own("/spec/only"))), "web/charts/db/values.yaml /global/only");
    let all = values.deciding(&origin, &scope, "").unwrap().all;
    assert_eq!(all.iter().map(|path| path.join(".")).collect::<Vec<_>>(), ["store.enabled", "tags.data"]);
}

#[test]
fn an_override_file_decides_where_it_sets_the_value() {
    let over = [("web/.argocd-source.yaml", "helm:\n  parameters:\n  - {name: replicas, value: \"7\"}\n")];
    let values = values(json!({"valuesObject": {"keep": 5}}), &over);
    let scope = values.scope("web/templates/web.yaml", "web").unwrap();
    assert_eq!(shown(values.set_at(&scope, &path("replicas"))), "web/.argocd-source.yaml /helm/parameters/0/value");
    assert_eq!(shown(values.set_at(&scope, &path("keep"))), "source /helm/valuesObject/keep");
}
