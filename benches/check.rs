//! Measures `check` on a generated fleet: everything, one changed Application, and planning alone, in process and as the program.
//!
//! `cargo bench --bench check`; `PRESYNC_BENCH_APPLICATIONS` sets the size. Prints medians; judges nothing but that the runs were right.

#![allow(clippy::print_stdout, reason = "prints its results")]

mod generator;
mod measure;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use generator::rendered::{self, Rendered};
use generator::{Fleet, Result};
use measure::Times;
use presync::check::{self, Head, Options, Outcome};
use presync::finding::Severity;
use presync::plan::Action;
use presync::render::Programs;
use presync::snapshot;
use rayon::prelude::*;

fn main() -> Result<()> {
    // Cargo says `--bench` when it measures; a test run only has to see that this builds.
    if !std::env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let applications = std::env::var("PRESYNC_BENCH_APPLICATIONS").map_or(Ok(1_000), |text| text.parse::<usize>())?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fleet");
    std::fs::create_dir_all(&folder)?;
    let (fleet, file) =
        (Fleet::generate(&folder.join(applications.to_string()), applications)?, folder.join(format!("{applications}.json")));
    let objects = fleet.write_snapshot(&file)?;
    let bytes = std::fs::metadata(&file)?.len();

    println!("presync {}, {}", env!("CARGO_PKG_VERSION"), measure::machine());
    println!("{applications} Applications, {} manifests; snapshot of {objects} objects, {:.1} MB", applications * 4, bytes as f64 / 1e6);
    println!("\n{:<58} {:>10} {:>10} {:>10}", format!("milliseconds, {} runs", measure::RUNS), "median", "least", "most");
    let bench = Bench { fleet, file };
    bench.everything()?;
    bench.planning()?;
    bench.one_change()?;
    println!("\nload afterwards {}", measure::load());
    Ok(())
}

/// A fleet and its snapshot.
struct Bench {
    fleet: Fleet,
    file: PathBuf,
}

impl Bench {
    fn everything(&self) -> Result<()> {
        let outcome = self.run(true, true)?;
        clean(&outcome)?;
        let waiting = outcome.plans.iter().filter(|plan| plan.changes.iter().any(|change| change.action != Action::None)).count();
        if waiting > 0 {
            println!("not measured as meant: {waiting} Applications are out of sync before any change");
        }
        line("load the snapshot", Times::of(|| snapshot::load(&[self.file.to_string_lossy()]))?);
        line("check --all, assumed", Times::of(|| self.run(true, false))?);
        line("check --all, with snapshot, load included", Times::of(|| self.run(true, true))?);
        line("presync check --all", self.program(&["--all"])?);
        line("presync check --all --snapshot", self.program(&["--all", "--snapshot", &self.file.to_string_lossy()])?);
        Ok(())
    }

    fn one_change(&self) -> Result<()> {
        self.fleet.bump_image()?;
        let outcome = self.run(false, true)?;
        clean(&outcome)?;
        if outcome.plans.len() != 1 {
            return Err(format!("one Application was changed, {} have a plan", outcome.plans.len()).into());
        }
        line("check of one change, assumed", Times::of(|| self.run(false, false))?);
        line("check of one change, with snapshot, load included", Times::of(|| self.run(false, true))?);
        line("presync check", self.program(&[])?);
        line("presync check --snapshot", self.program(&["--snapshot", &self.file.to_string_lossy()])?);
        self.fleet.restore()
    }

    /// Planning with everything read, rendered and loaded.
    fn planning(&self) -> Result<()> {
        let live = snapshot::load(&[self.file.to_string_lossy()])?;
        let rendered = rendered::of(&self.fleet)?;
        let world = rendered::world(&live, &rendered);
        let plan = |one: &Rendered| rendered::plan(one, &world).changes.len();
        let all = || rendered.par_iter().map(plan).sum::<usize>();
        line("plan of all Applications alone", Times::of(|| Ok::<_, Infallible>(all()))?);
        let one = rendered.get(rendered.len() / 2).ok_or("nothing was rendered")?;
        line("plan of one Application alone", Times::of(|| Ok::<_, Infallible>(plan(one)))?);
        Ok(())
    }

    fn run(&self, all: bool, with_snapshot: bool) -> Result<Outcome> {
        let options = Options {
            repo: self.fleet.root.clone(),
            base: None,
            head: Head::Worktree,
            snapshots: with_snapshot.then(|| self.file.to_string_lossy().into_owned()).into_iter().collect(),
            max_snapshot_age: Some(i64::MAX),
            now: jiff::Timestamp::now(),
            repo_urls: Vec::new(),
            applications: Vec::new(),
            all,
            offline: true,
            programs: Programs::from_environment(),
            config: None,
            cache: None,
        };
        Ok(check::run(&options)?)
    }

    /// The program as a user runs it, until it has ended.
    fn program(&self, arguments: &[&str]) -> Result<Times> {
        Times::of(|| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_presync"));
            command.arg("check").arg("--repo").arg(&self.fleet.root).args(arguments).stdout(Stdio::null());
            let status = command.status()?;
            if status.success() { Ok(()) } else { Err(format!("presync check {} ended with {status}", arguments.join(" ")).into()) }
        })
    }
}

/// Says what is wrong with a fleet that should have no faults.
fn clean(outcome: &Outcome) -> Result<()> {
    if let Some(finding) = outcome.findings.iter().find(|finding| finding.severity != Severity::Info) {
        return Err(format!("a fleet without faults has a finding: {finding:?}").into());
    }
    match outcome.unjudged.first() {
        Some(unjudged) => Err(format!("a plain fleet has something that cannot be judged: {unjudged:?}").into()),
        None => Ok(()),
    }
}

fn line(what: &str, times: Times) {
    println!("{what:<58} {times}");
}
