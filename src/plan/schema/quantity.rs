//! Quantities: takes one as written (`0.5`, `"1024Mi"`), hands on the form in which Kubernetes writes it (`500m`, `1Gi`), or its amount.

use std::borrow::Cow;

use serde_json::Value;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    DecimalSi,
    BinarySi,
    DecimalExponent,
}

/// The canonical text of a quantity, `None` if it is none. Numbers count as their text (apimachinery `resource/quantity.go:ParseQuantity`,
/// `CanonicalizeBytes`). A quantity too large for exact arithmetic stays as written.
pub fn canonical(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => canonical_text(text),
        Value::Number(number) => canonical_text(&number.to_string()).map(|text| Cow::Owned(text.into_owned())),
        _ => None,
    }
}

/// As [`canonical`], for text.
pub fn canonical_text(text: &str) -> Option<Cow<'_, str>> {
    let parsed = Parsed::of(text)?;
    if parsed.is_kept_as_written() {
        return Some(Cow::Borrowed(text));
    }
    let Some((mantissa, power)) = parsed.scaled() else { return Some(Cow::Borrowed(text)) };
    if mantissa == 0 {
        return Some(Cow::Borrowed("0"));
    }
    let written = match parsed.format {
        Format::BinarySi => binary(mantissa, power).or_else(|| decimal(mantissa, power, Format::DecimalSi)),
        format => decimal(mantissa, power, format),
    };
    let Some(written) = written else { return Some(Cow::Borrowed(text)) };
    let sign = if parsed.negative { "-" } else { "" };
    Some(if text.strip_prefix(sign) == Some(written.as_str()) { Cow::Borrowed(text) } else { Cow::Owned(format!("{sign}{written}")) })
}

/// The amount in billionths of its unit, so that `102400Mi` and `100Gi` are one; `None` if it is no quantity or too large for that.
pub fn nanos(value: &Value) -> Option<i128> {
    let parsed = match value {
        Value::String(text) => Parsed::of(text)?,
        Value::Number(number) => return Parsed::of(&number.to_string())?.nanos(),
        _ => return None,
    };
    parsed.nanos()
}

/// A quantity taken apart (apimachinery `resource/quantity.go:parseQuantityString`).
struct Parsed<'t> {
    negative: bool,
    /// All digits, without the point and without zeros before the first that counts.
    digits: String,
    fraction: &'t str,
    exponent: i32,
    format: Format,
}

impl<'t> Parsed<'t> {
    fn of(text: &'t str) -> Option<Parsed<'t>> {
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, text.get(1..)?),
            b'+' => (false, text.get(1..)?),
            _ => (false, text),
        };
        let digits_end = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
        let (whole, rest) = unsigned.split_at(digits_end);
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(after) => after.split_at(after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len())),
            None => ("", rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let (exponent, format) = interpret(suffix)?;
        let stripped = whole.trim_start_matches('0');
        let whole_digits = if stripped.is_empty() { "0" } else { stripped };
        Some(Parsed { negative, digits: format!("{whole_digits}{fraction}"), fraction, exponent, format })
    }

    /// Mantissa and power of ten without the sign, or `None` if it is too large for exact arithmetic. Nothing is kept below a billionth; it
    /// is rounded up.
    fn scaled(&self) -> Option<(i128, i32)> {
        let mut mantissa = self.digits.parse::<i128>().ok()?;
        let mut power = -i32::try_from(self.fraction.len()).ok()?;
        if self.format == Format::BinarySi {
            mantissa = mantissa.checked_mul(1_i128 << self.exponent)?;
        } else {
            power += self.exponent;
        }
        while power < -9 && mantissa != 0 {
            let up = i128::from(mantissa % 10 != 0);
            mantissa = mantissa / 10 + up;
            power += 1;
        }
        Some((mantissa, power))
    }

    fn nanos(&self) -> Option<i128> {
        let (mantissa, power) = self.scaled()?;
        if mantissa == 0 {
            return Some(0);
        }
        let factor = 10_i128.checked_pow(u32::try_from(power + 9).ok()?)?;
        let amount = mantissa.checked_mul(factor)?;
        Some(if self.negative { -amount } else { amount })
    }

    /// Whether the parser caches the text itself (its fast path), so that it is written back unchanged.
    fn is_kept_as_written(&self) -> bool {
        let (digits, fraction, exponent) = (&self.digits, self.fraction, self.exponent);
        let (Ok(value), Ok(count), Ok(scale)) = (digits.parse::<i64>(), i32::try_from(digits.len()), i32::try_from(fraction.len())) else {
            return false;
        };
        if count > 17 {
            return false;
        }
        match self.format {
            Format::BinarySi => {
                let room = 15 - count - exponent * 3 / 10 - 1;
                fraction.is_empty() && room >= 0 && exponent % 10 == 0 && value & 7 != 0
            }
            _ => {
                let scale = exponent - scale;
                scale >= -9 && scale % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0')
            }
        }
    }
}

