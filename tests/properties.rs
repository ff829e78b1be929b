//! What holds for every plan, whatever Git and the cluster say: random targets, live states, Applications and projects.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use presync::argocd::Application;
use presync::check::{self, Head, Options, Outcome};
use presync::manifest::{Manifest, Origin, ResourceKey, Side};
use presync::plan::application::{self, Input};
use presync::plan::attempt::Revision;
use presync::plan::{Action, Change, SyncMode, SyncPlan, World, deletion};
use presync::render::Programs;
use presync::snapshot::{self, LiveState};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

const SERVER: &str = "https://kubernetes.default.svc";
const TRACKING_ID: &str = "argocd.argoproj.io/tracking-id";
const REMOVALS: [Action; 4] = [Action::Prune, Action::Leftover, Action::Retain, Action::Confirm];

/// One object as Git or the cluster may have it.
#[derive(Clone, Debug)]
struct Object {
    kind: (&'static str, &'static str),
    namespace: &'static str,
    name: &'static str,
    mode: &'static str,
    sync_options: &'static str,
    wave: &'static str,
    hook: &'static str,
    immutable: bool,
}

impl Object {
    fn group(&self) -> &'static str {
        self.kind.0.split_once('/').map_or("", |(group, _)| group)
    }

    /// Name and place; cluster-scoped kinds have no namespace.
    fn key(&self) -> ResourceKey {
        let namespaced = !matches!(self.kind.1, "ClusterRole" | "Namespace");
        ResourceKey::new(self.group(), self.kind.1, if namespaced { self.namespace } else { "" }, self.name)
    }

    fn value(&self) -> Value {
        let key = self.key();
        let mut object = json!({"apiVersion": self.kind.0, "kind": self.kind.1, "metadata": {"name": self.name, "annotations": {}}});
        if !key.namespace.is_empty() {
            object["metadata"]["namespace"] = json!(&*key.namespace);
        }
        let annotations = [
            ("argocd.argoproj.io/sync-options", self.sync_options),
            ("argocd.argoproj.io/sync-wave", self.wave),
            ("argocd.argoproj.io/hook", self.hook),
        ];
        for (name, value) in annotations.into_iter().filter(|(_, value)| !value.is_empty()) {
            object["metadata"]["annotations"][name] = json!(value);
        }
        match self.kind.1 {
            "ConfigMap" => {
                object["data"] = json!({"mode": self.mode});
                if self.immutable {
                    object["immutable"] = json!(true);
                }
            }
            "ClusterRole" => object["rules"] = json!([]),
            "PersistentVolumeClaim" => object["spec"] = json!({"resources": {"requests": {"storage": "1Gi"}}}),
            _ => {}
        }
        object
    }
}

/// How a live object is tracked.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tracked {
    ByUs,
    ByAnother,
    ByNobody,
    /// It carries the id of another object of ours.
    Copy,
    ByLabelOnly,
}

#[derive(Clone, Debug)]
struct Live {
    object: Object,
    tracked: Tracked,
    owned: bool,
}

impl Live {
    fn value(&self) -> Value {
        let mut object = self.object.value();
        let key = self.object.key();
        let id = |instance: &str, name: &str| {
            format!("{instance}:{}/{}:{}/{name}", key.group, key.kind, if key.namespace.is_empty() { "shop" } else { &key.namespace })
        };
        let annotations = &mut object["metadata"]["annotations"];
        match self.tracked {
            Tracked::ByUs => annotations[TRACKING_ID] = json!(id("a", &key.name)),
            Tracked::ByAnother => annotations[TRACKING_ID] = json!(id("b", &key.name)),
            Tracked::Copy => annotations[TRACKING_ID] = json!(id("a", "model")),
            Tracked::ByNobody | Tracked::ByLabelOnly => {}
        }
        if matches!(self.tracked, Tracked::ByUs | Tracked::ByLabelOnly) {
            object["metadata"]["labels"] = json!({"app.kubernetes.io/instance": "a"});
        }
        if self.owned {
            object["metadata"]["ownerReferences"] =
                json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "owner", "uid": "u-owner"}]);
        }
        object["metadata"]["uid"] = json!(format!("u-{key}"));
        object
    }
}

/// Everything that decides about one Application.
#[derive(Clone, Debug)]
struct Case {
    targets: Vec<Object>,
    live: Vec<Live>,
    automated: Option<(bool, bool)>,
    options: Vec<&'static str>,
    finalizer: Option<&'static str>,
    method: &'static str,
    version: &'static str,
    project: Option<Vec<&'static str>>,
}

