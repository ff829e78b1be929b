//! The helm and kubectl that tests run: the pinned ones of `scripts/tools`, never those of the machine.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder with the pinned `helm` and `kubectl`; fetches them where they are missing.
pub(crate) fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let output = Command::new(root.join("scripts/tools")).output().expect("python3 is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        root.join(".tools/bin")
    })
}

/// A search path on which the pinned programs come first.
pub(crate) fn search_path() -> OsString {
    let inherited = env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder().to_owned()).chain(env::split_paths(&inherited));
    env::join_paths(folders).expect("no folder has a colon in its name")
}
