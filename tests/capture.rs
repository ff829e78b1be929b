//! Captures from API servers over real HTTP and TLS: answers that a real server gave, and what seldom happens.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

#[path = "support/cluster.rs"]
mod cluster;
#[path = "support/server.rs"]
mod server;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cluster::{Invented, Kind, Recorded, kubeconfig, recording};
use presync::manifest::ResourceKey;
use presync::snapshot::capture::{CaptureError, Captured, KubernetesCapture, KubernetesServer, Limits, from_kubernetes};
use presync::snapshot::{Input, LiveState, Serves, load_inputs};
use serde_json::{Value, json};
use server::{Answer, Asked, Server};

const IN_CLUSTER: &str = "https://kubernetes.default.svc";

fn options(kubeconfig: &Path) -> KubernetesCapture {
    KubernetesCapture {
        server: KubernetesServer { kubeconfig: Some(kubeconfig.to_owned()), context: None },
        cluster: Some(IN_CLUSTER.to_owned()),
        limits: Limits { first_wait: Duration::from_millis(5), per_second: 10_000, ..Limits::default() },
        ..KubernetesCapture::default()
    }
}

fn capture_with(server: &Server, change: impl FnOnce(&mut KubernetesCapture)) -> Result<Captured, CaptureError> {
    let (_folder, kubeconfig) = kubeconfig(server);
    let mut options = options(&kubeconfig);
    change(&mut options);
    from_kubernetes(&options, Arc::new(|_| {}))
}

fn capture(server: &Server) -> Captured {
    capture_with(server, |options| options.all = true).unwrap()
}

fn load(captured: Captured) -> LiveState {
    let mut bytes = Vec::new();
    captured.write(false, &mut bytes).unwrap();
    load_inputs(vec![Input::Bytes { name: "captured".into(), bytes }]).unwrap()
}

fn recorded(change: impl Fn(&Asked) -> Option<Answer> + Send + Sync + 'static) -> Server {
    let cluster = Recorded::new(true);
    Server::plain(move |asked| change(asked).unwrap_or_else(|| cluster.answer(asked)))
}

fn config_maps(count: usize) -> Invented {
    let objects = (0..count).map(|index| {
        let name = format!("cm-{index:05}");
        json!({"metadata": {"name": name, "namespace": "shop", "uid": format!("u-{index}"),
            "annotations": {"argocd.argoproj.io/tracking-id": format!("shop:/ConfigMap:shop/{name}")}}, "data": {"index": index.to_string()}})
    });
    let kind = Kind { group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true, objects: objects.collect() };
    Invented::new(vec![kind])
}

