//! What a run that is interrupted would leave behind: programs that it has started, and temporary folders.
//!
//! Takes note of both while they are there; [`clear`] ends and removes them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The shell that ends process groups.
const SHELL: &str = "/bin/sh";

static ALL: Mutex<Leftovers> = Mutex::new(Leftovers { groups: BTreeSet::new(), folders: BTreeSet::new(), cleared: false });

#[derive(Default)]
struct Leftovers {
    groups: BTreeSet<u32>,
    folders: BTreeSet<PathBuf>,
    /// Nothing is started any more.
    cleared: bool,
}

fn all() -> MutexGuard<'static, Leftovers> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process group as long as it runs.
pub(super) struct Group(u32);

impl Group {
    /// Notes a group by its first process; ends it at once where everything has been cleared.
    pub(super) fn of(process: u32) -> Self {
        let mut all = all();
        if all.cleared {
            end_group(process);
        } else {
            all.groups.insert(process);
        }
        Self(process)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        all().groups.remove(&self.0);
    }
}

/// A temporary folder as long as it is there.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Notes a folder.
    pub(super) fn of(path: &Path) -> Self {
        all().folders.insert(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        all().folders.remove(&self.0);
    }
}

/// Ends what has been started and removes what was laid out. For a process that ends right after it.
pub fn clear() {
    let mut all = all();
    all.cleared = true;
    std::mem::take(&mut all.groups).into_iter().for_each(end_group);
    // Nothing is left to do where a folder cannot be removed.
    std::mem::take(&mut all.folders).into_iter().for_each(|folder| drop(fs::remove_dir_all(folder)));
}

/// Ends all processes of a group, by the number of its first one.
pub(super) fn end_group(process: u32) {
    if cfg!(unix) && Path::new(SHELL).is_file() {
        let mut command = Command::new(SHELL);
        let kill = format!("kill -9 -{process}");
        command.args(["-c", &kill]).env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let _ = command.status();
    }
}
