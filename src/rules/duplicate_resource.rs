//! `duplicate-resource`: an Application has an object more than once; the last one counts.

use super::draft::{Draft, Findings};
use super::facts::{View, of_conditions};
use crate::argocd::names::GROUP;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, condition) in of_conditions(view, "RepeatedResourceWarning") {
        // Of an Application there is a rule of its own.
        let Some(key) = condition.key.as_ref().filter(|key| !key.is(GROUP, "Application")) else { continue };
        let change = plan.changes.iter().find(|change| change.key == *key);
        let edited = change.map_or(plan.affected, |change| match (&change.base, &change.target) {
            (Some(base), Some(target)) => base.object != target.object,
            (base, _) => base.is_none(),
        });
        let message = condition.message.trim_end_matches('.').to_owned();
        let draft = Draft::of_plan(plan, message).resource(key.clone()).introduced(edited);
        findings.push(draft.at(condition.origin.as_ref(), "/metadata/name", "this one counts"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use crate::plan::{Action, Reason};
    use serde_json::json;

    fn run(kind: &str, base_data: Option<&str>) -> Vec<(bool, String)> {
        let object =
            |data: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x", "namespace": "shop"}, "data": {"a": data}});
        let change = match base_data {
            Some(data) => changed(object(data), object("1"), object("1"), Action::None, Reason::InSync),
            None => added(object("1")),
        };
        let mut repeated = plan("web", vec![change]);
        repeated.conditions = vec![condition("RepeatedResourceWarning", "it appears 2 times", kind)];
        let found = Run { plans: vec![repeated], ..Run::default() }.judge(&["duplicate-resource"]);
        found.into_iter().map(|finding| (finding.introduced, finding.message)).collect()
    }

    #[test]
    fn a_second_copy_is_new_where_it_is_added_or_what_counts_is_another_one() {
        assert_eq!(run("ConfigMap", None), [(true, "it appears 2 times".to_owned())]);
        assert_eq!(run("ConfigMap", Some("2")), [(true, "it appears 2 times".to_owned())]);
        assert_eq!(run("ConfigMap", Some("1")), [(false, "it appears 2 times".to_owned())]);
    }

    #[test]
    fn other_remarks_are_left_to_other_rules() {
        let mut other = plan("web", Vec::new());
        other.conditions = vec![condition("SharedResourceWarning", "two have it", "ConfigMap")];
        assert!(Run { plans: vec![other], ..Run::default() }.judge(&["duplicate-resource"]).is_empty());
    }
}
