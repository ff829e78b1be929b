//! The types of custom resources: takes CustomResourceDefinitions, hands on a table of their kinds as server-side apply sees them.

use serde_json::{Map, Value};

use super::table::{Field, ListMerge, PatchStrategy, Shape, StructType, Table};
use super::{Schemas, Scope};

/// Deeper schemas are left open.
const DEPTH: usize = 64;

pub(super) fn table<'v>(crds: impl IntoIterator<Item = &'v Value>) -> Table {
    let mut table = Table::default();
    for crd in crds {
        let text = |pointer| crd.pointer(pointer).and_then(Value::as_str);
        let (Some(group), Some(kind)) = (text("/spec/group"), text("/spec/names/kind")) else { continue };
        let scope = if text("/spec/scope") == Some("Cluster") { Scope::Cluster } else { Scope::Namespaced };
        let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
        for version in versions.into_iter().flatten().filter(|version| version.get("served") != Some(&Value::Bool(false))) {
            let Some(name) = version.get("name").and_then(Value::as_str) else { continue };
            let shape = version.pointer("/schema/openAPIV3Schema").and_then(|schema| root(schema, &mut table));
            table.add_kind(group, name, kind, scope, shape);
        }
    }
    table
}

/// The object itself: its metadata is the built-in one whatever the CRD says.
fn root(schema: &Value, table: &mut Table) -> Option<Shape> {
    let Shape::Struct(index) = shape(schema, table, DEPTH) else { return None };
    let metadata = metadata(table);
    let own = table.types.get_mut(index)?;
    for name in ["apiVersion", "kind"] {
        own.fields.insert(name.to_owned(), plain(Shape::String));
    }
    // Every object has these, and its status is not written by those who apply it.
    own.required.retain(|name| !["apiVersion", "kind", "metadata", "status"].contains(&name.as_str()));
    own.fields.insert("metadata".to_owned(), plain(metadata));
    Some(Shape::Struct(index))
}

/// `ObjectMeta` copied into a CRD table, since shapes point into their own table.
fn metadata(table: &mut Table) -> Shape {
    let Some(meta) = Schemas::named_type("meta/v1.ObjectMeta").and_then(|node| node.as_struct()) else { return Shape::Any };
    let fields = meta.fields.iter().map(|(name, field)| {
        let inner = match &field.shape {
            Shape::List(element) if matches!(**element, Shape::Struct(_)) => Shape::List(Box::new(Shape::Any)),
            other => other.clone(),
        };
        (name.clone(), Field { shape: inner, ..field.clone() })
    });
    let copied = StructType { name: meta.name.clone(), fields: fields.collect(), ..StructType::default() };
    table.types.push(copied);
    Shape::Struct(table.types.len() - 1)
}

pub(super) fn plain(shape: Shape) -> Field {
    Field { shape, pointer: true, omit_empty: true, patch: PatchStrategy::default(), list: ListMerge::Atomic, atomic: false, default: None }
}

fn shape(schema: &Value, table: &mut Table, depth: usize) -> Shape {
    let flag = |name| schema.get(name) == Some(&Value::Bool(true));
    if depth == 0 {
        return Shape::Any;
    }
    if flag("x-kubernetes-int-or-string") {
        return Shape::IntOrString;
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => Shape::String,
        Some("integer") => Shape::Integer,
        Some("number") => Shape::Number,
        Some("boolean") => Shape::Boolean,
        Some("array") => Shape::List(Box::new(schema.get("items").map_or(Shape::Any, |items| shape(items, table, depth - 1)))),
        Some("object") => object(schema, table, depth, flag("x-kubernetes-preserve-unknown-fields")),
        _ => Shape::Any,
    }
}

fn object(schema: &Value, table: &mut Table, depth: usize, open: bool) -> Shape {
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    if properties.is_empty() {
        return match schema.get("additionalProperties") {
            Some(inner @ Value::Object(_)) => Shape::Map(Box::new(shape(inner, table, depth - 1))),
            Some(Value::Bool(true)) => Shape::Map(Box::new(Shape::Any)),
            _ if open || schema.get("x-kubernetes-embedded-resource").is_some() => Shape::Any,
            _ => struct_shape(StructType::default(), table),
        };
    }
    let fields = properties.iter().map(|(name, inner)| {
        let text = |key: &str| inner.get(key).and_then(Value::as_str);
        let list = match text("x-kubernetes-list-type") {
            Some("set") => ListMerge::Set,
            Some("map") => {
                let keys = inner.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
                ListMerge::Map(keys.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect())
            }
            _ => ListMerge::Atomic,
        };
        let field = Field {
            list,
            atomic: text("x-kubernetes-map-type") == Some("atomic"),
            default: inner.get("default").cloned(),
            ..plain(shape(inner, table, depth - 1))
        };
        (name.clone(), field)
    });
    let fields = fields.collect();
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    // The API server fills defaults in before it asks, and takes null where it may stand.
    let must_be_written = |name: &&str| {
        let inner = properties.get(*name);
        inner.is_none_or(|inner| inner.get("default").is_none() && inner.get("nullable") != Some(&Value::Bool(true)))
    };
    let required = required.filter(must_be_written).map(str::to_owned).collect();
    struct_shape(StructType { fields, open, required, ..StructType::default() }, table)
}

pub(super) fn struct_shape(own: StructType, table: &mut Table) -> Shape {
    table.types.push(own);
    Shape::Struct(table.types.len() - 1)
}
