//! `duplicate-key`: a mapping has a key twice, and the last one counts.

use super::draft::{Draft, Findings};
use super::facts::View;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for duplicate in view.facts.duplicate_keys {
        let key = duplicate.pointer.rsplit('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~");
        let message = format!(
            "The key `{key}` appears twice in one mapping of {}; Argo CD silently takes the last one and drops the other, and kustomize refuses the file",
            duplicate.origin.path
        );
        let draft = Draft::new(message).application(duplicate.application.clone()).introduced(duplicate.introduced);
        let draft = match &duplicate.resource {
            Some(key) => draft.resource(key.clone()),
            None => draft,
        };
        let draft = draft.discriminator(format!("{} {} {}", duplicate.origin.path, duplicate.origin.line, duplicate.pointer));
        findings.push(draft.at(Some(&duplicate.origin), &duplicate.pointer, "this one counts"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::DuplicateKey;
    use super::super::fixture::*;
    use crate::manifest::Side;

    #[test]
    fn a_key_that_appears_twice_is_named_with_its_place() {
        let pointer = "/metadata/annotations/a~1b".to_owned();
        let duplicate = DuplicateKey {
            application: "argocd/a".into(),
            resource: None,
            origin: origin("apps/a.yaml", Side::Head),
            pointer,
            introduced: true,
        };
        let found = Run { duplicate_keys: vec![duplicate], ..Run::default() }.judge(&["duplicate-key"]);
        assert!(found[0].message.starts_with("The key `a/b` appears twice in one mapping of apps/a.yaml"), "{}", found[0].message);
        assert_eq!(found[0].places[0].pointer, "/metadata/annotations/a~1b");
        assert!(Run::default().judge(&["duplicate-key"]).is_empty());
    }
}
