//! Every pair of the recorded engine results: the same answer, the same strategy, the same paths.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use presync::argocd::tracking::{Tracking, TrackingMethod};
use presync::plan::diff::{CompareOptions, DiffContext, IgnoreRules, Method, Strategy, diff};
use presync::plan::failure::{Apply, ApplyStrategy, Context, Outcome, foresee_apply};
use presync::plan::schema::{Schemas, Scope};
use serde_json::Value;

/// Pairs that are known to differ, with the reason: `case resource`.
const KNOWN: &[(&str, &str)] = &[];

type Error = Box<dyn std::error::Error>;

fn documents(path: &Path) -> Result<Vec<Value>, Error> {
    let text = fs::read_to_string(path)?;
    let documents = serde_yaml::Deserializer::from_str(&text).map(serde::Deserialize::deserialize);
    let documents = documents.collect::<Result<Vec<Value>, _>>().map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(documents.into_iter().filter(Value::is_object).collect())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn group(object: &Value) -> &str {
    text(object, "/apiVersion").split_once('/').map_or("", |(group, _)| group)
}

/// As the recordings write a resource: `[group/]Kind [namespace/]name`.
fn resource(object: &Value) -> String {
    let group = if group(object).is_empty() { String::new() } else { format!("{}/", group(object)) };
    let namespace = text(object, "/metadata/namespace");
    let namespace = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
    format!("{group}{} {namespace}{}", text(object, "/kind"), text(object, "/metadata/name"))
}

struct Case {
    name: String,
    application: Value,
    targets: BTreeMap<String, Value>,
    live: BTreeMap<String, Value>,
    schemas: Schemas,
    settings: Value,
    expected: Value,
}

fn case(folder: &Path) -> Result<Case, Error> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let settings = documents(&folder.join("live/settings.yaml"))?.remove(0);
    let expected = documents(&folder.join("expected.yaml"))?.remove(0);
    let mut live: Vec<Value> = Vec::new();
    for document in documents(&folder.join("live/objects.yaml"))? {
        match document.pointer("/items").and_then(Value::as_array) {
            Some(items) => live.extend(items.iter().cloned()),
            None => live.push(document),
        }
    }
    let crds = live.iter().filter(|object| text(object, "/kind") == "CustomResourceDefinition");
    let schemas = Schemas::with_crds(crds);
    let mut applications = Vec::new();
    for path in files(&folder.join("head/apps"))? {
        applications.extend(documents(&path)?);
    }
    let judged = expected.get("sync").and_then(Value::as_object).and_then(|sync| sync.keys().next()).cloned().unwrap_or_default();
    let judged = applications.iter().position(|own| judged == format!("argocd/{}", text(own, "/metadata/name"))).unwrap_or_default();
    let application = applications.swap_remove(judged);
    let destination = text(&application, "/spec/destination/namespace").to_owned();
    let instance = text(&application, "/metadata/name").to_owned();
    let mut targets = BTreeMap::new();
    let manifests = folder.join("head").join(text(&application, "/spec/source/path"));
    for path in if manifests.exists() { files(&manifests)? } else { Vec::new() } {
        if path.extension().is_none_or(|ending| ending != "yaml") {
            continue;
        }
        for mut object in documents(&path)? {
            let metadata = object.pointer_mut("/metadata").and_then(Value::as_object_mut).ok_or("no metadata")?;
            let own = metadata.get("namespace").and_then(Value::as_str).unwrap_or(&destination).to_owned();
            let cluster = schemas.scope(group(&object), text(&object, "/kind")) == Some(Scope::Cluster);
            track(&mut object, &instance, &own, cluster, text(&settings, "/resourceTrackingMethod"));
            targets.insert(resource(&object), object);
        }
    }
    let live = live.into_iter().map(|object| (resource(&object), object)).collect();
    Ok(Case { name, application, targets, live, schemas, settings, expected })
}

fn track(object: &mut Value, instance: &str, namespace: &str, cluster: bool, method: &str) {
    let id = format!("{instance}:{}/{}:{namespace}/{}", group(object), text(object, "/kind"), text(object, "/metadata/name"));
    let crd = text(object, "/kind") == "CustomResourceDefinition";
    let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) else { return };
    if cluster {
        metadata.remove("namespace");
    } else {
        metadata.insert("namespace".into(), namespace.into());
    }
    let mut set = |map: &str, key: &str, value: &str| {
        let map = metadata.entry(map).or_insert_with(|| Value::Object(Default::default()));
        if map.is_null() {
            *map = Value::Object(Default::default());
        }
        map[key] = value.into();
    };
    if !crd && method != "label" {
        set("annotations", "argocd.argoproj.io/tracking-id", &id);
    }
    if !crd && method != "annotation" {
        set("labels", "app.kubernetes.io/instance", instance);
    }
}

