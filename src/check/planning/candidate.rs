//! The Applications that the change may touch, rendered at both sides.
//!
//! Takes what was discovered; hands on [`Candidate`]s.

use std::sync::Arc;

use rayon::prelude::*;

use super::super::applications::Discovered;
use super::super::reach;
use super::super::sources::{Render, Sources};
use crate::argocd::{Application, GeneratePaths};
use crate::inventory::{Definition, Entry};
use crate::manifest::{Manifest, Side};
use crate::plan::World;
use crate::render::Rendered;

/// One Application with what both sides render.
pub(super) struct Candidate<'a> {
    pub(super) entry: &'a Entry,
    /// The change touches something that it reads.
    pub(super) touched: bool,
    /// The change edits the AppProject that it is in.
    pub(super) project_changes: bool,
    /// Its destination is another cluster than before, or none, because a cluster Secret changes.
    pub(super) redirected: bool,
    /// The revision that it follows instead, where the change touches only files that it would read otherwise.
    pub(super) untracked: Option<String>,
    /// Changed files that it reads, where Argo CD will not look because of them.
    pub(super) unnoticed: Vec<Arc<str>>,
    pub(super) base: Option<SideRender>,
    pub(super) head: Option<SideRender>,
}

/// An Application and its render at one side.
pub(super) struct SideRender {
    pub(super) application: Arc<Application>,
    pub(super) render: Render,
}

impl SideRender {
    pub(super) fn manifests(&self) -> &[Arc<Manifest>] {
        match &self.render {
            Render::Done(rendered) => &rendered.manifests,
            _ => &[],
        }
    }

    pub(super) fn rendered(&self) -> Option<&Arc<Rendered>> {
        match &self.render {
            Render::Done(rendered) => Some(rendered),
            _ => None,
        }
    }
}

/// The Applications that the change may touch, rendered at both sides; all where that is wanted.
pub(super) fn candidates<'a>(discovered: &'a Discovered, sources: &Sources<'_>, all: bool) -> Vec<Candidate<'a>> {
    of_entries(discovered.inventory.entries.values().collect(), discovered, sources, all)
}

/// Those of some Applications.
pub(super) fn of_entries<'a>(entries: Vec<&'a Entry>, discovered: &'a Discovered, sources: &Sources<'_>, all: bool) -> Vec<Candidate<'a>> {
    let changes = &sources.revisions.changes;
    entries
        .into_par_iter()
        .filter_map(|entry| {
            let Reach { base, head, paths, is_covered, touched, project_changes, untracked, differs } =
                Reach::of(entry, discovered, sources);
            let redirected = discovered.redirected.contains(&entry.id);
            if !(all || redirected || touched || project_changes || untracked.is_some() || differs || entry.definition_changes()) {
                return None;
            }
            let render = |application: Option<Arc<Application>>, side: Side| {
                let definition = if side == Side::Base { &entry.base } else { &entry.head };
                application.map(|application| SideRender {
                    render: sources.render(&application, side),
                    application: as_synced(application, definition.as_ref()),
                })
            };
            let unnoticed = match &head {
                Some(head) if paths.is_some() && !is_covered && !differs => {
                    sources.inputs(head, Side::Head).changed(changes).into_iter().cloned().collect()
                }
                _ => Vec::new(),
            };
            Some(Candidate {
                entry,
                touched,
                project_changes,
                redirected,
                untracked,
                unnoticed,
                base: render(base, Side::Base),
                head: render(head, Side::Head),
            })
        })
        .collect()
}

/// An Application whose syncs its set starts is synced as that does it.
fn as_synced(application: Arc<Application>, definition: Option<&Definition>) -> Arc<Application> {
    let Some(rolled) = definition.and_then(|definition| definition.generated.as_ref()?.rolled.clone()) else { return application };
    let mut application = Arc::unwrap_or_clone(application);
    application.spec.sync_policy.automated = Some(rolled);
    Arc::new(application)
}

/// Whether an Application may be planned though not all are wanted.
pub(in crate::check) fn may_be_planned(application: &Application, discovered: &Discovered, sources: &Sources<'_>) -> bool {
    discovered.inventory.entries.get(&application.id).is_none_or(|entry| {
        if discovered.redirected.contains(&entry.id) {
            return true;
        }
        let reach = Reach::of(entry, discovered, sources);
        reach.touched || reach.project_changes || reach.untracked.is_some() || reach.differs || entry.definition_changes()
    })
}

