//! Every numbered scenario of the descriptions of Argo CD that presync was written by has a case: of its sync a folder
//! `fixtures/scenarios/sync-s9-<number>-…` or a unit test `s9_<number>_…`, of its rendering `render-s10-<number>-…` or `s10_<number>_…`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Number of the last scenario of the sync.
const LAST: u32 = 82;

/// Number of the last scenario of rendering.
const LAST_OF_RENDERING: u32 = 68;

/// Scenarios without a case, with the reason.
const OPEN: [(u32, &str); 9] = [
    (64, "the deletion of an Application"),
    (65, "the deletion of an Application"),
    (66, "the deletion of an Application"),
    (67, "the deletion of an Application"),
    (68, "needs ApplicationSets"),
    (69, "needs ApplicationSets"),
    (70, "the deletion of an Application"),
    (81, "drift of a live Application"),
    (82, "drift of a live Application"),
];

#[test]
fn every_numbered_scenario_has_a_case() {
    let cases = cases("sync-s9-", "s9_");
    let open: BTreeMap<u32, &str> = OPEN.into();
    let missing: Vec<u32> = (1..=LAST).filter(|number| !cases.contains(number) && !open.contains_key(number)).collect();
    assert!(missing.is_empty(), "no case for scenarios {missing:?}");
    assert!(cases.iter().all(|number| (1..=LAST).contains(number)), "a case has a number that there is not: {cases:?}");
}

#[test]
fn every_numbered_scenario_of_rendering_has_a_case() {
    let cases = cases("render-s10-", "s10_");
    let missing: Vec<u32> = (1..=LAST_OF_RENDERING).filter(|number| !cases.contains(number)).collect();
    assert!(missing.is_empty(), "no case for scenarios {missing:?}");
    assert!(cases.iter().all(|number| (1..=LAST_OF_RENDERING).contains(number)), "a case has a number that there is not: {cases:?}");
}

/// The numbers that folders of fixtures and tests with these prefixes have.
fn cases(folders: &str, tests: &str) -> BTreeSet<u32> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cases: BTreeSet<u32> = BTreeSet::new();
    for folder in fs::read_dir(root.join("fixtures/scenarios")).unwrap() {
        cases.extend(number_after(&folder.unwrap().file_name().to_string_lossy(), folders));
    }
    collect_tests(&root.join("src"), tests, &mut cases);
    collect_tests(&root.join("tests"), tests, &mut cases);
    cases
}

/// The numbers in the names of the tests of a folder's files.
fn collect_tests(folder: &Path, prefix: &str, cases: &mut BTreeSet<u32>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_tests(&path, prefix, cases);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let tests = text.lines().filter_map(|line| line.trim_start().strip_prefix("fn "));
            cases.extend(tests.filter_map(|name| number_after(name, prefix)));
        }
    }
}

/// The two-digit number that follows a prefix.
fn number_after(name: &str, prefix: &str) -> Option<u32> {
    name.strip_prefix(prefix)?.get(..2)?.parse().ok()
}
