use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::finding::{Judged, Operation};
use crate::manifest::{Origin, RenderedFrom, Renderer, Side};

const OPTIONS: &str = "/metadata/annotations/argocd.argoproj.io~1sync-options";

fn step(text: &str, document: usize, pointer: &str, operation: Operation) -> Step {
    let found = read_stream(text, &Limits::default()).documents.into_iter().nth(document).unwrap();
    let origin =
        Origin { path: "a.yaml".into(), side: Side::Head, document: found.range, line: found.line, within: String::new(), rendered: None };
    Step { origin, pointer: pointer.to_owned(), operation, judged: None }
}

/// The text after one edit of its first document.
fn edited(text: &str, pointer: &str, operation: Operation) -> Result<String, Refusal> {
    let mut edited = Edited::new("a.yaml", text.to_owned())?;
    edited.apply([&step(text, 0, pointer, operation)])?;
    Ok(edited.text)
}

fn set(text: &str) -> Operation {
    Operation::Set(text.to_owned())
}

#[test]
fn a_value_is_replaced_and_everything_else_stays() {
    let text =
        "# top\nkind: A\nmetadata:\n    annotations:\n        argocd.argoproj.io/sync-options: 'Prune=False' # why\n        other: x\n";
    assert_eq!(edited(text, OPTIONS, set("Prune=false,Delete=false")).unwrap(), text.replace("'Prune=False'", "Prune=false,Delete=false"));
    let flow = "{kind: A, metadata: {annotations: {argocd.argoproj.io/sync-options: Validate=false}}}\n";
    assert_eq!(edited(flow, OPTIONS, set("a,b")).unwrap(), flow.replace("Validate=false", "\"a,b\""));
}

#[test]
fn a_field_that_is_missing_is_put_in_with_what_leads_to_it() {
    let text = "kind: A\nmetadata:\n  # the name\n  name: x # yes\nspec: {}\n";
    let wanted =
        "kind: A\nmetadata:\n  # the name\n  annotations:\n    argocd.argoproj.io/sync-options: Prune=false\n  name: x # yes\nspec: {}\n";
    assert_eq!(edited(text, OPTIONS, set("Prune=false")).unwrap(), wanted);
    let with = "kind: A\nmetadata:\n  name: x\n  annotations:\n    b: c\n";
    assert_eq!(
        edited(with, OPTIONS, set("Prune=false")).unwrap(),
        "kind: A\nmetadata:\n  name: x\n  annotations:\n    argocd.argoproj.io/sync-options: Prune=false\n    b: c\n"
    );
    let empty = "kind: A\nmetadata:\n  annotations:\n  name: x\n";
    assert_eq!(
        edited(empty, OPTIONS, set("Prune=false")).unwrap(),
        "kind: A\nmetadata:\n  annotations:\n    argocd.argoproj.io/sync-options: Prune=false\n  name: x\n"
    );
    let flow = "kind: A\nmetadata: {name: x}\n";
    assert_eq!(
        edited(flow, OPTIONS, set("Prune=false")).unwrap(),
        "kind: A\nmetadata: {\"annotations\": {\"argocd.argoproj.io/sync-options\": \"Prune=false\"}, name: x}\n"
    );
    let json = "{\n  \"kind\": \"A\",\n  \"metadata\": {}\n}\n";
    let after = edited(json, OPTIONS, set("Prune=false")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&after).unwrap().pointer(OPTIONS).unwrap(), "Prune=false");
}

#[test]
fn a_field_is_taken_out_with_its_line() {
    let text = "kind: A\nspec:\n  # how many\n  replicas: 3 # fixed\n  template: {}\n";
    assert_eq!(edited(text, "/spec/replicas", Operation::Remove).unwrap(), "kind: A\nspec:\n  # how many\n  template: {}\n");
    assert_eq!(edited("kind: A\nspec: {replicas: 3, x: 1}\n", "/spec/replicas", Operation::Remove).unwrap(), "kind: A\nspec: {x: 1}\n");
    assert_eq!(edited("kind: A\nspec: {x: 1, replicas: 3}\n", "/spec/replicas", Operation::Remove).unwrap(), "kind: A\nspec: {x: 1}\n");
    assert_eq!(edited("kind: A\nspec:\n  replicas: 3", "/spec/replicas", Operation::Remove).unwrap(), "kind: A\n");
}

