//! Renders Applications at one side of the change, each source once.
//!
//! Takes Applications; hands on their manifests, or why there are none.

mod cluster;
mod known;
mod missing;
mod parts;
mod references;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use self::cluster::{capabilities, settings};
use self::known::{Known, Reads};
use self::missing::missing;
use super::clones::Clones;
use super::configuration;
use super::options::Options;
use super::revisions::Revisions;
use crate::argocd::names::{GROUP, IN_CLUSTER_NAME, IN_CLUSTER_SERVER, SKIP_FILE_RENDERING};
use crate::argocd::{Application, Source};
use crate::config::{Config, Program};
use crate::finding::{Bugs, Patterns, bug};
use crate::inventory::scan::APPLICATION_CHART;
use crate::manifest::{Manifest, Side};
use crate::render::charts::Fetched;
use crate::render::directory::Selections;
use crate::render::jsonnet::Imports;
use crate::render::program::{Limits, Versions};
use crate::render::scratch::Scratch;
use crate::render::{
    Cache, Capabilities, Charts, Identity, Inputs, Job, Key, Reference, RenderError, Rendered, Request, SourceKind, Stop, Wanted, Workshop,
};
use crate::repo::follow::Pin;
use crate::repo::{Follows, Kept, LinkTarget, MergeTarget, Parser, RepoUrl, Revision, Tree, clean_path, revision_follows};
use crate::snapshot::{ClusterInfo, LiveState};

/// What rendering an Application at one side gives.
#[derive(Clone, Debug)]
pub(super) enum Render {
    /// Its manifests.
    Done(Arc<Rendered>),
    /// Argo CD could not generate manifests.
    Failed(Arc<RenderError>),
    /// The source follows another branch or is pinned: the change does not reach it.
    NotTracked(String),
    /// presync does not render this: what, and why.
    Unjudged(String, String),
}

/// What a job gave, and at which side.
type Made = (Side, Result<Arc<Rendered>, Stop>);

/// Renders sources, and remembers what it rendered.
pub(super) struct Sources<'a> {
    /// The two sides.
    pub(super) revisions: &'a Revisions,
    /// What all renders share.
    pub(super) workshop: Workshop,
    capabilities: BTreeMap<Arc<str>, Capabilities>,
    known: Known,
    /// Each result is made once, whoever asks for it first.
    jobs: Mutex<HashMap<Key, Arc<OnceLock<Made>>>>,
    /// Files out of which Applications are taken; none where all are.
    pub(super) roots: Patterns,
    /// Local clones of other repositories.
    pub(super) clones: Clones,
    /// The clusters that the configuration names.
    pub(super) clusters: Vec<ClusterInfo>,
    broken_links: [Option<String>; 2],
    /// Mistakes of presync's own.
    pub(super) bugs: Bugs,
    /// Which repository URLs are this repository.
    judged_urls: Mutex<HashMap<String, bool>>,
    /// What revisions and tag prefixes follow.
    pins: Mutex<HashMap<(String, String), Option<Follows>>>,
    /// Files and commit of revisions that sources are pinned to, as far as this clone has them.
    pinned: Mutex<HashMap<String, Option<(Tree, String)>>>,
}

impl<'a> Sources<'a> {
    /// Nothing rendered yet.
    pub(super) fn new(
        revisions: &'a Revisions,
        options: &Options,
        config: &Config,
        clones: Clones,
        live: Option<&LiveState>,
        kept: Kept,
    ) -> Self {
        let broken = |side: Side| {
            let links = revisions.tree(side).out_of_bounds_links().ok()?;
            links.first().map(|link| format!("{} points to {}", link.path, link.target))
        };
        Self {
            revisions,
            workshop: Workshop {
                parser: Parser::new(SKIP_FILE_RENDERING, GROUP, kept),
                imports: Imports::default(),
                selections: Selections::default(),
                scratch: Scratch::default(),
                charts: Charts::new(options.cache.as_deref(), options.programs.helm_access().clone()),
                programs: options.programs.clone().named(
                    program(&config.tools.helm),
                    program(&config.tools.kustomize),
                    program(&config.tools.kubectl),
                ),
                versions: Versions::default(),
                plugins: config.plugins.iter().map(|(name, command)| (name.clone(), command.0.clone())).collect(),
                limits: Limits { calls: options.programs.calls().clone(), ..Limits::default() },
                cache: options.cache.as_deref().map(Cache::new),
                offline: options.offline,
                settings: settings(config, live),
                settings_known: live.is_some_and(LiveState::knows_argocd),
            },
            capabilities: live.map(capabilities).unwrap_or_default(),
            known: Known::default(),
            jobs: Mutex::default(),
            roots: config.roots.clone(),
            clones,
            clusters: configuration::clusters(config),
            broken_links: [broken(Side::Base), broken(Side::Head)],
            bugs: Bugs::default(),
            judged_urls: Mutex::default(),
            pins: Mutex::default(),
            pinned: Mutex::default(),
        }
    }

