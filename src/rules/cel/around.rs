//! What is known around an object: who scales and reads it, the volume behind it, what hangs on it, what protects it, and what is above its
//! Application.
//!
//! Takes the look-ups that the rules share; hands on further members of `change` and `app`. What costs a search is looked up only where an
//! expression of some rule names it.

use std::collections::{BTreeSet, HashSet};
use std::sync::OnceLock;

use serde_json::{Map, Value as Json, json};

use crate::argocd::AppId;
use crate::argocd::options::object_value;
use crate::inventory::Entry;
use crate::manifest::ResourceKey;
use crate::plan::dependents::{self, Deletion};
use crate::plan::{Change, SyncPlan, removal};
use crate::rules::definition::Cel;
use crate::rules::facts::{References, View, is_only_on_template, is_restarted, misspelled, server_of, volume_of};

/// Members of `change` that are looked up on demand.
const MEMBERS: [&str; 5] = ["scalers", "consumers", "volume", "dependents", "protection"];

/// Looks around objects.
pub(super) struct Around<'a> {
    view: &'a View<'a>,
    wanted: BTreeSet<&'static str>,
    references: OnceLock<References>,
}

impl<'a> Around<'a> {
    /// For a run of these rules.
    pub(super) fn new(view: &'a View<'a>, rules: impl Iterator<Item = &'a Cel>) -> Self {
        let wanted = rules.flat_map(|rule| MEMBERS.into_iter().filter(|member| rule.mentions(member))).collect();
        Self { view, wanted, references: OnceLock::new() }
    }

    /// As if some rule named every member.
    #[cfg(test)]
    pub(super) fn for_all_members(view: &'a View<'a>) -> Self {
        Self { view, wanted: MEMBERS.into(), references: OnceLock::new() }
    }

    /// Members of `change`.
    pub(super) fn of_change(&self, plan: &SyncPlan, change: &Change) -> Map<String, Json> {
        let look = |member: &&'static str| {
            let value = match *member {
                "scalers" => self.scalers(plan, change),
                "consumers" => self.consumers(plan, change),
                "volume" => self.volume(change),
                "dependents" => self.dependents(change),
                _ => self.protection(plan, change),
            };
            ((*member).to_owned(), value)
        };
        self.wanted.iter().map(look).collect()
    }

    /// Members of `app`.
    pub(super) fn of_application(&self, id: &AppId) -> Map<String, Json> {
        let parents: Vec<String> = self.view.parents(id).into_iter().map(AppId::to_string).collect();
        let set = self.view.entry(id).and_then(Entry::generated).map(|by| by.set.to_string());
        [("parents".to_owned(), json!(parents)), ("set".to_owned(), json!(set.unwrap_or_default()))].into_iter().collect()
    }

    fn scalers(&self, plan: &SyncPlan, change: &Change) -> Json {
        let scalers = self.view.scalers.all_of(server_of(plan, change), &change.key);
        let found = scalers.map(|scaler| {
            let more = [("min", json!(scaler.min)), ("max", json!(scaler.max)), ("inGit", json!(scaler.origin.is_some()))];
            named(&scaler.key, more)
        });
        Json::Array(found.collect())
    }

    fn consumers(&self, plan: &SyncPlan, change: &Change) -> Json {
        let references = self.references.get_or_init(|| References::new(self.view));
        let found = references.of(server_of(plan, change), &change.key).iter().map(|consumer| {
            let reference = &consumer.reference;
            let more = [
                ("application", json!(consumer.application.as_deref().unwrap_or_default())),
                ("way", json!(reference.way.word())),
                ("key", json!(reference.reads.as_deref().unwrap_or_default())),
                ("optional", json!(reference.optional)),
                ("restarted", json!(is_restarted(self.view, plan, change, &consumer.key))),
            ];
            named(&consumer.key, more)
        });
        Json::Array(found.collect())
    }

    fn volume(&self, change: &Change) -> Json {
        let claim = change.live.as_ref().filter(|live| live.key.is("", "PersistentVolumeClaim"));
        let volume = claim.and_then(|claim| volume_of(self.view, claim));
        let text = |text: Option<&str>| json!(text.unwrap_or_default());
        let (size, policy) = volume.as_ref().map(|volume| (volume.size.as_deref(), volume.policy.as_deref())).unwrap_or_default();
        json!({"name": text(volume.as_ref().map(|volume| volume.name.as_str())), "size": text(size), "policy": text(policy)})
    }

    fn dependents(&self, change: &Change) -> Json {
        let Some(live) = &change.live else { return json!([]) };
        let deletion = Deletion { going: &HashSet::new(), orphans: false, follows: &|_| false };
        let found = dependents::of(live, self.view.facts.live, deletion).go;
        found.iter().map(|one| named(&one.key, [("because", json!(one.tie.as_str())), ("application", json!(one.application))])).collect()
    }

    fn protection(&self, plan: &SyncPlan, change: &Change) -> Json {
        let version = self.view.facts.live.settings().version();
        let options = &plan.application.spec.sync_policy.sync_options;
        let counts = |key: &str| {
            let live = change.live_object()?;
            removal::effective(key, live, options, version).map(|(value, _)| value)
        };
        let in_git = change.target_object().or(change.base.as_ref().map(|base| &*base.object));
        let object = in_git.or(change.live_object());
        let texts: Vec<String> = object.map(misspelled).unwrap_or_default().into_iter().map(|found| found.written).collect();
        json!({
            "prune": counts("Prune").unwrap_or_default(),
            "delete": counts("Delete").unwrap_or_default(),
            "pruneInGit": in_git.and_then(|object| object_value(object, "Prune")).unwrap_or_default(),
            "misspelled": texts,
            "misplaced": object.is_some_and(is_only_on_template),
        })
    }
}

