//! What `presync plan --applications` prints: the tree of Applications (root, ApplicationSet, Application) with what the change does to each.
//!
//! Takes the [`Inventory`] and the plans; hands on text or JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};

use serde::Serialize;
use serde_json::Value;

use super::style::{Style, Tone, clean, one_line};
use crate::argocd::AppId;
use crate::argocd::names::GROUP;
use crate::inventory::{Entry, Generation, Inventory, Rejected, SetEntry};
use crate::plan::{SyncMode, SyncPlan};

/// The version of the JSON form.
pub const VERSION: u32 = 1;

/// One Application or ApplicationSet with what hangs below it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Node {
    /// `Application` or `ApplicationSet`.
    pub kind: &'static str,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// `created`, `changed`, `deleted`, `left` (no longer defined, but it stays) or `unchanged`.
    pub change: &'static str,
    /// Why it is deleted, or why nothing can be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The fields that differ between base and head.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
    /// The parameters that it is generated with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// What it renders or generates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Node>,
}

/// A field of a definition that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Field {
    /// JSON pointer.
    pub path: String,
    /// Its value before the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Value>,
    /// Its value after the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<Value>,
}

/// An Application or an ApplicationSet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Id {
    Application(AppId),
    Set(AppId),
}

/// The tops of the tree. Without `all` only branches in which something changes.
pub fn tree(inventory: &Inventory, plans: &[SyncPlan], all: bool) -> Vec<Node> {
    let mut children: BTreeMap<Option<Id>, Vec<Id>> = BTreeMap::new();
    for (id, entry) in &inventory.entries {
        children.entry(parent_of(entry, inventory)).or_default().push(Id::Application(id.clone()));
    }
    for (id, set) in &inventory.sets {
        let parent = set.definition().and_then(|definition| definition.parent.clone()).map(Id::Application);
        children.entry(parent).or_default().push(Id::Set(id.clone()));
    }
    let plans = plans.iter().map(|plan| (&plan.application.id, plan)).collect();
    let mut builder = Builder { inventory, plans, children, seen: BTreeSet::new(), all };
    let tops = builder.children.get(&None).cloned().unwrap_or_default();
    let mut nodes: Vec<Node> = tops.iter().filter_map(|id| builder.node(id)).collect();
    // Those that contain each other have no top.
    let ids: Vec<Id> = builder.children.values().flatten().cloned().collect();
    for id in ids {
        nodes.extend(builder.node(&id));
    }
    nodes
}

fn parent_of(entry: &Entry, inventory: &Inventory) -> Option<Id> {
    if let Some(by) = entry.generated() {
        return Some(Id::Set(by.set.clone()));
    }
    if let Some(parent) = entry.parent() {
        return Some(Id::Application(parent.clone()));
    }
    let owner = inventory.sets.values().find(|set| set.owned.contains(&entry.id));
    owner.map(|set| Id::Set(set.id.clone()))
}

struct Builder<'a> {
    inventory: &'a Inventory,
    plans: BTreeMap<&'a AppId, &'a SyncPlan>,
    children: BTreeMap<Option<Id>, Vec<Id>>,
    seen: BTreeSet<Id>,
    all: bool,
}

