//! `appset-generation-fails`: an error stops an ApplicationSet, and its Applications stay as they are without a word.

use std::collections::BTreeSet;

use super::draft::{Draft, Findings};
use super::facts::{View, enumerate, plural, set_key, set_origin};
use crate::inventory::{Generation, Rejected, SetDefinition, SetEntry};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for set in view.facts.inventory.sets.values() {
        let Some(head) = &set.head else { continue };
        if let Generation::Frozen(error) = &head.generation {
            let introduced =
                !set.base.as_ref().is_some_and(|base| matches!(&base.generation, Generation::Frozen(before) if before == error));
            let frozen = match head.names.len() {
                0 => "it generates nothing".to_owned(),
                1 => "its 1 Application stays as it is, and nothing is created, updated or deleted".to_owned(),
                count => format!("its {} stay as they are, and nothing is created, updated or deleted", plural(count, "Application")),
            };
            let message = format!("ApplicationSet {} cannot generate its Applications ({error}): {frozen}", set.id.name);
            findings.push(draft(set, message, introduced, "/spec"));
        }
        for halts in [false, true] {
            findings.extend(rejected(set, head, halts));
        }
        let named: Vec<&str> = head.repeated.iter().map(|name| &**name).filter(|name| !name.is_empty()).collect();
        if !named.is_empty() {
            let introduced = set.base.as_ref().is_none_or(|base| base.repeated != head.repeated);
            let names = enumerate(&named, 6);
            let message = format!(
                "ApplicationSet {} generates {names} more than once: Argo CD neither creates nor updates any Application of such a name",
                set.id.name
            );
            findings.push(draft(set, message, introduced, "/spec/template/metadata/name").discriminator("names"));
        }
    }
}

/// The Applications that are generated and not accepted: left out before anything is written, or such that the controller fails on them.
/// An Application of another set is an equal name, which `duplicate-application-name` tells.
fn rejected(set: &SetEntry, head: &SetDefinition, halts: bool) -> Option<Draft> {
    let of = |side: &SetDefinition| -> Vec<Rejected> {
        side.rejected.iter().filter(|one| one.halts == halts && one.other_set.is_none()).cloned().collect()
    };
    let found = of(head);
    let first = found.first()?;
    let introduced = set.base.as_ref().is_none_or(|base| of(base) != found);
    let called = |one: &Rejected| if one.name.is_empty() { "an Application without name".to_owned() } else { one.name.to_string() };
    let names = enumerate(&found.iter().map(called).collect::<Vec<_>>(), 6);
    let reasons: BTreeSet<&str> = found.iter().map(|one| one.why.as_str()).collect();
    let more = if reasons.len() > 1 { format!(", and {}", plural(reasons.len() - 1, "more reason")) } else { String::new() };
    let what = if halts {
        ("fails to write", "until that is mended, no Application that the set drops is deleted")
    } else {
        ("does not accept", "nothing is created or updated there, and live Applications of these names keep the spec they have")
    };
    let message = format!("ApplicationSet {} generates {names}, which Argo CD {} ({}{more}): {}", set.id.name, what.0, first.why, what.1);
    let (pointer, what) = if halts { ("/spec/template/metadata/name", "written") } else { ("/spec/template/spec", "rejected") };
    Some(draft(set, message, introduced, pointer).discriminator(what))
}

fn draft(set: &SetEntry, message: String, introduced: bool, pointer: &str) -> Draft {
    Draft::new(message).resource(set_key(&set.id)).introduced(introduced).at(set_origin(set), pointer, "generation stops here")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use crate::inventory::{Generation, SetEntry};

    fn judge(edit: impl Fn(&mut SetEntry)) -> Vec<crate::finding::Finding> {
        let mut run = Run { inventory: generated_inventory(Some(&["amber"]), Some(&["amber"])), ..Run::default() };
        run.inventory.sets.values_mut().for_each(edit);
        run.judge(&["appset-generation-fails"])
    }

    #[test]
    fn an_error_freezes_what_there_is() {
        let found = judge(|set| set.head.as_mut().unwrap().generation = Generation::Frozen("map has no entry for key \"x\"".to_owned()));
        assert_eq!(
            found[0].message,
            "ApplicationSet tenants cannot generate its Applications (map has no entry for key \"x\"): its 1 Application stays as it is, and \
             nothing is created, updated or deleted"
        );
        assert!(found[0].introduced);
    }

    #[test]
    fn repeated_names_are_told_and_old_errors_are_not_new() {
        let found = judge(|set| set.head.as_mut().unwrap().repeated = vec!["amber".into()]);
        assert!(found[0].message.starts_with("ApplicationSet tenants generates amber more than once"));
        let old = judge(|set| {
            for side in set.base.iter_mut().chain(&mut set.head) {
                side.generation = Generation::Frozen("no".to_owned());
            }
        });
        assert!(!old[0].introduced);
        assert!(judge(|_| {}).is_empty());
    }
}
