//! Argo CD's own objects: Applications with their status, projects, and its settings.
//!
//! Takes a [`Fleet`]; hands on the objects of the namespace `argocd`.

use serde_json::{Value, json};

use super::applied::{Applied, remember};
use super::{CREATED, manage, report, stamp};
use crate::generator::service::{self, Service};
use crate::generator::{Fleet, Result, manifests};

const CONTROLLER: &str = "argocd-application-controller";
/// The commit that the Applications were synced to.
const REVISION: &str = "5d9c1f0a7be34826ad05c7e1b2f4490d6e8a3c17";

/// All objects of Argo CD's namespace.
pub(super) fn objects(fleet: &Fleet) -> Result<Vec<Value>> {
    let parse = |text: &str| serde_yaml::from_str::<Value>(text);
    let by = |application: &'static str| Applied { application, namespace: "argocd", autoscaled: false };
    let children = fleet.services.iter().map(|service| ("Application", service.application()));
    let projects = service::teams(&fleet.services).map(|team| ("AppProject", team.to_owned()));

    let mut root = remember(parse(&manifests::parent("root", "clusters/prod"))?);
    let written = root.clone();
    manage(&mut root, "kubectl-client-side-apply", None, &written);
    stamp(&mut root);
    let own = children.chain([("Application", "projects".to_owned())]).map(|(kind, name)| resource("argoproj.io", kind, "argocd", &name));
    synced(&mut root, own.collect());

    let mut list = by("root").live(parse(&manifests::parent("projects", "projects"))?);
    synced(&mut list, projects.map(|(kind, name)| resource("argoproj.io", kind, "argocd", &name)).collect());

    let mut objects = vec![settings(), default_project(), root, list];
    for team in service::teams(&fleet.services) {
        objects.push(by("projects").live(parse(&manifests::project(team))?));
    }
    for service in &fleet.services {
        let mut application = by("root").live(parse(&manifests::application(service))?);
        synced(&mut application, resources(service)?);
        objects.push(application);
    }
    Ok(objects)
}

/// One line of an Application's status.
fn resource(group: &str, kind: &str, namespace: &str, name: &str) -> Value {
    let version = if kind == "Application" || kind == "AppProject" { "v1alpha1" } else { "v1" };
    let mut line = json!({"version": version, "kind": kind, "namespace": namespace, "name": name, "status": "Synced"});
    if !group.is_empty() {
        line["group"] = json!(group);
    }
    line
}

fn resources(service: &Service) -> Result<Vec<Value>> {
    let mut lines = Vec::new();
    for (_, _, text) in manifests::of(service) {
        let target: Value = serde_yaml::from_str(&text)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let api_version = text(&target["apiVersion"]);
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        lines.push(resource(group, &text(&target["kind"]), service.team, &text(&target["metadata"]["name"])));
    }
    Ok(lines)
}

/// The status of an Application that is in sync.
fn synced(application: &mut Value, resources: Vec<Value>) {
    let source = application["spec"]["source"].clone();
    let destination = application["spec"]["destination"].clone();
    let results: Vec<Value> = resources
        .iter()
        .map(|line| {
            let mut result = line.clone();
            let message = format!("{} configured", line["name"].as_str().unwrap_or_default());
            for (field, value) in [("status", "Synced"), ("hookPhase", "Running"), ("syncPhase", "Sync"), ("message", message.as_str())] {
                result[field] = json!(value);
            }
            result
        })
        .collect();
    let history: Vec<Value> = (0..3)
        .map(|id| {
            json!({"id": id, "revision": REVISION, "deployStartedAt": CREATED, "deployedAt": CREATED, "source": source,
                "initiatedBy": {"automated": true}})
        })
        .collect();
    application["metadata"]["generation"] = json!(41);
    let status = json!({
        "health": {"status": "Healthy", "lastTransitionTime": CREATED},
        "sync": {"status": "Synced", "revision": REVISION, "comparedTo": {"source": source, "destination": destination}},
        "reconciledAt": CREATED, "sourceType": "Directory", "controllerNamespace": "argocd", "summary": {},
        "resources": resources, "history": history,
        "operationState": {
            "phase": "Succeeded", "message": "successfully synced (all tasks run)", "startedAt": CREATED, "finishedAt": CREATED,
            "operation": {"initiatedBy": {"automated": true}, "retry": {"limit": 5}, "sync": {"revision": REVISION}},
            "syncResult": {"revision": REVISION, "source": source, "resources": results},
        },
    });
    report(application, CONTROLLER, status);
    // Argo CD's status is no subresource.
    if let Some(entry) =
        application["metadata"]["managedFields"].as_array_mut().and_then(|entries| entries.last_mut()).and_then(Value::as_object_mut)
    {
        entry.remove("subresource");
    }
}

fn settings() -> Value {
    let mut settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": "argocd", "labels": {"app.kubernetes.io/name": "argocd-cm", "app.kubernetes.io/part-of": "argocd"}},
        "data": {"application.resourceTrackingMethod": "annotation", "url": "https://argocd.example.test"},
    });
    let written = settings.clone();
    manage(&mut settings, "kubectl-client-side-apply", None, &written);
    stamp(&mut settings);
    settings
}

/// The project that Argo CD makes for itself.
fn default_project() -> Value {
    let mut project = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": {"name": "default", "namespace": "argocd", "generation": 1},
        "spec": {"sourceRepos": ["*"], "destinations": [{"namespace": "*", "server": "*"}], "clusterResourceWhitelist": [{"group": "*", "kind": "*"}]},
    });
    let spec = project["spec"].clone();
    manage(&mut project, "argocd-server", None, &json!({ "spec": spec }));
    stamp(&mut project);
    project
}