#[test]
fn a_recorded_cluster_is_captured_over_tls_with_both_forms_of_discovery() {
    let mut seen = Vec::new();
    for aggregated in [true, false] {
        let cluster = Recorded::new(aggregated);
        let server = Server::tls(move |asked| {
            assert_eq!(asked.header("authorization"), "Bearer test-token");
            cluster.answer(asked)
        });
        let live = load(capture(&server));
        assert_eq!(live.incomplete(), &[] as &[String]);
        assert_eq!(live.of_kind(IN_CLUSTER, "", "ConfigMap").len(), 8);
        assert_eq!(live.of_kind(IN_CLUSTER, "argoproj.io", "Application").len(), 26);
        let secret = live.get(IN_CLUSTER, &ResourceKey::new("", "Secret", "rec-bookshop", "db-login")).unwrap();
        assert_eq!(secret.object()["data"]["password"], "presync:redacted");
        assert_eq!(live.serves(IN_CLUSTER, "apps", "v1", "Deployment"), Serves::Yes);
        assert_eq!(live.serves(IN_CLUSTER, "apps", "v1beta1", "Deployment"), Serves::OtherVersion("v1".into()));
        let hpa = live.of_kind(IN_CLUSTER, "autoscaling", "HorizontalPodAutoscaler");
        assert_eq!(&*hpa[0].version, "v2", "kinds are listed in the version that the server prefers");
        assert_eq!(live.cluster_by_server(IN_CLUSTER).unwrap().kubernetes_version.as_deref(), Some("v1.36.2"));
        seen.push(live.all().iter().map(|object| object.key.to_string()).collect::<Vec<_>>());
    }
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn a_capture_of_the_same_state_gives_the_same_lines() {
    let server = recorded(|_| None);
    let lines = || {
        let mut bytes = Vec::new();
        capture(&server).write(true, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        text.lines().skip(1).take_while(|line| !line.contains("SnapshotEnd")).map(str::to_owned).collect::<Vec<_>>()
    };
    let first = lines();
    assert!(first.len() > 40 && first == lines());
}

#[test]
fn five_thousand_objects_come_in_pages() {
    let pages = Arc::new(AtomicUsize::new(0));
    let (cluster, counter) = (config_maps(5000), Arc::clone(&pages));
    let server = Server::plain(move |asked| {
        counter.fetch_add(usize::from(asked.path.ends_with("/configmaps") && asked.query("labelSelector").is_empty()), Ordering::Relaxed);
        cluster.answer(asked)
    });
    let live = load(capture_with(&server, |_| {}).unwrap());
    assert_eq!((live.all().len(), pages.load(Ordering::Relaxed)), (5000, 10));
    assert_eq!(live.tracked_by(IN_CLUSTER, "shop").len(), 5000);
    assert_eq!(live.get(IN_CLUSTER, &ResourceKey::new("", "ConfigMap", "shop", "cm-04321")).unwrap().object()["data"]["index"], "4321");
}

#[test]
fn a_list_that_grew_too_old_is_started_again() {
    let failed = AtomicUsize::new(0);
    let server = recorded(move |asked| {
        let is_later_page = asked.path == "/api/v1/configmaps" && !asked.query("continue").is_empty();
        (is_later_page && failed.fetch_add(1, Ordering::Relaxed) == 0).then(|| recording("list-expired-continue").1)
    });
    let live = load(capture(&server));
    assert_eq!(live.of_kind(IN_CLUSTER, "", "ConfigMap").len(), 8);
    assert!(live.incomplete().is_empty());
}

#[test]
fn a_list_that_always_grows_too_old_is_taken_with_its_gap_and_that_is_said() {
    let offered = recording("list-expired-continue").1;
    let body: Value = serde_json::from_slice(&offered.body).unwrap();
    let token = body["metadata"]["continue"].as_str().unwrap().to_owned();
    let server = recorded(move |asked| match asked.query("continue") {
        "" => None,
        _ if asked.path != "/api/v1/configmaps" => None,
        same if same == token => Some(recording("list-expired-continue-resumed").1),
        other if recording("list-expired-continue-resumed").1.body.windows(other.len()).any(|part| part == other.as_bytes()) => {
            Some(recording("list-configmaps-page-3").1)
        }
        _ => Some(recording("list-expired-continue").1),
    });
    let live = load(capture(&server));
    assert_eq!(live.of_kind(IN_CLUSTER, "", "ConfigMap").len(), 8);
    assert!(live.incomplete().iter().any(|what| what.contains("configmaps: it changed faster")), "{:?}", live.incomplete());
}

#[test]
fn an_account_without_rights_on_some_kinds_gets_the_rest_and_hears_what_is_missing() {
    let server = recorded(|asked| (asked.path == "/api/v1/secrets").then(|| recording("list-forbidden-cluster").1));
    let live = load(capture(&server));
    assert!(live.of_kind(IN_CLUSTER, "", "Secret").is_empty());
    assert_eq!(live.of_kind(IN_CLUSTER, "", "ConfigMap").len(), 8);
    let [what] = live.incomplete() else { panic!("{:?}", live.incomplete()) };
    assert!(what.contains("secrets: secrets is forbidden") && what.contains("at the cluster scope"), "{what}");
    let unlisted = &live.cluster_by_server(IN_CLUSTER).unwrap().unlisted;
    assert_eq!(unlisted.iter().map(|kind| kind.kind.as_str()).collect::<Vec<_>>(), ["Secret"]);
}

#[test]
fn a_refusal_at_a_later_page_keeps_what_came_before_it() {
    let server = recorded(|asked| {
        (asked.path == "/api/v1/configmaps" && !asked.query("continue").is_empty()).then(|| recording("list-page-forbidden-later").1)
    });
    let live = load(capture(&server));
    assert_eq!(live.of_kind(IN_CLUSTER, "", "ConfigMap").len(), 3);
    assert!(live.incomplete()[0].contains("configmaps:"));
}

#[test]
fn namespaces_that_are_given_are_listed_one_by_one() {
    let server = recorded(|asked| {
        let cluster_wide = asked.path == "/api/v1/configmaps" && asked.query("labelSelector").is_empty();
        cluster_wide.then(|| recording("list-forbidden-cluster-allowed-in-namespace").1)
    });
    let captured = capture_with(&server, |options| {
        options.all = true;
        options.namespaces = vec!["rec-bookshop".into()];
    });
    let live = load(captured.unwrap());
    assert_eq!(live.of_kind(IN_CLUSTER, "", "ConfigMap").len(), 8);
    assert!(live.incomplete().iter().any(|what| what.contains("only the namespaces rec-bookshop were listed")));
}

#[test]
fn a_kind_that_vanishes_meanwhile_is_neither_listed_nor_served() {
    let server = recorded(|asked| asked.path.ends_with("/shelves").then(|| recording("list-vanished-crd").1));
    let live = load(capture(&server));
    assert_eq!(live.serves(IN_CLUSTER, "rec.example.test", "v1", "Shelf"), Serves::No);
    assert!(live.incomplete()[0].contains("shelves.rec.example.test is not served any more"), "{:?}", live.incomplete());
}

#[test]
fn an_aggregated_api_without_backend_is_named_and_not_asked() {
    let server = recorded(|asked| match asked.path.as_str() {
        "/apis" => Some(recording("discovery-apis-aggregated-with-stale-group").1),
        path if path.starts_with("/apis/metrics.example.test") => panic!("a stale group is not asked"),
        _ => None,
    });
    let live = load(capture(&server));
    assert!(live.incomplete().iter().any(|what| what.contains("metrics.example.test/v1beta1")), "{:?}", live.incomplete());
    let older = Recorded::new(false);
    let server = Server::plain(move |asked| match asked.path.as_str() {
        "/apis/policy/v1" => recording("discovery-unavailable-group").1,
        _ => older.answer(asked),
    });
    let live = load(capture(&server));
    assert!(live.incomplete().iter().any(|what| what.contains("policy/v1 are not known: it answers with 503")), "{:?}", live.incomplete());
}

#[test]
fn a_busy_server_is_given_the_time_that_it_asks_for() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&times);
    let server = recorded(move |asked| {
        if asked.path != "/apis/apps/v1/deployments" {
            return None;
        }
        let mut seen = seen.lock().unwrap();
        seen.push(Instant::now());
        (seen.len() == 1).then(|| Answer::new(429, "too many requests").with("retry-after", "1"))
    });
    let live = load(capture(&server));
    assert_eq!(live.of_kind(IN_CLUSTER, "apps", "Deployment").len(), 1);
    let times = times.lock().unwrap();
    assert!(times[1] - times[0] >= Duration::from_millis(950));
}