/// An object by its names, with more about it.
fn named(key: &ResourceKey, more: impl IntoIterator<Item = (&'static str, Json)>) -> Json {
    let names =
        [("kind", json!(&*key.kind)), ("namespace", json!(&*key.namespace)), ("name", json!(&*key.name)), ("named", json!(key.named()))];
    names.into_iter().chain(more).map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::plan::{Action, Change, Reason};
    use crate::rules::fixture::*;
    use crate::rules::{RuleSet, judge};

    /// What an expression yields for each of these changes of Application `a`, beside these live objects.
    fn said(expression: &str, changes: Vec<Change>, live: &[Value]) -> Vec<String> {
        let mut rules = RuleSet::builtin().unwrap().only(&[]);
        let text = format!(
            "id: acme/rule\nsince: 1.0.0\nstatus: stable\nseverity: error\nneeds: []\nsummary: s\nwhy: w\nhelp: h\nfix: f\n\
             example: {{bad: b, finding: f, good: g}}\nlogic: cel\ncel:\n  validations: [{{expression: 'false', messageExpression: {}}}]\n",
            json!(expression)
        );
        rules.add([("rule.yaml", text.as_str())]).unwrap();
        let root = (None, Some(application_object("root")), None, None);
        let child = (None, Some(application_object("a")), None, Some("root"));
        let run = Run { plans: vec![plan("a", changes)], live: snapshot(live), inventory: inventory([root, child]), ..Run::default() };
        judge(&run.facts(), &rules).unwrap().findings.into_iter().map(|finding| finding.message).collect()
    }

    fn object(kind: &str, name: &str, more: &Value) -> Value {
        let version = match kind {
            "Deployment" | "StatefulSet" => "apps/v1",
            "HorizontalPodAutoscaler" => "autoscaling/v2",
            _ => "v1",
        };
        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "shop"}});
        more.as_object().unwrap().iter().for_each(|(field, value)| object[field] = value.clone());
        object
    }

    fn reader(checksum: &str) -> Value {
        object(
            "Deployment",
            "api",
            &json!({"spec": {"template": {"metadata": {"annotations": {"checksum/conf": checksum}},
                "spec": {"containers": [{"name": "c", "env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "conf", "key": "a", "optional": true}}}]}]}}}}),
        )
    }

    #[test]
    fn rules_see_who_scales_a_workload_in_git_and_live() {
        let scaler = |max: i64| {
            let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "api"});
            object("HorizontalPodAutoscaler", "api", &json!({"spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": max}}))
        };
        let expression = "change.kind + ':' + change.scalers.map(s, s.named + ' ' + string(s.min) + '-' + string(s.max) + (s.inGit ? ' git' : ' live')).join(' ')";
        let api = || added(object("Deployment", "api", &json!({})));
        assert_eq!(said(expression, vec![api()], &[scaler(7)]), ["Deployment:HorizontalPodAutoscaler shop/api 2-7 live"]);
        assert_eq!(said(expression, vec![api(), added(scaler(9))], &[])[0], "Deployment:HorizontalPodAutoscaler shop/api 2-9 git");
        assert_eq!(said(expression, vec![api()], &[]), ["Deployment:"]);
    }

    #[test]
    fn rules_see_who_reads_an_object_and_whether_its_pods_start_anew() {
        let map = |value: &str| object("ConfigMap", "conf", &json!({"data": {"a": value}}));
        let update = || changed(map("1"), map("2"), map("1"), Action::Update, Reason::Differs { fields: 1 });
        let reads = |after: &str| {
            let action = if after == "1" { Action::None } else { Action::Update };
            changed(reader("1"), reader(after), reader("1"), action, Reason::InSync)
        };
        let expression = "change.consumers.map(c, c.named + ' ' + c.application + ' ' + c.way + ' ' + c.key + (c.optional ? ' optional' : '') + (c.restarted ? ' restarted' : '')).join(' ')";
        let of = |changes, live: &[Value]| said(expression, changes, live).into_iter().find(|text| !text.is_empty()).unwrap_or_default();
        assert_eq!(of(vec![update(), reads("1")], &[]), "Deployment shop/api argocd/a env a optional");
        assert_eq!(of(vec![update(), reads("2")], &[]), "Deployment shop/api argocd/a env a optional restarted");
        assert_eq!(of(vec![update()], &[reader("1")]), "Deployment shop/api  env a optional");
        assert_eq!(of(vec![update()], &[]), "");
    }

    #[test]
    fn rules_see_the_volume_behind_a_claim_and_what_hangs_on_an_object() {
        let claim = object("PersistentVolumeClaim", "data", &json!({"spec": {"volumeName": "pv-1"}}));
        let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-1"}, "spec": {
            "capacity": {"storage": "20Gi"}, "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "shop", "name": "data"}}});
        let gone = || removed(claim.clone(), Action::Prune, Reason::RemovedFromGit { automated: true });
        let expression = "change.volume.name + ' ' + change.volume.size + ' ' + change.volume.policy + change.dependents.map(d, ' ' + d.named + ': ' + d.because).join(',')";
        assert_eq!(said(expression, vec![gone()], &[claim.clone(), volume]), ["pv-1 20Gi Delete PersistentVolume pv-1: its volume"]);
        assert_eq!(said(expression, vec![gone()], std::slice::from_ref(&claim)), ["pv-1  "]);
        assert_eq!(said(expression, vec![added(object("ConfigMap", "c", &json!({})))], &[]), ["  "]);
    }

    #[test]
    fn rules_see_what_protects_an_object_and_where_it_only_seems_to() {
        let with = |options: &str, on_template: &str| {
            let mut object = object("StatefulSet", "db", &json!({}));
            if !options.is_empty() {
                object["metadata"]["annotations"] = json!({"argocd.argoproj.io/sync-options": options});
            }
            if !on_template.is_empty() {
                object["spec"] = json!({"template": {"metadata": {"annotations": {"argocd.argoproj.io/sync-options": on_template}}}});
            }
            object
        };
        let gone = |git: Value, live: Value| vec![removed_as(git, live, Action::Prune, Reason::RemovedFromGit { automated: true })];
        let expression = "change.protection.prune + '|' + change.protection.delete + '|' + change.protection.pruneInGit + '|' + \
                          change.protection.misspelled.join(' ') + '|' + string(change.protection.misplaced)";
        let of = |git: Value, live: Value| said(expression, gone(git, live), &[]).remove(0);
        assert_eq!(of(with("Prune=false", ""), with("", "")), "||false||false");
        assert_eq!(of(with("", ""), with("Prune=confirm,Delete=false", "")), "confirm|false|||false");
        assert_eq!(of(with("prune=false", ""), with("", "")), "|||prune=false|false");
        assert_eq!(of(with("", "Prune=false"), with("", "")), "||||true");
        assert_eq!(of(with("Prune=false", "Prune=false"), with("", "")), "||false||false");
    }

    #[test]
    fn rules_see_what_is_above_an_application() {
        let map = || vec![added(object("ConfigMap", "c", &json!({})))];
        assert_eq!(said("app.parents.join(' ') + '|' + app.set", map(), &[]), ["argocd/root|"]);
    }
}
