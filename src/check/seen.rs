//! Which commits of the base a snapshot has not seen.
//!
//! Takes the live Applications with the revisions that Argo CD compared them at; hands on a remark for people.

use std::collections::HashSet;

use serde_json::Value;

use super::applications::Discovered;
use super::sources::Sources;

/// How many commits are looked at.
const LIMIT: usize = 1000;
/// Length of a shortened commit id.
const SHORT: usize = 8;

/// Says how many commits of the base came after the newest revision that any live Application of this repository was compared at. `None`
/// where it is the base, or the history that is here does not tell.
///
/// Source: Argo CD `pkg/apis/application/v1alpha1/types.go:SyncStatus`.
pub(super) fn unseen_commits(discovered: &Discovered, sources: &Sources<'_>) -> Option<String> {
    let live = discovered.inventory.entries.values().filter_map(|entry| Some(&entry.live.as_ref()?.0));
    let revisions = live.flat_map(|application| {
        let listed = application.spec.sources().iter().enumerate();
        let followed = listed.filter(|(_, source)| sources.is_here(source) && sources.pin(source).is_none());
        followed.filter_map(|(index, _)| revision(&application.object, index)).collect::<Vec<_>>()
    });
    let (count, revision) = newest(sources, &revisions.collect())?;
    let commits = if count == 1 { "the last commit".to_owned() } else { format!("the last {count} commits") };
    let short = revision.get(..SHORT).unwrap_or(&revision);
    (count > 0).then(|| format!("the snapshot has not seen {commits} of the base: Argo CD had compared its Applications at {short}"))
}

/// The revision of a source at the last comparison.
fn revision(application: &Value, index: usize) -> Option<String> {
    let sync = application.pointer("/status/sync")?;
    let of_several = sync.get("revisions").and_then(|revisions| revisions.get(index));
    let revision = of_several.or_else(|| sync.get("revision").filter(|_| index == 0))?.as_str()?;
    (!revision.is_empty()).then(|| revision.to_owned())
}

/// How many commits lie between the base and the nearest of some revisions, along the branch.
fn newest(sources: &Sources<'_>, revisions: &HashSet<String>) -> Option<(usize, String)> {
    if revisions.is_empty() {
        return None;
    }
    let repository = &sources.revisions.repository;
    let mut commit = repository.resolve(&sources.revisions.base_name).ok()?;
    for count in 0..LIMIT {
        let id = commit.to_string();
        if revisions.contains(&id) {
            return Some((count, id));
        }
        let first = repository.parents(&commit).ok()?.into_iter().next()?;
        commit = repository.resolve(&first).ok()?;
    }
    None
}
