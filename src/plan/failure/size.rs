//! Objects and annotations that are too large to store.

use serde_json::Value;

use super::effective::LAST_APPLIED;
use super::subject::Subject;
use super::{ApplyStrategy, Certainty, FailureKind, Problem};

/// All annotation keys and values together (apimachinery `validation/objectmeta.go:TotalAnnotationSizeLimitB`).
const ANNOTATIONS_LIMIT: usize = 262_144;
/// The data of one ConfigMap or Secret (Kubernetes `core.MaxSecretSize`).
const DATA_LIMIT: usize = 1_048_576;
/// One request to etcd with its default `--max-request-bytes`.
const OBJECT_LIMIT: usize = 1_572_864;

/// The first limit that the object breaks; `merged` is what the API server is asked to store.
pub(super) fn problem(subject: &Subject<'_>, target: &Value, merged: &Value, strategy: ApplyStrategy) -> Option<Problem> {
    let applied = applied_bytes(target);
    annotations(subject, merged, applied, strategy).or_else(|| data(subject, merged)).or_else(|| {
        (applied > OBJECT_LIMIT).then(|| {
            let reason =
                format!("{subject} is {} bytes as JSON, more than the {} bytes that etcd takes", grouped(applied), grouped(OBJECT_LIMIT));
            Problem::new(FailureKind::ObjectTooLarge { bytes: applied }, Certainty::Likely, reason)
        })
    })
}

fn annotations(subject: &Subject<'_>, merged: &Value, applied: usize, strategy: ApplyStrategy) -> Option<Problem> {
    let all = merged.pointer("/metadata/annotations").and_then(Value::as_object);
    let client_side = strategy == ApplyStrategy::ClientSide;
    let written: usize = all
        .into_iter()
        .flatten()
        .filter(|(key, _)| !(client_side && key.as_str() == LAST_APPLIED))
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum();
    let bytes = if client_side { written + LAST_APPLIED.len() + applied } else { written };
    if bytes <= ANNOTATIONS_LIMIT {
        return None;
    }
    let reason = if client_side {
        format!(
            "{subject} is {} bytes as compact JSON, which client-side apply stores in an annotation; all annotations make {} bytes, and the limit is {}",
            grouped(applied),
            grouped(bytes),
            grouped(ANNOTATIONS_LIMIT)
        )
    } else {
        format!("the annotations of {subject} are {} bytes, and the limit is {}", grouped(bytes), grouped(ANNOTATIONS_LIMIT))
    };
    Some(Problem::new(FailureKind::AnnotationTooLarge { bytes }, Certainty::Measured, reason))
}

fn data(subject: &Subject<'_>, merged: &Value) -> Option<Problem> {
    if !matches!((subject.group, subject.kind), ("", "ConfigMap" | "Secret")) {
        return None;
    }
    let values = |field: &str| {
        merged.get(field).and_then(Value::as_object).into_iter().flatten().map(|(_, value)| value.as_str().map_or(0, str::len))
    };
    let encoded = |length: usize| length / 4 * 3;
    let plain: usize = values(if subject.is_secret() { "stringData" } else { "data" }).sum();
    let bytes = plain + values(if subject.is_secret() { "data" } else { "binaryData" }).map(encoded).sum::<usize>();
    (bytes > DATA_LIMIT).then(|| {
        let reason = format!("the data of {subject} is {} bytes, and the limit is {}", grouped(bytes), grouped(DATA_LIMIT));
        Problem::new(FailureKind::ObjectTooLarge { bytes }, Certainty::Likely, reason)
    })
}

/// Bytes of the target as client-side apply stores it: compact JSON as Go writes it, and a line end.
fn applied_bytes(target: &Value) -> usize {
    let json = target.to_string();
    // Go's encoder writes these as `\u003c` and so on.
    let html = json.bytes().filter(|byte| matches!(byte, b'<' | b'>' | b'&')).count();
    let separators = json.matches(['\u{2028}', '\u{2029}']).count();
    let kept = target.pointer("/metadata/annotations").and_then(|all| all.get(LAST_APPLIED)).map_or(0, |value| value.to_string().len());
    (json.len() + html * 5 + separators * 3 + 1).saturating_sub(kept)
}

/// A number with separators between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn crd(filler: usize) -> Value {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x"}, "spec": {"d": "a".repeat(filler)}})
    }

    fn judged(object: &Value, strategy: ApplyStrategy) -> Option<FailureKind> {
        problem(&Subject::of(object, None), object, object, strategy).map(|problem| problem.kind)
    }

    #[test]
    fn the_limit_of_client_side_apply_is_met_to_the_byte() {
        let overhead = applied_bytes(&crd(0)) + LAST_APPLIED.len();
        assert_eq!(judged(&crd(ANNOTATIONS_LIMIT - overhead), ApplyStrategy::ClientSide), None);
        let kind = judged(&crd(ANNOTATIONS_LIMIT - overhead + 1), ApplyStrategy::ClientSide);
        assert_eq!(kind, Some(FailureKind::AnnotationTooLarge { bytes: ANNOTATIONS_LIMIT + 1 }));
    }

    #[test]
    fn server_side_apply_and_replace_have_no_last_applied_annotation() {
        assert_eq!(judged(&crd(400_000), ApplyStrategy::ServerSide), None);
        assert_eq!(judged(&crd(400_000), ApplyStrategy::Replace), None);
    }

    #[test]
    fn markup_counts_as_go_escapes_it() {
        assert_eq!(applied_bytes(&json!({"a": "<&>"})), r#"{"a":"\u003c\u0026\u003e"}"#.len() + 1);
    }

    #[test]
    fn a_configmap_holds_one_mebibyte() {
        let map =
            |bytes: usize| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": "x".repeat(bytes)}});
        assert_eq!(judged(&map(DATA_LIMIT), ApplyStrategy::Replace), None);
        assert_eq!(judged(&map(DATA_LIMIT + 1), ApplyStrategy::Replace), Some(FailureKind::ObjectTooLarge { bytes: DATA_LIMIT + 1 }));
    }

    #[test]
    fn thousands_are_separated() {
        assert_eq!(grouped(283_114), "283,114");
        assert_eq!(grouped(12), "12");
    }
}