impl Builder<'_> {
    fn node(&mut self, id: &Id) -> Option<Node> {
        if !self.seen.insert(id.clone()) {
            return None;
        }
        let below = self.children.get(&Some(id.clone())).cloned().unwrap_or_default();
        let children: Vec<Node> = below.iter().filter_map(|child| self.node(child)).collect();
        let mut node = match id {
            Id::Application(id) => self.application(id)?,
            Id::Set(id) => self.set(self.inventory.sets.get(id)?),
        };
        node.children = children;
        let shown = self.all || node.change != "unchanged" || node.reason.is_some() || !node.children.is_empty();
        shown.then_some(node)
    }

    fn application(&self, id: &AppId) -> Option<Node> {
        let entry = self.inventory.entries.get(id)?;
        let deleted = self.plans.get(id).filter(|plan| plan.sync.mode == SyncMode::Deleted);
        let (change, reason) = match (deleted, &entry.base, &entry.head) {
            (Some(plan), ..) => ("deleted", Some(plan.sync.reason.clone())),
            (None, None, Some(_)) => ("created", None),
            (None, Some(_), None) if self.stays(entry) => ("left", Some("nothing defines it any more, but it stays".to_owned())),
            (None, Some(_), None) => ("deleted", Some("nothing defines it any more".to_owned())),
            _ if entry.definition_changes() => ("changed", None),
            _ => ("unchanged", None),
        };
        let objects = |definition: Option<&crate::inventory::Definition>| definition.map(|definition| definition.manifest.object.clone());
        Some(Node {
            kind: "Application",
            namespace: id.namespace.to_string(),
            name: id.name.to_string(),
            change,
            reason,
            fields: if change == "changed" {
                differences(objects(entry.base.as_ref()).as_deref(), objects(entry.head.as_ref()).as_deref())
            } else {
                Vec::new()
            },
            parameters: entry.generated().and_then(|by| by.parameters.as_deref().cloned()),
            children: Vec::new(),
        })
    }

    /// Whether an Application that nothing defines any more is still there: live, kept by the policy of its set, or not deleted by the sync
    /// of its parent.
    fn stays(&self, entry: &Entry) -> bool {
        let set = entry.generated().and_then(|by| self.inventory.sets.get(&by.set));
        let kept = set.is_some_and(|set| !set.policy.deletes || (set.head.is_none() && self.set_stays(set)));
        entry.live.is_some() || kept || entry.parent().is_some_and(|parent| self.plans.contains_key(parent))
    }

    /// The Application whose sync or deletion deletes an object.
    fn deleted_by(&self, kind: &str, id: &AppId) -> Option<&AppId> {
        let deletes = |plan: &&&SyncPlan| {
            let mut changes = plan.changes.iter().filter(|change| change.action.deletes() && change.key.is(GROUP, kind));
            changes.any(|change| change.key.namespace == id.namespace && change.key.name == id.name)
        };
        self.plans.values().find(deletes).map(|plan| &plan.application.id)
    }

    /// Whether a set that nothing defines any more is still there: the sync of its parent does not delete it.
    fn set_stays(&self, set: &SetEntry) -> bool {
        let parent = set.base.as_ref().and_then(|base| base.parent.as_ref());
        parent.is_none_or(|parent| self.plans.contains_key(parent)) && self.deleted_by("ApplicationSet", &set.id).is_none()
    }

    fn set(&self, set: &SetEntry) -> Node {
        let deleted = self.deleted_by("ApplicationSet", &set.id);
        let change = match (&set.base, &set.head) {
            (Some(_), None) if self.set_stays(set) => "left",
            (Some(_), None) => "deleted",
            _ if deleted.is_some() => "deleted",
            (None, Some(_)) => "created",
            _ if set.definition_changes() => "changed",
            _ => "unchanged",
        };
        let goes = deleted.map(|parent| format!("Application {parent} deletes it"));
        let left = (change == "left").then(|| "nothing defines it any more, but it stays".to_owned());
        let generation = set.head.as_ref().and_then(|head| match &head.generation {
            Generation::Done => not_accepted(&head.rejected),
            Generation::Frozen(error) => Some(format!("generation fails, nothing changes: {error}")),
            Generation::AsBefore { what, why } => Some(format!("{what} is not evaluated: {why}")),
        });
        let reason = goes.or(left).or(generation);
        let object =
            |definition: &Option<crate::inventory::SetDefinition>| definition.as_ref().map(|definition| definition.set.object.clone());
        Node {
            kind: "ApplicationSet",
            namespace: set.id.namespace.to_string(),
            name: set.id.name.to_string(),
            change,
            reason,
            fields: if change == "changed" { differences(object(&set.base).as_deref(), object(&set.head).as_deref()) } else { Vec::new() },
            parameters: None,
            children: Vec::new(),
        }
    }
}

/// Names what a set generates and Argo CD does not bring into the cluster.
fn not_accepted(rejected: &[Rejected]) -> Option<String> {
    let first = rejected.first()?;
    let more = if rejected.len() > 1 { format!(" and {} more", rejected.len() - 1) } else { String::new() };
    let name = if first.name.is_empty() { "an Application without name" } else { &first.name };
    Some(format!("{name}{more} not accepted: {}", first.why))
}

