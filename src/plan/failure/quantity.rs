//! Kubernetes quantities as exact numbers, so that `102400Mi` and `100Gi` are one amount.

use serde_json::Value;

const NANO: i128 = 1_000_000_000;

/// The amount in billionths of its unit; `None` when it is no quantity or does not fit.
///
/// Grammar: apimachinery `pkg/api/resource/quantity.go:ParseQuantity`.
pub(super) fn nanos(value: &Value) -> Option<i128> {
    match value {
        Value::String(text) => parse(text),
        Value::Number(number) => parse(&number.to_string()),
        _ => None,
    }
}

fn parse(text: &str) -> Option<i128> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let end = unsigned.find(|symbol: char| !symbol.is_ascii_digit() && symbol != '.').unwrap_or(unsigned.len());
    let (digits, suffix) = unsigned.split_at(end);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let mut amount = if whole.is_empty() { 0 } else { whole.parse::<i128>().ok()? };
    let fraction = fraction.trim_end_matches('0');
    let mut scale: i128 = 1;
    for digit in fraction.bytes() {
        amount = amount.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
        scale = scale.checked_mul(10)?;
    }
    let (factor, divisor) = multiplier(suffix)?;
    let scaled = amount.checked_mul(NANO)?.checked_mul(factor)? / scale.checked_mul(divisor)?;
    Some(if negative { -scaled } else { scaled })
}

fn multiplier(suffix: &str) -> Option<(i128, i128)> {
    let found = match suffix {
        "n" => (1, NANO),
        "u" => (1, 1_000_000),
        "m" => (1, 1_000),
        "" => (1, 1),
        "k" => (1_000, 1),
        "M" => (1_000_000, 1),
        "G" => (NANO, 1),
        "T" => (1_000 * NANO, 1),
        "P" => (1_000_000 * NANO, 1),
        "E" => (NANO * NANO, 1),
        "Ki" => (1 << 10, 1),
        "Mi" => (1 << 20, 1),
        "Gi" => (1 << 30, 1),
        "Ti" => (1 << 40, 1),
        "Pi" => (1 << 50, 1),
        "Ei" => (1 << 60, 1),
        _ => return power_of_ten(suffix),
    };
    Some(found)
}

fn power_of_ten(suffix: &str) -> Option<(i128, i128)> {
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    Some(if exponent < 0 { (1, power) } else { (power, 1) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_amount_in_several_notations_is_equal() {
        for (left, right) in [("102400Mi", "100Gi"), ("1000m", "1"), ("0.5", "500m"), ("1e3", "1k"), ("1E", "1000P"), ("1.50Gi", "1536Mi")]
        {
            assert_eq!(nanos(&json!(left)), nanos(&json!(right)), "{left} {right}");
            assert!(nanos(&json!(left)).is_some(), "{left}");
        }
        assert_eq!(nanos(&json!(2)), nanos(&json!("2")));
    }

    #[test]
    fn decimal_and_binary_units_differ() {
        assert!(nanos(&json!("1G")) < nanos(&json!("1Gi")));
    }

    #[test]
    fn what_is_no_quantity_has_no_amount() {
        for text in ["", "-", "Gi", "1.2.3", "1 Gi", "ten", "1e999", "99999999999999999999999999999999999999999Ei"] {
            assert_eq!(nanos(&json!(text)), None, "{text}");
        }
        assert_eq!(nanos(&json!(true)), None);
    }
}
