//! Sync windows of an AppProject: when they let a sync start, and from when on again.
//!
//! Takes the windows that concern an Application, and a time; hands on a [`Gate`].

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::application::Destination;
use super::cron::{CronError, Schedule};
use super::pattern::Pattern;
use super::version::Version;
use super::zone;

/// How many changes of windows are looked at to find the time at which a sync may start.
const FORESIGHT: usize = 2_000;

/// One entry of `spec.syncWindows`.
///
/// `syncOverrun` is left out: it lets a sync that has started go on, and a merge starts a new one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SyncWindow {
    kind: String,
    schedule: String,
    duration: String,
    applications: Option<Vec<Pattern>>,
    namespaces: Option<Vec<Pattern>>,
    clusters: Option<Vec<Pattern>>,
    manual_sync: bool,
    time_zone: String,
    and_operator: bool,
}

/// What the windows say about a sync that wants to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// It may start.
    Open,
    /// It has to wait.
    Closed {
        /// Which window holds it, in words.
        because: String,
        /// From when on it may start; `None` where no such time is in sight.
        until: Option<Timestamp>,
    },
}

impl SyncWindow {
    /// Whether the window concerns an Application: by its name, the cluster it names, or its namespace; with `andOperator` by all that are set.
    ///
    /// Source: Argo CD `pkg/apis/application/v1alpha1/types.go:Matches`.
    pub fn concerns(&self, application: &str, destination: &Destination, version: Version) -> bool {
        let any = |patterns: &Option<Vec<Pattern>>, texts: &[&str]| {
            let patterns = patterns.as_deref().unwrap_or_default();
            let matches = |pattern: &Pattern| texts.iter().any(|text| pattern.matches(text));
            (!patterns.is_empty()).then(|| patterns.iter().any(matches))
        };
        let named: Vec<&str> = [&*destination.name, &*destination.server].into_iter().filter(|text| !text.is_empty()).collect();
        let verdicts =
            [any(&self.applications, &[application]), any(&self.clusters, &named), any(&self.namespaces, &[&destination.namespace])];
        let mut set = verdicts.into_iter().flatten().peekable();
        if self.and_operator && version.reads_and_operator_of_windows() {
            set.peek().is_some() && set.all(|matched| matched)
        } else {
            set.any(|matched| matched)
        }
    }

    /// The window in a few words: "deny window `0 22 * * *` for 8h (Europe/Paris)".
    fn named(&self) -> String {
        let zone = if self.time_zone.is_empty() { "UTC" } else { &self.time_zone };
        format!("{} window `{}` for {} ({zone})", self.kind, self.schedule, self.duration)
    }
}

/// Why a window cannot be read; Argo CD then lets no sync start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Unreadable {
    #[error("the schedule `{0}` of a sync window cannot be read ({1})")]
    Schedule(String, CronError),
    #[error("the duration `{0}` of a sync window cannot be read")]
    Duration(String),
}

/// A window with its texts understood.
struct Clock<'a> {
    window: &'a SyncWindow,
    schedule: Schedule,
    duration: SignedDuration,
    zone: TimeZone,
}

impl<'a> Clock<'a> {
    fn new(window: &'a SyncWindow) -> Result<Self, Unreadable> {
        let schedule = Schedule::parse(&window.schedule).map_err(|error| Unreadable::Schedule(window.schedule.clone(), error))?;
        let duration = zone::duration(&window.duration).ok_or_else(|| Unreadable::Duration(window.duration.clone()))?;
        // An unknown time zone counts as UTC.
        let zone = zone::named(&window.time_zone).unwrap_or(TimeZone::UTC);
        Ok(Self { window, schedule, duration, zone })
    }

    /// How far the zone's clocks are ahead of UTC. Argo CD reads the schedule with the shift of the moment.
    fn shift(&self, time: Timestamp) -> SignedDuration {
        SignedDuration::from_secs(self.zone.to_offset(time).seconds().into())
    }

