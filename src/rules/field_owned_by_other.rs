//! `field-owned-by-other`: Git sets a field that another controller writes, and with self-heal the two overwrite each other.

use super::draft::{Draft, Findings};
use super::facts::{View, app_name, enumerate, is_argocd, is_person};
use crate::argocd::names::GROUP;
use crate::plan::{Action, Change, FieldChange};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, change) in view.changes() {
        if change.action != Action::Update || !plan.sync.self_heal || change.key.group.as_ref() == GROUP {
            continue;
        }
        let fields: Vec<&FieldChange> = fought_over(change).collect();
        let Some(first) = fields.first() else { continue };
        let named: Vec<String> =
            fields.iter().map(|field| field.path.trim_start_matches('/').replace('/', ".").replace("~1", "/")).collect();
        let mut owners: Vec<&str> = fields.iter().filter_map(|field| field.owner.as_deref()).collect();
        owners.sort_unstable();
        owners.dedup();
        let message = format!(
            "{} of {} is set in Git but written live by {}; {} heals itself, so they overwrite each other",
            enumerate(&named, 3),
            change.key.named(),
            enumerate(&owners, 3),
            app_name(plan)
        );
        let draft = Draft::of_change(plan, change, message).discriminator(named.join(" "));
        findings.push(draft.at(change.target.as_ref().map(|target| &target.origin), &first.path, "another controller writes this"));
    }
}

/// The fields that Git and another controller both write.
pub(super) fn fought_over(change: &Change) -> impl Iterator<Item = &FieldChange> {
    change.diff.iter().filter(move |field| is_fought_over(change, field))
}

/// A field that Git sets to something else than a controller has written, where that controller did not just keep what Git had before.
fn is_fought_over(change: &Change, field: &FieldChange) -> bool {
    let (Some(live), Some(_)) = (&field.live, &field.target) else { return false };
    let before = change.base.as_ref().and_then(|base| base.object.pointer(&field.path));
    let by_other = field.owner.as_deref().is_some_and(|owner| !is_argocd(owner) && !is_person(owner) && !applies_manifests(owner));
    by_other && before != Some(live)
}

/// Managers that applied the object before Argo CD did; they do not write again by themselves.
fn applies_manifests(manager: &str) -> bool {
    ["helm", "terraform", "pulumi", "flux", "kustomize-controller", "before-first-apply", "OpenAPI-Generator", "Go-http-client", "unknown"]
        .iter()
        .any(|name| manager.to_lowercase().contains(&name.to_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Finding;
    use crate::plan::Reason;
    use serde_json::{Value, json};

    fn gate(bundle: Option<&str>) -> Value {
        let mut object = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "gate"}});
        if let Some(bundle) = bundle {
            object["webhooks"] = json!([{"clientConfig": {"caBundle": bundle}}]);
        }
        object
    }

    fn run(owner: &str, base: Option<&str>, self_heal: bool) -> Vec<Finding> {
        let field = FieldChange {
            path: "/webhooks/0/clientConfig/caBundle".into(),
            live: Some("UkVBTA==".into()),
            target: Some("Cg==".into()),
            owner: Some(owner.into()),
            owner_time: None,
        };
        let mut update = changed(gate(base), gate(Some("Cg==")), gate(Some("UkVBTA==")), Action::Update, Reason::Differs { fields: 1 });
        update.diff = vec![field];
        let mut plan = plan("gate", vec![update]);
        plan.sync.self_heal = self_heal;
        Run { plans: vec![plan], ..Run::default() }.judge(&["field-owned-by-other"])
    }

    #[test]
    fn a_field_of_another_controller_that_git_sets_is_a_warning_under_self_heal() {
        let found = run("cert-manager-cainjector", None, true);
        assert_eq!(
            found[0].message,
            "webhooks.0.clientConfig.caBundle of ValidatingWebhookConfiguration gate is set in Git but written live by cert-manager-cainjector; `gate` heals \
             itself, so they overwrite each other"
        );
    }

    #[test]
    fn argo_cd_itself_people_old_appliers_and_values_that_git_had_are_fine() {
        for owner in ["argocd-controller", "kubectl-edit", "helm"] {
            assert!(run(owner, None, true).is_empty(), "{owner}");
        }
        assert!(run("cert-manager-cainjector", Some("UkVBTA=="), true).is_empty());
        assert!(run("cert-manager-cainjector", None, false).is_empty());
    }
}
