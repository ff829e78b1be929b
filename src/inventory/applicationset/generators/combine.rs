//! Matrix and merge.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Map, Value as Json};

use super::{Generators, LIMIT, Params, Stop, at};
use crate::argocd::applicationset::{MatrixGenerator, MergeGenerator};
use crate::inventory::applicationset::params::{self, Dict, Value};

impl Generators<'_> {
    /// Source: Argo CD `applicationset/generators/matrix.go:GenerateParams`.
    pub(super) fn matrix(&self, matrix: &MatrixGenerator, path: &str) -> Result<Vec<Params>, Stop> {
        let [first, second] = matrix.generators.as_slice() else {
            return Err(Stop::fails(format!("a matrix needs exactly two generators, found {}", matrix.generators.len())));
        };
        let inner = |index: usize| format!("{path}.matrix.generators[{index}]");
        let mut found = Vec::new();
        for outer in self.child(first, None, &inner(0))? {
            for inner in self.child(second, Some(&outer), &inner(1))? {
                found.push(if self.renderer.go { combined(&inner, &outer) } else { combined_texts(&outer, &inner)? });
                if found.len() > LIMIT {
                    let why = format!("it gives more than {LIMIT} sets of parameters");
                    return Err(Stop::Unjudged { what: at(path, "matrix"), why });
                }
            }
        }
        Ok(found)
    }

    /// Source: Argo CD `applicationset/generators/merge.go:GenerateParams`. The result has no order there; here it is that of the base.
    pub(super) fn merge(&self, merge: &MergeGenerator, path: &str) -> Result<Vec<Params>, Stop> {
        if merge.generators.len() < 2 {
            return Err(Stop::fails("found less than two generators, Merge requires two or more"));
        }
        if merge.merge_keys.is_empty() {
            return Err(Stop::fails("no merge keys were specified, Merge requires at least one"));
        }
        let mut children = Vec::new();
        for (index, child) in merge.generators.iter().enumerate() {
            children.push(self.child(child, None, &format!("{path}.merge.generators[{index}]"))?);
        }
        let mut children = children.into_iter();
        let base = children.next().unwrap_or_default();
        by_key(&merge.merge_keys, &base)?;
        let overrides = children.map(|sets| by_key(&merge.merge_keys, &sets)).collect::<Result<Vec<_>, _>>()?;
        for set in &base {
            let key = key_of(&merge.merge_keys, set);
            for other in overrides.iter().filter_map(|sets| sets.get(&key)) {
                if self.renderer.go {
                    params::merge_over(set, other);
                } else {
                    let entries = other.entries.borrow().clone();
                    set.entries.borrow_mut().extend(entries);
                }
            }
        }
        Ok(base)
    }
}

/// Nested maps of both, where the first generator's values win unless they are empty.
fn combined(inner: &Params, outer: &Params) -> Params {
    let both = Rc::new(Dict::default());
    params::merge_over(&both, inner);
    params::merge_over(&both, outer);
    both
}

/// Source: Argo CD `applicationset/utils/map.go:CombineStringMaps`.
fn combined_texts(outer: &Params, inner: &Params) -> Result<Params, Stop> {
    let mut both: BTreeMap<Rc<str>, Value> = BTreeMap::new();
    for (key, value) in outer.entries.borrow().iter() {
        both.insert(Rc::clone(key), Value::text(&value.print()));
    }
    for (key, value) in inner.entries.borrow().iter() {
        let value = value.print();
        if let Some(Value::Text(known)) = both.get(key)
            && **known != *value
        {
            return Err(Stop::fails(format!("found duplicate key {key} with different value, a: {known} ,b: {value}")));
        }
        both.insert(Rc::clone(key), Value::text(&value));
    }
    Ok(Dict::of(both))
}

/// Sets of parameters by their merge keys, which have to be unique.
fn by_key(keys: &[String], sets: &[Params]) -> Result<BTreeMap<String, Params>, Stop> {
    let mut found = BTreeMap::new();
    for set in sets {
        let key = key_of(keys, set);
        if found.insert(key.clone(), Rc::clone(set)).is_some() {
            let message =
                "the parameters from a generator were not unique by the given mergeKeys, Merge requires all param sets to be unique";
            return Err(Stop::fails(format!("{message}. Duplicate key was {key}")));
        }
    }
    Ok(found)
}

/// The values of the merge keys; one that is missing is as good as `null`.
fn key_of(keys: &[String], set: &Params) -> String {
    let values: Map<String, Json> =
        keys.iter().map(|key| (key.clone(), set.get(key).map_or(Json::Null, |value| value.to_json()))).collect();
    Json::Object(values).to_string()
}
