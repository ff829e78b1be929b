//! Whether a change reaches an Application at all: its revision, and the paths that make Argo CD look.
//!
//! Takes what the two sides render; hands on conditions for the plan.

use std::borrow::Cow;
use std::sync::Arc;

use super::planning::planned_mode;
use super::sources::{Render, not_in_this_clone};
use crate::argocd::names::GROUP;
use crate::argocd::{Application, GeneratePaths};
use crate::manifest::ResourceKey;
use crate::plan::application::{self, Input};
use crate::plan::{Condition, SyncPlan, World};

/// The paths that make Argo CD look at an Application again; `None` where every commit does.
pub(super) fn generate_paths(application: &Application) -> Option<GeneratePaths> {
    let sources = application.spec.dry_sources();
    GeneratePaths::of(application, sources.iter().map(|source| source.path.as_str()))
}

/// The plan of an Application whose source does not follow the base branch: nothing of the change reaches it.
pub(super) fn not_tracked(input: &Input<'_>, world: &World<'_>, revision: &str) -> SyncPlan {
    let mode = planned_mode(&input.application, world.live);
    let condition = untracked(input, revision);
    let server = world.server(&input.application.spec.destination).unwrap_or_default();
    application::stopped(input, server, world, mode, condition.message.clone(), vec![condition])
}

/// What rendering gave; not judged where the change makes the Application follow a revision that this clone does not have.
pub(super) fn followed<'r>(render: &'r Render, base: Option<&Application>, head: &Application) -> Cow<'r, Render> {
    match render {
        Render::NotTracked(revision) if base.is_none_or(|base| base.spec.sources() != head.spec.sources()) => {
            let what = format!("the source at {revision}, which the change makes it follow");
            Cow::Owned(Render::Unjudged(what, not_in_this_clone(revision)))
        }
        render => Cow::Borrowed(render),
    }
}

/// That the change does not reach the Application.
pub(super) fn untracked(input: &Input<'_>, revision: &str) -> Condition {
    let message = format!("the Application tracks {revision}, so this change does not reach it");
    condition_of(input, "RevisionNotTracked", message)
}

/// That the change reaches the Application without a merge.
pub(super) fn already(input: &Input<'_>, branch: &str) -> Condition {
    let message = format!("the Application tracks {branch}, the branch of this change: all of this happens before the merge");
    condition_of(input, "FollowsTheChange", message)
}

/// That Argo CD will not notice the change, where that is so and the change makes a difference.
pub(super) fn unnoticed(files: &[Arc<str>], input: &Input<'_>) -> Option<Condition> {
    if input.rendered.len() == input.rendered_at_base.len() && same_objects(input) {
        return None;
    }
    let (first, others) = files.split_first()?;
    let files = if others.is_empty() { first.to_string() } else { format!("{first} and {} more", others.len()) };
    Some(condition_of(input, "GeneratePathsMissChange", files))
}

fn same_objects(input: &Input<'_>) -> bool {
    input.rendered.iter().zip(input.rendered_at_base).all(|(head, base)| head.object == base.object)
}

fn condition_of(input: &Input<'_>, kind: &'static str, message: String) -> Condition {
    let key = ResourceKey::new(GROUP, "Application", &input.application.id.namespace, &input.application.id.name);
    Condition { kind, message, key: Some(key), origin: input.origin.clone() }
}
