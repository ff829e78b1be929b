//! Which value decides about an object of a chart, and on which line it is set.
//!
//! Takes a finding's place in a template; hands on the values that the change alters, or else the one value that the field is. Where that is not
//! certain nothing is said.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::sources::Sources;
use crate::argocd::{AppId, Application};
use crate::finding::{Finding, Place};
use crate::inventory::{Definition, Inventory};
use crate::manifest::span::{self, line_column};
use crate::manifest::{Origin, Pointer, Renderer, Side};
use crate::plan::SyncPlan;
use crate::render::{Scope, SetAt, Values};

/// Values that are named for one place.
const MAX_VALUES: usize = 3;
/// Words in the names of values that may be secrets.
const SECRETS: [&str; 5] = ["password", "passwd", "secret", "token", "credential"];

/// Positions of plans by the files that their objects come from.
type ByFile = BTreeMap<(Side, Arc<str>), BTreeSet<usize>>;

/// The values of the sources of one Application that are charts, each with the source's position.
type OfSources = Arc<[(usize, Values)]>;

/// A value that decides.
pub(super) struct Decider {
    /// Its name, with dots.
    pub(super) name: String,
    /// Where it is set, if that is in the repository.
    pub(super) place: Option<Place>,
    /// Line of the place, where the pointer leads into a text inside the document.
    pub(super) line: Option<u32>,
    /// Whether the change alters it.
    pub(super) is_changed: bool,
}

/// What is known about a place in a template.
#[derive(Default)]
pub(super) struct Decision {
    /// Bytes of the line of the template that writes the field.
    pub(super) field: Option<std::ops::Range<usize>>,
    /// The values that decide, most certain first.
    pub(super) deciders: Vec<Decider>,
}

/// Finds deciding values, reading the values of each source once.
pub(super) struct Deciders<'a> {
    sources: &'a Sources<'a>,
    effective: &'a BTreeMap<(Side, AppId), Arc<Application>>,
    inventory: &'a Inventory,
    plans: &'a [SyncPlan],
    /// The plans with objects of a file, by their positions; made when it is first needed.
    by_file: OnceCell<ByFile>,
    known: BTreeMap<(Side, AppId), OfSources>,
}

/// One side of a source.
struct View<'v> {
    values: &'v Values,
    scope: Scope,
    index: usize,
    side: Side,
}

impl<'a> Deciders<'a> {
    /// Nothing read yet.
    pub(super) fn new(
        sources: &'a Sources<'a>,
        effective: &'a BTreeMap<(Side, AppId), Arc<Application>>,
        inventory: &'a Inventory,
        plans: &'a [SyncPlan],
    ) -> Self {
        Self { sources, effective, inventory, plans, by_file: OnceCell::new(), known: BTreeMap::new() }
    }

    /// What decides about a place of a finding.
    pub(super) fn decision(&mut self, finding: &Finding, place: &Place, text_of: &mut dyn FnMut(&Origin) -> Option<Arc<str>>) -> Decision {
        let rendered = place.origin.rendered.as_deref();
        if !rendered.is_some_and(|rendered| matches!(rendered.renderer, Renderer::Helm | Renderer::Chart)) {
            return Decision::default();
        }
        let object = finding.resource.as_ref().map_or("", |key| &key.name);
        let is_secret = finding.resource.as_ref().is_some_and(|key| key.is("", "Secret")) && !place.pointer.is_empty();
        for application in self.owners(finding, &place.origin) {
            let sides = [Side::Base, Side::Head].map(|side| self.values(&application, side));
            let view = |side: Side, file: &str| {
                let values = if side == Side::Base { &sides[0] } else { &sides[1] };
                values.iter().find_map(|(index, values)| Some(View { scope: values.scope(file, object)?, values, index: *index, side }))
            };
            let own = if place.origin.side == Side::Base { &sides[0] } else { &sides[1] };
            let Some(file) = own.iter().find_map(|(_, values)| values.file(&place.origin)) else { continue };
            let Some(here) = view(place.origin.side, file) else { continue };
            let Some(deciding) = here.values.deciding(&place.origin, &here.scope, &place.pointer) else { continue };
            if is_secret {
                return Decision { field: deciding.field, deciders: Vec::new() };
            }
            let mut found = Finder { deciders: self, application: &application, text_of, deciders_found: Vec::new() };
            if let (Some(base), Some(head)) = (view(Side::Base, file), view(Side::Head, file)) {
                for path in &deciding.all {
                    found.changed(&base, &head, path, deciding.loops.contains(path).then_some(object));
                }
            }
            if let (true, Some(path)) = (found.deciders_found.is_empty(), &deciding.own) {
                found.unchanged(&here, path);
            }
            let mut deciders = found.deciders_found;
            deciders.truncate(MAX_VALUES);
            return Decision { field: deciding.field, deciders };
        }
        Decision::default()
    }

