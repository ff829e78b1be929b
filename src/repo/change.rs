//! The paths in which two trees differ.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::rename;
use super::tree::{Entry, Tree};

/// What happened to a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// Its contents, its kind or its mode differ.
    Modified,
    /// It is new, and a path that is gone had the same or similar contents. For information only: no verdict may hang on the pairing.
    Renamed {
        /// The path that is gone. It has no change of its own.
        from: Arc<str>,
    },
}

/// One path that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// The path at the head, or at the base when it is gone.
    pub path: Arc<str>,
    /// What happened to it.
    pub change: Change,
}

/// The differences between two trees, sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeSet {
    changes: Vec<PathChange>,
    /// Every path that differs, among them the old paths of renamed files; sorted.
    touched: Vec<Arc<str>>,
}

impl ChangeSet {
    /// Compares two trees of one repository by the identity of their contents. Contents are read only to pair renamed files; those that are not
    /// here (partial clone) are left unpaired.
    #[must_use]
    pub fn between(base: &Tree, head: &Tree) -> Self {
        let (mut removed, mut added, mut changes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut old, mut new) = (base.entries().iter().peekable(), head.entries().iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => old.path.cmp(&new.path),
            };
            match order {
                Ordering::Less => removed.extend(old.next()),
                Ordering::Greater => added.extend(new.next()),
                Ordering::Equal => {
                    if let (Some(old), Some(new)) = (old.next(), new.next())
                        && (old.id != new.id || old.kind != new.kind)
                    {
                        changes.push(PathChange { path: Arc::clone(&new.path), change: Change::Modified });
                    }
                }
            }
        }
        let mut touched: Vec<_> = changes.iter().map(|change| Arc::clone(&change.path)).collect();
        touched.extend(removed.iter().chain(&added).map(|entry: &&Entry| Arc::clone(&entry.path)));
        touched.sort_unstable();
        touched.dedup();

        let renames = rename::pair(base, head, &removed, &added);
        let renamed_from: BTreeSet<&Arc<str>> = renames.values().collect();
        let gone = |entry: &&&Entry| !renamed_from.contains(&entry.path);
        changes.extend(removed.iter().filter(gone).map(|entry| PathChange { path: Arc::clone(&entry.path), change: Change::Removed }));
        changes.extend(added.iter().map(|entry| {
            let change = renames.get(&entry.path).map_or(Change::Added, |from| Change::Renamed { from: Arc::clone(from) });
            PathChange { path: Arc::clone(&entry.path), change }
        }));
        changes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Self { changes, touched }
    }

    /// All changes, sorted by path.
    #[must_use]
    pub fn changes(&self) -> &[PathChange] {
        &self.changes
    }

    /// Whether the trees are equal.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Every path that differs, the old paths of renamed files among them; sorted.
    #[must_use]
    pub fn touched(&self) -> &[Arc<str>] {
        &self.touched
    }

    /// Whether `path` differs.
    #[must_use]
    pub fn touches(&self, path: &str) -> bool {
        self.touched.binary_search_by(|touched| (**touched).cmp(path)).is_ok()
    }

    /// Whether something below the directory `dir` differs, or `dir` itself (a link or submodule that stood or stands there). `""` is the root.
    #[must_use]
    pub fn touches_under(&self, dir: &str) -> bool {
        let dir = dir.trim_matches('/');
        if dir.is_empty() || dir == "." {
            return !self.touched.is_empty();
        }
        let prefix = || dir.bytes().chain(std::iter::once(b'/'));
        let start = self.touched.partition_point(|path| path.bytes().lt(prefix()));
        let below = |path: &Arc<str>| path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
        self.touched.get(start).is_some_and(below) || self.touches(dir)
    }
}