#[test]
fn a_list_gets_an_item_that_it_does_not_have() {
    let option = || Operation::Add(json!("RespectIgnoreDifferences=true"));
    let pointer = "/spec/syncPolicy/syncOptions";
    let text = "kind: A\nspec:\n  syncPolicy:\n    syncOptions:\n      # first\n      - CreateNamespace=true\n    automated: {}\n";
    assert_eq!(
        edited(text, pointer, option()).unwrap(),
        text.replace("      - Create", "      - RespectIgnoreDifferences=true\n      - Create")
    );
    let beside = "kind: A\nspec:\n  syncPolicy:\n    syncOptions:\n    - CreateNamespace=true\n";
    assert_eq!(edited(beside, pointer, option()).unwrap(), beside.replace("    - C", "    - RespectIgnoreDifferences=true\n    - C"));
    assert_eq!(
        edited("kind: A\nspec: {syncPolicy: {syncOptions: []}}\n", pointer, option()).unwrap(),
        "kind: A\nspec: {syncPolicy: {syncOptions: [\"RespectIgnoreDifferences=true\"]}}\n"
    );
    let none = "kind: A\nspec:\n  project: default\n";
    assert_eq!(
        edited(none, pointer, option()).unwrap(),
        "kind: A\nspec:\n  syncPolicy:\n    syncOptions:\n      - RespectIgnoreDifferences=true\n  project: default\n"
    );
    let there = "kind: A\nspec: {syncPolicy: {syncOptions: [RespectIgnoreDifferences=true]}}\n";
    assert_eq!(edited(there, pointer, option()).unwrap(), there);
    let finalizer = Operation::Add(json!("resources-finalizer.argocd.argoproj.io"));
    assert_eq!(
        edited("kind: A\nmetadata:\n  name: x\n", "/metadata/finalizers", finalizer).unwrap(),
        "kind: A\nmetadata:\n  finalizers:\n    - resources-finalizer.argocd.argoproj.io\n  name: x\n"
    );
}

#[test]
fn an_item_that_is_a_map_gets_lines_of_its_own() {
    let entry = Operation::Add(json!({"group": "apps", "jsonPointers": ["/spec/replicas"], "kind": "Deployment"}));
    assert_eq!(
        edited("kind: A\nspec:\n  project: x\n", "/spec/ignoreDifferences", entry).unwrap(),
        "kind: A\nspec:\n  ignoreDifferences:\n    - group: apps\n      jsonPointers:\n        - /spec/replicas\n      kind: Deployment\n  project: x\n"
    );
}

#[test]
fn what_is_no_text_is_quoted_as_it_is_written() {
    let text = "kind: A\nmetadata:\n  labels:\n    a: yes\n    b: 0644 # octal\n";
    assert_eq!(edited(text, "/metadata/labels/a", Operation::Quote).unwrap(), text.replace(": yes", ": \"yes\""));
    assert_eq!(edited(text, "/metadata/labels/b", Operation::Quote).unwrap(), text.replace("0644", "\"0644\""));
}

#[test]
fn a_field_moves_in_two_steps_and_an_empty_map_goes() {
    let text = "kind: A\nmetadata:\n  name: x\nspec:\n  template:\n    metadata:\n      annotations:\n        argocd.argoproj.io/sync-options: Prune=false\n      labels: {a: b}\n---\nkind: B\n";
    let steps = [step(text, 0, &format!("/spec/template{OPTIONS}"), Operation::Remove), step(text, 0, OPTIONS, set("Prune=false"))];
    let mut edited = Edited::new("a.yaml", text.to_owned()).unwrap();
    edited.apply(&steps).unwrap();
    assert_eq!(
        edited.text(),
        "kind: A\nmetadata:\n  annotations:\n    argocd.argoproj.io/sync-options: Prune=false\n  name: x\nspec:\n  template:\n    metadata:\n      labels: {a: b}\n---\nkind: B\n"
    );
}

#[test]
fn places_are_found_again_after_other_edits_of_the_file() {
    let text = "kind: A\nmetadata: {name: a}\n---\nkind: B\nmetadata:\n  name: b\n---\nkind: C\nmetadata:\n  name: c\n";
    let mut edited = Edited::new("a.yaml", text.to_owned()).unwrap();
    for document in [1, 0, 2, 1] {
        edited.apply([&step(text, document, &format!("/metadata/annotations/step{document}"), set("x"))]).unwrap();
    }
    let values: Vec<Value> = read_stream(edited.text(), &Limits::default()).documents.into_iter().map(|one| one.value).collect();
    for (index, value) in values.iter().enumerate() {
        assert_eq!(value["metadata"]["annotations"], json!({format!("step{index}"): "x"}));
    }
}

