//! Durations as Go writes them: takes `90m`, hands on `1h30m0s` (Go `time.ParseDuration`, `Duration.String`).

const SECOND: i128 = 1_000_000_000;

/// The text that Go prints for a duration; `None` if it is none.
pub(super) fn canonical(text: &str) -> Option<String> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let nanos = if unsigned == "0" { 0 } else { parse(unsigned)? };
    if i64::try_from(nanos).is_err() {
        return None;
    }
    let sign = if negative && nanos != 0 { "-" } else { "" };
    Some(format!("{sign}{}", printed(nanos)))
}

fn parse(text: &str) -> Option<i128> {
    let mut rest = text;
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(number_end);
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at(unit_end);
        total = total.checked_add(amount(number, unit)?)?;
        rest = next;
    }
    (!text.is_empty()).then_some(total)
}

fn amount(number: &str, unit: &str) -> Option<i128> {
    let scale = match unit {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3_600 * SECOND,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut nanos = if whole.is_empty() { 0 } else { whole.parse::<i128>().ok()?.checked_mul(scale)? };
    let mut part = scale;
    for digit in fraction.bytes() {
        if !digit.is_ascii_digit() {
            return None;
        }
        // What is below a nanosecond of the unit does not count.
        nanos += i128::from(digit - b'0') * part / 10;
        part /= 10;
    }
    Some(nanos)
}

fn printed(nanos: i128) -> String {
    if nanos == 0 {
        return "0s".to_owned();
    }
    if nanos < SECOND {
        let (unit, digits) = match nanos {
            0..1_000 => ("ns", 0),
            1_000..1_000_000 => ("\u{b5}s", 3),
            _ => ("ms", 6),
        };
        return format!("{}{unit}", decimal(nanos, digits));
    }
    let seconds = decimal(nanos % (60 * SECOND), 9);
    let minutes = nanos / (60 * SECOND);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m{seconds}s"),
        (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
    }
}

/// The number with its last `digits` behind the point, without zeros at the end.
fn decimal(number: i128, digits: u32) -> String {
    let scale = 10_i128.pow(digits);
    let (whole, fraction) = (number / scale, number % scale);
    if fraction == 0 {
        return whole.to_string();
    }
    let width = digits as usize;
    format!("{whole}.{}", format!("{fraction:0width$}").trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (written, expected) in [
            ("90m", Some("1h30m0s")),
            ("1h30m", Some("1h30m0s")),
            ("60s", Some("1m0s")),
            ("1.5h", Some("1h30m0s")),
            ("1500ms", Some("1.5s")),
            ("0", Some("0s")),
            ("0s", Some("0s")),
            ("100us", Some("100\u{b5}s")),
            ("1.5ms", Some("1.5ms")),
            ("-2m", Some("-2m0s")),
            ("24h", Some("24h0m0s")),
            ("5", None),
            ("1d", None),
            ("", None),
            ("h", None),
            ("1.2.3s", None),
            ("9999999h", None),
        ] {
            assert_eq!(canonical(written).as_deref(), expected, "{written}");
        }
    }
}
