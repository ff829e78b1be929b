//! Where a rendered object comes from: the template, and the part of it that makes the object.
//!
//! Takes the template's path and an object; hands on an [`Origin`].

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::chart::{self, TemplatePlace};
use crate::manifest::{Origin, RenderedFrom, Renderer, Side, metadata_str, reader};
use crate::repo::{LinkTarget, Tree};

/// Finds origins, reading each template once.
pub(super) struct Origins<'t> {
    tree: &'t Tree,
    chart: &'t str,
    /// What a chart that is not in the repository is called.
    label: Option<String>,
    side: Side,
    rendered: Arc<RenderedFrom>,
    texts: BTreeMap<String, Option<String>>,
}

impl<'t> Origins<'t> {
    /// For the chart at a path, with a label where it is not in the repository. `others` are the value files that decide, those that win first.
    pub(super) fn new(tree: &'t Tree, chart: &'t str, label: Option<String>, side: Side, others: Vec<Origin>) -> Self {
        let renderer = if label.is_some() { Renderer::Chart } else { Renderer::Helm };
        Self { tree, chart, label, side, rendered: Arc::new(RenderedFrom { renderer, others }), texts: BTreeMap::new() }
    }

    /// The origin of an object; without a template it is the chart itself.
    pub(super) fn of(&mut self, source: Option<&str>, object: &Value) -> Origin {
        let place = source.and_then(|source| chart::template_place(self.tree, self.chart, source));
        let place = place.unwrap_or_else(|| TemplatePlace::File(chart::join(self.chart, "Chart.yaml")));
        let (path, name) = match place {
            TemplatePlace::File(path) => (path, None),
            TemplatePlace::Inside(path, name) => (path, Some(name)),
        };
        let text = self.text(&path).unwrap_or_default();
        let (document, line) = match name {
            Some(name) => (0..0, line_of_dependency(text, &name)),
            None => part_of(text, object),
        };
        let path = match &self.label {
            Some(label) => format!("{label}/{path}"),
            None => path,
        };
        Origin { path: path.into(), side: self.side, document, line, within: String::new(), rendered: Some(Arc::clone(&self.rendered)) }
    }

    fn text(&mut self, path: &str) -> Option<&str> {
        if !self.texts.contains_key(path) {
            let bytes = match self.tree.resolve_link(path) {
                Ok(LinkTarget::File(entry)) => self.tree.read_entry(&entry).ok(),
                _ => None,
            };
            self.texts.insert(path.to_owned(), bytes.map(|bytes| reader::decode(&bytes).text.into_owned()));
        }
        self.texts.get(path)?.as_deref()
    }
}

/// The line on which a `Chart.yaml` names a dependency, the first where none does.
fn line_of_dependency(text: &str, name: &str) -> u32 {
    let names = |line: &str| {
        let entry = line.trim_start().trim_start_matches("- ").trim_start();
        let value = ["name:", "alias:"].iter().find_map(|key| entry.strip_prefix(key));
        value.is_some_and(|value| value.trim().trim_matches(['"', '\'']) == name)
    };
    let mut lines = text.lines().skip_while(|line| !line.starts_with("dependencies:"));
    let behind = lines.by_ref().position(names);
    let before = text.lines().position(|line| line.starts_with("dependencies:"));
    match (before, behind) {
        (Some(before), Some(behind)) => number(before + behind),
        _ => 1,
    }
}

/// The part between separators of a template that makes an object, and the line on which the object begins there. Which part it is shows in
/// the kind, and where several have that, in the name.
fn part_of(text: &str, object: &Value) -> (Range<usize>, u32) {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let name = metadata_str(object, "name").unwrap_or_default();
    let parts = parts(text);
    let of_kind = |part: &&Range<usize>| {
        let lines = text.get((**part).clone()).unwrap_or_default().lines();
        lines
            .map(|line| line.trim().trim_start_matches("- "))
            .any(|line| line.strip_prefix("kind:").is_some_and(|value| value.trim().trim_matches(['"', '\'']) == kind))
    };
    let candidates: Vec<&Range<usize>> = parts.iter().filter(of_kind).collect();
    let named = |part: &&&Range<usize>| !name.is_empty() && text.get((***part).clone()).is_some_and(|part| part.contains(name));
    let chosen = match candidates.as_slice() {
        [one] => Some(*one),
        several => several.iter().find(named).or(several.first()).copied(),
    };
    match chosen.or(parts.first()) {
        Some(part) => (part.clone(), first_field(text, part)),
        None => (0..0, 1),
    }
}

/// The parts of a template between lines that start with `---`.
fn parts(text: &str) -> Vec<Range<usize>> {
    let (mut parts, mut start, mut at) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        if line.starts_with("---") {
            parts.push(start..at);
            start = at + line.len();
        }
        at += line.len();
    }
    parts.push(start..text.len());
    parts.retain(|part| text.get(part.clone()).is_some_and(|part| !part.trim().is_empty()));
    parts
}

/// The line on which the first field of the object stands: behind comments and actions.
fn first_field(text: &str, part: &Range<usize>) -> u32 {
    let before = text.get(..part.start).unwrap_or_default().matches('\n').count();
    let inside = text.get(part.clone()).unwrap_or_default();
    let is_field = |line: &str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#') && !line.starts_with("{{")
    };
    number(before + inside.lines().position(is_field).unwrap_or(0))
}

fn number(lines_before: usize) -> u32 {
    u32::try_from(lines_before).unwrap_or(u32::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TEMPLATE: &str = "{{- if .Values.on }}\n# The service\napiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}\n---\n\
        apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web-first\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web-second\n{{- end }}\n";

    fn line(kind: &str, name: &str) -> u32 {
        part_of(TEMPLATE, &json!({"kind": kind, "metadata": {"name": name}})).1
    }

    #[test]
    fn the_part_of_a_template_is_found_by_kind_and_name() {
        assert_eq!(line("Service", "web"), 3);
        assert_eq!(line("ConfigMap", "web-first"), 8);
        assert_eq!(line("ConfigMap", "web-second"), 13);
    }

    #[test]
    fn without_a_matching_part_the_first_one_is_taken() {
        assert_eq!(line("Deployment", "web"), 3);
        assert_eq!(part_of("", &json!({"kind": "A"})), (0..0, 1));
    }

    #[test]
    fn a_dependency_is_found_by_name_or_alias() {
        let text = "name: web\ndependencies:\n- name: db\n  version: 1.0.0\n- name: \"cache\"\n  alias: hot\n";
        assert_eq!(line_of_dependency(text, "db"), 3);
        assert_eq!(line_of_dependency(text, "hot"), 6);
        assert_eq!(line_of_dependency(text, "web"), 1);
    }
}
