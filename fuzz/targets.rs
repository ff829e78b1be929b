//! What is fuzzed: each function takes any bytes and must come back. It panics where something does not hold that must hold for every input.
//!
//! `fuzz_targets/` hands them to libFuzzer; `tests/fuzz.rs` runs them over the corpora and over random changes of them, on a stable compiler.

use std::collections::BTreeMap;
use std::sync::Arc;

use presync::argocd::cron::Schedule;
use presync::argocd::filter::ResourceFilter;
use presync::argocd::{
    AppId, Application, ApplicationSet, GeneratePaths, Settings, TrackingId, Version, hook, options, schema, shape, wave,
};
use presync::config::Config;
use presync::finding::{Operation, Step};
use presync::fix::Edited;
use presync::inventory::applicationset::{Clusters, Expansion, GitFiles, Surroundings, expand};
use presync::manifest::reader::{Limits, decode, read_json, read_stream};
use presync::manifest::{Origin, Pointer, ResourceKey, Side, non_string, span};
use presync::plan::diff::IgnoreRules;
use presync::rules::RuleSet;
use presync::snapshot::{Input, load_inputs};
use serde_json::{Value, json};

/// A target's name and function.
pub(crate) type Target = (&'static str, fn(&[u8]));

/// All targets.
pub(crate) const TARGETS: [Target; 11] = [
    ("yaml", yaml),
    ("json", json_text),
    ("spans", spans),
    ("edits", edits),
    ("annotations", annotations),
    ("fasttemplate", fasttemplate),
    ("gotemplate", gotemplate),
    ("expressions", expressions),
    ("globs", globs),
    ("snapshots", snapshots),
    ("rules", rules),
];

/// What is read is JSON, and is read again as the same.
pub(crate) fn yaml(data: &[u8]) {
    let text = decode(data).text;
    for document in read_stream(&text, &Limits::default()).documents {
        assert!(document.range.end <= text.len());
        let again = read_json(&document.value.to_string());
        // Numbers out of the range of a float have no text of their own.
        if let Ok(again) = again {
            assert_eq!(again.is_object(), document.value.is_object());
        }
        let _ = (ResourceKey::of(&document.value), non_string(&document.value), shape::spec_problem(&document.value));
        let _ = schema::unknown_fields(&document.value);
    }
}

/// A text of one JSON value.
pub(crate) fn json_text(data: &[u8]) {
    let text = decode(data).text;
    if let Ok(value) = read_json(&text) {
        assert_eq!(read_json(&value.to_string()).ok().map(|again| again.is_array()), Some(value.is_array()));
    }
}

/// Every value of a document has a place in its text, or none; and a place lies in the text.
pub(crate) fn spans(data: &[u8]) {
    let text = decode(data).text;
    for document in read_stream(&text, &Limits::default()).documents {
        for pointer in pointers(&document.value) {
            let Ok(pointer) = Pointer::parse(&pointer) else { panic!("{pointer} is no pointer") };
            for place in
                [span::locate(&text, document.range.clone(), &pointer), span::locate_nearest(&text, document.range.clone(), &pointer)]
            {
                let Some(place) = place else { continue };
                assert!(text.get(place.value.clone()).is_some(), "{:?} of {pointer:?}", place.value);
                let (line, column) = span::line_column(&text, place.value.start);
                assert!(line >= 1 && column >= 1);
            }
        }
    }
}

/// The first byte says which edit, the rest is the file. An edit changes what it says, and nothing else; [`Edited`] sees to that itself, so
/// that what is left to see is that it comes back, and that what it gives is a file of as many documents.
pub(crate) fn edits(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else { return };
    let text = decode(data).text.into_owned();
    let before = read_stream(&text, &Limits::default());
    let Some(document) = before.documents.get(usize::from(choice >> 4) % before.documents.len().max(1)) else { return };
    let operation = match choice & 3 {
        0 => Operation::Set("Prune=false".to_owned()),
        1 => Operation::Remove,
        2 => Operation::Add(json!({"group": "apps", "jsonPointers": ["/spec/replicas"]})),
        _ => Operation::Quote,
    };
    let all = pointers(&document.value);
    let known = all.get(usize::from(*choice) % all.len().max(1)).cloned().unwrap_or_default();
    let pointer = if choice & 4 == 0 { known } else { "/metadata/annotations/argocd.argoproj.io~1sync-options".to_owned() };
    let origin = Origin {
        path: "a.yaml".into(),
        side: Side::Head,
        document: document.range.clone(),
        line: document.line,
        within: String::new(),
        rendered: None,
    };
    let Ok(mut edited) = Edited::new("a.yaml", text) else { return };
    if edited.apply([&Step { origin, pointer, operation, judged: None }]).is_ok() {
        let after = read_stream(edited.text(), &Limits::default());
        assert!(after.error.is_none());
        assert_eq!(after.documents.len(), before.documents.len());
    }
}

/// The text as annotations and settings of an object.
pub(crate) fn annotations(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "annotations": {
        "argocd.argoproj.io/sync-options": text, "argocd.argoproj.io/sync-wave": text, "argocd.argoproj.io/hook": text,
        "argocd.argoproj.io/tracking-id": text, "argocd.argoproj.io/compare-options": text, "helm.sh/hook": text,
        "argocd.argoproj.io/hook-delete-policy": text, "argocd.argoproj.io/manifest-generate-paths": text,
    }}});
    let _ = (options::object_has(&object, "Prune=false"), options::object_value(&object, "Prune"), wave::wave(&object));
    let _ = (hook::is_hook(&object), hook::is_skipped(&object), Settings::default().tracking.instance_of(&object));
    if let Some(id) = TrackingId::parse(&text) {
        assert_eq!(TrackingId::parse(&id.to_string()), Some(id));
    }
    let _ = (Version::parse(&text), Schedule::parse(&text), AppId::of_instance(&text, "argocd"));
}

