//! The steps of `action.yml`, run as a runner does; `tests/action/harness.py` has the cases.

#![allow(clippy::unwrap_used, reason = "a file that cannot be read fails the test")]

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

#[test]
fn the_action_comments_annotates_uploads_and_installs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = TempDir::new().unwrap();
    let action: serde_json::Value = serde_yaml::from_str(&fs::read_to_string(root.join("action.yml")).unwrap()).unwrap();
    let json = folder.path().join("action.json");
    fs::write(&json, action.to_string()).unwrap();
    let output = Command::new("python3")
        .arg(root.join("tests/action/harness.py"))
        .args([Path::new(env!("CARGO_BIN_EXE_presync")), root, &json])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && report.contains("\nOK"), "{report}");
}
