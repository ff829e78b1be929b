//! The comparison of one pair as Argo CD makes it: takes a target and its live object, hands on whether the object is out of sync, by which
//! strategy that was found, and the fields that differ (GE `diff/diff.go`, `util/argo/diff/diff.go`).

mod convert;
mod defaults;
mod duration;
mod field_set;
mod fields;
pub mod ignore;
mod json_merge;
mod normalize;
pub mod owner;
mod patch;
mod quick;
mod remarshal;
mod replaced;
mod server_side;
mod structured;
mod tracking;

use std::borrow::Cow;

use serde_json::{Map, Value};

pub use super::change::FieldChange;
pub use fields::REDACTED;
pub use ignore::{CompareOptions, IgnoreError, IgnoreRules, RespectOptions, StatusIgnore};
pub use replaced::taken_away;
pub use structured::StructuredError;

use super::schema::{Node, Schemas};
use crate::argocd::names::LAST_APPLIED;
use crate::argocd::tracking::Tracking;
use structured::Merge;

/// Which comparison Argo CD is set to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Against what was applied last.
    ThreeWay,
    /// As server-side apply merges: `ServerSideApply=true` of the Application or the target.
    StructuredMerge,
    /// By a dry run of server-side apply in the cluster, which is approximated here.
    ServerSide,
}

/// What a comparison depends on besides the pair.
#[derive(Debug, Clone)]
pub struct DiffContext<'a> {
    /// Which comparison is made.
    pub method: Method,
    /// ignoreDifferences.
    pub ignore: &'a IgnoreRules,
    /// How objects are tracked.
    pub tracking: &'a Tracking,
    /// Another application's tracking id shows as a difference even with an instance label ([`Version::shows_foreign_tracking_id`]).
    ///
    /// [`Version::shows_foreign_tracking_id`]: crate::argocd::version::Version::shows_foreign_tracking_id
    pub shows_foreign_tracking_id: bool,
    /// The types of all kinds.
    pub schemas: &'a Schemas,
    /// `ignoreAggregatedRoles` of argocd-cm.
    pub ignore_aggregated_roles: bool,
    /// Of which kinds `status` is left out.
    pub ignore_status: StatusIgnore,
    /// The live Secrets hold keys without their values, as in a redacted snapshot: then only keys are compared.
    pub secret_values_unknown: bool,
}

/// How a difference was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Last-applied, target and live.
    ThreeWay,
    /// As server-side apply merges.
    StructuredMerge,
    /// As a dry run of server-side apply would, approximately: the server's validation, defaults of custom resources and admission webhooks
    /// are not known.
    ServerSide,
    /// Target and live, because there is no last-applied configuration: fields that went from Git are not noticed.
    TwoWay,
}

/// The comparison of one pair.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectDiff {
    /// The object is OutOfSync.
    pub modified: bool,
    /// How that was found.
    pub strategy: Strategy,
    /// The fields that differ between live and what Argo CD predicts.
    pub fields: Vec<FieldChange>,
    /// Argo CD cannot compare the pair: the Application gets a ComparisonError.
    pub error: Option<StructuredError>,
}

/// Compares a target with its live object, which both exist. The target is as Argo CD has it: tracked, with its namespace.
pub fn diff(target: &Value, live: &Value, ctx: &DiffContext<'_>) -> ObjectDiff {
    let last_applied = (ctx.method == Method::ThreeWay).then(|| last_applied(live)).flatten();
    let strategy = match (ctx.method, &last_applied) {
        (Method::StructuredMerge, _) => Strategy::StructuredMerge,
        (Method::ServerSide, _) => Strategy::ServerSide,
        (Method::ThreeWay, Some(_)) => Strategy::ThreeWay,
        (Method::ThreeWay, None) => Strategy::TwoWay,
    };
    let unmodified = ObjectDiff { modified: false, strategy, fields: Vec::new(), error: None };
    if quick::is_unmodified(target, live, last_applied, ctx) {
        return unmodified;
    }
    let original = last_applied.and_then(|text| serde_json::from_str::<Value>(text).ok()).filter(Value::is_object);
    let strategy = if strategy == Strategy::ThreeWay && original.is_none() { Strategy::TwoWay } else { strategy };
    let pair = Pair::new(target, live, ctx);
    let outcome = match strategy {
        Strategy::StructuredMerge => pair.structured(live, ctx),
        Strategy::ServerSide => pair.server_side(live, ctx),
        _ => Ok(pair.three_way(original, ctx)),
    };
    match outcome {
        Ok(None) => ObjectDiff { strategy, ..unmodified },
        Ok(Some((mut before, mut predicted))) => {
            // What was applied last is no field of the object, and of a Secret it holds the values.
            without_last_applied(&mut before);
            without_last_applied(&mut predicted);
            let secret = normalize::group_kind(target) == ("", "Secret");
            let fields = fields::changes(&before, &predicted, &owner::Owners::within(&before, live), secret);
            ObjectDiff { modified: !fields.is_empty(), strategy, fields, error: None }
        }
        Err(error) => ObjectDiff { modified: true, strategy, fields: Vec::new(), error: Some(error) },
    }
}