    /// The Applications whose source may render an object of a finding, the likeliest first.
    pub(super) fn owners(&self, finding: &Finding, origin: &Origin) -> Vec<AppId> {
        let named = finding.application.as_deref().and_then(|id| id.split_once('/')).map(|(namespace, name)| AppId::new(namespace, name));
        let found = self.by_file().get(&(origin.side, Arc::clone(&origin.path)));
        let plans = found.into_iter().flatten().filter_map(|position| self.plans.get(*position));
        let mut rendering: Vec<AppId> = plans.map(|plan| plan.application.id.clone()).collect();
        rendering.sort_by_key(|id| Some(id) != named.as_ref());
        let parents = named.iter().filter_map(|id| self.inventory.entries.get(id)?.parent().cloned());
        let further: Vec<AppId> = parents.chain(named.clone()).collect();
        rendering.into_iter().chain(further).collect()
    }

    fn by_file(&self) -> &ByFile {
        self.by_file.get_or_init(|| {
            let mut by_file = ByFile::new();
            for (position, plan) in self.plans.iter().enumerate() {
                for origin in plan.changes.iter().filter_map(|change| change.origin()) {
                    by_file.entry((origin.side, Arc::clone(&origin.path))).or_default().insert(position);
                }
            }
            by_file
        })
    }

    fn values(&mut self, application: &AppId, side: Side) -> OfSources {
        let key = (side, application.clone());
        if let Some(known) = self.known.get(&key) {
            return Arc::clone(known);
        }
        let values: OfSources = match self.effective.get(&key) {
            Some(application) => self.sources.values(application, side).into(),
            None => Arc::from([]),
        };
        self.known.insert(key, Arc::clone(&values));
        values
    }

    /// The definition of an Application at one side.
    fn definition(&self, application: &AppId, side: Side) -> Option<&'a Definition> {
        let entry = self.inventory.entries.get(application)?;
        match side {
            Side::Base => entry.base.as_ref(),
            Side::Head => entry.head.as_ref(),
        }
    }
}

/// Collects the deciders of one place.
struct Finder<'f, 'a> {
    deciders: &'f Deciders<'a>,
    application: &'f AppId,
    text_of: &'f mut dyn FnMut(&Origin) -> Option<Arc<str>>,
    deciders_found: Vec<Decider>,
}