/// The fields in which two definitions differ; lists are compared element by element where they are equally long.
fn differences(base: Option<&Value>, head: Option<&Value>) -> Vec<Field> {
    let mut found = Vec::new();
    let parts = ["metadata", "spec"];
    for part in parts {
        let of = |object: Option<&Value>| object.and_then(|object| object.get(part)).cloned();
        compare(&format!("/{part}"), of(base).as_ref(), of(head).as_ref(), &mut found);
    }
    found
}

fn compare(path: &str, base: Option<&Value>, head: Option<&Value>, found: &mut Vec<Field>) {
    match (base, head) {
        (Some(base), Some(head)) if base == head => {}
        (Some(Value::Object(base)), Some(Value::Object(head))) => {
            let keys: BTreeSet<&String> = base.keys().chain(head.keys()).collect();
            for key in keys {
                let pointer = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                compare(&pointer, base.get(key), head.get(key), found);
            }
        }
        (Some(Value::Array(base)), Some(Value::Array(head))) if base.len() == head.len() => {
            for (index, (base, head)) in base.iter().zip(head).enumerate() {
                compare(&format!("{path}/{index}"), Some(base), Some(head), found);
            }
        }
        (None, None) => {}
        (base, head) => found.push(Field { path: path.to_owned(), base: base.cloned(), head: head.cloned() }),
    }
}

#[derive(Serialize)]
struct TreeJson<'a> {
    version: u32,
    base: &'a str,
    head: &'a str,
    applications: &'a [Node],
}

/// Writes the tree as JSON.
pub fn write_json(nodes: &[Node], base: &str, head: &str, out: &mut dyn Write) -> io::Result<()> {
    super::escape::write_json(&TreeJson { version: VERSION, base, head, applications: nodes }, out)
}

/// Writes the tree as text.
pub fn write_text(nodes: &[Node], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    if nodes.is_empty() {
        writeln!(out, "No Application is created, changed or deleted.")?;
    }
    for node in nodes {
        write_node(node, "", None, style, &mut out)?;
    }
    out.flush()
}

/// The line past the nodes that belong to an earlier one.
fn bar(style: Style) -> &'static str {
    if style.unicode { "│ " } else { "| " }
}

fn write_node(node: &Node, indent: &str, last: Option<bool>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let branch = last.map_or_else(String::new, |last| format!("{} ", style.branch(last)));
    let tone = match node.change {
        "created" => Tone::Good,
        "deleted" => Tone::Bad,
        "changed" | "left" => Tone::Doubtful,
        _ => Tone::Faint,
    };
    let kind = if node.kind == "ApplicationSet" { "ApplicationSet " } else { "" };
    let name = style.paint(Tone::Strong, &format!("{kind}{}/{}", clean(&node.namespace), clean(&node.name)));
    let reason = node.reason.as_ref().map(|reason| format!(": {}", one_line(reason))).unwrap_or_default();
    writeln!(out, "{indent}{branch}{name}  {}{reason}", style.paint(tone, node.change))?;
    let below = match last {
        None => indent.to_owned(),
        Some(true) => format!("{indent}   "),
        Some(false) => format!("{indent}{} ", bar(style)),
    };
    for field in &node.fields {
        let value = |value: &Option<Value>| {
            value.as_ref().map_or_else(|| "absent".to_owned(), |value| style.shorten(&one_line(&value.to_string()), 60))
        };
        let line = if node.children.is_empty() { "  " } else { bar(style) };
        let path = field.path.trim_start_matches('/').replace('/', ".");
        writeln!(out, "{below}{line}  {}: {} {} {}", clean(&path), value(&field.base), style.arrow(), value(&field.head))?;
    }
    for (index, child) in node.children.iter().enumerate() {
        write_node(child, &below, Some(index + 1 == node.children.len()), style, out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_fields_that_differ_are_told() {
        let base = json!({"metadata": {"name": "a"}, "spec": {"source": {"path": "x", "refs": [1, 2]}, "project": "p"}});
        let head =
            json!({"metadata": {"name": "a", "labels": {"a/b": "c"}}, "spec": {"source": {"path": "y", "refs": [1, 3]}, "project": "p"}});
        let found: Vec<String> = differences(Some(&base), Some(&head)).into_iter().map(|field| field.path).collect();
        assert_eq!(found, ["/metadata/labels", "/spec/source/path", "/spec/source/refs/1"]);
    }
}
