//! The sync plan of one Application.
//!
//! Takes the Application as it will be, what Git renders for it, and the shared [`World`]; hands on its [`SyncPlan`].

mod aftermath;
mod comparison;
mod namespace;
mod refusal;
mod row;
mod rows;
mod running;
mod walk;
mod window;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use self::comparison::Compared;
use self::refusal::{COMPARISON_ERROR, SYNC_REFUSED};
use self::row::Row;
use super::attempt::{self, Revision};
use super::change::{Action, AppChange, Basis, Change, Condition, PROJECT_MISSING, Phase, SyncDecision, SyncMode, SyncPlan};
use super::decision::{self, Decision, Standing, Status};
use super::diff::IgnoreRules;
use super::failure::{Apply, ApplyStrategy};
use super::pairing::Pair;
use super::permission;
use super::reason::Reason;
use super::removal::{self, Operation};
use super::targets::{self, Frame, Placement, Targets};
use super::watch::{self, Watch};
use super::world::World;
use crate::argocd::hook::{self, HookType};
use crate::argocd::names::SKIP_RECONCILE;
use crate::argocd::options;
use crate::argocd::{Application, Settings, Source};
use crate::manifest::{Manifest, Origin, ResourceKey, key::version_of};

/// What is known about one Application.
pub struct Input<'a> {
    /// The Application as it will be in effect.
    pub application: Arc<Application>,
    /// Its definition in the repository.
    pub origin: Option<Origin>,
    /// What Git renders for it, in order.
    pub rendered: &'a [Arc<Manifest>],
    /// What Git rendered for it at base.
    pub rendered_at_base: &'a [Arc<Manifest>],
    /// Server of the cluster it was deployed to so far, if that is another one.
    pub previous_server: Option<Arc<str>>,
    /// Whether the wanted revision holds anything that the last sync did not.
    pub revision: Revision,
}

/// Plans the sync of one Application.
pub fn plan(input: &Input<'_>, world: &World<'_>) -> SyncPlan {
    if let Some(problem) = left_alone(&input.application) {
        let server = world.server(&input.application.spec.destination).unwrap_or_default();
        return stopped(input, server, world, SyncMode::Refused, problem, Vec::new());
    }
    let namespace = &input.application.id.namespace;
    if world.watches(namespace) == Watch::No {
        let problem =
            format!("Argo CD does not look at Applications in namespace {namespace}: {} does not name it", watch::APPLICATIONS.parameter);
        return refused(input, "".into(), world, problem, SYNC_REFUSED, Vec::new());
    }
    if let Some(problem) = incomplete_source(&input.application) {
        return refused(input, "".into(), world, problem, SYNC_REFUSED, Vec::new());
    }
    let server = match world.server(&input.application.spec.destination) {
        Ok(server) => server,
        Err(problem) => return refused(input, "".into(), world, problem, SYNC_REFUSED, Vec::new()),
    };
    if let Some(denied) = permission::application(&input.application, world, &server) {
        let is_missing = world.project_is_missing(&input.application.spec.project);
        let kind = if is_missing { PROJECT_MISSING } else { "ProjectDenies" };
        return refused(input, server, world, denied, kind, Vec::new());
    }
    let targets = normalised(&input.application, input.rendered, world, &server);
    if let Some(object) = &targets.without_namespace {
        let problem = format!("{} has no namespace and the Application's destination gives none", object.key.named());
        return refused(input, server, world, problem, SYNC_REFUSED, targets.conditions);
    }
    let base = base_targets(input, &targets, world, &server);
    let is_definition = |target: &&Arc<Manifest>| target.key.is("apiextensions.k8s.io", "CustomResourceDefinition");
    let definitions = targets.manifests.iter().filter(is_definition).cloned().collect();
    Planner { input, world, server, targets, base, definitions, ignore: world.ignore_rules(&input.application) }.plan()
}

