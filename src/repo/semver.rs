//! Version constraints as Argo CD reads them in `targetRevision`: picks the tag that a constraint stands for.
//!
//! Follows github.com/Masterminds/semver v3.4 (`version.go`, `constraints.go`), which is laxer than Cargo's semver: `v1`, `1.x`, `~1.2`,
//! `>=1 <2 || 3.*` and `1.2 - 1.4` are all fine. Takes text, hands on comparable values.

use std::cmp::Ordering;

/// A version such as `v1.2.3-rc.1`, where minor and patch may be missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    numbers: [u64; 3],
    prerelease: String,
}

impl Version {
    /// Reads `text` (`version.go:NewVersion`). `None` where that function reports an error.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let parts = Parts::parse(text)?;
        let mut numbers = [0; 3];
        for (number, part) in numbers.iter_mut().zip(parts.numbers.iter()) {
            if let Some(part) = part {
                if !part.bytes().all(|byte| byte.is_ascii_digit()) {
                    return None;
                }
                *number = part.parse().ok()?;
            }
        }
        let starts_with_zero = |part: &str| part.len() > 1 && part.starts_with('0') && part.bytes().all(|byte| byte.is_ascii_digit());
        if parts.prerelease.split('.').any(starts_with_zero) {
            return None;
        }
        Some(Self { numbers, prerelease: parts.prerelease.to_owned() })
    }

    fn is_prerelease(&self) -> bool {
        !self.prerelease.is_empty()
    }
}

impl Ord for Version {
    /// Precedence by semver 2.0; build metadata is not looked at.
    fn cmp(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| compare_prerelease(&self.prerelease, &other.prerelease))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn compare_prerelease(a: &str, b: &str) -> Ordering {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let (mut a, mut b) = (a.split('.'), b.split('.'));
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => match (a.parse::<u64>(), b.parse::<u64>()) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => a.cmp(b),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// A constraint such as `>=1.2 <2 || 3.x`.
#[derive(Debug, Clone)]
pub struct Constraint {
    alternatives: Vec<Vec<Comparison>>,
}

impl Constraint {
    /// Reads `text` (`constraints.go:NewConstraint`). `None` where that function reports an error. An exact version is a constraint too;
    /// Argo CD tries [`Version::parse`] first.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let alternatives = text.split("||").map(parse_alternative).collect::<Option<Vec<_>>>()?;
        Some(Self { alternatives })
    }

    /// Whether `version` satisfies one of the alternatives (`constraints.go:Check`). A prerelease only satisfies an alternative that names one.
    #[must_use]
    pub fn matches(&self, version: &Version) -> bool {
        self.alternatives.iter().any(|all| {
            let with_prereleases = all.iter().any(|comparison| comparison.version.is_prerelease());
            (with_prereleases || !version.is_prerelease()) && all.iter().all(|comparison| comparison.holds(version))
        })
    }

    /// The tag with the highest version that satisfies the constraint (`util/versions/tags.go:MaxVersion`). With a `prefix` only tags that
    /// start with it count, and it is no part of their version.
    #[must_use]
    pub fn newest<'t>(&self, tags: &'t [String], prefix: &str) -> Option<&'t str> {
        let mut newest: Option<(Version, &str)> = None;
        for tag in tags {
            let Some(version) = tag.strip_prefix(prefix).and_then(Version::parse) else { continue };
            if self.matches(&version) && newest.as_ref().is_none_or(|(highest, _)| version > *highest) {
                newest = Some((version, tag));
            }
        }
        newest.map(|(_, tag)| tag)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
    Tilde,
    Caret,
}

/// Longest spelling first.
const OPERATORS: [(&str, Operator); 11] = [
    ("!=", Operator::NotEqual),
    (">=", Operator::GreaterOrEqual),
    ("=>", Operator::GreaterOrEqual),
    ("<=", Operator::LessOrEqual),
    ("=<", Operator::LessOrEqual),
    ("~>", Operator::Tilde),
    ("=", Operator::Equal),
    (">", Operator::Greater),
    ("<", Operator::Less),
    ("~", Operator::Tilde),
    ("^", Operator::Caret),
];

#[derive(Debug, Clone)]
struct Comparison {
    operator: Operator,
    version: Version,
    /// Some number was left out or is a wildcard.
    open: bool,
    open_minor: bool,
    open_patch: bool,
}