fn server_side(application: &Value, target: &Value) -> bool {
    let options = application.pointer("/spec/syncPolicy/syncOptions").and_then(Value::as_array);
    let annotation =
        target.pointer("/metadata/annotations").and_then(|map| map.get("argocd.argoproj.io/sync-options")).and_then(Value::as_str);
    options.into_iter().flatten().any(|option| option == "ServerSideApply=true")
        || annotation.unwrap_or_default().split(',').any(|option| option.trim() == "ServerSideApply=true")
}

fn compare(case: &Case) -> Result<(usize, Vec<String>), Error> {
    let mut wrong = Vec::new();
    let mut pairs = 0;
    let rules = IgnoreRules::compile(case.application.pointer("/spec/ignoreDifferences"), &BTreeMap::new())?;
    let tracking = Tracking {
        method: TrackingMethod::parse(text(&case.settings, "/resourceTrackingMethod")),
        label_key: "app.kubernetes.io/instance".to_owned(),
        installation_id: String::new(),
    };
    // A rule on a field that no object has keeps the comparison from taking its short way.
    let long = serde_json::json!([{"group": "*", "kind": "*", "jsonPointers": ["/none/0"]}]);
    let long = IgnoreRules::compile(Some(&long), &BTreeMap::new())?;
    let options = CompareOptions::default();
    let failures = Context::from_objects(case.live.values());
    for recorded in case.expected.pointer("/engine/diff").and_then(Value::as_array).into_iter().flatten() {
        if recorded["target"] != true || recorded["live"] != true {
            continue;
        }
        let name = text(recorded, "/resource");
        // The recordings keep no live CRDs.
        if name.contains("/CustomResourceDefinition ") && !case.live.contains_key(name) {
            continue;
        }
        pairs += 1;
        let at = format!("{} {name}", case.name);
        let (Some(target), Some(live)) = (case.targets.get(name), case.live.get(name)) else {
            wrong.push(format!("{at}: target {:?}, live {:?}", case.targets.contains_key(name), case.live.contains_key(name)));
            continue;
        };
        let ctx = DiffContext {
            method: if server_side(&case.application, target) { Method::StructuredMerge } else { Method::ThreeWay },
            ignore: &rules,
            tracking: &tracking,
            shows_foreign_tracking_id: true,
            schemas: &case.schemas,
            ignore_aggregated_roles: options.ignore_aggregated_roles,
            ignore_status: options.ignore_status,
            secret_values_unknown: false,
        };
        let found = diff(target, live, &ctx);
        if found != diff(target, live, &DiffContext { ignore: &long, ..ctx }) {
            wrong.push(format!("{at}: the short way differs from the long way"));
        }
        let server_side = DiffContext { method: Method::ServerSide, ..ctx };
        wrong.extend(server_side_problem(recorded, target, live, &server_side, &failures).map(|problem| format!("{at}: {problem}")));
        let paths: Vec<_> = found.fields.iter().map(|field| field.path.clone()).collect();
        let wanted: Vec<_> = recorded["paths"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let strategy = if found.strategy == Strategy::StructuredMerge { "structured-merge" } else { "three-way" };
        let same =
            recorded["modified"] == found.modified && text(recorded, "/strategy") == strategy && wanted == paths && found.error.is_none();
        let known = KNOWN.iter().any(|(pair, _)| *pair == at);
        if same == known {
            wrong.push(format!(
                "{at}: recorded {} {wanted:?}, found {strategy} {} {paths:?} {:?}",
                recorded["modified"], found.modified, found.error
            ));
        }
    }
    Ok((pairs, wrong))
}

/// Where server-side diff, as it is approximated, says something else than the API server did: modified, not modified, or refused.
fn server_side_problem(recorded: &Value, target: &Value, live: &Value, ctx: &DiffContext<'_>, failures: &Context<'_>) -> Option<String> {
    let found = diff(target, live, ctx);
    let apply = Apply { strategy: ApplyStrategy::ServerSide, force: false };
    let refused = match foresee_apply(target, live, apply, failures) {
        Outcome::Fail(failure) => Some(failure.message),
        _ => found.error.as_ref().map(ToString::to_string),
    };
    let recorded_error = recorded.get("serverSideDiffError").and_then(Value::as_str);
    if refused.is_some() != recorded_error.is_some() {
        return Some(format!("server-side diff: recorded error {recorded_error:?}, foreseen {refused:?}"));
    }
    let wanted = recorded.get("serverSideDiffModified").and_then(Value::as_bool).unwrap_or(found.modified);
    (refused.is_none() && found.modified != wanted).then(|| format!("server-side diff: recorded {wanted}, found {:?}", found.fields))
}

#[test]
fn every_recorded_pair_is_compared_as_the_engine_compared_it() -> Result<(), Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/engine");
    let mut folders: Vec<_> = fs::read_dir(root)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    folders.retain(|path| path.is_dir());
    folders.sort();
    let (mut pairs, mut wrong) = (0, Vec::new());
    for folder in &folders {
        let (count, failures) = compare(&case(folder)?)?;
        pairs += count;
        wrong.extend(failures);
    }
    assert!(pairs > 350, "only {pairs} pairs were found");
    assert!(wrong.is_empty(), "{} of {pairs} differ:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}
