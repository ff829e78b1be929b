//! Whether it is known what an Application has in the cluster before the change.
//!
//! Takes a candidate; hands on why nothing can be said of it. Without a snapshot base stands for the cluster, and a base that cannot be rendered
//! would stand for an empty one: what leaves Git would go unseen.

use super::super::applications::Discovered;
use super::super::sources::{Render, Sources};
use super::candidate::Candidate;
use crate::manifest::Side;
use crate::snapshot::LiveState;

/// What is not judged, where nothing tells what is deployed.
pub(super) fn unknown(candidate: &Candidate<'_>, discovered: &Discovered, sources: &Sources<'_>, live: &LiveState) -> Option<Render> {
    if !live.is_assumed() {
        return None;
    }
    let (of, why) = match &candidate.base {
        Some(base) => ("it".to_owned(), why_unknown(&base.render)?),
        None => {
            // A parent that could not be rendered may have had it all along.
            let parent = candidate.entry.parent()?;
            let before = discovered.effective.get(&(Side::Base, parent.clone()))?;
            (format!("its parent {parent}"), why_unknown(&sources.render(before, Side::Base))?)
        }
    };
    let why =
        format!("what {of} renders before the change is not known ({why}), so nobody can say what it has in the cluster; give a snapshot");
    Some(Render::Unjudged("what the change does".to_owned(), why))
}

fn why_unknown(render: &Render) -> Option<String> {
    match render {
        Render::Done(_) => None,
        Render::Failed(error) => Some(error.message.clone()),
        Render::Unjudged(what, why) => Some(format!("{what}: {why}")),
        Render::NotTracked(revision) => Some(super::super::sources::not_in_this_clone(revision)),
    }
}
