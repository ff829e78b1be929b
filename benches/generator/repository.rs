//! Lays a fleet out as a Git repository.
//!
//! Takes a [`Fleet`]; writes `bootstrap/`, `clusters/prod/`, `projects/` and `apps/`, and commits them as a clone would have them.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use super::{Fleet, REPOSITORY, Result, manifests, service};

const README: &str = "# Fleet\n\nGenerated. `bootstrap/root.yaml` is applied by hand; everything else follows from it.\n";

/// Removes an earlier fleet; refuses a folder in which anything else lies.
pub(super) fn clear(root: &Path) -> Result<()> {
    let mut entries = match fs::read_dir(root) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    if entries.next().is_none() {
        return Ok(());
    }
    if !fs::read_to_string(root.join("README.md")).is_ok_and(|text| text == README) {
        return Err(format!("{} holds something else than a generated fleet", root.display()).into());
    }
    Ok(fs::remove_dir_all(root)?)
}

/// Writes and commits everything.
pub(super) fn write(fleet: &Fleet) -> Result<()> {
    let root = &fleet.root;
    fs::create_dir_all(root)?;
    put(root, "README.md", README)?;
    put(root, "bootstrap/root.yaml", &manifests::parent("root", "clusters/prod"))?;
    put(root, "clusters/prod/projects.yaml", &manifests::parent("projects", "projects"))?;
    for team in service::teams(&fleet.services) {
        put(root, &format!("projects/{team}.yaml"), &manifests::project(team))?;
    }
    for service in &fleet.services {
        put(root, &format!("clusters/prod/{}.yaml", service.application()), &manifests::application(service))?;
        for (path, text) in manifests::files(service) {
            put(root, &format!("{}/{path}", service.folder()), &text)?;
        }
    }
    git(root, &["init", "--quiet", "--initial-branch=main"])?;
    git(root, &["remote", "add", "origin", REPOSITORY])?;
    git(root, &["add", "--all"])?;
    git(root, &["commit", "--quiet", "--message=Fleet"])?;
    // A clone holds packs, not single files.
    git(root, &["repack", "-a", "-d", "--quiet"])
}

fn put(root: &Path, path: &str, text: &str) -> Result<()> {
    let path = root.join(path);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(path, text)?)
}

/// Runs Git without the settings of this machine, so that the commit is the same everywhere.
pub(super) fn git(root: &Path, arguments: &[&str]) -> Result<()> {
    const WHEN: &str = "2026-11-02T08:00:00Z";
    let mut command = Command::new("git");
    command.arg("-C").arg(root).args(arguments).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Fleet").env(format!("GIT_{who}_EMAIL"), "fleet@example.test");
        command.env(format!("GIT_{who}_DATE"), WHEN);
    }
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("git {} failed: {status}", arguments.join(" ")).into()) }
}
