//! What a render reads: files and whole folders of a tree, those it looked for in vain among them.
//!
//! Takes paths; tells whether a change touches them, and gives the digest under which equal inputs are known.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::repo::{ChangeSet, Entry, EntryKind, LinkError, LinkTarget, Tree};

/// Paths in the repository that decide what a source renders to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    files: BTreeSet<Arc<str>>,
    folders: BTreeSet<Arc<str>>,
}

impl Inputs {
    /// Adds a file. It need not exist: one that was looked for in vain decides too.
    pub fn file(&mut self, path: &str) {
        self.files.insert(path.into());
    }

    /// Adds everything below a folder; `""` is the whole tree.
    pub fn folder(&mut self, path: &str) {
        self.folders.insert(path.trim_matches('/').into());
    }

    /// Adds what something else reads.
    pub fn extend(&mut self, other: &Self) {
        self.files.extend(other.files.iter().cloned());
        self.folders.extend(other.folders.iter().cloned());
    }

    /// The files, without what is below folders.
    pub fn files(&self) -> impl Iterator<Item = &Arc<str>> {
        self.files.iter()
    }

    /// The folders.
    pub fn folders(&self) -> impl Iterator<Item = &Arc<str>> {
        self.folders.iter()
    }

    /// Whether a path is among them.
    pub fn contains(&self, path: &str) -> bool {
        let below = |folder: &Arc<str>| folder.is_empty() || path.strip_prefix(&**folder).is_some_and(|rest| rest.starts_with('/'));
        self.files.contains(path) || self.folders.iter().any(below)
    }

    /// Whether a change touches any of them.
    pub fn touched_by(&self, changes: &ChangeSet) -> bool {
        self.files.iter().any(|file| changes.touches(file)) || self.folders.iter().any(|folder| changes.touches_under(folder))
    }

    /// Whether any of these paths is among them; the paths are sorted.
    pub fn contain_any(&self, sorted: &[Arc<str>]) -> bool {
        let below = |folder: &Arc<str>| {
            if folder.is_empty() {
                return !sorted.is_empty();
            }
            let prefix = format!("{folder}/");
            let start = sorted.partition_point(|path| **path < *prefix);
            sorted.get(start).is_some_and(|path| path.starts_with(&prefix))
        };
        self.files.iter().any(|file| sorted.binary_search(file).is_ok()) || self.folders.iter().any(below)
    }

    /// The changed paths among them, sorted.
    pub fn changed<'c>(&self, changes: &'c ChangeSet) -> Vec<&'c Arc<str>> {
        changes.touched().iter().filter(|path| self.contains(path)).collect()
    }

    /// The same with what symbolic links among them lead to.
    #[must_use]
    pub fn through_links(&self, tree: &Tree) -> Self {
        let mut closed = self.clone();
        if !tree.has_links() {
            return closed;
        }
        let mut pending: Vec<(Arc<str>, bool)> = self.files.iter().map(|file| (Arc::clone(file), false)).collect();
        pending.extend(self.folders.iter().map(|folder| (Arc::clone(folder), true)));
        while let Some((path, is_folder)) = pending.pop() {
            let below = if is_folder { tree.under(&path) } else { &[] };
            let links = below.iter().chain(tree.get(&path)).filter(|entry| entry.kind == EntryKind::Symlink).map(|entry| &*entry.path);
            let above = link_above(tree, &path);
            closed.files.extend(above.map(|entry| Arc::clone(&entry.path)));
            for link in links.chain(above.map(|_| &*path)) {
                let (target, is_folder) = match tree.resolve_link(link) {
                    Ok(LinkTarget::File(entry)) => (entry.path, false),
                    Ok(LinkTarget::Directory(folder)) => (folder.into(), true),
                    Err(LinkError::Dangling { missing, .. }) => (missing.into(), false),
                    // Nothing that could be read.
                    Err(_) => continue,
                };
                let set = if is_folder { &mut closed.folders } else { &mut closed.files };
                if set.insert(Arc::clone(&target)) {
                    pending.push((target, is_folder));
                }
            }
        }
        closed
    }

    /// The entries of a tree that they name, sorted by path; what symbolic links among them lead to is among them.
    pub fn entries<'t>(&self, tree: &'t Tree) -> Vec<&'t Entry> {
        let closed = self.through_links(tree);
        let below = closed.folders.iter().flat_map(|folder| tree.under(folder).iter().chain(tree.get(folder)));
        let mut entries: Vec<&Entry> = closed.files.iter().filter_map(|file| tree.get(file)).chain(below).collect();
        entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        entries.dedup_by(|a, b| a.path == b.path);
        entries
    }

    /// A digest of the contents that a tree has for them: equal exactly when the same paths have the same contents.
    pub fn digest(&self, tree: &Tree) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        for entry in self.entries(tree) {
            let kind = match entry.kind {
                EntryKind::File | EntryKind::Executable => b'f',
                EntryKind::Symlink => b'l',
                EntryKind::Submodule => b's',
            };
            hasher.update(entry.path.as_bytes()).update(&[0, kind]).update(entry.id.as_bytes());
        }
        *hasher.finalize().as_bytes()
    }
}

