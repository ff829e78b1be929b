//! The clusters that Argo CD knows, and finding one by name or by server URL as a destination does.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use serde::Deserialize;
use serde_json::Value;

use super::kinds::{ApiResource, KindName};
use crate::argocd::Settings;
use crate::argocd::names::{IN_CLUSTER_NAME, IN_CLUSTER_SERVER};
use crate::manifest::{label, metadata_str};

/// Label that makes a Secret one of Argo CD's own, and its value for clusters.
pub(super) const SECRET_TYPE_LABEL: &str = "argocd.argoproj.io/secret-type";
/// Value of [`SECRET_TYPE_LABEL`] for clusters.
pub(super) const CLUSTER_SECRET: &str = "cluster";

/// What a snapshot says about a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterInfo {
    /// Server URL, without a trailing `/`.
    pub server: Arc<str>,
    /// Registered name; empty where only the URL is known.
    pub name: Arc<str>,
    /// Whether a cluster Secret registers it.
    pub registered: bool,
    /// Version of Kubernetes, as the cluster states it.
    pub kubernetes_version: Option<String>,
    /// The kinds it serves, where the snapshot lists them.
    pub api_resources: Option<Vec<ApiResource>>,
    /// Kinds whose objects are not all in the snapshot: refused, or changed faster than they could be listed.
    pub unlisted: Vec<KindName>,
    /// Of this cluster only what Applications manage is in the snapshot.
    pub only_managed: bool,
    /// Without such a list: whether the built-in kinds and those that are seen or defined are all there are.
    pub kinds_complete: bool,
    /// The project that the cluster Secret ties the cluster to; empty where there is none.
    pub project: String,
    /// Labels of the cluster Secret.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the cluster Secret.
    pub annotations: BTreeMap<String, String>,
    /// Only the configuration of presync names it.
    pub configured: bool,
    /// To what Argo CD is limited there; `None` where it sees everything.
    pub limit: Option<NamespaceLimit>,
}

/// A cluster in namespaced mode: its Secret limits Argo CD to some namespaces.
///
/// Source: Argo CD `util/db/cluster.go:SecretToCluster` and `gitops-engine/pkg/cache/cluster.go:GetManagedLiveObjs`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceLimit {
    /// The namespaces; never none.
    pub namespaces: Vec<String>,
    /// Whether objects outside namespaces are seen as well.
    pub cluster_resources: bool,
}

impl NamespaceLimit {
    /// The limit that these values mean, if they mean one: `clusterResources` says nothing without namespaces.
    pub(super) fn of(namespaces: impl IntoIterator<Item = impl AsRef<str>>, cluster_resources: bool) -> Option<Self> {
        let trimmed = namespaces.into_iter().map(|namespace| namespace.as_ref().trim().to_owned());
        let namespaces: Vec<String> = trimmed.filter(|namespace| !namespace.is_empty()).collect();
        (!namespaces.is_empty()).then_some(Self { namespaces, cluster_resources })
    }

    /// Whether Argo CD sees what is in this namespace; empty for what is in none.
    pub fn takes(&self, namespace: &str) -> bool {
        if namespace.is_empty() { self.cluster_resources } else { self.namespaces.iter().any(|one| one == namespace) }
    }
}

/// The limit in a cluster Secret, taken from it before it is redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SecretLimit {
    /// The namespace of the Secret.
    pub(super) secret_namespace: String,
    /// Server URL of the cluster.
    pub(super) server: String,
    pub(super) limit: NamespaceLimit,
}

/// Why a cluster name leads nowhere. Argo CD refuses the destination in both cases.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// No cluster has this name.
    #[error("no cluster is named `{0}`")]
    Unknown(String),
    /// Several clusters have it.
    #[error("{count} clusters are named `{name}`")]
    Ambiguous {
        /// The name.
        name: String,
        /// How many.
        count: usize,
    },
}

/// A server URL as Argo CD compares it.
///
/// Source: Argo CD `util/db/cluster.go:SecretToCluster`, `pkg/apis/application/v1alpha1/types.go`.
pub(super) fn trim_server(server: &str) -> &str {
    server.trim_end_matches('/')
}

/// All clusters, with an index by name.
#[derive(Debug, Default)]
pub(super) struct Clusters {
    /// Sorted by server and name.
    list: Vec<ClusterInfo>,
    by_name: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    in_cluster_enabled: bool,
    /// Whether cluster Secrets register the clusters, though there may be none left.
    by_secrets: bool,
}

