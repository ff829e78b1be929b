//! `snapshot-stale`: the live state is older than allowed, so what presync says may be wrong.

use jiff::Timestamp;

use super::draft::{Draft, Findings};
use super::facts::{View, plural};

pub(super) fn judge(view: &View<'_>, findings: &mut Findings<'_>) {
    for source in view.facts.live.sources() {
        let Some(captured) = source.captured_at.as_deref().and_then(|text| text.parse::<Timestamp>().ok()) else { continue };
        let age = view.facts.now - captured.as_second();
        if age <= view.facts.max_snapshot_age {
            continue;
        }
        let message = format!(
            "The snapshot {} was captured {} ago, and {} are allowed: what has changed in the cluster since then is not seen, so findings may be missing or wrong",
            source.source,
            duration(age),
            duration(view.facts.max_snapshot_age)
        );
        findings.push(Draft::new(message).discriminator(source.cluster.clone()));
    }
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
    fn a_fresh_snapshot_and_one_without_a_time_are_fine() {
        assert!(run("2026-11-30T01:00:00Z", "2026-11-30T04:00:00Z").is_empty());
        let run = Run { now: 1_900_000_000, ..Run::default() };
        assert!(run.judge(&["snapshot-stale"]).is_empty());
    }
}
