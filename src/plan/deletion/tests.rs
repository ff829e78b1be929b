use serde_json::{Value, json};

use super::*;
use crate::argocd::names::{HOOK, SYNC_OPTIONS, SYNC_WAVE, TRACKING_ID};
use crate::manifest::Side;
use crate::plan::sample;

const CASCADE: &str = "resources-finalizer.argocd.argoproj.io";

fn map(name: &str, annotations: &[(&str, &str)]) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "shop", "annotations": {}}});
    object["metadata"]["annotations"][TRACKING_ID] = json!(format!("a:/ConfigMap:shop/{name}"));
    for (key, value) in annotations {
        object["metadata"]["annotations"][*key] = json!(value);
    }
    object
}

fn manifest(object: Value) -> Arc<Manifest> {
    let origin = Origin { path: "a.yaml".into(), side: Side::Head, document: 0..0, line: 1, within: String::new(), rendered: None };
    Arc::new(Manifest { key: ResourceKey::of(&object).unwrap(), object: object.into(), origin })
}

fn hook(name: &str, kind: &str) -> Arc<Manifest> {
    manifest(json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "annotations": {HOOK: kind}}}))
}

struct Case {
    settings: &'static str,
    finalizers: Vec<&'static str>,
    options: Vec<&'static str>,
    annotations: Value,
    live: Vec<Value>,
}

impl Case {
    fn new(live: Vec<Value>) -> Self {
        Self { settings: "argocdVersion: '3.5'", finalizers: vec![CASCADE], options: Vec::new(), annotations: json!({}), live }
    }

    fn plan(&self, after: Rendered<'_>) -> SyncPlan {
        let object = json!({
            "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
            "metadata": {"name": "a", "namespace": "argocd", "finalizers": self.finalizers, "annotations": self.annotations},
            "spec": {
                "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
                "source": {"repoURL": "https://git.example.test/platform/fleet.git", "path": "apps/a"},
                "syncPolicy": {"syncOptions": self.options},
            },
        });
        let live = sample::snapshot(self.settings, &self.live);
        let world = World::new(&live, BTreeMap::new(), &[]);
        let application = Arc::new(Application::read(Arc::new(object), "argocd").unwrap());
        plan(&Input { application: &application, origin: None, reason: String::new(), reached: true, before: &[], after }, &world)
    }

    fn lines(&self, after: Rendered<'_>) -> Vec<String> {
        let plan = self.plan(after);
        let line = |change: &Change| {
            let reached = if change.reached { "" } else { " (unreached)" };
            format!("{} {} {} {}{reached}", change.phase.as_str(), change.wave, change.action.as_str(), change.key.name)
        };
        plan.changes.iter().map(line).collect()
    }
}

#[test]
fn s9_64_the_highest_wave_is_deleted_first() {
    let waves = [("a", "1"), ("b", "5"), ("c", "7"), ("d", "7"), ("e", "4")];
    let case = Case::new(waves.iter().map(|(name, wave)| map(name, &[(SYNC_WAVE, wave)])).collect());
    let expected = ["Sync 7 delete c", "Sync 7 delete d", "Sync 5 delete b", "Sync 4 delete e", "Sync 1 delete a"];
    assert_eq!(case.lines(Rendered::Unknown), expected);
}

#[test]
fn s9_65_what_delete_false_keeps_stays_and_the_option_of_the_object_wins() {
    let mut case =
        Case::new(vec![map("kept", &[(SYNC_OPTIONS, "Delete=false")]), map("other", &[(SYNC_OPTIONS, "Delete=foo")]), map("plain", &[])]);
    assert_eq!(case.lines(Rendered::Unknown), ["Sync 0 delete other", "Sync 0 delete plain", "Sync 0 orphan kept"]);
    case.options = vec!["Delete=false"];
    assert_eq!(case.lines(Rendered::Unknown), ["Sync 0 delete other", "Sync 0 orphan kept", "Sync 0 orphan plain"]);
    case.settings = "argocdVersion: '3.3'";
    assert_eq!(case.lines(Rendered::Unknown), ["Sync 0 delete other", "Sync 0 delete plain", "Sync 0 orphan kept"]);
}

