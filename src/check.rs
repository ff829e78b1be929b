//! The walk through the house on one screen: repository → inventory ⇄ render → snapshot → plan → rules → findings.
//!
//! Takes [`Options`]; hands on an [`Outcome`]. Loops inventory and rendering until no new Application appears, plans both sides,
//! judges, and collects what could not be looked at.

mod applications;
mod broken;
mod clones;
mod comments;
mod configuration;
mod deciding;
mod delivery;
mod edited;
mod held;
mod judging;
mod locate;
mod mask;
mod options;
mod overlay;
mod planning;
mod policy;
mod reach;
mod readings;
mod registered;
mod rejections;
mod revisions;
mod seen;
mod sets;
mod sources;
mod spokes;
mod stand_in;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use self::registered::Registered;
use crate::argocd::AppId;
use crate::config::ConfigError;
use crate::finding::{Bug, Finding, Patterns, Unjudged};
use crate::inventory::Inventory;
use crate::manifest::Side;
use crate::plan::SyncPlan;
use crate::render::Cache;
use crate::repo::RepoError;
use crate::rules::{self, RuleError, RuleSet};
use crate::snapshot::{self, SnapshotError, SnapshotSource};

pub use options::{Head, Options};

/// Levels of Applications that hold each other up.
const MAX_HELD: usize = 5;

/// Everything a run found out.
pub struct Outcome {
    /// Full commit id of the base.
    pub base: String,
    /// Full commit id of the head, or `worktree` or `index`.
    pub head: String,
    /// Snapshots that were used.
    pub snapshots: Vec<SnapshotSource>,
    /// Plans, by Application id.
    pub plans: Vec<SyncPlan>,
    /// Findings, worst first.
    pub findings: Vec<Finding>,
    /// What could not be looked at.
    pub unjudged: Vec<Unjudged>,
    /// Texts of the files that findings point at.
    pub texts: BTreeMap<(Side, Arc<str>), Arc<str>>,
    /// Remarks for people.
    pub notes: Vec<String>,
    /// Mistakes of presync's own; what it was at work on is among what could not be looked at.
    pub bugs: Vec<Bug>,
    /// Applications whose files the change touches, and that render the same before and after.
    pub same: Vec<AppId>,
    /// Every Application and ApplicationSet.
    pub inventory: Inventory,
    /// What a large repository leaves in memory. It takes long to free, so that a program that ends had better forget it.
    remains: Option<Box<dyn Send>>,
}

/// Why the job could not be done.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum CheckError {
    /// The repository or a revision cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Repository(#[from] RepoError),
    /// A snapshot cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The configuration cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Config(#[from] ConfigError),
    /// A rule cannot be evaluated.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Rule(#[from] RuleError),
    /// A pattern of `--app` cannot be read.
    #[error("--app {pattern} is no valid pattern: {reason}")]
    #[diagnostic(help("Use a glob over namespace/name or name, for example `argocd/shop-*`."))]
    AppPattern {
        /// The pattern.
        pattern: String,
        /// Why.
        reason: String,
    },
}

/// What the patterns of `roots` leave out that match no file on either side: with a misspelt one nobody looks at the Applications it means.
fn idle_roots(roots: &Patterns, revisions: &revisions::Revisions) -> Option<Unjudged> {
    let trees = [&revisions.base, &revisions.head];
    let idle = roots.idle(trees.into_iter().flat_map(|tree| tree.entries()).map(|entry| &*entry.path));
    let patterns: Vec<String> = idle.iter().map(|pattern| format!("`{pattern}`")).collect();
    let verb = if patterns.len() == 1 { "matches" } else { "match" };
    let why = || format!("{} in `roots` of the configuration {verb} no file of the repository", patterns.join(", "));
    (!patterns.is_empty()).then(|| Unjudged {
        application: None,
        what: "Applications that `roots` is meant to name".to_owned(),
        why: why(),
    })
}

