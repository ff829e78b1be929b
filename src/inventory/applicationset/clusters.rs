//! The clusters that the cluster generator goes through.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::argocd::names::{IN_CLUSTER_NAME, IN_CLUSTER_SERVER};
use crate::manifest::{base64, label};
use crate::snapshot::{ClusterInfo, LiveState, SecretEdits};

/// Label that makes a Secret one of Argo CD's own.
const SECRET_TYPE: &str = "argocd.argoproj.io/secret-type";

/// What to do where no cluster is known.
const HELP: &str = "; list them under `clusters` in the configuration";

/// A cluster Secret, as far as generators read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// `data.name`.
    pub name: String,
    /// `data.server`.
    pub server: String,
    /// `data.project`; empty where there is none.
    pub project: String,
    /// Labels of the Secret.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the Secret.
    pub annotations: BTreeMap<String, String>,
}

/// The clusters of an installation, or why they are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clusters {
    /// Those with a Secret, by name.
    Known(Vec<Cluster>),
    /// Nothing is known of them.
    Unknown(String),
}

impl Clusters {
    /// What a snapshot says. One that holds no Secret of Argo CD's namespace and names no cluster proves nothing.
    pub fn of_live(live: &LiveState) -> Self {
        Self::of_live_after(live, &SecretEdits::new())
    }

    /// Those of some Secrets.
    pub fn of_secrets(secrets: &SecretEdits) -> Self {
        let found = secrets.values().flatten().filter_map(|secret| Cluster::of_secret(secret));
        Self::Known(found.collect())
    }

    /// The same once cluster Secrets have changed.
    pub fn of_live_after(live: &LiveState, edits: &SecretEdits) -> Self {
        let namespace = &live.settings().namespace;
        let secrets = live.of_kind(IN_CLUSTER_SERVER, "", "Secret").iter().filter(|secret| *secret.key.namespace == **namespace);
        let mut saw_secrets = false;
        let mut by_name: BTreeMap<String, Cluster> = BTreeMap::new();
        for secret in secrets {
            saw_secrets = true;
            let is_edited = edits.contains_key(&secret.key);
            if let Some(cluster) = Cluster::of_secret(secret.object()).filter(|_| !is_edited) {
                by_name.insert(cluster.name.clone(), cluster);
            }
        }
        let edited = edits.values().flatten().filter_map(|secret| Cluster::of_secret(secret));
        by_name.extend(edited.map(|cluster| (cluster.name.clone(), cluster)));
        // Of clusters that are stated without a Secret only those that the configuration names as well have labels.
        let is_stated = |cluster: &&ClusterInfo| !cluster.registered && !cluster.name.is_empty();
        let stated = live.clusters().iter().filter(is_stated).filter(|cluster| cluster.configured || &*cluster.name != IN_CLUSTER_NAME);
        for cluster in stated {
            saw_secrets = true;
            by_name.entry(cluster.name.to_string()).or_insert_with(|| Cluster::stated(cluster));
        }
        if saw_secrets {
            Self::Known(by_name.into_values().collect())
        } else {
            Self::Unknown(format!("the snapshot holds no Secrets of Argo CD's namespace, so the clusters are not known{HELP}"))
        }
    }

    /// What the configuration says where there is no snapshot.
    pub fn without_snapshot(configured: &[ClusterInfo]) -> Self {
        if configured.is_empty() {
            return Self::Unknown(format!("the clusters are not known without a snapshot{HELP}"));
        }
        let by_name: BTreeMap<&str, Cluster> = configured.iter().map(|cluster| (&*cluster.name, Cluster::stated(cluster))).collect();
        Self::Known(by_name.into_values().collect())
    }
}

impl Cluster {
    /// A cluster without a Secret.
    fn stated(cluster: &ClusterInfo) -> Self {
        let mut labels = cluster.labels.clone();
        labels.insert(SECRET_TYPE.to_owned(), "cluster".to_owned());
        Self {
            name: cluster.name.to_string(),
            server: cluster.server.to_string(),
            project: cluster.project.clone(),
            labels,
            annotations: cluster.annotations.clone(),
        }
    }

    fn of_secret(secret: &Value) -> Option<Self> {
        if label(secret, SECRET_TYPE) != Some("cluster") {
            return None;
        }
        let text = |name: &str| {
            let plain = secret.pointer(&format!("/stringData/{name}")).and_then(Value::as_str).map(str::to_owned);
            let encoded = || secret.pointer(&format!("/data/{name}")).and_then(Value::as_str).and_then(base64::decode);
            plain.or_else(|| String::from_utf8(encoded()?).ok()).unwrap_or_default()
        };
        let texts = |field: &str| {
            let entries = secret.pointer(&format!("/metadata/{field}")).and_then(Value::as_object).into_iter().flatten();
            entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
        };
        Some(Self {
            name: text("name"),
            server: text("server"),
            project: text("project"),
            labels: texts("labels"),
            annotations: texts("annotations"),
        })
    }

    /// Whether it is the cluster that Argo CD runs in.
    pub(super) fn is_local(&self) -> bool {
        self.server == IN_CLUSTER_SERVER
    }
}
