//! `mass-rename`: most objects of an Application get the same prefix or suffix, so each is made anew and the old one goes.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::draft::{Draft, Findings};
use super::facts::{View, affixes, app_name, named_with_data_first, plural};
use crate::manifest::ResourceKey;
use crate::plan::{Action, Change};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for plan in view.facts.plans {
        let of = |wanted: fn(Action) -> bool| plan.changes.iter().filter(move |change| change.introduced && wanted(change.action));
        let goes = |action: Action| matches!(action, Action::Prune | Action::Leftover | Action::Retain | Action::Confirm);
        let gone: Vec<&Change> = of(goes).collect();
        let made: Vec<&Change> = of(|action: Action| action == Action::Create).collect();
        let Some((affix, renamed)) = most_common(&gone, &made) else { continue };
        let total = plan.changes.iter().filter(|change| change.base.is_some()).count();
        if renamed.len() < 2 || renamed.len() * 2 < total {
            continue;
        }
        let pruned = renamed.iter().filter(|change| change.action == Action::Prune).count();
        let old = match (pruned, renamed.len()) {
            (0, _) => "the old ones stay behind".to_owned(),
            (pruned, all) if pruned == all => "the old ones are deleted".to_owned(),
            (pruned, _) => format!("{} of the old ones {} deleted", pruned, if pruned == 1 { "is" } else { "are" }),
        };
        let keys: Vec<&ResourceKey> = renamed.iter().map(|change| &change.key).collect();
        let message = format!(
            "{} of {} of {} are replaced under a new name ({affix}), and {old}: {}",
            renamed.len(),
            plural(total, "object"),
            app_name(plan),
            named_with_data_first(&keys, 5)
        );
        let place = made.first().and_then(|change| change.origin());
        findings.push(Draft::of_plan(plan, message).at(place, "/metadata/name", "has the new name").at(
            plan.origin.as_ref(),
            "/spec/source",
            "renders it",
        ));
    }
}

/// What was put before or behind a name, or taken from there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Affix<'k> {
    Front(&'k str),
    Back(&'k str),
    NoFront(&'k str),
    NoBack(&'k str),
}

impl Affix<'_> {
    fn taken_off(self) -> Self {
        match self {
            Self::Front(text) => Self::NoFront(text),
            Self::Back(text) => Self::NoBack(text),
            other => other,
        }
    }
}

impl std::fmt::Display for Affix<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Front(text) => write!(f, "`{text}` goes in front"),
            Self::Back(text) => write!(f, "`{text}` goes behind"),
            Self::NoFront(text) => write!(f, "`{text}` in front goes"),
            Self::NoBack(text) => write!(f, "`{text}` behind goes"),
        }
    }
}

/// The affix that most objects get, with those objects.
fn most_common<'p>(gone: &[&'p Change], made: &[&'p Change]) -> Option<(Affix<'p>, Vec<&'p Change>)> {
    let names = |changes: &[&'p Change]| changes.iter().map(|change| (place(&change.key), &*change.key.name)).collect::<HashSet<_>>();
    let old: HashMap<_, &'p Change> = gone.iter().map(|change| ((place(&change.key), &*change.key.name), *change)).collect();
    let new = names(made);
    let mut found: BTreeMap<Affix<'p>, BTreeMap<&'p ResourceKey, &'p Change>> = BTreeMap::new();
    let mut note = |affix, change: &'p Change| {
        found.entry(affix).or_default().insert(&change.key, change);
    };
    for change in made {
        for (affix, rest) in parts(&change.key.name) {
            if let Some(old) = old.get(&(place(&change.key), rest)) {
                note(affix, old);
            }
        }
    }
    for change in gone {
        for (affix, rest) in parts(&change.key.name) {
            if new.contains(&(place(&change.key), rest)) {
                note(affix.taken_off(), change);
            }
        }
    }
    let (affix, renamed) = found.into_iter().max_by_key(|(_, renamed)| renamed.len())?;
    Some((affix, renamed.into_values().collect()))
}

/// What may have been put before or behind a name, with what is left.
fn parts(name: &str) -> impl Iterator<Item = (Affix<'_>, &str)> {
    affixes(name).map(|(affix, rest, in_front)| (if in_front { Affix::Front(affix) } else { Affix::Back(affix) }, rest))
}

fn place(key: &ResourceKey) -> (&str, &str, &str) {
    (&key.group, &key.kind, &key.namespace)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Finding;
    use crate::plan::Reason;
    use serde_json::{Value, json};

    fn object(kind: &str, name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "shop"}})
    }

    fn run(old: &[(&str, &str)], new: &[(&str, &str)], kept: usize) -> Vec<Finding> {
        let gone = old.iter().map(|(kind, name)| removed(object(kind, name), Action::Prune, Reason::RemovedFromGit { automated: true }));
        let made = new.iter().map(|(kind, name)| added(object(kind, name)));
        let kept = (0..kept).map(|index| {
            let object = object("ConfigMap", &format!("kept{index}"));
            changed(object.clone(), object.clone(), object, Action::None, Reason::InSync)
        });
        Run { plans: vec![plan("web", gone.chain(made).chain(kept).collect())], ..Run::default() }.judge(&["mass-rename"])
    }

    #[test]
    fn a_prefix_on_all_objects_is_one_finding() {
        let found = run(
            &[("Service", "web"), ("PersistentVolumeClaim", "uploads")],
            &[("Service", "eu-web"), ("PersistentVolumeClaim", "eu-uploads")],
            0,
        );
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].message,
            "2 of 2 objects of `web` are replaced under a new name (`eu-` goes in front), and the old ones are deleted: \
             PersistentVolumeClaim shop/uploads and Service shop/web"
        );
    }

    #[test]
    fn a_suffix_that_goes_is_a_rename_as_well() {
        let found = run(&[("Service", "web-v1"), ("ConfigMap", "web-v1")], &[("Service", "web"), ("ConfigMap", "web")], 1);
        assert!(
            found[0].message.contains("2 of 3 objects of `web`") && found[0].message.contains("(`-v1` behind goes)"),
            "{}",
            found[0].message
        );
    }

    #[test]
    fn one_renamed_object_other_names_and_a_few_of_many_are_fine() {
        assert!(run(&[("Service", "web")], &[("Service", "eu-web")], 0).is_empty());
        assert!(run(&[("Service", "a"), ("Service", "b")], &[("Service", "c"), ("Service", "d")], 0).is_empty());
        assert!(run(&[("Service", "web"), ("ConfigMap", "web")], &[("Service", "webapp"), ("ConfigMap", "webapp")], 0).is_empty());
        assert!(run(&[("Service", "web"), ("ConfigMap", "web")], &[("Service", "eu-web"), ("ConfigMap", "eu-web")], 3).is_empty());
        assert!(run(&[("Service", "web"), ("Service", "db")], &[("ConfigMap", "eu-web"), ("ConfigMap", "eu-db")], 0).is_empty());
    }
}
