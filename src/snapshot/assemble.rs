//! From raw objects to live state: settings, owners, tracking, order, indexes.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use serde_json::Value;

use super::clusters::{self, ClusterInfo, Clusters, SecretLimit};
use super::index::ClusterIndex;
use super::intern::Interner;
use super::live::{Body, LiveObject, LiveState, Make, SnapshotSource};
use super::owners::{self, ClaimTemplates, Owner};
use super::peek::Peek;
use super::settings::Stated;
use crate::argocd::Settings;
use crate::argocd::names::IN_CLUSTER_SERVER;
use crate::manifest::key::split_api_version;
use crate::manifest::{Content, ResourceKey};

/// How many objects one thread takes at a time.
const CHUNK: usize = 2048;

/// An object that is not indexed yet.
pub(super) struct Raw {
    /// Server URL of its cluster.
    pub(super) cluster: Arc<str>,
    pub(super) body: Body,
}

/// What all sources together say.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) objects: Vec<Raw>,
    pub(super) stated: Stated,
    pub(super) clusters: Vec<ClusterInfo>,
    pub(super) sources: Vec<SnapshotSource>,
    pub(super) incomplete: Vec<String>,
    pub(super) unlisted_applications: BTreeSet<String>,
    /// Limits from cluster Secrets, with the clusters that hold these Secrets.
    pub(super) limits: Vec<(Arc<str>, SecretLimit)>,
}

/// What a caller knows of an object that stands in for a live one.
#[derive(Clone)]
pub struct AssumedObject {
    /// Server URL of the cluster it goes to.
    pub cluster: Arc<str>,
    /// Its identity there, with the namespace filled in.
    pub key: ResourceKey,
    /// The object as it is rendered.
    pub rendered: Content,
    /// Makes the object as it is applied, which differs from the rendered one in namespace, tracking and the note of what was applied.
    pub applied: Make,
    /// Instance name of the Application that applies it.
    pub instance: Option<Arc<str>>,
}

impl AssumedObject {
    /// An object that is applied just as it is rendered.
    pub fn as_is(key: ResourceKey, cluster: Arc<str>, object: Arc<Value>, instance: Option<Arc<str>>) -> Self {
        let rendered = Arc::clone(&object).into();
        Self { cluster, key, rendered, applied: Arc::new(move || Value::clone(&object)), instance }
    }
}

impl LiveState {
    /// State in which the base revision's targets stand in for live objects. Of two with the same key the last one stays.
    pub fn assumed(objects: impl IntoIterator<Item = AssumedObject>) -> Self {
        Self { assumed: true, ..build(live_objects(objects), Settings::default(), Parts::default()) }
    }

    /// The same state with assumed objects where it has none.
    pub fn with_assumed(self, objects: Vec<AssumedObject>) -> Self {
        let mut missing = live_objects(objects.into_iter().filter(|object| self.get(&object.cluster, &object.key).is_none()));
        if missing.is_empty() {
            return self;
        }
        let known = self.objects.into_iter().map(|object| {
            Arc::try_unwrap(object).unwrap_or_else(|shared| LiveObject {
                key: shared.key.clone(),
                version: shared.version.clone(),
                cluster: shared.cluster.clone(),
                uid: shared.uid.clone(),
                owners: shared.owners.clone(),
                tracking: shared.tracking.clone(),
                body: shared.body.unparsed(),
            })
        });
        missing.extend(known);
        let parts = Parts {
            clusters: self.clusters.list().to_vec(),
            sources: self.sources,
            incomplete: self.incomplete,
            unlisted_applications: self.unlisted_applications,
            ..Parts::default()
        };
        Self { knows_argocd: self.knows_argocd, covered: self.covered, ..build(missing, self.settings, parts) }
    }
}

fn live_objects(objects: impl IntoIterator<Item = AssumedObject>) -> Vec<LiveObject> {
    let mut interner = Interner::default();
    let live = objects.into_iter().map(|assumed| {
        let unread = assumed.rendered.unread_heading().and_then(|text| Peek::text(text).ok());
        let peek = unread.unwrap_or_else(|| Peek::value(assumed.rendered.heading()));
        LiveObject {
            version: interner.get(split_api_version(&peek.api_version).1),
            uid: None,
            owners: owners::of(&peek, &assumed.key.group, &mut interner),
            key: assumed.key,
            cluster: assumed.cluster,
            tracking: assumed.instance,
            body: Body::Made { make: assumed.applied, made: OnceLock::new() },
        }
    });
    live.collect()
}