/// Why the controller does not look at the Application.
///
/// Source: Argo CD `controller/appcontroller.go:canProcessApp` and `autoSync`.
fn left_alone(application: &Application) -> Option<String> {
    if application.is_skipped() {
        return Some(format!("annotation {SKIP_RECONCILE} is set, so Argo CD leaves the Application alone"));
    }
    let deleted = application.object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null());
    deleted.then(|| "the Application is being deleted, so Argo CD starts no sync".to_owned())
}

/// What a source lacks, so that Argo CD compares nothing.
///
/// Source: Argo CD `util/argo/argo.go:validateSourcePermissions`.
fn incomplete_source(application: &Application) -> Option<String> {
    let sources = application.spec.sources();
    let multi = application.spec.is_multi_source();
    if application.spec.source_hydrator.is_some() {
        return None;
    }
    let lacks = |source: &&Source| source.path.is_empty() && source.chart.is_empty() && (!multi || source.reference.is_empty());
    if sources.iter().any(|source| source.repo_url.is_empty()) || sources.iter().any(|source| lacks(&source)) {
        return Some("a source needs a repoURL and either a path or a chart".to_owned());
    }
    let unversioned = sources.iter().find(|source| !source.chart.is_empty() && source.target_revision.is_empty());
    unversioned.map(|source| format!("the source of chart {} needs a targetRevision", source.chart))
}

/// A plan of a sync that is refused because of the Application as a whole, with the remark that says so.
fn refused(
    input: &Input<'_>,
    server: Arc<str>,
    world: &World<'_>,
    problem: String,
    kind: &'static str,
    mut conditions: Vec<Condition>,
) -> SyncPlan {
    conditions.push(Condition { kind, message: problem.clone(), key: None, origin: input.origin.clone() });
    stopped(input, server, world, SyncMode::Refused, problem, conditions)
}

/// A plan in which nothing happens: the sync is refused, or there are no targets.
pub fn stopped(
    input: &Input<'_>,
    server: Arc<str>,
    world: &World<'_>,
    mode: SyncMode,
    reason: String,
    conditions: Vec<Condition>,
) -> SyncPlan {
    let automated = input.application.automated_in(world.live.settings().version());
    SyncPlan {
        application: Arc::clone(&input.application),
        origin: input.origin.clone(),
        server,
        change: AppChange::Unchanged,
        sync: SyncDecision {
            mode,
            prune: automated.is_some_and(|automated| automated.prune),
            self_heal: automated.is_some_and(|automated| automated.self_heal),
            starts: false,
            reason,
        },
        changes: Vec::new(),
        conditions,
        too_early: Vec::new(),
        basis: basis(world),
        affected: false,
    }
}

pub(super) fn basis(world: &World<'_>) -> Basis {
    if world.live.is_assumed() { Basis::Assumed } else { Basis::Live }
}

/// The targets of an Application as the controller sees them.
pub fn normalised(application: &Application, rendered: &[Arc<Manifest>], world: &World<'_>, server: &str) -> Targets {
    in_frame(application, world, server, |frame| targets::normalise(rendered, frame))
}

/// Where the targets of an Application go, without the objects as they are applied.
pub fn placements<'m>(
    application: &Application,
    rendered: &'m [Arc<Manifest>],
    world: &World<'_>,
    server: &str,
) -> Vec<(&'m Arc<Manifest>, Placement)> {
    in_frame(application, world, server, |frame| targets::placements(rendered, frame))
}

fn in_frame<T>(application: &Application, world: &World<'_>, server: &str, run: impl FnOnce(&Frame<'_>) -> T) -> T {
    let settings = world.live.settings();
    let instance = application.id.instance(&settings.namespace);
    let scope = |group: &str, kind: &str| world.scope(server, group, kind);
    run(&Frame { settings, instance: &instance, namespace: &application.spec.destination.namespace, server, scope: &scope })
}

/// What Git rendered before the change, under the keys that it has at this destination.
fn base_targets(input: &Input<'_>, targets: &Targets, world: &World<'_>, server: &str) -> HashMap<ResourceKey, Arc<Manifest>> {
    let same = std::ptr::eq(input.rendered, input.rendered_at_base);
    let before =
        if same { targets.manifests.clone() } else { normalised(&input.application, input.rendered_at_base, world, server).manifests };
    before.into_iter().map(|manifest| (manifest.key.clone(), manifest)).collect()
}