impl Case {
    fn application(&self) -> Value {
        let mut object = json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
            "metadata": {"name": "a", "namespace": "argocd"},
            "spec": {
                "project": if self.project.is_some() { "narrow" } else { "default" },
                "destination": {"server": SERVER, "namespace": "shop"},
                "source": {"repoURL": support::REPOSITORY_URL, "targetRevision": "main", "path": "apps/a"},
                "syncPolicy": {"syncOptions": self.options},
            },
        });
        if let Some((prune, allow_empty)) = self.automated {
            object["spec"]["syncPolicy"]["automated"] = json!({"prune": prune, "allowEmpty": allow_empty});
        }
        if let Some(finalizer) = self.finalizer {
            object["metadata"]["finalizers"] = json!([finalizer]);
        }
        object
    }

    fn snapshot(&self) -> Vec<Value> {
        let mut objects: Vec<Value> = self.live.iter().map(Live::value).collect();
        objects.push(self.application());
        if let Some(namespaces) = &self.project {
            let destinations: Vec<Value> = namespaces.iter().map(|namespace| json!({"server": "*", "namespace": namespace})).collect();
            objects.push(json!({
                "apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject", "metadata": {"name": "narrow", "namespace": "argocd"},
                "spec": {"sourceRepos": ["*"], "destinations": destinations, "clusterResourceWhitelist": [{"group": "*", "kind": "*"}]},
            }));
        }
        objects
    }

    fn write_snapshot(&self, folder: &Path, objects: &[Value]) {
        fs::create_dir_all(folder).unwrap();
        let settings = format!("argocdVersion: '{}'\nresourceTrackingMethod: {}\n", self.version, self.method);
        fs::write(folder.join("settings.yaml"), settings).unwrap();
        fs::write(folder.join("objects.json"), json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()).unwrap();
    }

    fn load(&self, objects: &[Value]) -> LiveState {
        let folder = tempfile::tempdir().unwrap();
        self.write_snapshot(folder.path(), objects);
        snapshot::load(&[folder.path().to_str().unwrap()]).unwrap()
    }

    fn manifests(&self) -> Vec<Arc<Manifest>> {
        let manifest = |(index, object): (usize, &Object)| {
            let value = object.value();
            let path = format!("apps/a/{index}.yaml");
            let origin = Origin { path: path.into(), side: Side::Head, document: 0..0, line: 1, within: String::new(), rendered: None };
            Arc::new(Manifest { key: ResourceKey::of(&value).unwrap(), object: value.into(), origin })
        };
        self.targets.iter().enumerate().map(manifest).collect()
    }

    fn plan(&self, manifests: &[Arc<Manifest>], live: &LiveState) -> SyncPlan {
        let world = World::new(live, BTreeMap::new(), &[]);
        let application = Arc::new(Application::read(Arc::new(self.application()), "argocd").unwrap());
        let input = Input {
            application,
            origin: None,
            rendered: manifests,
            rendered_at_base: manifests,
            previous_server: None,
            revision: Revision::New,
        };
        application::plan(&input, &world)
    }

    /// Whether Argo CD counts a live object to the Application: tracked under its name, without owners, in sight of its project.
    fn is_managed(&self, live: &Live) -> bool {
        let tracked = match self.method {
            "label" => matches!(live.tracked, Tracked::ByUs | Tracked::ByLabelOnly),
            _ => matches!(live.tracked, Tracked::ByUs | Tracked::Copy),
        };
        tracked && !live.owned
    }

    fn is_seen(&self, live: &Live) -> bool {
        let namespace = live.object.key().namespace;
        self.project.as_ref().is_none_or(|namespaces| namespace.is_empty() || namespaces.contains(&&*namespace))
    }
}

