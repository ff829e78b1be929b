//! Cron schedules of sync windows: five fields, with the dialect of the library that Argo CD reads them with.
//!
//! Takes the text; hands on a [`Schedule`], which finds its next time.

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

use super::zone;

/// Years after which a schedule that found no time is given up.
const YEARS: i16 = 5;
/// Names of months; `jan` is 1.
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
/// Names of weekdays; `sun` is 0, and there is no 7.
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// Why a schedule cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronError {
    /// It has another number of fields than five.
    #[error("a schedule has five fields, this one has {0}")]
    Fields(usize),
    /// It is a word such as `@daily`.
    #[error("words such as {0} are not accepted")]
    Descriptor(String),
    /// A time zone before the fields is unknown, or nothing follows it.
    #[error("the time zone in {0} is unknown, or no schedule follows it")]
    Zone(String),
    /// A part of a field is no number, name or range.
    #[error("{0} is no number, name or range from {1} to {2}")]
    Range(String, u32, u32),
}

/// A schedule: which minutes, hours, days, months and weekdays it names.
///
/// Source: github.com/robfig/cron v3 `parser.go`, with the options of Argo CD `pkg/apis/application/v1alpha1/types.go:SyncWindow`.
#[derive(Clone, Debug)]
pub struct Schedule {
    minutes: Field,
    hours: Field,
    days: Field,
    months: Field,
    weekdays: Field,
    zone: TimeZone,
}

/// The numbers that a field names, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    bits: u64,
    /// Written with a star (or `?`) and without a step.
    star: bool,
}

impl Field {
    fn has(self, number: i8) -> bool {
        u32::try_from(number).is_ok_and(|number| self.bits & (1 << number) != 0)
    }
}

/// What the numbers of a field may be.
struct Bounds {
    least: u32,
    most: u32,
    names: &'static [&'static str],
    first_name: u32,
}

const MINUTE: Bounds = Bounds { least: 0, most: 59, names: &[], first_name: 0 };
const HOUR: Bounds = Bounds { least: 0, most: 23, names: &[], first_name: 0 };
const DAY: Bounds = Bounds { least: 1, most: 31, names: &[], first_name: 0 };
const MONTH: Bounds = Bounds { least: 1, most: 12, names: &MONTHS, first_name: 1 };
const WEEKDAY: Bounds = Bounds { least: 0, most: 6, names: &WEEKDAYS, first_name: 0 };

impl Schedule {
    /// Reads a schedule.
    ///
    /// # Errors
    /// What Argo CD does not accept.
    pub fn parse(text: &str) -> Result<Self, CronError> {
        let named = ["TZ=", "CRON_TZ="].iter().find_map(|prefix| text.strip_prefix(prefix));
        let (zone, text) = match named {
            Some(rest) => {
                let unknown = || CronError::Zone(text.to_owned());
                let (name, rest) = rest.split_once(' ').ok_or_else(unknown)?;
                (zone::named(name).ok_or_else(unknown)?, rest.trim())
            }
            None => (TimeZone::UTC, text),
        };
        if text.starts_with('@') {
            return Err(CronError::Descriptor(text.to_owned()));
        }
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else { return Err(CronError::Fields(fields.len())) };
        Ok(Self {
            minutes: field(minutes, &MINUTE)?,
            hours: field(hours, &HOUR)?,
            days: field(days, &DAY)?,
            months: field(months, &MONTH)?,
            weekdays: field(weekdays, &WEEKDAY)?,
            zone,
        })
    }

