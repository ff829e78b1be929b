//! The table of types in memory: takes the generated JSON, hands on structs, fields, shapes and merge rules by kind.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Deserialize;
use serde_json::Value;

use super::required::REQUIRED;
use super::{Node, Scope};

/// What kind of value stands at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// A number.
    Number,
    /// `resource.Quantity`: text or a number.
    Quantity,
    /// A whole number or text.
    IntOrString,
    /// A time, RFC 3339.
    Time,
    /// Bytes as base64.
    Bytes,
    /// Anything.
    Any,
    /// A struct, by its index in the table.
    Struct(usize),
    /// A list.
    List(Box<Shape>),
    /// A map with text keys.
    Map(Box<Shape>),
}

/// The strategic-merge tags of a field (`patchStrategy`, `patchMergeKey`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PatchStrategy {
    /// `merge`.
    pub merge: bool,
    /// The merge key; a `merge` without one is a list of primitives.
    pub key: Option<String>,
    /// `replace`.
    pub replace: bool,
    /// `retainKeys`.
    pub retain_keys: bool,
}

/// How server-side apply merges a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListMerge {
    /// As one value.
    Atomic,
    /// As a set of primitives.
    Set,
    /// By these key fields.
    Map(Vec<String>),
}

/// A field of a struct.
#[derive(Debug, Clone)]
pub struct Field {
    /// What stands in it.
    pub shape: Shape,
    /// A Go pointer: an explicit zero value is kept.
    pub pointer: bool,
    /// `omitempty`: an empty value is not written.
    pub omit_empty: bool,
    /// Strategic-merge tags.
    pub patch: PatchStrategy,
    /// How server-side apply merges it, if it is a list.
    pub list: ListMerge,
    /// Server-side apply takes the map or struct as one value.
    pub atomic: bool,
    /// The default that its marker states.
    pub default: Option<Value>,
}

/// A default that a marker states.
#[derive(Debug, Clone)]
pub struct FieldDefault {
    /// JSON name of the field.
    pub field: String,
    /// A Go pointer: only an absent value is replaced, not a zero one.
    pub pointer: bool,
    /// The value.
    pub value: Value,
}

/// A struct.
#[derive(Debug, Clone, Default)]
pub struct StructType {
    /// Package and name, such as `core/v1.PodSpec`; empty for a part of a CRD.
    pub name: String,
    /// By JSON name.
    pub fields: HashMap<String, Field>,
    /// The defaults of its fields, by name.
    pub defaults: Vec<FieldDefault>,
    /// Server-side apply takes it as one value.
    pub atomic: bool,
    /// It may hold fields that are not named (`x-kubernetes-preserve-unknown-fields`).
    pub open: bool,
    /// The fields that it must have and that nothing fills in.
    pub required: Vec<String>,
}

/// A version of a kind.
#[derive(Debug, Clone)]
pub(super) struct KindEntry {
    shape: Option<Shape>,
    pub(super) scope: Scope,
    pub(super) in_scheme: bool,
    pub(super) removed_in: Option<u32>,
}

impl KindEntry {
    pub(super) fn node<'s>(&'s self, table: &'s Table) -> Option<Node<'s>> {
        self.shape.as_ref().map(|shape| Node { table, shape })
    }
}

/// All types of one source.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) types: Vec<StructType>,
    named: HashMap<String, Shape>,
    kinds: HashMap<String, HashMap<String, KindEntry>>,
    scopes: HashMap<String, HashMap<String, Scope>>,
}

impl Table {
    pub(super) fn kind(&self, api_version: &str, kind: &str) -> Option<&KindEntry> {
        self.kinds.get(api_version)?.get(kind)
    }

    pub(super) fn scope(&self, group: &str, kind: &str) -> Option<Scope> {
        self.scopes.get(group)?.get(kind).copied()
    }

    pub(super) fn named(&self, name: &str) -> Option<&Shape> {
        self.named.get(name)
    }

    pub(super) fn add_kind(&mut self, group: &str, version: &str, kind: &str, scope: Scope, shape: Option<Shape>) {
        let entry = KindEntry { shape, scope, in_scheme: false, removed_in: None };
        self.insert_kind(group, version, kind, entry);
    }

    fn insert_kind(&mut self, group: &str, version: &str, kind: &str, entry: KindEntry) {
        self.scopes.entry(group.to_owned()).or_default().insert(kind.to_owned(), entry.scope);
        self.kinds.entry(super::api_version(group, version)).or_default().insert(kind.to_owned(), entry);
    }

