//! `unknown-field`: a field of an Application, ApplicationSet or AppProject that its schema does not have.

use std::collections::BTreeSet;

use serde_json::Value;

use super::draft::{Draft, Findings};
use super::facts::{View, application_key, set_key};
use crate::argocd::schema::{UnknownField, unknown_fields};
use crate::manifest::{Content, Manifest, ResourceKey};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    let mut seen: BTreeSet<ResourceKey> = BTreeSet::new();
    let mut tell = |key: &ResourceKey, manifest: &Manifest, before: Option<&Content>| {
        if !(view.facts.only_introduced && before.is_some_and(|before| *before == manifest.object)) {
            tell(key, manifest, before.map(|before| &**before), findings);
        }
    };
    for (id, entry) in &view.facts.inventory.entries {
        let Some(head) = entry.head.as_ref().filter(|head| head.generated.is_none()) else { continue };
        let key = application_key(id);
        tell(&key, &head.manifest, entry.base.as_ref().map(|base| &base.manifest.object));
        seen.insert(key);
    }
    for (id, set) in &view.facts.inventory.sets {
        let Some(manifest) = set.head.as_ref().and_then(|head| head.manifest.as_ref()) else { continue };
        let before = set.base.as_ref().and_then(|base| base.manifest.as_ref()).map(|manifest| &manifest.object);
        let key = set_key(id);
        tell(&key, manifest, before);
        seen.insert(key);
    }
    for (_, change) in view.changes() {
        let Some(target) = change.target.as_ref().filter(|_| change.key.is(crate::argocd::names::GROUP, "AppProject")) else { continue };
        if seen.insert(change.key.clone()) {
            tell(&change.key, target, change.base.as_ref().map(|base| &base.object));
        }
    }
}

fn tell(key: &ResourceKey, manifest: &Manifest, before: Option<&Value>, findings: &mut Findings<'_>) {
    let unknown = unknown_fields(&manifest.object);
    if unknown.is_empty() {
        return;
    }
    let known: Vec<UnknownField> = before.map(unknown_fields).unwrap_or_default();
    for field in unknown {
        let path = field.pointer.trim_start_matches('/').replace('/', ".");
        let belongs = field.belongs.as_ref().map(|place| format!("; it belongs at {place}")).unwrap_or_default();
        let message = format!("{} {}: the field {path} does not exist and is dropped{belongs}", key.kind, key.name);
        let mut draft = Draft::new(message).resource(key.clone()).introduced(!known.contains(&field)).discriminator(path);
        if &*key.kind == "Application" {
            draft = draft.application(key.place());
        }
        findings.push(draft.at(Some(&manifest.origin), &field.pointer, "dropped"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use serde_json::json;

    #[test]
    fn a_new_field_that_does_not_exist_is_an_error_and_an_old_one_is_not_new() {
        let plain = application_object("shop");
        let mut wrong = plain.clone();
        wrong["spec"]["syncPolicy"]["prune"] = json!(true);
        let run = |base: serde_json::Value| {
            let inventory = inventory([(Some(base), Some(wrong.clone()), None, Some("root"))]);
            Run { inventory, ..Run::default() }.judge(&["unknown-field"])
        };
        let found = run(plain);
        assert_eq!(
            found[0].message,
            "Application shop: the field spec.syncPolicy.prune does not exist and is dropped; it belongs at spec.syncPolicy.automated.prune"
        );
        assert!(found[0].introduced);
        assert!(!run(wrong.clone())[0].introduced);
    }

    #[test]
    fn fields_that_exist_are_fine() {
        let object = application_object("shop");
        let inventory = inventory([(None, Some(object), None, Some("root"))]);
        assert!(Run { inventory, ..Run::default() }.judge(&["unknown-field"]).is_empty());
    }
}
