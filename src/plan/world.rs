//! What all Applications of one comparison share: live state, projects, scopes, schemas and what decides failures.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::clusters;
use super::diff::{CompareOptions, DiffContext, IgnoreRules, Method, RespectOptions};
use super::failure;
use super::schema::Schemas;
use super::watch::{self, Watch};
use super::withdrawn::Withdrawn;
use crate::argocd::names::{IN_CLUSTER_NAME, IN_CLUSTER_SERVER};
use crate::argocd::{Application, Destination, Project, options};
use crate::manifest::ResourceKey;
use crate::snapshot::{LiveState, NamespaceLimit, Scope, Serves};

/// Key of `argocd-cmd-params-cm` that turns server-side diff on.
const SERVER_SIDE_DIFF: &str = "controller.diff.server.side";

/// Shared by all Applications of one comparison.
pub struct World<'a> {
    /// Live state.
    pub live: &'a LiveState,
    /// When the merge happens; `None` where nobody says, and sync windows are then left out.
    pub now: Option<jiff::Timestamp>,
    /// AppProjects as they will be after the merge and with their global projects, by name.
    pub projects: BTreeMap<String, Project>,
    /// Whether an AppProject that is not in `projects` certainly does not exist.
    projects_complete: bool,
    defined_kinds: HashMap<(String, String), Scope>,
    schemas: Arc<Schemas>,
    compare_options: CompareOptions,
    /// Every Application is compared by server-side diff unless it says otherwise.
    server_side_diff: bool,
    no_rules: IgnoreRules,
    system_problem: Option<String>,
    failures: HashMap<Arc<str>, failure::Context<'a>>,
    no_failures: failure::Context<'a>,
    /// The change may tell Argo CD to look at other namespaces.
    watch_may_change: bool,
    namespaces: HashMap<Arc<str>, Namespaces>,
    withdrawn: Withdrawn,
    /// Live state with the clusters that were known before.
    former: Option<&'a LiveState>,
}

/// The namespaces of one cluster, as far as the snapshot shows them.
#[derive(Default)]
struct Namespaces {
    /// Namespaces with a Namespace object, or with anything in them.
    known: HashSet<Arc<str>>,
    /// Whether the snapshot holds Namespace objects at all, so that a missing one is missing.
    captured: bool,
}