fn objects() -> impl Strategy<Value = Object> {
    let kinds = [
        ("v1", "ConfigMap"),
        ("v1", "ServiceAccount"),
        ("v1", "PersistentVolumeClaim"),
        ("v1", "Namespace"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("lab.example.test/v1", "Flask"),
    ];
    (
        select(kinds.to_vec()),
        select(&["shop", "store"][..]),
        select(&["anvil", "bench", "crate", "drill"][..]),
        select(&["x", "y"][..]),
        select(&["", "", "", "Prune=false", "Prune=confirm", "Delete=false", "PruneLast=true", "Replace=true", "Delete=confirm"][..]),
        select(&["", "", "-1", "1", "5"][..]),
        select(&["", "", "", "", "PreSync", "Skip", "PostDelete", "Nonsense", "PreSync,PostSync"][..]),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(kind, namespace, name, mode, sync_options, wave, hook, immutable)| Object {
            kind,
            namespace,
            name,
            mode,
            sync_options,
            wave,
            hook,
            immutable,
        })
}

/// Objects of which no two have the same key.
fn distinct<T>(objects: Vec<T>, key: impl Fn(&T) -> ResourceKey) -> Vec<T> {
    let mut seen = BTreeSet::new();
    objects.into_iter().filter(|object| seen.insert(key(object))).collect()
}

fn live() -> impl Strategy<Value = Live> {
    let tracked = [Tracked::ByUs, Tracked::ByUs, Tracked::ByUs, Tracked::ByAnother, Tracked::ByNobody, Tracked::Copy, Tracked::ByLabelOnly];
    (objects(), select(tracked.to_vec()), prop::bool::weighted(0.15)).prop_map(|(object, tracked, owned)| Live { object, tracked, owned })
}

fn cases() -> impl Strategy<Value = Case> {
    let options = [
        "Prune=false",
        "Delete=false",
        "PruneLast=true",
        "ApplyOutOfSyncOnly=true",
        "CreateNamespace=true",
        "PrunePropagationPolicy=orphan",
    ];
    (
        prop::collection::vec(objects(), 0..8),
        prop::collection::vec(live(), 0..10),
        prop::option::weighted(0.8, (prop::bool::weighted(0.7), any::<bool>())),
        subsequence(options.to_vec(), 0..=2),
        prop::option::of(select(
            &["resources-finalizer.argocd.argoproj.io", "resources-finalizer.argocd.argoproj.io/background", "other/finalizer"][..],
        )),
        select(&["annotation", "annotation+label", "label"][..]),
        select(&["3.2", "3.4", "3.5"][..]),
        prop::option::weighted(0.2, subsequence(&["shop", "store", "argocd"][..], 1..=3)),
    )
        .prop_map(|(targets, live, automated, options, finalizer, method, version, project)| Case {
            targets: distinct(targets, Object::key),
            live: distinct(live, |live| live.object.key()),
            automated,
            options,
            finalizer,
            method,
            version,
            project,
        })
}

/// A change as far as it matters to a reader.
fn line(change: &Change) -> String {
    let fields: Vec<String> = change.diff.iter().map(|field| format!("{} {:?} {:?}", field.path, field.live, field.target)).collect();
    format!(
        "{} {} {} {} {:?} {} {fields:?} {:?} {:?}",
        change.order,
        change.phase.as_str(),
        change.wave,
        change.action.as_str(),
        change.key,
        change.reached,
        change.cascade,
        change.stays,
    )
}

fn lines(plan: &SyncPlan) -> Vec<String> {
    let mut lines = vec![format!("{:?}", plan.sync)];
    lines.extend(plan.changes.iter().map(line));
    lines
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_order_of_targets_and_of_live_objects_never_changes_the_plan(
        (case, targets, live) in cases().prop_flat_map(|case| {
            let (targets, live) = (Just(case.manifests()).prop_shuffle(), Just(case.snapshot()).prop_shuffle());
            (Just(case), targets, live)
        })
    ) {
        let plan = case.plan(&case.manifests(), &case.load(&case.snapshot()));
        prop_assert_eq!(lines(&plan), lines(&case.plan(&targets, &case.load(&live))));
    }

    #[test]
    fn a_plan_never_holds_two_actions_for_one_object(case in cases()) {
        let plan = case.plan(&case.manifests(), &case.load(&case.snapshot()));
        let mut seen = BTreeSet::new();
        for change in plan.changes.iter().filter(|change| change.action != Action::None) {
            prop_assert!(seen.insert((&change.key, &change.cluster)), "{} appears twice: {:#?}", change.key, lines(&plan));
        }
        for (index, change) in plan.changes.iter().enumerate() {
            prop_assert_eq!(change.order, index + 1);
        }
    }

    #[test]
    fn every_live_object_that_left_git_ends_in_one_removal_or_stays(case in cases()) {
        let plan = case.plan(&case.manifests(), &case.load(&case.snapshot()));
        let targets: BTreeSet<ResourceKey> = case.targets.iter().map(Object::key).collect();
        let stopped = matches!(plan.sync.mode, SyncMode::Refused | SyncMode::Error);
        prop_assert!(!stopped || plan.changes.is_empty());
        for live in case.live.iter().filter(|live| !targets.contains(&live.object.key())) {
            let key = live.object.key();
            let actions: Vec<Action> = plan.changes.iter().filter(|change| change.key == key).map(|change| change.action).collect();
            let copied = live.tracked == Tracked::Copy && case.method != "label" && &*key.name != "model";
            let removable = case.is_managed(live) && case.is_seen(live) && !copied && live.object.hook.is_empty();
            if removable && !stopped {
                prop_assert!(matches!(actions[..], [action] if REMOVALS.contains(&action)), "{key}: {actions:?}");
            } else {
                prop_assert!(actions.is_empty(), "{key} is none of the Application's business: {actions:?}");
            }
        }
    }

    #[test]
    fn every_object_of_a_deleted_application_is_deleted_or_stays(case in cases()) {
        let live = case.load(&case.snapshot());
        let world = World::new(&live, BTreeMap::new(), &[]);
        let application = Arc::new(Application::read(Arc::new(case.application()), "argocd").unwrap());
        let input = deletion::Input {
            application: &application,
            origin: None,
            reason: String::new(),
            reached: true,
            before: &[],
            after: deletion::Rendered::Unknown,
        };
        let plan = deletion::plan(&input, &world);
        let cascades = case.finalizer.is_some_and(|finalizer| finalizer.starts_with("resources-finalizer"));
        for object in &case.live {
            let key = object.object.key();
            let found: Vec<&Change> = plan.changes.iter().filter(|change| change.key == key).collect();
            let [change] = found[..] else {
                prop_assert!(found.is_empty(), "{key} appears twice");
                prop_assert!(!case.is_managed(object), "{key} is forgotten");
                continue;
            };
            let auto_created = key.kind.as_ref() == "Namespace" && case.options.contains(&"CreateNamespace=true");
            prop_assert!(case.is_managed(object) || auto_created, "{key} is none of the Application's business");
            let kept = object.object.sync_options == "Delete=false"
                || (case.version != "3.2" && case.options.contains(&"Delete=false") && !object.object.sync_options.starts_with("Delete="));
            let deleted = cascades && case.is_managed(object) && case.is_seen(object) && !kept;
            prop_assert_eq!(change.action, if deleted { Action::Delete } else { Action::Orphan }, "{}", key);
        }
    }
}

/// A fleet: a root with children, their folders, and a live state that need not agree.
fn write_fleet(folder: &Path, case: &Case, names: &[&str]) {
    let root = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "root", "namespace": "argocd"},
        "spec": {
            "project": "default",
            "destination": {"server": SERVER, "namespace": "argocd"},
            "source": {"repoURL": support::REPOSITORY_URL, "targetRevision": "main", "path": "clusters"},
            "syncPolicy": {"automated": {"prune": true}},
        },
    });
    let write = |path: String, value: &Value| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value.to_string()).unwrap();
    };
    write("root/root.json".to_owned(), &root);
    write(
        "clusters/keep.json".to_owned(),
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "keep", "namespace": "argocd"}}),
    );
    write(format!("clusters/{}.json", names[0]), &case.application());
    for (object, name) in case.targets.iter().zip(names.iter().cycle().skip(1).enumerate()) {
        write(format!("apps/a/{}-{}.json", name.1, name.0), &object.value());
    }
}