    /// The first time of the schedule after a given one; `None` where there is none within five years.
    ///
    /// Source: github.com/robfig/cron v3 `spec.go:Next`.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let minute = after.as_second().div_euclid(60).checked_add(1)?.checked_mul(60)?;
        let mut local = Timestamp::from_second(minute).ok()?.to_zoned(self.zone.clone());
        let last_year = local.year().checked_add(YEARS)?;
        while local.year() <= last_year {
            local = if !self.has_day(&local) {
                local.tomorrow().and_then(|tomorrow| tomorrow.start_of_day()).ok()?
            } else if !self.hours.has(local.hour()) {
                local.checked_add((60 - i64::from(local.minute())).minutes()).ok()?
            } else if !self.minutes.has(local.minute()) {
                local.checked_add(1.minute()).ok()?
            } else {
                return Some(local.timestamp());
            };
        }
        None
    }

    /// Whether the schedule names the day. Where neither the day of the month nor the weekday is left open, one of them is enough.
    fn has_day(&self, local: &Zoned) -> bool {
        let day = self.days.has(local.day());
        let weekday = self.weekdays.has(local.weekday().to_sunday_zero_offset());
        self.months.has(local.month()) && if self.days.star || self.weekdays.star { day && weekday } else { day || weekday }
    }
}

/// Reads a field: ranges between commas, empty ones among them left out.
fn field(text: &str, bounds: &Bounds) -> Result<Field, CronError> {
    let mut field = Field { bits: 0, star: false };
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let wrong = || CronError::Range(part.to_owned(), bounds.least, bounds.most);
        let one = range(part, bounds).ok_or_else(wrong)?;
        field = Field { bits: field.bits | one.bits, star: field.star || one.star };
    }
    Ok(field)
}

/// Reads `*`, `5`, `1-5`, `*/2`, `5/2` (to the end) or `1-5/2`.
fn range(text: &str, bounds: &Bounds) -> Option<Field> {
    let (numbers, step) = match text.split_once('/') {
        Some((numbers, step)) => (numbers, Some(whole_number(step)?)),
        None => (text, None),
    };
    let (first, last) = match numbers.split_once('-') {
        Some((first, last)) => (first, Some(last)),
        None => (numbers, None),
    };
    let open = matches!(first, "*" | "?");
    let (start, end) = match last {
        // What follows a star after a hyphen is not looked at.
        _ if open => (bounds.least, bounds.most),
        Some(last) => (number(first, bounds)?, number(last, bounds)?),
        None if step.is_some() => (number(first, bounds)?, bounds.most),
        None => (number(first, bounds)?, number(first, bounds)?),
    };
    let step = step.unwrap_or(1);
    if start < bounds.least || end > bounds.most || start > end || step == 0 {
        return None;
    }
    let bits = (start..=end).step_by(usize::try_from(step).ok()?).fold(0, |bits, number| bits | 1 << number);
    Some(Field { bits, star: open && step == 1 })
}

fn number(text: &str, bounds: &Bounds) -> Option<u32> {
    let named = bounds.names.iter().zip(bounds.first_name..).find(|(name, _)| name.eq_ignore_ascii_case(text));
    named.map_or_else(|| whole_number(text), |(_, number)| Some(number))
}