impl<'a> World<'a> {
    /// A world over live state. `projects` are AppProjects that Git renders; they win over live ones. `definitions` are
    /// CustomResourceDefinitions that Git renders.
    pub fn new(live: &'a LiveState, projects: BTreeMap<String, Project>, definitions: &[&'a Value]) -> Self {
        let settings = live.settings();
        let mut all = clusters::live_projects(live);
        let projects_complete = clusters::knows_projects(live);
        all.extend(projects);
        let mut defined_kinds = HashMap::new();
        for definition in definitions {
            let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
            let scope = if text("/spec/scope") == "Cluster" { Scope::Cluster } else { Scope::Namespaced };
            defined_kinds.insert((text("/spec/group"), text("/spec/names/kind")), scope);
        }
        let servers: Vec<Arc<str>> = live.clusters().iter().map(|cluster| Arc::clone(&cluster.server)).collect();
        let of_kind = |server: &str, group: &str, kind: &str| live.of_kind(server, group, kind).iter().map(|object| object.object());
        let mut failures = HashMap::new();
        let mut live_definitions = Vec::new();
        for server in &servers {
            let crds = of_kind(server, "apiextensions.k8s.io", "CustomResourceDefinition").collect::<Vec<_>>();
            let classes = of_kind(server, "storage.k8s.io", "StorageClass");
            let known = failure::Context::from_objects(classes.chain(crds.iter().copied()));
            let may_be_live = live.is_assumed() || !live.covers(server);
            failures.insert(Arc::clone(server), failure::Context { may_be_live, ..known });
            live_definitions.extend(crds);
        }
        let schemas = Arc::new(Schemas::with_crds(live_definitions.into_iter().chain(definitions.iter().copied())));
        failures.values_mut().for_each(|context| context.schemas = Some(Arc::clone(&schemas)));
        let compare_options = CompareOptions::from_settings(&settings.entries, settings.version());
        let (compare_options, system_problem) = match (IgnoreRules::compile(None, &settings.entries), compare_options) {
            (Ok(_), Ok(options)) => (options, None),
            (Err(error), _) | (_, Err(error)) => (CompareOptions::default(), Some(error.to_string())),
        };
        Self {
            live,
            now: None,
            projects: Project::in_effect(&all, settings),
            projects_complete,
            defined_kinds,
            schemas,
            compare_options,
            server_side_diff: server_side_diff(live),
            no_rules: IgnoreRules::default(),
            system_problem,
            failures,
            no_failures: failure::Context { may_be_live: true, ..failure::Context::default() },
            watch_may_change: false,
            withdrawn: Withdrawn::default(),
            former: None,
            namespaces: servers.into_iter().map(|server| (Arc::clone(&server), namespaces_of(live, &server))).collect(),
        }
    }

    /// The world at a time, which decides over sync windows.
    pub fn at(self, now: jiff::Timestamp) -> Self {
        Self { now: Some(now), ..self }
    }

    /// The same world, in which the change may tell Argo CD to look at other namespaces.
    pub fn with_watch_changing(self, watch_may_change: bool) -> Self {
        Self { watch_may_change, ..self }
    }

    /// The same world, in which definitions serve less once they are applied.
    pub fn with_withdrawn(self, withdrawn: Withdrawn) -> Self {
        Self { withdrawn, ..self }
    }

    /// Why the cluster will not serve this kind any more, although it does so now.
    pub fn withdrawn(&self, server: &str, key: &ResourceKey, version: &str) -> Option<String> {
        self.withdrawn.of(server, key, version)
    }

    /// Whether Argo CD looks at Applications in a namespace.
    pub fn watches(&self, namespace: &str) -> Watch {
        match watch::APPLICATIONS.watches(self.live, namespace) {
            Watch::No if self.watch_may_change => Watch::Unknown,
            other => other,
        }
    }

    /// Whether a destination is among the clusters that are registered for a project; what the snapshot does not show counts as one.
    pub fn is_cluster_of_project(&self, server: &str, project: &str) -> bool {
        let clusters = self.live.clusters();
        let name = self.cluster_name(server);
        let same = |cluster: &crate::snapshot::ClusterInfo| &*cluster.server == server || (!name.is_empty() && cluster.name == name);
        !clusters.iter().any(|cluster| cluster.registered) || clusters.iter().any(|cluster| cluster.project == project && same(cluster))
    }

    /// The server URL of a destination.
    ///
    /// # Errors
    /// Why Argo CD refuses the destination, in a sentence.
    pub fn server(&self, destination: &Destination) -> Result<Arc<str>, String> {
        clusters::server_of(destination, self.live).map_err(|why| match self.former {
            Some(former) if clusters::server_of(destination, former).is_ok() => {
                format!("{why} once the change of its cluster Secret is applied")
            }
            _ => why,
        })
    }

    /// The same world, in which clusters were known before that are so no longer.
    pub fn with_former_clusters(self, former: &'a LiveState) -> Self {
        Self { former: Some(former), ..self }
    }

    /// The server URL of a destination by the clusters that were known before.
    ///
    /// # Errors
    /// Why Argo CD refused it.
    pub fn server_before(&self, destination: &Destination) -> Result<Arc<str>, String> {
        clusters::server_of(destination, self.former.unwrap_or(self.live))
    }

    /// The server URL of a destination that is refused, as far as it was known before or says it itself.
    pub fn former_server(&self, destination: &Destination) -> Arc<str> {
        self.server_before(destination).unwrap_or_else(|_| destination.server.as_str().into())
    }

    /// The namespaces to which Argo CD is limited on a cluster, if it is.
    pub fn limit(&self, server: &str) -> Option<&NamespaceLimit> {
        self.live.cluster_by_server(server)?.limit.as_ref()
    }

    /// Whether Argo CD sees an object of a cluster at all.
    pub fn sees(&self, server: &str, key: &ResourceKey) -> bool {
        self.limit(server).is_none_or(|limit| limit.takes(&key.namespace))
    }

    /// The registered name of a cluster; empty where it has none.
    pub fn cluster_name(&self, server: &str) -> Arc<str> {
        match self.live.cluster_by_server(server) {
            Some(cluster) => Arc::clone(&cluster.name),
            None if server == IN_CLUSTER_SERVER => IN_CLUSTER_NAME.into(),
            None => "".into(),
        }
    }

    /// What a cluster is called in reports: its name, else its URL.
    pub fn cluster_label(&self, server: &str) -> Arc<str> {
        let name = self.cluster_name(server);
        if name.is_empty() { server.into() } else { name }
    }

    /// Whether a kind lives in namespaces, by the snapshot, by the built-in table, by definitions in Git, or by where its live objects are.
    pub fn scope(&self, server: &str, group: &str, kind: &str) -> Option<Scope> {
        let in_git = || self.defined_kinds.get(&(group.to_owned(), kind.to_owned())).copied();
        self.live.scope(server, group, kind).or_else(in_git).or_else(|| self.live.seen_scope(server, group, kind))
    }

    /// Why the cluster does not serve this kind, where the snapshot or the change proves it.
    pub fn not_served(&self, server: &str, key: &ResourceKey, version: &str) -> Option<String> {
        if let Some(problem) = self.withdrawn(server, key, version) {
            return Some(problem);
        }
        let full = if key.group.is_empty() { version.to_owned() } else { format!("{}/{version}", key.group) };
        match self.live.serves(server, &key.group, version, &key.kind) {
            Serves::Yes | Serves::Unknown => None,
            Serves::No => Some(format!("the cluster does not serve {full} {}", key.kind)),
            Serves::OtherVersion(other) => Some(format!("the cluster does not serve {full} {}, only {other}", key.kind)),
        }
    }

    /// Whether the project certainly does not exist. `default` is made by Argo CD itself.
    pub fn project_is_missing(&self, name: &str) -> bool {
        self.projects_complete && name != "default" && !self.projects.contains_key(name)
    }

    /// Whether a namespace is there.
    pub fn namespace_exists(&self, server: &str, namespace: &str) -> bool {
        self.namespaces.get(server).is_some_and(|namespaces| namespaces.known.contains(namespace))
    }

    /// Whether a namespace is certainly not there.
    pub fn namespace_is_missing(&self, server: &str, namespace: &str) -> bool {
        !self.live.is_assumed() && self.namespaces.get(server).is_some_and(|all| all.captured && !all.known.contains(namespace))
    }

    /// The ignore rules of an Application together with the system's.
    ///
    /// # Errors
    /// What cannot be read, in a sentence; Argo CD then compares nothing.
    pub fn ignore_rules(&self, application: &Application) -> Result<IgnoreRules, String> {
        if let Some(problem) = &self.system_problem {
            return Err(problem.clone());
        }
        IgnoreRules::compile(application.object.pointer("/spec/ignoreDifferences"), &self.live.settings().entries)
            .map_err(|error| error.to_string())
    }

    /// Rules that ignore nothing.
    pub fn no_rules(&self) -> &IgnoreRules {
        &self.no_rules
    }

    /// What a comparison depends on.
    pub fn diff_context<'c>(&'c self, rules: &'c IgnoreRules, method: Method) -> DiffContext<'c> {
        DiffContext {
            method,
            ignore: rules,
            tracking: &self.live.settings().tracking,
            shows_foreign_tracking_id: self.live.settings().version().shows_foreign_tracking_id(),
            schemas: &self.schemas,
            ignore_aggregated_roles: self.compare_options.ignore_aggregated_roles,
            ignore_status: self.compare_options.ignore_status,
            // Values that the snapshot left out are filled in before (`redaction`).
            secret_values_unknown: false,
        }
    }

    /// Whether an Application is compared by server-side diff.
    ///
    /// Source: Argo CD `controller/state.go:CompareAppState`.
    pub fn compares_server_side(&self, application: &Application) -> bool {
        let says = |option: &str| options::object_compares(&application.object, option);
        (self.server_side_diff || says("ServerSideDiff=true")) && !says("ServerSideDiff=false")
    }

    /// What this version of Argo CD does with ignored fields at sync time.
    pub fn respect_options(&self) -> RespectOptions {
        let version = self.live.settings().version();
        RespectOptions {
            ignore_status: self.compare_options.ignore_status,
            keeps_status_out: version.keeps_live_status_out(),
            restores_siblings: version.restores_fields_beside_ignored_ones(),
        }
    }

    /// What decides whether an apply fails on a cluster.
    pub fn failure_context(&self, server: &str) -> &failure::Context<'a> {
        self.failures.get(server).unwrap_or(&self.no_failures)
    }
}

