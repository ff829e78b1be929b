//! What rules share: the facts of a run with look-ups over them, and the words that several messages use.

mod conditions;
mod data;
mod failures;
mod pod_security;
mod protection;
mod references;
mod rollouts;
mod scalers;
mod sets;
mod volumes;
mod writers;

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

pub(super) use conditions::{draft_of_condition, hangs, of_conditions};
pub(super) use data::{
    Fate, claims_going, consequences, data_behind, fate_of_claim, is_made_by_kubernetes, prune_lets_go, takes_unknown_claims,
};
pub(super) use failures::{id_of, render_failures};
pub(super) use pod_security::{Level, violation};
pub(super) use protection::{Misspelling, is_only_on_template, misspelled};
pub(super) use references::{References, pod_template, use_by};
pub(super) use rollouts::{has_reloader, is_restarted};
pub use scalers::workload_of;
pub(super) use scalers::{Scaler, Scalers};
pub(super) use sets::{deleted_by, deleted_by_set, set_key, set_origin};
pub(super) use volumes::{Volume, claims_of, is_claim_template_owner, templates, volume_of};
pub(super) use writers::{Writer, is_argocd, is_person, writer_of};

use super::Facts;
use super::suppress::Usage;
use crate::argocd::AppId;
use crate::inventory::Entry;
use crate::manifest::ResourceKey;
use crate::plan::diff::IgnoreRules;
use crate::plan::diff::ignore::Target;
use crate::plan::{Action, Change, SyncMode, SyncPlan};

/// Parents above an Application that are followed.
const MAX_PARENTS: usize = 50;

/// The facts of a run with look-ups over them.
pub(super) struct View<'a> {
    pub(super) facts: Facts<'a>,
    /// Autoscalers, by what they scale.
    pub(super) scalers: Scalers<'a>,
    /// What became of waivers; known once all other rules have spoken.
    pub(super) usage: Usage,
    plans: BTreeMap<&'a AppId, &'a SyncPlan>,
    by_key: BTreeMap<&'a ResourceKey, Vec<(&'a SyncPlan, &'a Change)>>,
    ignored: BTreeMap<&'a AppId, IgnoreRules>,
}

impl<'a> View<'a> {
    /// Indexes the facts.
    pub(super) fn new(facts: Facts<'a>) -> Self {
        let mut by_key: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for plan in facts.plans {
            for change in &plan.changes {
                by_key.entry(&change.key).or_default().push((plan, change));
            }
        }
        let plans = facts.plans.iter().map(|plan| (&plan.application.id, plan)).collect();
        let settings = &facts.live.settings().entries;
        // Rules that do not compile stop the whole Application; its plan says so, and nothing is compared.
        let compile = |plan: &'a SyncPlan| IgnoreRules::compile(plan.application.object.pointer("/spec/ignoreDifferences"), settings).ok();
        let ignored = facts.plans.iter().filter_map(|plan| Some((&plan.application.id, compile(plan)?))).collect();
        Self { facts, scalers: Scalers::new(&facts), usage: Usage::default(), plans, by_key, ignored }
    }

    /// Whether the Application's rules, or the installation's, ignore a field of an object in the comparison.
    pub(super) fn ignores(&self, plan: &SyncPlan, object: &Value, pointer: &str) -> bool {
        self.ignored.get(&plan.application.id).is_some_and(|rules| rules.ignores(&Target::of(object), object, pointer))
    }

    /// Whether there are such rules at all.
    pub(super) fn has_ignore_rules(&self, plan: &SyncPlan) -> bool {
        let customised = || self.facts.live.settings().entries.keys().any(|key| key.starts_with("resource.customizations"));
        !plan.application.spec.ignore_differences.is_empty() || customised()
    }