fn parse_alternative(text: &str) -> Option<Vec<Comparison>> {
    let mut comparisons = Vec::new();
    let mut tokens = text.split(|c: char| c.is_whitespace() || c == ',').filter(|token| !token.is_empty()).peekable();
    while let Some(token) = tokens.next() {
        if tokens.peek() == Some(&"-") {
            tokens.next();
            comparisons.push(Comparison::new(Operator::GreaterOrEqual, token)?);
            comparisons.push(Comparison::new(Operator::LessOrEqual, tokens.next()?)?);
            continue;
        }
        let (operator, version) = OPERATORS
            .iter()
            .find_map(|(spelling, operator)| Some((*operator, token.strip_prefix(spelling)?)))
            .unwrap_or((Operator::Equal, token));
        // Blanks may stand between the operator and its version.
        let version = if version.is_empty() { tokens.next()? } else { version };
        comparisons.push(Comparison::new(operator, version)?);
    }
    (!comparisons.is_empty()).then_some(comparisons)
}

impl Comparison {
    fn new(operator: Operator, text: &str) -> Option<Self> {
        let parts = Parts::parse(text)?;
        let is_open = |part: &Option<&str>| part.is_none_or(|part| matches!(part, "x" | "X" | "*"));
        let [major, minor, patch] = &parts.numbers;
        let open_major = is_open(major);
        let open_minor = !open_major && is_open(minor);
        let open_patch = !open_major && !open_minor && is_open(patch);
        let kept = if open_major {
            0
        } else if open_minor {
            1
        } else if open_patch {
            2
        } else {
            3
        };
        let mut numbers = [0; 3];
        for (number, part) in numbers.iter_mut().zip(&parts.numbers).take(kept) {
            *number = part.unwrap_or_default().parse().ok()?;
        }
        let version = Version { numbers, prerelease: parts.prerelease.to_owned() };
        Some(Self { operator, version, open: kept < 3, open_minor, open_patch })
    }

    fn holds(&self, version: &Version) -> bool {
        let ([major, minor, patch], [wanted_major, wanted_minor, wanted_patch]) = (version.numbers, self.version.numbers);
        match self.operator {
            Operator::Equal if self.open => self.holds_tilde(version),
            Operator::Equal => *version == self.version,
            Operator::Tilde => self.holds_tilde(version),
            Operator::Less => *version < self.version,
            Operator::GreaterOrEqual => *version >= self.version,
            // `>11` means 12 and up, `>11.1` means 11.2 and up.
            Operator::Greater if self.open && major == wanted_major && self.open_minor => false,
            Operator::Greater if self.open && major == wanted_major && self.open_patch => minor > wanted_minor,
            Operator::Greater if self.open && major != wanted_major => major > wanted_major,
            Operator::Greater => *version > self.version,
            Operator::LessOrEqual if self.open => {
                major <= wanted_major && !(major == wanted_major && minor > wanted_minor && !self.open_minor)
            }
            Operator::LessOrEqual => *version <= self.version,
            Operator::NotEqual if self.open => {
                major != wanted_major
                    || (!self.open_minor
                        && (minor != wanted_minor
                            || (!self.open_patch && patch != wanted_patch)
                            || (self.open_patch && version.prerelease != self.version.prerelease)))
            }
            Operator::NotEqual => *version != self.version,
            Operator::Caret => {
                *version >= self.version
                    && if wanted_major > 0 || self.open_minor {
                        major == wanted_major
                    } else if major > 0 {
                        false
                    } else if wanted_minor > 0 || self.open_patch {
                        minor == wanted_minor
                    } else {
                        minor == 0 && patch == wanted_patch
                    }
            }
        }
    }

    fn holds_tilde(&self, version: &Version) -> bool {
        if *version < self.version {
            return false;
        }
        // `*` and `~0.0.0` accept everything.
        if self.version.numbers == [0; 3] && !self.open_minor && !self.open_patch {
            return true;
        }
        let ([major, minor, _], [wanted_major, wanted_minor, _]) = (version.numbers, self.version.numbers);
        major == wanted_major && (self.open_minor || minor == wanted_minor)
    }
}

/// The pieces of `v?N[.N[.N]][-prerelease][+metadata]`, where a number may be a wildcard.
struct Parts<'t> {
    numbers: [Option<&'t str>; 3],
    prerelease: &'t str,
}