fn last_applied(live: &Value) -> Option<&str> {
    live.get("metadata")?.get("annotations")?.get(LAST_APPLIED)?.as_str()
}

/// Both sides, normalised.
struct Pair {
    target: Value,
    live: Value,
    node: Option<Node<'static>>,
}

impl Pair {
    fn new(target: &Value, live: &Value, ctx: &DiffContext<'_>) -> Pair {
        let node = Schemas::builtin().scheme_type(target);
        let mut live = live.clone();
        let mut target = target.clone();
        convert::to_version_of(&target, &mut live);
        let tracking = tracking::Normaliser { tracking: ctx.tracking, shows_foreign_id: ctx.shows_foreign_tracking_id };
        if tracking.applies(&target, &live) {
            tracking.normalize(&target, &mut live);
        }
        let merge = Merge::root(ctx.schemas.object_type(&target));
        ctx.ignore.remove_managed(&mut target, &mut live, merge);
        for side in [&mut target, &mut live] {
            if let Some(metadata) = side.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
            }
            // The live object's own version may be another one, so each side has its own type.
            remarshal::unify_numbers(side);
            if let Some(node) = Schemas::builtin().scheme_type(side) {
                remarshal::remarshal(node, side);
            }
            normalize::normalize(side, ctx.ignore_aggregated_roles);
            ctx.ignore.normalize(side, ctx.ignore_status);
        }
        if ctx.secret_values_unknown && normalize::group_kind(&target) == ("", "Secret") {
            assume_secret_values(&target, &mut live);
        }
        Pair { target, live, node }
    }

    /// The normalised live object and the predicted one, or `None` if they are the same.
    fn three_way(self, original: Option<Value>, ctx: &DiffContext<'_>) -> Option<(Value, Value)> {
        let original = original.map(|mut original| {
            remarshal::unify_numbers(&mut original);
            normalize::normalize(&mut original, ctx.ignore_aggregated_roles);
            ctx.ignore.normalize(&mut original, ctx.ignore_status);
            original
        });
        let target = without_namespace(self.target);
        let original = original.map(without_namespace);
        let original = original.as_ref().unwrap_or(&target);
        let (Value::Object(original), Value::Object(target_map), Value::Object(live_map)) = (original, &target, &self.live) else {
            return (target != self.live).then_some((self.live, target));
        };
        // An original in another version brings its own merge rules along.
        let Some(node) = Schemas::builtin().scheme_type_of(original).or(self.node) else {
            let predicted = json_merge::predict(original, target_map, live_map)?;
            return Some((self.live, Value::Object(predicted)));
        };
        let mut predicted = predict_strategic(original, target_map, live_map, node)?;
        let mut live = self.live;
        fill_defaults(node, &mut predicted);
        fill_defaults(node, &mut live);
        (live != predicted).then_some((live, predicted))
    }

    fn merged(&self, managed: &Value, ctx: &DiffContext<'_>) -> Result<Option<Value>, StructuredError> {
        let node = ctx.schemas.object_type(&self.target);
        if let Some(pointer) = ctx.schemas.unknown_fields(&self.target).into_iter().next() {
            return Err(StructuredError::UnknownField(pointer));
        }
        if let Some(error) = ctx.schemas.type_errors(&self.target).into_iter().next() {
            return Err(StructuredError::WrongType { pointer: error.pointer, expected: error.expected });
        }
        structured::predict(&self.target, &self.live, managed, node)
    }

    fn structured(self, managed: &Value, ctx: &DiffContext<'_>) -> Result<Option<(Value, Value)>, StructuredError> {
        let Some(mut predicted) = self.merged(managed, ctx)? else { return Ok(None) };
        let mut live = self.live;
        for side in [&mut predicted, &mut live] {
            without_last_applied(side);
            if let Some(node) = self.node {
                fill_defaults(node, side);
            }
        }
        Ok((live != predicted).then_some((live, predicted)))
    }

    fn server_side(self, managed: &Value, ctx: &DiffContext<'_>) -> Result<Option<(Value, Value)>, StructuredError> {
        let Some(predicted) = self.merged(managed, ctx)? else { return Ok(None) };
        let predicted = server_side::without_mutations(predicted, &self.live, self.node);
        Ok((self.live != predicted).then_some((self.live, predicted)))
    }
}

