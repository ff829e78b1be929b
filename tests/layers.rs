//! Holds the imports of `src` to the order of the rooms: a room uses only those above it.

#![allow(clippy::unwrap_used, reason = "a folder that cannot be read fails the test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The rooms, each with the rooms that it may use.
const ROOMS: [(&str, &[&str]); 15] = [
    ("manifest", &[]),
    ("repo", &["manifest"]),
    ("argocd", &["manifest"]),
    ("finding", &["manifest"]),
    ("config", &["finding"]),
    ("snapshot", &["manifest", "argocd"]),
    ("inventory", &["snapshot", "argocd", "repo", "manifest"]),
    ("render", &["argocd", "repo", "manifest"]),
    ("plan", &["snapshot", "argocd", "manifest"]),
    ("rules", &["plan", "inventory", "snapshot", "argocd", "finding", "manifest"]),
    ("fix", &["finding", "manifest"]),
    ("report", &["plan", "inventory", "snapshot", "argocd", "finding", "manifest"]),
    ("check", &["report", "rules", "plan", "render", "inventory", "snapshot", "config", "finding", "argocd", "repo", "manifest"]),
    (
        "cli",
        &["check", "report", "fix", "rules", "plan", "render", "inventory", "snapshot", "config", "finding", "argocd", "repo", "manifest"],
    ),
    ("main", &["cli"]),
];

#[test]
fn every_room_uses_only_the_rooms_above_it() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let allowed: BTreeMap<&str, &[&str]> = ROOMS.into_iter().collect();
    let mut files = 0;
    let mut problems = Vec::new();
    visit(&source, &mut |path| {
        let relative = path.strip_prefix(&source).unwrap().to_string_lossy().into_owned();
        let room = relative.split(['/', '.']).next().unwrap();
        if room == "lib" {
            return;
        }
        files += 1;
        let Some(may_use) = allowed.get(room) else {
            problems.push(format!("{relative}: the room `{room}` is not in the table"));
            return;
        };
        let text = fs::read_to_string(path).unwrap();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            for used in used_rooms(line) {
                if used != room && allowed.contains_key(used) && !may_use.contains(&used) {
                    problems.push(format!("{relative}:{} uses `{used}`", number + 1));
                }
            }
        }
    });
    assert!(files > 50, "only {files} files were looked at");
    assert!(problems.is_empty(), "{problems:#?}");
}

/// The rooms that a line names after `crate::`, also inside of braces.
fn used_rooms(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for rest in line.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(list) => found.extend(list.split(['{', '}', ',']).filter_map(|part| part.trim().split("::").next())),
            None => found.extend(rest.split(|character: char| !character.is_alphanumeric() && character != '_').next()),
        }
    }
    found
}

fn visit(folder: &Path, with: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            visit(&path, with);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            with(&path);
        }
    }
}
