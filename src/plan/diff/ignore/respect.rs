//! RespectIgnoreDifferences: takes a target and its live object, hands on the target that is really applied, with ignored fields as they are
//! live (`controller/sync.go:normalizeTargetResources`).

use serde_json::{Map, Value};

use super::{IgnoreRules, StatusIgnore};
use crate::plan::diff::structured::Merge;
use crate::plan::diff::{json_merge, patch};
use crate::plan::schema::Schemas;

/// What the version of Argo CD does with ignored fields at sync time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RespectOptions {
    /// Which kinds' `status` is ignored.
    pub ignore_status: StatusIgnore,
    /// 3.3.14 and later never copy the live `status` into what is applied.
    pub keeps_status_out: bool,
    /// 3.5 and later restore the fields beside an ignored one where the parent is replaced as a whole.
    pub restores_siblings: bool,
}

impl Default for RespectOptions {
    fn default() -> RespectOptions {
        RespectOptions { ignore_status: StatusIgnore::All, keeps_status_out: true, restores_siblings: true }
    }
}

impl IgnoreRules {
    /// The target that a sync with RespectIgnoreDifferences applies onto a live object.
    pub fn respect(&self, target: &Value, live: &Value, options: RespectOptions) -> Value {
        let node = Schemas::builtin().scheme_type(target);
        let (mut normal_target, mut normal_live) = (target.clone(), live.clone());
        self.remove_managed(&mut normal_target, &mut normal_live, Merge::root(node));
        self.normalize(&mut normal_target, options.ignore_status);
        self.normalize(&mut normal_live, options.ignore_status);

        let (Value::Object(mut from), Value::Object(mut to)) = (normal_live.clone(), live.clone()) else { return target.clone() };
        if options.keeps_status_out {
            from.remove("status");
            to.remove("status");
        }
        let mut patched = normal_target.clone();
        if let Value::Object(map) = &mut patched {
            if node.is_some() {
                let Ok(patch) = patch::create(&from, &to, node, patch::Ignore::Deletions) else { return target.clone() };
                if patch::apply(map, patch, node).is_err() {
                    return target.clone();
                }
            } else {
                json_merge::apply(map, json_merge::difference(&from, &to));
            }
            if let (true, Value::Object(original), Value::Object(normal_target)) = (options.restores_siblings, target, &normal_target) {
                restore(map, original, normal_target, normal_live.as_object());
            }
        }
        patched
    }
}

/// Gives fields that are not ignored their target value back (`restoreNonIgnoredFields`).
fn restore(
    patched: &mut Map<String, Value>,
    original: &Map<String, Value>,
    normal_target: &Map<String, Value>,
    normal_live: Option<&Map<String, Value>>,
) {
    for (key, value) in original {
        let normal = normal_target.get(key);
        match (patched.get_mut(key), value, normal) {
            (Some(Value::Object(patched)), Value::Object(original), Some(Value::Object(normal))) => {
                restore(patched, original, normal, normal_live.and_then(|live| live.get(key)).and_then(Value::as_object));
            }
            (found, value, Some(normal)) if normal == value && found.as_deref() != Some(value) => {
                patched.insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }
    patched.retain(|key, _| original.contains_key(key) || !normal_live.is_some_and(|live| live.contains_key(key)));
}