impl Clusters {
    /// Puts together what several sources say. Where a Secret registers a server, what others say about it completes that; the cluster
    /// that Argo CD runs in is there without being registered, unless the settings switch it off.
    pub(super) fn new(statements: Vec<ClusterInfo>, settings: &Settings) -> Self {
        let in_cluster_enabled = settings.entry("cluster.inClusterEnabled") != Some("false");
        let mut statements = statements;
        statements.sort_by(|a, b| (&a.server, !a.registered, &a.name).cmp(&(&b.server, !b.registered, &b.name)));
        let mut list: Vec<ClusterInfo> = Vec::new();
        for group in statements.chunk_by(|a, b| a.server == b.server) {
            let start = list.len();
            let names_are_registered = group.iter().any(|one| one.registered);
            for statement in group {
                let adds_name = !statement.name.is_empty() && (statement.registered || !names_are_registered);
                let same_name = list.len() > start && list.last().is_some_and(|last| last.name == statement.name);
                let first = list.len() == start;
                match if same_name { list.last_mut() } else { list.get_mut(start) } {
                    Some(known) if same_name || (!adds_name && !first) => known.complete(statement),
                    _ => list.push(statement.clone()),
                }
            }
            // Sorting puts the nameless statement first; the first name completes it.
            if list.len() > start + 1 && list[start].name.is_empty() {
                let nameless = list.remove(start);
                list[start].complete(&nameless);
            }
        }
        if in_cluster_enabled && !list.iter().any(|cluster| &*cluster.server == IN_CLUSTER_SERVER) {
            list.push(ClusterInfo { server: IN_CLUSTER_SERVER.into(), name: IN_CLUSTER_NAME.into(), ..ClusterInfo::default() });
        }
        list.sort_by(|a, b| (&a.server, &a.name).cmp(&(&b.server, &b.name)));
        let mut by_name: BTreeMap<Arc<str>, Vec<Arc<str>>> = BTreeMap::new();
        for cluster in list.iter().filter(|cluster| !cluster.name.is_empty()) {
            by_name.entry(cluster.name.clone()).or_default().push(cluster.server.clone());
        }
        let by_secrets = list.iter().any(|cluster| cluster.registered);
        Self { list, by_name, in_cluster_enabled, by_secrets }
    }

    /// Takes in clusters that the configuration of presync names. Cluster Secrets decide alone where there are any. Hands on what is left out,
    /// and why, in sentences.
    pub(super) fn know(&mut self, configured: &[ClusterInfo], settings: &Settings) -> Vec<String> {
        let has_secrets = self.list.iter().any(|cluster| cluster.registered);
        let (mut left_out, mut statements) = (Vec::new(), Vec::new());
        for cluster in configured {
            let name = &cluster.name;
            let known = self.list.iter().find(|known| known.name == *name && known.registered == has_secrets);
            match known {
                None if has_secrets => left_out.push(format!(
                    "the configuration names the cluster {name}, of which the snapshot has no Secret: it is left out, for the cluster Secrets of the snapshot decide"
                )),
                Some(known) if has_secrets => {
                    let differing = cluster.differing(known);
                    if !differing.is_empty() {
                        left_out.push(format!(
                            "the cluster {name} has another {} in the configuration than in its Secret in the snapshot: the Secret counts",
                            differing.join(", ")
                        ));
                    }
                }
                Some(known) if known.server != cluster.server => left_out.push(format!(
                    "the cluster {name} is at {} in the configuration and at {} in the snapshot: the snapshot counts",
                    cluster.server, known.server
                )),
                known => {
                    let is_new = known.is_none() || **name == *IN_CLUSTER_NAME;
                    statements.push(ClusterInfo { configured: is_new, ..cluster.clone() });
                }
            }
        }
        if !statements.is_empty() {
            statements.append(&mut self.list);
            *self = Self::new(statements, settings);
        }
        left_out
    }

