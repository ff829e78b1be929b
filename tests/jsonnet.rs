//! Jsonnet that takes too much: it is reported as a failure of its own Application, and the others are judged.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test that cannot go on fails the test")]

mod support;

use assert_cmd::Command;
use serde_json::Value;
use support::write;

/// The report on a change that adds the jsonnet to one Application and a manifest to another.
fn report(jsonnet: &str) -> Value {
    let (base, head) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for side in [base.path(), head.path()] {
        for name in ["hostile", "peaceful"] {
            write(side, &format!("bootstrap/{name}.yaml"), &support::application(name, &format!("apps/{name}")));
            let manifest = format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}");
            write(side, &format!("apps/{name}/first.yaml"), &manifest);
        }
    }
    write(head.path(), "apps/hostile/main.jsonnet", jsonnet);
    write(head.path(), "apps/peaceful/second.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: second}}");
    let repository = support::lay_out(base.path(), head.path());
    let output = Command::cargo_bin("presync")
        .unwrap()
        .args(["check", "--base", "main", "--head", "change", "--format", "json", "--repo-url", support::REPOSITORY_URL])
        .current_dir(repository.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}

/// Whether the other Application was judged, and what the findings of a failed render say.
fn outcome(jsonnet: &str) -> (bool, Vec<String>) {
    let report = report(jsonnet);
    let created = report["applications"].as_array().unwrap().iter().flat_map(|app| app["changes"].as_array().unwrap());
    let judged = created.filter(|change| change["action"] == "create").any(|change| change["name"] == "second");
    let failed = report["findings"].as_array().unwrap().iter().filter(|finding| finding["rule"] == "render-failed");
    (judged, failed.map(|finding| finding["message"].as_str().unwrap().to_owned()).collect())
}

#[test]
fn what_takes_too_much_stack_or_memory_stops_one_application_only() {
    let hostile = [
        "[".repeat(400_000),
        "local nested(x) = [nested(x + 1)]; nested(0) == nested(0)".to_owned(),
        "local double(n) = if n == 0 then 'xxxxxxxxxx' else local half = double(n - 1); half + half; double(45)".to_owned(),
        "std.length(std.repeat('xxxxxxxxxx', 4000000000))".to_owned(),
    ];
    for jsonnet in hostile {
        let (judged, failed) = outcome(&jsonnet);
        assert!(judged, "{}", jsonnet.get(..60).unwrap_or_default());
        assert_eq!(failed.len(), 1, "{failed:?}");
        assert!(failed[0].contains("took more memory than it may have"), "{failed:?}");
    }
}

#[test]
fn recursion_without_end_is_told_as_an_error_of_the_file() {
    let (judged, failed) = outcome("local f(x) = f(x + 1); f(0)");
    assert!(judged);
    assert!(failed.len() == 1 && failed[0].contains("500 calls"), "{failed:?}");
}

#[test]
fn deep_nesting_that_ends_is_evaluated() {
    let text = format!(
        "local deep = {}1{}; {{apiVersion: 'v1', kind: 'ConfigMap', metadata: {{name: 'x'}}}}",
        "(".repeat(20_000),
        ")".repeat(20_000)
    );
    assert_eq!(outcome(&text).1, Vec::<String>::new());
}

#[test]
fn files_outside_of_the_repository_are_not_read() {
    for import in ["/etc/hostname", "../../../../../../etc/hostname"] {
        let (_, failed) = outcome(&format!("{{apiVersion: 'v1', kind: 'ConfigMap', metadata: {{name: importstr '{import}'}}}}"));
        assert!(failed.len() == 1 && failed[0].contains("outside of the repository"), "{failed:?}");
    }
}