    /// The generated table. Its text is part of the program and is read once.
    pub(super) fn builtin() -> Table {
        #[derive(Deserialize)]
        struct Data {
            groups: BTreeMap<String, String>,
            atomic: BTreeSet<String>,
            kinds: BTreeMap<String, BTreeMap<String, String>>,
            types: BTreeMap<String, BTreeMap<String, BTreeMap<String, String>>>,
        }
        #[allow(clippy::expect_used, reason = "the text is compiled in and every test reads it")]
        let data: Data = serde_json::from_str(include_str!("builtin-schema.json")).expect("the generated table is valid");
        let mut table = Table::default();
        for (package, structs) in &data.types {
            for name in structs.keys() {
                let full = format!("{package}.{name}");
                table.named.insert(full.clone(), Shape::Struct(table.types.len()));
                let required = REQUIRED.binary_search_by(|(one, _)| (*one).cmp(&full)).ok().and_then(|index| REQUIRED.get(index));
                let required = required.into_iter().flat_map(|(_, fields)| *fields).map(|&field| field.to_owned()).collect();
                table.types.push(StructType { name: full, required, ..StructType::default() });
            }
        }
        let mut index = 0;
        for (package, structs) in &data.types {
            for fields in structs.values() {
                let read: Vec<_> = fields.iter().map(|(name, code)| (name.clone(), field(code, package, &table.named))).collect();
                let defaults = read.iter().filter_map(|(name, field)| {
                    let value = field.default.clone()?;
                    Some(FieldDefault { field: name.clone(), pointer: field.pointer, value })
                });
                let defaults = defaults.collect();
                let fields = read.into_iter().collect();
                if let Some(slot) = table.types.get_mut(index) {
                    slot.defaults = defaults;
                    slot.fields = fields;
                    slot.atomic = data.atomic.contains(&slot.name);
                }
                index += 1;
            }
        }
        for (package, kinds) in &data.kinds {
            let Some((directory, version)) = package.split_once('/') else { continue };
            let group = data.groups.get(directory).map_or("", String::as_str);
            for (kind, code) in kinds {
                let (head, removed) = code.split_once("-1.").map_or((code.as_str(), None), |(head, minor)| (head, minor.parse().ok()));
                let entry = KindEntry {
                    shape: table.named.get(&format!("{package}.{kind}")).cloned(),
                    scope: if head.starts_with('C') { Scope::Cluster } else { Scope::Namespaced },
                    in_scheme: !head.ends_with('!'),
                    removed_in: removed,
                };
                table.insert_kind(group, version, kind, entry);
            }
        }
        table
    }
}

/// Reads a field code (grammar: `scripts/builtin-schema.py`).
fn field(code: &str, package: &str, named: &HashMap<String, Shape>) -> Field {
    let (code, default) = match code.split_once(" d=") {
        Some((head, default)) => (head, serde_json::from_str(default).ok()),
        None => (code, None),
    };
    let mut parts = code.split(' ');
    let shape_code = parts.next().unwrap_or_default();
    let mut field = Field {
        shape: shape(shape_code.trim_start_matches('*'), package, named),
        pointer: shape_code.starts_with('*'),
        omit_empty: false,
        patch: PatchStrategy::default(),
        list: ListMerge::Atomic,
        atomic: false,
        default,
    };
    for flag in parts {
        match flag {
            "?" => field.omit_empty = true,
            "m" => field.patch.merge = true,
            "r" => field.patch.replace = true,
            "k" => field.patch.retain_keys = true,
            "S" => field.list = ListMerge::Set,
            "A" => field.atomic = true,
            _ => {
                if let Some(key) = flag.strip_prefix("m=") {
                    field.patch.merge = true;
                    field.patch.key = Some(key.to_owned());
                } else if let Some(keys) = flag.strip_prefix("L=") {
                    field.list = ListMerge::Map(keys.split(',').map(str::to_owned).collect());
                }
            }
        }
    }
    field
}

fn shape(code: &str, package: &str, named: &HashMap<String, Shape>) -> Shape {
    let code = code.trim_start_matches('*');
    let mut letters = code.chars();
    match letters.next() {
        Some('[') => Shape::List(Box::new(shape(letters.as_str(), package, named))),
        Some('{') => Shape::Map(Box::new(shape(letters.as_str(), package, named))),
        Some(':') => {
            let name = letters.as_str();
            let full = if name.contains('.') { name.to_owned() } else { format!("{package}.{name}") };
            named.get(&full).cloned().unwrap_or(Shape::Any)
        }
        Some('s') => Shape::String,
        Some('i') => Shape::Integer,
        Some('b') => Shape::Boolean,
        Some('f') => Shape::Number,
        Some('q') => Shape::Quantity,
        Some('x') => Shape::IntOrString,
        Some('t') => Shape::Time,
        Some('y') => Shape::Bytes,
        _ => Shape::Any,
    }
}
