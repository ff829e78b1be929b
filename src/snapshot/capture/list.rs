//! Lists the objects of one kind, page by page, and puts them aside as they arrive.
//!
//! Takes a kind; hands on the index of its objects and whether they are all.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{Mutex, Semaphore};

use super::choose::{Arrival, Choice, defined_by, owners_of, reads_of};
use super::client::{Client, JSON, Reply, encoded};
use super::discovery::Served;
use super::error::CaptureError;
use super::spool::{Entry, Page, Role, Spool, short};
use crate::manifest::{ResourceKey, metadata_str};
use crate::snapshot::clusters::{SecretLimit, limit_of_secret};
use crate::snapshot::redact::{SecretNames, redact_named};

/// How often a list that grew too old is started again before its rest is taken as it is.
const RESTARTS: usize = 2;

/// Tells somebody how far a capture is.
pub type Watcher = Arc<dyn Fn(Progress) + Send + Sync>;

/// How far a capture is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Lists that are done.
    pub done: usize,
    /// Lists in all.
    pub all: usize,
    /// Objects read so far.
    pub objects: usize,
}

/// What the lists of a capture share.
pub(super) struct Sink {
    pub(super) choice: Choice,
    pub(super) names: SecretNames,
    pub(super) spool: Mutex<Spool>,
    /// Pages in memory at the same time.
    pub(super) pages: Semaphore,
    pub(super) all: AtomicUsize,
    pub(super) done: AtomicUsize,
    pub(super) objects: AtomicUsize,
    pub(super) watcher: Watcher,
}

impl Sink {
    /// An empty one.
    pub(super) fn new(choice: Choice, names: SecretNames, parallel: usize, watcher: Watcher) -> Result<Self, CaptureError> {
        Ok(Self {
            choice,
            names,
            spool: Mutex::new(Spool::new()?),
            pages: Semaphore::new(parallel.max(1)),
            all: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            objects: AtomicUsize::new(0),
            watcher,
        })
    }

    /// Says how far the capture is.
    pub(super) fn tell(&self) {
        let value = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        (self.watcher)(Progress { done: value(&self.done), all: value(&self.all), objects: value(&self.objects) });
    }

    /// Takes an object over: redacts it, looks at it, keeps its text.
    pub(super) fn take(&self, page: &mut Page, cluster: &Arc<str>, mut object: Value) {
        page.limits.extend(limit_of_secret(&object));
        redact_named(&mut object, &self.names);
        let key = match ResourceKey::of(&object) {
            Some(key) if !key.name.is_empty() => key,
            _ => {
                page.left_out.push("an object without kind or name was left out".to_owned());
                return;
            }
        };
        let owners = owners_of(&object);
        match self.choice.on_arrival(&key, &object, !owners.is_empty()) {
            Arrival::OwnersOnly => page.wanted.extend(owners),
            Arrival::Keep(role) => {
                if role != Role::Candidate && (key.is("", "Pod") || key.is("apps", "ReplicaSet")) {
                    page.wanted.extend(&owners);
                }
                let (start, length) = page.text(&object);
                page.entries.push(Entry {
                    cluster: cluster.clone(),
                    start,
                    length,
                    uid: short(metadata_str(&object, "uid").unwrap_or_default()),
                    owners,
                    reads: reads_of(&object),
                    defines: defined_by(&key, &object),
                    role,
                    key,
                });
            }
        }
    }

    /// Puts a page's texts aside.
    pub(super) async fn store(&self, page: &mut Page, objects: usize) -> Result<(), CaptureError> {
        page.store(&mut *self.spool.lock().await)?;
        self.objects.fetch_add(objects, Ordering::Relaxed);
        self.tell();
        Ok(())
    }
}

/// What a list gave.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) entries: Vec<Entry>,
    /// Owners of pods and ReplicaSets.
    pub(super) wanted: Vec<u64>,
    /// Objects that were left out, and why.
    pub(super) left_out: Vec<String>,
    /// What cluster Secrets say about their clusters.
    pub(super) limits: Vec<SecretLimit>,
    /// Why not all objects are there.
    pub(super) missing: Option<String>,
    /// The kind is not served any more.
    pub(super) is_gone: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ListPage<'a> {
    metadata: ListMetadata,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ListMetadata {
    #[serde(rename = "continue")]
    token: Option<String>,
}

