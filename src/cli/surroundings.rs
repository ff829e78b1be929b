//! What a report says of the place where presync runs: the web pages of files, the complete report of the job, the texts of the rules.

use std::env;

use super::Failure;
use crate::report::{FileLinks, RuleText};
use crate::rules::RuleSet;

/// Whether this is a step of GitHub Actions.
pub(super) fn in_github_actions() -> bool {
    text("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// The texts of the rules.
pub(super) fn rule_texts() -> Result<Vec<RuleText>, Failure> {
    let rules = RuleSet::builtin().map_err(|error| miette::miette!("{error}"))?;
    let texts = rules.definitions().map(|definition| RuleText {
        id: definition.id.clone(),
        severity: definition.severity,
        summary: definition.summary.clone(),
        why: definition.why.clone(),
        help: definition.help.clone(),
        references: definition.references.clone(),
    });
    Ok(texts.collect())
}

/// The web pages of the repository's files, where a CI system says where it stands.
pub(super) fn file_links(base: &str, head: &str) -> Option<FileLinks> {
    let is_commit = |text: &str| text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (repository, view, commit) = match (text("GITHUB_SERVER_URL"), text("GITHUB_REPOSITORY"), text("CI_PROJECT_URL")) {
        (Some(server), Some(name), _) => (format!("{server}/{name}"), "blob", "GITHUB_SHA"),
        (_, _, Some(url)) => (url, "-/blob", "CI_COMMIT_SHA"),
        _ => return None,
    };
    // A checkout of a CI system is what its commit says.
    let head = Some(head.to_owned()).filter(|head| is_commit(head)).or_else(|| text(commit).filter(|commit| is_commit(commit)));
    is_plain_address(&repository).then(|| FileLinks { repository, view, base: base.to_owned(), head })
}

/// The page on which the complete report of the job is found.
pub(super) fn complete_report() -> Option<String> {
    let run = || Some(format!("{}/{}/actions/runs/{}", text("GITHUB_SERVER_URL")?, text("GITHUB_REPOSITORY")?, text("GITHUB_RUN_ID")?));
    run().or_else(|| text("CI_JOB_URL")).filter(|page| is_plain_address(page))
}

/// Whether an address can stand in Markdown and HTML as it is.
fn is_plain_address(address: &str) -> bool {
    let web = address.starts_with("https://") || address.starts_with("http://");
    web && address.chars().all(|c| c.is_ascii_alphanumeric() || "-._~:/?&=%+".contains(c))
}

fn text(name: &str) -> Option<String> {
    env::var(name).ok().filter(|text| !text.is_empty())
}