fn check(base: &Path, head: &Path, snapshot: &Path) -> Outcome {
    let repository = support::lay_out(base, head);
    let options = Options {
        repo: repository.path().to_path_buf(),
        base: Some("main".to_owned()),
        head: Head::Revision("change".to_owned()),
        snapshots: vec![snapshot.to_str().unwrap().to_owned()],
        max_snapshot_age: None,
        now: jiff::Timestamp::UNIX_EPOCH,
        repo_urls: vec![support::REPOSITORY_URL.to_owned()],
        applications: Vec::new(),
        config: None,
        all: true,
        offline: true,
        programs: Programs::default(),
        cache: None,
    };
    check::run(&options).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_change_that_changes_nothing_introduces_nothing(case in cases()) {
        let folder = tempfile::tempdir().unwrap();
        let (repository, live) = (folder.path().join("repository"), folder.path().join("live"));
        write_fleet(&repository, &case, &["m", "m"]);
        case.write_snapshot(&live, &case.snapshot());
        let outcome = check(&repository, &repository, &live);
        for plan in &outcome.plans {
            let introduced: Vec<String> = plan.changes.iter().filter(|change| change.introduced).map(line).collect();
            prop_assert!(introduced.is_empty(), "{}: {introduced:#?}", plan.application.id);
        }
        let introduced: Vec<&str> = outcome.findings.iter().filter(|finding| finding.introduced).map(|finding| &*finding.message).collect();
        prop_assert!(introduced.is_empty(), "{introduced:#?}");
    }

    #[test]
    fn names_of_files_never_change_the_plan((case, names) in (cases(), Just(vec!["a", "m", "q", "z"]).prop_shuffle())) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        write_fleet(&path("one"), &case, &["m", "m"]);
        write_fleet(&path("two"), &case, &names);
        case.write_snapshot(&path("live"), &case.snapshot());
        let empty = Case { targets: Vec::new(), ..case.clone() };
        write_fleet(&path("base"), &empty, &["m", "m"]);
        let plans = |outcome: Outcome| -> Vec<Vec<String>> { outcome.plans.iter().map(lines).collect() };
        prop_assert_eq!(plans(check(&path("base"), &path("one"), &path("live"))), plans(check(&path("base"), &path("two"), &path("live"))));
    }
}