/// The clusters that sources speak for: those with objects, with a list of kinds, or named as a source's own.
fn covered(objects: &[Arc<LiveObject>], clusters: &Clusters, sources: &[SnapshotSource]) -> BTreeSet<Arc<str>> {
    let with_objects = objects.chunk_by(|a, b| a.cluster == b.cluster).filter_map(<[_]>::first).map(|object| object.cluster.clone());
    let is_told = |cluster: &&ClusterInfo| cluster.api_resources.is_some() || cluster.kinds_complete || cluster.only_managed;
    let told = clusters.list().iter().filter(is_told).map(|cluster| cluster.server.clone());
    with_objects.chain(told).chain(sources.iter().map(|source| source.cluster.as_str().into())).collect()
}

impl Default for LiveState {
    /// No objects, default settings.
    fn default() -> Self {
        build(Vec::new(), Settings::default(), Parts::default())
    }
}

/// Indexes the objects of all sources.
pub(super) fn assemble(mut parts: Parts) -> LiveState {
    let raw = std::mem::take(&mut parts.objects);
    let peeks: Vec<Result<Peek<'_>, String>> = raw.par_iter().with_min_len(CHUNK).map(|raw| peek(&raw.body)).collect();
    let known_settings = {
        let in_cluster = raw.iter().zip(&peeks).filter(|(raw, _)| &*raw.cluster == IN_CLUSTER_SERVER);
        let config_maps = in_cluster.filter_map(|(raw, peek)| peek.as_ref().ok().map(|peek| (&raw.body, peek)));
        std::mem::take(&mut parts.stated).settings(config_maps, &mut parts.incomplete)
    };
    let knows_argocd = known_settings.is_some();
    let settings = known_settings.unwrap_or_default();
    let made: Vec<(Vec<LiveObject>, Vec<String>)> = raw
        .par_chunks(CHUNK)
        .zip(peeks.par_chunks(CHUNK))
        .map(|(raw, peeks)| {
            let mut interner = Interner::default();
            let (mut objects, mut unreadable) = (Vec::with_capacity(raw.len()), Vec::new());
            for (raw, peek) in raw.iter().zip(peeks) {
                match peek.as_ref().map_err(Clone::clone).and_then(|peek| live_object(raw, peek, &settings, &mut interner)) {
                    Ok(object) => objects.push(object),
                    Err(why) => unreadable.push(why),
                }
            }
            (objects, unreadable)
        })
        .collect();
    drop(peeks);
    let mut objects = Vec::with_capacity(raw.len());
    for (some, unreadable) in made {
        objects.extend(some);
        parts.incomplete.extend(unreadable);
    }
    LiveState { knows_argocd, ..build(objects, settings, parts) }
}

fn peek(body: &Body) -> Result<Peek<'_>, String> {
    match body {
        Body::Shared(value) => Ok(Peek::value(value)),
        Body::Made { make, made } => Ok(Peek::value(made.get_or_init(|| make()))),
        Body::Text { arena, range, .. } => Peek::text(arena.get(range.clone()).unwrap_or_default())
            .map_err(|error| format!("an object cannot be read: {}", without_position(&error))),
    }
}

/// The message of a JSON error; its position would count within the object and not within the file.
fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.split(" at line ").next().unwrap_or_default().to_owned()
}

fn live_object(raw: &Raw, peek: &Peek<'_>, settings: &Settings, interner: &mut Interner) -> Result<LiveObject, String> {
    let (group, version) = split_api_version(&peek.api_version);
    let metadata = &peek.metadata;
    if let Some(why) = peek.why_nameless() {
        return Err(why);
    }
    let instance = settings.tracking.instance_from(|name| metadata.labels.get(name), |name| metadata.annotations.get(name));
    Ok(LiveObject {
        key: ResourceKey {
            group: interner.get(group),
            kind: interner.get(&peek.kind),
            namespace: interner.get(&metadata.namespace),
            name: (*metadata.name).into(),
        },
        version: interner.get(version),
        cluster: raw.cluster.clone(),
        uid: (!metadata.uid.is_empty()).then(|| (*metadata.uid).into()),
        owners: owners::of(peek, group, interner),
        tracking: instance.map(|instance| interner.get(&instance)),
        body: raw.body.unparsed(),
    })
}

