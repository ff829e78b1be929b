//! A snapshot file gives back what was written, and shows every change to it.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::argocd::names::{IN_CLUSTER_SERVER as HERE, LAST_APPLIED, TRACKING_ID};
use crate::snapshot::{Capture, ClusterInfo, Input, LiveState, NamespaceLimit, SnapshotError, load_inputs, summary};

fn capture() -> Capture {
    let mut capture = Capture {
        clusters: vec![
            ClusterInfo {
                server: "https://eu.test".into(),
                name: "eu".into(),
                kubernetes_version: Some("v1.36.0".into()),
                limit: NamespaceLimit::of(["shop"], true),
                ..Default::default()
            },
            ClusterInfo {
                server: HERE.into(),
                api_resources: Some(vec![
                    ApiResource { group: "".into(), version: "v1".into(), kind: "Pod".into(), namespaced: Some(true) },
                    ApiResource { group: "".into(), version: "v1".into(), kind: "Namespace".into(), namespaced: Some(false) },
                ]),
                ..Default::default()
            },
        ],
        argocd_version: Some("v3.4.2".into()),
        argocd_namespace: Some("gitops".into()),
        settings: [("installationID".to_owned(), "i1".to_owned())].into(),
        incomplete: vec!["pods.metrics.k8s.io: not available".into()],
        ..Capture::default()
    };
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "uid": "u1",
        "annotations": {TRACKING_ID: "shop:apps/Deployment:shop/web", "argocd.argoproj.io/installation-id": "i1"}}, "spec": {"replicas": 2}});
    let replica_set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-1", "namespace": "shop", "uid": "u2",
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u1", "controller": true}]}});
    capture.add(HERE, replica_set);
    capture.add(HERE, deployment);
    capture.add(
        "https://eu.test",
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ü\n\"", "namespace": "a"}, "data": {"x": 1.5}}),
    );
    capture.add(
        HERE,
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}, "data": {"a": "Y2FuYXJ5"}}),
    );
    capture
}

fn bytes(state: &LiveState, plain: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let provenance = Provenance { captured_at: Some("2026-11-30T04:00:00Z".into()), source: "test".into() };
    write(state, &provenance, plain, &mut out).unwrap();
    out
}

fn load(bytes: Vec<u8>) -> Result<LiveState, SnapshotError> {
    load_inputs(vec![Input::Bytes { name: "x".into(), bytes }])
}

fn assert_same(a: &LiveState, b: &LiveState) {
    let objects = |state: &LiveState| -> Vec<_> {
        let all = state.all().iter();
        all.map(|one| {
            (
                one.cluster.clone(),
                one.key.clone(),
                one.version.clone(),
                one.uid.clone(),
                one.owners.clone(),
                one.tracking.clone(),
                one.object().clone(),
            )
        })
        .collect()
    };
    assert_eq!(objects(a), objects(b));
    assert_eq!(a.settings(), b.settings());
    assert_eq!(a.incomplete(), b.incomplete());
    let clusters = |state: &LiveState| -> Vec<_> {
        let all = state.clusters().iter();
        all.map(|one| (one.server.clone(), one.name.clone(), one.kubernetes_version.clone(), one.limit.clone())).collect()
    };
    assert_eq!(clusters(a), clusters(b));
}

#[test]
fn what_was_written_is_read_again_in_both_forms() {
    let state = capture().finish();
    for plain in [false, true] {
        let read = load(bytes(&state, plain)).unwrap();
        assert_same(&state, &read);
        let source = &read.sources()[0];
        assert_eq!((source.captured_at.as_deref(), source.objects), (Some("2026-11-30T04:00:00Z"), 4));
        assert!(source.digest.as_deref().is_some_and(|digest| digest.starts_with("blake3:")));
        assert!(bytes(&read, plain) == bytes(&state, plain));
    }
}

#[test]
fn the_order_in_which_objects_are_found_does_not_matter() {
    let mut turned = Capture { batches: Default::default(), ..capture() };
    for object in capture().finish().all().iter().rev() {
        turned.add(&object.cluster, object.object().clone());
    }
    assert!(bytes(&turned.finish(), true) == bytes(&capture().finish(), true));
}

