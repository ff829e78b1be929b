//! The configuration as it works: severities, environments, waivers, baseline, own rules, roots, snapshots; and the commands around it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

mod support;
#[path = "support/tools.rs"]
mod tools;

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;
use support::write;
use tempfile::TempDir;

/// A change that prunes an unprotected claim.
const SCENARIO: &str = "pvc-removed-unprotected";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The scenario with further files at base, and others at head.
fn repository(base: &[(&str, &str)], head: &[(&str, &str)]) -> TempDir {
    let folder = root().join("fixtures/scenarios").join(SCENARIO);
    let sides = tempfile::tempdir().unwrap();
    for (side, files) in [("base", base), ("head", head)] {
        let to = sides.path().join(side);
        fs::create_dir_all(&to).unwrap();
        support::copy(&folder.join(side), &to);
        for (path, text) in files {
            write(&to, path, text);
        }
    }
    support::lay_out(&sides.path().join("base"), &sides.path().join("head"))
}

fn presync(repository: &Path) -> Command {
    let mut command = Command::cargo_bin("presync").unwrap();
    command.current_dir(repository).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("NO_COLOR", "1");
    command
}

fn check(repository: &TempDir, more: &[&str]) -> std::process::Output {
    let live: PathBuf = root().join("fixtures/scenarios").join(SCENARIO).join("live");
    let usual = [("--base", "main"), ("--head", "change"), ("--format", "json")];
    let usual = usual.iter().filter(|(option, _)| !more.contains(option)).flat_map(|(option, value)| [*option, *value]);
    presync(repository.path())
        .arg("check")
        .args(usual)
        .args(["--no-cache", "--repo-url", support::REPOSITORY_URL, "--now", "2026-11-30T12:00:00Z", "--snapshot"])
        .arg(live)
        .args(more)
        .output()
        .unwrap()
}

fn report(repository: &TempDir, more: &[&str]) -> (Value, i32) {
    let output = check(repository, more);
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    (report, output.status.code().unwrap())
}

