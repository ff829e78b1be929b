//! `revision-not-tracked`: the Application follows another branch, a tag or a commit, so the change does not reach it.

use super::draft::{Draft, Findings};
use super::facts::{View, enumerate, of_conditions};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for (plan, condition) in of_conditions(view, "RevisionNotTracked") {
        let spec = &plan.application.spec;
        let follows = |revision: &str| condition.message.contains(&format!(" tracks {revision},"));
        let sources = spec.sources();
        let pinned: Vec<usize> =
            (0..sources.len()).filter(|index| sources.get(*index).is_some_and(|one| follows(&one.target_revision))).collect();
        let paths: Vec<&str> = pinned
            .iter()
            .filter_map(|index| sources.get(*index))
            .map(|source| source.path.as_str())
            .filter(|path| !path.is_empty())
            .collect();
        let name = &plan.application.id.name;
        let what = if paths.is_empty() { "Files".to_owned() } else { enumerate(&paths, 3) };
        let message = format!("{what} of Application {name} may change, but {}", condition.message.trim_end_matches('.'));
        let pointer = match pinned.first() {
            Some(index) if spec.is_multi_source() => format!("/spec/sources/{index}/targetRevision"),
            _ => "/spec/source/targetRevision".to_owned(),
        };
        let draft = Draft::of_application(&plan.application, message).introduced(plan.affected);
        findings.push(draft.at(plan.origin.as_ref(), &pointer, "follows this revision"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;

    #[test]
    fn of_several_sources_the_one_that_follows_it_is_named() {
        let mut pinned = plan("catalog", Vec::new());
        let source = |path: &str, revision: &str| serde_json::json!({"repoURL": "https://git.example.test/fleet.git", "path": path, "targetRevision": revision});
        edit_spec(&mut pinned, |spec| {
            spec.as_object_mut().unwrap().remove("source");
            spec["sources"] = serde_json::json!([source("a", "HEAD"), source("b", "v1.4.0")]);
        });
        pinned.conditions =
            vec![condition("RevisionNotTracked", "the Application tracks v1.4.0, so this change does not reach it", "Application")];
        let found = Run { plans: vec![pinned], ..Run::default() }.judge(&["revision-not-tracked"]);
        assert!(found[0].message.starts_with("b of Application catalog may change"), "{}", found[0].message);
        assert_eq!(found[0].places[0].pointer, "/spec/sources/1/targetRevision");
    }

    #[test]
    fn an_application_that_follows_another_revision_is_named() {
        let mut pinned = plan("catalog", Vec::new());
        edit_spec(&mut pinned, |spec| spec["source"]["targetRevision"] = "v1.4.0".into());
        pinned.conditions =
            vec![condition("RevisionNotTracked", "the Application tracks v1.4.0, so this change does not reach it", "Application")];
        let found = Run { plans: vec![pinned, plan("other", Vec::new())], ..Run::default() }.judge(&["revision-not-tracked"]);
        assert_eq!(
            found[0].message,
            "apps/catalog of Application catalog may change, but the Application tracks v1.4.0, so this change does not reach it"
        );
        assert_eq!((found.len(), found[0].severity), (1, crate::finding::Severity::Info));
        assert_eq!(found[0].places[0].pointer, "/spec/source/targetRevision");
        assert!(Run { plans: vec![plan("other", Vec::new())], ..Run::default() }.judge(&["revision-not-tracked"]).is_empty());
    }
}