    /// The start of the window that is looked for at a time, on the zone's clock. `None` where the schedule names no time.
    fn start(&self, time: Timestamp) -> Option<Timestamp> {
        self.schedule.next(time.saturating_add(self.shift(time)).ok()?.saturating_sub(self.duration).ok()?)
    }

    /// Whether the window is active.
    ///
    /// Source: Argo CD `pkg/apis/application/v1alpha1/types.go:SyncWindow.active`; a schedule that names no time is always active.
    fn is_active(&self, time: Timestamp) -> bool {
        let now = time.saturating_add(self.shift(time)).unwrap_or(time);
        self.start(time).is_none_or(|start| start < now)
    }

    /// The next time at which the window may become active or stop being so.
    fn next_change(&self, time: Timestamp) -> Option<Timestamp> {
        let shift = self.shift(time);
        let local = time.saturating_add(shift).ok()?;
        let end = self.start(time).and_then(|start| start.saturating_add(self.duration).ok());
        let turn = self.zone.following(time).next().map(|transition| transition.timestamp());
        let changes = [self.schedule.next(local), end].into_iter().flatten().filter_map(|change| change.saturating_sub(shift).ok());
        changes.chain(turn).filter(|change| *change > time).min()
    }
}

/// What the windows that concern an Application say about a sync that starts at `now`; `manual` if a person starts it.
///
/// Source: Argo CD `pkg/apis/application/v1alpha1/types.go:CanSync`.
pub fn gate(windows: &[&SyncWindow], manual: bool, now: Timestamp) -> Gate {
    let clocks: Vec<Clock<'_>> = match windows.iter().map(|window| Clock::new(window)).collect() {
        Ok(clocks) => clocks,
        Err(unreadable) => return Gate::Closed { because: unreadable.to_string(), until: None },
    };
    match holds(&clocks, manual, now) {
        None => Gate::Open,
        Some(because) => Gate::Closed { because, until: opens(&clocks, manual, now) },
    }
}

