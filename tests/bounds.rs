//! What is over a bound is named, and the Applications beside it are judged; faults of the machine give a clear word or none at all.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

mod support;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use support::{REPOSITORY_URL, application, write};
use tempfile::TempDir;

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: '1'}\n";

/// A repository with these files beside the Application `shop`, whose ConfigMap the working tree changes.
fn beside(files: &[(&str, &str)]) -> TempDir {
    let repository = TempDir::new().unwrap();
    let root = repository.path();
    support::git(root, &["init", "--quiet", "--initial-branch=main"]);
    write(root, "argocd/shop.yaml", &application("shop", "shop"));
    write(root, "shop/settings.yaml", CONFIG_MAP);
    for (path, text) in files {
        write(root, path, text);
    }
    support::commit(root, "base");
    write(root, "shop/settings.yaml", &CONFIG_MAP.replace("'1'", "'2'"));
    repository
}

fn command(repository: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_presync"));
    command
        .current_dir(repository)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", repository.join("none"));
    command.args(["check", "--repo-url", REPOSITORY_URL]).args(arguments);
    command
}

fn report_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// What a run over everything could not judge, line by line. The Application beside it must be planned.
fn unjudged(files: &[(&str, &str)]) -> String {
    let repository = beside(files);
    let run = command(repository.path(), &["--all", "--no-cache", "--format", "json"]);
    // A walk that does not end would hold up all other tests.
    let output = assert_cmd::Command::from_std(run).timeout(Duration::from_secs(120)).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report = report_of(&output);
    let shop = report["applications"].as_array().unwrap().iter().find(|application| application["name"] == "shop").unwrap();
    assert_eq!(shop["changes"][0]["action"], "update", "{shop:#}");
    let entries = report["unjudged"].as_array().unwrap().iter();
    entries.fold(String::new(), |mut text, entry| {
        writeln!(text, "{}: {}: {}", entry["application"], entry["what"], entry["why"]).unwrap();
        text
    })
}

fn set(name: &str, spec: &str) -> String {
    format!("apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {{name: {name}, namespace: argocd}}\nspec:\n{spec}")
}

