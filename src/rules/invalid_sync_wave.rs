//! `invalid-sync-wave`: a sync wave that Argo CD cannot read, and that therefore counts as none.

use std::collections::BTreeSet;

use super::draft::{Draft, Findings};
use super::facts::View;
use crate::argocd::names::SYNC_WAVE;
use crate::manifest::annotation;

const POINTER: &str = "/metadata/annotations/argocd.argoproj.io~1sync-wave";

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    // A hook in two phases has two changes.
    let mut seen = BTreeSet::new();
    for (plan, change) in view.changes() {
        let Some(target) = &change.target else { continue };
        let Some(wave) = annotation(&target.object, SYNC_WAVE).filter(|wave| !wave.is_empty() && wave.parse::<i64>().is_err()) else {
            continue;
        };
        if !seen.insert((&plan.application.id, &change.key)) {
            continue;
        }
        let message = format!(
            "the sync wave `{wave}` of {} is no whole number and does not count: it is applied in wave {}",
            change.key.named(),
            change.wave
        );
        let before = change.base.as_ref().and_then(|base| annotation(&base.object, SYNC_WAVE));
        let draft = Draft::of_change(plan, change, message).introduced(before != Some(wave));
        findings.push(draft.at(Some(&target.origin), POINTER, "no whole number"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::plan::{Action, Change, Reason};
    use serde_json::{Value, json};

    fn map(wave: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "base", "namespace": "shop", "annotations": {SYNC_WAVE: wave}}})
    }

    fn run(changes: Vec<Change>) -> Vec<(bool, String)> {
        let found = Run { plans: vec![plan("web", changes)], ..Run::default() }.judge(&["invalid-sync-wave"]);
        found.into_iter().map(|finding| (finding.introduced, finding.message)).collect()
    }

    #[test]
    fn a_wave_that_is_no_number_is_named_with_the_wave_that_counts() {
        let says = "the sync wave `first` of ConfigMap shop/base is no whole number and does not count: it is applied in wave 0";
        assert_eq!(run(vec![added(map("first"))]), [(true, says.to_owned())]);
        for text in ["1.5", " 1", "1_000", "0x1"] {
            assert_eq!(run(vec![added(map(text))]).len(), 1, "{text}");
        }
    }

    #[test]
    fn whole_numbers_are_fine() {
        for text in ["-1", "+5", "007", "0", ""] {
            assert!(run(vec![added(map(text))]).is_empty(), "{text}");
        }
    }

    #[test]
    fn an_old_mistake_is_not_new_and_a_hook_of_two_phases_is_named_once() {
        let old = changed(map("first"), map("first"), map("first"), Action::None, Reason::InSync);
        assert!(!run(vec![old.clone(), old])[0].0);
        assert_eq!(run(vec![added(map("a")), added(map("a"))]).len(), 1);
    }
}