/// The finding about the claim.
fn claim(report: &Value) -> Option<&Value> {
    report["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == "prune-persistent-data")
}

/// A file of both sides.
type Files<'t> = [(&'t str, &'t str); 1];

fn both(text: &str) -> (Files<'_>, Files<'_>) {
    ([(".presync.yaml", text)], [(".presync.yaml", text)])
}

#[test]
fn severities_hold_for_the_fleet_and_for_a_part_of_it() {
    let (base, head) = both("severity: {prune-persistent-data: warning}\n");
    let (found, code) = report(&repository(&base, &head), &[]);
    assert_eq!((claim(&found).unwrap()["severity"].as_str(), code), (Some("warning"), 0));
    let (base, head) = both(
        "severity: {prune-persistent-data: off}\nenvironments:\n  - {name: p, match: {paths: apps/**}, severity: {prune-persistent-data: error}}\n",
    );
    let (found, code) = report(&repository(&base, &head), &[]);
    assert_eq!((claim(&found).unwrap()["severity"].as_str(), code), (Some("error"), 1));
}

#[test]
fn what_is_excluded_is_counted_in_a_note() {
    let (base, head) = both("exclude: [{kinds: PersistentVolumeClaim}]\n");
    let output = check(&repository(&base, &head), &["--format", "text"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("left out by `include` and `exclude`"), "{text}");
}

#[test]
fn a_waiver_of_the_base_counts_and_one_of_the_change_is_shown_only() {
    let waiver =
        "waivers:\n  - {rules: prune-persistent-data, match: {kinds: PersistentVolumeClaim}, reason: a cache, expires: 2026-12-31}\n";
    let (base, head) = both(waiver);
    let (found, code) = report(&repository(&base, &head), &[]);
    let suppressed = &claim(&found).unwrap()["suppressed"];
    assert_eq!((suppressed["by"].as_str(), suppressed["expires"].as_str(), code), (Some("config"), Some("2026-12-31"), 0));
    assert_eq!(found["summary"]["suppressed"], 1);
    let (found, code) = report(&repository(&[], &head), &[]);
    let finding = claim(&found).unwrap();
    assert!(finding.get("suppressed").is_none() && code == 1);
    assert!(finding["help"].as_str().unwrap().contains("Suppressed by this change (\"a cache\")"), "{finding}");
    let allowed = repository(&[(".presync.yaml", "suppressions: {ofThisChange: count}\n")], &head);
    let (found, code) = report(&allowed, &[]);
    assert_eq!((claim(&found).unwrap()["suppressed"]["reason"].as_str(), code), (Some("suppressed by this change: a cache"), 0));
}

#[test]
fn comments_that_waive_nothing_are_told_where_everything_is_looked_at() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: extra\n  annotations:\n    \
                # presync: ignore[unknown-argocd-annotation] a trial\n    argocd.argoproj.io/syncwave: \"1\"\n    \
                # presync: ignore[unknown-argocd-anotation] a slip\n    # presync: ignore[mass-prune] a relic\n";
    let files = [("apps/orders/extra.yaml", text)];
    let repository = repository(&files, &files);
    let idle = |report: &Value| -> Vec<String> {
        let of_waivers = report["findings"].as_array().unwrap().iter().filter(|finding| finding["rule"] == "suppression-unused");
        of_waivers.map(|finding| format!("{} {} {}", finding["severity"], finding["location"]["line"], finding["message"])).collect()
    };
    assert_eq!(
        idle(&report(&repository, &["--all"]).0),
        [
            "\"warning\" 8 \"the comment in apps/orders/extra.yaml names `unknown-argocd-anotation`, which is no rule\"",
            "\"info\" 9 \"the comment in apps/orders/extra.yaml waives mass-prune, which finds nothing here\"",
        ]
    );
    assert!(idle(&report(&repository, &[]).0).is_empty());
}

#[test]
fn a_waiver_that_is_over_is_pointed_at() {
    let (base, head) =
        both("waivers:\n  - rules: prune-persistent-data\n    match: {names: '*'}\n    reason: a cache\n    expires: 2026-11-29\n");
    let (found, code) = report(&repository(&base, &head), &[]);
    let expired = found["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == "suppression-expired").unwrap();
    assert_eq!((expired["location"]["path"].as_str(), expired["location"]["line"].as_u64(), code), (Some(".presync.yaml"), Some(5), 1));
}

#[test]
fn a_baseline_is_written_and_counts_once_it_is_in_the_base() {
    let repository = repository(&[], &[]);
    assert_eq!(check(&repository, &["--write-baseline"]).status.code(), Some(1));
    let baseline = fs::read_to_string(repository.path().join(".presync-baseline.json")).unwrap();
    assert!(baseline.contains("\"since\": \"2026-11-30\"") && baseline.contains("PersistentVolumeClaim"), "{baseline}");
    // A run that looks at some Applications says nothing about the others.
    assert_eq!(check(&repository, &["--write-baseline", "--app", "nothing"]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(repository.path().join(".presync-baseline.json")).unwrap(), baseline);
    let known = self::repository(&[(".presync-baseline.json", &baseline)], &[(".presync-baseline.json", &baseline)]);
    let (found, code) = report(&known, &[]);
    assert_eq!((claim(&found).unwrap()["suppressed"]["by"].as_str(), code), (Some("baseline"), 0));
    let added = self::repository(&[], &[(".presync-baseline.json", &baseline)]);
    assert_eq!(report(&added, &[]).1, 1);
}

#[test]
fn mistakes_in_the_configuration_are_pointed_at() {
    for (text, said) in [
        ("severity: {prune-persistant-data: off}\n", "Did you mean `prune-persistent-data`?"),
        ("parameters: {mass-prune: {percentage: 3}}\n", "There are: atLeast, inChange, percent."),
        ("parameters: {mass-prune: {percent: half}}\n", "is a number, not a text"),
        ("waivers:\n  - {rules: nothing, match: {names: x}, reason: y}\n", "there is no rule `nothing`"),
        ("rules: [./policies]\n", "there are no rules in policies"),
        ("pluigns: {}\n", "Did you mean `plugins`?"),
    ] {
        let (base, head) = both(text);
        let output = check(&repository(&base, &head), &[]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains(said) && told.contains(".presync.yaml:"), "{text}: {told}");
    }
}

#[test]
fn a_change_that_breaks_the_configuration_is_told_at_once() {
    let output = check(&repository(&[], &[(".presync.yaml", "severity: 3\n")]), &[]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn own_rules_are_those_of_the_base() {
    let rule = fs::read_to_string(root().join("examples/policies/no-deletion-on-fridays.yaml")).unwrap();
    let rule = rule.replace("weekday: Friday", "weekday: Monday");
    let config = "rules: [./policies]\n";
    let with = [(".presync.yaml", config), ("policies/fridays.yaml", rule.as_str())];
    let fired =
        |report: &Value| report["findings"].as_array().unwrap().iter().any(|finding| finding["rule"] == "example/no-deletion-on-fridays");
    assert!(fired(&report(&repository(&with, &with), &[]).0));
    assert!(fired(&report(&repository(&with, &[]), &[]).0), "a change that removes the rules is judged by them");
    let broken = rule.replace("now.weekday", "now.weekdya");
    let broken = [(".presync.yaml", config), ("policies/fridays.yaml", broken.as_str())];
    let output = check(&repository(&broken, &broken), &[]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && told.contains("policies/fridays.yaml:") && told.contains("`now.weekday`?"), "{told}");
}

#[test]
fn applications_outside_of_the_roots_are_not_looked_at() {
    let (base, head) = both("roots: [somewhere/**]\n");
    let live = root().join("fixtures/scenarios").join(SCENARIO).join("base");
    assert!(live.is_dir());
    let output = presync(repository(&base, &head).path())
        .args(["check", "--base", "main", "--head", "change", "--format", "json", "--no-cache", "--repo-url", support::REPOSITORY_URL])
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["applications"].as_array().unwrap().len(), 0, "{found}");
    assert_eq!(found["unjudged"][0]["why"], "`somewhere/**` in `roots` of the configuration matches no file of the repository", "{found}");
}

#[test]
fn roots_that_match_files_are_nothing_to_speak_of() {
    let (base, head) = both("roots: [bootstrap/**, clusters/**]\n");
    let (found, _) = report(&repository(&base, &head), &[]);
    assert!(claim(&found).is_some() && !found["unjudged"].to_string().contains("roots"), "{found}");
}

#[test]
fn snapshots_and_urls_of_the_configuration_are_used() {
    let live = root().join("fixtures/scenarios").join(SCENARIO).join("live");
    let config = format!("snapshots: {{sources: ['{}']}}\nrepositoryUrls: ['{}']\n", live.display(), support::REPOSITORY_URL);
    let (base, head) = both(&config);
    let repository = repository(&base, &head);
    let output = presync(repository.path())
        .args(["check", "--base", "main", "--head", "change", "--format", "json", "--no-cache"])
        .output()
        .unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(claim(&found).unwrap()["basis"], "live");
}

#[test]
fn init_writes_a_configuration_that_sets_nothing_and_overwrites_none() {
    let repository = repository(&[], &[]);
    let init = |more: &[&str]| presync(repository.path()).arg("init").args(more).output().unwrap();
    assert!(init(&["--workflow", "--pre-commit"]).status.success());
    for file in [".presync.yaml", ".github/workflows/presync.yaml", ".pre-commit-config.yaml"] {
        assert!(repository.path().join(file).is_file(), "{file}");
    }
    let again = init(&[]);
    assert!(again.status.code() == Some(2) && String::from_utf8_lossy(&again.stderr).contains("--force"));
    assert!(init(&["--force"]).status.success());
    support::commit(repository.path(), "settings");
    assert_eq!(check(&repository, &["--base", "change", "--head", "change"]).status.code(), Some(0));
}

#[test]
fn rules_are_listed_for_programs_and_as_a_table() {
    let list = |format: &str| {
        let output = presync(root()).args(["rules", "--format", format]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let rules: Value = serde_json::from_str(&list("json")).unwrap();
    assert!(rules["rules"].as_array().unwrap().iter().any(|rule| rule["id"] == "mass-prune" && rule["parameters"]["percent"] == 70));
    assert!(list("markdown").starts_with("| rule | severity | reports |\n"));
    let explained = presync(root()).args(["explain", "mass-prune"]).output().unwrap();
    let text = String::from_utf8(explained.stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn the_example_policies_pass_their_tests() {
    let output = presync(root()).args(["rules", "test", "examples/policies"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("6 of 6 tests passed") && !text.contains("note:"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_test_of_a_rule_that_differs_says_how() {
    let folder = tempfile::tempdir().unwrap();
    support::copy(&root().join("examples/policies"), folder.path());
    let expected = folder.path().join("tests/pruned-on-a-friday/expected.yaml");
    fs::write(&expected, "now: 2026-12-03T12:00:00Z\nfindings:\n  - {rule: example/no-deletion-on-fridays}\n").unwrap();
    let run = || presync(root()).args(["rules", "test"]).arg(folder.path()).output().unwrap();
    let output = run();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.code() == Some(1)
            && text.contains("FAILED pruned-on-a-friday")
            && text.contains("missing  example/no-deletion-on-fridays"),
        "{text}"
    );
    fs::write(&expected, "findings:\n  - {rule: mass-prune}\n").unwrap();
    assert_eq!(run().status.code(), Some(2));
}

#[test]
fn a_folder_of_rules_that_is_not_there_is_said_once() {
    let output = presync(root()).args(["rules", "test", "nowhere"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("cannot use nowhere") && text.matches("(os error 2)").count() == 1, "{text}");
}

/// A working tree with an unprotected claim, a misspelled option and an Application, on top of the scenario's base.
fn with_claims() -> TempDir {
    let repository = repository(&[], &[]);
    support::git(repository.path(), &["checkout", "--quiet", "main"]);
    let claim = |name: &str, metadata: &str| {
        format!(
            "# {name}\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: {name} # a name\n{metadata}spec:\n  accessModes: [ReadWriteOnce]\n  resources: {{requests: {{storage: 1Gi}}}}\n"
        )
    };
    let options = "  annotations:\n    argocd.argoproj.io/sync-options: Prune=False # never\n";
    write(repository.path(), "apps/orders/new.yaml", &format!("{}---\n{}", claim("one", ""), claim("two", options)));
    repository
}

fn check_worktree(repository: &TempDir, more: &[&str]) -> std::process::Output {
    presync(repository.path())
        .args(["check", "--base", "main", "--no-cache", "--offline", "--repo-url", support::REPOSITORY_URL])
        .args(more)
        .output()
        .unwrap()
}

#[test]
fn safe_edits_are_shown_and_carried_out() {
    let repository = with_claims();
    let before = fs::read_to_string(repository.path().join("apps/orders/new.yaml")).unwrap();
    let shown = String::from_utf8(check_worktree(&repository, &["--fix", "--diff"]).stdout).unwrap();
    assert!(
        shown.contains("+++ b/apps/orders/new.yaml") && shown.contains("+    argocd.argoproj.io/sync-options: Prune=false,Delete=false"),
        "{shown}"
    );
    assert_eq!(fs::read_to_string(repository.path().join("apps/orders/new.yaml")).unwrap(), before);
    let fixed = check_worktree(&repository, &["--fix", "--format", "json"]);
    let after = fs::read_to_string(repository.path().join("apps/orders/new.yaml")).unwrap();
    assert!(after.starts_with("# one\n") && after.contains("name: one # a name") && after.contains("Prune=false # never"), "{after}");
    assert!(String::from_utf8_lossy(&fixed.stderr).contains("in 1 file"), "{}", String::from_utf8_lossy(&fixed.stderr));
    let report: Value = serde_json::from_slice(&fixed.stdout).unwrap();
    let misspelled = report["findings"].as_array().unwrap().iter().filter(|finding| finding["rule"] == "protection-misspelled");
    assert_eq!(misspelled.count(), 0, "{report}");
}

#[test]
fn findings_say_whether_they_can_be_fixed() {
    let found: Value = serde_json::from_slice(&check_worktree(&with_claims(), &["--format", "json"]).stdout).unwrap();
    let fixable = |rule: &str, name: &str| {
        let finding =
            found["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == rule && finding["resource"]["name"] == name);
        finding.map(|finding| finding["fixable"] == true)
    };
    assert_eq!(fixable("pvc-unprotected", "one"), Some(true), "{found}");
    // The misspelled option has an edit of its own.
    assert_eq!((fixable("protection-misspelled", "two"), fixable("pvc-unprotected", "two")), (Some(true), Some(false)), "{found}");
}

#[test]
fn a_protection_that_a_kustomization_spoils_is_left_as_it_stands_in_its_own_file() {
    let repository = repository(&[], &[]);
    support::git(repository.path(), &["checkout", "--quiet", "main"]);
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: one\n  annotations:\n    argocd.argoproj.io/sync-options: Prune=false,Delete=false\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n";
    write(repository.path(), "apps/orders/new.yaml", claim);
    let resources = "resources: [deployment-orders.yaml, persistentvolumeclaim-orders-data.yaml, new.yaml]\n";
    let patch = "patches:\n- target: {kind: PersistentVolumeClaim, name: one}\n  patch: |-\n    - {op: replace, path: /metadata/annotations/argocd.argoproj.io~1sync-options, value: Prune=False}\n";
    let annotations = "commonAnnotations:\n  argocd.argoproj.io/sync-options: Prune=False\n";
    for spoils in [patch, annotations] {
        write(repository.path(), "apps/orders/kustomization.yaml", &format!("{resources}{spoils}"));
        let output = presync(repository.path())
            .env("PATH", tools::search_path())
            .args(["check", "--base", "main", "--no-cache", "--repo-url", support::REPOSITORY_URL, "--fix", "--format", "json"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("fixed 0 findings in 0 files"), "{said}");
        assert!(said.contains("is not edited: a kustomization decides about it as well. protection-misspelled: "), "{said}");
        assert_eq!(fs::read_to_string(repository.path().join("apps/orders/new.yaml")).unwrap(), claim);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let misspelled = report["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == "protection-misspelled");
        assert_eq!(misspelled.unwrap()["fixable"], false, "{report}");
    }
}