/// Whether the controller is set to server-side diff for all Applications (`--server-side-diff-enabled`).
fn server_side_diff(live: &LiveState) -> bool {
    let settings = live.settings();
    let key = ResourceKey::new("", "ConfigMap", &settings.namespace, "argocd-cmd-params-cm");
    let parameters = live.get(IN_CLUSTER_SERVER, &key).and_then(|object| object.object().get("data")?.get(SERVER_SIDE_DIFF)?.as_str());
    parameters.or_else(|| settings.entry(SERVER_SIDE_DIFF)) == Some("true")
}

fn namespaces_of(live: &LiveState, server: &str) -> Namespaces {
    let mut namespaces = Namespaces::default();
    for object in live.of_kind(server, "", "Namespace") {
        namespaces.captured = true;
        namespaces.known.insert(Arc::clone(&object.key.name));
    }
    let mut last: Option<Arc<str>> = None;
    // Objects are sorted by cluster, so that many clusters do not mean many walks over everything.
    let all = live.all();
    let first = all.partition_point(|object| *object.cluster < *server);
    let own = all.get(first..).unwrap_or_default().iter().take_while(|object| *object.cluster == *server);
    for object in own.filter(|object| !object.key.namespace.is_empty()) {
        if last.as_ref() != Some(&object.key.namespace) {
            last = Some(Arc::clone(&object.key.namespace));
            namespaces.known.insert(Arc::clone(&object.key.namespace));
        }
    }
    namespaces
}
