//! Tests of what programs rely on: the members of the JSON report, and what is counted.

use serde_json::{Value, json};

use super::sample::{Sample, change, dependent, every_action, field, finding, location, plan, snapshot, suppression};
use super::{every_mode, json_bytes, json_of};
use crate::finding::Unjudged;
use crate::manifest::Side;
use crate::plan::{Action, Change, FieldChange, Reason, SyncMode, Tie};
use crate::report::summary::{Counts, Summary, listed};

/// The report of the contract's example.
fn contract_sample() -> Sample {
    let path = "apps/bookshop/pvc.yaml";
    let pvc = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: orders\n  annotations: {}\n";
    let mut prune = change(3, Action::Prune, "Service", "bookshop-preview", Reason::RemovedFromGit { automated: true });
    prune.cluster = Some("eu-1".into());
    prune.diff =
        vec![FieldChange { owner: Some("kube-controller-manager".to_owned()), ..field("/spec/replicas", Some(json!(6)), Some(json!(2))) }];
    prune.cascade = vec![dependent("PersistentVolumeClaim", "orders", Tie::InNamespace, None)];
    let mut finding = finding("The claim is deleted.", "Keep it.");
    finding.locations = vec![
        location(Side::Head, path, pvc, "name: orders", "this claim"),
        location(Side::Head, path, pvc, "annotations", "no protection"),
    ];
    finding.suppressed = Some(suppression());
    let mut sample = Sample::of_finding(finding, &[(Side::Head, path, pvc)]);
    sample.plans = vec![plan("bookshop", SyncMode::Automated, vec![prune])];
    sample.snapshots = vec![snapshot()];
    sample.unjudged = vec![Unjudged {
        application: Some("argocd/x".to_owned()),
        what: "generator scmProvider".to_owned(),
        why: "needs the network".to_owned(),
    }];
    sample
}

/// The members that version 1 promises, with the kind of each value. What a report adds to them is no break.
fn contract_shape() -> Value {
    let text = r#"{
      "version": 1,
      "tool": {"name": "presync", "version": "0.1.0"},
      "base": {"revision": "<sha>"}, "head": {"revision": "<sha>|worktree|index"},
      "snapshots": [{"source": "live.presync.zst", "capturedAt": "2026-11-30T04:00:00Z", "cluster": "https://kubernetes.default.svc", "objects": 1234}],
      "verdict": "pass|fail",
      "summary": {"applications": 1, "create": 0, "update": 1, "prune": 1, "delete": 0, "leftover": 0, "retain": 0, "confirm": 0, "orphan": 0,
                  "errors": 1, "warnings": 0, "infos": 0, "suppressed": 0, "unjudged": 0},
      "applications": [{
        "name": "bookshop", "namespace": "argocd", "project": "default",
        "destination": {"server": "https://kubernetes.default.svc", "namespace": "bookshop"},
        "origin": {"path": "argocd/bookshop.yaml", "line": 1},
        "change": "added|removed|modified|unchanged",
        "sync": {"mode": "automated|manual|refused|blocked", "prune": true, "selfHeal": true, "reason": "…"},
        "basis": "live|assumed",
        "changes": [{
          "action": "prune", "group": "", "version": "v1", "kind": "Service", "namespace": "bookshop", "name": "bookshop-preview",
          "phase": "Sync", "wave": 0, "order": 3, "introduced": true, "reached": true,
          "reason": "removed from Git; automated prune is on",
          "origin": {"path": "apps/bookshop/preview.yaml", "line": 2, "revision": "base"},
          "diff": [{"path": "/spec/replicas", "live": 6, "target": 2, "owner": "kube-controller-manager"}],
          "cluster": "eu-1",
          "cascade": [{"group": "", "kind": "PersistentVolumeClaim", "namespace": "…", "name": "…"}]
        }]
      }],
      "findings": [{
        "rule": "prune-persistent-data", "severity": "error", "message": "…", "help": "…",
        "application": "argocd/bookshop",
        "resource": {"group": "", "kind": "PersistentVolumeClaim", "namespace": "bookshop", "name": "orders"},
        "location": {"path": "apps/bookshop/pvc.yaml", "line": 4, "column": 3, "endLine": 4, "endColumn": 20, "revision": "head|base"},
        "introduced": true, "basis": "live|assumed", "fingerprint": "<stable>", "fixable": true,
        "suppressed": {"by": "config|comment|baseline", "reason": "…", "expires": "2027-01-01"}
      }],
      "unjudged": [{"application": "argocd/x", "what": "generator scmProvider", "why": "needs the network; no live Application owned by it in the snapshot"}]
    }"#;
    serde_json::from_str(text).unwrap()
}

