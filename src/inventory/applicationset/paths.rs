//! Which paths a pattern of the git generator matches: Go's `path.Match` for directories, Git's pathspecs for files, and doublestar where the
//! controller is told so.

use globset::GlobBuilder;

/// Whether a directory's whole path matches. `None` where the pattern is broken.
pub(super) fn directory_matches(pattern: &str, path: &str) -> Option<bool> {
    crate::argocd::go::path::matches(pattern, path)
}

/// Whether a whole path matches a pathspec with `*`, `?`, `[…]` and `\`, all of which match `/` as well.
///
/// Source: Git `wildmatch.c:dowild` without `WM_PATHNAME`.
fn wild(pattern: &[char], text: &[char]) -> Option<bool> {
    // Position to come back to: after the last `*`, and how far it reached.
    let mut back: Option<(usize, usize)> = None;
    let (mut at, mut here) = (0, 0);
    loop {
        let step = match (pattern.get(at), text.get(here)) {
            (None, None) => return Some(true),
            (Some('*'), _) => {
                at += 1;
                back = Some((at, here));
                continue;
            }
            (Some('?'), Some(_)) => Some(1),
            (Some('['), letter) => {
                let (length, matches) = class(pattern.get(at..)?, letter.copied())?;
                matches.then_some(length)
            }
            (Some('\\'), letter) => {
                let escaped = pattern.get(at + 1)?;
                (letter == Some(escaped)).then_some(2)
            }
            (Some(wanted), Some(letter)) if wanted == letter => Some(1),
            _ => None,
        };
        match (step, back) {
            (Some(length), _) => {
                at += length;
                here += 1;
            }
            (None, Some((after, reached))) if reached < text.len() => {
                back = Some((after, reached + 1));
                (at, here) = (after, reached + 1);
            }
            _ => return Some(false),
        }
    }
}

/// The length of a class at the start of a pattern, and whether it holds a letter.
fn class(pattern: &[char], letter: Option<char>) -> Option<(usize, bool)> {
    let negated = matches!(pattern.get(1), Some('^' | '!'));
    let mut at = 1 + usize::from(negated);
    let mut found = false;
    let mut ranges = 0;
    loop {
        match pattern.get(at)? {
            ']' if ranges > 0 => break,
            _ => {
                let (low, next) = class_letter(pattern, at)?;
                at = next;
                let high = if pattern.get(at) == Some(&'-') && pattern.get(at + 1) != Some(&']') {
                    let (high, next) = class_letter(pattern, at + 1)?;
                    at = next;
                    high
                } else {
                    low
                };
                ranges += 1;
                found |= letter.is_some_and(|letter| low <= letter && letter <= high);
            }
        }
    }
    Some((at + 1, letter.is_some() && found != negated))
}

fn class_letter(pattern: &[char], at: usize) -> Option<(char, usize)> {
    match pattern.get(at)? {
        '\\' => Some((*pattern.get(at + 1)?, at + 2)),
        letter => Some((*letter, at + 1)),
    }
}

/// A pattern of files as the generator reads it.
pub(super) enum FilePattern {
    /// A pathspec.
    Pathspec(String),
    /// A doublestar pattern.
    Doublestar(globset::GlobMatcher),
}