fn without_last_applied(object: &mut Value) {
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
    }
}

/// Defaults are filled in only where Go can read the object into its type; unknown fields do not matter there.
fn fill_defaults(node: Node<'_>, object: &mut Value) {
    if super::schema::fits(node, object) {
        defaults::apply(node, object);
    }
}

fn predict_strategic(
    original: &Map<String, Value>,
    target: &Map<String, Value>,
    live: &Map<String, Value>,
    node: Node<'_>,
) -> Option<Value> {
    let compared = trimmed_claims(original, live);
    let patches = patch::create(&compared, target, Some(node), patch::Ignore::Deletions)
        .and_then(|changes| Ok((patch::create(original, target, Some(node), patch::Ignore::ChangesAndAdditions)?, changes)));
    let Ok((deletions, changes)) = patches else {
        // Argo CD fails here too, with an error for the whole Application; the plain merge says which fields differ.
        return json_merge::predict(original, target, live).map(Value::Object);
    };
    if deletions.is_empty() && changes.is_empty() {
        return None;
    }
    let mut predicted = live.clone();
    let applied = patch::apply(&mut predicted, deletions, Some(node)).and_then(|()| patch::apply(&mut predicted, changes, Some(node)));
    match applied {
        Ok(()) => Some(Value::Object(predicted)),
        Err(_) => json_merge::predict(original, target, live).map(Value::Object),
    }
}

/// A StatefulSet's claim templates hold defaults that only the server knows, so live is compared in the fields that the original has
/// (GE `diff/diff.go:statefulSetWorkaround`).
fn trimmed_claims<'v>(original: &Map<String, Value>, live: &'v Map<String, Value>) -> Cow<'v, Map<String, Value>> {
    fn claims(map: &Map<String, Value>) -> Option<&Vec<Value>> {
        map.get("spec")?.get("volumeClaimTemplates")?.as_array()
    }
    let stateful = live.get("kind").is_some_and(|kind| kind == "StatefulSet");
    let (Some(original), Some(own)) = (claims(original), claims(live)) else { return Cow::Borrowed(live) };
    if !stateful {
        return Cow::Borrowed(live);
    }
    let trimmed = json_merge::trim_list(original, own);
    let mut copy = live.clone();
    if let Some(spec) = copy.get_mut("spec").and_then(Value::as_object_mut) {
        spec.insert("volumeClaimTemplates".to_owned(), Value::Array(trimmed));
    }
    Cow::Owned(copy)
}

/// The namespace and an empty annotation map are left out of the comparison (GE `diff/diff.go:removeNamespaceAnnotation`).
fn without_namespace(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("namespace");
        let empty = |annotations: &Value| annotations.is_null() || annotations.as_object().is_some_and(Map::is_empty);
        if metadata.get("annotations").is_some_and(empty) {
            metadata.remove("annotations");
        }
    }
    object
}

/// A value that is not known is taken for the target's.
fn assume_secret_values(target: &Value, live: &mut Value) {
    let Some(wanted) = target.get("data").and_then(Value::as_object) else { return };
    let Some(data) = live.get_mut("data").and_then(Value::as_object_mut) else { return };
    for (key, value) in data {
        if let Some(own) = wanted.get(key) {
            value.clone_from(own);
        }
    }
}

#[cfg(test)]
mod tests;
