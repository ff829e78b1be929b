//! Comments that waive findings, in the files that the change touches.
//!
//! Takes the two sides; hands on the comments of head, so that a mistake in one is told.

use super::revisions::Revisions;
use crate::manifest::{Origin, Side, reader};
use crate::rules::WaiverComment;
use crate::rules::suppress::comment;

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