/// The symbolic link that a path goes through, where it names nothing itself.
fn link_above<'t>(tree: &'t Tree, path: &str) -> Option<&'t Entry> {
    if tree.get(path).is_some() || tree.is_dir(path) {
        return None;
    }
    let mut above = path.match_indices('/').filter_map(|(at, _)| tree.get(path.get(..at)?));
    above.find(|entry| entry.kind == EntryKind::Symlink)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use crate::render::fixture::tree;

    #[test]
    fn files_and_folders_are_told_from_their_neighbours() {
        let mut inputs = Inputs::default();
        inputs.folder("apps/web/");
        inputs.file("values/web.yaml");
        assert!(inputs.contains("apps/web/a.yaml") && inputs.contains("values/web.yaml"));
        let paths = |path: &str| vec![Arc::from(path)];
        assert!(inputs.contain_any(&paths("apps/web/a/b.yaml")) && inputs.contain_any(&paths("values/web.yaml")));
        assert!(!inputs.contain_any(&paths("apps/web-x.yaml")) && !inputs.contain_any(&[]));
        assert!(!inputs.contains("apps/website/a.yaml") && !inputs.contains("values/web.yaml.bak"));
    }

    #[test]
    fn what_links_lead_to_is_an_input() {
        let tree = tree(
            &[("apps/web/a.yaml", "a"), ("shared/b.yaml", "b"), ("shared/c/d.yaml", "d")],
            &[("apps/web/b.yaml", "../../shared/b.yaml"), ("apps/web/c", "../../shared/c")],
        );
        let mut inputs = Inputs::default();
        inputs.folder("apps/web");
        let paths: Vec<&str> = inputs.entries(&tree).iter().map(|entry| &*entry.path).collect();
        assert_eq!(paths, ["apps/web/a.yaml", "apps/web/b.yaml", "apps/web/c", "shared/b.yaml", "shared/c/d.yaml"]);
        let mut through = Inputs::default();
        through.file("apps/web/c/d.yaml");
        let paths: Vec<&str> = through.entries(&tree).iter().map(|entry| &*entry.path).collect();
        assert_eq!(paths, ["apps/web/c", "shared/c/d.yaml"]);
    }

    #[test]
    fn the_digest_changes_with_contents_and_with_new_files_only() {
        let (before, after) = (tree(&[("a/x", "1"), ("b/y", "1")], &[]), tree(&[("a/x", "1"), ("b/y", "2")], &[]));
        let more = tree(&[("a/x", "1"), ("a/z", "1")], &[]);
        let mut inputs = Inputs::default();
        inputs.folder("a");
        assert_eq!(inputs.digest(&before), inputs.digest(&after));
        assert_ne!(inputs.digest(&before), inputs.digest(&more));
        inputs.file("b/y");
        assert_ne!(inputs.digest(&before), inputs.digest(&after));
    }
}
