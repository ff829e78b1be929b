//! The HTML report in a real browser. Ignored unless asked for: `make test-html`, which needs a headless Chromium (`CHROMIUM` names it).

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a helper of a test that cannot go on fails the test")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// The page that a browser makes of a report, after a script of ours ran in it.
fn page(folder: &Path, report: &Path, script: &str) -> String {
    let text = fs::read_to_string(report).unwrap();
    // The policy of the report permits its own script alone; the copy that is looked at goes without it.
    let (before, policy) = text.split_once("<meta http-equiv").unwrap();
    let after = policy.split_once('>').unwrap().1;
    let copy = folder.join("copy.html");
    fs::write(&copy, format!("{before}{}", after.replace("</body>", &format!("<script>{script}</script></body>")))).unwrap();
    let program = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium-headless-shell".to_owned());
    let browse = |file: &Path| {
        let output = Command::new(&program)
            .args(["--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom"])
            .arg(format!("file://{}", file.display()))
            .env("HOME", folder)
            .output()
            .expect("a headless Chromium is installed");
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!log.contains("CONSOLE"), "the console has something to say: {log}");
        String::from_utf8(output.stdout).unwrap()
    };
    // As it is, with its policy: the script runs, which shows the form.
    let plain = browse(report);
    assert!(plain.contains("role=\"search\">"), "the report's own script does not run: {plain}");
    browse(&copy)
}

#[test]
#[ignore = "needs a headless Chromium; `make test-html` runs it"]
fn search_and_filters_hide_what_does_not_fit() {
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/scenarios/pvc-removed-unprotected");
    let repository = support::lay_out(&scenario.join("base"), &scenario.join("head"));
    let folder = TempDir::new().unwrap();
    let report = folder.path().join("report.html");
    let status = Command::new(env!("CARGO_BIN_EXE_presync"))
        .args(["check", "--quiet", "--base", "main", "--repo-url", support::REPOSITORY_URL, "--snapshot"])
        .arg(scenario.join("live"))
        .arg(format!("--report=html={}", report.display()))
        .current_dir(repository.path())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(1));
    let script = "
        const set = (id, value) => { const e = document.getElementById(id); e.value = value; e.dispatchEvent(new Event('input')); };
        const shown = () => [...document.querySelectorAll('.item')].filter((e) => !e.hidden).length;
        const all = shown();
        set('action', 'prune'); const prunes = shown(); set('action', '');
        set('severity', 'error'); const errors = shown(); set('severity', '');
        set('search', 'nothing has this'); const none = shown(); set('search', '');
        document.getElementById('open').click();
        const open = [...document.querySelectorAll('main details')].every((e) => e.open);
        document.getElementById('theme').click();
        const theme = document.documentElement.dataset.theme;
        const unnamed = [...document.querySelectorAll('input, select')].filter((e) => !e.labels.length).length;
        document.title = JSON.stringify({all, prunes, errors, none, open, theme, unnamed, again: shown()});";
    let seen = page(folder.path(), &report, script);
    assert!(
        seen.contains(r#"<title>{"all":3,"prunes":1,"errors":1,"none":0,"open":true,"theme":"dark","unnamed":0,"again":3}</title>"#),
        "{seen}"
    );
}