/// A set of one Application with a Go template in its name.
fn templated(template: &str) -> String {
    let spec = format!(
        "  goTemplate: true
  generators: [{{list: {{elements: [{{a: x}}]}}}}]
  template:
    metadata: {{name: '{template}'}}
    spec:
      project: default
      source: {{repoURL: {REPOSITORY_URL}, path: shop, targetRevision: main}}
      destination: {{server: https://kubernetes.default.svc, namespace: x}}
"
    );
    set("templated", &spec)
}

#[test]
fn generators_that_multiply_stop_at_a_bound() {
    let list = |letter: &str| (0..400).map(|number| format!("{{{letter}: x{number}}}")).collect::<Vec<_>>().join(", ");
    let spec = format!(
        "  generators:
  - matrix:
      generators:
      - list: {{elements: [{}]}}
      - list: {{elements: [{}]}}
  template:
    metadata: {{name: '{{{{a}}}}-{{{{b}}}}'}}
    spec: {{project: default, source: {{repoURL: {REPOSITORY_URL}, path: shop}}, destination: {{name: in-cluster}}}}
",
        list("a"),
        list("b")
    );
    let said = unjudged(&[("argocd/set.yaml", &set("many", &spec))]);
    assert!(said.contains("argocd/many") && said.contains("more than 100000 sets of parameters"), "{said}");
}

#[test]
fn templates_that_write_without_end_stop_at_a_bound() {
    for (template, why) in [
        ("{{ repeat 2000000000 \"abcdefgh\" }}", "the template writes more text than presync follows"),
        ("{{ range until 4000000 }}x{{ end }}", "until makes a longer list than presync follows"),
        ("{{ range until 30000 }}{{ repeat 1000 \"x\" }}{{ end }}", "the template writes more text than presync follows"),
    ] {
        let said = unjudged(&[("argocd/set.yaml", &templated(template))]);
        assert!(said.contains("argocd/templated") && said.contains(why), "{template}: {said}");
    }
}

#[test]
fn templates_that_call_themselves_stop_at_a_bound() {
    let said = unjudged(&[("argocd/set.yaml", &templated("{{ define \"a\" }}{{ template \"a\" . }}{{ end }}{{ template \"a\" . }}"))]);
    assert!(said.contains("argocd/templated") && said.contains("the template is nested deeper than presync follows"), "{said}");
}

#[test]
fn a_chain_of_applications_without_end_is_cut() {
    // What jsonnet gives lies in no file, so that each link is found by rendering the one before.
    let link = |number: usize| {
        let source = json!({"repoURL": REPOSITORY_URL, "path": format!("chain/{}", number + 1)});
        let destination = json!({"name": "in-cluster", "namespace": "argocd"});
        let spec = json!({"project": "default", "source": source, "destination": destination, "syncPolicy": {"automated": {}}});
        let metadata = json!({"name": format!("link-{number}"), "namespace": "argocd"});
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": metadata, "spec": spec}).to_string()
    };
    let links: Vec<(String, String)> = (0..60).map(|number| (format!("chain/{number}/next.jsonnet"), link(number))).collect();
    let mut files: Vec<(&str, &str)> = links.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let first = application("chain", "chain/0");
    files.extend([("argocd/chain.yaml", first.as_str()), ("chain/60/settings.yaml", CONFIG_MAP)]);
    let said = unjudged(&files);
    assert!(said.contains("Applications more than 50 levels deep"), "{said}");
}

#[test]
fn applications_that_render_each_other_come_to_an_end() {
    let said = unjudged(&[("one/two.yaml", &application("two", "two")), ("two/one.yaml", &application("one", "one"))]);
    assert!(!said.contains("levels deep"), "{said}");
}

#[test]
fn a_file_that_is_too_large_stops_its_application_only() {
    let large = format!("# {}\n{CONFIG_MAP}", "x".repeat(65 << 20));
    let repository = beside(&[("argocd/large.yaml", &application("large", "large")), ("large/a.yaml", &large)]);
    let output = command(repository.path(), &["--all", "--no-cache", "--format", "json"]).output().unwrap();
    let report = report_of(&output);
    let large = report["applications"].as_array().unwrap().iter().find(|application| application["name"] == "large").unwrap();
    assert_eq!(large["sync"]["mode"], "error");
    let said = large["sync"]["reason"].as_str().unwrap();
    assert!(said.contains("`large/a.yaml` has 68157516 bytes; presync reads files of up to 67108864 bytes"), "{said}");
    assert!(report["applications"].as_array().unwrap().iter().any(|application| application["name"] == "shop"), "{report:#}");
}

#[test]
fn a_configuration_that_is_too_large_is_refused_with_its_name() {
    let repository = beside(&[(".presync.yaml", &format!("# {}\nfail-on: error\n", "x".repeat(1 << 20)))]);
    let output = command(repository.path(), &[]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(".presync.yaml"), "{said}");
}

#[test]
fn a_rule_file_that_is_too_large_is_refused_with_its_name() {
    let large = format!("# {}\nid: acme/a\n", "x".repeat(256 << 10));
    let repository = beside(&[(".presync.yaml", "rules: [policies]\n"), ("policies/a.yaml", &large)]);
    let output = command(repository.path(), &[]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("policies/a.yaml") && said.contains("262144 bytes"), "{said}");
}

#[test]
fn a_place_that_cannot_be_written_leaves_the_verdict_and_says_why() {
    let repository = beside(&[]);
    let plain = repository.path().join("argocd/shop.yaml");
    // A file stands where folders would be made: neither cache nor temporary folders can be written, whoever runs this.
    let output = command(repository.path(), &["--format", "json"])
        .env("HOME", &plain)
        .env("TMPDIR", &plain)
        .env("PRESYNC_CACHE_DIR", plain.join("cache"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(report_of(&output)["applications"][0]["changes"][0]["action"], "update");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_the_report_is_told_and_fails_the_run() {
    let repository = beside(&[]);
    for arguments in [&["--report", "json=/dev/full"][..], &[]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output =
            command(repository.path(), arguments).stdout(if arguments.is_empty() { Stdio::from(full) } else { Stdio::null() }).output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("No space left") || said.contains("/dev/full"), "{said}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let repository = beside(&[]);
    let mut child =
        command(repository.path(), &["--all", "--format", "json"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
#[cfg(unix)]
fn a_run_that_is_interrupted_leaves_no_program_and_no_folder_behind() {
    let chart = "apiVersion: v2\nname: slow\nversion: 1.0.0\n";
    let slow = application("slow", "slow");
    let repository = beside(&[("argocd/slow.yaml", slow.as_str()), ("slow/Chart.yaml", chart), ("slow/templates/a.yaml", CONFIG_MAP)]);
    let (scratch, mark) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    // A renderer that tells its number and does not end.
    let helm = mark.path().join("helm");
    let number = mark.path().join("number");
    let script =
        format!("#!/bin/sh\n[ \"$1\" = template ] || {{ echo v4.0.0; exit 0; }}\necho $$ > {}\nexec sleep 300\n", number.display());
    fs::write(&helm, script).unwrap();
    fs::set_permissions(&helm, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut run = command(repository.path(), &["--all", "--no-cache"]);
    run.env("PRESYNC_HELM", &helm).env("TMPDIR", scratch.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = run.spawn().unwrap();
    let started = |file: &Path| fs::read_to_string(file).ok().and_then(|text| text.trim().parse::<u32>().ok());
    let renderer = (0..1200).find_map(|_| {
        std::thread::sleep(Duration::from_millis(50));
        started(&number)
    });
    let renderer = renderer.expect("the renderer is started").to_string();
    assert_ne!(fs::read_dir(scratch.path()).unwrap().count(), 0, "its files are laid out");
    let kill = |arguments: &[&str]| Command::new("kill").args(arguments).stderr(Stdio::null()).status().unwrap().success();
    assert!(kill(&["-TERM", &child.id().to_string()]));
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
    let is_gone = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        !kill(&["-0", &renderer])
    });
    assert!(is_gone, "the renderer still runs");
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "folders are left behind");
}

#[test]
fn another_locale_and_very_long_paths_change_nothing() {
    let deep = format!("shop/{}/more.yaml", ["a-folder-with-quite-a-long-name"; 40].join("/"));
    let more = CONFIG_MAP.replace("name: settings", "name: \"\u{fc}ber\"").replace("\u{fc}", "u");
    let repository =
        beside(&[("argocd/deep.yaml", &application("deep", "deep").replace("path: deep", "path: shop, directory: {recurse: true}"))]);
    write(repository.path(), &deep, &more);
    for locale in ["C", "tr_TR.UTF-8"] {
        let output = command(repository.path(), &["--format", "json", "--no-cache"]).env("LC_ALL", locale).output().unwrap();
        let report = report_of(&output);
        let applications = report["applications"].as_array().unwrap();
        let deep = applications.iter().find(|application| application["name"] == "deep").unwrap();
        assert!(deep["changes"].as_array().unwrap().iter().any(|change| change["name"] == "uber"), "{deep:#}");
    }
}

#[test]
fn many_runs_on_one_cache_say_the_same_and_a_killed_one_leaves_it_whole() {
    let files: Vec<(String, String)> =
        (0..80).map(|number| (format!("shop/{number}.yaml"), CONFIG_MAP.replace("settings", &format!("s{number}")))).collect();
    let repository = beside(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    let cache = TempDir::new().unwrap();
    let run = |stdout: Stdio| -> Child {
        let mut command = command(repository.path(), &["--all", "--format", "json"]);
        command.env("PRESYNC_CACHE_DIR", cache.path()).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap()
    };
    for _ in 0..10 {
        let mut killed = run(Stdio::null());
        killed.kill().unwrap();
        killed.wait().unwrap();
    }
    let children: Vec<Child> = (0..24).map(|_| run(Stdio::piped())).collect();
    let outputs: Vec<Output> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let without = command(repository.path(), &["--all", "--format", "json", "--no-cache"]).output().unwrap();
    for output in &outputs {
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.stdout, without.stdout, "the cache changes nothing");
    }
}

/// The page of bounds names a test for each; a name that is mistyped or was changed would prove nothing.
#[test]
fn each_test_that_the_page_of_bounds_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/limits.md")).unwrap();
    let mut sources = String::new();
    for folder in ["src", "tests"] {
        read_all(&root.join(folder), &mut sources);
    }
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.contains("| `"));
    let named: Vec<&str> = rows.filter_map(|row| row.rsplit("| `").next()?.split('`').next()).collect();
    assert!(named.len() > 20, "{named:?}");
    let missing: Vec<&&str> = named.iter().filter(|name| !sources.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn read_all(folder: &Path, into: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_all(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}