#[test]
fn lines_have_the_documented_form_and_order() {
    let text = String::from_utf8(bytes(&capture().finish(), true)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with(
        r#"{"kind":"presync/Snapshot","version":1,"capturedAt":"2026-11-30T04:00:00Z","source":"test","clusters":[{"server":"#
    ));
    assert!(
        lines[0].contains(
            r#""argocd":{"version":"3.4","namespace":"gitops","settings":{"installationID":"i1"}},"secrets":"keys","incomplete":["#
        )
    );
    assert!(lines[1].starts_with(r#"{"cluster":"https://eu.test","object":{"apiVersion":"v1","data":{"x":1.5},"kind":"ConfigMap""#));
    assert!(lines[5].starts_with(r#"{"kind":"presync/SnapshotEnd","objects":4,"digest":"blake3:"#));
    assert!(!text.contains("Y2FuYXJ5"));
}

fn damage(edit: impl Fn(String) -> String) -> String {
    let text = String::from_utf8(bytes(&capture().finish(), true)).unwrap();
    load(edit(text).into_bytes()).unwrap_err().to_string()
}

#[test]
fn damage_is_named() {
    let without_last_line = |text: String| text.lines().take(5).map(|line| format!("{line}\n")).collect::<String>();
    assert!(damage(without_last_line).contains("its end is missing"));
    assert!(damage(|text| text.replace(r#""replicas":2"#, r#""replicas":3"#)).contains("digest"));
    let without_an_object =
        |text: String| text.lines().enumerate().filter(|(i, _)| *i != 2).map(|(_, line)| format!("{line}\n")).collect::<String>();
    assert!(damage(without_an_object).contains("3 objects and its end says 4"));
    let reordered = |text: String| {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.swap(1, 2);
        lines.join("\n") + "\n"
    };
    assert!(damage(reordered).contains("out of order"));
    assert!(damage(|text| text.replacen(r#""version":1"#, r#""version":2"#, 1)).contains("format version 2"));
}

#[test]
fn a_compressed_file_that_is_cut_or_goes_on_is_damaged() {
    let whole = bytes(&capture().finish(), false);
    assert!(matches!(load(whole[..whole.len() - 9].to_vec()), Err(SnapshotError::Damaged { .. })));
    assert!(matches!(load([&whole[..], &whole[..]].concat()), Err(SnapshotError::Damaged { .. })));
    assert!(matches!(load([&whole[..], b"more"].concat()), Err(SnapshotError::Damaged { .. })));
}

#[test]
fn no_secret_value_is_in_the_file_nor_in_what_is_printed() {
    let canary = |name: &str| format!("canary-{name}");
    let mut capture = Capture::default();
    let source = json!({"helm": {"parameters": [{"name": "password", "value": canary("parameter")}], "values": "token: canary-values"}});
    let container = json!({"name": "c", "env": [{"name": "API_TOKEN", "value": canary("env")}]});
    for object in [
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "annotations": {LAST_APPLIED: "canary-applied"}}, "data": {"a": "canary-data"},
            "stringData": {"b": "canary-string"}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "r"}, "type": "helm.sh/release.v1", "data": {"release": "canary-release"}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c", "labels": {"argocd.argoproj.io/secret-type": "cluster"}},
            "data": {"config": "canary-config", "server": "aHR0cHM6Ly9hLnRlc3Q="}}),
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": "a"}, "spec": {"source": source}}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "nameless"}, "data": {"a": "canary-nameless"}}),
    ] {
        capture.add(HERE, object);
    }
    let state = capture.finish();
    assert_eq!(state.all().len(), 5);
    let printed = format!("{state:?} {:?} {}", summary(&state), state.all().iter().map(|one| one.object().to_string()).collect::<String>());
    assert!(!printed.contains("canary"), "{printed}");
    assert!(!String::from_utf8(bytes(&state, true)).unwrap().contains("canary"));
}

proptest! {
    #[test]
    fn a_changed_byte_is_noticed_or_changes_nothing(position in any::<prop::sample::Index>(), flip in 1_u8.., plain: bool) {
        let state = capture().finish();
        let mut bytes = bytes(&state, plain);
        let position = position.index(bytes.len());
        bytes[position] ^= flip;
        if let Ok(read) = load(bytes) {
            assert_same(&state, &read);
        }
    }

    #[test]
    fn a_cut_file_is_noticed(length in any::<prop::sample::Index>(), plain: bool) {
        let mut bytes = bytes(&capture().finish(), plain);
        bytes.truncate(length.index(bytes.len() - 1).max(1));
        prop_assert!(load(bytes).is_err());
    }
}

#[test]
fn what_was_never_a_snapshot_is_not_called_damaged() {
    let named = |name: &str, bytes: &[u8]| load_inputs(vec![Input::Bytes { name: name.into(), bytes: bytes.to_vec() }]);
    let pod = b"{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"a\"}}\n";
    assert!(matches!(named("pods.jsonl", pod), Err(SnapshotError::NoSnapshot { .. })));
    let compressed = |text: &[u8]| zstd::encode_all(text, 1).unwrap();
    assert!(matches!(named("pods.yaml.zst", &compressed(pod)), Err(SnapshotError::NoSnapshot { .. })));
    assert!(matches!(named("pod.zst", &compressed(b"kind: Pod")), Err(SnapshotError::NoSnapshot { .. })));
    let text = bytes(&capture().finish(), true);
    let headless = &text[text.iter().position(|byte| *byte == b'\n').unwrap() + 1..];
    assert!(matches!(named("cut.jsonl", headless), Err(SnapshotError::Damaged { .. })));
    assert!(matches!(named("cut.zst", &compressed(headless)), Err(SnapshotError::Damaged { .. })));
    assert!(matches!(named("cut.jsonl", &text[..40]), Err(SnapshotError::Damaged { .. })));
}