struct Planner<'a> {
    input: &'a Input<'a>,
    world: &'a World<'a>,
    server: Arc<str>,
    targets: Targets,
    base: HashMap<ResourceKey, Arc<Manifest>>,
    /// The CustomResourceDefinitions among the targets.
    definitions: Vec<Arc<Manifest>>,
    ignore: Result<IgnoreRules, String>,
}

/// A hook with the phases in which it runs; none for an unknown type.
type Hook = (Arc<Manifest>, Vec<Phase>);

/// The targets of an Application by what becomes of them.
struct Split {
    /// Hooks with their phases (none for an unknown type).
    hooks: Vec<Hook>,
    /// Targets that the sync applies.
    plain: Vec<Arc<Manifest>>,
    /// Hooks that run only when the Application is deleted.
    on_deletion: Vec<Arc<Manifest>>,
}

impl Split {
    /// The target under a key that is no plain object and has no phase in a sync.
    fn without_phase(&self, key: &ResourceKey) -> Option<&Arc<Manifest>> {
        let unknown = self.hooks.iter().filter(|(_, phases)| phases.is_empty()).map(|(hook, _)| hook);
        unknown.chain(&self.on_deletion).find(|hook| hook.key == *key)
    }

    /// Whether a hook of this key runs in the sync.
    fn runs(&self, key: &ResourceKey) -> bool {
        self.hooks.iter().any(|(hook, phases)| !phases.is_empty() && hook.key == *key)
    }
}

