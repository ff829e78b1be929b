//! Runs every folder of `fixtures/scenarios` and `fixtures/engine`: lays `base/` and `head/` out as a Git repository, checks it, and
//! compares plan, sync modes, findings and exit code with `expected.yaml`. `fixtures/open.yaml` names the cases that are not
//! satisfied yet, with the reason; the test fails when one of them starts to pass, or is unknown: the list only shrinks.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

mod support;
#[path = "support/tools.rs"]
#[allow(dead_code, reason = "the search path is for tests that run the program")]
mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use presync::check::{self, Head, Options, Outcome};
use presync::finding::{Finding, Severity};
use presync::plan::{Action, SyncPlan};
use presync::render::Programs;
use rayon::prelude::*;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Expected {
    #[serde(default)]
    plan: Vec<String>,
    #[serde(default)]
    sync: Option<BTreeMap<String, String>>,
    /// `None` where findings are not judged, as in the engine's recordings.
    #[serde(default)]
    findings: Option<Vec<ExpectedFinding>>,
    #[serde(default)]
    absent: Vec<String>,
    /// Applications of which something must stand among what could not be judged.
    #[serde(default)]
    unjudged: Vec<String>,
    exit: Option<u8>,
    /// When the merge happens; now, where it is not set.
    now: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ExpectedFinding {
    rule: String,
    severity: String,
    resource: Option<String>,
    application: Option<String>,
    /// Texts that its message or its help holds.
    #[serde(default)]
    mentions: Vec<String>,
    /// The file that it points at first.
    at: Option<String>,
}

#[test]
fn every_scenario_gives_the_expected_plan_and_findings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let open: BTreeMap<String, String> = serde_yaml::from_str(&std::fs::read_to_string(root.join("open.yaml")).unwrap()).unwrap();
    let mut folders: Vec<PathBuf> = ["scenarios", "engine"]
        .iter()
        .flat_map(|group| std::fs::read_dir(root.join(group)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("expected.yaml").is_file())
        .collect();
    folders.sort();
    if let Ok(only) = std::env::var("PRESYNC_SCENARIO") {
        folders.retain(|folder| folder.ends_with(&only) || name(folder, &root) == only);
    }
    let results: Vec<(String, Result<(), String>)> = folders.par_iter().map(|folder| (name(folder, &root), scenario(folder))).collect();
    let known: BTreeSet<&String> = results.iter().map(|(name, _)| name).collect();
    let mut problems = String::new();
    for (name, result) in &results {
        match (result, open.get(name)) {
            (Err(problem), None) => problems.push_str(&format!("\n== {name}\n{problem}")),
            (Ok(()), Some(_)) => {
                problems.push_str(&format!("\n== {name}\nis listed in fixtures/open.yaml, but passes: take it off the list\n"))
            }
            _ => {}
        }
    }
    if std::env::var_os("PRESYNC_SCENARIO").is_none() {
        for unknown in open.keys().filter(|name| !known.contains(name)) {
            problems.push_str(&format!("\n== {unknown}\nis listed in fixtures/open.yaml, but there is no such folder\n"));
        }
    }
    let failed = problems.matches("\n== ").count();
    assert!(problems.is_empty(), "{failed} of {} cases differ:\n{problems}", results.len());
}

fn name(folder: &Path, root: &Path) -> String {
    folder.strip_prefix(root).unwrap().to_string_lossy().into_owned()
}

/// Runs one folder.
fn scenario(folder: &Path) -> Result<(), String> {
    let expected: Expected =
        serde_yaml::from_str(&std::fs::read_to_string(folder.join("expected.yaml")).unwrap()).map_err(|error| error.to_string())?;
    let repository = support::lay_out(&folder.join("base"), &folder.join("head"));
    let live = folder.join("live");
    let options = |all: bool| Options {
        repo: repository.path().to_path_buf(),
        base: Some("main".to_owned()),
        head: Head::Revision("change".to_owned()),
        snapshots: live.is_dir().then(|| live.to_string_lossy().into_owned()).into_iter().collect(),
        max_snapshot_age: None,
        now: expected.now.as_deref().map_or_else(jiff::Timestamp::now, |now| now.parse().unwrap()),
        repo_urls: vec![support::REPOSITORY_URL.to_owned()],
        applications: Vec::new(),
        all,
        offline: true,
        programs: Programs::in_folder(tools::folder()).with_presync(env!("CARGO_BIN_EXE_presync").into()),
        config: None,
        cache: None,
    };
    let run = |all: bool| check::run(&options(all)).map_err(|error| format!("  cannot be checked: {error}\n"));
    let mut problems = compare_plans(&expected, &run(true)?);
    let outcome = run(false)?;
    if expected.findings.is_some() {
        problems.push_str(&compare_plans(&expected, &outcome));
        problems.push_str(&compare_findings(&expected, &outcome));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

fn compare_plans(expected: &Expected, outcome: &Outcome) -> String {
    let mut problems = String::new();
    let wanted: BTreeSet<&str> = expected.plan.iter().map(String::as_str).collect();
    let lines: BTreeSet<String> = outcome.plans.iter().flat_map(plan_lines).collect();
    let found: BTreeSet<&str> = lines.iter().map(String::as_str).collect();
    for missing in wanted.difference(&found) {
        problems.push_str(&format!("  missing   {missing}\n"));
    }
    for extra in found.difference(&wanted) {
        problems.push_str(&format!("  too much  {extra}\n"));
    }
    for (application, mode) in expected.sync.iter().flatten() {
        let plan = outcome.plans.iter().find(|plan| plan.application.id.to_string() == *application);
        let found = plan.map_or("not looked at", |plan| plan.sync.mode.as_str());
        if found != mode {
            let reason = plan.map(|plan| plan.sync.reason.as_str()).unwrap_or_default();
            problems.push_str(&format!("  sync of {application} is {found}, not {mode} ({reason})\n"));
        }
    }
    for application in &expected.unjudged {
        if !outcome.unjudged.iter().any(|unjudged| unjudged.application.as_ref() == Some(application)) {
            problems.push_str(&format!("  {application} is not among what could not be judged\n"));
        }
    }
    if !problems.is_empty() {
        for unjudged in &outcome.unjudged {
            problems.push_str(&format!("  unjudged  {unjudged:?}\n"));
        }
    }
    problems
}

fn plan_lines(plan: &SyncPlan) -> Vec<String> {
    let listed = plan.changes.iter().filter(|change| change.action != Action::None);
    listed
        .map(|change| {
            let cluster = change.cluster.as_ref().map(|cluster| format!(" on {cluster}")).unwrap_or_default();
            let reached = if change.reached { "" } else { " (unreached)" };
            format!("{} {} @ {}{cluster}{reached}", change.action.as_str(), change.key, plan.application.id)
        })
        .collect()
}

/// Whether a finding is about a resource; one written without a kind is an Application.
fn is_about(finding: &Finding, resource: &str) -> bool {
    if resource.contains(' ') {
        return finding.resource.as_ref().is_some_and(|key| key.to_string() == resource);
    }
    finding.application.as_deref() == Some(resource)
}

fn compare_findings(expected: &Expected, outcome: &Outcome) -> String {
    let mut problems = String::new();
    let wanted = expected.findings.as_deref().unwrap_or_default();
    let named: BTreeSet<&str> = wanted.iter().map(|finding| finding.rule.as_str()).collect();
    let mut used = vec![false; outcome.findings.len()];
    for finding in wanted {
        let matching = outcome.findings.iter().enumerate().position(|(index, found)| {
            !used[index]
                && *found.rule == *finding.rule
                && found.severity.as_str() == finding.severity
                && finding.resource.as_ref().is_none_or(|resource| is_about(found, resource))
                && finding.application.as_ref().is_none_or(|application| found.application.as_ref() == Some(application))
                && finding.mentions.iter().all(|text| found.message.contains(text) || found.help.contains(text))
                && finding.at.as_ref().is_none_or(|path| found.places.first().is_some_and(|place| *place.origin.path == **path))
        });
        match matching {
            Some(index) => used[index] = true,
            None => problems.push_str(&format!("  no finding {finding:?}\n")),
        }
    }
    for (found, used) in outcome.findings.iter().zip(used).filter(|(found, _)| found.suppressed.is_none()) {
        let tolerated = !named.contains(&*found.rule) && (found.severity == Severity::Info || &*found.rule == "pvc-unprotected");
        if !used && (!tolerated || expected.absent.iter().any(|rule| *rule == *found.rule)) {
            let resource = found.resource.as_ref().map(ToString::to_string).unwrap_or_default();
            problems.push_str(&format!("  unexpected {} [{}] {resource}: {}\n", found.severity.as_str(), found.rule, found.message));
        }
    }
    let fails = outcome.findings.iter().any(|finding| finding.severity == Severity::Error && finding.suppressed.is_none());
    if let Some(exit) = expected.exit.filter(|exit| *exit != u8::from(fails)) {
        problems.push_str(&format!("  exit is {}, not {exit}\n", u8::from(fails)));
    }
    problems
}
