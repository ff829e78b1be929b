//! The cache of renders: a run that finds its renders there says the same as one that makes them, and what is wrong with the folder stops no run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a helper of a test that cannot go on fails the test")]

mod support;
#[path = "support/tools.rs"]
#[allow(dead_code, reason = "the search path is for other tests")]
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use support::write;
use tempfile::TempDir;

fn object(kind: &str, name: &str, mode: &str) -> String {
    format!("{{ apiVersion: 'v1', kind: '{kind}', metadata: {{ name: '{name}' }}, data: {{ mode: '{mode}' }} }}\n")
}

/// Two Applications of jsonnet; of one the change edits a ConfigMap, of the other a Secret.
fn repository() -> TempDir {
    let (base, head) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (side, mode) in [(base.path(), "b2xkLXdvcmQ="), (head.path(), "bmV3LXdvcmQ=")] {
        for (name, kind) in [("plain", "ConfigMap"), ("secret", "Secret")] {
            let application = support::application(name, &format!("apps/{name}"));
            write(side, &format!("bootstrap/{name}.yaml"), &application);
            write(side, &format!("apps/{name}/main.jsonnet"), &object(kind, name, mode));
        }
    }
    support::lay_out(base.path(), head.path())
}

/// Asks for the report as text.
const TEXT: &str = "text";