/// Compares two revisions, plans what Argo CD will do, and judges it.
///
/// # Errors
/// When the job as a whole cannot be done; what fails for one Application is a finding or stands in [`Outcome::unjudged`].
pub fn run(options: &Options) -> Result<Outcome, CheckError> {
    let wanted = options.application_filter()?;
    // None of these needs another.
    let load =
        || if options.snapshots.is_empty() { Ok(None) } else { snapshot::load_from(&options.snapshots, &options.access()).map(Some) };
    let (revisions, (builtin, loaded)) = rayon::join(|| revisions::open(options), || rayon::join(RuleSet::builtin, load));
    let (mut revisions, kept) = revisions?;
    let configuration = configuration::read(options, &mut revisions)?;
    let config = &configuration.config;
    revisions.know_urls(options, &config.repository_urls);
    let idle_roots = idle_roots(&config.roots, &revisions);
    let rules = policy::rules(builtin?, &configuration, &mut revisions)?;
    let mut loaded = match configuration.snapshots(options, &mut revisions) {
        Some(configured) => Some(snapshot::load_from(&configured, &options.access())?),
        None => loaded?,
    };
    if let Some(live) = &mut loaded {
        revisions.notes.extend(live.know_clusters(&configuration::clusters(config)));
    }
    let clones = clones::Clones::new(&config.clones, &mut revisions);
    let sources = sources::Sources::new(&revisions, options, config, clones, loaded.as_ref(), kept);
    let mut discovered = applications::discover(&sources, loaded.as_ref(), options.all, &held::Held::default(), &Registered::default());
    let unseen = seen::unseen_commits(&discovered, &sources);
    let (live, missing) = match loaded {
        None => (planning::assumed(&discovered, &sources, options.all), stand_in::Missing::new()),
        Some(live) => stand_in::complete(live, &discovered, &sources, options.all),
    };
    let mut registered = Registered::default();
    let mut planned = planning::plan(&discovered, &sources, &live, &registered, options, &wanted);
    let mut held = held::Held::default();
    // What a parent's sync does not get to stays as it is, which may hold up what that renders in turn.
    for _ in 0..MAX_HELD {
        let same_clusters = registered.takes_in(std::mem::take(&mut planned.cluster_secrets), &live);
        if held.takes_in(std::mem::take(&mut planned.held)) && same_clusters {
            break;
        }
        discovered = applications::discover(&sources, Some(&live).filter(|live| !live.is_assumed()), options.all, &held, &registered);
        planned = planning::plan(&discovered, &sources, &live, &registered, options, &wanted);
    }
    revisions.base.nothing_missing()?;
    stand_in::mark(&mut planned, &live, &missing);
    let comments = comments::changed(&revisions);
    let judged = judging::judge(&planned, &discovered, &live, &comments, &rules, options, config.snapshots.max_age)?;
    let mut outcome = Outcome {
        base: revisions.base_name.clone(),
        head: revisions.head_name.clone(),
        snapshots: live.sources().to_vec(),
        plans: Vec::new(),
        findings: judged.findings,
        unjudged: planned.unjudged,
        texts: BTreeMap::new(),
        notes: revisions.notes.clone(),
        same: planned.same,
        bugs: [sources.bugs.sorted(), judged.bugs.clone()].concat(),
        inventory: Inventory::default(),
        remains: None,
    };
    let silent = judged.bugs.iter().map(|bug| Unjudged { application: None, what: bug.during.clone(), why: bug.to_string() });
    outcome.unjudged.extend(silent.chain(idle_roots));
    outcome.notes.extend(judging::left_out(judged.left_out));
    // Both sides may have the same to say.
    let mut said: HashSet<String> = outcome.notes.iter().cloned().collect();
    outcome.notes.extend(discovered.notes.into_iter().filter(|note| said.insert(note.clone())));
    if let Err(error) = sources.workshop.parser.keep() {
        outcome.notes.push(format!("what was read cannot be kept for the next run: {error}"));
    }
    outcome.notes.extend(sources.clones.notes());
    outcome.notes.extend(unseen);
    outcome.notes.extend(planned.notes);
    let of = if live.is_assumed() { "what base renders" } else { "snapshot" };
    outcome.notes.extend(live.incomplete().iter().map(|what| format!("{of}: {what}")));
    outcome.notes.extend(sources.workshop.cache.as_ref().and_then(Cache::broken));
    outcome.plans = planned.plans;
    outcome.inventory = discovered.inventory;
    locate::locate(&mut outcome, &sources, &discovered.effective, rules.policy().counts_of_this_change);
    if options.all && options.applications.is_empty() {
        let idle = comments::idle(&outcome, &comments);
        locate::add(rules::of_idle_comments(&idle, &rules, &judged.skipped), &mut outcome, &revisions);
    }
    outcome.remains = Some(Box::new((sources.into_remains(), discovered.effective, live)));
    Ok(outcome)
}
