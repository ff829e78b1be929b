//! Generates a GitOps fleet: a Git repository of Argo CD Applications and the cluster that is in sync with it.
//!
//! Takes a folder and a number of Applications; hands on a [`Fleet`]. The same number gives the same commit and the same snapshot. Nothing is
//! planted in it: a check of an innocent change, such as [`Fleet::bump_image`], has nothing to complain about.

mod live;
mod manifests;
#[allow(dead_code, reason = "not every benchmark plans")]
pub(crate) mod rendered;
mod repository;
mod service;
mod snapshot;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use service::Service;

/// What can go wrong while a fleet is made: files, Git.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Address under which the Applications know the repository.
const REPOSITORY: &str = "https://git.example.test/platform/fleet.git";
/// The cluster's API server.
const SERVER: &str = "https://kubernetes.default.svc";

/// A generated repository.
pub(crate) struct Fleet {
    /// The repository's working tree, in which everything is committed.
    pub(crate) root: PathBuf,
    services: Vec<Service>,
}

impl Fleet {
    /// Writes a repository of `applications` Applications with four manifests each, beside the root and the projects, and commits it.
    ///
    /// # Errors
    /// When files or Git fail, or something other than an earlier fleet lies in the folder.
    pub(crate) fn generate(root: &Path, applications: usize) -> Result<Self> {
        repository::clear(root)?;
        let fleet = Self { root: root.to_owned(), services: (0..applications).map(Service::new).collect() };
        repository::write(&fleet)?;
        Ok(fleet)
    }

    /// Writes the live state that is in sync with the commit, as `kubectl get -o json` or, by the file's ending, `-o yaml` prints it.
    /// Returns the number of objects.
    #[allow(dead_code, reason = "not every benchmark uses it")]
    pub(crate) fn write_snapshot(&self, file: &Path) -> Result<usize> {
        snapshot::write(self, file, 0)
    }

    /// As [`Fleet::write_snapshot`], with so many objects of others beside that there are at least `objects`.
    #[allow(dead_code, reason = "not every benchmark uses it")]
    pub(crate) fn write_snapshot_of(&self, file: &Path, objects: usize) -> Result<usize> {
        snapshot::write(self, file, objects)
    }

    /// Changes one Application in the working tree as most pull requests do: a new image.
    pub(crate) fn bump_image(&self) -> Result<()> {
        let service = self.services.get(self.services.len() / 2).ok_or("a fleet without Applications has no image")?;
        let path = self.root.join(service.deployment_path());
        let text = fs::read_to_string(&path)?;
        fs::write(&path, text.replace(&service.image(), &format!("{}-hotfix.1", service.image())))?;
        Ok(())
    }

    /// Undoes what was changed in the working tree.
    pub(crate) fn restore(&self) -> Result<()> {
        repository::git(&self.root, &["checkout", "--quiet", "--", "."])
    }
}
