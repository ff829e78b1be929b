//! The API server of a small cluster: answers that a real one gave, and lists of invented objects.

#![allow(dead_code, reason = "not every test uses all of it")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::server::{Answer, Asked, Server};

/// Text of an `Accept` that asks for aggregated discovery.
const AGGREGATED: &str = "APIGroupDiscoveryList";

/// A recorded answer.
pub(crate) fn recording(name: &str) -> (Value, Answer) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/api-recordings").join(format!("{name}.json"));
    let recording: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let response = &recording["response"];
    let body = match response.get("body") {
        Some(body) => body.to_string(),
        None => response["text"].as_str().unwrap_or_default().to_owned(),
    };
    let answer = Answer::new(u16::try_from(response["status"].as_u64().unwrap()).unwrap(), body);
    let headers = response["headers"].as_object().into_iter().flatten();
    let answer = headers.fold(answer, |answer, (name, value)| answer.with(name, value.as_str().unwrap()));
    (recording["request"].clone(), answer)
}

/// A cluster as it was recorded, with lists over all namespaces.
pub(crate) struct Recorded {
    /// Whether it knows aggregated discovery.
    pub(crate) aggregated: bool,
    /// By plural and token.
    lists: BTreeMap<(String, String), Answer>,
    discovery: BTreeMap<String, Answer>,
}

impl Recorded {
    pub(crate) fn new(aggregated: bool) -> Self {
        let mut lists = BTreeMap::new();
        for name in [
            "list-configmaps-page-1",
            "list-configmaps-page-2",
            "list-configmaps-page-3",
            "list-deployments",
            "list-statefulsets",
            "list-claims",
            "list-secrets",
            "list-hpas-v2",
            "list-ingresses",
            "list-shelves",
            "list-applications",
            "list-applicationsets",
            "list-appprojects",
        ] {
            let (request, answer) = recording(name);
            let path = request["path"].as_str().unwrap();
            let (path, query) = path.split_once('?').unwrap();
            let token = query.split('&').find_map(|part| part.strip_prefix("continue=")).unwrap_or_default();
            lists.insert((path.rsplit('/').next().unwrap().to_owned(), token.to_owned()), answer);
        }
        let mut discovery = BTreeMap::new();
        for name in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/api-recordings")).unwrap() {
            let name = name.unwrap().file_name().into_string().unwrap();
            let name = name.trim_end_matches(".json");
            if name.starts_with("discovery-plain-") {
                let (request, answer) = recording(name);
                discovery.insert(request["path"].as_str().unwrap().to_owned(), answer);
            }
        }
        Self { aggregated, lists, discovery }
    }

    pub(crate) fn answer(&self, asked: &Asked) -> Answer {
        let aggregated = self.aggregated && asked.header("accept").contains(AGGREGATED);
        match asked.path.as_str() {
            "/version" => return recording("version").1,
            "/api" => return recording(if aggregated { "discovery-api-aggregated" } else { "discovery-api-plain" }).1,
            "/apis" => return recording(if aggregated { "discovery-apis-aggregated" } else { "discovery-apis-plain" }).1,
            _ => {}
        }
        if let Some(answer) = self.discovery.get(&asked.path) {
            return answer.clone();
        }
        let parts: Vec<&str> = asked.path.split('/').collect();
        // Groups whose kinds were not recorded one by one have none.
        if parts.len() == 4 && parts[1] == "apis" {
            return Answer::json(
                &json!({"kind": "APIResourceList", "groupVersion": format!("{}/{}", parts[2], parts[3]), "resources": []}),
            );
        }
        if parts.contains(&"namespaces") && asked.path.ends_with("/argocd-cm") || asked.path.contains("argocd-application-controller") {
            return recording("get-missing").1;
        }
        let plural = parts.last().unwrap().to_string();
        if !asked.query("labelSelector").is_empty() {
            return recording("list-empty").1;
        }
        match self.lists.get(&(plural, asked.query("continue").to_owned())) {
            Some(answer) => answer.clone(),
            None => recording("list-empty").1,
        }
    }
}

