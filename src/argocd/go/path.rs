//! How Go matches paths with patterns.
//!
//! Takes a pattern and a path; hands on whether the whole path matches.

/// Whether a path matches: `*` and `?` stop at `/`, a class such as `[a-c]` or `[^a]` matches any letter that it names, and `\` takes the next
/// letter as it is. `None` where the pattern is malformed as far as Go reads it.
///
/// Source: Go `path/match.go:Match`, the same as `path/filepath.Match` on Unix.
pub(crate) fn matches(pattern: &str, path: &str) -> Option<bool> {
    let pattern: Vec<char> = pattern.chars().collect();
    let path: Vec<char> = path.chars().collect();
    // Position to come back to: after the last `*`, and how far it reached.
    let mut back: Option<(usize, usize)> = None;
    let (mut at, mut here) = (0, 0);
    loop {
        let letter = path.get(here).copied();
        let step = match pattern.get(at) {
            None if letter.is_none() => return Some(true),
            None => None,
            Some('*') => {
                at += 1;
                back = Some((at, here));
                continue;
            }
            Some(_) => {
                let (length, found) = element(pattern.get(at..)?, letter)?;
                found.then_some(length)
            }
        };
        match (step, back) {
            (Some(length), _) => {
                at += length;
                here += 1;
            }
            (None, Some((after, reached))) if path.get(reached).is_some_and(|letter| *letter != '/') => {
                back = Some((after, reached + 1));
                (at, here) = (after, reached + 1);
            }
            _ => return is_sound(pattern.get(at..)?).then_some(false),
        }
    }
}

/// Whether the rest of a pattern is well formed: Go reports a malformed one also where the path does not match.
fn is_sound(mut pattern: &[char]) -> bool {
    while !pattern.is_empty() {
        let length = if pattern.first() == Some(&'*') { Some(1) } else { element(pattern, None).map(|(length, _)| length) };
        let Some(rest) = length.and_then(|length| pattern.get(length..)) else { return false };
        pattern = rest;
    }
    true
}

/// The length of what stands at the start of a pattern for one letter, and whether it matches the letter.
fn element(pattern: &[char], letter: Option<char>) -> Option<(usize, bool)> {
    match pattern.first()? {
        '?' => Some((1, letter.is_some_and(|letter| letter != '/'))),
        '[' => class(pattern, letter),
        '\\' => pattern.get(1).map(|escaped| (2, letter == Some(*escaped))),
        wanted => Some((1, letter == Some(*wanted))),
    }
}

fn class(pattern: &[char], letter: Option<char>) -> Option<(usize, bool)> {
    let negated = pattern.get(1) == Some(&'^');
    let mut at = 1 + usize::from(negated);
    let (mut found, mut ranges) = (false, 0);
    loop {
        if pattern.get(at) == Some(&']') && ranges > 0 {
            return Some((at + 1, letter.is_some() && found != negated));
        }
        let low;
        (low, at) = class_letter(pattern, at)?;
        let mut high = low;
        if pattern.get(at) == Some(&'-') {
            (high, at) = class_letter(pattern, at + 1)?;
        }
        found |= letter.is_some_and(|letter| (low..=high).contains(&letter));
        ranges += 1;
    }
}

/// A letter of a class and where the next one starts. Something has to follow it.
fn class_letter(pattern: &[char], at: usize) -> Option<(char, usize)> {
    let (letter, next) = match pattern.get(at)? {
        '-' | ']' => return None,
        '\\' => (*pattern.get(at + 1)?, at + 2),
        letter => (*letter, at + 1),
    };
    (next < pattern.len()).then_some((letter, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_match_as_the_documentation_of_go_says() {
        for (pattern, path, expected) in [
            ("abc", "abc", Some(true)),
            ("*", "abc", Some(true)),
            ("*c", "abc", Some(true)),
            ("a*", "a", Some(true)),
            ("a*", "ab/c", Some(false)),
            ("a*/b", "abc/b", Some(true)),
            ("a*/b", "a/c/b", Some(false)),
            ("a*b*c*d*e*/f", "axbxcxdxexxx/f", Some(true)),
            ("a*b?c*x", "abxbbxdbxebxczzx", Some(true)),
            ("a*b?c*x", "abxbbxdbxebxczzy", Some(false)),
            ("a?b", "a☺b", Some(true)),
            ("a???b", "a☺b", Some(false)),
            ("a?b", "a/b", Some(false)),
            ("a*b", "a/b", Some(false)),
            ("ab[c]", "abc", Some(true)),
            ("ab[b-d]", "abc", Some(true)),
            ("ab[^b-d]", "abc", Some(false)),
            ("ab[^e-g]", "abc", Some(true)),
            ("a[!a]b", "a!b", Some(true)),
            ("a[^a]b", "a☺b", Some(true)),
            // A class is no separator's business.
            ("a[^a]b", "a/b", Some(true)),
            ("a[/]b", "a/b", Some(true)),
            ("[a-ζ]*", "α", Some(true)),
            ("*[a-ζ]", "A", Some(false)),
            ("[\\]a]", "]", Some(true)),
            ("[\\-x]", "-", Some(true)),
            ("a\\*b", "a*b", Some(true)),
            ("a\\*b", "ab", Some(false)),
            ("{a,b}", "a", Some(false)),
            ("**", "a/b", Some(false)),
            ("", "", Some(true)),
            ("", "a", Some(false)),
            ("[]a]", "]", None),
            ("[-]", "-", None),
            ("[x-]", "x", None),
            ("[a-b-c]", "a", None),
            ("[", "a", None),
            ("[^", "a", None),
            ("[^bc", "a", None),
            ("a[", "a", None),
            ("a[", "x", None),
            ("a\\", "a", None),
            ("*x", "xxx", Some(true)),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}