fn build(mut objects: Vec<LiveObject>, settings: Settings, parts: Parts) -> LiveState {
    let Parts { mut incomplete, sources, clusters: mut statements, unlisted_applications, limits, .. } = parts;
    objects.par_sort_by(|a, b| (&a.cluster, &a.key).cmp(&(&b.cluster, &b.key)));
    keep_last_of_each(&mut objects, &mut incomplete);
    own_claims(&mut objects);
    let objects: Vec<Arc<LiveObject>> = objects.into_iter().map(Arc::new).collect();

    let secrets = objects.iter().filter(|object| object.key.is("", "Secret") && *object.key.namespace == *settings.namespace);
    statements.extend(
        secrets.filter(|object| &*object.cluster == IN_CLUSTER_SERVER).filter_map(|object| clusters::from_secret(&object.glance())),
    );
    let counts = |cluster: &str, limit: &SecretLimit| cluster == IN_CLUSTER_SERVER && limit.secret_namespace == settings.namespace;
    statements.extend(limits.into_iter().filter(|(cluster, limit)| counts(cluster, limit)).map(|(_, found)| ClusterInfo {
        server: found.server.into(),
        limit: Some(found.limit),
        ..ClusterInfo::default()
    }));
    let clusters = Clusters::new(statements, &settings);

    let mut indexes = Vec::new();
    let mut start = 0;
    for same in objects.chunk_by(|a, b| a.cluster == b.cluster) {
        if let [first, ..] = same {
            let unknown = ClusterInfo { server: first.cluster.clone(), ..ClusterInfo::default() };
            indexes.push(ClusterIndex::new(clusters.by_server(&first.cluster).unwrap_or(&unknown), same, start));
        }
        start += same.len();
    }
    let with_objects: BTreeSet<Arc<str>> = indexes.iter().map(|index: &ClusterIndex| index.server.clone()).collect();
    for cluster in clusters.list().chunk_by(|a, b| a.server == b.server).filter_map(<[_]>::first) {
        if !with_objects.contains(&cluster.server) {
            indexes.push(ClusterIndex::new(cluster, &[], start));
        }
    }
    indexes.sort_by(|a, b| a.server.cmp(&b.server));
    let covered = covered(&objects, &clusters, &sources);
    LiveState {
        covered,
        settings,
        knows_argocd: false,
        clusters,
        sources,
        incomplete,
        unlisted_applications,
        assumed: false,
        objects,
        indexes,
    }
}

/// Of objects with the same key the last one stays; it is said where they differ.
fn keep_last_of_each(objects: &mut Vec<LiveObject>, incomplete: &mut Vec<String>) {
    objects.reverse();
    objects.dedup_by(|earlier, last| {
        let same = earlier.cluster == last.cluster && earlier.key == last.key;
        // Two Applications that render one object mark it each with their own name.
        let rendered_twice = earlier.uid.is_none() && last.uid.is_none() && earlier.tracking != last.tracking;
        if same && !rendered_twice && earlier.object() != last.object() {
            incomplete.push(format!("{} is there twice with different content; the last one counts", last.key));
        }
        same
    });
    objects.reverse();
}

/// Adds the inferred owners that only the whole cluster shows: the StatefulSets of claims.
fn own_claims(objects: &mut [LiveObject]) {
    for same in objects.chunk_by_mut(|a, b| a.cluster == b.cluster) {
        let mut templates = ClaimTemplates::default();
        let statefulsets = |object: &&LiveObject| &*object.key.kind == "StatefulSet" && matches!(&*object.key.group, "apps" | "extensions");
        for object in same.iter().filter(statefulsets) {
            let owner = Owner {
                group: object.key.group.clone(),
                kind: object.key.kind.clone(),
                name: object.key.name.clone(),
                uid: object.uid.clone().unwrap_or_default(),
                controller: false,
                inferred: true,
            };
            let content = object.glance();
            let names = content.pointer("/spec/volumeClaimTemplates").and_then(Value::as_array).into_iter().flatten();
            templates.add(&object.key.namespace, &owner, names.filter_map(|template| template["metadata"]["name"].as_str()));
        }
        for claim in same.iter_mut().filter(|object| object.key.is("", "PersistentVolumeClaim")) {
            for owner in templates.owners_of(&claim.key.namespace, &claim.key.name) {
                if !claim.owners.contains(&owner) {
                    claim.owners.push(owner);
                }
            }
        }
    }
}
