//! Runs `presync demo` and holds what it lays out, and what it says, to the lesson that it tells.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

use std::fs;
use std::path::Path;
use std::process::Command;

use assert_cmd::cargo::cargo_bin;
use presync::check::{self, Head, Options, Outcome};
use presync::finding::Severity;
use presync::plan::Action;
use presync::render::Programs;
use tempfile::TempDir;

/// What is expected of one step.
struct Expected {
    base: &'static str,
    branch: &'static str,
    sync: &'static str,
    /// Every change, as `action Kind namespace/name`.
    plan: &'static [&'static str],
    /// Every finding that is a warning or worse, and the infos that matter: rule, severity, object or Application.
    findings: &'static [(&'static str, &'static str, &'static str)],
    exit: i32,
}

const APPLICATION: &str = "argocd/bookshop";
const PREVIEW: &str = "Service bookshop/bookshop-preview";

const STEPS: [Expected; 7] = [
    Expected {
        base: "main~1",
        branch: "step-1-add-service",
        sync: "automated",
        plan: &["create Service bookshop/bookshop-preview"],
        findings: &[],
        exit: 0,
    },
    Expected {
        base: "main",
        branch: "step-2-remove-service",
        sync: "automated",
        plan: &["prune Service bookshop/bookshop-preview"],
        findings: &[],
        exit: 0,
    },
    Expected {
        base: "main",
        branch: "step-3-remove-service-prune-off",
        sync: "automated",
        plan: &["leftover Service bookshop/bookshop-preview"],
        findings: &[("live-application-drift", "warning", APPLICATION), ("prune-off-leftover", "info", PREVIEW)],
        exit: 0,
    },
    Expected {
        base: "main",
        branch: "step-4-new-price",
        sync: "manual",
        plan: &["update ConfigMap bookshop/bookshop-page"],
        findings: &[("live-application-drift", "warning", APPLICATION), ("manual-sync-pending", "info", APPLICATION)],
        exit: 0,
    },
    Expected {
        base: "main",
        branch: "step-5-trust-the-file",
        sync: "manual",
        plan: &["leftover Service bookshop/bookshop-preview"],
        findings: &[("live-application-drift", "warning", APPLICATION)],
        exit: 0,
    },
    Expected {
        base: "main",
        branch: "step-6-add-autoscaler",
        sync: "automated",
        plan: &["update apps/Deployment bookshop/bookshop", "adopt autoscaling/HorizontalPodAutoscaler bookshop/bookshop"],
        findings: &[("replicas-owned-by-autoscaler", "error", "apps/Deployment bookshop/bookshop")],
        exit: 1,
    },
    Expected {
        base: "main",
        branch: "step-7-remove-storage",
        sync: "automated",
        plan: &["prune PersistentVolumeClaim bookshop/bookshop-covers", "retain PersistentVolumeClaim bookshop/bookshop-orders"],
        findings: &[
            ("prune-persistent-data", "error", "PersistentVolumeClaim bookshop/bookshop-covers"),
            ("prune-off-leftover", "info", "PersistentVolumeClaim bookshop/bookshop-orders"),
        ],
        exit: 1,
    },
];