    /// The clusters once Secrets have changed: of each what it registers before and after. Of a cluster whose Secret goes nothing is left, but of
    /// the one that Argo CD runs in.
    pub(super) fn after(&self, edits: Vec<(Option<ClusterInfo>, Option<ClusterInfo>)>, settings: &Settings) -> Self {
        let mut statements = self.list.clone();
        for (before, after) in edits {
            let is_it = |known: &ClusterInfo| {
                before.as_ref().is_some_and(|before| known.registered && known.server == before.server && known.name == before.name)
            };
            let known = statements.iter().position(is_it).map(|position| statements.remove(position)).unwrap_or_default();
            let stays = known.server == after.as_ref().map_or_else(|| IN_CLUSTER_SERVER.into(), |after| Arc::clone(&after.server));
            let known = if stays { known } else { ClusterInfo::default() };
            match after {
                Some(ClusterInfo { server, name, project, labels, annotations, .. }) => {
                    statements.push(ClusterInfo { server, name, project, labels, annotations, registered: true, ..known });
                }
                None if stays => statements.push(ClusterInfo {
                    name: "".into(),
                    registered: false,
                    project: String::new(),
                    labels: BTreeMap::new(),
                    annotations: BTreeMap::new(),
                    ..known
                }),
                None => {}
            }
        }
        Self { by_secrets: self.by_secrets, ..Self::new(statements, settings) }
    }

    /// Whether cluster Secrets register the clusters, though there may be none left.
    pub(super) fn by_secrets(&self) -> bool {
        self.by_secrets
    }

    /// All of them, sorted by server and name.
    pub(super) fn list(&self) -> &[ClusterInfo] {
        &self.list
    }

    /// The server URL of a name.
    ///
    /// Source: Argo CD `util/db/cluster.go:GetClusterServersByName`.
    pub(super) fn by_name(&self, name: &str) -> Result<Arc<str>, ClusterError> {
        let servers = self.by_name.get(name).map(Vec::as_slice).unwrap_or_default();
        if servers.is_empty() && name == IN_CLUSTER_NAME && self.in_cluster_enabled {
            return Ok(IN_CLUSTER_SERVER.into());
        }
        let usable: Vec<_> = servers.iter().filter(|server| self.in_cluster_enabled || &***server != IN_CLUSTER_SERVER).collect();
        match usable.as_slice() {
            [] => Err(ClusterError::Unknown(name.to_owned())),
            [server] => Ok((*server).clone()),
            several => Err(ClusterError::Ambiguous { name: name.to_owned(), count: several.len() }),
        }
    }

    /// The cluster of a server URL.
    ///
    /// Source: Argo CD `util/db/cluster.go:GetCluster`.
    pub(super) fn by_server(&self, server: &str) -> Option<&ClusterInfo> {
        let server = trim_server(server);
        if server == IN_CLUSTER_SERVER && !self.in_cluster_enabled {
            return None;
        }
        let index = self.list.partition_point(|cluster| &*cluster.server < server);
        self.list.get(index).filter(|cluster| &*cluster.server == server)
    }
}

impl ClusterInfo {
    /// A cluster that the configuration of presync names.
    pub fn configured(
        name: &str,
        server: &str,
        project: &str,
        labels: BTreeMap<String, String>,
        annotations: BTreeMap<String, String>,
    ) -> Self {
        Self {
            name: name.into(),
            server: trim_server(server).into(),
            project: project.to_owned(),
            labels,
            annotations,
            configured: true,
            ..Self::default()
        }
    }

    /// What generators read and another one has otherwise.
    fn differing(&self, other: &Self) -> Vec<&'static str> {
        let of_secret = |labels: &BTreeMap<String, String>| {
            labels
                .iter()
                .filter(|(name, _)| *name != SECRET_TYPE_LABEL)
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect::<Vec<_>>()
        };
        let all = [
            ("server", self.server != other.server),
            ("project", self.project != other.project),
            ("labels", of_secret(&self.labels) != of_secret(&other.labels)),
            ("annotations", self.annotations != other.annotations),
        ];
        all.into_iter().filter(|(_, differs)| *differs).map(|(what, _)| what).collect()
    }

    /// Takes over what another statement about the same cluster says besides.
    fn complete(&mut self, other: &Self) {
        if self.name.is_empty() {
            self.name = other.name.clone();
        }
        if self.project.is_empty() {
            self.project.clone_from(&other.project);
        }
        self.registered |= other.registered;
        self.configured |= other.configured;
        self.only_managed |= other.only_managed;
        self.kinds_complete |= other.kinds_complete;
        self.kubernetes_version = self.kubernetes_version.take().or_else(|| other.kubernetes_version.clone());
        self.api_resources = self.api_resources.take().or_else(|| other.api_resources.clone());
        self.unlisted.extend(other.unlisted.iter().cloned());
        self.unlisted.sort();
        self.unlisted.dedup();
        self.limit = self.limit.take().or_else(|| other.limit.clone());
        self.labels.extend(other.labels.clone());
        self.annotations.extend(other.annotations.clone());
    }
}

