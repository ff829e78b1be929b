//! What a report says besides the outcome: the texts of the rules, where files can be seen on the web, when and for how long it was made.
//!
//! Filled by the command line; the formats read it.

use std::time::Duration;

use crate::finding::{Location, Severity};
use crate::manifest::{Origin, Side};

/// Where the documentation stands.
const HOME: &str = env!("CARGO_PKG_REPOSITORY");

/// A rule, as reports describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleText {
    /// Its id.
    pub id: String,
    /// Severity of the usual case.
    pub severity: Severity,
    /// What it reports, in one line.
    pub summary: String,
    /// What happens and why it hurts.
    pub why: String,
    /// What to do, in one or two sentences.
    pub help: String,
    /// Where to read on.
    pub references: Vec<String>,
}

impl RuleText {
    /// The web page of the rule: its own for a built-in rule, else the first reference.
    pub fn page(&self) -> Option<String> {
        if self.id.contains('/') { self.references.first().cloned() } else { page(&self.id) }
    }
}

/// The web page of a built-in rule; a platform team's own rules have a slash in their id, and no page.
pub fn page(rule: &str) -> Option<String> {
    let plain = !rule.is_empty() && rule.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    plain.then(|| format!("{HOME}/blob/v{}/docs/rules/{rule}.md", env!("CARGO_PKG_VERSION")))
}

/// Where presync is at home.
pub fn home() -> &'static str {
    HOME
}

/// The web pages of a repository's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLinks {
    /// Address of the repository, for example `https://github.com/platform/fleet`.
    pub repository: String,
    /// What stands between it and the commit: `blob` on GitHub, `-/blob` on GitLab.
    pub view: &'static str,
    /// Commit of the base.
    pub base: String,
    /// Commit in which the files of the head stand; `None` where they are in none.
    pub head: Option<String>,
}

impl FileLinks {
    /// The page of a place.
    pub fn location(&self, location: &Location) -> Option<String> {
        let end = if location.end_line > location.line { format!("-L{}", location.end_line) } else { String::new() };
        self.at(&location.path, location.side, location.line).map(|page| page + &end)
    }

    /// The page of an object's first line.
    pub fn origin(&self, origin: &Origin) -> Option<String> {
        self.at(&origin.path, origin.side, origin.line)
    }

    fn at(&self, path: &str, side: Side, line: u32) -> Option<String> {
        let commit = match side {
            Side::Base => Some(&self.base),
            Side::Head => self.head.as_ref(),
        }?;
        Some(format!("{}/{}/{commit}/{}#L{line}", self.repository, self.view, encoded(path)))
    }
}

/// A path as a part of an address.
pub(super) fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.' | b'~') {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// Where and when a report is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setting {
    /// The web pages of the repository's files.
    pub files: Option<FileLinks>,
    /// Address of a complete report, for formats that must leave something out.
    pub complete: Option<String>,
    /// The time to which ages are counted.
    pub now: Option<jiff::Timestamp>,
    /// How long the run took.
    pub elapsed: Option<Duration>,
}

impl Setting {
    /// How old something is that was captured at a time, in words: `3 hours`.
    pub fn age(&self, captured: &str) -> Option<String> {
        let captured: jiff::Timestamp = captured.parse().ok()?;
        let seconds = self.now?.duration_since(captured).as_secs();
        let units = [(86_400, "day"), (3_600, "hour"), (60, "minute")];
        let (size, unit) = units.into_iter().find(|(size, _)| seconds >= size * 2).unwrap_or((60, "minute"));
        let count = (seconds / size).max(0);
        Some(format!("{count} {unit}{}", if count == 1 { "" } else { "s" }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_name_the_commit_of_the_side_and_encode_the_path() {
        let links =
            FileLinks { repository: "https://github.test/platform/fleet".to_owned(), view: "blob", base: "b".repeat(40), head: None };
        let place = |side| Location {
            path: "apps/a b/ü#1.yaml".into(),
            side,
            line: 4,
            column: 1,
            end_line: 6,
            end_column: 2,
            span: 0..1,
            label: String::new(),
        };
        let page = format!("https://github.test/platform/fleet/blob/{}/apps/a%20b/%C3%BC%231.yaml#L4-L6", "b".repeat(40));
        assert_eq!(links.location(&place(Side::Base)), Some(page));
        assert_eq!(links.location(&place(Side::Head)), None);
    }

    #[test]
    fn ages_are_told_in_the_largest_unit_that_fits_twice() {
        let setting = Setting { now: "2026-11-30T12:00:00Z".parse().ok(), ..Setting::default() };
        assert_eq!(setting.age("2026-11-30T11:58:30Z").as_deref(), Some("1 minute"));
        assert_eq!(setting.age("2026-11-30T04:00:00Z").as_deref(), Some("8 hours"));
        assert_eq!(setting.age("2026-11-29T10:00:00Z").as_deref(), Some("26 hours"));
        assert_eq!(setting.age("2026-11-27T12:00:00Z").as_deref(), Some("3 days"));
        assert_eq!(setting.age("2026-12-01T12:00:00Z").as_deref(), Some("0 minutes"));
        assert_eq!(setting.age("yesterday"), None);
    }

    #[test]
    fn only_built_in_rules_have_a_page_of_their_own() {
        assert!(page("prune-crd").is_some_and(|page| page.ends_with("/docs/rules/prune-crd.md")));
        assert_eq!(page("team/own"), None);
        assert_eq!(page("a](b"), None);
    }
}
