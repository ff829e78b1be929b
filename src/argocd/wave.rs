//! The sync wave of an object.

use serde_json::Value;

use super::names::{HELM_HOOK_WEIGHT, SYNC_WAVE};
use crate::manifest::annotation;

/// The wave of an object: its `sync-wave`, else its Helm hook weight, else 0. What cannot be read as a number counts as missing.
///
/// Source: Argo CD `gitops-engine/pkg/sync/syncwaves/waves.go:Wave`.
pub fn wave(object: &Value) -> i64 {
    [SYNC_WAVE, HELM_HOOK_WEIGHT].iter().find_map(|name| annotation(object, name)?.parse::<i64>().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with(annotations: Value) -> Value {
        json!({"metadata": {"annotations": annotations}})
    }

    #[test]
    fn s9_41_an_unreadable_wave_falls_back_to_the_hook_weight_then_to_zero() {
        for text in [" 1", "1.5", "first", ""] {
            assert_eq!(wave(&with(json!({SYNC_WAVE: text, HELM_HOOK_WEIGHT: "3"}))), 3, "{text:?}");
            assert_eq!(wave(&with(json!({SYNC_WAVE: text}))), 0, "{text:?}");
        }
    }

    #[test]
    fn signs_and_leading_zeros_are_read() {
        for (text, expected) in [("-2", -2), ("+3", 3), ("007", 7)] {
            assert_eq!(wave(&with(json!({SYNC_WAVE: text}))), expected);
        }
    }
}