#[test]
fn what_would_change_something_else_is_refused_and_changes_nothing() {
    for (text, pointer, operation) in [
        ("kind: A\nmetadata: &m {name: x}\nother: *m\n", "/metadata/annotations/a", set("b")),
        ("kind: A\nmetadata:\n  <<: {annotations: {a: b}}\n", "/metadata/annotations/a", set("c")),
        ("kind: A\nmetadata:\n  annotations:\n    a: |\n      one\n      two\n", "/metadata/annotations/a", set("c")),
        ("kind: A\nspec: text\n", "/spec/x", set("c")),
        ("kind: A\nspec: {}\n", "/spec/replicas", Operation::Remove),
    ] {
        assert!(edited(text, pointer, operation).is_err(), "{text}");
    }
    let text = "kind: A\nspec: {}\n";
    let mut edited = Edited::new("a.yaml", text.to_owned()).unwrap();
    let steps = [step(text, 0, "/metadata/annotations/a", set("b")), step(text, 0, "/spec/replicas", Operation::Remove)];
    assert!(edited.apply(&steps).is_err());
    assert_eq!(edited.text(), text, "all steps or none");
}

#[test]
fn templates_patched_objects_and_generated_files_are_not_edited() {
    let text = "kind: A\nmetadata: {name: x}\n";
    for (renderer, others) in [(Renderer::Helm, 0), (Renderer::Jsonnet, 0), (Renderer::Plugin, 0), (Renderer::Kustomize, 1)] {
        let mut step = step(text, 0, OPTIONS, set("Prune=false"));
        step.origin.rendered = Some(Arc::new(RenderedFrom { renderer, others: vec![step.origin.clone(); others] }));
        let refused = Edited::new("a.yaml", text.to_owned()).unwrap().apply([&step]).unwrap_err().to_string();
        assert!(refused.starts_with("a.yaml:1 is not edited: "), "{refused}");
    }
    assert!(Edited::new("a.yaml", format!("# Code generated by x. DO NOT EDIT.\n{text}")).is_err());
}

#[test]
fn a_document_that_says_something_else_than_what_was_judged_is_not_edited() {
    let claim =
        |name: &str, options: &str| format!("kind: PersistentVolumeClaim\nmetadata:\n  name: {name}\n  annotations: {{{options}}}\n");
    let object = |name: &str, options: Value| json!({"kind": "PersistentVolumeClaim", "metadata": {"name": name, "annotations": options}});
    let options = |text: &str| json!({"argocd.argoproj.io/sync-options": text});
    let attempt = |text: &str, object: &Value| {
        let mut step = step(text, 0, OPTIONS, set("Prune=false"));
        step.origin.rendered = Some(Arc::new(RenderedFrom { renderer: Renderer::Kustomize, others: Vec::new() }));
        step.judged = Some(Judged::of(object, OPTIONS));
        Edited::new("a.yaml", text.to_owned()).unwrap().apply([&step]).map_err(|refusal| refusal.to_string())
    };
    let written = claim("data", "argocd.argoproj.io/sync-options: Prune=False");
    assert_eq!(attempt(&written, &object("data", options("Prune=False"))), Ok(()));
    assert_eq!(attempt(&written, &object("eu-data", options("Prune=False"))), Ok(()));
    assert_eq!(attempt(&claim("data", ""), &object("data", json!({}))), Ok(()));
    let refused = Err("a.yaml:1 is not edited: a kustomization decides about it as well".to_owned());
    assert_eq!(attempt(&claim("data", "argocd.argoproj.io/sync-options: Prune=false"), &object("data", options("Prune=False"))), refused);
    assert_eq!(attempt(&claim("data", ""), &object("data", options("Prune=False"))), refused);
    assert_eq!(attempt(&written, &object("data", json!({}))), refused);
    assert_eq!(attempt(&written, &object("other", options("Prune=False"))), refused);
    assert_eq!(attempt("resources: [a.yaml]\n", &object("data", json!({}))), refused);
}

#[test]
fn two_edits_of_one_field_are_both_held_against_the_text_before() {
    let text = "kind: A\nmetadata:\n  name: x\n  annotations: {a: one}\n";
    let object = json!({"kind": "A", "metadata": {"name": "x", "annotations": {"a": "one"}}});
    let mut edited = Edited::new("a.yaml", text.to_owned()).unwrap();
    for value in ["two", "three"] {
        let mut step = step(text, 0, "/metadata/annotations/a", set(value));
        step.judged = Some(Judged::of(&object, "/metadata/annotations/a"));
        edited.apply([&step]).unwrap();
    }
    assert_eq!(edited.text(), text.replace("one", "\"three\""));
}

