//! Kustomize bases that lie in other repositories: fetched by the real git from a Git server on loopback.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

#[path = "support/server.rs"]
mod server;
mod support;
#[path = "support/tools.rs"]
mod tools;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use server::{Answer, Asked, Server};
use support::write;
use tempfile::TempDir;

/// A Git server with the repository `bases.git`, which has the tags `v1` and `v2`. What it was asked for is noted.
struct GitServer {
    server: Server,
    asked: Arc<Mutex<Vec<String>>>,
    _folder: TempDir,
}

fn git_server() -> GitServer {
    let folder = tempfile::tempdir().unwrap();
    let bases = folder.path().join("bases.git");
    std::fs::create_dir(&bases).unwrap();
    support::git(&bases, &["init", "--quiet", "--initial-branch=main"]);
    for (tag, value) in [("v1", "one"), ("v2", "two")] {
        write(&bases, "web/kustomization.yaml", "resources: [config.yaml]\n");
        let claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], \
            resources: {requests: {storage: 1Gi}}}\n";
        let config = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web}}\ndata: {{value: {value}}}\n");
        write(&bases, "web/config.yaml", &if tag == "v1" { config + claim } else { config });
        support::commit(&bases, tag);
        support::git(&bases, &["tag", tag]);
    }
    let (root, asked) = (folder.path().to_owned(), Arc::new(Mutex::new(Vec::new())));
    let noted = Arc::clone(&asked);
    let server = Server::plain(move |question: &Asked| {
        noted.lock().unwrap().push(question.path.clone());
        // A repository with a working tree keeps its data one folder further in.
        backend(&root, &question.path.replace("/bases.git/", "/bases.git/.git/"), question)
    });
    GitServer { server, asked, _folder: folder }
}

/// What git's own program for web servers answers.
fn backend(root: &Path, path: &str, question: &Asked) -> Answer {
    let query: Vec<String> = question.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query.join("&"))
        .env("REQUEST_METHOD", &question.method)
        .env("CONTENT_TYPE", question.header("content-type"))
        .env("CONTENT_LENGTH", question.body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", question.header("content-encoding"))
        .env("GIT_PROTOCOL", question.header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&question.body).unwrap();
    let output = child.wait_with_output().unwrap().stdout;
    let end = output.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(output.len());
    let head = String::from_utf8_lossy(&output[..end]).into_owned();
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim_start_matches(": ").to_owned());
    let status = field("Status").and_then(|status| status.get(..3)?.parse().ok()).unwrap_or(200);
    let body = output.get(end + 4..).unwrap_or_default();
    Answer::new(status, body).with("content-type", &field("Content-Type").unwrap_or_default())
}

/// A repository whose overlay names a base at one address before and at another after the change.
fn repository(before: &str, after: &str) -> TempDir {
    let (base, head) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (side, address) in [(base.path(), before), (head.path(), after)] {
        write(side, "argocd/web.yaml", &support::application("web", "overlays/prod"));
        write(side, "argocd/other.yaml", &support::application("other", "apps/other"));
        write(side, "overlays/prod/kustomization.yaml", &format!("namePrefix: prod-\nresources:\n- {address}\n"));
    }
    for (side, value) in [(base.path(), 1), (head.path(), 2)] {
        write(
            side,
            "apps/other/config.yaml",
            &format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: other}}\ndata: {{a: '{value}'}}\n"),
        );
    }
    support::lay_out(base.path(), head.path())
}

fn check(repository: &TempDir, arguments: &[&str]) -> Value {
    let cache = tempfile::tempdir().unwrap();
    let output = assert_cmd::Command::cargo_bin("presync")
        .unwrap()
        .args(["check", "--base", "main", "--head", "change", "--repo-url", support::REPOSITORY_URL, "--format", "json", "--cache-dir"])
        .arg(cache.path())
        .args(arguments)
        .current_dir(repository.path())
        .env_clear()
        .env("PATH", tools::search_path())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{} {}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

/// The changes of an Application, as `action Kind name`.
fn changes(report: &Value, application: &str) -> Vec<String> {
    let applications = report["applications"].as_array().unwrap();
    let changes = applications.iter().find(|one| one["name"] == application).and_then(|one| one["changes"].as_array().cloned());
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let shown = |change: &Value| format!("{} {} {}", text(&change["action"]), text(&change["kind"]), text(&change["name"]));
    changes.unwrap_or_default().iter().map(shown).collect()
}

#[test]
fn a_base_in_another_repository_is_fetched_and_a_new_revision_of_it_is_a_change() {
    let git = git_server();
    let address = |tag: &str| format!("{}/bases.git//web?ref={tag}", git.server.url);
    let report = check(&repository(&address("v1"), &address("v2")), &[]);
    assert_eq!(report["unjudged"], json!([]), "{report:#}");
    assert_eq!(changes(&report, "web"), ["leftover PersistentVolumeClaim prod-data", "update ConfigMap prod-web"], "{report:#}");
    let web = report["applications"].as_array().unwrap().iter().find(|one| one["name"] == "web").unwrap();
    let paths = web["changes"].as_array().unwrap().iter().map(|change| &change["origin"]["path"]);
    assert!(
        paths.into_iter().all(|path| path == "overlays/prod/kustomization.yaml"),
        "what lies elsewhere points at the file that names it"
    );
}

#[test]
fn offline_nothing_is_fetched_and_the_reason_names_the_base() {
    let git = git_server();
    let address = |tag: &str| format!("{}/bases.git//web?ref={tag}", git.server.url);
    let report = check(&repository(&address("v1"), &address("v2")), &["--offline"]);
    let unjudged = &report["unjudged"][0];
    assert_eq!(unjudged["application"], "argocd/web", "{report:#}");
    assert!(
        unjudged["what"].as_str().unwrap().contains("/bases.git//web?ref=v") && unjudged["why"].as_str().unwrap().contains("--offline")
    );
    assert_eq!(*git.asked.lock().unwrap(), Vec::<String>::new());
    assert_eq!(changes(&report, "other"), ["update ConfigMap other"], "the other Application is judged all the same");
}

#[test]
fn a_server_that_does_not_answer_is_named_and_hides_no_other_application() {
    let address = |tag: &str| format!("http://127.0.0.1:9/bases.git//web?ref={tag}");
    let report = check(&repository(&address("v1"), &address("v2")), &[]);
    let unjudged = &report["unjudged"][0];
    assert_eq!(unjudged["application"], "argocd/web", "{report:#}");
    let why = unjudged["why"].as_str().unwrap();
    assert!(why.contains("http://127.0.0.1:9/bases.git//web") && why.contains("cannot be fetched"), "{why}");
    assert_eq!(report["findings"], json!([]), "nothing is said of what is not known");
    assert_eq!(changes(&report, "other"), ["update ConfigMap other"]);
}

#[test]
fn a_revision_that_the_server_does_not_have_is_named() {
    let git = git_server();
    let address = |tag: &str| format!("{}/bases.git//web?ref={tag}", git.server.url);
    let report = check(&repository(&address("v1"), &address("v3")), &[]);
    assert!(report["unjudged"][0]["why"].as_str().unwrap().contains("ref=v3"), "{report:#}");
}

#[test]
fn a_password_in_the_address_of_a_base_is_not_shown() {
    let address = |tag: &str| format!("http://robot:hunter2@127.0.0.1:9/bases.git//web?ref={tag}");
    for arguments in [&[][..], &["--offline"]] {
        let report = check(&repository(&address("v1"), &address("v2")), arguments).to_string();
        assert!(report.contains("127.0.0.1:9/bases.git") && !report.contains("hunter2"), "{report}");
    }
}
