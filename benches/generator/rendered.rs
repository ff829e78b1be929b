//! What Git renders for a fleet's Applications, and their plans, without the rest of the check.
//!
//! Takes a [`Fleet`]; hands on Applications with their manifests, and plans them.

use std::collections::BTreeMap;
use std::sync::Arc;

use presync::argocd::names::{GROUP, SKIP_FILE_RENDERING};
use presync::argocd::{Application, Project};
use presync::inventory::scan::{self, CandidateKind};
use presync::manifest::{Manifest, Side};
use presync::plan::application::{self, Input};
use presync::plan::attempt::Revision;
use presync::plan::{SyncPlan, World};
use presync::render::directory::{self, Selection};
use presync::repo::{Kept, Parser, Repository};
use presync::snapshot::LiveState;

use super::{Fleet, Result};

/// An Application and what Git renders for it.
pub(crate) struct Rendered {
    /// The Application.
    pub(crate) application: Arc<Application>,
    /// Its manifests.
    pub(crate) manifests: Vec<Arc<Manifest>>,
}

/// All Applications of the fleet's working tree.
pub(crate) fn of(fleet: &Fleet) -> Result<Vec<Rendered>> {
    let tree = Repository::discover(&fleet.root)?.worktree()?;
    let parser = Parser::new(SKIP_FILE_RENDERING, GROUP, Kept::default());
    let candidates = scan::scan(&tree, Side::Head, &parser);
    let mut rendered = Vec::new();
    for candidate in candidates.iter().filter(|candidate| candidate.kind == CandidateKind::Application) {
        let application = Application::read(Arc::clone(candidate.manifest.object.shared()), "argocd")?;
        let source = application.spec.sources().first().ok_or("an Application has no source")?;
        let found =
            directory::render(&Selection::new(source.directory.as_ref()), &tree, &source.path, Side::Head, &parser, &BTreeMap::new());
        let manifests = found.map_err(|stop| format!("{stop:?}"))?.manifests;
        rendered.push(Rendered { application: Arc::new(application), manifests });
    }
    Ok(rendered)
}

/// What the Applications share.
pub(crate) fn world<'a>(live: &'a LiveState, rendered: &[Rendered]) -> World<'a> {
    let manifests = rendered.iter().flat_map(|one| &one.manifests);
    let projects = manifests.filter_map(|manifest| Project::read(&manifest.object)).map(|project| (project.name.clone(), project));
    World::new(live, projects.collect(), &[])
}

/// The plan of one Application.
pub(crate) fn plan(one: &Rendered, world: &World<'_>) -> SyncPlan {
    let input = Input {
        application: Arc::clone(&one.application),
        origin: None,
        rendered: &one.manifests,
        rendered_at_base: &one.manifests,
        previous_server: None,
        revision: Revision::New,
    };
    application::plan(&input, world)
}