#[test]
fn a_map_whose_first_key_is_quoted_gets_a_field() {
    assert_eq!(
        edited("kind: A\nmetadata:\n  \"name\": x\n", OPTIONS, set("Prune=false")).unwrap(),
        "kind: A\nmetadata:\n  annotations:\n    argocd.argoproj.io/sync-options: Prune=false\n  \"name\": x\n"
    );
    assert_eq!(
        edited("kind: A\nmetadata:\n  annotations:\n    'a': b\n", OPTIONS, set("Prune=false")).unwrap(),
        "kind: A\nmetadata:\n  annotations:\n    argocd.argoproj.io/sync-options: Prune=false\n    'a': b\n"
    );
    for text in ["kind: A\nmetadata: \"name\"\n", "kind: A\nmetadata: 'name'\n", "kind: A\nmetadata: [name]\n"] {
        assert!(edited(text, OPTIONS, set("Prune=false")).is_err(), "{text}");
    }
}

#[test]
fn lines_that_are_put_in_end_as_the_lines_of_the_file_do() {
    let text = "kind: A\r\nmetadata:\r\n  name: x\r\nspec:\r\n  syncPolicy:\r\n    syncOptions:\r\n      - One=true\r\n";
    let after = edited(text, OPTIONS, set("Prune=false")).unwrap();
    assert_eq!(after, text.replace("  name", "  annotations:\r\n    argocd.argoproj.io/sync-options: Prune=false\r\n  name"));
    let after = edited(text, "/spec/syncPolicy/syncOptions", Operation::Add(json!("Two=true"))).unwrap();
    assert_eq!(after, text.replace("      - One", "      - Two=true\r\n      - One"));
    let last = "kind: A\r\nmetadata:\r\n  name: x";
    assert!(edited(last, OPTIONS, set("Prune=false")).unwrap().ends_with("Prune=false\r\n  name: x"));
}

#[test]
fn a_field_is_taken_to_another_place_with_its_comments() {
    let moved = |text: &str, from: &str, to: &str| edited(text, from, Operation::Move(to.to_owned()));
    let text = "kind: A\nspec:\n  template:\n    spec:\n      x: 1\n      # keep them\n      keep: true # always\n  policy:\n    y: 2\n";
    assert_eq!(
        moved(text, "/spec/template/spec/keep", "/spec/policy/keep").unwrap(),
        "kind: A\nspec:\n  template:\n    spec:\n      x: 1\n  policy:\n    # keep them\n    keep: true # always\n    y: 2\n"
    );
    // Upwards, with what leads to it; a map that is left empty goes.
    let text = "kind: A\nmetadata:\n  name: x\nspec:\n  template:\n    metadata:\n      annotations:\n        a: b # why\n    spec: {}\n";
    assert_eq!(
        moved(text, "/spec/template/metadata/annotations/a", "/metadata/annotations/a").unwrap(),
        "kind: A\nmetadata:\n  annotations:\n    a: b # why\n  name: x\nspec:\n  template:\n    spec: {}\n"
    );
    // Several lines keep their shape.
    let text = "kind: A\nspec:\n  wrong:\n    # on\n    list:\n    - a: 1\n      b: |\n        two\n\n        lines\n    z: 1\n  right:\n    deep:\n      y: 2\n";
    assert_eq!(
        moved(text, "/spec/wrong/list", "/spec/right/deep/list").unwrap(),
        "kind: A\nspec:\n  wrong:\n    z: 1\n  right:\n    deep:\n      # on\n      list:\n      - a: 1\n        b: |\n          two\n\n          lines\n      y: 2\n"
    );
    let windows = "kind: A\r\nspec:\r\n  keep: true # k\r\n  policy:\r\n    y: 2\r\n";
    assert_eq!(
        moved(windows, "/spec/keep", "/spec/policy/keep").unwrap(),
        "kind: A\r\nspec:\r\n  policy:\r\n    keep: true # k\r\n    y: 2\r\n"
    );
    for (text, from, to) in [
        ("kind: A\nspec: {keep: true, policy: {y: 1}}\n", "/spec/keep", "/spec/policy/keep"),
        ("kind: A\nspec:\n  keep: true\n  policy: {y: 1}\n", "/spec/keep", "/spec/policy/keep"),
        ("kind: A\nspec:\n  keep: true\n  policy:\n    keep: false\n", "/spec/keep", "/spec/policy/keep"),
        ("kind: A\nspec:\n  keep: true\n  policy: x\n", "/spec/keep", "/spec/policy/keep"),
        ("kind: A\nspec:\n  keep:\n    a: 1\n", "/spec/keep", "/spec/keep/keep"),
    ] {
        assert!(moved(text, from, to).is_err(), "{text}");
    }
}
