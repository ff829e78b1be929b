//! Live objects and the state they make up, with its look-ups.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::clusters::{ClusterError, ClusterInfo, Clusters, from_secret};
use super::index::{ClusterIndex, same_kind};
use super::kinds::{Scope, Serves};
use super::owners::Owner;
use super::settings::PARAMETERS;
use crate::argocd::Settings;
use crate::argocd::names::IN_CLUSTER_SERVER;
use crate::manifest::ResourceKey;

/// One object of the cluster. Its text is parsed when somebody first looks at it.
pub struct LiveObject {
    /// The object's identity.
    pub key: ResourceKey,
    /// API version it was read in.
    pub version: Arc<str>,
    /// Server URL of its cluster.
    pub cluster: Arc<str>,
    /// Its UID; `None` where the object has none, as in assumed state.
    pub uid: Option<Arc<str>>,
    /// Its owners: owner references and those that Argo CD infers.
    pub owners: Vec<Owner>,
    /// Instance name of the Application that tracks it, whether it has owners or not.
    pub tracking: Option<Arc<str>>,
    pub(super) body: Body,
}

/// Where an object's content is.
pub(super) enum Body {
    /// A part of a text that many objects share; checked, so that it parses.
    Text { arena: Arc<Vec<u8>>, range: Range<usize>, parsed: OnceLock<Value> },
    /// An object that somebody else holds as well.
    Shared(Arc<Value>),
    /// An object that is made when it is first looked at.
    Made { make: Make, made: OnceLock<Value> },
}

/// Makes an object.
pub type Make = Arc<dyn Fn() -> Value + Send + Sync>;

impl Body {
    /// A body from a part of a shared text.
    pub(super) fn text(arena: Arc<Vec<u8>>, range: Range<usize>) -> Self {
        Self::Text { arena, range, parsed: OnceLock::new() }
    }

    /// The content; parsed for the caller alone where nobody has asked for it yet.
    pub(super) fn glance(&self) -> Cow<'_, Value> {
        match self {
            Self::Shared(value) => Cow::Borrowed(value),
            Self::Made { make, made } => Cow::Borrowed(made.get_or_init(|| make())),
            Self::Text { arena, range, parsed } => {
                parsed.get().map_or_else(|| Cow::Owned(parse(arena.get(range.clone()).unwrap_or_default())), Cow::Borrowed)
            }
        }
    }

    /// The same content, not parsed yet.
    pub(super) fn unparsed(&self) -> Self {
        match self {
            Self::Text { arena, range, .. } => Self::text(arena.clone(), range.clone()),
            Self::Shared(value) => Self::Shared(value.clone()),
            Self::Made { make, .. } => Self::Made { make: Arc::clone(make), made: OnceLock::new() },
        }
    }
}

/// Parses text that was checked when it was indexed, as strictly as this parse, so that `Null` never comes out.
fn parse(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap_or_default()
}

impl LiveObject {
    /// The object for one look, without keeping it parsed.
    pub(super) fn glance(&self) -> Cow<'_, Value> {
        self.body.glance()
    }

    /// The object.
    pub fn object(&self) -> &Value {
        match &self.body {
            Body::Shared(value) => value,
            Body::Made { make, made } => made.get_or_init(|| make()),
            Body::Text { arena, range, parsed } => parsed.get_or_init(|| parse(arena.get(range.clone()).unwrap_or_default())),
        }
    }

    /// Whether the object has owners, real or inferred: Argo CD then never counts it among an Application's own objects.
    pub fn is_owned(&self) -> bool {
        !self.owners.is_empty()
    }
}

impl fmt::Debug for LiveObject {
    /// Names the object and leaves its content out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LiveObject({} @ {})", self.key, self.cluster)
    }
}

/// Where live state came from, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotSource {
    /// File, folder or URL as given.
    pub source: String,
    /// When it was captured, RFC 3339; `None` where it does not say.
    pub captured_at: Option<String>,
    /// Server URL of the (first) cluster.
    pub cluster: String,
    /// Number of objects.
    pub objects: usize,
    /// Digest of the content, where the source is a snapshot file.
    pub digest: Option<String>,
}

/// Cluster Secrets as a change leaves them; nothing where one goes.
pub type SecretEdits = BTreeMap<ResourceKey, Option<Arc<Value>>>;

/// The live state of all clusters. Objects are sorted by cluster, group, kind, namespace and name.
#[derive(Debug)]
pub struct LiveState {
    pub(super) settings: Settings,
    /// Whether anything said something about Argo CD; else the settings are guessed.
    pub(super) knows_argocd: bool,
    pub(super) clusters: Clusters,
    pub(super) sources: Vec<SnapshotSource>,
    pub(super) incomplete: Vec<String>,
    pub(super) unlisted_applications: BTreeSet<String>,
    /// Clusters that a source speaks for.
    pub(super) covered: BTreeSet<Arc<str>>,
    pub(super) assumed: bool,
    pub(super) objects: Vec<Arc<LiveObject>>,
    /// One for each cluster, sorted by server URL.
    pub(super) indexes: Vec<ClusterIndex>,
}