#[test]
fn a_server_error_is_tried_again_and_named_if_it_stays() {
    let tries = AtomicUsize::new(0);
    let server = recorded(move |asked| match asked.path.as_str() {
        "/apis/apps/v1/deployments" => (tries.fetch_add(1, Ordering::Relaxed) < 3).then(|| Answer::new(500, "oops")),
        "/apis/apps/v1/statefulsets" => Some(recording("list-unavailable-group").1),
        "/apis/apps/v1/daemonsets" => Some(recording("list-future-version").1),
        _ => None,
    });
    let live = load(capture(&server));
    assert_eq!(live.of_kind(IN_CLUSTER, "apps", "Deployment").len(), 1);
    let incomplete = live.incomplete().join("\n");
    assert!(incomplete.contains("statefulsets.apps: service unavailable (status 503)"), "{incomplete}");
    assert!(incomplete.contains("daemonsets.apps: ") && incomplete.contains("504"), "{incomplete}");
}

#[test]
fn wrong_credentials_and_a_cluster_that_shows_nothing_are_errors() {
    let server = recorded(|asked| (asked.path == "/version").then(|| recording("list-unauthorized").1));
    assert!(matches!(capture_with(&server, |_| {}), Err(CaptureError::Unauthorized { .. })));
    let cluster = Recorded::new(true);
    let server = Server::plain(move |asked| match asked.path.as_str() {
        "/version" | "/api" | "/apis" => cluster.answer(asked),
        _ => recording("list-forbidden-cluster").1,
    });
    let error = capture_with(&server, |_| {}).unwrap_err();
    assert!(matches!(&error, CaptureError::Nothing { why, .. } if why.contains("is forbidden")), "{error}");
}

