//! Builders for the tests of rules: plans, changes, live state.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{DuplicateKey, Facts, RenderFailure, RenderedElsewhere, RuleSet, UnstableObject, WaiverComment};
use crate::argocd::{AppId, Application, ApplicationSet, ApplicationsSync};
use crate::finding::{Finding, Severity};
use crate::inventory::{Definition, Delivery, Entry, GeneratedBy, Generation, Inventory, SetDefinition, SetEntry};
use crate::manifest::{Manifest, Origin, ResourceKey, Side};
use crate::plan::{Action, AppChange, Basis, Change, Phase, Reason, SyncDecision, SyncMode, SyncPlan};
use crate::snapshot::{LiveObject, LiveState};

pub(super) const SERVER: &str = "https://kubernetes.default.svc";

/// Everything a run hands to the rules; the rest is empty.
pub(super) struct Run {
    pub(super) plans: Vec<SyncPlan>,
    pub(super) live: LiveState,
    pub(super) inventory: Inventory,
    pub(super) duplicate_keys: Vec<DuplicateKey>,
    pub(super) render_failures: Vec<RenderFailure>,
    pub(super) unstable: Vec<UnstableObject>,
    pub(super) rendered_elsewhere: Vec<RenderedElsewhere>,
    pub(super) comments: Vec<WaiverComment>,
    pub(super) now: i64,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            plans: Vec::new(),
            live: snapshot(&[]),
            inventory: Inventory::default(),
            duplicate_keys: Vec::new(),
            render_failures: Vec::new(),
            unstable: Vec::new(),
            rendered_elsewhere: Vec::new(),
            comments: Vec::new(),
            now: 0,
        }
    }
}

impl Run {
    pub(super) fn facts(&self) -> Facts<'_> {
        Facts {
            plans: &self.plans,
            inventory: &self.inventory,
            live: &self.live,
            duplicate_keys: &self.duplicate_keys,
            render_failures: &self.render_failures,
            unstable: &self.unstable,
            rendered_elsewhere: &self.rendered_elsewhere,
            now: self.now,
            max_snapshot_age: 86_400,
            comments: &self.comments,
            only_introduced: false,
            complete: true,
        }
    }

    /// What some rules alone say.
    pub(super) fn judge(&self, rules: &[&str]) -> Vec<Finding> {
        super::judge(&self.facts(), &RuleSet::builtin().unwrap().only(rules)).unwrap().findings
    }

    /// What all rules say under a policy.
    pub(super) fn under(&self, policy: super::policy::Policy) -> super::Judged {
        super::judge(&self.facts(), &RuleSet::builtin().unwrap().under(policy)).unwrap()
    }

    /// The rules that all together speak, with their severities, except informational ones.
    pub(super) fn loud(&self) -> Vec<(String, Severity)> {
        let judged = super::judge(&self.facts(), &RuleSet::builtin().unwrap()).unwrap();
        let loud = judged.findings.into_iter().filter(|finding| finding.severity > Severity::Info);
        loud.map(|finding| (finding.rule.to_string(), finding.severity)).collect()
    }
}

/// Live state of one cluster, from a snapshot.
pub(super) fn snapshot(objects: &[Value]) -> LiveState {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("live.json");
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "any", "namespace": "other"}});
    let items: Vec<&Value> = objects.iter().chain([&config]).collect();
    std::fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()).unwrap();
    crate::snapshot::load(&[file.to_str().unwrap()]).unwrap()
}

/// The same with nothing in it, captured at this time.
pub(super) fn snapshot_captured(time: &str) -> LiveState {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("settings.yaml"), format!("capturedAt: {time}\n")).unwrap();
    std::fs::write(folder.path().join("live.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: any, namespace: other}\n").unwrap();
    crate::snapshot::load(&[folder.path().to_str().unwrap()]).unwrap()
}

/// An Application object of this name.
pub(super) fn application_object(name: &str) -> Value {
    json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": name, "namespace": "argocd"},
        "spec": {
            "project": "default",
            "destination": {"server": SERVER, "namespace": "shop"},
            "source": {"repoURL": "https://git.example.test/fleet.git", "path": format!("apps/{name}")},
            "syncPolicy": {"automated": {"prune": true}},
        },
    })
}

pub(super) fn application(object: Value) -> Arc<Application> {
    Arc::new(Application::read(Arc::new(object), "argocd").unwrap())
}