/// A kubeconfig for a server.
pub(crate) fn kubeconfig(server: &Server) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("kubeconfig");
    let mut cluster = json!({"server": server.url});
    if !server.certificate.is_empty() {
        let certificate = folder.path().join("ca.pem");
        fs::write(&certificate, &server.certificate).unwrap();
        cluster["certificate-authority"] = certificate.to_str().unwrap().into();
    }
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "test", "user": {"token": "test-token"}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}]});
    fs::write(&file, config.to_string()).unwrap();
    (folder, file)
}

/// A cluster of invented objects with real paging.
pub(crate) struct Invented {
    kinds: Vec<Kind>,
}

/// A kind of an [`Invented`] cluster.
pub(crate) struct Kind {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) namespaced: bool,
    pub(crate) objects: Vec<Value>,
}

impl Invented {
    pub(crate) fn new(kinds: Vec<Kind>) -> Self {
        Self { kinds }
    }

    fn discovery(&self, core: bool) -> Value {
        let mut groups: BTreeMap<(&str, &str), Vec<Value>> = BTreeMap::new();
        for kind in self.kinds.iter().filter(|kind| kind.group.is_empty() == core) {
            let scope = if kind.namespaced { "Namespaced" } else { "Cluster" };
            groups.entry((kind.group, kind.version)).or_default().push(json!({"resource": kind.plural, "scope": scope,
                "responseKind": {"group": "", "version": "", "kind": kind.kind}, "verbs": ["get", "list", "watch"]}));
        }
        let items: Vec<Value> = groups
            .into_iter()
            .map(|((group, version), resources)| {
                let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
                json!({"metadata": metadata, "versions": [{"version": version, "resources": resources, "freshness": "Current"}]})
            })
            .collect();
        json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items})
    }

    pub(crate) fn answer(&self, asked: &Asked) -> Answer {
        match asked.path.as_str() {
            "/version" => return recording("version").1,
            "/api" => return Answer::json(&self.discovery(true)),
            "/apis" => return Answer::json(&self.discovery(false)),
            _ => {}
        }
        let parts: Vec<&str> = asked.path.trim_start_matches('/').split('/').collect();
        let rest = match parts.as_slice() {
            ["api", _, rest @ ..] => Some(("", rest)),
            ["apis", group, _, rest @ ..] => Some((*group, rest)),
            _ => None,
        };
        let Some((group, rest)) = rest else { return recording("list-unknown-group").1 };
        let (namespace, plural, name) = match rest {
            ["namespaces", namespace, plural] => (Some(*namespace), *plural, None),
            ["namespaces", namespace, plural, name] => (Some(*namespace), *plural, Some(*name)),
            [plural] => (None, *plural, None),
            _ => return recording("list-unknown-group").1,
        };
        let Some(kind) = self.kinds.iter().find(|kind| kind.group == group && kind.plural == plural) else {
            return recording("list-unknown-group").1;
        };
        let metadata = |object: &Value, field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        let mut objects: Vec<&Value> =
            kind.objects.iter().filter(|object| namespace.is_none_or(|namespace| metadata(object, "namespace") == namespace)).collect();
        if let Some(name) = name {
            return match objects.iter().find(|object| metadata(object, "name") == name) {
                Some(object) => Answer::json(object),
                None => recording("get-missing").1,
            };
        }
        if let Some((label, value)) = asked.query("labelSelector").split_once('=') {
            objects.retain(|object| object["metadata"]["labels"][label] == value);
        }
        let start: usize = asked.query("continue").parse().unwrap_or(0);
        let limit: usize = asked.query("limit").parse().unwrap_or(objects.len());
        let end = objects.len().min(start + limit);
        let token = if end < objects.len() { end.to_string() } else { String::new() };
        let mut body = format!(
            r#"{{"kind": "{}List", "apiVersion": "v1", "metadata": {{"resourceVersion": "1", "continue": "{token}"}}, "items": ["#,
            kind.kind
        );
        for (index, object) in objects[start..end].iter().enumerate() {
            if index > 0 {
                body.push(',');
            }
            body.push_str(&object.to_string());
        }
        body.push_str("]}");
        Answer::new(200, body)
    }
}
