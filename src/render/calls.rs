//! Which programs a run has started.
//!
//! Takes note of each when it has ended; hands them on to who asks.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A program that was run.
#[derive(Clone, Debug)]
pub struct Made {
    /// Its path.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// How long it took.
    pub took: Duration,
    /// Whether it ended well.
    pub succeeded: bool,
}

/// Is told of each program that has ended, and how many there were.
type Watcher = dyn Fn(&Made, usize) + Send + Sync;

/// The programs that were run, in the order in which they ended.
#[derive(Clone, Default)]
pub struct Calls {
    made: Arc<Mutex<Vec<Made>>>,
    watcher: Option<Arc<Watcher>>,
}

impl Calls {
    /// None yet; this is told of each.
    pub fn watched(watcher: impl Fn(&Made, usize) + Send + Sync + 'static) -> Self {
        Self { watcher: Some(Arc::new(watcher)), ..Self::default() }
    }

    /// All of them.
    pub fn made(&self) -> Vec<Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn note(&self, program: &Path, arguments: &[OsString], took: Duration, succeeded: bool) {
        let arguments = arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
        let made = Made { program: program.to_string_lossy().into_owned(), arguments, took, succeeded };
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watcher) = &self.watcher {
            watcher(&made, all.len() + 1);
        }
        all.push(made);
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.made.fmt(formatter)
    }
}

/// What was run is no property of limits or programs.
impl PartialEq for Calls {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Calls {}