/// How the change reaches an Application.
struct Reach {
    base: Option<Arc<Application>>,
    head: Option<Arc<Application>>,
    paths: Option<GeneratePaths>,
    /// Whether its own list of paths names a file that changes.
    is_covered: bool,
    /// Whether something changes that it reads.
    touched: bool,
    /// Whether the AppProject that it is in says something else.
    project_changes: bool,
    /// The revision that keeps the change from it.
    untracked: Option<String>,
    /// Whether it is another Application afterwards.
    differs: bool,
}

impl Reach {
    fn of(entry: &Entry, discovered: &Discovered, sources: &Sources<'_>) -> Self {
        let changes = &sources.revisions.changes;
        let side = |side: Side| discovered.effective.get(&(side, entry.id.clone())).cloned();
        let (base, head) = (side(Side::Base), side(Side::Head));
        let reads_changed = |application: &Option<Arc<Application>>, side: Side| {
            application.as_ref().is_some_and(|application| sources.inputs(application, side).touched_by(changes))
        };
        let paths = head.as_deref().and_then(reach::generate_paths);
        let is_covered = paths.as_ref().is_some_and(|paths| changes.touched().iter().any(|file| paths.covers(file)));
        // What the file names counts although another source is in effect: somebody edits in vain.
        let in_vain = |definition: &Option<Definition>, in_effect: &Option<Arc<Application>>, side: Side| {
            let (Some(definition), Some(in_effect)) = (definition, in_effect) else { return false };
            let named = &definition.application;
            named.spec.sources() != in_effect.spec.sources() && sources.inputs(named, side).touched_by(changes)
        };
        let touched = is_covered
            || head.as_ref().is_some_and(|head| sources.is_stopped_by_a_new_link(head))
            || reads_changed(&head, Side::Head)
            || reads_changed(&base, Side::Base)
            || in_vain(&entry.head, &head, Side::Head)
            || in_vain(&entry.base, &base, Side::Base);
        let in_changed = |application: &Arc<Application>| discovered.changed_projects.contains(&application.spec.project);
        let project_changes = base.is_some() && head.as_ref().is_some_and(in_changed);
        // A change that moves the revision reaches the Application by that.
        let is_moved = |head: &Application| base.as_ref().is_some_and(|base| base.spec.sources() != head.spec.sources());
        let untracked = head.as_ref().filter(|head| !is_moved(head)).and_then(|head| sources.untracked(head));
        let differs = match (&base, &head) {
            (Some(base), Some(head)) => base.object != head.object,
            _ => true,
        };
        Self { base, head, paths, is_covered, touched, project_changes, untracked, differs }
    }
}

/// CustomResourceDefinitions that a side renders.
pub(super) fn custom_definitions(candidates: &[Candidate<'_>], side: Side) -> Vec<Arc<Manifest>> {
    let of_side = candidates.iter().filter_map(|candidate| match side {
        Side::Base => candidate.base.as_ref(),
        Side::Head => candidate.head.as_ref(),
    });
    of_side
        .flat_map(SideRender::manifests)
        .filter(|manifest| manifest.key.is("apiextensions.k8s.io", "CustomResourceDefinition"))
        .map(Arc::clone)
        .collect()
}

/// Whether anything of the Application differs between the sides.
pub(super) fn is_affected(candidate: &Candidate<'_>) -> bool {
    let (Some(base), Some(head)) = (&candidate.base, &candidate.head) else { return true };
    if candidate.entry.definition_changes()
        || base.application.object != head.application.object
        || candidate.untracked.is_some()
        || candidate.redirected
    {
        return true;
    }
    match (&base.render, &head.render) {
        (Render::Done(base), Render::Done(head)) => {
            base.manifests.len() != head.manifests.len()
                || base.manifests.iter().zip(&head.manifests).any(|(before, after)| before.object != after.object)
                || base.duplicate_keys.len() != head.duplicate_keys.len()
        }
        // What it renders to is not known.
        _ => candidate.touched,
    }
}

/// The cluster that the Application is on so far, where that is another one.
pub(super) fn previous_server(candidate: &Candidate<'_>, world: &World<'_>) -> Option<Arc<str>> {
    let head = world.server(&candidate.head.as_ref()?.application.spec.destination).ok()?;
    let before = match &candidate.entry.live {
        Some((live, _)) => &live.spec.destination,
        None => &candidate.base.as_ref()?.application.spec.destination,
    };
    world.server_before(before).ok().filter(|before| *before != head)
}