fn plan(repository: &TempDir, arguments: &[&str], environment: &[(&str, &Path)]) -> Output {
    Command::cargo_bin("presync")
        .unwrap()
        .args(["plan", "--base", "main", "--head", "change", "--repo-url", support::REPOSITORY_URL])
        .args(["--format", if arguments.contains(&TEXT) { "text" } else { "json" }])
        .args(arguments.iter().filter(|argument| **argument != TEXT))
        .current_dir(repository.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

/// The renders in a cache folder.
fn renders(folder: &Path) -> Vec<PathBuf> {
    files(&folder.join("renders-2"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.map(|entry| entry.unwrap().path()).flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_run_that_finds_its_renders_says_the_same_as_one_without_the_cache() {
    let repository = repository();
    let folder = tempfile::tempdir().unwrap();
    let without = plan(&repository, &["--no-cache"], &[("XDG_CACHE_HOME", folder.path())]);
    assert_eq!(files(folder.path()), Vec::<PathBuf>::new());
    let cold = plan(&repository, &[], &[("XDG_CACHE_HOME", folder.path())]);
    let kept = renders(&folder.path().join("presync"));
    assert_eq!(kept.len(), 2, "base and head of the Application without Secret: {kept:?}");
    let warm = plan(&repository, &[], &[("PRESYNC_CACHE_DIR", &folder.path().join("presync"))]);
    let text = String::from_utf8(without.stdout).unwrap();
    assert!(text.contains("\"plain\"") && text.contains("\"secret\""), "{text}");
    assert_eq!(String::from_utf8(cold.stdout).unwrap(), text);
    assert_eq!(String::from_utf8(warm.stdout).unwrap(), text);
}

#[test]
fn no_file_of_the_cache_holds_a_value_of_a_secret() {
    let folder = tempfile::tempdir().unwrap();
    plan(&repository(), &["--cache-dir", folder.path().to_str().unwrap()], &[]);
    for file in renders(folder.path()) {
        let bytes = fs::read(&file).unwrap();
        let text = String::from_utf8(zstd::decode_all(&bytes[32..]).unwrap()).unwrap();
        assert!(text.contains("ConfigMap") && !text.contains("Secret"), "{text}");
    }
}

#[test]
fn an_entry_is_used_and_a_damaged_one_is_not() {
    let repository = repository();
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--cache-dir", folder.path().to_str().unwrap()];
    let cold = plan(&repository, &arguments, &[]).stdout;
    for (index, file) in renders(folder.path()).iter().enumerate() {
        let bytes = fs::read(file).unwrap();
        fs::write(file, &bytes[..bytes.len() / (index + 2)]).unwrap();
    }
    assert_eq!(plan(&repository, &arguments, &[]).stdout, cold);
    let mended: Vec<u64> = renders(folder.path()).iter().map(|file| fs::metadata(file).unwrap().len()).collect();
    assert!(mended.iter().all(|length| *length > 100), "{mended:?}");
}

#[test]
fn a_folder_that_cannot_be_used_is_a_note_and_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let output = plan(&repository(), &[TEXT, "--cache-dir", file.to_str().unwrap()], &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("renders cannot be kept in"), "{text}");
}

#[test]
fn twenty_processes_share_one_folder() {
    let repository = repository();
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--cache-dir", folder.path().to_str().unwrap()];
    let expected = plan(&repository, &["--no-cache"], &[]).stdout;
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..20).map(|_| scope.spawn(|| plan(&repository, &arguments, &[]).stdout)).collect();
        for run in runs {
            assert_eq!(run.join().unwrap(), expected);
        }
    });
    assert_eq!(renders(folder.path()).len(), 2);
}

/// A kubectl that notes each build in a log, and the log.
#[cfg(unix)]
fn counting() -> (TempDir, PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let kubectl = folder.path().join("kubectl");
    let real = tools::folder().join("kubectl");
    fs::write(&kubectl, format!("#!/bin/sh\n[ \"$1\" = version ] || echo \"$@\" >> {}\nexec {} \"$@\"\n", log.display(), real.display()))
        .unwrap();
    fs::set_permissions(&kubectl, fs::Permissions::from_mode(0o755)).unwrap();
    (folder, log)
}

#[test]
#[cfg(unix)]
fn kustomize_builds_nothing_that_an_earlier_run_has_built() {
    let (base, head) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for side in [base.path(), head.path()] {
        write(side, "bases/web/web.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: '1'}}\n");
        write(side, "bases/web/kustomization.yaml", "resources: [web.yaml]\n");
        for name in ["one", "two", "three"] {
            write(side, &format!("overlays/{name}/kustomization.yaml"), &format!("namePrefix: {name}-\nresources: [../../bases/web]\n"));
            let application = support::application(name, &format!("overlays/{name}"));
            write(side, &format!("bootstrap/{name}.yaml"), &application);
        }
    }
    write(head.path(), "overlays/one/kustomization.yaml", "namePrefix: uno-\nresources: [../../bases/web]\n");
    let repository = support::lay_out(base.path(), head.path());
    let (programs, log) = counting();
    let cache = tempfile::tempdir().unwrap();
    let kubectl = programs.path().join("kubectl");
    let run = |more: &[&str]| {
        let _ = fs::remove_file(&log);
        let arguments: Vec<&str> = [&["--offline", "--cache-dir", cache.path().to_str().unwrap()], more].concat();
        let output = plan(&repository, &arguments, &[("PRESYNC_KUBECTL", &kubectl), ("PRESYNC_KUSTOMIZE", Path::new("/nowhere"))]);
        let builds = fs::read_to_string(&log).unwrap_or_default().lines().count();
        (String::from_utf8(output.stdout).unwrap(), builds)
    };
    let (cold, builds) = run(&["--all"]);
    // Two are the same at both sides.
    assert_eq!(builds, 4, "{cold}");
    let (warm, builds) = run(&["--all"]);
    assert_eq!((builds, warm), (0, cold));

    write(repository.path(), "overlays/two/kustomization.yaml", "namePrefix: dos-\nresources: [../../bases/web]\n");
    support::commit(repository.path(), "another change");
    let (text, builds) = run(&["--all"]);
    assert!(builds == 1 && text.contains("dos-web"), "{builds} {text}");

    // Another version of the program is another program.
    let script = fs::read_to_string(&kubectl).unwrap();
    fs::write(&kubectl, script.replace("exec", "[ \"$1\" = version ] && echo patched; exec")).unwrap();
    assert_eq!(run(&["--all"]).1, 5);
}
