//! `finalizer-missing`: a new Application without the finalizer that nearly all others have.

use super::draft::{Draft, Findings};
use super::facts::View;
use crate::argocd::names::RESOURCES_FINALIZER;
use crate::inventory::Definition;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    let in_files = |definition: &&Definition| definition.generated.is_none() && definition.broken.is_none();
    let entries = &view.facts.inventory.entries;
    let new: Vec<&Definition> = entries
        .values()
        .filter(|entry| entry.base.is_none() && entry.live.is_none())
        .filter_map(|entry| entry.head.as_ref().filter(in_files))
        .filter(|definition| !definition.application.cascades())
        .collect();
    if new.is_empty() {
        return;
    }
    let others: Vec<&Definition> = entries.values().filter_map(|entry| entry.base.as_ref().filter(in_files)).collect();
    let with = others.iter().filter(|definition| definition.application.cascades()).count();
    let (share, least) = (findings.number_of_change("share", 80.0), findings.number_of_change("others", 5.0));
    let count = |number: usize| u32::try_from(number).map_or(f64::MAX, f64::from);
    if count(others.len()) < least || count(with) * 100.0 < count(others.len()) * share {
        return;
    }
    for definition in new {
        let message = format!(
            "Application {} has no finalizer, as {with} of {} others here have: once it is removed, its objects stay in the cluster and nobody manages them",
            definition.application.id.name,
            others.len()
        );
        let origin = Some(&definition.manifest.origin);
        findings.push(Draft::of_application(&definition.application, message).at(origin, "/metadata", format!("no {RESOURCES_FINALIZER}")));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use crate::argocd::names::RESOURCES_FINALIZER;
    use crate::finding::{Finding, Severity};
    use serde_json::{Value, json};

    fn with_finalizer(name: &str) -> Value {
        let mut object = application_object(name);
        object["metadata"]["finalizers"] = json!([RESOURCES_FINALIZER]);
        object
    }

    /// A new Application beside others, of which so many have the finalizer.
    fn run(new: Value, with: usize, without: usize) -> Vec<Finding> {
        let others = (0..with + without).map(|number| {
            let name = format!("other-{number}");
            if number < with { with_finalizer(&name) } else { application_object(&name) }
        });
        let mut all = vec![(None, Some(new), None, Some("root"))];
        all.extend(others.map(|other| (Some(other.clone()), Some(other), None, Some("root"))));
        Run { inventory: inventory(all), ..Run::default() }.judge(&["finalizer-missing"])
    }

    #[test]
    fn a_new_application_that_lacks_what_the_others_have_is_told_once() {
        let found = run(application_object("shop"), 5, 1);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Info));
        assert!(found[0].message.starts_with("Application shop has no finalizer, as 5 of 6 others here have: "), "{}", found[0].message);
        assert!(found[0].fixable);
    }

    #[test]
    fn where_others_do_without_it_or_are_few_it_is_no_oversight() {
        assert!(run(application_object("shop"), 3, 3).is_empty());
        assert!(run(application_object("shop"), 4, 0).is_empty());
        assert!(run(with_finalizer("shop"), 6, 0).is_empty());
    }
}