#[test]
fn a_certificate_of_a_stranger_is_refused() {
    let cluster = Recorded::new(true);
    let server = Server::tls(move |asked| cluster.answer(asked));
    let other = Server::tls(|_| Answer::new(200, ""));
    let server = Server { url: server.url, certificate: other.certificate };
    let error = capture_with(&server, |options| options.limits.attempts = 1).unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[test]
fn pages_that_never_end_are_noticed() {
    let server = recorded(|asked| {
        (asked.path == "/api/v1/configmaps" && asked.query("labelSelector").is_empty()).then(|| {
            Answer::json(&json!({"kind": "ConfigMapList", "metadata": {"continue": "again"}, "items": [{"metadata": {"name": "one", "namespace": "a"}}]}))
        })
    });
    let live = load(capture(&server));
    assert_eq!(live.of_kind(IN_CLUSTER, "", "ConfigMap").len(), 1);
    assert!(live.incomplete()[0].contains("the same page again"));
}

#[test]
fn settings_and_version_of_argo_cd_decide_what_is_listed() {
    let argocd = |name: &str, mut object: Value| {
        object["metadata"] = json!({"name": name, "namespace": "gitops", "labels": {"app.kubernetes.io/part-of": "argocd"}});
        object
    };
    let settings =
        json!({"data": {"resource.exclusions": "- {apiGroups: [apps], kinds: [Deployment], clusters: ['*']}", "dex.config": "canary"}});
    let controller = json!({"spec": {"template": {"spec": {"containers": [{"image": "quay.test/argocd:v3.3.1"}]}}}});
    let kind = |group, kind, plural, objects| Kind { group, version: "v1", kind, plural, namespaced: true, objects };
    let cluster = Invented::new(vec![
        kind("", "ConfigMap", "configmaps", vec![argocd("argocd-cm", settings)]),
        kind("apps", "StatefulSet", "statefulsets", vec![argocd("argocd-application-controller", controller)]),
        kind("apps", "Deployment", "deployments", vec![json!({"metadata": {"name": "web", "namespace": "shop"}})]),
    ]);
    let server = Server::plain(move |asked| {
        assert_ne!(asked.path, "/apis/apps/v1/deployments", "an excluded kind is not listed");
        cluster.answer(asked)
    });
    let live = load(capture_with(&server, |options| options.cluster = None).unwrap());
    assert_eq!(live.settings().known_version.map(|version| version.to_string()).as_deref(), Some("3.3"));
    assert_eq!((live.settings().namespace.as_str(), live.all().len()), ("gitops", 2));
    assert_eq!(live.sources()[0].cluster, IN_CLUSTER, "the cluster that Argo CD runs in is known by the in-cluster URL");
}

#[test]
fn the_namespaces_to_which_a_cluster_secret_limits_argo_cd_are_kept_without_the_rest_of_the_secret() {
    let labelled = |name: &str, label: [&str; 2], mut object: Value| {
        object["metadata"] = json!({"name": name, "namespace": "argocd", "uid": name, "labels": {label[0]: label[1]}});
        object
    };
    // `https://eu.test`, `shop, lab`, `canary`
    let data = json!({"server": "aHR0cHM6Ly9ldS50ZXN0", "namespaces": "c2hvcCwgbGFi", "config": "Y2FuYXJ5"});
    let kind = |kind, plural, objects| Kind { group: "", version: "v1", kind, plural, namespaced: true, objects };
    let cluster = Invented::new(vec![
        kind("ConfigMap", "configmaps", vec![labelled("argocd-cm", ["app.kubernetes.io/part-of", "argocd"], json!({"data": {}}))]),
        kind("Secret", "secrets", vec![labelled("eu", ["argocd.argoproj.io/secret-type", "cluster"], json!({"data": data}))]),
    ]);
    let server = Server::plain(move |asked| cluster.answer(asked));
    let mut plain = Vec::new();
    capture_with(&server, |options| options.cluster = None).unwrap().write(true, &mut plain).unwrap();
    let text = String::from_utf8_lossy(&plain).into_owned();
    let live = load_inputs(vec![Input::Bytes { name: "captured".into(), bytes: plain }]).unwrap();
    let limit = live.cluster_by_server("https://eu.test").unwrap().limit.as_ref().unwrap();
    assert!(limit.takes("lab") && !limit.takes("other") && !limit.takes(""));
    assert!(!text.contains("Y2FuYXJ5") && !text.contains("c2hvcCwgbGFi"), "{text}");
}

fn presync(arguments: &[&str], folder: &Path) -> std::process::Output {
    let mut command = assert_cmd::Command::cargo_bin("presync").unwrap();
    command.current_dir(folder).env_clear().env("NO_COLOR", "1").env("HOME", folder).args(arguments);
    command.output().unwrap()
}

#[test]
fn the_command_writes_a_snapshot_and_says_what_is_in_it() {
    let server = recorded(|asked| (asked.path == "/api/v1/secrets").then(|| recording("list-forbidden-cluster").1));
    let (folder, kubeconfig) = kubeconfig(&server);
    let output = presync(&["snapshot", "capture", "--kubeconfig", kubeconfig.to_str().unwrap(), "--all", "--rate", "1000"], folder.path());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.starts_with("live.presync.zst: ") && text.contains("incomplete: http://127.0.0.1"), "{text}");
    assert!(output.stderr.is_empty(), "no progress without a terminal");
    let shown = presync(&["snapshot", "show", "live.presync.zst"], folder.path());
    assert!(String::from_utf8(shown.stdout).unwrap().contains("argoproj.io/Application"));
}

#[test]
fn an_interrupted_capture_leaves_no_file() {
    let cluster = Recorded::new(true);
    let (tell, told) = std::sync::mpsc::channel();
    let tell = Mutex::new(tell);
    let server = Server::plain(move |asked| {
        if asked.path == "/apis/apps/v1/deployments" {
            let _ = tell.lock().unwrap().send(());
            std::thread::sleep(Duration::from_secs(60));
        }
        cluster.answer(asked)
    });
    let (folder, kubeconfig) = kubeconfig(&server);
    let before = names_in(folder.path());
    for signal in ["-INT", "-KILL"] {
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("presync"))
            .args(["snapshot", "capture", "--kubeconfig"])
            .arg(&kubeconfig)
            .current_dir(folder.path())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        told.recv_timeout(Duration::from_secs(60)).unwrap();
        std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        let code = child.wait().unwrap().code();
        assert_eq!(code, if signal == "-INT" { Some(2) } else { None });
        assert_eq!(names_in(folder.path()), before);
    }
}

fn names_in(folder: &Path) -> BTreeMap<String, u64> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len())).collect()
}