    /// All changes with their Applications, in the order of the plans.
    pub(super) fn changes(&self) -> impl Iterator<Item = (&'a SyncPlan, &'a Change)> + use<'a> {
        self.facts.plans.iter().flat_map(|plan| plan.changes.iter().map(move |change| (plan, change)))
    }

    /// What the Applications do to objects of this key, on any cluster.
    pub(super) fn changes_of(&self, key: &ResourceKey) -> &[(&'a SyncPlan, &'a Change)] {
        self.by_key.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Objects that more than one change is about, with those changes.
    pub(super) fn contested(&self) -> impl Iterator<Item = (&'a ResourceKey, &[(&'a SyncPlan, &'a Change)])> {
        self.by_key.iter().filter(|(_, changes)| changes.len() > 1).map(|(key, changes)| (*key, changes.as_slice()))
    }

    /// What happens to the object of an Application, with the parent that does it.
    pub(super) fn change_of_application(&self, id: &AppId) -> Option<(&'a SyncPlan, &'a Change)> {
        self.changes_of(&application_key(id)).iter().find(|(_, change)| change.key.kind.as_ref() == "Application").copied()
    }

    /// The plan of an Application.
    pub(super) fn plan_of(&self, id: &AppId) -> Option<&'a SyncPlan> {
        self.plans.get(id).copied()
    }

    /// What is known of an Application.
    pub(super) fn entry(&self, id: &AppId) -> Option<&'a Entry> {
        self.facts.inventory.entries.get(id)
    }

    /// Whether two Applications are certainly of one installation. A repository may hold those of several, and what is live tells them apart;
    /// without a snapshot only what a common parent, a common set or a common folder says counts.
    pub(super) fn are_together(&self, one: &AppId, other: &AppId) -> bool {
        if !self.facts.live.is_assumed() {
            return true;
        }
        let folder = |id: &AppId| {
            let path = &self.entry(id)?.definition()?.manifest.origin.path;
            path.rsplit_once('/').map(|(folder, _)| folder.to_owned())
        };
        self.top_of(one) == self.top_of(other) || (folder(one).is_some() && folder(one) == folder(other))
    }

    /// The Applications above an Application, the nearest first.
    pub(super) fn parents<'i>(&'i self, id: &'i AppId) -> Vec<&'i AppId> {
        let above = |id: &'i AppId| self.entry(id).and_then(Entry::parent);
        let mut parents = Vec::new();
        let mut next = above(id);
        while let Some(parent) = next.filter(|parent| *parent != id && !parents.contains(parent) && parents.len() < MAX_PARENTS) {
            parents.push(parent);
            next = above(parent);
        }
        parents
    }

    /// The Application or ApplicationSet at the top of the chain that makes an Application; itself where none does.
    fn top_of<'i>(&'i self, id: &'i AppId) -> &'i AppId {
        let mut top = id;
        for _ in 0..MAX_PARENTS {
            let Some(entry) = self.entry(top) else { return top };
            match (entry.parent(), entry.generated()) {
                (Some(parent), _) if parent != top => top = parent,
                (_, Some(by)) => return &by.set,
                _ => return top,
            }
        }
        top
    }

    /// The Application that an instance name of a tracking id stands for.
    pub(super) fn application_of(&self, instance: &str) -> AppId {
        AppId::of_instance(instance, &self.facts.live.settings().namespace)
    }
}

/// The key of an Application object.
pub(super) fn application_key(id: &AppId) -> ResourceKey {
    ResourceKey::new(crate::argocd::names::GROUP, "Application", &id.namespace, &id.name)
}

/// Whether an Application has the object in Git.
pub(super) fn is_rendered_by_any(view: &View<'_>, key: &ResourceKey) -> bool {
    view.changes_of(key).iter().any(|(_, change)| change.target.is_some())
}

/// Server of the cluster on which a change happens.
pub(super) fn server_of<'p>(plan: &'p SyncPlan, change: &'p Change) -> &'p str {
    change.live.as_ref().map_or(&plan.server, |live| &live.cluster)
}

/// The Application's name in backquotes, as messages name it.
pub(super) fn app_name(plan: &SyncPlan) -> String {
    format!("`{}`", plan.application.id.name)
}

/// The names of two Applications, with their namespaces where the names alone do not tell them apart.
pub(super) fn told_apart(one: &AppId, other: &AppId) -> (String, String) {
    if one.name == other.name { (one.to_string(), other.to_string()) } else { (one.name.to_string(), other.name.to_string()) }
}

/// When the sync happens, as a part of a sentence: `the next automatic sync of `orders``.
pub(super) fn next_sync(plan: &SyncPlan) -> String {
    match plan.sync.mode {
        SyncMode::Automated | SyncMode::Blocked => format!("the next automatic sync of {}", app_name(plan)),
        SyncMode::Manual => format!("the next sync of {} that somebody starts", app_name(plan)),
        _ => format!("the next sync of {}", app_name(plan)),
    }
}

/// `1 object`, `3 objects`.
pub(super) fn plural(count: usize, noun: &str) -> String {
    match (count, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{count} {stem}ies"),
        _ => format!("{count} {noun}s"),
    }
}

/// `a`, `a and b`, `a, b and c`; of long lists the first `limit` and the number of the others.
pub(super) fn enumerate<S: AsRef<str>>(items: &[S], limit: usize) -> String {
    let mut words: Vec<String> = items.iter().take(limit).map(|item| item.as_ref().to_owned()).collect();
    if items.len() > limit {
        words.push(format!("{} more", items.len() - limit));
    }
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// A value for a message: short text or JSON, cut after 60 characters.
pub(super) fn short(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.replace('\n', " "),
        other => other.to_string(),
    };
    if text.chars().count() <= 60 { text } else { format!("{}…", text.chars().take(59).collect::<String>()) }
}

