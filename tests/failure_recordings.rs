//! Holds foreseen failures to recordings of a real API server and Argo CD's engine: every object of every recorded
//! case that the engine applied has to get the outcome that was seen.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a broken recording is to stop the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use presync::plan::failure::{Apply, ApplyStrategy, Context, FailureKind, Outcome, foresee_apply, foresee_create};
use serde_json::{Value, json};

const OPTIONS: &str = "argocd.argoproj.io/sync-options";

/// (action or call result, object) pairs that are not about the object itself but about its namespace or kind.
const NOT_ABOUT_THE_OBJECT: &[&str] = &["not found", "no matches for kind"];

fn documents(path: &Path) -> Vec<Value> {
    use serde::Deserialize as _;
    let text = fs::read_to_string(path).unwrap();
    let parsed = serde_yaml::Deserializer::from_str(&text).map(|document| Value::deserialize(document).unwrap());
    parsed
        .flat_map(|value| match value.get("items") {
            Some(Value::Array(items)) => items.clone(),
            _ => vec![value],
        })
        .filter(Value::is_object)
        .collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// `[group/]Kind [namespace/]name`, as the recordings write it.
fn label(object: &Value, namespace: &str) -> String {
    let group = text(object, "/apiVersion").split_once('/').map_or("", |(group, _)| group);
    let kind = text(object, "/kind");
    let kind = if group.is_empty() { kind.to_owned() } else { format!("{group}/{kind}") };
    let name = text(object, "/metadata/name");
    if namespace.is_empty() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") }
}

fn has_option(object: &Value, option: &str) -> bool {
    let annotation = object.pointer("/metadata/annotations").and_then(|all| all.get(OPTIONS)).and_then(Value::as_str).unwrap_or_default();
    annotation.split(',').any(|entry| entry.trim() == option)
}

fn resolve(application: &Value, target: &Value, live: Option<&Value>) -> Apply {
    let options = application.pointer("/spec/syncPolicy/syncOptions").and_then(Value::as_array).cloned().unwrap_or_default();
    let on_application = |option: &str| options.iter().any(|entry| entry == option);
    let on_either = |option: &str| has_option(target, option) || live.is_some_and(|live| has_option(live, option));
    let server_side = (on_application("ServerSideApply=true") && !has_option(target, "ServerSideApply=false"))
        || has_option(target, "ServerSideApply=true");
    let strategy = if on_application("Replace=true") || on_either("Replace=true") {
        ApplyStrategy::Replace
    } else if server_side {
        ApplyStrategy::ServerSide
    } else {
        ApplyStrategy::ClientSide
    };
    Apply { strategy, force: on_either("Force=true") }
}

/// What the engine did to an object: the action of the plan, else `none`.
fn recorded(expected: &Value, object: &str, application: &str) -> String {
    let lines = expected["plan"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for line in lines {
        let (action, rest) = line.split_once(' ').unwrap();
        if rest.trim_end_matches(" (unreached)") == format!("{object} @ argocd/{application}") {
            return action.to_owned();
        }
    }
    "none".to_owned()
}

/// Words of which one stands in the error that the API server gives for a kind of failure.
fn words_of(kind: &FailureKind) -> &'static [&'static str] {
    match kind {
        FailureKind::Immutable { .. } => &["immutable", "cannot change", "may not change", "are forbidden"],
        FailureKind::ClaimShrinks => &["can not be less than status.capacity"],
        FailureKind::ClaimCannotGrow => &["storageclass that provisions the pvc must support resize"],
        FailureKind::ReplaceLosesVolumeName => &["\"VolumeName\": \"pvc-"],
        FailureKind::ReplaceLosesFields { .. } => &["spec.selector: Required value"],
        FailureKind::TypeError { .. } => &["unrecognized type"],
        FailureKind::InvalidValue { .. } => &["Invalid value"],
        FailureKind::SelectorMismatch => &["`selector` does not match template `labels`"],
        FailureKind::ForceDeletes { .. } => &["context deadline exceeded"],
        other => panic!("no recording has {other:?}"),
    }
}

/// The error that the cluster gave for an object.
fn error_of<'a>(expected: &'a Value, object: &str) -> Option<&'a str> {
    let calls = expected["engine"]["calls"].as_array()?;
    calls.iter().filter(|call| text(call, "/resource") == object).find_map(|call| call.get("error")?.as_str())
}

struct Tally {
    seen: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

impl Tally {
    fn judge(&mut self, case: &str, object: &str, action: &str, outcome: &Outcome) {
        let agrees = match action {
            "update" | "adopt" => matches!(outcome, Outcome::Update),
            "replace" => matches!(outcome, Outcome::Replace),
            "recreate" => matches!(outcome, Outcome::Recreate),
            "fail" => matches!(outcome, Outcome::Fail(_)),
            "none" => !matches!(outcome, Outcome::Fail(_)),
            _ => return,
        };
        *self.seen.entry(action.to_owned()).or_default() += 1;
        if !agrees {
            self.wrong.push(format!("{case}: {object}: {action} was seen, foreseen {outcome:?}"));
        }
    }

