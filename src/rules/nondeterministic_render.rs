//! `nondeterministic-render`: a source renders something else each time, so each sync replaces it.

use super::draft::{Draft, Findings};
use super::facts::{View, app_name, enumerate, next_sync, respects_ignored};
use crate::manifest::pointer::Pointer;
use crate::plan::Action;

/// How many fields one message names.
const SPELLED_OUT: usize = 4;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for unstable in view.facts.unstable {
        let of_application =
            view.changes_of(&unstable.key).iter().filter(|(plan, _)| plan.application.id.to_string() == unstable.application);
        for (plan, change) in of_application {
            let Some(target) = change.target.as_ref().filter(|_| !matches!(change.action, Action::Skip)) else { continue };
            let is_kept = |pointer: &String| respects_ignored(plan) && view.ignores(plan, &target.object, pointer);
            let fields: Vec<&String> = unstable.pointers.iter().filter(|pointer| !is_kept(pointer)).collect();
            if fields.is_empty() {
                continue;
            }
            let is_whole = fields.iter().any(|pointer| pointer.is_empty() || *pointer == "/metadata/name");
            let what = if is_whole {
                format!("{} is rendered under another name each time", change.key.named())
            } else {
                let names: Vec<String> = fields.iter().map(|pointer| dotted(pointer)).collect();
                format!("{} is generated anew on every render (2 renders differ in {})", change.key.named(), enumerate(&names, SPELLED_OUT))
            };
            let effect = if is_whole { "makes a new one and prunes the one before" } else { "replaces the live value" };
            let message = format!(
                "{what}; {}, and each one after it, {effect}: Argo CD renders without the cluster, so `lookup` finds nothing and {} is never in sync",
                next_sync(plan),
                app_name(plan)
            );
            let draft = Draft::of_change(plan, change, message)
                .introduced(plan.affected)
                .discriminator(fields.iter().map(|field| field.as_str()).collect::<Vec<_>>().join(" "));
            findings.push(draft.at(Some(&target.origin), fields.first().map_or("", |field| field.as_str()), "rendered anew each time"));
        }
    }
}

/// A pointer as people write paths: `data.password`.
fn dotted(pointer: &str) -> String {
    let tokens = Pointer::parse(pointer).map(|parsed| parsed.tokens().to_vec()).unwrap_or_default();
    tokens.iter().fold(String::new(), |path, token| match token {
        token if token.parse::<usize>().is_ok() => format!("{path}[{token}]"),
        token if token.contains(['.', '/']) => format!("{path}[\"{token}\"]"),
        token if path.is_empty() => token.clone(),
        token => format!("{path}.{token}"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::UnstableObject;
    use super::super::fixture::*;
    use crate::finding::Severity;
    use serde_json::json;

    fn run(ignore: serde_json::Value, options: &[&str], pointers: &[&str]) -> Run {
        let secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "auth", "namespace": "shop"}, "data": {"password": "eA=="}});
        let change = added(secret);
        let unstable = UnstableObject {
            application: "argocd/web".into(),
            key: change.key.clone(),
            pointers: pointers.iter().map(|pointer| (*pointer).to_owned()).collect(),
        };
        let mut plan = plan("web", vec![change]);
        edit_spec(&mut plan, |spec| {
            spec["ignoreDifferences"] = ignore;
            spec["syncPolicy"]["syncOptions"] = json!(options);
        });
        Run { plans: vec![plan], unstable: vec![unstable], ..Run::default() }
    }

    #[test]
    fn a_field_that_is_new_each_time_is_named_without_its_value() {
        let found = run(json!([]), &[], &["/data/password"]).judge(&["nondeterministic-render"]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Error);
        assert!(
            found[0].message.starts_with("Secret shop/auth is generated anew on every render (2 renders differ in data.password)"),
            "{}",
            found[0].message
        );
        assert!(!found[0].message.contains("eA=="));
    }

    #[test]
    fn an_object_under_a_new_name_each_time_is_said_so() {
        let found = run(json!([]), &[], &["/metadata/name"]).judge(&["nondeterministic-render"]);
        assert!(found[0].message.contains("under another name each time"), "{}", found[0].message);
    }

    #[test]
    fn a_field_that_keeps_its_live_value_is_no_finding() {
        let rule = json!([{"kind": "Secret", "jsonPointers": ["/data"]}]);
        assert!(run(rule.clone(), &["RespectIgnoreDifferences=true"], &["/data/password"]).judge(&["nondeterministic-render"]).is_empty());
        assert_eq!(run(rule, &[], &["/data/password"]).judge(&["nondeterministic-render"]).len(), 1);
    }
}