/// Lists a kind, in one namespace or in all.
///
/// # Errors
/// Where the server is out of reach or does not know who asks, or there is no room. A refusal of this list is no error.
pub(super) async fn list(
    client: &Client,
    sink: &Sink,
    cluster: &Arc<str>,
    kind: &Served,
    namespace: Option<&str>,
) -> Result<Listing, CaptureError> {
    let path = path_of(kind, namespace);
    let mut listing = Listing::default();
    let mut token = String::new();
    let mut restarts = 0;
    loop {
        let query = if token.is_empty() { String::new() } else { format!("&continue={}", encoded(&token)) };
        let place = sink.pages.acquire().await;
        let reply = client.get(&format!("{path}?limit={}{query}", client.limits().page), JSON).await?;
        let next = match reply.status {
            200 => match add(&reply, sink, cluster, kind, &mut listing).await? {
                Some(next) => next,
                None => {
                    listing.missing = Some("an answer is no list".to_owned());
                    break;
                }
            },
            401 => return Err(CaptureError::Unauthorized { server: client.server().to_owned() }),
            404 => {
                listing.is_gone = true;
                break;
            }
            410 if restarts < RESTARTS => {
                restarts += 1;
                listing = Listing::default();
                token.clear();
                continue;
            }
            // The list grows old faster than it is read: the rest is taken as it is now.
            410 => match offered_token(&reply) {
                Some(offered) if offered != token => {
                    listing.missing = Some("it changed faster than it could be listed, so objects may be missing or old".to_owned());
                    token = offered;
                    continue;
                }
                _ => {
                    listing.missing = Some("it changed faster than it could be listed".to_owned());
                    break;
                }
            },
            _ => {
                listing.missing = Some(reason(&reply));
                break;
            }
        };
        drop(place);
        match next.as_str() {
            "" => break,
            same if same == token => {
                listing.missing = Some("the server gives the same page again and again".to_owned());
                break;
            }
            _ => token = next,
        }
    }
    keep_last_of_each(&mut listing.entries);
    Ok(listing)
}

/// The path of a kind's list.
fn path_of(kind: &Served, namespace: Option<&str>) -> String {
    let resource = &kind.resource;
    let root = match resource.group.as_str() {
        "" => format!("/api/{}", resource.version),
        group => format!("/apis/{group}/{}", resource.version),
    };
    match namespace {
        Some(namespace) => format!("{root}/namespaces/{}/{}", encoded(namespace), kind.plural),
        None => format!("{root}/{}", kind.plural),
    }
}

/// Adds a page; gives the token of the next one, empty at the end, or `None` where the answer is no list.
async fn add(reply: &Reply, sink: &Sink, cluster: &Arc<str>, kind: &Served, listing: &mut Listing) -> Result<Option<String>, CaptureError> {
    let Ok(list) = serde_json::from_slice::<ListPage<'_>>(&reply.body) else { return Ok(None) };
    let resource = &kind.resource;
    let api_version = if resource.group.is_empty() { resource.version.clone() } else { format!("{}/{}", resource.group, resource.version) };
    let items = list.items.unwrap_or_default();
    let mut page = Page::default();
    for item in &items {
        match serde_json::from_str::<Value>(item.get()) {
            Ok(Value::Object(mut object)) => {
                // Items of a list do not repeat their kind.
                object.entry("kind").or_insert_with(|| resource.kind.as_str().into());
                object.entry("apiVersion").or_insert_with(|| api_version.as_str().into());
                sink.take(&mut page, cluster, Value::Object(object));
            }
            _ => page.left_out.push(format!("an object of {} cannot be read", resource.kind)),
        }
    }
    sink.store(&mut page, items.len()).await?;
    listing.entries.append(&mut page.entries);
    listing.wanted.append(&mut page.wanted);
    listing.left_out.append(&mut page.left_out);
    listing.limits.append(&mut page.limits);
    Ok(Some(list.metadata.token.unwrap_or_default()))
}

/// Pages that do not fit together may hold an object twice.
fn keep_last_of_each(entries: &mut Vec<Entry>) {
    entries.sort_by(|a, b| (&a.key, b.start).cmp(&(&b.key, a.start)));
    entries.dedup_by(|later, first| later.key == first.key);
}

/// The token with which the rest of an expired list can be read.
fn offered_token(reply: &Reply) -> Option<String> {
    let status: Value = serde_json::from_slice(&reply.body).ok()?;
    status.pointer("/metadata/continue")?.as_str().filter(|token| !token.is_empty()).map(str::to_owned)
}

/// Why a server refuses, in its own words.
pub(super) fn reason(reply: &Reply) -> String {
    let status: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let words = status.get("message").and_then(Value::as_str).map(str::to_owned);
    let words = words.unwrap_or_else(|| String::from_utf8_lossy(&reply.body).trim().chars().take(200).collect());
    if words.is_empty() { format!("status {}", reply.status) } else { format!("{words} (status {})", reply.status) }
}
