//! A fleet without faults, as the benchmarks make it: nobody is told anything about it, and what a check costs grows as the fleet does.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

#[path = "../benches/generator/mod.rs"]
#[allow(dead_code, reason = "made for benchmarks, which use all of it")]
mod generator;

use std::alloc::System;
use std::path::{Path, PathBuf};

use generator::Fleet;
use presync::check::{self, Head, Options, Outcome};
use presync::finding::Severity;
use presync::plan::Action;
use presync::render::Programs;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn run(repo: &Path, snapshot: Option<&Path>, all: bool) -> Outcome {
    let options = Options {
        repo: repo.to_owned(),
        base: None,
        head: Head::Worktree,
        snapshots: snapshot.into_iter().map(|file| file.to_string_lossy().into_owned()).collect(),
        max_snapshot_age: Some(i64::MAX),
        now: jiff::Timestamp::UNIX_EPOCH,
        repo_urls: Vec::new(),
        applications: Vec::new(),
        all,
        offline: true,
        programs: Programs::from_environment(),
        config: None,
        cache: None,
    };
    check::run(&options).unwrap()
}

fn fleet(folder: &Path, applications: usize) -> (Fleet, PathBuf) {
    let fleet = Fleet::generate(&folder.join("fleet"), applications).unwrap();
    let file = folder.join("live.json");
    fleet.write_snapshot(&file).unwrap();
    (fleet, file)
}

/// Nothing above a remark, and nothing that could not be looked at.
fn assert_quiet(outcome: &Outcome) {
    let loud: Vec<_> = outcome.findings.iter().filter(|finding| finding.severity != Severity::Info).collect();
    assert!(loud.is_empty(), "{loud:?}");
    assert!(outcome.unjudged.is_empty(), "{:?}", outcome.unjudged);
}

/// Allocations of a whole check, and of one of a single changed Application.
fn allocations(applications: usize) -> [usize; 2] {
    let folder = tempfile::tempdir().unwrap();
    let (fleet, live) = fleet(folder.path(), applications);
    // What is made once for all runs is made before anything is counted.
    run(&fleet.root, Some(&live), true);
    let of = |all: bool| {
        let region = Region::new(COUNTED);
        run(&fleet.root, Some(&live), all);
        region.change().allocations
    };
    let whole = of(true);
    fleet.bump_image().unwrap();
    [whole, of(false)]
}

// One test, as another one beside it would be counted as well.
#[test]
fn a_fleet_without_faults_is_quiet_and_a_check_costs_in_proportion_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let (fleet, live) = fleet(folder.path(), 40);
    for snapshot in [None, Some(live.as_path())] {
        let outcome = run(&fleet.root, snapshot, true);
        assert_quiet(&outcome);
        assert!(outcome.plans.iter().all(|plan| plan.changes.iter().all(|change| change.action == Action::None)));
    }
    fleet.bump_image().unwrap();
    for snapshot in [None, Some(live.as_path())] {
        let outcome = run(&fleet.root, snapshot, false);
        assert_quiet(&outcome);
        assert_eq!(outcome.plans.len(), 1);
    }
    let (small, large) = (allocations(60), allocations(240));
    for (small, large) in small.into_iter().zip(large) {
        assert!(large < small * 4 * 11 / 10, "4 times the Applications take {small} and then {large} allocations");
    }
}