#[test]
fn a_copy_that_carries_the_tracking_id_of_its_model_is_deleted_as_well() {
    let mut copy = map("model", &[]);
    copy["metadata"]["name"] = json!("copy");
    assert_eq!(Case::new(vec![map("model", &[]), copy]).lines(Rendered::Unknown), ["Sync 0 delete copy", "Sync 0 delete model"]);
}

#[test]
fn every_spelling_of_the_finalizer_cascades_and_others_do_not() {
    for (finalizer, action) in [
        ("resources-finalizer.argocd.argoproj.io", "delete"),
        ("resources-finalizer.argocd.argoproj.io/foreground", "delete"),
        ("resources-finalizer.argocd.argoproj.io/background", "delete"),
        ("resources-finalizer.argocd.argoproj.io/orphan", "orphan"),
        ("post-delete-finalizer.argocd.argoproj.io", "orphan"),
        ("foregroundDeletion", "orphan"),
    ] {
        let case = Case { finalizers: vec![finalizer], ..Case::new(vec![map("m", &[])]) };
        assert_eq!(case.lines(Rendered::Manifests(&[])), [format!("Sync 0 {action} m")], "{finalizer}");
    }
}

#[test]
fn hooks_of_the_deletion_run_before_and_after_where_the_live_application_has_their_finalizers() {
    let hooks = [hook("first", "PreDelete"), hook("last", "PostDelete"), hook("sync", "PostSync")];
    let mut case = Case::new(vec![map("m", &[])]);
    assert_eq!(case.lines(Rendered::Manifests(&hooks)), ["Sync 0 delete m"]);
    case.finalizers = vec![CASCADE, "pre-delete-finalizer.argocd.argoproj.io", "post-delete-finalizer.argocd.argoproj.io/cleanup"];
    let expected = ["PreDelete 0 hook first", "Sync 0 delete m", "PostDelete 0 hook last"];
    assert_eq!(case.lines(Rendered::Manifests(&hooks)), expected);
    case.settings = "argocdVersion: '3.2'";
    assert_eq!(case.lines(Rendered::Manifests(&hooks)), ["Sync 0 delete m", "PostDelete 0 hook last"]);
}

#[test]
fn a_deletion_with_hooks_hangs_where_git_no_longer_renders_them() {
    let mut case = Case::new(vec![map("m", &[])]);
    case.finalizers = vec![CASCADE, "post-delete-finalizer.argocd.argoproj.io"];
    let plan = case.plan(Rendered::Broken("the source path apps/a does not exist"));
    assert_eq!(plan.conditions[0].kind, "DeletionHangs");
    assert!(plan.conditions[0].message.ends_with("the source path apps/a does not exist"), "{}", plan.conditions[0].message);
    assert!(plan.changes[0].reached, "objects go before the hooks that come after");
    case.finalizers = vec![CASCADE, "pre-delete-finalizer.argocd.argoproj.io"];
    assert_eq!(case.lines(Rendered::Broken("gone")), ["Sync 0 delete m (unreached)"]);
    case.finalizers = vec![CASCADE];
    assert!(case.plan(Rendered::Broken("gone")).conditions.is_empty());
}

#[test]
fn one_object_that_asks_for_approval_holds_everything_up_but_a_kept_one_does_not() {
    let confirm = |option: &'static str| Case::new(vec![map("asks", &[(SYNC_OPTIONS, option)]), map("m", &[])]);
    for option in ["Delete=confirm", "Prune=confirm"] {
        assert_eq!(confirm(option).lines(Rendered::Unknown), ["Sync 0 delete asks (unreached)", "Sync 0 delete m (unreached)"], "{option}");
    }
    assert_eq!(confirm("Delete=false,Prune=confirm").lines(Rendered::Unknown), ["Sync 0 delete m", "Sync 0 orphan asks"]);
}

#[test]
fn an_application_that_the_controller_ignores_is_not_finished() {
    let case = Case { annotations: json!({"argocd.argoproj.io/skip-reconcile": "true"}), ..Case::new(vec![map("m", &[])]) };
    assert_eq!(case.lines(Rendered::Unknown), ["Sync 0 delete m (unreached)"]);
    let without = Case { finalizers: Vec::new(), ..case };
    assert_eq!(without.lines(Rendered::Unknown), ["Sync 0 orphan m"]);
}
