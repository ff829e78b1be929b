//! The last net: a mistake of presync's own ends the work on one Application or rule, not the run.
//!
//! Takes a piece of work; hands on what it gave, or the [`Bug`] that it came upon.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

/// Where bugs are reported.
const REPORT_TO: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/issues");

thread_local! {
    /// Source file and line of the last panic of this thread.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A mistake of presync's own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("presync has a bug: {message}{}; please report it at {REPORT_TO}", place.as_deref().map(|place| format!(" ({place})")).unwrap_or_default())]
pub struct Bug {
    /// What it was at work on.
    pub during: String,
    message: String,
    place: Option<String>,
}

/// Bugs that were come upon, by all threads.
#[derive(Debug, Default)]
pub struct Bugs(Mutex<Vec<Bug>>);

impl Bugs {
    /// Notes a bug.
    pub fn note(&self, bug: Bug) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(bug);
    }

    /// All that were noted, in a fixed order.
    pub fn sorted(&self) -> Vec<Bug> {
        let mut bugs = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        bugs.sort();
        bugs.dedup();
        bugs
    }
}

/// Does a piece of work.
///
/// # Errors
/// The bug that it came upon.
pub fn caught<T>(during: impl FnOnce() -> String, work: impl FnOnce() -> T) -> Result<T, Bug> {
    // What the work leaves half done is dropped with it; shared state is behind locks and cells that stay usable.
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| Bug {
        during: during(),
        message: message(&*payload),
        place: PLACE.with(RefCell::take),
    })
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it stopped without a word").to_owned()
}

/// Makes panics silent, so that only [`caught`] tells of them; with `RUST_BACKTRACE` set they are printed as usual.
pub fn tell_only_once() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        PLACE.with(|place| *place.borrow_mut() = panic.location().map(|place| format!("{}:{}", place.file(), place.line())));
        if std::env::var_os("RUST_BACKTRACE").is_some() {
            usual(panic);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_is_told_with_what_it_was_at_and_the_rest_goes_on() {
        let bugs = Bugs::default();
        let each = ["shop", "store", "depot"].map(|name| {
            let work = || if name == "store" { panic!("index out of bounds") } else { name.len() };
            caught(|| format!("the plan of {name}"), work).map_err(|bug| bugs.note(bug)).ok()
        });
        assert_eq!(each, [Some(4), None, Some(5)]);
        let bugs = bugs.sorted();
        assert_eq!(bugs.len(), 1);
        assert_eq!(bugs[0].during, "the plan of store");
        let told = bugs[0].to_string();
        assert!(told.starts_with("presync has a bug: index out of bounds") && told.contains("please report it at https://"), "{told}");
    }
}