/// The text in the template of an ApplicationSet.
pub(crate) fn fasttemplate(data: &[u8]) {
    template(data, false);
}

/// The text in a Go template of an ApplicationSet.
pub(crate) fn gotemplate(data: &[u8]) {
    template(data, true);
}

fn template(data: &[u8], go: bool) {
    let text = String::from_utf8_lossy(data);
    let set = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "a", "namespace": "argocd"},
        "spec": {
            "goTemplate": go,
            "generators": [{"list": {"elements": [{"name": "one", "number": 1.5, "list": ["a", {"b": null}], "map": {"c": "d"}}]}}],
            "templatePatch": if go { text.as_ref() } else { "" },
            "template": {
                "metadata": {"name": "a", "labels": {"text": text}},
                "spec": {
                    "project": "default", "destination": {"name": text},
                    "source": {"repoURL": "https://git.example.test/fleet.git", "path": text},
                },
            },
        },
    });
    let Ok(set) = ApplicationSet::read(Arc::new(set), "argocd") else { return };
    let files = |_: &str, _: &str| -> Result<Arc<GitFiles>, String> { Err("none".to_owned()) };
    let clusters = Clusters::without_snapshot(&[]);
    let surroundings = Surroundings { files: &files, clusters: &clusters, live: None, control_namespace: "argocd", doublestar: false };
    if let Expansion::Applications(applications) = expand(&set, &surroundings) {
        assert_eq!(applications.len(), 1);
    }
}

/// A JSON pointer in the first line, a jq expression in the rest.
pub(crate) fn expressions(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (pointer, expression) = text.split_once('\n').unwrap_or(("", &text));
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "labels": {"a/b": "c"}},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "a", "image": "b"}, {"name": "c"}]}}}});
    if let Ok(parsed) = Pointer::parse(pointer) {
        assert_eq!(parsed.to_string(), pointer);
        let _ = parsed.get(&object);
    }
    let application = json!({"spec": {"ignoreDifferences": [
        {"group": "*", "kind": "*", "jsonPointers": [pointer], "jqPathExpressions": [expression]},
    ]}});
    let Ok(rules) = IgnoreRules::compile(Some(&application), &BTreeMap::new()) else { return };
    let mut live = object.clone();
    live["spec"]["replicas"] = json!(5);
    let _ = (rules.patched_without(&object, &live), rules.concerns(&object));
}

/// A pattern in the first line, a path in the rest.
pub(crate) fn globs(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (pattern, path) = text.split_once('\n').unwrap_or((&text, "apps/web/values.yaml"));
    let object = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
        "metadata": {"name": "a", "annotations": {"argocd.argoproj.io/manifest-generate-paths": pattern}},
        "spec": {"destination": {"name": "a"}, "source": {"repoURL": "r", "path": "apps/web", "directory": {"include": pattern, "exclude": path}}},
    });
    if let Ok(application) = Application::read(Arc::new(object), "argocd") {
        let _ = GeneratePaths::of(&application, ["apps/web"]).map(|paths| paths.covers(path));
    }
    let _ = ResourceFilter::new(Version::ASSUMED, Some(pattern), Some(path)).excludes("apps", "Deployment", path);
}

/// A snapshot file, or what kubectl printed.
pub(crate) fn snapshots(data: &[u8]) {
    if let Ok(live) = load_inputs(vec![Input::Bytes { name: "live".to_owned(), bytes: data.to_vec() }]) {
        for object in live.all() {
            let _ = object.object();
        }
    }
}

/// A rule file of a platform team, or a configuration.
pub(crate) fn rules(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let _ = Config::parse(".presync.yaml", &text);
    if let Ok(mut rules) = RuleSet::builtin() {
        let _ = rules.add([("policies/a.yaml", &*text)]);
    }
}

/// The pointers to every value, at most some hundred.
fn pointers(value: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut pending = vec![(String::new(), value)];
    while let Some((pointer, value)) = pending.pop() {
        if found.len() > 200 {
            break;
        }
        let below: Vec<(String, &Value)> = match value {
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (format!("{pointer}/{}", presync::manifest::pointer::escape(name)), value)).collect()
            }
            Value::Array(items) => items.iter().enumerate().map(|(index, value)| (format!("{pointer}/{index}"), value)).collect(),
            _ => Vec::new(),
        };
        found.extend(below.iter().map(|(pointer, _)| pointer.clone()));
        pending.extend(below);
    }
    found
}