/// The cluster that a cluster Secret registers; `None` for any other object.
pub(super) fn from_secret(secret: &Value) -> Option<ClusterInfo> {
    if label(secret, SECRET_TYPE_LABEL) != Some(CLUSTER_SECRET) {
        return None;
    }
    let server = secret_text(secret, "server")?;
    let entries = |field: &str| strings(secret.pointer(&format!("/metadata/{field}")));
    let mut labels = entries("labels");
    labels.remove(SECRET_TYPE_LABEL);
    let mut annotations = entries("annotations");
    annotations.remove("managed-by");
    Some(ClusterInfo {
        server: trim_server(&server).into(),
        name: secret_text(secret, "name").unwrap_or_default().as_str().into(),
        registered: true,
        project: secret_text(secret, "project").unwrap_or_default(),
        labels,
        annotations,
        ..ClusterInfo::default()
    })
}

/// The limit that a cluster Secret sets; `None` for any other object.
pub(super) fn limit_of_secret(secret: &Value) -> Option<SecretLimit> {
    if label(secret, SECRET_TYPE_LABEL) != Some(CLUSTER_SECRET) {
        return None;
    }
    let text = |name: &str| secret_text(secret, name).unwrap_or_default();
    let limit = NamespaceLimit::of(text("namespaces").split(','), text("clusterResources") == "true")?;
    let secret_namespace = metadata_str(secret, "namespace").unwrap_or_default().to_owned();
    Some(SecretLimit { secret_namespace, server: trim_server(&text("server")).to_owned(), limit })
}

