//! Kinds of which a snapshot that kubectl printed holds nothing: nobody may have asked for them.
//!
//! Takes what both sides render; hands on what is not known of objects that leave Git.

use std::collections::{BTreeMap, BTreeSet};

use super::candidate::{Candidate, SideRender};
use crate::finding::Unjudged;
use crate::manifest::ResourceKey;
use crate::snapshot::LiveState;

/// Objects that leave Git and are of a kind of which the snapshot holds nothing, one entry a kind.
pub(super) fn kinds(candidate: &Candidate<'_>, server: &str, live: &LiveState) -> Vec<Unjudged> {
    let tells = live
        .cluster_by_server(server)
        .is_some_and(|cluster| cluster.api_resources.is_some() || cluster.kinds_complete || cluster.only_managed);
    if tells || live.is_assumed() || !live.covers(server) || candidate.entry.live.is_none() {
        return Vec::new();
    }
    let keys = |side: &Option<SideRender>| -> BTreeSet<ResourceKey> {
        let manifests = side.as_ref().map(SideRender::manifests).unwrap_or_default();
        manifests.iter().map(|manifest| manifest.key.clone()).collect()
    };
    let (base, head) = (keys(&candidate.base), keys(&candidate.head));
    let mut unseen: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for key in base.difference(&head).filter(|key| live.of_kind(server, &key.group, &key.kind).is_empty()) {
        unseen.entry((&key.group, &key.kind)).or_default().push(key.named());
    }
    let entry = |((_, kind), names): ((&str, &str), Vec<String>)| Unjudged {
        application: Some(candidate.entry.id.to_string()),
        what: format!("live objects of kind {kind}"),
        why: format!(
            "the snapshot holds none, so that it is not known whether {} {} live; add them to the `kubectl get` that made it",
            names.join(", "),
            if names.len() == 1 { "is" } else { "are" }
        ),
    };
    unseen.into_iter().map(entry).collect()
}
