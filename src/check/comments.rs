//! Comments that waive findings, in the files that the change touches and in those that findings point into.
//!
//! Takes the two sides; hands on the comments of head, so that a mistake in one is told, and those that waive nothing.

use std::collections::BTreeSet;

use super::Outcome;
use super::revisions::Revisions;
use crate::finding::Finding;
use crate::manifest::{Origin, Side, reader};
use crate::rules::WaiverComment;
use crate::rules::suppress::{comment, comments_near};

/// The comments in YAML files that the change touches.
pub(super) fn changed(revisions: &Revisions) -> Vec<WaiverComment> {
    let mut found = Vec::new();
    let files = revisions.head.entries().iter().map(|entry| &*entry.path);
    let yaml = files.filter(|path| path.ends_with(".yaml") || path.ends_with(".yml"));
    for path in yaml.filter(|path| revisions.changes.touches(path)) {
        let Ok(bytes) = revisions.head.read(path) else { continue };
        let text = reader::decode(&bytes).text;
        let before = revisions.base.read(path).ok().map(|bytes| reader::decode(&bytes).text.into_owned()).unwrap_or_default();
        for (line, (rules, reason)) in (1..).zip(text.lines()).filter_map(|(number, line)| Some(((number, line), comment(line)?))) {
            let (number, line): (u32, &str) = line;
            found.push(WaiverComment {
                origin: Origin { path: path.into(), side: Side::Head, document: 0..0, line: number, within: String::new(), rendered: None },
                rules: rules.into_iter().map(str::to_owned).collect(),
                reason: reason.to_owned(),
                introduced: !before.lines().any(|other| other == line),
            });
        }
    }
    found
}

/// The comments of head that waive none of these findings, each with the rules that it names in vain: those of the files that the change
/// touches, and those of all files that findings point into.
pub(super) fn idle(outcome: &Outcome, touched: &[WaiverComment]) -> Vec<WaiverComment> {
    let waived: BTreeSet<(&str, &str, &str)> = outcome.findings.iter().flat_map(|finding| near(finding, outcome)).collect();
    let mut found = touched.to_vec();
    for ((_, path), text) in outcome.texts.iter().filter(|((side, _), _)| *side == Side::Head) {
        for (number, line) in (1..).zip(text.lines()) {
            let Some((rules, reason)) = comment(line) else { continue };
            let known = touched.iter().any(|other| other.origin.path == *path && other.origin.line == number);
            // A mistake in a file that the change touches has been told.
            if !known {
                found.push(WaiverComment {
                    origin: Origin {
                        path: path.clone(),
                        side: Side::Head,
                        document: 0..0,
                        line: number,
                        within: String::new(),
                        rendered: None,
                    },
                    rules: rules.into_iter().map(str::to_owned).collect(),
                    reason: reason.to_owned(),
                    introduced: false,
                });
            }
        }
    }
    for comment in &mut found {
        let (path, reason) = (&*comment.origin.path, comment.reason.as_str());
        comment.rules.retain(|rule| !waived.contains(&(path, rule, reason)));
    }
    found.retain(|comment| !comment.rules.is_empty());
    found
}

/// What comments at the line of a finding, or above it, waive: file, rule and reason.
fn near<'o>(finding: &'o Finding, outcome: &'o Outcome) -> Vec<(&'o str, &'o str, &'o str)> {
    let Some(location) = finding.locations.first() else { return Vec::new() };
    let Some(text) = outcome.texts.get(&(location.side, location.path.clone())) else { return Vec::new() };
    let of_rule = comments_near(text, location.line).filter(|(rules, _)| rules.contains(&&*finding.rule));
    of_rule.map(|(_, reason)| (&*location.path, &*finding.rule, reason)).collect()
}