impl Planner<'_> {
    fn settings(&self) -> &Settings {
        self.world.live.settings()
    }

    fn options(&self) -> &options::SyncOptions {
        &self.input.application.spec.sync_policy.sync_options
    }

    fn plan(mut self) -> SyncPlan {
        let rules = match std::mem::replace(&mut self.ignore, Ok(IgnoreRules::default())) {
            Ok(rules) => rules,
            Err(problem) => {
                let conditions = std::mem::take(&mut self.targets.conditions);
                return refused(self.input, Arc::clone(&self.server), self.world, problem, COMPARISON_ERROR, conditions);
            }
        };
        let split = self.split_targets();
        let instance = self.input.application.id.instance(&self.settings().namespace);
        let compared = self.compared(&split, &instance, &rules);
        let mut conditions = std::mem::take(&mut self.targets.conditions);
        conditions.extend(self.approximations(&compared, &rules));
        conditions.extend(self.shared_resources(&compared, &instance));
        let errors = [self.out_of_sight(), self.comparison_errors(&compared)].concat();
        if let Some(reason) = first_of(&errors) {
            conditions.extend(errors);
            return stopped(self.input, Arc::clone(&self.server), self.world, SyncMode::Refused, reason, conditions);
        }
        let mut status = Status { namespace_metadata_changed: self.namespace_metadata_changed(), ..Status::default() };
        compared.iter().for_each(|compared| status.count(compared.standing));
        let version = self.settings().version();
        let automated = self.input.application.automated_in(version);
        let attempt = attempt::of(&self.input.application, self.input.revision, version, self.world.now);
        let Decision { mut sync, partial, condition } = decision::decide(automated, &status, &attempt);
        if let Some(kind) = condition {
            let message = sync.reason.clone();
            conditions.push(Condition { kind, message, key: None, origin: self.input.origin.clone() });
        }
        let runs = sync.starts || sync.mode == SyncMode::Manual;
        if runs {
            let hooks = if partial { &[][..] } else { &split.hooks[..] };
            let refusals = self.refusals(&compared, hooks, &conditions);
            if let Some(reason) = first_of(&refusals) {
                conditions.extend(refusals);
                sync = SyncDecision { mode: SyncMode::Refused, starts: false, reason, ..sync };
            }
        }
        let (waiting, remark) = self.after_running(sync, status.is_out_of_sync());
        conditions.extend(remark);
        sync = self.after_windows(waiting);
        // A person syncs an Application that shows a difference.
        let writes = sync.starts || (sync.mode == SyncMode::Manual && status.is_out_of_sync());
        let changes = match sync.mode {
            SyncMode::Refused => Vec::new(),
            _ => {
                let namespace = if runs { self.namespace_of_sync(&compared, &rules) } else { None };
                self.changes(compared, &split, namespace, &Run { sync: &sync, partial, writes, rules: &rules }, &mut conditions)
            }
        };
        SyncPlan {
            application: Arc::clone(&self.input.application),
            origin: self.input.origin.clone(),
            server: Arc::clone(&self.server),
            change: AppChange::Unchanged,
            sync,
            changes,
            conditions,
            too_early: Vec::new(),
            basis: basis(self.world),
            affected: false,
        }
    }

    fn split_targets(&self) -> Split {
        let mut split = Split { hooks: Vec::new(), plain: Vec::new(), on_deletion: Vec::new() };
        for target in &self.targets.manifests {
            if !hook::is_hook(&target.object) {
                split.plain.push(Arc::clone(target));
                continue;
            }
            let phases: Vec<Phase> = hook::hook_types(&target.object).into_iter().filter_map(phase_of).collect();
            if phases.is_empty() && hook::runs_on_deletion(&target.object, self.settings().version()) {
                split.on_deletion.push(Arc::clone(target));
            } else {
                split.hooks.push((Arc::clone(target), phases));
            }
        }
        // The order of files decides nothing from here on.
        split.hooks.sort_by(|(a, _), (b, _)| a.key.cmp(&b.key));
        split.plain.sort_by(|a, b| a.key.cmp(&b.key));
        split.on_deletion.sort_by(|a, b| a.key.cmp(&b.key));
        split
    }

    /// Source: Argo CD `gitops-engine/pkg/sync/sync_context.go:shouldUseServerSideApply`.
    fn applies_server_side(&self, target: &Value) -> bool {
        !options::object_has(target, "ServerSideApply=false")
            && (self.options().has("ServerSideApply=true") || options::object_has(target, "ServerSideApply=true"))
    }

    /// Source: Argo CD `gitops-engine/pkg/sync/sync_context.go:applyObject`.
    fn apply(&self, target: &Value, live: Option<&Value>) -> Apply {
        let either = |option: &str| options::object_has(target, option) || live.is_some_and(|live| options::object_has(live, option));
        let strategy = if self.options().has("Replace=true") || either("Replace=true") {
            ApplyStrategy::Replace
        } else if self.applies_server_side(target) {
            ApplyStrategy::ServerSide
        } else {
            ApplyStrategy::ClientSide
        };
        Apply { strategy, force: either("Force=true") }
    }

    /// Why applying this target fails although the sync starts: its kind or its namespace is not there by then.
    fn missing_ground(&self, target: &Manifest) -> Option<String> {
        let version = version_of(&target.object);
        match (self.definition_of(&target.key), self.world.not_served(&self.server, &target.key, version)) {
            (Some(definition), _) if !serves_version(&definition.object, version) => {
                let problem = format!("{} does not serve version {version}", definition.key.named());
                return Some(format!("{problem}: applying {} will fail", target.key.named()));
            }
            (None, Some(problem)) => return Some(format!("{problem}: applying {} will fail", target.key.named())),
            _ => {}
        }
        let namespace = &target.key.namespace;
        if namespace.is_empty() || !self.world.namespace_is_missing(&self.server, namespace) {
            return None;
        }
        let made = self.targets.manifests.iter().any(|other| other.key.is("", "Namespace") && other.key.name == *namespace)
            || (self.options().has("CreateNamespace=true") && **namespace == *self.input.application.spec.destination.namespace);
        (!made).then(|| format!("namespace {namespace} does not exist and nothing in the sync creates it"))
    }

    fn changes(
        &self,
        compared: Vec<Compared>,
        split: &Split,
        namespace: Option<Row>,
        run: &Run<'_>,
        conditions: &mut Vec<Condition>,
    ) -> Vec<Change> {
        let mut rows: Vec<Row> = Vec::with_capacity(compared.len() + split.hooks.len());
        let mut aside: Vec<Row> = Vec::new();
        let operation = Operation {
            prune: run.sync.prune && run.is_automated(),
            automated: run.is_automated(),
            starts: run.sync.starts,
            options: self.options(),
            version: self.settings().version(),
        };
        let mut removed: HashSet<ResourceKey> = HashSet::new();
        // A partial sync names its objects without their namespaces.
        let name = |key: &ResourceKey| (Arc::clone(&key.group), Arc::clone(&key.kind), Arc::clone(&key.name));
        let healed: HashSet<_> = compared.iter().filter(|one| one.standing != Standing::Synced).map(|one| name(&one.pair.key)).collect();
        for Compared { pair, diff, .. } in compared {
            let taken_in = !run.partial || healed.contains(&name(&pair.key));
            match (&pair.target, &pair.live) {
                (Some(target), _) if hook::is_skipped(&target.object) => {
                    aside.push(Row::new(&pair, Action::Skip, Reason::Skipped));
                }
                (Some(_), _) if taken_in => rows.push(self.applied(&pair, diff, run)),
                (Some(_), _) => rows.push(Row::new(&pair, Action::None, Reason::InSync)),
                // The hook deletes the object that is there under its name, or is applied over it.
                (None, _) if run.happens() && !run.partial && split.runs(&pair.key) => {}
                (None, Some(live)) if taken_in && self.self_referenced(live) && removal::is_prunable(live.object()) => {
                    let (action, reason) = removal::of_removed(live.object(), operation);
                    removed.insert(pair.key.clone());
                    rows.push(match split.without_phase(&pair.key) {
                        Some(hook) => Row::of_hook_without_phase(&pair, hook, action, reason),
                        None => Row::new(&pair, action, reason),
                    });
                }
                (None, _) => {}
            }
        }
        for (hook, phases) in &split.hooks {
            let live = self.world.live.get(&self.server, &hook.key).cloned();
            let pair = Pair { key: hook.key.clone(), target: Some(Arc::clone(hook)), live };
            if !phases.is_empty() {
                if run.happens() && !run.partial {
                    rows.extend(phases.iter().map(|&phase| self.hook_row(&pair, phase)));
                }
            } else if !removed.contains(&hook.key) {
                aside.push(Row::new(&pair, Action::Skip, Reason::UnknownHook { value: row::hook_value(hook).to_owned() }));
            }
        }
        rows.extend(namespace);
        let mut changes = self.walk(rows, aside, run, conditions);
        self.find_dependents(&mut changes, operation);
        changes
    }
}

