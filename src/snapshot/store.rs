//! Where snapshots are put: a file, or an object at a URL, that is there as a whole or not at all.
//!
//! Takes the name of a place and what writes the bytes; hands on how many bytes they were.

mod remote;

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::error::SnapshotError;

pub use remote::Access;
pub(super) use remote::{fetch, is_url};

/// Writes a snapshot to its place, in full or not at all. Returns what `write` returns and the number of bytes.
///
/// # Errors
/// Where it cannot be written there.
pub fn save<T>(place: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> Result<(T, u64), SnapshotError> {
    let failed = |source| SnapshotError::Write { path: place.to_owned(), source };
    if is_url(place) {
        let mut bytes = Vec::new();
        let written = write(&mut bytes).map_err(failed)?;
        let size = bytes.len() as u64;
        remote::put(place, bytes)?;
        return Ok((written, size));
    }
    to_file(Path::new(place), write).map_err(failed)
}

fn to_file<T>(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<(T, u64)> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Written beside its place and moved there, so that a cut-off run leaves no half snapshot.
    let mut file = tempfile::Builder::new().prefix(".presync-").tempfile_in(folder)?;
    let mut out = BufWriter::new(file.as_file_mut());
    let written = write(&mut out)?;
    out.flush()?;
    drop(out);
    file.as_file().sync_all()?;
    make_readable(&file)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok((written, fs::metadata(path)?.len()))
}

/// Temporary files are private; a snapshot is meant to be shared.
#[cfg(unix)]
fn make_readable(file: &tempfile::NamedTempFile) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn make_readable(_: &tempfile::NamedTempFile) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_half_way_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("live.zst");
        let name = place.to_str().unwrap();
        save(name, |out| out.write_all(b"old")).unwrap();
        let result = save(name, |out| {
            out.write_all(b"half")?;
            Err::<(), _>(io::Error::other("cut"))
        });
        assert!(matches!(result, Err(SnapshotError::Write { .. })));
        assert_eq!(fs::read(&place).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