/// An automated Application with prune, and what happens to its objects.
pub(super) fn plan(name: &str, changes: Vec<Change>) -> SyncPlan {
    SyncPlan {
        application: application(application_object(name)),
        origin: Some(origin(&format!("argocd/{name}.yaml"), Side::Head)),
        server: SERVER.into(),
        change: AppChange::Unchanged,
        sync: SyncDecision { mode: SyncMode::Automated, prune: true, self_heal: false, starts: true, reason: String::new() },
        changes,
        conditions: Vec::new(),
        too_early: Vec::new(),
        basis: Basis::Live,
        affected: true,
    }
}

/// Changes the Application of a plan.
pub(super) fn edit_application(plan: &mut SyncPlan, edit: impl FnOnce(&mut Value)) {
    let mut object = (*plan.application.object).clone();
    edit(&mut object);
    plan.application = application(object);
}

/// Changes the spec of a plan's Application.
pub(super) fn edit_spec(plan: &mut SyncPlan, edit: impl FnOnce(&mut Value)) {
    edit_application(plan, |object| edit(&mut object["spec"]));
}

pub(super) fn origin(path: &str, side: Side) -> Origin {
    Origin { path: path.into(), side, document: 0..1, line: 1, within: String::new(), rendered: None }
}

pub(super) fn manifest(object: Value, side: Side) -> Arc<Manifest> {
    let key = ResourceKey::of(&object).unwrap();
    let path = format!("apps/{}.yaml", key.name);
    Arc::new(Manifest { key, object: object.into(), origin: origin(&path, side) })
}

pub(super) fn live(object: Value) -> Arc<LiveObject> {
    let key = ResourceKey::of(&object).unwrap();
    snapshot(&[object]).get(SERVER, &key).unwrap().clone()
}

fn change(key: ResourceKey, action: Action, reason: Reason) -> Change {
    Change {
        key,
        version: "v1".into(),
        action,
        reason,
        phase: Phase::Sync,
        wave: 0,
        order: 1,
        introduced: true,
        earlier: false,
        reached: true,
        target: None,
        live: None,
        base: None,
        diff: Vec::new(),
        cascade: Vec::new(),
        stays: Vec::new(),
        cluster: None,
    }
}

/// An object that is live and at base, and no longer at head.
pub(super) fn removed(object: Value, action: Action, reason: Reason) -> Change {
    removed_as(object.clone(), object, action, reason)
}

/// The same, where base and live differ.
pub(super) fn removed_as(base: Value, on_cluster: Value, action: Action, reason: Reason) -> Change {
    let key = ResourceKey::of(&base).unwrap();
    Change { base: Some(manifest(base, Side::Base)), live: Some(live(on_cluster)), ..change(key, action, reason) }
}

/// An object that only head has.
pub(super) fn added(object: Value) -> Change {
    let key = ResourceKey::of(&object).unwrap();
    Change { target: Some(manifest(object, Side::Head)), ..change(key, Action::Create, Reason::NotLive) }
}

/// An object at base, at head and live.
pub(super) fn changed(base: Value, target: Value, on_cluster: Value, action: Action, reason: Reason) -> Change {
    let key = ResourceKey::of(&target).unwrap();
    Change {
        base: Some(manifest(base, Side::Base)),
        target: Some(manifest(target, Side::Head)),
        live: Some(live(on_cluster)),
        ..change(key, action, reason)
    }
}

