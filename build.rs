//! Gives the reader of manifests a fingerprint, so that what an earlier build has read is never taken for this one's.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What the result of reading a file depends on.
const PARTS: [&str; 4] = ["src/manifest", "src/repo/parsed.rs", "src/repo/stored.rs", "Cargo.lock"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut hasher = DefaultHasher::new();
    for part in PARTS {
        println!("cargo:rerun-if-changed={part}");
        add(&root.join(part), &mut hasher)?;
    }
    println!("cargo:rustc-env=PRESYNC_READER={:016x}", hasher.finish());
    Ok(())
}

fn add(path: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    if path.is_dir() {
        let mut below = fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?;
        below.sort();
        return below.iter().try_for_each(|path| add(path, hasher));
    }
    // A crate that is built as a dependency has no lock file of its own.
    if path.exists() {
        fs::read(path)?.hash(hasher);
    }
    Ok(())
}