impl<'t> Parts<'t> {
    fn parse(text: &'t str) -> Option<Self> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, metadata) = match text.split_once('+') {
            Some((text, metadata)) => (text, Some(metadata)),
            None => (text, None),
        };
        let (core, prerelease) = match text.split_once('-') {
            Some((core, prerelease)) => (core, Some(prerelease)),
            None => (text, None),
        };
        let is_label = |label: &str| {
            label.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
        };
        if !metadata.is_none_or(is_label) || !prerelease.is_none_or(is_label) {
            return None;
        }
        let mut numbers = [None; 3];
        for (position, part) in core.split('.').enumerate() {
            let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            if !is_number && !matches!(part, "x" | "X" | "*") {
                return None;
            }
            *numbers.get_mut(position)? = Some(part);
        }
        Some(Self { numbers, prerelease: prerelease.unwrap_or_default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn newest(constraint: &str, names: &[&str]) -> Option<String> {
        Constraint::parse(constraint).expect(constraint).newest(&tags(names), "").map(str::to_owned)
    }

    const RELEASES: [&str; 9] = ["0.5.0", "0.5.1", "0.5.2", "0.5.3", "0.5.4", "0.6.0", "0.7.0", "0.7.1", "0.7.2"];

    #[test]
    fn s10_45_the_highest_tag_that_satisfies_the_constraint() {
        assert_eq!(newest("> 0.5.3", &RELEASES).as_deref(), Some("0.7.2"));
        assert_eq!(newest("> 0.0.0", &RELEASES).as_deref(), Some("0.7.2"));
        assert_eq!(newest(">0.5.0,<0.7.0", &["0.5.0", "0.5.4", "0.7.0"]).as_deref(), Some("0.5.4"));
        assert_eq!(newest("0.7.*", &RELEASES).as_deref(), Some("0.7.2"));
        assert_eq!(newest("0.7.*", &[]), None);
        assert_eq!(newest("*", &RELEASES).as_deref(), Some("0.7.2"));
    }

    #[test]
    fn s10_45_a_tag_prefix_selects_and_is_put_back() {
        let tags = tags(&["prod/v1.0.0", "prod/v1.0.1", "dev/v1.0.9", "v1.0.7"]);
        assert_eq!(Constraint::parse("v1.0.*").expect("a constraint").newest(&tags, "prod/"), Some("prod/v1.0.1"));
    }

    #[test]
    fn operators_select_as_in_masterminds_semver() {
        for (constraint, version, holds) in [
            ("=2.0.0", "1.2.3", false),
            ("!=2.0.0", "2.0.0", false),
            ("!=3.x", "3.0.0", false),
            ("!=4.1.x", "4.1.0", false),
            ("!=4.1.x", "4.2.0", true),
            (">11", "11.1.0", false),
            (">11.1", "11.1.1", false),
            (">11.1", "11.2.1", true),
            (">1.1", "4.1.0", true),
            ("<2 || >4", "3.0.0", false),
            ("<2 || >4", "5.0.0", true),
            ("<=11", "11.5.0", true),
            ("<=11.1", "11.2.0", false),
            (">=1.1, <2, !=1.2.3", "1.2.3", false),
            (">=1.1 <2", "1.9.0", true),
            ("1.1 - 2", "1.1.1", true),
            ("1.1-3", "4.3.2", false),
            ("~1.2.3", "1.2.4", true),
            ("~1.2.3", "1.3.0", false),
            ("~1", "1.3.5", true),
            ("^1.2", "1.9.0", true),
            ("^1.2", "2.0.0", false),
            ("^0.2.3", "0.2.5", true),
            ("^0.2.3", "0.3.0", false),
            ("^0.0.3", "0.0.4", false),
            ("1.2.x", "1.2.9", true),
            ("v1", "1.9.0", true),
            ("*", "1.2.3-rc1", false),
            (">=1.0.0-0", "1.2.3-rc1", true),
        ] {
            let version = Version::parse(version).expect(version);
            assert_eq!(Constraint::parse(constraint).expect(constraint).matches(&version), holds, "{constraint} for {version:?}");
        }
    }

    #[test]
    fn branch_names_are_no_constraints_unless_they_read_as_one() {
        for name in ["main", "release-1.2", "feature/x", "1.2.3.4", "", "v", "1..2", "HEAD"] {
            assert!(Constraint::parse(name).is_none(), "{name}");
        }
        for name in ["x", "1", "v2", "1.x"] {
            assert!(Constraint::parse(name).is_some(), "{name}");
        }
    }

    #[test]
    fn prereleases_are_ordered_by_their_parts() {
        let ordered = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0"];
        for pair in ordered.windows(2) {
            assert!(Version::parse(pair[0]) < Version::parse(pair[1]), "{pair:?}");
        }
        assert_eq!(Version::parse("1.0.0-01"), None);
    }
}