impl FilePattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// In words; the second value says whether Argo CD fails as well.
    pub(super) fn new(pattern: &str, doublestar: bool) -> Result<Self, (String, bool)> {
        if doublestar {
            let glob = GlobBuilder::new(pattern.trim_start_matches('/')).literal_separator(true).backslash_escape(true).build();
            return glob.map(|glob| Self::Doublestar(glob.compile_matcher())).map_err(|error| (error.to_string(), true));
        }
        if pattern.is_empty() {
            return Err(("the empty string is not a valid pathspec".to_owned(), true));
        }
        if pattern.starts_with(':') {
            return Err((format!("the pathspec {pattern} has magic words, which presync does not follow"), false));
        }
        let ends_with_slash = pattern.ends_with('/');
        let mut parts: Vec<&str> = Vec::new();
        for part in pattern.split('/') {
            match part {
                "" | "." => {}
                ".." if parts.pop().is_none() => return Err((format!("{pattern} is outside repository"), true)),
                ".." => {}
                other => parts.push(other),
            }
        }
        if pattern.starts_with('/') {
            return Err((format!("{pattern} is outside repository"), true));
        }
        let mut normal = parts.join("/");
        if ends_with_slash && !normal.is_empty() {
            normal.push('/');
        }
        Ok(Self::Pathspec(normal))
    }

    /// Whether a file matches.
    ///
    /// Source: Git `dir.c:match_pathspec_item`: a name of a folder matches all below it, and wildcards cross `/`.
    pub(super) fn matches(&self, path: &str) -> bool {
        match self {
            Self::Doublestar(glob) => glob.is_match(path),
            Self::Pathspec(pattern) => {
                let below = || path.strip_prefix(pattern.as_str()).is_some_and(|rest| pattern.ends_with('/') || rest.starts_with('/'));
                if pattern.is_empty() || path == pattern || below() {
                    return true;
                }
                let has_wildcards = pattern.contains(['*', '?', '[', '\\']);
                let letters = |text: &str| text.chars().collect::<Vec<char>>();
                has_wildcards && wild(&letters(pattern), &letters(path)) == Some(true)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_match_as_go_matches_paths() {
        for (pattern, path, expected) in [
            ("*", "app", Some(true)),
            ("*", "a/b", Some(false)),
            ("apps/**", "apps/x", Some(true)),
            ("apps/**", "apps/x/y", Some(false)),
            ("apps/*/prod", "apps/x/prod", Some(true)),
            ("apps/[a-c]?", "apps/bx", Some(true)),
            ("apps/[^a-c]x", "apps/bx", Some(false)),
            ("apps/{a,b}", "apps/a", Some(false)),
            ("/apps/*", "apps/x", Some(false)),
            ("apps/*/", "apps/x", Some(false)),
            ("apps/[", "apps/x", None),
            ("a\\*b", "a*b", Some(true)),
            ("a*b*c", "axxbyyc", Some(true)),
            ("", "", Some(true)),
        ] {
            assert_eq!(directory_matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    fn files(pattern: &str, doublestar: bool, paths: &[&str]) -> Vec<String> {
        let pattern = FilePattern::new(pattern, doublestar).unwrap_or_else(|(error, _)| panic!("{error}"));
        paths.iter().filter(|path| pattern.matches(path)).map(|path| (*path).to_owned()).collect()
    }

    #[test]
    fn s10_51_old_globbing_crosses_folders_and_new_globbing_does_not() {
        let paths = ["some-path/values.yaml", "some-path/staging/values.yaml"];
        assert_eq!(files("some-path/*.yaml", false, &paths).len(), 2);
        assert_eq!(files("some-path/*.yaml", true, &paths), ["some-path/values.yaml"]);
        let paths = ["p1/config.json", "p1/app2/config.json", "p1/app3/config.json", "p2/config.json"];
        assert_eq!(files("p1/**/config.json", false, &paths), ["p1/app2/config.json", "p1/app3/config.json"]);
        assert_eq!(files("p1/**/config.json", true, &paths), ["p1/config.json", "p1/app2/config.json", "p1/app3/config.json"]);
        let paths = [
            "cluster-charts/c1/values.yaml",
            "cluster-charts/c1/mychart/values.yaml",
            "cluster-charts/c1/mychart/charts/x/values.yaml",
            "cluster-charts/c2/a/values.yaml",
        ];
        assert_eq!(files("cluster-charts/*/values.yaml", false, &paths).len(), 4);
        assert_eq!(files("cluster-charts/*/values.yaml", true, &paths), ["cluster-charts/c1/values.yaml"]);
    }

    #[test]
    fn a_folder_as_pathspec_stands_for_all_below_it() {
        let paths = ["envs/a.yaml", "envs/b/c.yaml", "envs-old/a.yaml"];
        assert_eq!(files("envs", false, &paths), ["envs/a.yaml", "envs/b/c.yaml"]);
        assert_eq!(files("./envs/", false, &paths), ["envs/a.yaml", "envs/b/c.yaml"]);
        assert_eq!(files("**/config.json", false, &["config.json", "a/config.json"]), ["a/config.json"]);
        assert!(matches!(FilePattern::new("../x", false), Err((_, true))));
        assert!(matches!(FilePattern::new(":(glob)x", false), Err((_, false))));
    }
}
