//! `presync rules test DIR`: runs the tests that lie beside rules of your own.
//!
//! Takes a folder with rules and `tests/<name>/` (`base`, `head`, `live`, `expected.yaml`); says which tests pass. A test is checked as any
//! repository is, with the folder's rules besides the built-in ones; the folder's own findings have to be exactly those that are expected.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Deserialize;
use tempfile::TempDir;

use super::super::Failure;
use super::super::git::{GitError, git};
use super::super::shared::failed;
use crate::check::{self, CheckError, Head, Options};
use crate::finding::Finding;
use crate::render::Programs;
use crate::rules::RuleSet;

/// The URL under which Applications of tests know their repository.
const URL: &str = "https://git.example.test/platform/fleet.git";
/// Where the rules lie in the repository of a test.
const FOLDER: &str = ".presync-rules-under-test";
const AUTHOR: (&str, &str) = ("presync", "presync@example.test");
const DATE: &str = "2026-01-01T00:00:00Z";

/// Arguments of `presync rules test`.
#[derive(Debug, Args)]
pub(super) struct TestArgs {
    /// The folder with the rules
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// What a test expects.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Expected {
    /// All findings of the folder's rules.
    findings: Vec<ExpectedFinding>,
    /// When the merge happens.
    now: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedFinding {
    rule: String,
    severity: Option<String>,
    resource: Option<String>,
    application: Option<String>,
}

impl ExpectedFinding {
    fn is(&self, finding: &Finding) -> bool {
        self.rule == *finding.rule
            && self.severity.as_deref().is_none_or(|severity| severity == finding.severity.as_str())
            && self.application.as_ref().is_none_or(|application| finding.application.as_ref() == Some(application))
            && self.resource.as_ref().is_none_or(|resource| {
                finding.resource.as_ref().is_some_and(|key| key.to_string() == *resource || key.named() == *resource)
            })
    }
}

/// Why tests cannot be run.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
enum TestError {
    /// A file or folder cannot be used.
    #[error("cannot use {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There are no rules.
    #[error("there are no rules in {}", .0.display())]
    #[diagnostic(help("A rule is a file such as no-prune.yaml; its tests are folders in `tests` beside it."))]
    NoRules(PathBuf),
    /// What a test expects cannot be read.
    #[error("{}: {message}", path.display())]
    Expected {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// The repository of a test cannot be made.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Git(#[from] GitError),
    /// A test cannot be checked.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Check(#[from] CheckError),
}

pub(super) fn run(args: &TestArgs) -> Result<ExitCode, Failure> {
    let files = rule_files(&args.folder).map_err(failed)?;
    if files.is_empty() {
        return Err(failed(TestError::NoRules(args.folder.clone())));
    }
    let mut rules = RuleSet::builtin().map_err(failed)?;
    let builtin: BTreeSet<String> = rules.definitions().map(|definition| definition.id.clone()).collect();
    rules.add(files.iter().map(|(path, text)| (path.as_str(), text.as_str()))).map_err(failed)?;
    let own: BTreeSet<String> = rules.definitions().map(|definition| definition.id.clone()).filter(|id| !builtin.contains(id)).collect();
    let mut out = io::stdout().lock();
    let mut failures = 0;
    let mut fired = BTreeSet::new();
    let tests = folders(&args.folder.join("tests")).map_err(failed)?;
    for folder in &tests {
        let (problems, spoken) = test(folder, &files, &own).map_err(failed)?;
        fired.extend(spoken);
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        writeln!(out, "{} {name}", if problems.is_empty() { "ok    " } else { "FAILED" })?;
        for problem in &problems {
            writeln!(out, "       {problem}")?;
        }
        failures += usize::from(!problems.is_empty());
    }
    for rule in own.difference(&fired) {
        writeln!(out, "note: no test makes {rule} fire")?;
    }
    writeln!(out, "{} of {} tests passed", tests.len() - failures, tests.len())?;
    Ok(if failures == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Runs a test; hands on what differs, and the folder's rules that fired.
fn test(folder: &Path, files: &[(String, String)], own: &BTreeSet<String>) -> Result<(Vec<String>, BTreeSet<String>), TestError> {
    let path = folder.join("expected.yaml");
    let wrong = |message: String| TestError::Expected { path: path.clone(), message };
    let text = fs::read_to_string(&path).map_err(|source| TestError::File { path: path.clone(), source })?;
    let expected = serde_yaml::from_str::<Option<Expected>>(&text).map_err(|error| wrong(error.to_string()))?.unwrap_or_default();
    if let Some(other) = expected.findings.iter().find(|finding| !own.contains(&finding.rule)) {
        return Err(wrong(format!("{} is no rule of this folder", other.rule)));
    }
    let now = match &expected.now {
        None => jiff::Timestamp::now(),
        Some(now) => now.parse().map_err(|_| wrong(format!("`{now}` is no time such as 2026-11-30T18:00:00Z")))?,
    };
    let scratch = lay_out(folder, files)?;
    let live = folder.join("live");
    let outcome = check::run(&Options {
        repo: scratch.path().join("repository"),
        base: Some("main".to_owned()),
        head: Head::Worktree,
        snapshots: live.is_dir().then(|| live.to_string_lossy().into_owned()).into_iter().collect(),
        max_snapshot_age: Some(i64::MAX),
        repo_urls: vec![URL.to_owned()],
        applications: Vec::new(),
        now,
        all: false,
        offline: true,
        programs: Programs::from_environment(),
        config: Some(scratch.path().join("presync.yaml")),
        cache: None,
    })?;
    let mut found: Vec<&Finding> = outcome.findings.iter().filter(|finding| own.contains(&*finding.rule)).collect();
    let fired = found.iter().map(|finding| finding.rule.to_string()).collect();
    let mut problems = Vec::new();
    for wanted in &expected.findings {
        match found.iter().position(|finding| wanted.is(finding)) {
            Some(position) => drop(found.remove(position)),
            None => problems.push(format!("missing  {}", shown(wanted))),
        }
    }
    problems.extend(found.iter().map(|finding| {
        let about = finding.resource.as_ref().map(|key| key.named()).or_else(|| finding.application.clone()).unwrap_or_default();
        format!("too much {} {} {about}: {}", finding.severity.as_str(), finding.rule, finding.message)
    }));
    problems.extend(
        outcome
            .unjudged
            .iter()
            .filter(|_| !problems.is_empty())
            .map(|unjudged| format!("unjudged {}: {}", unjudged.what, unjudged.why))
            .collect::<Vec<_>>(),
    );
    Ok((problems, fired))
}

fn shown(expected: &ExpectedFinding) -> String {
    let about = expected.resource.as_ref().or(expected.application.as_ref());
    [expected.severity.as_ref(), Some(&expected.rule), about].into_iter().flatten().cloned().collect::<Vec<_>>().join(" ")
}

/// A repository whose commit holds `base` and whose files are those of `head`, and a configuration beside it that names the rules.
fn lay_out(folder: &Path, files: &[(String, String)]) -> Result<TempDir, TestError> {
    let unusable = |path: &Path, source: io::Error| TestError::File { path: path.to_owned(), source };
    let scratch = tempfile::tempdir().map_err(|source| unusable(&std::env::temp_dir(), source))?;
    let repository = scratch.path().join("repository");
    let rules = repository.join(FOLDER);
    let write = |path: &Path, text: &str| fs::write(path, text).map_err(|source| unusable(path, source));
    let with = |side: &str| -> Result<(), TestError> {
        copy(&folder.join(side), &repository)?;
        fs::create_dir_all(&rules).map_err(|source| unusable(&rules, source))?;
        for (index, (_, text)) in files.iter().enumerate() {
            write(&rules.join(format!("{index}.yaml")), text)?;
        }
        Ok(())
    };
    with("base")?;
    git(&repository, &["init", "--quiet", "--template="], AUTHOR, None)?;
    git(&repository, &["symbolic-ref", "HEAD", "refs/heads/main"], AUTHOR, None)?;
    git(&repository, &["add", "--all"], AUTHOR, None)?;
    git(&repository, &["commit", "--quiet", "--allow-empty", "--message", "base"], AUTHOR, Some(DATE))?;
    for entry in fs::read_dir(&repository).map_err(|source| unusable(&repository, source))?.flatten() {
        let path = entry.path();
        if path.file_name().is_some_and(|name| name == ".git") {
            continue;
        }
        let gone = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        gone.map_err(|source| unusable(&path, source))?;
    }
    with("head")?;
    write(&scratch.path().join("presync.yaml"), &format!("rules: [{FOLDER}]\n"))?;
    Ok(scratch)
}

/// Copies files and folders; links are left out.
fn copy(from: &Path, to: &Path) -> Result<(), TestError> {
    let unusable = |path: &Path, source: io::Error| TestError::File { path: path.to_owned(), source };
    fs::create_dir_all(to).map_err(|source| unusable(to, source))?;
    if !from.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(from).map_err(|source| unusable(from, source))? {
        let entry = entry.map_err(|source| unusable(from, source))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(|source| unusable(&path, source))?;
        if kind.is_dir() {
            copy(&path, &target)?;
        } else if kind.is_file() {
            fs::copy(&path, &target).map_err(|source| unusable(&path, source))?;
        }
    }
    Ok(())
}

/// The files with rules, with their texts, in the order of their names.
fn rule_files(folder: &Path) -> Result<Vec<(String, String)>, TestError> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(current) = open.pop() {
        for entry in fs::read_dir(&current).map_err(|source| TestError::File { path: current.clone(), source })?.flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == "tests" || name.starts_with('.') {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else if name.ends_with(".yaml") || name.ends_with(".yml") {
                let text = fs::read_to_string(&path).map_err(|source| TestError::File { path: path.clone(), source })?;
                files.push((path.to_string_lossy().into_owned(), text));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The folders in a folder, in the order of their names; none where there is no such folder.
fn folders(folder: &Path) -> Result<Vec<PathBuf>, TestError> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).map_err(|source| TestError::File { path: folder.to_owned(), source })?;
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    Ok(found)
}
