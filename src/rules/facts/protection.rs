//! What people write to keep an object from being pruned or deleted, and whether Argo CD understands it.

use serde_json::Value;

use crate::argocd::names::SYNC_OPTIONS;
use crate::argocd::options::object_value;
use crate::manifest::annotation;

/// A text in `sync-options` that looks like a protection and is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::rules) struct Misspelling {
    /// What stands there.
    pub(in crate::rules) written: String,
    /// What was meant.
    pub(in crate::rules) meant: &'static str,
}

/// The misspelled protections of an object. Only texts that cannot mean anything else are named: `Prune` or `Delete` with `false`, `no`,
/// `off` or `confirm` in another case, with another separator, or joined by something else than a comma.
///
/// An option that the same annotation also spells rightly is protected, and not named.
pub(in crate::rules) fn misspelled(object: &Value) -> Vec<Misspelling> {
    let Some(text) = annotation(object, SYNC_OPTIONS) else { return Vec::new() };
    let mut found = Vec::new();
    for written in text.split([',', ';', '\n', '|']).map(str::trim).filter(|item| !item.is_empty()) {
        let Some(meant) = meaning(written) else { continue };
        let (key, value) = meant.split_once('=').unwrap_or_default();
        let understood = object_value(object, key);
        let protected = understood.is_some_and(|understood| understood == value || understood == "false" || understood == "confirm");
        // `Prune=true` in front switches the protection off on purpose.
        let decided = understood == Some("true");
        if !protected && !decided && !found.iter().any(|other: &Misspelling| other.meant == meant) {
            found.push(Misspelling { written: written.to_owned(), meant });
        }
    }
    found
}

/// Whether a protection against pruning or deletion stands on the pod template, where it has no effect, and none on the object itself.
pub(in crate::rules) fn is_only_on_template(object: &Value) -> bool {
    let protects = |object: &Value| ["Prune", "Delete"].iter().any(|key| matches!(object_value(object, key), Some("false" | "confirm")));
    let templates = ["/spec/template", "/spec/jobTemplate", "/spec/jobTemplate/spec/template"];
    !protects(object) && templates.iter().filter_map(|pointer| object.pointer(pointer)).any(protects)
}

/// What a text means to a reader, if it is a protection.
fn meaning(written: &str) -> Option<&'static str> {
    let letters: String = written.to_lowercase().chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'')).collect();
    let (key, value) = letters.split_once(['=', ':']).or_else(|| written.split_once(' ').map(|_| split_words(&letters)))?;
    match (key.trim_end_matches([':', '=']), value.trim_start_matches(['=', ':'])) {
        ("prune" | "pruning", "false" | "no" | "off" | "disabled" | "never") => Some("Prune=false"),
        ("prune" | "pruning", "confirm") => Some("Prune=confirm"),
        ("delete" | "deletion", "false" | "no" | "off" | "disabled" | "never") => Some("Delete=false"),
        ("delete" | "deletion", "confirm") => Some("Delete=confirm"),
        ("noprune", "true" | "yes") => Some("Prune=false"),
        _ => None,
    }
}

fn split_words(letters: &str) -> (&str, &str) {
    ["prune", "delete"].iter().find_map(|key| letters.strip_prefix(key).map(|rest| (*key, rest))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn written(text: &str) -> Vec<String> {
        let object = json!({"metadata": {"annotations": {SYNC_OPTIONS: text}}});
        misspelled(&object).into_iter().map(|found| found.written).collect()
    }

    #[test]
    fn values_that_look_like_a_protection_and_are_none_are_found() {
        for text in [
            "Prune=False",
            "prune=false",
            "Prune: false",
            "Prune = false",
            "Prune=no",
            "PRUNE=FALSE",
            "Prune=Confirm",
            "Prune=\"false\"",
            "Delete=False",
            "Prune false",
        ] {
            assert_eq!(written(text), [text], "{text}");
        }
        assert_eq!(written("Validate=false;Prune=false"), ["Prune=false"]);
    }

    #[test]
    fn what_argo_cd_understands_or_what_means_something_else_is_not_named() {
        for text in [
            "Prune=false",
            "Validate=false, Prune=false",
            "Prune=true",
            "Prune=confirm",
            "PruneLast=true",
            "Delete=false,Prune=false",
            "Prune=true,prune=false",
            "Validate=False",
            "ServerSideApply=false",
            "PrunePropagationPolicy=background",
        ] {
            assert_eq!(written(text), [""; 0], "{text}");
        }
    }
}