impl LiveState {
    /// Argo CD's settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether anything said something about Argo CD; else the settings are guessed.
    pub fn knows_argocd(&self) -> bool {
        self.knows_argocd
    }

    /// A parameter that Argo CD's programs were started with: an entry of `argocd-cmd-params-cm`, or what a `settings.yaml` says under that name or
    /// a shorter one.
    pub fn parameter(&self, name: &str, short: &str) -> Option<&str> {
        let entry = || self.parameters()?.object().get("data")?.get(name)?.as_str();
        let stated = || self.settings.entry(name).or_else(|| self.settings.entry(short));
        entry().filter(|value| !value.is_empty()).or_else(stated)
    }

    /// Whether `argocd-cmd-params-cm` is there.
    pub fn has_parameters(&self) -> bool {
        self.parameters().is_some()
    }

    fn parameters(&self) -> Option<&Arc<LiveObject>> {
        self.get(IN_CLUSTER_SERVER, &ResourceKey::new("", "ConfigMap", &self.settings.namespace, PARAMETERS))
    }

    /// The clusters known, sorted by server and name. The cluster Argo CD runs in is among them unless it is switched off.
    pub fn clusters(&self) -> &[ClusterInfo] {
        self.clusters.list()
    }

    /// Takes in clusters that the configuration names, where no cluster Secret is there. Hands on what is left out, and why, in sentences.
    pub fn know_clusters(&mut self, configured: &[ClusterInfo]) -> Vec<String> {
        self.clusters.know(configured, &self.settings)
    }

    /// Whether cluster Secrets register the clusters, though there may be none left.
    pub fn has_cluster_secrets(&self) -> bool {
        self.clusters.by_secrets()
    }

    /// The same objects with the clusters that there are once cluster Secrets have changed.
    #[must_use]
    pub fn with_cluster_secrets(&self, edits: &SecretEdits) -> Self {
        let before = |key: &ResourceKey| self.get(IN_CLUSTER_SERVER, key).and_then(|secret| from_secret(secret.object()));
        let edits = edits.iter().map(|(key, after)| (before(key), after.as_deref().and_then(from_secret))).collect();
        Self {
            settings: self.settings.clone(),
            knows_argocd: self.knows_argocd,
            clusters: self.clusters.after(edits, &self.settings),
            sources: self.sources.clone(),
            incomplete: self.incomplete.clone(),
            unlisted_applications: self.unlisted_applications.clone(),
            covered: self.covered.clone(),
            assumed: self.assumed,
            objects: self.objects.clone(),
            indexes: self.indexes.clone(),
        }
    }

    /// The server URL of a destination's `name`.
    ///
    /// # Errors
    /// Where no cluster or several have the name.
    pub fn cluster_by_name(&self, name: &str) -> Result<Arc<str>, ClusterError> {
        self.clusters.by_name(name)
    }

    /// The cluster of a destination's `server`; trailing slashes do not matter.
    pub fn cluster_by_server(&self, server: &str) -> Option<&ClusterInfo> {
        self.clusters.by_server(server)
    }

    /// Where the state came from; empty where it is assumed.
    pub fn sources(&self) -> &[SnapshotSource] {
        &self.sources
    }

    /// What could not be listed or read, and why.
    pub fn incomplete(&self) -> &[String] {
        &self.incomplete
    }

    /// Whether a source speaks for a cluster. Of any other nothing is known, and that no object is there means nothing.
    pub fn covers(&self, server: &str) -> bool {
        self.covered.contains(server)
    }

    /// Applications whose objects are not all there, as `namespace/name`.
    pub fn unlisted_applications(&self) -> &BTreeSet<String> {
        &self.unlisted_applications
    }

    /// Whether the base revision's manifests stand in for live objects.
    pub fn is_assumed(&self) -> bool {
        self.assumed
    }

    /// All objects.
    pub fn all(&self) -> &[Arc<LiveObject>] {
        &self.objects
    }

    /// An object by its key.
    pub fn get(&self, cluster: &str, key: &ResourceKey) -> Option<&Arc<LiveObject>> {
        let objects = self.objects_of(cluster);
        objects.binary_search_by(|object| object.key.cmp(key)).ok().and_then(|index| objects.get(index))
    }

    /// The objects that an Application manages: tracked under its instance name and without owners, in any namespace.
    ///
    /// Source: Argo CD `gitops-engine/pkg/cache/cluster.go:GetManagedLiveObjs`.
    pub fn tracked_by(&self, cluster: &str, instance: &str) -> &[Arc<LiveObject>] {
        self.index(cluster).map(|index| index.tracked_by(instance)).unwrap_or_default()
    }

