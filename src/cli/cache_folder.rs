//! Where a user's programs keep what they can make again.
//!
//! Takes the environment; hands on presync's own folder there.

use std::env;
use std::path::PathBuf;

/// presync's cache folder of this user; `None` where the environment names none.
///
/// Source: the XDG Base Directory Specification; on macOS and Windows the system's own convention.
pub(super) fn of_user() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(stated) = absolute("XDG_CACHE_HOME") {
        return Some(stated.join("presync"));
    }
    if cfg!(windows) {
        return absolute("LOCALAPPDATA").map(|local| local.join("presync").join("cache"));
    }
    let home = absolute("HOME")?;
    Some(if cfg!(target_os = "macos") { home.join("Library/Caches/presync") } else { home.join(".cache/presync") })
}
