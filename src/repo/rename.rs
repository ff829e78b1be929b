//! Pairs files that are gone with new ones of the same or similar contents, by Git's rules as gix has them.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use gix::ObjectId;
use gix::bstr::BStr;
use gix::diff::Rewrites;
use gix::diff::rewrites::Tracker;
use gix::diff::rewrites::tracker::{Change as TrackedChange, ChangeKind};
use gix::diff::tree::visit::Relation;
use gix::objs::tree::{EntryKind as GitKind, EntryMode};
use gix::objs::{Data, Find, FindHeader, Header, Kind};

use super::tree::{ContentId, Entry, EntryKind, Tree};

/// Contents must agree by at least this share, as in `git diff --find-renames`.
const SIMILARITY: f32 = 0.5;

/// With more pairs than this number squared, only equal contents are paired.
const LIMIT: usize = 200;

/// Larger contents are not compared.
const COMPARE_LIMIT: u64 = 1 << 20;

/// The old path of each new path that has one.
pub(super) fn pair(base: &Tree, head: &Tree, removed: &[&Entry], added: &[&Entry]) -> BTreeMap<Arc<str>, Arc<str>> {
    let mut renames = BTreeMap::new();
    if removed.is_empty() || added.is_empty() {
        return renames;
    }
    let contents = Contents { base, head, repo: head.repository().local() };
    let all = |_: &Entry| true;
    pair_by(None, removed, added, &contents, all, &mut renames);

    let olds: BTreeSet<Arc<str>> = renames.values().cloned().collect();
    let removed: Vec<_> = removed.iter().copied().filter(|entry| !olds.contains(&entry.path)).collect();
    let added: Vec<_> = added.iter().copied().filter(|entry| !renames.contains_key(&entry.path)).collect();
    if removed.len().saturating_mul(added.len()) <= LIMIT * LIMIT {
        pair_by(Some(SIMILARITY), &removed, &added, &contents, |entry| contents.can_compare(entry), &mut renames);
    }
    renames
}

/// One pass of pairing. A failure leaves the rest unpaired.
fn pair_by(
    percentage: Option<f32>,
    removed: &[&Entry],
    added: &[&Entry],
    contents: &Contents<'_>,
    is_candidate: impl Fn(&Entry) -> bool,
    renames: &mut BTreeMap<Arc<str>, Arc<str>>,
) {
    let mut tracker = Tracker::new(Rewrites { copies: None, percentage, limit: LIMIT, track_empty: false });
    let mut counts = [0, 0];
    for (position, (entries, kind)) in [(removed, ChangeKind::Deletion), (added, ChangeKind::Addition)].into_iter().enumerate() {
        for entry in entries.iter().filter(|entry| entry.kind != EntryKind::Submodule && is_candidate(entry)) {
            let item = Item { path: Arc::clone(&entry.path), id: entry.id.0, kind, mode: entry.kind.to_git() };
            tracker.try_push_change(item, BStr::new(entry.path.as_bytes()));
            if let Some(count) = counts.get_mut(position) {
                *count += 1;
            }
        }
    }
    if counts.contains(&0) {
        return;
    }
    let Ok(mut cache) = contents.repo.diff_resource_cache_for_tree_diff() else { return };
    // What was paired before a failure stays; no verdict depends on the rest.
    let _ = tracker.emit(
        |destination, source| {
            if let Some(source) = source {
                renames.insert(destination.change.path, Arc::clone(&source.change.path));
            }
            ControlFlow::Continue(())
        },
        &mut cache,
        contents,
        |_| Ok::<_, Infallible>(()),
    );
}

/// An entry as gix tracks it.
#[derive(Clone)]
struct Item {
    path: Arc<str>,
    id: ObjectId,
    kind: ChangeKind,
    mode: GitKind,
}

impl TrackedChange for Item {
    fn id(&self) -> &gix::oid {
        &self.id
    }

    fn relation(&self) -> Option<Relation> {
        None
    }

    fn kind(&self) -> ChangeKind {
        self.kind
    }

    fn entry_mode(&self) -> EntryMode {
        self.mode.into()
    }

    fn id_and_entry_mode(&self) -> (&gix::oid, EntryMode) {
        (&self.id, self.mode.into())
    }
}

/// The object database, and before it what was seen in the working tree only.
struct Contents<'t> {
    base: &'t Tree,
    head: &'t Tree,
    repo: gix::Repository,
}

impl Contents<'_> {
    fn held(&self, id: &gix::oid) -> Option<&Arc<[u8]>> {
        let id = ContentId(id.to_owned());
        self.head.held_in_memory(&id).or_else(|| self.base.held_in_memory(&id))
    }

    fn can_compare(&self, entry: &Entry) -> bool {
        let size = self.try_header(&entry.id.0).ok().flatten().map(|header| header.size);
        size.is_some_and(|size| size <= COMPARE_LIMIT)
    }
}

impl Find for Contents<'_> {
    fn try_find<'a>(&self, id: &gix::oid, buffer: &'a mut Vec<u8>) -> gix::Result<Option<Data<'a>>> {
        match self.held(id) {
            Some(contents) => {
                buffer.clear();
                buffer.extend_from_slice(contents);
                Ok(Some(Data { kind: Kind::Blob, object_hash: id.kind(), data: buffer }))
            }
            None => self.repo.objects.try_find(id, buffer),
        }
    }
}

impl FindHeader for Contents<'_> {
    fn try_header(&self, id: &gix::oid) -> gix::Result<Option<Header>> {
        match self.held(id) {
            Some(contents) => Ok(Some(Header { kind: Kind::Blob, size: contents.len() as u64 })),
            None => FindHeader::try_header(&self.repo.objects, id),
        }
    }
}