/// The sync that the changes are of.
struct Run<'a> {
    sync: &'a SyncDecision,
    /// Self-heal of what is out of sync alone.
    partial: bool,
    /// Something differs, so that what the comparison does not see is written along.
    writes: bool,
    rules: &'a IgnoreRules,
}

impl Run<'_> {
    /// Whether the sync runs: by itself, now or when a window lets it, or when a person starts it.
    fn happens(&self) -> bool {
        self.sync.starts || self.sync.mode == SyncMode::Manual
    }

    fn is_automated(&self) -> bool {
        matches!(self.sync.mode, SyncMode::Automated | SyncMode::Blocked)
    }
}

/// The message of the first remark, and how many more there are.
fn first_of(conditions: &[Condition]) -> Option<String> {
    let first = &conditions.first()?.message;
    Some(if conditions.len() > 1 { format!("{first} (and {} more)", conditions.len() - 1) } else { first.clone() })
}

fn phase_of(hook: HookType) -> Option<Phase> {
    match hook {
        HookType::PreSync => Some(Phase::PreSync),
        HookType::Sync => Some(Phase::Sync),
        HookType::PostSync => Some(Phase::PostSync),
        HookType::SyncFail => Some(Phase::SyncFail),
        HookType::Skip => None,
    }
}

fn serves_version(definition: &Value, version: &str) -> bool {
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    versions.is_none_or(|versions| {
        versions
            .iter()
            .any(|one| one.get("name").and_then(Value::as_str) == Some(version) && one.get("served") != Some(&Value::Bool(false)))
    })
}

#[cfg(test)]
mod tests;
