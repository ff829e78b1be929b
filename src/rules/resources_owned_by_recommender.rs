//! `resources-owned-by-recommender`: Git sets requests or limits that another controller writes on the live workload.

use super::draft::{Draft, Findings};
use super::facts::{View, app_name, enumerate};
use super::field_owned_by_other::fought_over;
use crate::plan::{Change, FieldChange};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, change) in view.changes().filter(|(_, change)| is_workload(change)) {
        let fields: Vec<&FieldChange> = fought_over(change).filter(|field| is_of_resources(&field.path)).collect();
        let Some(first) = fields.first() else { continue };
        let mut owners: Vec<&str> = fields.iter().filter_map(|field| field.owner.as_deref()).collect();
        owners.sort_unstable();
        owners.dedup();
        let message = format!(
            "the resources of {} are written live by {}, and each sync of {} puts Git's values back",
            change.key.named(),
            enumerate(&owners, 3),
            app_name(plan)
        );
        let draft = Draft::of_change(plan, change, message);
        findings.push(draft.at(change.target.as_ref().map(|target| &target.origin), &first.path, "another controller writes this"));
    }
}

fn is_workload(change: &Change) -> bool {
    &*change.key.group == "apps" && matches!(&*change.key.kind, "Deployment" | "StatefulSet" | "DaemonSet")
}

/// Whether a field is among the requests or limits of a container.
fn is_of_resources(path: &str) -> bool {
    let below = path.strip_prefix("/spec/template/spec/").unwrap_or_default();
    let mut tokens = below.split('/');
    matches!(tokens.next(), Some("containers" | "initContainers")) && tokens.next().is_some() && tokens.next() == Some("resources")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Severity;
    use crate::plan::{Action, Reason};
    use serde_json::{Value, json};

    fn deployment(cpu: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"template": {"spec": {"containers": [{"name": "web", "resources": {"requests": {"cpu": cpu}}}]}}}})
    }

    fn run(owner: &str, path: &str) -> Vec<crate::finding::Finding> {
        let mut update = changed(deployment("1"), deployment("2"), deployment("3"), Action::Update, Reason::Differs { fields: 1 });
        update.diff = vec![FieldChange {
            path: path.into(),
            live: Some("3".into()),
            target: Some("2".into()),
            owner: Some(owner.into()),
            owner_time: None,
        }];
        Run { plans: vec![plan("web", vec![update])], ..Run::default() }.judge(&["resources-owned-by-recommender"])
    }

    const CPU: &str = "/spec/template/spec/containers/0/resources/requests/cpu";

    #[test]
    fn requests_that_a_recommender_writes_on_the_workload_are_told() {
        let found = run("resizer", CPU);
        assert_eq!(
            found[0].message,
            "the resources of Deployment shop/web are written live by resizer, and each sync of `web` puts Git's values back"
        );
        assert_eq!((found[0].severity, found[0].places[0].pointer.as_str()), (Severity::Info, CPU));
    }

    #[test]
    fn argo_cd_people_and_other_fields_are_fine() {
        assert!(run("argocd-controller", CPU).is_empty());
        assert!(run("kubectl-edit", CPU).is_empty());
        assert!(run("resizer", "/spec/template/spec/containers/0/image").is_empty());
    }
}
