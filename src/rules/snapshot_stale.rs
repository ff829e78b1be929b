//! `snapshot-stale`: the live state is older than allowed, or nobody knows how old, so what presync says may be wrong.

use jiff::Timestamp;

use super::draft::{Draft, Findings};
use super::facts::{View, plural};
use crate::snapshot::SnapshotSource;

/// Seconds by which clocks may differ.
const CLOCK_SKEW: i64 = 300;

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for source in view.facts.live.sources() {
        let Some((grade, message)) = complaint(source, view.facts.now, view.facts.max_snapshot_age) else { continue };
        let draft = Draft::new(message).grade(grade).discriminator(source.cluster.clone());
        findings.push(match grade {
            Some("unknown") => draft.help(
                "Say when the objects were read: `presync snapshot import --captured-at TIME`, or `capturedAt` in a settings.yaml beside them.",
            ),
            Some(_) => draft.help("Mend the clock of the machine that captured it, or the time that was given with --captured-at."),
            None => draft,
        });
    }
}

/// What is wrong with a snapshot's age, with the grade.
fn complaint(source: &SnapshotSource, now: i64, allowed: i64) -> Option<(Option<&'static str>, String)> {
    let name = &source.source;
    let unknown = |why: String| {
        let message = format!(
            "The age of the snapshot {name} is not known, because {why}: what has changed in the cluster since it was captured is not seen"
        );
        Some((Some("unknown"), message))
    };
    let Some(text) = source.captured_at.as_deref().filter(|text| !text.is_empty()) else {
        // What kubectl printed never says; the report does then, once.
        source.digest.as_ref()?;
        return unknown("it does not say when it was captured".to_owned());
    };
    let Ok(captured) = text.parse::<Timestamp>() else { return unknown(format!("`{text}` is no time")) };
    let age = now - captured.as_second();
    if age < -CLOCK_SKEW {
        let message = format!(
            "The snapshot {name} says that it was captured at {text}, which is {} ahead of now: its age is not known",
            duration(-age)
        );
        return Some((Some("future"), message));
    }
    (age > allowed).then(|| {
        let message = format!(
            "The snapshot {name} was captured {} ago, and {} are allowed: what has changed in the cluster since then is not seen, so findings may be missing or wrong",
            duration(age),
            duration(allowed)
        );
        (None, message)
    })
}

/// Seconds in the largest unit that fits.
fn duration(seconds: i64) -> String {
    let seconds = usize::try_from(seconds).unwrap_or(0);
    match seconds {
        172_800.. => plural(seconds / 86_400, "day"),
        7_200.. => plural(seconds / 3_600, "hour"),
        _ => plural(seconds / 60, "minute"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::*;
    use super::*;

    fn run(captured: &str, now: &str) -> Vec<crate::finding::Finding> {
        let now = now.parse::<jiff::Timestamp>().unwrap().as_second();
        Run { live: snapshot_captured(captured), now, ..Run::default() }.judge(&["snapshot-stale"])
    }

    #[test]
    fn a_snapshot_older_than_allowed_is_reported_with_its_age() {
        let found = run("2026-11-20T04:00:00Z", "2026-11-30T04:00:00Z");
        assert!(found[0].message.contains("was captured 10 days ago, and 24 hours are allowed"), "{}", found[0].message);
    }

    #[test]
    fn a_fresh_snapshot_a_clock_that_is_a_little_behind_and_no_snapshot_are_fine() {
        assert!(run("2026-11-30T01:00:00Z", "2026-11-30T04:00:00Z").is_empty());
        assert!(run("2026-11-30T04:04:00Z", "2026-11-30T04:00:00Z").is_empty());
        let run = Run { now: 1_900_000_000, ..Run::default() };
        assert!(run.judge(&["snapshot-stale"]).is_empty());
    }

    #[test]
    fn a_snapshot_from_the_future_is_reported() {
        let found = run("2026-12-02T04:00:00Z", "2026-11-30T04:00:00Z");
        assert!(found[0].message.contains("which is 2 days ahead of now"), "{}", found[0].message);
        assert_eq!(found[0].severity, crate::finding::Severity::Warning);
    }

    #[test]
    fn a_snapshot_without_a_time_or_with_something_else_is_of_unknown_age() {
        let imported = SnapshotSource {
            source: "live.presync.zst".into(),
            captured_at: None,
            cluster: SERVER.into(),
            objects: 1,
            digest: Some("sha256:0".into()),
        };
        let (grade, message) = complaint(&imported, 0, 0).unwrap();
        assert!(grade == Some("unknown") && message.contains("does not say when it was captured"), "{message}");
        assert!(complaint(&SnapshotSource { digest: None, ..imported }, 0, 0).is_none());
        let wrong = run("yesterday", "2026-11-30T04:00:00Z");
        assert!(wrong[0].message.contains("`yesterday` is no time"), "{}", wrong[0].message);
    }
}