    fn judge_case(&mut self, folder: &Path) {
        let case = folder.file_name().unwrap().to_str().unwrap();
        let expected: Value = serde_yaml::from_str(&fs::read_to_string(folder.join("expected.yaml")).unwrap()).unwrap();
        let live: Vec<Value> = documents(&folder.join("live/objects.yaml"));
        let by_label: BTreeMap<String, &Value> =
            live.iter().map(|object| (label(object, text(object, "/metadata/namespace")), object)).collect();
        let context = Context::from_objects(&live);
        let elsewhere: BTreeSet<&str> = expected["engine"]["calls"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|call| NOT_ABOUT_THE_OBJECT.iter().any(|part| text(call, "/error").contains(part)))
            .map(|call| text(call, "/resource"))
            .collect();
        let head = folder.join("head");
        let applications: Vec<Value> =
            files(&head).iter().flat_map(|path| documents(path)).filter(|object| object["kind"] == "Application").collect();
        for application in &applications {
            let name = text(application, "/metadata/name");
            let namespace = text(application, "/spec/destination/namespace");
            for mut target in files(&head.join(text(application, "/spec/source/path"))).iter().flat_map(|path| documents(path)) {
                let own = text(&target, "/metadata/namespace").to_owned();
                let namespaced = if own.is_empty() { namespace } else { &own };
                let (object, found) = match (by_label.get(&label(&target, namespaced)), by_label.get(&label(&target, ""))) {
                    (Some(found), _) => (label(&target, namespaced), Some(*found)),
                    (None, Some(found)) => (label(&target, ""), Some(*found)),
                    (None, None) => (label(&target, namespaced), None),
                };
                if elsewhere.contains(object.as_str()) || expected["sync"][format!("argocd/{name}")] == "refused" {
                    continue;
                }
                let apply = resolve(application, &target, found);
                if target.pointer("/metadata/annotations").is_none_or(Value::is_null) {
                    target["metadata"]["annotations"] = json!({});
                }
                target["metadata"]["annotations"]["argocd.argoproj.io/tracking-id"] = json!(format!("{name}:{object}"));
                let action = recorded(&expected, &object, name);
                let is_hook = target.pointer("/metadata/annotations").is_some_and(|all| all.get("argocd.argoproj.io/hook").is_some());
                if is_hook && action == "none" {
                    // No sync ran, or the live hook is deleted first: nothing is applied over it.
                    continue;
                }
                match found {
                    Some(live) => {
                        let outcome = foresee_apply(&target, live, apply, &context);
                        self.judge(case, &object, &action, &outcome);
                        if let (Outcome::Fail(failure), Some(error)) = (&outcome, error_of(&expected, &object)) {
                            let named = words_of(&failure.kind).iter().any(|words| error.contains(words));
                            assert!(named, "{case}: {object}: foreseen {:?}, refused with {error}", failure.kind);
                        }
                    }
                    None if action == "create" => {
                        *self.seen.entry(action).or_default() += 1;
                        if let Some(failure) = foresee_create(&target, apply, &context) {
                            self.wrong.push(format!("{case}: {object}: created, foreseen {failure:?}"));
                        }
                    }
                    None => {}
                }
            }
        }
    }
}

fn cases() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/engine");
    let mut cases: Vec<PathBuf> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    cases.sort();
    cases
}

#[test]
fn outcomes_agree_with_all_recordings() {
    let mut tally = Tally { seen: BTreeMap::new(), wrong: Vec::new() };
    for case in &cases() {
        tally.judge_case(case);
    }
    assert!(tally.wrong.is_empty(), "{} of {:?}:\n{}", tally.wrong.len(), tally.seen, tally.wrong.join("\n"));
    let seen = |action: &str| tally.seen.get(action).copied().unwrap_or_default();
    // Guards the harness itself: that it finds the objects it is to judge.
    assert!(
        seen("fail") >= 30 && seen("recreate") >= 10 && seen("replace") >= 4 && seen("update") >= 150 && seen("none") >= 80,
        "{:?}",
        tally.seen
    );
}

#[test]
fn what_was_applied_last_can_be_applied_again() {
    let mut seen = 0;
    for case in cases() {
        let live = documents(&case.join("live/objects.yaml"));
        let context = Context::from_objects(&live);
        for object in &live {
            let last = object.pointer("/metadata/annotations").and_then(|all| all.get("kubectl.kubernetes.io/last-applied-configuration"));
            let Some(last) = last.and_then(Value::as_str) else { continue };
            let target: Value = serde_json::from_str(last).unwrap();
            if target["kind"] != object["kind"] {
                // A ReplicaSet or ControllerRevision carries its owner's annotations.
                continue;
            }
            let replaced = ApplyStrategy::Replace;
            let rewritable = !matches!(text(object, "/kind"), "Job" | "PersistentVolumeClaim" | "Pod");
            for strategy in [ApplyStrategy::ClientSide, ApplyStrategy::ServerSide, replaced] {
                if strategy == replaced && !rewritable {
                    continue;
                }
                let outcome = foresee_apply(&target, object, Apply { strategy, force: false }, &context);
                assert!(matches!(outcome, Outcome::Update | Outcome::Replace), "{case:?}: {}: {outcome:?}", label(object, ""));
                seen += 1;
            }
        }
    }
    assert!(seen > 900, "{seen}");
}