    /// The instance name of the Application that tracks an object, whether the object has owners or not.
    pub fn is_tracked<'a>(&self, object: &'a LiveObject) -> Option<&'a str> {
        object.tracking.as_deref()
    }

    /// The objects that name this one as an owner, by UID or, where there is none, by kind and name.
    pub fn owned_by<'a>(&'a self, cluster: &str, owner: &LiveObject) -> impl Iterator<Item = &'a Arc<LiveObject>> + use<'a> {
        let objects = self.objects_of(cluster);
        let children = self.index(cluster).and_then(|index| {
            let position = objects.binary_search_by(|object| object.key.cmp(&owner.key)).ok()?;
            Some(index.children_of(position))
        });
        children.unwrap_or_default().iter().filter_map(move |&(_, child)| objects.get(child as usize))
    }

    /// The objects in a namespace, sorted by key.
    pub fn in_namespace<'a>(&'a self, cluster: &str, namespace: &str) -> impl Iterator<Item = &'a Arc<LiveObject>> + use<'a> {
        let objects = self.objects_of(cluster);
        let positions = self.index(cluster).map(|index| index.in_namespace(objects, namespace)).unwrap_or_default();
        positions.iter().filter_map(move |&position| objects.get(position as usize))
    }

    /// The objects of a kind, sorted by namespace and name.
    pub fn of_kind(&self, cluster: &str, group: &str, kind: &str) -> &[Arc<LiveObject>] {
        same_kind(self.objects_of(cluster), group, kind)
    }

    /// Whether a kind lives in namespaces: by the cluster's list of API resources, its CustomResourceDefinitions, or the built-in table.
    /// `None` where none of them knows it.
    pub fn scope(&self, cluster: &str, group: &str, kind: &str) -> Option<Scope> {
        match self.index(cluster) {
            Some(index) => index.kinds.scope(group, kind),
            None => super::kinds::Kinds::default().scope(group, kind),
        }
    }

    /// Whether a kind lives in namespaces, by where its live objects are; `None` where there are none.
    pub fn seen_scope(&self, cluster: &str, group: &str, kind: &str) -> Option<Scope> {
        self.index(cluster)?.kinds.seen_scope(group, kind)
    }

    /// Whether a cluster serves a kind in a version. A list of API resources in the snapshot is complete; without one, a kind that is
    /// neither seen nor built in is unknown.
    pub fn serves(&self, cluster: &str, group: &str, version: &str, kind: &str) -> Serves {
        match self.index(cluster) {
            Some(index) => index.kinds.serves(group, version, kind),
            None => super::kinds::Kinds::default().serves(group, version, kind),
        }
    }

    /// What a cluster is known to serve, as Helm names it: `apps/v1` and `apps/v1/Deployment`.
    pub fn api_versions(&self, cluster: &str) -> Vec<String> {
        match self.index(cluster) {
            Some(index) => names_of(&index.kinds),
            None => Self::usual_api_versions(),
        }
    }

    /// The same of a cluster of which nothing is known: what every cluster serves.
    pub fn usual_api_versions() -> Vec<String> {
        names_of(&super::kinds::Kinds::default())
    }

    /// A version in which a cluster serves a kind, where the snapshot tells.
    pub fn served_version(&self, cluster: &str, group: &str, kind: &str) -> Option<String> {
        // No kind has an empty version, so that what is served is served in another one.
        match self.serves(cluster, group, "", kind) {
            Serves::OtherVersion(version) => Some(version),
            Serves::Yes | Serves::No | Serves::Unknown => None,
        }
    }

    /// The volume that a claim is bound to: the one it names, else the one whose `claimRef` names it.
    pub fn persistent_volume_of(&self, claim: &LiveObject) -> Option<&Arc<LiveObject>> {
        self.index(&claim.cluster)?.persistent_volume_of(self.objects_of(&claim.cluster), claim)
    }

    fn index(&self, cluster: &str) -> Option<&ClusterIndex> {
        let position = self.indexes.binary_search_by(|index| (*index.server).cmp(cluster)).ok()?;
        self.indexes.get(position)
    }

    fn objects_of(&self, cluster: &str) -> &[Arc<LiveObject>] {
        self.index(cluster).and_then(|index| self.objects.get(index.objects.clone())).unwrap_or_default()
    }
}

/// Source: Argo CD `util/argo/argo.go:APIResourcesToStrings`.
fn names_of(kinds: &super::kinds::Kinds) -> Vec<String> {
    let names = kinds.served().into_iter().flat_map(|(group, version, kind)| {
        let version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        [format!("{version}/{kind}"), version]
    });
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests;