fn strings(map: Option<&Value>) -> BTreeMap<String, String> {
    let entries = map.and_then(Value::as_object).into_iter().flatten();
    entries.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// A text in `stringData` or, in base64, in `data`.
pub fn secret_text(secret: &Value, name: &str) -> Option<String> {
    let field = |map: &str| secret.get(map).and_then(|data| data.get(name));
    if let Some(text) = field("stringData").and_then(Value::as_str) {
        return Some(text.to_owned());
    }
    let ByteString(bytes) = ByteString::deserialize(field("data")?).ok()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn named(name: &str, server: &str) -> ClusterInfo {
        ClusterInfo { name: name.into(), server: server.into(), ..ClusterInfo::default() }
    }

    #[test]
    fn a_cluster_secret_gives_name_server_project_labels_and_annotations() {
        let secret = json!({"kind": "Secret", "metadata": {"name": "eu", "labels": {SECRET_TYPE_LABEL: "cluster", "region": "eu"},
            "annotations": {"team": "shop"}}, "data": {"name": "ZXUtMQ==", "server": "aHR0cHM6Ly9ldS0xLnRlc3Qv"}, "stringData": {"project": "shop"}});
        let cluster = from_secret(&secret).unwrap();
        assert_eq!((&*cluster.name, &*cluster.server, &*cluster.project), ("eu-1", "https://eu-1.test", "shop"));
        assert_eq!(cluster.labels.into_iter().collect::<Vec<_>>(), [("region".to_owned(), "eu".to_owned())]);
        assert_eq!(cluster.annotations.len(), 1);
    }

    #[test]
    fn namespaces_of_a_cluster_secret_limit_what_is_seen() {
        let limit = |data: Value| {
            let metadata = json!({"name": "eu", "namespace": "argocd", "labels": {SECRET_TYPE_LABEL: "cluster"}});
            limit_of_secret(&json!({"kind": "Secret", "metadata": metadata, "stringData": data}))
        };
        let found = limit(json!({"server": "https://eu.test/", "namespaces": " shop, ,data", "clusterResources": "True"})).unwrap();
        assert_eq!((found.server.as_str(), found.secret_namespace.as_str()), ("https://eu.test", "argocd"));
        assert_eq!(found.limit, NamespaceLimit { namespaces: vec!["shop".into(), "data".into()], cluster_resources: false });
        assert!(found.limit.takes("data") && !found.limit.takes("other") && !found.limit.takes(""));
        let all = limit(json!({"server": "https://eu.test", "namespaces": "shop", "clusterResources": "true"})).unwrap();
        assert!(all.limit.takes("") && !all.limit.takes("other"));
        assert_eq!(limit(json!({"server": "https://eu.test", "namespaces": " ,", "clusterResources": "true"})), None);
    }

    #[test]
    fn the_cluster_argo_cd_runs_in_needs_no_secret_unless_it_is_switched_off() {
        let settings = Settings::default();
        assert_eq!(Clusters::new(vec![], &settings).by_name("in-cluster").as_deref(), Ok(IN_CLUSTER_SERVER));
        let renamed = || vec![named("home", IN_CLUSTER_SERVER)];
        let on = Clusters::new(renamed(), &settings);
        assert_eq!(on.by_name("home").as_deref(), Ok(IN_CLUSTER_SERVER));
        assert_eq!(on.by_server("https://kubernetes.default.svc/").map(|cluster| &*cluster.name), Some("home"));
        let off = Settings::new(None, "argocd", [("cluster.inClusterEnabled".to_owned(), "false".to_owned())].into());
        let off = Clusters::new(renamed(), &off);
        assert!(matches!(off.by_name("home"), Err(ClusterError::Unknown(_))));
        assert!(matches!(off.by_name("in-cluster"), Err(ClusterError::Unknown(_))));
        assert_eq!(off.by_server(IN_CLUSTER_SERVER), None);
    }

    fn configured(name: &str, server: &str, region: &str) -> ClusterInfo {
        ClusterInfo::configured(name, server, "", [("region".to_owned(), region.to_owned())].into(), BTreeMap::new())
    }

    #[test]
    fn configured_clusters_complete_those_that_a_snapshot_names_without_a_secret() {
        let settings = Settings::default();
        let mut clusters = Clusters::new(vec![named("eu", "https://a"), named("us", "https://b")], &settings);
        let said = clusters.know(
            &[configured("eu", "https://a/", "eu"), configured("us", "https://x", "us"), configured("ap", "https://c", "ap")],
            &settings,
        );
        assert_eq!(said, ["the cluster us is at https://x in the configuration and at https://b in the snapshot: the snapshot counts"]);
        let all: Vec<_> = clusters.list().iter().map(|one| (&*one.name, one.configured, one.labels.len())).collect();
        assert_eq!(all, [("eu", false, 1), ("us", false, 0), ("ap", true, 1), ("in-cluster", false, 0)]);
        assert_eq!(clusters.by_name("ap").as_deref(), Ok("https://c"));
    }

    #[test]
    fn cluster_secrets_win_over_configured_clusters_and_what_differs_is_said() {
        let settings = Settings::default();
        let registered =
            ClusterInfo { registered: true, labels: [("region".to_owned(), "eu".to_owned())].into(), ..named("eu", "https://a") };
        let mut clusters = Clusters::new(vec![registered.clone()], &settings);
        assert_eq!(clusters.know(&[configured("eu", "https://a", "eu")], &settings), Vec::<String>::new());
        let said = clusters.know(&[configured("eu", "https://b", "us"), configured("ap", "https://c", "ap")], &settings);
        assert_eq!(said.len(), 2);
        assert!(said[0].contains("another server, labels in the configuration"), "{said:?}");
        assert!(said[1].contains("ap, of which the snapshot has no Secret"), "{said:?}");
        assert_eq!(clusters.list().iter().filter(|one| !one.name.is_empty()).count(), 2);
        assert!(clusters.by_name("ap").is_err());
    }

    #[test]
    fn two_clusters_of_one_name_are_ambiguous() {
        let clusters = vec![named("eu", "https://a"), named("eu", "https://b"), named("us", "https://c")];
        let clusters = Clusters::new(clusters, &Settings::default());
        assert_eq!(clusters.by_name("eu"), Err(ClusterError::Ambiguous { name: "eu".into(), count: 2 }));
        assert_eq!(clusters.by_name("us").as_deref(), Ok("https://c"));
    }

    #[test]
    fn a_name_completes_a_cluster_that_was_known_by_url_alone() {
        let nameless = ClusterInfo { kubernetes_version: Some("v1.36.0".into()), ..named("", "https://a") };
        let clusters = Clusters::new(vec![nameless, named("eu", "https://a"), named("us", "https://b")], &Settings::default());
        let names: Vec<_> = clusters.list().iter().map(|cluster| (&*cluster.name, cluster.kubernetes_version.as_deref())).collect();
        assert_eq!(names, [("eu", Some("v1.36.0")), ("us", None), ("in-cluster", None)]);
    }

    #[test]
    fn the_name_in_a_secret_wins_over_other_names_of_the_same_server() {
        let registered = ClusterInfo { registered: true, ..named("home", IN_CLUSTER_SERVER) };
        let clusters = Clusters::new(vec![named("in-cluster", IN_CLUSTER_SERVER), registered], &Settings::default());
        assert_eq!(clusters.list().iter().map(|cluster| &*cluster.name).collect::<Vec<_>>(), ["home"]);
    }
}