/// Where `actual` lacks a member of `expected`, or has another kind of value there.
fn missing(expected: &Value, actual: &Value, at: &str) -> Vec<String> {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => expected
            .iter()
            .flat_map(|(name, value)| match actual.get(name) {
                Some(found) => missing(value, found, &format!("{at}/{name}")),
                None => vec![format!("{at}/{name}")],
            })
            .collect(),
        (Value::Array(expected), Value::Array(actual)) => match (expected.first(), actual.first()) {
            (Some(expected), Some(actual)) => missing(expected, actual, &format!("{at}/0")),
            _ => vec![format!("{at}/0")],
        },
        (Value::String(_), Value::String(_)) | (Value::Number(_), Value::Number(_)) | (Value::Bool(_), Value::Bool(_)) => Vec::new(),
        _ => vec![at.to_owned()],
    }
}

#[test]
fn json_has_every_member_of_version_1() {
    assert_eq!(missing(&contract_shape(), &json_of(&contract_sample()), ""), Vec::<String>::new());
    assert_eq!(missing(&json!({"a": {"b": ""}, "c": 1}), &json!({"a": {}, "c": ""}), ""), ["/a/b", "/c"]);
}

#[test]
fn json_of_the_contracts_example_is_written_like_this() {
    let text = String::from_utf8(json_bytes(&contract_sample())).unwrap();
    insta::assert_snapshot!(text.replace(env!("CARGO_PKG_VERSION"), "[version]"));
}

#[test]
fn json_is_the_same_for_the_same_report_and_sorts_applications() {
    let mut turned = every_mode();
    turned.plans.reverse();
    let bytes = json_bytes(&every_mode());
    assert_eq!(json_bytes(&turned), bytes);
    assert!(bytes.ends_with(b"}\n") && !bytes.ends_with(b"\n\n"));
}

#[test]
fn json_tells_an_absent_field_from_a_null_one() {
    let parsed = json_of(&Sample::of_changes(every_action()));
    let diff = &parsed["applications"][0]["changes"][2]["diff"];
    assert_eq!(
        *diff,
        json!([
            {"path": "/spec/replicas", "live": 6, "target": 2, "owner": "kube-controller-manager", "ownerTime": "2026-11-29T22:14:00Z"},
            {"path": "/spec/paused", "target": true},
            {"path": "/metadata/labels/team", "live": "shop"},
            {"path": "/spec/strategy", "live": null, "target": {"type": "Recreate"}},
        ])
    );
}

#[test]
fn json_leaves_out_what_has_no_value() {
    let mut sample = Sample::of_finding(finding("The claim is deleted.", "Keep it."), &[]);
    sample.findings[0].application = None;
    sample.findings[0].resource = None;
    let finding = json_of(&sample)["findings"][0].clone();
    let names: Vec<&str> = finding.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["basis", "fingerprint", "fixable", "help", "introduced", "message", "rule", "severity"]);
}

#[test]
fn json_names_the_cluster_as_the_application_does_and_its_url_where_known() {
    let mut sample = every_mode();
    sample.plans.truncate(1);
    let mut application = (*sample.plans[0].application).clone();
    application.spec.destination.name = "eu-1".to_owned();
    sample.plans[0].application = application.into();
    let destination = |sample: &Sample| json_of(sample)["applications"][0]["destination"].clone();
    assert_eq!(destination(&sample), json!({"server": "https://kubernetes.default.svc", "namespace": "blocked", "name": "eu-1"}));
    sample.plans[0].server = "".into();
    assert_eq!(destination(&sample), json!({"namespace": "blocked", "name": "eu-1"}));
}

#[test]
fn changes_of_refused_and_unrenderable_applications_are_neither_listed_nor_counted() {
    let sample = every_mode();
    let report = sample.report();
    for plan in report.plans.iter().filter(|plan| matches!(plan.sync.mode, SyncMode::Refused | SyncMode::Error)) {
        assert!(!plan.changes.is_empty());
        assert_eq!(listed(plan, true).count(), 0);
    }
    let summary = Summary::of(&report);
    assert_eq!((summary.applications, summary.unjudged), (8, 2));
    assert_eq!(json_of(&sample)["summary"]["prune"], json!(1));
}

#[test]
fn each_action_counts_once_and_adopt_replace_and_recreate_count_as_update() {
    let counts = Counts::of(&every_action());
    let expected = Counts {
        create: 2,
        update: 4,
        prune: 1,
        delete: 0,
        leftover: 1,
        retain: 1,
        confirm: 1,
        orphan: 1,
        hook: 1,
        skip: 1,
        fail: 1,
        unreached: 2,
        standing: 1,
    };
    assert_eq!(counts, expected);
    let delete: Vec<Change> = vec![change(1, Action::Delete, "Service", "a", Reason::Cascade)];
    assert_eq!(Counts::of(&delete), Counts { delete: 1, ..Counts::default() });
}