/// A number as Go's `Atoi` reads it, if it is not negative.
fn whole_number(text: &str) -> Option<u32> {
    text.parse::<i64>().ok().and_then(|number| u32::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn next(schedule: &str, after: &str) -> Option<String> {
        Schedule::parse(schedule).unwrap().next(after.parse().unwrap()).map(|time| time.to_string())
    }

    #[test]
    fn the_next_time_is_after_the_given_one() {
        for (schedule, after, expected) in [
            ("0 22 * * *", "2026-11-30T21:59:59.5Z", "2026-11-30T22:00:00Z"),
            ("0 22 * * *", "2026-11-30T22:00:00Z", "2026-12-01T22:00:00Z"),
            ("*/15 * * * ?", "2026-11-30T10:15:01Z", "2026-11-30T10:30:00Z"),
            ("5/20 9-17 * * mon-FRI", "2026-11-27T17:45:00Z", "2026-11-30T09:05:00Z"),
            ("0 0 1 jan *", "2026-11-30T00:00:00Z", "2027-01-01T00:00:00Z"),
            ("0 0 29 2 *", "2026-11-30T00:00:00Z", "2028-02-29T00:00:00Z"),
            ("0,,30 0 * * 0", "2026-11-30T00:00:00Z", "2026-12-06T00:00:00Z"),
        ] {
            assert_eq!(next(schedule, after).as_deref(), Some(expected), "{schedule} after {after}");
        }
    }

    #[test]
    fn a_day_of_the_month_or_a_weekday_is_enough_unless_one_is_open() {
        assert_eq!(next("0 0 15 * 1", "2026-12-01T00:00:00Z").as_deref(), Some("2026-12-07T00:00:00Z"));
        assert_eq!(next("0 0 15 * *", "2026-12-01T00:00:00Z").as_deref(), Some("2026-12-15T00:00:00Z"));
        assert_eq!(next("0 0 ? * 1", "2026-12-01T00:00:00Z").as_deref(), Some("2026-12-07T00:00:00Z"));
        // A star with a step is not open.
        assert_eq!(next("0 0 */10 * 1", "2026-12-01T00:00:00Z").as_deref(), Some("2026-12-07T00:00:00Z"));
        assert_eq!(next("0 0 */10 * 1", "2026-12-07T00:00:00Z").as_deref(), Some("2026-12-11T00:00:00Z"));
    }

    #[test]
    fn a_day_that_never_comes_has_no_next_time() {
        assert_eq!(next("0 0 30 2 *", "2026-12-01T00:00:00Z"), None);
        assert_eq!(next(", * * * *", "2026-12-01T00:00:00Z"), None);
    }

    #[test]
    fn what_the_library_refuses_is_refused() {
        assert_eq!(Schedule::parse("@daily").unwrap_err(), CronError::Descriptor("@daily".into()));
        for bad in
            ["", "* * * *", "0 0 * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 7", "*/0 * * * *", "5-1 * * * *"]
        {
            assert!(Schedule::parse(bad).is_err(), "{bad:?}");
        }
        for bad in
            ["1-2-3 * * * *", "1/2/3 * * * *", "-1 * * * *", "a * * * *", "1- * * * *", "* * * * mon-", "TZ=UTC", "TZ=Mars/Base * * * * *"]
        {
            assert!(Schedule::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_zone_before_the_fields_counts_with_its_changes_of_the_clock() {
        assert_eq!(next("TZ=Europe/Berlin 30 2 * * *", "2026-03-28T12:00:00Z").as_deref(), Some("2026-03-30T00:30:00Z"));
        assert_eq!(next("CRON_TZ=Europe/Berlin 30 2 * * *", "2026-10-25T00:30:00Z").as_deref(), Some("2026-10-25T01:30:00Z"));
    }

    proptest! {
        #[test]
        fn the_next_time_is_the_first_that_the_fields_name(
            minute in 0_u32..60, hours in (0_u32..24, 0_u32..24), day in 1_u32..29, weekday in 0_u32..7, start in 0_i64..2_000_000_000
        ) {
            let (first, last) = (hours.0.min(hours.1), hours.0.max(hours.1));
            let schedule = Schedule::parse(&format!("{minute} {first}-{last} {day} * {weekday}")).unwrap();
            let after = Timestamp::from_second(start).unwrap();
            let names = |time: Timestamp| {
                let local = time.to_zoned(TimeZone::UTC);
                u32::try_from(local.minute()) == Ok(minute)
                    && (first..=last).contains(&u32::try_from(local.hour()).unwrap())
                    && (u32::try_from(local.day()) == Ok(day) || u32::try_from(local.weekday().to_sunday_zero_offset()) == Ok(weekday))
            };
            let next = schedule.next(after).unwrap();
            prop_assert!(next > after && names(next));
            let mut minute = Timestamp::from_second((start / 60 + 1) * 60).unwrap();
            while minute < next {
                prop_assert!(!names(minute));
                minute = minute.checked_add(1.minute()).unwrap();
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9a-z*?,/@ -]{0,24}") {
            if let Ok(schedule) = Schedule::parse(&text) {
                schedule.next(Timestamp::UNIX_EPOCH);
            }
        }
    }
}
