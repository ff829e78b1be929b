//! `out-of-bounds-symlink`: one link that leaves the repository stops every Application of the repository.

use super::RenderFailure;
use super::draft::{Draft, Findings};
use super::facts::{View, enumerate, id_of, plural};

/// Applications that the message names.
const MAX_NAMED: usize = 3;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    let of_link = |failure: &&RenderFailure| failure.rule == "out-of-bounds-symlink";
    let stopped: Vec<&RenderFailure> = view.facts.render_failures.iter().filter(of_link).collect();
    let Some(first) = stopped.first() else { return };
    let names: Vec<&str> = stopped.iter().map(|failure| failure.application.as_str()).collect();
    let message = format!("{}, here {}: {}", first.message, plural(names.len(), "Application"), enumerate(&names, MAX_NAMED));
    let origin = view.entry(&id_of(&first.application)).and_then(|entry| entry.definition()).map(|definition| &definition.manifest.origin);
    let draft = Draft::new(message).introduced(stopped.iter().any(|failure| failure.introduced));
    findings.push(draft.at(origin, "/spec/source", "cannot be rendered"));
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;
    use crate::finding::Finding;

    fn run(rule: &'static str, introduced: [bool; 2]) -> Vec<Finding> {
        let failures = ["argocd/a", "argocd/b"].into_iter().zip(introduced);
        let failures = failures.map(|(application, introduced)| RenderFailure { introduced, ..failure(application, rule) });
        Run { render_failures: failures.collect(), ..Run::default() }.judge(&["out-of-bounds-symlink"])
    }

    #[test]
    fn one_link_is_one_finding_whatever_it_stops() {
        let found = run("out-of-bounds-symlink", [true, true]);
        assert_eq!((found.len(), found[0].introduced), (1, true));
        assert!(found[0].message.ends_with(", here 2 Applications: argocd/a and argocd/b"), "{}", found[0].message);
    }

    #[test]
    fn an_old_link_is_not_new_and_other_failures_are_left_to_other_rules() {
        assert!(!run("out-of-bounds-symlink", [false, false])[0].introduced);
        assert!(run("render-failed", [true, true]).is_empty());
    }
}
