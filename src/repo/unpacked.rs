//! Trees that no commit holds: the files of an archive that was fetched.

use std::sync::Arc;

use gix::bstr::BStr;
use gix::objs::Kind;

use super::tree::{ContentId, EntryKind, Held, Listing, Tree};
use super::{RepoError, Repository, Revision};

impl Repository {
    /// A tree of these files, by path; their contents stay in memory. Equal files make equal revisions.
    ///
    /// # Errors
    /// When contents cannot be hashed.
    pub fn unpacked(&self, files: Vec<(String, Vec<u8>)>) -> Result<Tree, RepoError> {
        let kind = self.local().object_hash();
        let hash = |contents: &[u8]| {
            gix::objs::compute_hash(kind, Kind::Blob, contents).map_err(|source| RepoError::git("hashing a file", source))
        };
        let mut listing = Listing::default();
        let mut names = Vec::new();
        for (path, contents) in files {
            let id = hash(&contents)?;
            names.extend_from_slice(path.as_bytes());
            names.push(0);
            names.extend_from_slice(id.as_bytes());
            listing.push(BStr::new(&path), EntryKind::File, id);
            listing.held.insert(ContentId(id), Held::Memory(Arc::from(contents)));
        }
        let revision = Revision::Archive(ContentId(hash(&names)?));
        Ok(Tree::new(self.clone(), revision, listing))
    }
}
