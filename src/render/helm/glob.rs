//! Globs over the paths of a tree, in the order in which Argo CD's glob library finds them.
//!
//! Takes a tree and a clean pattern; hands on paths. `**` as a whole component crosses directories, `*`, `?`, `[…]` and `{…}` do not.

use std::collections::BTreeMap;

use globset::{GlobBuilder, GlobMatcher};

use crate::repo::{EntryKind, LinkTarget, Tree};

/// Directories below each other that `**` goes through; more come only from links that lead in a circle.
const MAX_DEPTH: usize = 64;

/// Whether Argo CD expands a path as a glob.
///
/// Source: Argo CD `reposerver/repository/repository.go:isGlobPath`.
pub(super) fn is_glob(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

/// The files and directories that match. `None` where the pattern cannot be compiled.
///
/// Source: doublestar v4 `FilepathGlob`, which Argo CD uses without options.
pub(super) fn expand(tree: &Tree, pattern: &str) -> Option<Vec<String>> {
    let expansion = Expansion { tree };
    let mut found: Vec<String> = Vec::new();
    for pattern in alternatives(pattern) {
        for path in expansion.glob(&pattern)? {
            if !found.contains(&path) {
                found.push(path);
            }
        }
    }
    Some(found)
}

struct Expansion<'t> {
    tree: &'t Tree,
}

impl Expansion<'_> {
    fn glob(&self, pattern: &str) -> Option<Vec<String>> {
        let (directory, last) = pattern.rsplit_once('/').unwrap_or(("", pattern));
        let directories = if is_pattern(directory) { self.glob(directory)? } else { vec![directory.to_owned()] };
        let directories = directories.iter().filter(|directory| self.is_dir(directory));
        let mut found = Vec::new();
        if last == "**" {
            directories.for_each(|directory| self.everything(directory, MAX_DEPTH, &mut found));
            return Some(found);
        }
        let matcher = matcher(last)?;
        for directory in directories {
            let names = self.children(directory).into_keys().filter(|name| matcher.is_match(name));
            found.extend(names.map(|name| join(directory, &name)));
        }
        Some(found)
    }

    /// The directory itself and all below it, each level in the order of names.
    fn everything(&self, directory: &str, depth: usize, found: &mut Vec<String>) {
        found.push(directory.to_owned());
        for (name, is_dir) in self.children(directory) {
            let path = join(directory, &name);
            match depth.checked_sub(1) {
                Some(depth) if is_dir => self.everything(&path, depth, found),
                _ if is_dir => {}
                _ => found.push(path),
            }
        }
    }

    fn is_dir(&self, path: &str) -> bool {
        self.tree.is_dir(path) || matches!(self.tree.resolve_link(path), Ok(LinkTarget::Directory(_)))
    }

    /// The names in a directory, and whether each is a directory.
    fn children(&self, directory: &str) -> BTreeMap<String, bool> {
        let real = match self.tree.resolve_link(directory) {
            Ok(LinkTarget::Directory(real)) => real,
            _ => return BTreeMap::new(),
        };
        let prefix = if real.is_empty() { 0 } else { real.len() + 1 };
        let mut names = BTreeMap::new();
        for entry in self.tree.under(&real) {
            let Some(relative) = entry.path.get(prefix..) else { continue };
            match relative.split_once('/') {
                Some((name, _)) => {
                    if !names.contains_key(name) {
                        names.insert(name.to_owned(), true);
                    }
                }
                None => {
                    let is_dir = entry.kind == EntryKind::Symlink && self.is_dir(&entry.path);
                    names.insert(relative.to_owned(), is_dir);
                }
            }
        }
        names
    }
}

fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?', '[', '{', '\\'])
}

fn matcher(component: &str) -> Option<GlobMatcher> {
    // Stars in a row are one star, unless they are the whole component.
    let mut plain = String::with_capacity(component.len());
    for character in component.chars() {
        if character != '*' || !plain.ends_with('*') || plain.ends_with("\\*") {
            plain.push(character);
        }
    }
    Some(GlobBuilder::new(&plain).literal_separator(true).backslash_escape(true).build().ok()?.compile_matcher())
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

/// The patterns without alternatives that hold a `/`; others are left to the component's own matcher.
fn alternatives(pattern: &str) -> Vec<String> {
    let Some((start, end)) = outer_braces(pattern) else { return vec![pattern.to_owned()] };
    let (before, inside, behind) = (&pattern[..start], &pattern[start + 1..end], &pattern[end + 1..]);
    let behind = alternatives(behind);
    let options = if inside.contains('/') { split_options(inside) } else { vec![&pattern[start..=end]] };
    let combined = options.into_iter().flat_map(|option| behind.iter().map(move |behind| format!("{before}{option}{behind}")));
    combined.collect()
}

fn outer_braces(pattern: &str) -> Option<(usize, usize)> {
    let start = pattern.find('{')?;
    let mut depth = 0_usize;
    for (at, character) in pattern[start..].char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 1 => return Some((start, start + at)),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn split_options(inside: &str) -> Vec<&str> {
    let (mut depth, mut from, mut options) = (0_usize, 0, Vec::new());
    for (at, character) in inside.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                options.push(&inside[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    options.push(&inside[from..]);
    options
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::render::fixture::tree;

    fn expanded(files: &[&str], links: &[(&str, &str)], pattern: &str) -> Vec<String> {
        let files: Vec<(&str, &str)> = files.iter().map(|file| (*file, "")).collect();
        expand(&tree(&files, links), pattern).unwrap()
    }

    #[test]
    fn two_stars_cross_directories_and_a_directorys_own_files_come_first() {
        let files = ["envs/a.yaml", "envs/z.yaml", "envs/nested/c.yaml", "envs/nested/d.txt", "other/b.yaml"];
        assert_eq!(expanded(&files, &[], "envs/**/*.yaml"), ["envs/a.yaml", "envs/z.yaml", "envs/nested/c.yaml"]);
        assert_eq!(expanded(&files, &[], "envs/*.yaml"), ["envs/a.yaml", "envs/z.yaml"]);
        assert_eq!(expanded(&files, &[], "envs/?.yaml"), ["envs/a.yaml", "envs/z.yaml"]);
        assert_eq!(expanded(&files, &[], "envs/[b-z].yaml"), ["envs/z.yaml"]);
        assert_eq!(expanded(&files, &[], "*/b.yaml"), ["other/b.yaml"]);
        assert_eq!(expanded(&files, &[], "none/*.yaml"), Vec::<String>::new());
    }

    #[test]
    fn directories_match_as_well() {
        let files = ["envs/a.yaml", "envs/nested/c.yaml"];
        assert_eq!(expanded(&files, &[], "envs/*"), ["envs/a.yaml", "envs/nested"]);
        assert_eq!(expanded(&files, &[], "envs/**"), ["envs", "envs/a.yaml", "envs/nested", "envs/nested/c.yaml"]);
    }

    #[test]
    fn alternatives_may_hold_directories() {
        let files = ["a/x.yaml", "b/c/x.yaml", "b/y.yaml"];
        assert_eq!(expanded(&files, &[], "{b/c,a}/*.yaml"), ["b/c/x.yaml", "a/x.yaml"]);
        assert_eq!(expanded(&files, &[], "b/{x,y}.yaml"), ["b/y.yaml"]);
    }

    #[test]
    fn links_to_directories_are_entered_and_circles_end() {
        let found = expanded(&["real/x.yaml"], &[("envs/link", "../real"), ("real/loop", "../real")], "envs/**/*.yaml");
        assert_eq!(found.first().map(String::as_str), Some("envs/link/x.yaml"));
        assert!(found.len() <= MAX_DEPTH);
    }

    #[test]
    fn a_pattern_that_cannot_be_compiled_is_told_from_one_that_matches_nothing() {
        assert_eq!(expand(&tree(&[("envs/a.yaml", "")], &[]), "envs/[a"), None);
    }
}