    /// What is left when all is rendered, and takes long to free. Temporary folders are gone when this returns.
    pub(super) fn into_remains(self) -> impl Send + 'static {
        (self.workshop.parser, self.known, self.jobs)
    }

    /// Whether a source is in this repository.
    pub(super) fn is_here(&self, source: &Source) -> bool {
        let urls = &self.revisions.urls;
        if !source.chart.is_empty() || urls.is_empty() {
            return source.chart.is_empty();
        }
        let mut judged = self.judged_urls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(is_here) = judged.get(&source.repo_url) {
            return *is_here;
        }
        let is_here = RepoUrl::parse(&source.repo_url).is_some_and(|url| urls.contains(&url));
        judged.insert(source.repo_url.clone(), is_here);
        is_here
    }

    /// Whether the change adds a link that stops every Application with a source here, this one among them.
    pub(super) fn is_stopped_by_a_new_link(&self, application: &Application) -> bool {
        let appears = matches!(&self.broken_links, [None, Some(_)]);
        appears && application.spec.sources().iter().any(|source| self.is_here(source) && self.pin(source).is_none())
    }

    /// The sources of an Application that a merge into the base branch reaches: of one with a hydrator the dry source, or what the hydrator has
    /// written where the change is made to that branch.
    pub(super) fn sources_of<'s>(&self, application: &'s Application) -> Cow<'s, [Source]> {
        let dry = application.spec.dry_sources();
        match application.spec.hydrated_source() {
            Some(written) if self.is_here(&written) && self.pin(&written).is_none() && dry.iter().all(|dry| self.pin(dry).is_some()) => {
                Cow::Owned(vec![written])
            }
            _ => dry,
        }
    }

    /// What a source in this repository follows: `None` where a change of the base branch reaches it.
    pub(super) fn pin(&self, source: &Source) -> Option<Follows> {
        let key = (source.target_revision.clone(), source.tag_prefix.clone());
        let mut pins = self.pins.lock().unwrap_or_else(PoisonError::into_inner);
        pins.entry(key).or_insert_with(|| self.pin_anew(source)).clone()
    }

    fn pin_anew(&self, source: &Source) -> Option<Follows> {
        let revisions = self.revisions;
        let merge = MergeTarget {
            base_branch: &revisions.base_branch,
            head_branch: revisions.head_branch.as_deref(),
            default_branch: revisions.default_branch.as_deref(),
            branches: &revisions.branches,
            tags: &revisions.tags,
        };
        match revision_follows(&source.target_revision, &source.tag_prefix, &merge) {
            Follows::BaseBranch | Follows::HeadBranch | Follows::UnknownDefaultBranch => None,
            other => Some(other),
        }
    }

    /// The branch of the change, where a source of the Application follows it: what the change does is done before the merge.
    pub(super) fn follows_the_change(&self, application: &Application) -> Option<&str> {
        let branch = self.revisions.head_branch.as_deref().filter(|branch| *branch != self.revisions.base_branch)?;
        let sources = self.sources_of(application);
        let names = |source: &&Source| source.target_revision.strip_prefix("refs/heads/").unwrap_or(&source.target_revision) == branch;
        sources.iter().any(|source| names(&source) && self.is_here(source) && self.pin(source).is_none()).then_some(branch)
    }

    /// The files of a generator's repository and revision; `None` where they are those that are compared.
    ///
    /// # Errors
    /// Why they are not known.
    pub(super) fn generator_files(&self, url: &str, revision: &str) -> Result<Option<Tree>, String> {
        if let Some(files) = self.clones.files(url, revision) {
            return files.map(Some);
        }
        let source = Source { repo_url: url.to_owned(), target_revision: revision.to_owned(), ..Source::default() };
        if !self.is_here(&source) {
            return Err(format!(
                "it reads {}, which is not this repository; say --repo-url if it is, or name a clone of it under `clones` in the configuration",
                crate::repo::without_password(url)
            ));
        }
        if self.pin(&source).is_none() {
            return Ok(None);
        }
        let files = self.files(&source, Side::Head).map(|(tree, _)| Some(tree));
        files.map_err(|revision| format!("it reads the revision {revision}, which this clone does not have"))
    }

    /// The files that a source in this repository is rendered from, and their commit. A source that the change does not reach is rendered at
    /// the revision that it follows.
    ///
    /// # Errors
    /// The revision, where this clone does not have it.
    fn files(&self, source: &Source, side: Side) -> Result<(Tree, String), String> {
        let Some(follows) = self.pin(source) else {
            // What a commit would be called after the merge is not known; both sides are given the same name, so that it makes no difference.
            let revision = match self.revisions.head.revision() {
                Revision::Commit(commit) => commit.to_string(),
                Revision::Index | Revision::Worktree | Revision::Archive(_) => self.revisions.base_name.clone(),
            };
            return Ok((self.revisions.tree(side).clone(), revision));
        };
        let names = match &follows {
            Follows::OtherBranch(branch) => vec![format!("refs/remotes/origin/{branch}"), format!("refs/heads/{branch}")],
            Follows::Pinned(Pin::Commit(commit)) => vec![commit.clone()],
            Follows::Pinned(Pin::Tag(tag) | Pin::Newest { tag: Some(tag), .. }) => vec![format!("refs/tags/{tag}")],
            _ => Vec::new(),
        };
        let key = names.join(" ");
        let mut pinned = self.pinned.lock().unwrap_or_else(PoisonError::into_inner);
        let found = pinned.entry(key).or_insert_with(|| {
            let repository = &self.revisions.repository;
            let commit = names.iter().find_map(|name| repository.resolve(name).ok())?;
            Some((repository.commit_tree(&commit).ok()?, commit.to_string()))
        });
        found.clone().ok_or_else(|| source.target_revision.clone())
    }

    /// The paths of this repository that decide what an Application renders to at one side, as far as the change reaches it.
    pub(super) fn inputs(&self, application: &Application, side: Side) -> Arc<Inputs> {
        Arc::clone(&self.reads(application, side).reached)
    }

    /// Whether an Application may render Applications: it reads one of these files, or a chart that makes Applications out of values.
    pub(super) fn may_be_parent(&self, application: &Application, side: Side, files: &[Arc<str>]) -> bool {
        let names_one = self.sources_of(application).iter().any(|source| source.chart.contains(APPLICATION_CHART));
        names_one || self.reads(application, side).all.contain_any(files)
    }

    fn reads(&self, application: &Application, side: Side) -> Reads {
        let known = self.known.of(application, side);
        let reads = known.reads.get_or_init(|| {
            let identity = Identity::of(application, &self.workshop.settings);
            let sources = self.sources_of(application);
            let references = self.references(application, &sources, side);
            let (mut all, mut reached) = (Inputs::default(), Inputs::default());
            for source in sources.iter() {
                let inputs = self.inputs_of(application, source, side, &identity, &references);
                if !self.is_here(source) || self.pin(source).is_none() {
                    reached.extend(&inputs);
                }
                all.extend(&inputs);
            }
            Reads { all: Arc::new(all), reached: Arc::new(reached) }
        });
        reads.clone()
    }

    /// The files that an Application takes into a kustomization: what stands in them is raw material, and no object of its own.
    pub(super) fn raw_material(&self, application: &Application, side: Side) -> Vec<Arc<str>> {
        let identity = Identity::of(application, &self.workshop.settings);
        let sources = self.sources_of(application);
        let references = self.references(application, &sources, side);
        let in_git = sources.iter().filter(|source| source.chart.is_empty());
        let jobs = in_git.filter_map(|source| self.job(application, source, side, &identity, &references).ok());
        let kustomizations = jobs.filter(|job| *job.kind() == SourceKind::Kustomize);
        kustomizations.flat_map(|job| job.inputs().files().cloned().collect::<Vec<_>>()).collect()
    }

    fn inputs_of(
        &self,
        application: &Application,
        source: &Source,
        side: Side,
        identity: &Identity,
        references: &BTreeMap<String, Reference<'_>>,
    ) -> Inputs {
        let mut inputs = Inputs::default();
        if is_nothing(application, source) {
            return inputs;
        }
        if !source.chart.is_empty() {
            // What it reads of this repository is known without the chart.
            if let Ok(job) = self.chart_job(application, source, side, identity, references, None) {
                inputs.extend(&job.inputs_of_references());
            }
            return inputs;
        }
        match self.job(application, source, side, identity, references) {
            Ok(job) => {
                inputs.extend(job.inputs());
                // A link on the way decides as well.
                let path = clean_path(&source.path).unwrap_or_default();
                path.match_indices('/')
                    .map(|(end, _)| end)
                    .chain([path.len()])
                    .filter_map(|end| path.get(..end))
                    .for_each(|part| inputs.file(part));
            }
            // What stands there may be the reason.
            Err(_) if self.is_here(source) => clean_path(&source.path).iter().for_each(|path| inputs.folder(path)),
            Err(_) => {}
        }
        inputs
    }

    /// What an Application renders at one side; nothing where it cannot be rendered.
    pub(super) fn rendered(&self, application: &Application, side: Side) -> Vec<Arc<Manifest>> {
        match self.render(application, side) {
            Render::Done(rendered) => rendered.manifests.clone(),
            _ => Vec::new(),
        }
    }

    /// Renders an Application at one side; every distinct source is rendered once.
    pub(super) fn render(&self, application: &Application, side: Side) -> Render {
        let anew = || {
            let rendered = bug::caught(|| format!("the source of {}", application.id), || self.render_anew(application, side));
            rendered.unwrap_or_else(|bug| {
                let why = bug.to_string();
                self.bugs.note(bug);
                Render::Unjudged("the source".to_owned(), why)
            })
        };
        self.known.of(application, side).render.get_or_init(anew).clone()
    }

    fn render_anew(&self, application: &Application, side: Side) -> Render {
        let sources = self.sources_of(application);
        let missing = sources.iter().filter(|source| self.is_here(source)).find_map(|source| self.files(source, side).err());
        if let Some(revision) = missing {
            // What the change does to another source reaches the Application all the same.
            let is_reached = |source: &&Source| self.is_here(source) && self.pin(source).is_none();
            if sources.iter().any(|source| is_reached(&source)) {
                return Render::Unjudged(format!("the source at {revision}"), not_in_this_clone(&revision));
            }
            return Render::NotTracked(revision);
        }
        let identity = Identity::of(application, &self.workshop.settings);
        let references = self.references(application, &sources, side);
        let mut all = Rendered::default();
        all.assumptions.extend(application.spec.hydrated_source().filter(|written| *sources != [written.clone()]).map(|written| {
            let branch = written.target_revision;
            match application.spec.staging_branch() {
                Some(staging) => format!(
                    "rendered from its dry source; the hydrator writes the result to {staging}, and the cluster changes when that is merged into {branch}"
                ),
                None => format!("rendered from its dry source; the cluster changes when the hydrator has written the result to {branch}"),
            }
        }));
        for source in sources.iter().filter(|source| !is_nothing(application, source)) {
            let made = self.job(application, source, side, &identity, &references).and_then(|job| self.run(&job, side));
            match made {
                Ok(rendered) if sources.len() == 1 && all.assumptions.is_empty() => return Render::Done(rendered),
                Ok(rendered) => all.append(&rendered),
                Err(Stop::Failed(error)) => return Render::Failed(error),
                Err(Stop::Unjudged { what, why }) => return Render::Unjudged(what, why),
            }
        }
        Render::Done(Arc::new(all))
    }

    /// Runs a job, or finds what an equal one gave.
    fn run(&self, job: &Job<'_>, side: Side) -> Result<Arc<Rendered>, Stop> {
        let Some(key) = job.key() else { return job.run().map(Arc::new) };
        let cell = Arc::clone(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default());
        let (made_at, result) = cell.get_or_init(|| (side, job.run().map(Arc::new)));
        if *made_at == side {
            return result.clone();
        }
        match result {
            Ok(rendered) => Ok(Arc::new(rendered.at_side(side))),
            Err(stop) => Err(stop.at_side(side)),
        }
    }

    /// The job that renders one source of an Application.
    fn job<'s>(
        &'s self,
        application: &Application,
        source: &'s Source,
        side: Side,
        identity: &'s Identity,
        references: &'s BTreeMap<String, Reference<'s>>,
    ) -> Result<Job<'s>, Stop> {
        if !source.chart.is_empty() {
            let wanted =
                Wanted { repository: source.repo_url.clone(), chart: source.chart.clone(), version: source.target_revision.clone() };
            let fetched = self.workshop.charts.fetch(&wanted, &self.workshop, &self.revisions.repository)?;
            return self.chart_job(application, source, side, identity, references, Some(fetched));
        }
        let named = || format!("source {}", crate::repo::without_password(&source.repo_url));
        if !self.is_here(source) {
            return Err(Stop::unjudged(named(), "it is not in this repository; say --repo-url if it is"));
        }
        let (tree, revision) = self.files(source, side).map_err(|revision| Stop::unjudged(named(), not_in_this_clone(&revision)))?;
        let broken = match side {
            Side::Base => &self.broken_links[0],
            Side::Head => &self.broken_links[1],
        };
        if let Some(broken) = broken.as_ref().filter(|_| self.pin(source).is_none()) {
            let message = format!(
                "the repository has a symbolic link that leaves it ({broken}): Argo CD refuses every Application of the repository"
            );
            return Err(RenderError::new("out-of-bounds-symlink", message, "Remove the link.").into());
        }
        let Some(path) = clean_path(&source.path).filter(|_| !source.path.starts_with('/')) else {
            let message = format!("the source path {} is not inside the repository", source.path);
            return Err(RenderError::new("source-path-missing", message, "Use a path relative to the repository root.").into());
        };
        if let Some(submodule) = tree.submodule_of(&path) {
            return Err(Stop::in_submodule(submodule));
        }
        if self.revisions.urls.is_empty() && ![Side::Base, Side::Head].iter().any(|side| self.revisions.tree(*side).is_dir(&path)) {
            let why = "no URL of this repository is known to compare with, and it has no such folder; say --repo-url";
            return Err(Stop::unjudged(named(), why));
        }
        // The file system follows links.
        let path = match tree.resolve_link(&path) {
            Ok(LinkTarget::Directory(directory)) => directory,
            _ => path,
        };
        if !tree.is_dir(&path) {
            return Err(missing(application, source, &path, tree.get(&path).is_some()).into());
        }
        if let Some(error) = self.refused_reference(source, side, references) {
            return Err(error.into());
        }
        Job::new(Request { path, ..self.request(application, source, side, identity, references, (tree, revision)) })
    }

    /// The job that renders a chart of a Helm repository; without the chart it only tells what else it reads.
    fn chart_job<'s>(
        &'s self,
        application: &Application,
        source: &'s Source,
        side: Side,
        identity: &'s Identity,
        references: &'s BTreeMap<String, Reference<'s>>,
        fetched: Option<Fetched>,
    ) -> Result<Job<'s>, Stop> {
        let files = match fetched {
            Some(fetched) => (fetched.tree, fetched.version),
            None => {
                let nothing = self.revisions.repository.unpacked(Vec::new());
                (nothing.map_err(|error| Stop::unjudged("chart", error.to_string()))?, source.target_revision.clone())
            }
        };
        Job::new(self.request(application, source, side, identity, references, files))
    }

    /// What a renderer is asked for, at the root of these files, which are at this revision.
    fn request<'s>(
        &'s self,
        application: &Application,
        source: &'s Source,
        side: Side,
        identity: &'s Identity,
        references: &'s BTreeMap<String, Reference<'s>>,
        (tree, revision): (Tree, String),
    ) -> Request<'s> {
        Request {
            workshop: &self.workshop,
            identity,
            source: Cow::Borrowed(source),
            is_multi_source: application.spec.is_multi_source(),
            tree,
            side,
            path: String::new(),
            revision,
            references,
            capabilities: self.capabilities_of(application),
        }
    }

    /// What the destination cluster of an Application is able to do.
    fn capabilities_of(&self, application: &Application) -> &Capabilities {
        static UNKNOWN: LazyLock<Capabilities> =
            LazyLock::new(|| Capabilities { kube_version: String::new(), api_versions: LiveState::usual_api_versions() });
        let destination = &application.spec.destination;
        let server = destination.server.trim_end_matches('/');
        let key = match (server, destination.name.as_str()) {
            ("", IN_CLUSTER_NAME) => IN_CLUSTER_SERVER,
            ("", name) => name,
            (server, _) => server,
        };
        self.capabilities.get(key).unwrap_or(&UNKNOWN)
    }
}

/// Whether a source gives no manifests of its own: among several, one without path and chart.
///
/// Source: Argo CD `reposerver/repository/repository.go:GenerateManifest`, `util/argo/argo.go`.
fn is_nothing(application: &Application, source: &Source) -> bool {
    application.spec.is_multi_source() && source.path.is_empty() && source.chart.is_empty()
}

/// Why nothing is rendered from a revision, and what helps.
pub(super) fn not_in_this_clone(revision: &str) -> String {
    let is_plain = !revision.starts_with('-') && revision.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/-+".contains(&byte));
    // A command is for copying, so that it holds nothing that a shell reads otherwise.
    let help =
        if is_plain { format!("fetch it with `git fetch --tags origin {revision}`") } else { "fetch all tags and branches".to_owned() };
    format!("this clone does not have the revision {revision}; {help}")
}

fn program(configured: &Option<Program>) -> Option<&str> {
    configured.as_ref().map(|program| program.0.as_str())
}