/// Which window holds a sync at a time, if one does.
fn holds(clocks: &[Clock<'_>], manual: bool, time: Timestamp) -> Option<String> {
    let of_kind = |kind: &'static str| clocks.iter().filter(move |clock| clock.window.kind == kind);
    let denying: Vec<&Clock<'_>> = of_kind("deny").filter(|clock| clock.is_active(time)).collect();
    let lets_people = |clocks: &[&Clock<'_>]| manual && clocks.iter().all(|clock| clock.window.manual_sync);
    if let Some(first) = denying.first() {
        return (!lets_people(&denying)).then(|| format!("the {} is active", first.window.named()));
    }
    let (allowing, closed): (Vec<_>, Vec<_>) = of_kind("allow").partition(|clock| clock.is_active(time));
    if !allowing.is_empty() || closed.is_empty() || lets_people(&closed) {
        return None;
    }
    Some(match closed.as_slice() {
        [one] => format!("the {} is not open", one.window.named()),
        several => format!("none of {} allow windows is open", several.len()),
    })
}

/// From when on the windows let a sync start.
fn opens(clocks: &[Clock<'_>], manual: bool, now: Timestamp) -> Option<Timestamp> {
    let mut time = now;
    for _ in 0..FORESIGHT {
        // At its very start a window is not active yet.
        let inside = time.saturating_add(SignedDuration::from_secs(1)).ok()?;
        if holds(clocks, manual, inside).is_none() {
            return Some(time);
        }
        time = clocks.iter().filter_map(|clock| clock.next_change(time)).min()?;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn window(value: Value) -> SyncWindow {
        SyncWindow::deserialize(value).unwrap()
    }

    fn at(time: &str) -> Timestamp {
        time.parse().unwrap()
    }

    fn until(windows: &[SyncWindow], manual: bool, now: &str) -> Option<Option<String>> {
        match gate(&windows.iter().collect::<Vec<_>>(), manual, at(now)) {
            Gate::Open => None,
            Gate::Closed { until, .. } => Some(until.map(|time| time.to_string())),
        }
    }

    fn night(kind: &str, zone: &str) -> SyncWindow {
        window(json!({"kind": kind, "schedule": "0 22 * * *", "duration": "8h", "applications": ["*"], "timeZone": zone}))
    }

    #[test]
    fn an_active_deny_window_holds_the_sync_until_it_ends() {
        let windows = [night("deny", "")];
        assert_eq!(until(&windows, false, "2026-11-30T23:00:00Z"), Some(Some("2026-12-01T06:00:00Z".into())));
        assert_eq!(until(&windows, false, "2026-12-01T06:00:00Z"), None);
        assert_eq!(until(&windows, false, "2026-11-30T21:59:59Z"), None);
    }

    #[test]
    fn an_allow_window_that_is_not_open_holds_the_sync_until_it_opens() {
        let windows = [night("allow", "")];
        assert_eq!(until(&windows, false, "2026-11-30T12:00:00Z"), Some(Some("2026-11-30T22:00:00Z".into())));
        assert_eq!(until(&windows, false, "2026-11-30T23:00:00Z"), None);
        assert_eq!(until(&windows, false, "2026-11-30T22:00:00Z"), Some(Some("2026-11-30T22:00:00Z".into())), "it opens this very moment");
    }

    #[test]
    fn one_open_allow_window_is_enough_and_a_deny_window_beats_it() {
        let day = window(json!({"kind": "allow", "schedule": "0 8 * * *", "duration": "10h", "applications": ["*"]}));
        let windows = [night("allow", ""), day.clone()];
        assert_eq!(until(&windows, false, "2026-11-30T12:00:00Z"), None);
        let denied = [day, window(json!({"kind": "deny", "schedule": "0 11 * * *", "duration": "2h", "applications": ["*"]}))];
        assert_eq!(until(&denied, false, "2026-11-30T12:00:00Z"), Some(Some("2026-11-30T13:00:00Z".into())));
        // Outside of the deny window the allow window has to be open all the same.
        assert_eq!(until(&denied, false, "2026-11-30T19:00:00Z"), Some(Some("2026-12-01T08:00:00Z".into())));
    }

    #[test]
    fn people_may_sync_where_every_window_that_holds_says_so() {
        let lets = |mut window: SyncWindow| {
            window.manual_sync = true;
            window
        };
        let one = [lets(night("deny", ""))];
        assert_eq!(until(&one, true, "2026-11-30T23:00:00Z"), None);
        assert!(until(&one, false, "2026-11-30T23:00:00Z").is_some());
        let two = [lets(night("deny", "")), night("deny", "")];
        assert!(until(&two, true, "2026-11-30T23:00:00Z").is_some());
        assert_eq!(until(&[lets(night("allow", ""))], true, "2026-11-30T12:00:00Z"), None);
        assert!(until(&[lets(night("allow", "")), night("allow", "")], true, "2026-11-30T12:00:00Z").is_some());
    }

    #[test]
    fn the_time_zone_shifts_the_window_with_the_clock_of_the_moment() {
        let windows = [night("deny", "Europe/Paris")];
        assert_eq!(until(&windows, false, "2026-11-30T20:30:00Z"), None);
        assert_eq!(until(&windows, false, "2026-11-30T21:30:00Z"), Some(Some("2026-12-01T05:00:00Z".into())));
        assert_eq!(until(&windows, false, "2026-07-01T20:30:00Z"), Some(Some("2026-07-02T04:00:00Z".into())));
        // Clocks go back in the night: the end comes an hour later.
        assert_eq!(until(&windows, false, "2026-10-24T21:00:00Z"), Some(Some("2026-10-25T05:00:00Z".into())));
        // What is no time zone counts as UTC.
        assert_eq!(until(&[night("deny", "Mars/Base")], false, "2026-11-30T21:30:00Z"), None);
    }

    #[test]
    fn what_cannot_be_read_holds_every_sync_for_good() {
        for (schedule, duration) in [("@daily", "8h"), ("0 22 * *", "8h"), ("0 22 * * *", "8"), ("0 22 * * *", "1d")] {
            let windows =
                [window(json!({"kind": "allow", "schedule": schedule, "duration": duration, "applications": ["*"], "manualSync": true}))];
            assert_eq!(until(&windows, true, "2026-11-30T23:00:00Z"), Some(None), "{schedule} {duration}");
        }
    }

    #[test]
    fn a_schedule_that_names_no_time_counts_as_active() {
        let never = |kind: &str| [window(json!({"kind": kind, "schedule": "0 0 30 2 *", "duration": "1h", "applications": ["*"]}))];
        assert_eq!(until(&never("allow"), false, "2026-11-30T23:00:00Z"), None);
        assert_eq!(until(&never("deny"), false, "2026-11-30T23:00:00Z"), Some(None));
    }

    #[test]
    fn a_kind_that_is_neither_allow_nor_deny_does_nothing() {
        assert_eq!(until(&[night("Deny", "")], false, "2026-11-30T23:00:00Z"), None);
    }

    #[test]
    fn windows_match_by_any_list_or_by_all_that_are_set() {
        let destination = Destination { server: "https://eu.test".into(), name: String::new(), namespace: "shop".into() };
        let concerns = |value: Value, version: Version| window(value).concerns("shop-web", &destination, version);
        let now = Version::ASSUMED;
        assert!(concerns(json!({"applications": ["shop-*"], "namespaces": ["other"]}), now));
        assert!(concerns(json!({"clusters": ["https://eu.*"]}), now));
        assert!(!concerns(json!({"clusters": ["in-cluster"], "namespaces": ["other"]}), now));
        assert!(!concerns(json!({}), now) && !concerns(json!({"andOperator": true}), now));
        let both = json!({"applications": ["shop-*"], "namespaces": ["other"], "andOperator": true});
        assert!(!concerns(both.clone(), now));
        assert!(concerns(both, Version { major: 2, minor: 14 }), "andOperator is read from 3.0 on");
        assert!(concerns(json!({"applications": ["shop-*"], "namespaces": ["shop"], "clusters": null, "andOperator": true}), now));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn the_time_at_which_a_sync_may_start_is_the_first_such_minute(
            kinds in prop::collection::vec((any::<bool>(), 0_u32..60, 0_u32..24, 1_i64..30, any::<bool>()), 1..3), start in 0_i64..100_000_000
        ) {
            let windows: Vec<SyncWindow> = kinds
                .iter()
                .map(|&(denies, minute, hour, hours, berlin)| window(json!({
                    "kind": if denies { "deny" } else { "allow" }, "schedule": format!("{minute} {hour} * * *"),
                    "duration": format!("{hours}h"), "timeZone": if berlin { "Europe/Berlin" } else { "UTC" },
                })))
                .collect();
            let windows: Vec<&SyncWindow> = windows.iter().collect();
            let now = Timestamp::from_second(1_700_000_000 + start).unwrap();
            if let Gate::Closed { until, .. } = gate(&windows, false, now) {
                let clocks: Vec<Clock<'_>> = windows.iter().map(|window| Clock::new(window).unwrap()).collect();
                let end = until.unwrap_or_else(|| now.saturating_add(SignedDuration::from_hours(50)).unwrap());
                let mut minute = Timestamp::from_second((now.as_second() / 60 + 1) * 60).unwrap();
                while minute < end {
                    prop_assert!(holds(&clocks, false, minute.saturating_add(SignedDuration::from_secs(1)).unwrap()).is_some());
                    minute = minute.saturating_add(SignedDuration::from_mins(if minute.duration_until(end) > SignedDuration::from_mins(30) { 11 } else { 1 })).unwrap();
                }
                if let Some(until) = until {
                    prop_assert!(holds(&clocks, false, until.saturating_add(SignedDuration::from_secs(1)).unwrap()).is_none());
                }
            }
        }
    }
}