/// Whether ignored fields keep their live value when an object is applied.
pub(super) fn respects_ignored(plan: &SyncPlan) -> bool {
    plan.application.spec.sync_policy.sync_options.has("RespectIgnoreDifferences=true")
}

/// Whether the sync writes the object's target to the cluster: a sync of a new revision writes every one, unless only what is out of sync
/// is applied.
///
/// Source: Argo CD `gitops-engine/pkg/sync/sync_context.go:getSyncTasks` with `ApplyOutOfSyncOnly`.
pub(super) fn is_applied(plan: &SyncPlan, change: &Change) -> bool {
    let runs = plan.sync.starts || plan.sync.mode == SyncMode::Manual;
    let modified = matches!(change.action, Action::Create | Action::Update | Action::Adopt | Action::Replace | Action::Recreate);
    let applied =
        modified || (change.action == Action::None && !plan.application.spec.sync_policy.sync_options.has("ApplyOutOfSyncOnly=true"));
    runs && applied && change.target.is_some()
}

/// Whether objects of this kind hold data, or decide over objects that do.
pub(super) fn holds_data(key: &ResourceKey) -> bool {
    key.is("", "PersistentVolumeClaim") || key.is("", "PersistentVolume") || key.is("apps", "StatefulSet") || key.is("", "Namespace")
}

/// The objects that a sync deletes or would delete, by name, data first.
pub(super) fn named_with_data_first(keys: &[&ResourceKey], limit: usize) -> String {
    let mut keys: Vec<&&ResourceKey> = keys.iter().collect();
    keys.sort_by_key(|key| (!holds_data(key), **key));
    enumerate(&keys.iter().map(|key| key.named()).collect::<Vec<_>>(), limit)
}

/// Whether one name is the other with a word before or behind it, or with another content hash as kustomize writes it: what a prefix, a
/// suffix or an edited generator makes of a name.
pub(super) fn are_related_names(one: &str, other: &str) -> bool {
    RelatedNames::new(HashSet::from([one])).has(other)
}

/// Names of objects, to look up whether one of them is related to another name.
pub(super) struct RelatedNames<'k> {
    names: HashSet<&'k str>,
    shorter: HashSet<&'k str>,
    stems: HashSet<&'k str>,
}

impl<'k> RelatedNames<'k> {
    pub(super) fn new(names: HashSet<&'k str>) -> Self {
        let shorter = names.iter().flat_map(|name| affixes(name)).map(|(_, rest, _)| rest).collect();
        let stems = names.iter().filter_map(|name| without_hash(name)).collect();
        Self { names, shorter, stems }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
            || self.shorter.contains(name)
            || affixes(name).any(|(_, rest, _)| self.names.contains(rest))
            || without_hash(name).is_some_and(|stem| self.stems.contains(stem))
    }
}

/// What may have been put before or behind a name, with what is left, and whether it stands before: whole words only.
pub(super) fn affixes(name: &str) -> impl Iterator<Item = (&str, &str, bool)> {
    name.match_indices(['-', '.']).filter(move |(at, _)| *at > 0 && *at + 1 < name.len()).flat_map(move |(at, _)| {
        let ((front, rest), (stem, behind)) = (name.split_at(at + 1), name.split_at(at));
        [(front, rest, true), (behind, stem, false)]
    })
}

/// A name without its content hash: ten characters of kustomize's alphabet.
///
/// Source: kustomize `api/internal/hasher` (`encode`): hexadecimal digits, with those that could spell a word replaced.
fn without_hash(name: &str) -> Option<&str> {
    let (stem, hash) = name.rsplit_once('-')?;
    (hash.len() == 10 && hash.bytes().all(|byte| b"2456789bcdfghkmt".contains(&byte))).then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_related_to_one_with_another_word_or_hash_and_to_no_other() {
        for (one, other) in [("web", "web"), ("web", "eu-web"), ("web-db", "web"), ("conf-5g2hk9mt7c", "conf-2b4d6f8h9k")] {
            assert!(are_related_names(one, other), "{one} {other}");
        }
        for (one, other) in [("web", "webapp"), ("db", "a-dbx"), ("conf-5g2hk9mt7c", "keys-5g2hk9mt7c"), ("a-b", "a-c")] {
            assert!(!are_related_names(one, other), "{one} {other}");
        }
    }

    #[test]
    fn nouns_and_lists_read_as_a_person_would_write_them() {
        assert_eq!([plural(1, "object"), plural(2, "policy"), plural(2, "day")], ["1 object", "2 policies", "2 days"]);
        assert_eq!(enumerate(&["a", "b", "c"], 5), "a, b and c");
        assert_eq!(enumerate(&["a", "b", "c"], 2), "a, b and 1 more");
        assert_eq!(enumerate::<&str>(&[], 2), "");
    }
}
