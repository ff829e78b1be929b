//! The baseline `.presync-baseline.json`: findings that were there when presync was introduced, so that only new ones count.
//!
//! Takes its text; says since when a finding is in it. `--write-baseline` writes it.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::finding::Finding;

/// The file's name at the root of a repository.
pub const FILE: &str = ".presync-baseline.json";
/// The version of its format.
const VERSION: u32 = 1;

/// Known findings by fingerprint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    entries: BTreeMap<String, Entry>,
}

/// The file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    version: u32,
    findings: Vec<Entry>,
}

/// A known finding. What is not the fingerprint is for the reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    rule: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    application: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resource: Option<String>,
    fingerprint: String,
    since: String,
}

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// What is wrong with it, in a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Text { version, findings } = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if version != VERSION {
            return Err(format!("it is of version {version}; this presync reads version {VERSION}"));
        }
        let mut entries = BTreeMap::new();
        for entry in findings {
            let _: Date = entry.since.parse().map_err(|_| format!("`{}` is no day such as 2027-01-31", entry.since))?;
            entries.insert(entry.fingerprint.clone(), entry);
        }
        Ok(Self { entries })
    }

    /// A baseline of these findings. What `before` has already keeps its day.
    pub fn of<'f>(findings: impl IntoIterator<Item = &'f Finding>, before: &Self, today: Date) -> Self {
        let entries = findings.into_iter().map(|finding| {
            let fingerprint = finding.fingerprint();
            let since = before.entries.get(&fingerprint).map_or_else(|| today.to_string(), |known| known.since.clone());
            let entry = Entry {
                rule: finding.rule.to_string(),
                application: finding.application.clone(),
                resource: finding.resource.as_ref().map(|key| key.named()),
                fingerprint: fingerprint.clone(),
                since,
            };
            (fingerprint, entry)
        });
        Self { entries: entries.collect() }
    }

    /// This baseline with what another one has besides.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        for (fingerprint, entry) in &other.entries {
            self.entries.entry(fingerprint.clone()).or_insert_with(|| entry.clone());
        }
        self
    }

    /// The file's text, in an order that does not depend on fingerprints.
    pub fn text(&self) -> String {
        let mut findings: Vec<Entry> = self.entries.values().cloned().collect();
        findings.sort_by(|a, b| {
            (&a.rule, &a.application, &a.resource, &a.fingerprint).cmp(&(&b.rule, &b.application, &b.resource, &b.fingerprint))
        });
        let text = serde_json::to_string_pretty(&Text { version: VERSION, findings }).unwrap_or_default();
        format!("{text}\n")
    }

    /// How many findings it knows.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Since when a finding is known.
    pub fn since(&self, fingerprint: &str) -> Option<Date> {
        self.entries.get(fingerprint)?.since.parse().ok()
    }

    /// What this one has and the other one does not.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let own = self.entries.iter().filter(|(fingerprint, _)| !other.entries.contains_key(*fingerprint));
        Self { entries: own.map(|(fingerprint, entry)| (fingerprint.clone(), entry.clone())).collect() }
    }

    /// How many of its findings are not among these fingerprints.
    pub(super) fn gone(&self, found: &std::collections::BTreeSet<String>) -> usize {
        self.entries.keys().filter(|fingerprint| !found.contains(*fingerprint)).count()
    }
}

/// How old a finding is, as a part of a sentence: `since 2026-01-02 (332 days)`.
pub(super) fn age(since: Date, today: Date) -> String {
    let days = since.until(today).map_or(0, |span| span.get_days());
    let days = if days == 1 { "1 day".to_owned() } else { format!("{days} days") };
    format!("since {since} ({days})")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::finding;
    use super::*;

    fn day(text: &str) -> Date {
        text.parse().unwrap()
    }

    #[test]
    fn a_baseline_is_read_as_it_was_written_and_known_findings_keep_their_day() {
        let (old, new) = (finding("mass-prune", "a"), finding("pvc-unprotected", "b"));
        let first = Baseline::of([&old], &Baseline::default(), day("2026-01-02"));
        let second = Baseline::of([&new, &old], &first, day("2026-11-30"));
        let read = Baseline::parse(&second.text()).unwrap();
        assert_eq!(read, second);
        assert_eq!(read.since(&old.fingerprint()), Some(day("2026-01-02")));
        assert_eq!(read.since(&new.fingerprint()), Some(day("2026-11-30")));
        assert_eq!(read.without(&first).len(), 1);
        let other = Baseline::of([&new], &Baseline::default(), day("2026-11-30"));
        assert_eq!(other.with(&first), second);
    }

    #[test]
    fn what_is_no_baseline_is_refused() {
        assert!(Baseline::parse("{}").is_err() && Baseline::parse("[]").is_err());
        assert!(Baseline::parse(r#"{"version": 2, "findings": []}"#).unwrap_err().contains("version 2"));
        let odd = r#"{"version": 1, "findings": [{"rule": "a", "fingerprint": "f", "since": "soon"}]}"#;
        assert!(Baseline::parse(odd).unwrap_err().contains("`soon`"));
    }

    #[test]
    fn ages_are_days() {
        assert_eq!(age(day("2026-01-02"), day("2026-11-30")), "since 2026-01-02 (332 days)");
        assert_eq!(age(day("2026-11-29"), day("2026-11-30")), "since 2026-11-29 (1 day)");
    }
}