fn interpret(suffix: &str) -> Option<(i32, Format)> {
    let decimal = |exponent| Some((exponent, Format::DecimalSi));
    let binary = |exponent| Some((exponent, Format::BinarySi));
    match suffix {
        "" => decimal(0),
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            (-99..=99).contains(&exponent).then_some((exponent, Format::DecimalExponent))
        }
    }
}

fn binary(mut mantissa: i128, power: i32) -> Option<String> {
    for _ in 0..power.unsigned_abs() {
        // A fraction of a byte is written decimally.
        mantissa = if power > 0 {
            mantissa.checked_mul(10)?
        } else if mantissa % 10 == 0 {
            mantissa / 10
        } else {
            return None;
        };
    }
    if mantissa < 1024 {
        return None;
    }
    let mut thousands = 0;
    while mantissa % 1024 == 0 && thousands < 6 {
        mantissa /= 1024;
        thousands += 1;
    }
    Some(format!("{mantissa}{}", ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].get(thousands)?))
}

fn decimal(mut mantissa: i128, mut power: i32, format: Format) -> Option<String> {
    while mantissa % 10 == 0 {
        mantissa /= 10;
        power += 1;
    }
    while power.rem_euclid(3) != 0 {
        mantissa = mantissa.checked_mul(10)?;
        power -= 1;
    }
    if format == Format::DecimalExponent {
        return Some(if power == 0 { mantissa.to_string() } else { format!("{mantissa}e{power}") });
    }
    let index = usize::try_from((power + 9) / 3).ok()?;
    Some(format!("{mantissa}{}", ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"].get(index)?))
}

#[cfg(test)]
mod tests {
    use super::{canonical_text, nanos};
    use serde_json::json;

    #[test]
    fn quantities_are_written_as_kubernetes_writes_them() {
        for (written, expected) in [
            ("0.2", "200m"),
            ("1000m", "1"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Gi", "512Mi"),
            ("1500m", "1500m"),
            ("0", "0"),
            ("0m", "0"),
            ("2000", "2k"),
            ("1e3", "1e3"),
            ("1000Ki", "1000Ki"),
            ("0.1Gi", "107374182400m"),
            ("100n", "100n"),
            ("0.0000000001", "1n"),
            ("-0.5", "-500m"),
            ("1025Mi", "1025Mi"),
            ("4096Mi", "4Gi"),
            ("010", "010"),
            ("1E", "1E"),
            (".5", "500m"),
            ("5.", "5."),
            ("1.0", "1"),
        ] {
            assert_eq!(canonical_text(written).as_deref(), Some(expected), "{written}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for written in ["", "invalid", "1 GB", "1GB", "e3", "1e", "-", "1.5.2", "١"] {
            assert_eq!(canonical_text(written), None, "{written}");
        }
    }
    #[test]
    fn one_amount_in_several_notations_is_equal() {
        for (left, right) in [
            ("102400Mi", "100Gi"),
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1e3", "1k"),
            ("1E", "1000P"),
            ("1.50Gi", "1536Mi"),
            ("-0.5", "-500m"),
        ] {
            assert_eq!(nanos(&json!(left)), nanos(&json!(right)), "{left} {right}");
            assert!(nanos(&json!(left)).is_some(), "{left}");
        }
        assert_eq!(nanos(&json!(2)), nanos(&json!("2")));
        assert_eq!(nanos(&json!("0.0000000001")), Some(1), "what is below a billionth is rounded up, as Kubernetes does");
        assert_eq!(nanos(&json!("0e99")), Some(0));
    }

    #[test]
    fn decimal_and_binary_units_differ() {
        assert!(nanos(&json!("1G")) < nanos(&json!("1Gi")));
    }

    #[test]
    fn what_is_no_quantity_or_too_large_has_no_amount() {
        for text in ["", "-", "Gi", "1.2.3", "1 Gi", "ten", "1e999", "1e60", "99999999999999999999999999999999999999999Ei"] {
            assert_eq!(nanos(&json!(text)), None, "{text}");
        }
        assert_eq!(nanos(&json!(true)), None);
    }
}
