//! Which template each part of helm's output comes from.
//!
//! Takes the text of `helm template`; hands on the paths behind its `# Source:` comments by place.

/// The `# Source:` comments of an output.
pub(super) struct Sources<'t> {
    found: Vec<(usize, &'t str)>,
}

impl<'t> Sources<'t> {
    /// The comments that stand directly behind a separator, as helm writes them, and name a file that `is_template` knows. A file of `crds/`
    /// may hold several documents behind one of them.
    ///
    /// Source: Helm `pkg/cmd/template.go`, `pkg/action/action.go:renderResources`.
    pub(super) fn new(text: &'t str, is_template: &dyn Fn(&str) -> bool) -> Self {
        const MARK: &str = "---\n# Source: ";
        let mut found = Vec::new();
        for (at, _) in text.match_indices(MARK) {
            if at > 0 && text.as_bytes().get(at - 1) != Some(&b'\n') {
                continue;
            }
            let rest = text.get(at + MARK.len()..).unwrap_or_default();
            let source = rest.lines().next().unwrap_or_default().trim_end();
            if is_template(source) {
                found.push((at, source));
            }
        }
        Self { found }
    }

    /// The path behind the last comment before a place in the output.
    pub(super) fn before(&self, position: usize) -> Option<&'t str> {
        let index = self.found.partition_point(|(at, _)| *at < position);
        self.found.get(index.checked_sub(1)?).map(|(_, source)| *source)
    }

    /// The path behind the comment of the document that begins at a place.
    pub(super) fn around(&self, text: &str, position: usize) -> Option<&'t str> {
        let end = text.get(position..).and_then(|rest| rest.find("\n# Source: ")).map_or(text.len(), |at| position + at + 2);
        self.before(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::ParsedFile;

    fn all(text: &str) -> Vec<(String, Option<&str>)> {
        let sources = Sources::new(text, &|source| !source.starts_with("other/"));
        let file = ParsedFile::of_output(text.as_bytes());
        let objects = file.objects.iter().map(|object| {
            let name = object.key.as_ref().unwrap().name.to_string();
            (name, sources.before(file.documents[object.document].range.end))
        });
        objects.collect()
    }

    #[test]
    fn every_object_is_traced_to_the_template_before_it() {
        let text = "---\n# Source: web/templates/a.yaml\nkind: A\nmetadata: {name: a}\n---\n# Source: web/templates/empty.yaml\n# nothing\n\
            ---\n# Source: web/crds/c.yaml\nkind: C\nmetadata: {name: c1}\n---\nkind: C\nmetadata: {name: c2}\n";
        let named = |name: &str, source| (name.to_owned(), Some(source));
        assert_eq!(all(text), [named("a", "web/templates/a.yaml"), named("c1", "web/crds/c.yaml"), named("c2", "web/crds/c.yaml")]);
    }

    #[test]
    fn a_file_that_starts_with_a_comment_only_document_keeps_its_name() {
        let text = "---\n# Source: web/crds/b.yaml\nkind: B\nmetadata: {name: b}\n---\n# Source: web/crds/c.yaml\n# licence\n---\nkind: C\n\
            metadata: {name: c}\n";
        assert_eq!(all(text)[1].1, Some("web/crds/c.yaml"));
    }

    #[test]
    fn comments_that_name_no_file_of_the_chart_and_texts_that_look_like_comments_are_no_sources() {
        let text = "---\n# Source: web/crds/c.yaml\nkind: C\nmetadata: {name: c1}\n---\n# Source: other/templates/crd.yaml\nkind: C\n\
            metadata: {name: c2}\n---\n# Source: web/templates/d.yaml\nkind: D\nmetadata: {name: d}\ndata:\n  text: |\n    ---\n    \
            # Source: web/templates/x.yaml\n";
        let sources: Vec<_> = all(text).into_iter().map(|(_, source)| source.unwrap()).collect();
        assert_eq!(sources, ["web/crds/c.yaml", "web/crds/c.yaml", "web/templates/d.yaml"]);
    }

    #[test]
    fn the_document_at_a_place_is_found_too() {
        let text = "---\n# Source: web/templates/a.yaml\nkind: A\n---\n# Source: web/crds/b.yaml\na: [\n---\n# Source: web/templates/c.yaml\nkind: C\n";
        let sources = Sources::new(text, &|_| true);
        assert_eq!(sources.around(text, text.find("---\n# Source: web/crds").unwrap()), Some("web/crds/b.yaml"));
    }
}
