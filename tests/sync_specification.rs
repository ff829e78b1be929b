//! Every numbered scenario of the description of Argo CD's sync that presync was written by has a case: a folder
//! `fixtures/scenarios/sync-s9-<number>-…` or a unit test `s9_<number>_…`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Number of the last scenario.
const LAST: u32 = 82;

/// Scenarios without a case, with the reason.
const OPEN: [(u32, &str); 10] = [
    (53, "which options a person gives on a command line is no input of a plan"),
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cases: BTreeSet<u32> = BTreeSet::new();
    for folder in fs::read_dir(root.join("fixtures/scenarios")).unwrap() {
        cases.extend(number_after(&folder.unwrap().file_name().to_string_lossy(), "sync-s9-"));
    }
    collect_tests(&root.join("src"), &mut cases);
    collect_tests(&root.join("tests"), &mut cases);
    let open: BTreeMap<u32, &str> = OPEN.into();
    let missing: Vec<u32> = (1..=LAST).filter(|number| !cases.contains(number) && !open.contains_key(number)).collect();
    assert!(missing.is_empty(), "no case for scenarios {missing:?}");
    assert!(cases.iter().all(|number| (1..=LAST).contains(number)), "a case has a number that there is not: {cases:?}");
}

/// The numbers in the names of the tests of a folder's files.
fn collect_tests(folder: &Path, cases: &mut BTreeSet<u32>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_tests(&path, cases);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let tests = text.lines().filter_map(|line| line.trim_start().strip_prefix("fn "));
            cases.extend(tests.filter_map(|name| number_after(name, "s9_")));
        }
    }
}

/// The two-digit number that follows a prefix.
fn number_after(name: &str, prefix: &str) -> Option<u32> {
    name.strip_prefix(prefix)?.get(..2)?.parse().ok()
}