impl Finder<'_, '_> {
    /// Notes a value if the two sides have different ones. Of a value that a loop goes through only the entry of this object counts.
    fn changed(&mut self, base: &View<'_>, head: &View<'_>, path: &[String], entry_of: Option<&str>) {
        let before = base.values.value(&base.scope, path);
        let after = head.values.value(&head.scope, path);
        if before == after {
            return;
        }
        let mut path = path.to_vec();
        let (before, after) = match entry_of {
            None => (before, after),
            Some(object) => match entry(before, after, object) {
                Some((name, before, after)) => {
                    path.push(name);
                    (before, after)
                }
                None => return,
            },
        };
        let (before, after) = narrowed(before, after, &mut path);
        let place_before = base.values.set_at(&base.scope, &path);
        let place_after = head.values.set_at(&head.scope, &path);
        // What decides now may have been there before, behind a line that is gone.
        let is_old = |place: &SetAt| base.values.sets(&base.scope, &path, place, after.as_ref());
        let is_item = path.last().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        let left_a_list = after.is_none() && is_item && place_before.is_some();
        let (view, place, label) = match (place_after, place_before) {
            (Some(after), _) if !left_a_list && !is_old(&after) => (head, after, "decides"),
            (_, Some(before)) => (base, before, "was set here"),
            (Some(after), None) => (head, after, "decides"),
            (None, None) => return,
        };
        let hidden = before.is_some_and(|before| may_be_secret(&path, &before)) || after.is_some_and(|after| may_be_secret(&path, &after));
        self.note(view, &path, &place, label, true, hidden);
    }

    /// Notes the value that a field is.
    fn unchanged(&mut self, view: &View<'_>, path: &[String]) {
        let Some(value) = view.values.value(&view.scope, path).filter(|value| !value.is_object() && !value.is_array()) else { return };
        let Some(place) = view.values.set_at(&view.scope, path) else { return };
        let hidden = may_be_secret(path, &value);
        self.note(view, path, &place, "decides", false, hidden);
    }

    fn note(&mut self, view: &View<'_>, path: &[String], place: &SetAt, label: &str, is_changed: bool, hidden: bool) {
        let name = path.join(".");
        if self.deciders_found.iter().any(|known| known.name == name) {
            return;
        }
        let label = format!("the value {name} {label}");
        let found = if hidden { None } else { self.located(view, place, label) };
        let (place, line) = found.map_or((None, None), |(place, line)| (Some(place), line));
        self.deciders_found.push(Decider { name, place, line, is_changed });
    }

    /// The place in the repository, and the line in it where no pointer leads there.
    fn located(&mut self, view: &View<'_>, place: &SetAt, label: String) -> Option<(Place, Option<u32>)> {
        let (origin, pointer, inner) = match place {
            SetAt::Elsewhere => return None,
            SetAt::File(origin, pointer) => {
                let is_compared = view.values.tree().revision() == self.deciders.sources.revisions.tree(view.side).revision();
                let is_read = is_compared || view.values.file(origin).is_none();
                return is_read.then(|| (Place { origin: origin.clone(), pointer: pointer.clone(), label }, None));
            }
            SetAt::Source(pointer) => (self.source(view)?, pointer.clone(), None),
            SetAt::Text(inner) => (self.source(view)?, "/helm/values".to_owned(), Some(inner)),
        };
        let (origin, prefix) = origin;
        let pointer = format!("{prefix}{pointer}");
        let text = (self.text_of)(&origin)?;
        let document = if origin.document.is_empty() { 0..text.len() } else { origin.document.clone() };
        let found = span::locate(&text, document, &Pointer::parse(&format!("{}{pointer}", origin.within)).ok()?)?;
        let line = inner.and_then(|inner| line_in_block(&text, found.value.start, inner));
        Some((Place { origin, pointer, label }, line))
    }

    /// The document with the source, and the pointer to it there.
    fn source(&self, view: &View<'_>) -> Option<(Origin, String)> {
        let definition = self.deciders.definition(self.application, view.side)?;
        let origin = &definition.manifest.origin;
        if origin.rendered.as_ref().is_some_and(|rendered| rendered.is_program()) {
            return None;
        }
        let spec = &definition.application.spec;
        let template = if definition.generated.is_some() { "/spec/template" } else { "" };
        let source = match spec.source_hydrator {
            Some(_) => "sourceHydrator/drySource".to_owned(),
            None if spec.is_multi_source() => format!("sources/{}", view.index),
            None => "source".to_owned(),
        };
        Some((origin.clone(), format!("{template}/spec/{source}")))
    }
}

