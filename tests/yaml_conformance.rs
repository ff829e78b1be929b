//! The reader against what a real kubectl makes of the same files (`fixtures/yaml-conformance`).

#![allow(clippy::unwrap_used, reason = "a broken fixture must fail the test")]

use std::fs;
use std::path::{Path, PathBuf};

use presync::manifest::reader::{Limits, ReadErrorKind, decode, read_stream};
use serde_json::Value;

/// kubectl reads it; the reader stops at its own bound. See `deeper_nesting_than_the_bound_is_an_error_that_names_the_bound`.
const OVER_OUR_DEPTH: &str = "37_deep";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/yaml-conformance")
}

fn inputs() -> Vec<PathBuf> {
    let mut inputs: Vec<_> = fs::read_dir(fixtures().join("input")).unwrap().map(|entry| entry.unwrap().path()).collect();
    inputs.sort();
    inputs
}

/// kubectl shows the items of a list one by one.
fn flatten(documents: Vec<Value>) -> Vec<Value> {
    let items = |document: Value| match document.get("items") {
        Some(Value::Array(items)) => items.clone(),
        _ => vec![document],
    };
    documents.into_iter().flat_map(items).collect()
}

/// Numbers over 64 bits have no single form, so numbers are equal when they are the same 64-bit float or integer.
fn same(ours: &Value, kubectl: &Value) -> bool {
    match (ours, kubectl) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_i64().is_none() && a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => ours == kubectl,
    }
}

/// `None` when the reader agrees with kubectl.
fn difference(input: &Path) -> Option<String> {
    let name = input.file_stem().unwrap().to_str().unwrap();
    let recorded = |extension: &str| fs::read_to_string(fixtures().join(format!("kubectl/{name}.{extension}"))).ok();
    let expected: Vec<Value> = serde_json::Deserializer::from_str(&recorded("json").unwrap()).into_iter().map(Result::unwrap).collect();
    let refused = recorded("error");

    let bytes = fs::read(input).unwrap();
    let stream = read_stream(&decode(&bytes).text, &Limits::default());
    let ours = flatten(stream.documents.into_iter().map(|document| document.value).collect());

    // kubectl also refuses what is no Kubernetes object; that is not the reader's business.
    let no_object = refused.as_ref().is_some_and(|text| text.contains("unable to decode") || text.contains("Object 'Kind' is missing"));
    let report = format!("{name}: ours {ours:?} {:?}\n    kubectl {expected:?} {refused:?}", stream.error);
    let same_outcome = no_object || refused.is_some() == stream.error.is_some();
    let same_documents = no_object && ours.len() >= expected.len() || ours.len() == expected.len();
    let same_values = ours.iter().zip(&expected).all(|(ours, expected)| same(ours, expected));
    (!(same_outcome && same_documents && same_values)).then_some(report)
}

/// Where the reader is known to differ: odd spellings that kubectl takes and the reader answers with a clear error.
const KNOWN_DIFFERENCES: [&str; 4] = ["101_escapes", "179_comment_without_blank", "198_tab_in_flow", "208_question_mark_starts_in_list"];

#[test]
fn every_recorded_input_reads_as_kubectl_reads_it() {
    let inputs = inputs();
    assert!(inputs.len() >= 200, "the conformance set has shrunk to {}", inputs.len());
    let name = |input: &Path| input.file_stem().unwrap().to_str().unwrap().to_owned();
    let differences: Vec<(String, String)> =
        inputs.iter().filter(|input| name(input) != OVER_OUR_DEPTH).filter_map(|input| Some((name(input), difference(input)?))).collect();
    let (known, new): (Vec<_>, Vec<_>) = differences.iter().partition(|(name, _)| KNOWN_DIFFERENCES.contains(&name.as_str()));
    let new: Vec<&str> = new.into_iter().map(|(_, report)| report.as_str()).collect();
    assert!(new.is_empty(), "{} inputs read differently:\n{}", new.len(), new.join("\n"));
    let known: Vec<&str> = known.into_iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(known, KNOWN_DIFFERENCES, "a difference is gone: take it off the list");
}

#[test]
fn deeper_nesting_than_the_bound_is_an_error_that_names_the_bound() {
    let bytes = fs::read(fixtures().join(format!("input/{OVER_OUR_DEPTH}.yaml"))).unwrap();
    let error = read_stream(&decode(&bytes).text, &Limits::default()).error.unwrap();
    assert_eq!(error.kind, ReadErrorKind::TooDeep { limit: 500 });
    assert!(error.to_string().contains("500"), "{error}");
}