/// An inventory of Applications: base, head and live object of each, and its parent.
pub(super) fn inventory(
    entries: impl IntoIterator<Item = (Option<Value>, Option<Value>, Option<Value>, Option<&'static str>)>,
) -> Inventory {
    let mut all = BTreeMap::new();
    for (base, head, on_cluster, parent) in entries {
        let definition = |object: Value, side| Definition {
            application: application(object.clone()),
            manifest: manifest(object, side),
            parent: parent.map(|name| AppId::new("argocd", name)),
            generated: None,
            delivery: if parent.is_some() { Delivery::Merge } else { Delivery::ByHand },
            broken: None,
        };
        let live = on_cluster.map(|object| (application(object.clone()), live(object)));
        let base = base.map(|object| definition(object, Side::Base));
        let head = head.map(|object| definition(object, Side::Head));
        let any = head.as_ref().or(base.as_ref()).map(|definition| definition.application.clone());
        let id = any.or_else(|| live.as_ref().map(|(application, _)| application.clone())).unwrap().id.clone();
        let effective = head.as_ref().map(|definition| definition.application.clone());
        all.insert(id.clone(), Entry { id, base, head, live, effective });
    }
    Inventory { entries: all, ..Inventory::default() }
}

/// A finding of a rule about a ConfigMap.
pub(super) fn finding(rule: &str, name: &str) -> Finding {
    Finding {
        rule: rule.into(),
        severity: Severity::Error,
        message: String::new(),
        help: String::new(),
        application: None,
        resource: Some(ResourceKey::new("", "ConfigMap", "shop", name)),
        places: Vec::new(),
        locations: Vec::new(),
        introduced: true,
        assumed: false,
        discriminator: String::new(),
        fixable: false,
        fix: None,
        suppressed: None,
    }
}

/// A source that could not be rendered.
pub(super) fn failure(application: &str, rule: &'static str) -> RenderFailure {
    RenderFailure {
        application: application.into(),
        message: "it fails".into(),
        help: "mend it".into(),
        rule,
        place: Some(super::FailurePlace { path: "apps/a.yaml".into(), side: Side::Head, line: 7, column: 1 }),
        object: None,
        introduced: true,
    }
}

/// A remark on an Application, about an object of this kind.
pub(super) fn condition(kind: &'static str, message: &str, about: &str) -> crate::plan::Condition {
    let key = Some(ResourceKey::new("", about, "shop", "x"));
    crate::plan::Condition { kind, message: message.into(), key, origin: Some(origin("apps/x.yaml", Side::Head)) }
}

/// An Application of the ApplicationSet `tenants` that is deleted, with its finalizer, and what happens to its objects.
pub(super) fn dropped(name: &str, changes: Vec<Change>) -> SyncPlan {
    let mut plan = plan(name, changes);
    plan.sync.mode = SyncMode::Deleted;
    plan.change = AppChange::Removed;
    edit_application(&mut plan, |object| object["metadata"]["finalizers"] = json!(["resources-finalizer.argocd.argoproj.io"]));
    plan
}

/// An inventory of the ApplicationSet `tenants` and the Applications that it generates at base and at head; `None` where it is not there.
pub(super) fn generated_inventory(base: Option<&[&str]>, head: Option<&[&str]>) -> Inventory {
    let set_object = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": {"name": "tenants", "namespace": "argocd"},
        "spec": {"generators": [{"list": {"elements": []}}], "template": {"metadata": {"name": "{{name}}"}}},
    });
    let id = AppId::new("argocd", "tenants");
    let set = Arc::new(ApplicationSet::read(Arc::new(set_object.clone()), "argocd").unwrap());
    let side = |names: &[&str], side: Side| SetDefinition {
        set: Arc::clone(&set),
        manifest: Some(manifest(set_object.clone(), side)),
        parent: Some(AppId::new("argocd", "root")),
        generation: Generation::Done,
        names: names.iter().map(|name| Arc::from(*name)).collect(),
        rejected: Vec::new(),
        repeated: Vec::new(),
    };
    let mut all = Inventory::default();
    for name in base.iter().chain(&head).copied().flatten() {
        let definition = |names: Option<&[&str]>, side: Side| {
            names.is_some_and(|names| names.contains(name)).then(|| Definition {
                application: application(application_object(name)),
                manifest: manifest(application_object(name), side),
                parent: None,
                generated: Some(GeneratedBy { set: id.clone(), parameters: Some(Arc::new(json!({"name": name}))), rolled: None }),
                delivery: Delivery::Merge,
                broken: None,
            })
        };
        let own = AppId::new("argocd", name);
        let live_object = application_object(name);
        let on_cluster = base.is_some_and(|base| base.contains(name)).then(|| (application(live_object.clone()), live(live_object)));
        let (base, head) = (definition(base, Side::Base), definition(head, Side::Head));
        let effective = head.as_ref().map(|head| head.application.clone());
        all.entries.insert(own.clone(), Entry { id: own, base, head, live: on_cluster, effective });
    }
    let entry = SetEntry {
        base: base.map(|names| side(names, Side::Base)),
        head: head.map(|names| side(names, Side::Head)),
        live: None,
        owned: base.iter().copied().flatten().map(|name| AppId::new("argocd", name)).collect(),
        policy: ApplicationsSync::SYNC,
        progressive: false,
        id: id.clone(),
    };
    all.sets.insert(id, entry);
    all
}