/// The line on which a field stands inside a block of text that starts with `|`.
fn line_in_block(text: &str, block: usize, pointer: &str) -> Option<u32> {
    let rest = text.get(block..).filter(|rest| rest.starts_with('|'))?;
    let (_, inside) = rest.split_once('\n')?;
    let found = span::locate_nearest(inside, 0..block_end(inside), &Pointer::parse(pointer).ok()?)?;
    let (first, _) = line_column(text, block);
    let (line, _) = line_column(inside, found.key.unwrap_or(found.value).start);
    first.checked_add(line)
}

/// Where a block of text ends: before the first line that is indented less than its first one.
fn block_end(text: &str) -> usize {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let first = text.lines().find(|line| !line.trim().is_empty()).map_or(0, indent);
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() && indent(line) < first {
            break;
        }
        end += line.len();
    }
    end
}

/// The entry that differs and that an object is made of, judged by the object's name: what it is called, before and after.
fn entry(before: Option<Value>, after: Option<Value>, object: &str) -> Option<(String, Option<Value>, Option<Value>)> {
    let fields = |value: Option<Value>| -> Vec<(String, Value)> {
        match value {
            Some(Value::Object(fields)) => fields.into_iter().collect(),
            Some(Value::Array(items)) => items.into_iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect(),
            _ => Vec::new(),
        }
    };
    // The positions in a list are no names.
    let is_list = before.as_ref().or(after.as_ref()).is_some_and(Value::is_array);
    let (before, after) = (fields(before), fields(after));
    let best = |all: &[(String, Value)], other: &[(String, Value)]| {
        let is_same = |one: &(String, Value), known: &(String, Value)| known.1 == one.1 && (is_list || known.0 == one.0);
        let differing = all.iter().filter(|one| !other.iter().any(|known| is_same(one, known)));
        let speaking = differing.filter_map(|(name, value)| Some((likeness(name, value, object)?, name.clone(), value.clone())));
        speaking.max_by_key(|(likeness, ..)| *likeness).map(|(_, name, value)| (name, value))
    };
    match (best(&before, &after), best(&after, &before)) {
        (before, Some((name, after))) => Some((name, before.map(|(_, value)| value), Some(after))),
        (Some((name, before)), None) => Some((name, Some(before), None)),
        (None, None) => None,
    }
}

/// How much of an object's name an entry says; nothing where it says none of it.
fn likeness(name: &str, value: &Value, object: &str) -> Option<usize> {
    let texts = match value {
        Value::Object(fields) => fields.values().filter_map(Value::as_str).collect(),
        Value::String(text) => vec![text.as_str()],
        _ => Vec::new(),
    };
    let said = texts.into_iter().chain([name]).filter(|text| !text.is_empty() && text.parse::<usize>().is_err());
    said.filter(|text| object.contains(*text)).map(str::len).max()
}

/// The two values, and the path, at the deepest place where all of the difference is.
pub(super) fn narrowed(before: Option<Value>, after: Option<Value>, path: &mut Vec<String>) -> (Option<Value>, Option<Value>) {
    let step = match (&before, &after) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            let mut names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
            let mut differing = names.by_ref().filter(|name| one.get(*name) != other.get(*name));
            let name = differing.next().filter(|_| differing.next().is_none());
            name.map(|name| (name.clone(), one.get(name).cloned(), other.get(name).cloned()))
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
            let rest = |items: &[Value]| items.get(same + 1..).map(<[Value]>::to_vec).unwrap_or_default();
            let all = |items: &[Value]| items.get(same..).map(<[Value]>::to_vec).unwrap_or_default();
            let name = same.to_string();
            if one.len() == other.len() && rest(one) == rest(other) {
                Some((name, one.get(same).cloned(), other.get(same).cloned()))
            } else if rest(one) == all(other) {
                Some((name, one.get(same).cloned(), None))
            } else if all(one) == rest(other) {
                Some((name, None, other.get(same).cloned()))
            } else {
                None
            }
        }
        _ => None,
    };
    match step {
        Some((name, before, after)) => {
            path.push(name);
            narrowed(before, after, path)
        }
        None => (before, after),
    }
}