/// Runs the program without the settings of this machine; hands on exit code, standard output and standard error.
fn presync(directory: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(cargo_bin("presync"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if ["GITHUB_", "CI_", "PRESYNC_", "GIT_", "CLICOLOR"].iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.env("PRESYNC_CACHE_DIR", env!("CARGO_TARGET_TMPDIR"));
    let output = command.current_dir(directory).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// Lays the demo out as `shop` in a new directory; hands on what it printed.
fn laid_out() -> (TempDir, String) {
    let directory = TempDir::new().unwrap();
    let (code, out, err) = presync(directory.path(), &["demo", "shop"]);
    assert_eq!((code, &*err), (0, ""), "{out}");
    (directory, out)
}

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").current_dir(directory).args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn outcome(shop: &Path, number: usize, step: &Expected) -> Outcome {
    let options = Options {
        repo: shop.to_path_buf(),
        base: Some(step.base.to_owned()),
        head: Head::Revision(step.branch.to_owned()),
        snapshots: vec![shop.join(format!("live/step-{number}.yaml")).to_string_lossy().into_owned()],
        max_snapshot_age: None,
        now: jiff::Timestamp::now(),
        repo_urls: Vec::new(),
        applications: Vec::new(),
        all: false,
        offline: true,
        programs: Programs::default(),
        config: None,
        cache: None,
    };
    check::run(&options).unwrap()
}

/// What the program printed between one step's heading and the next one's.
fn section(out: &str, number: usize) -> &str {
    let from = out.find(&format!("Step {number} of 7")).unwrap();
    let end = [format!("Step {} of 7", number + 1), "In short".to_owned()].iter().find_map(|next| out[from..].find(next)).unwrap();
    &out[from..from + end]
}

#[test]
fn every_step_has_the_plan_that_the_lesson_tells_and_the_text_names_it() {
    let (directory, out) = laid_out();
    for (index, step) in STEPS.iter().enumerate() {
        let outcome = outcome(&directory.path().join("shop"), index + 1, step);
        assert!(outcome.unjudged.is_empty() && outcome.notes.is_empty(), "{}: {:?} {:?}", step.branch, outcome.unjudged, outcome.notes);
        let [plan] = outcome.plans.as_slice() else { panic!("{}: {} plans", step.branch, outcome.plans.len()) };
        assert_eq!((plan.application.id.to_string().as_str(), plan.sync.mode.as_str()), (APPLICATION, step.sync), "{}", step.branch);
        let happens = plan.changes.iter().filter(|change| change.action != Action::None);
        let changes: Vec<String> = happens.map(|change| format!("{} {}", change.action.as_str(), change.key)).collect();
        assert_eq!(changes, step.plan, "{}", step.branch);
        let section = section(&out, index + 1);
        for change in step.plan {
            let (action, object) = change.split_once(' ').unwrap();
            let named = section.lines().any(|line| line.contains(action) && line.contains(object));
            assert!(named, "{change} is not named in\n{section}");
        }
        assert!(
            section.contains(&format!("--base {} --head {} --snapshot live/step-{}.yaml", step.base, step.branch, index + 1)),
            "{section}"
        );
    }
}

#[test]
fn every_step_has_its_findings_and_the_text_says_its_exit_code() {
    let (directory, out) = laid_out();
    for (index, step) in STEPS.iter().enumerate() {
        let outcome = outcome(&directory.path().join("shop"), index + 1, step);
        let mut found: Vec<(&str, &str, String)> = outcome
            .findings
            .iter()
            .map(|finding| {
                let object = finding.resource.as_ref().map(ToString::to_string).filter(|key| !key.starts_with("argoproj.io/Application "));
                (&*finding.rule, finding.severity.as_str(), object.or_else(|| finding.application.clone()).unwrap_or_default())
            })
            .collect();
        let named: Vec<&str> = step.findings.iter().map(|(rule, ..)| *rule).collect();
        let info = Severity::Info.as_str();
        found.retain(|(rule, severity, _)| *severity != info || named.contains(rule));
        found.sort();
        let mut expected: Vec<(&str, &str, String)> =
            step.findings.iter().map(|(rule, severity, object)| (*rule, *severity, (*object).to_owned())).collect();
        expected.sort();
        assert_eq!(found, expected, "{}", step.branch);
        let said = section(&out, index + 1);
        assert!(said.contains(&format!("exit code {}: ", step.exit)), "{said}");
        let summary = out.lines().rev().find(|line| line.starts_with(&format!("  {}  ", index + 1))).unwrap();
        assert!(summary.contains(&format!("exit code {}: ", step.exit)), "{summary}");
    }
}

#[test]
fn the_commands_that_it_prints_do_what_it_says() {
    let (directory, out) = laid_out();
    let shop = directory.path().join("shop");
    let commands: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("  presync ")).collect();
    assert_eq!(commands.len(), STEPS.len() + 1, "{out}");
    for (index, arguments) in commands.iter().take(STEPS.len()).enumerate() {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let (code, printed, err) = presync(&shop, &arguments);
        let said = section(&out, index + 1);
        assert!(!printed.is_empty() && said.contains(&printed), "{err}\n{printed}\nis not in\n{said}");
        assert!(said.contains(&format!("exit code {code}")), "{said}");
    }
    git(&shop, &["rm", "--quiet", "apps/bookshop/service.yaml"]);
    let arguments: Vec<&str> = commands[STEPS.len()].split(' ').collect();
    let (_, printed, err) = presync(&shop, &arguments);
    assert!(printed.contains("prune Service bookshop/bookshop "), "{err}\n{printed}");
}

#[test]
fn two_runs_give_the_same_commits_and_say_the_same() {
    let ((first, said), (second, said_again)) = (laid_out(), laid_out());
    assert_eq!(said, said_again);
    let commits = |directory: &TempDir| git(&directory.path().join("shop"), &["for-each-ref", "--format=%(refname) %(objectname)"]);
    assert_eq!(commits(&first).lines().count(), 8);
    assert_eq!(commits(&first), commits(&second));
    let shop = first.path().join("shop");
    assert_eq!((git(&shop, &["status", "--porcelain"]), git(&shop, &["branch", "--show-current"])), (String::new(), "main\n".to_owned()));
    let live = fs::read_to_string(shop.join("live/step-1.yaml")).unwrap();
    assert!(live.contains(&format!("revision: {}", git(&shop, &["rev-parse", "main~1"]))), "{live}");
}

#[test]
fn a_directory_that_holds_something_or_is_none_is_refused_and_left_alone() {
    let directory = TempDir::new().unwrap();
    fs::create_dir(directory.path().join("full")).unwrap();
    fs::write(directory.path().join("full/notes"), "mine").unwrap();
    let (code, out, err) = presync(directory.path(), &["demo", "full"]);
    assert_eq!((code, &*out), (2, ""));
    assert!(err.contains("full is not empty"), "{err}");
    assert_eq!(fs::read_dir(directory.path().join("full")).unwrap().count(), 1);
    let (code, out, err) = presync(directory.path(), &["demo", "full/notes"]);
    assert_eq!((code, &*out), (2, ""));
    assert!(err.contains("cannot use full/notes as a directory"), "{err}");
    assert_eq!(fs::read_to_string(directory.path().join("full/notes")).unwrap(), "mine");
}

#[test]
fn the_temporary_directory_is_named_and_stays_only_with_keep() {
    let directory = TempDir::new().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(cargo_bin("presync"));
        let output = command.args(arguments).env("TMPDIR", directory.path()).env("TMP", directory.path()).output().unwrap();
        assert!(output.status.success());
        let out = String::from_utf8(output.stdout).unwrap();
        let named = out.lines().next().unwrap().strip_prefix("The bookshop, laid out in ").unwrap().to_owned();
        assert!(named.starts_with(directory.path().to_str().unwrap()), "{named}");
        named
    };
    assert!(!Path::new(&run(&["demo"])).exists());
    assert!(Path::new(&run(&["demo", "--keep"])).join("live/step-7.yaml").is_file());
}

#[test]
fn without_git_it_says_what_to_install() {
    let directory = TempDir::new().unwrap();
    let output =
        Command::new(cargo_bin("presync")).arg("demo").arg(directory.path().join("shop")).env("PATH", directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("git is not installed") && err.contains("Install Git"), "{err}");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    use std::process::Stdio;
    let mut child = Command::new(cargo_bin("presync")).arg("demo").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap().as_str()), (Some(0), ""));
}