/// Whether the line of a value had better not be shown.
fn may_be_secret(path: &[String], value: &Value) -> bool {
    let speaks = path.iter().any(|name| SECRETS.iter().any(|word| name.to_lowercase().contains(word)));
    speaks && (value.is_string() || value.is_number())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(before: Value, after: Value) -> (String, Option<Value>, Option<Value>) {
        let mut path = vec!["x".to_owned()];
        let (before, after) = narrowed(Some(before), Some(after), &mut path);
        (path.join("."), before, after)
    }

    #[test]
    fn a_difference_is_narrowed_down_as_far_as_it_is_one() {
        assert_eq!(of(json!({"a": {"b": 1, "c": 1}}), json!({"a": {"b": 2, "c": 1}})), ("x.a.b".into(), Some(json!(1)), Some(json!(2))));
        assert_eq!(of(json!({"a": 1, "b": 1}), json!({"a": 2, "b": 2})).0, "x");
        assert_eq!(of(json!({"a": 1, "b": 1}), json!({"a": 1})), ("x.b".into(), Some(json!(1)), None));
        assert_eq!(of(json!([1, 2, 3]), json!([1, 3])), ("x.1".into(), Some(json!(2)), None));
        assert_eq!(of(json!([1]), json!([1, {"a": 1}])), ("x.1".into(), None, Some(json!({"a": 1}))));
        assert_eq!(of(json!([1, 2]), json!([3, 4])).0, "x");
    }

    #[test]
    fn of_a_loop_the_entry_counts_that_speaks_of_the_object() {
        let list = |names: &[&str]| Some(names.iter().map(|name| json!({"name": name, "path": "apps"})).collect::<Value>());
        let of = |before: &[&str], after: &[&str], object: &str| {
            entry(list(before), list(after), object).map(|(name, before, after)| (name, before.is_some(), after.is_some()))
        };
        assert_eq!(of(&["wiki", "web"], &["web"], "wiki"), Some(("0".into(), true, false)));
        assert_eq!(of(&["wiki", "web"], &["web"], "web"), None, "its own entry is as it was");
        assert_eq!(of(&["web"], &["web", "web-api"], "web-api"), Some(("1".into(), false, true)));
        assert_eq!(of(&["web", "web-api"], &[], "web-api"), Some(("1".into(), true, false)));
        let map = |on: bool| Some(json!({"wiki": {"on": on}, "web": {"on": true}}));
        assert_eq!(entry(map(true), map(false), "prod-wiki").unwrap().0, "wiki");
        assert_eq!(entry(map(true), map(false), "prod-web"), None);
    }

    #[test]
    fn a_line_of_a_text_in_an_application_is_found_and_not_behind_its_end() {
        let text = "spec:\n  helm:\n    values: |\n      # more\n      a:\n        b: 1\n    releaseName: x\n";
        let block = text.find('|').unwrap();
        assert_eq!(line_in_block(text, block, "/a/b"), Some(6));
        assert_eq!(line_in_block(text, block, "/a"), Some(5));
        assert_eq!(line_in_block("values: >\n  a: 1\n", 8, "/a"), None);
    }

    #[test]
    fn values_whose_names_speak_of_secrets_are_not_shown() {
        assert!(may_be_secret(&["db".into(), "rootPassword".into()], &json!("x")));
        assert!(!may_be_secret(&["secret".into(), "create".into()], &json!(true)));
        assert!(!may_be_secret(&["replicaCount".into()], &json!(3)));
    }
}
