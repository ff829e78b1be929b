//! Runs something several times and prints how long it took, beside what the machine was like.
//!
//! Takes closures; hands on lines of a table.

use std::fmt;
use std::fs;
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

/// How often each thing is run; one more run before them is not counted.
pub(crate) const RUNS: usize = 10;

/// Durations of one thing, sorted.
pub(crate) struct Times(Vec<Duration>);

impl Times {
    /// Runs it [`RUNS`] times after one run that is not counted. Dropping what it gives is not counted either.
    pub(crate) fn of<T, E>(mut run: impl FnMut() -> Result<T, E>) -> Result<Self, E> {
        run()?;
        let mut times = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            let start = Instant::now();
            let given = black_box(run()?);
            times.push(start.elapsed());
            drop(given);
        }
        times.sort();
        Ok(Self(times))
    }

    /// The middle one; of an even number the mean of the two in the middle.
    pub(crate) fn median(&self) -> Duration {
        let middle = |index: usize| self.0.get(index).copied().unwrap_or_default();
        let half = self.0.len() / 2;
        if self.0.len() % 2 == 1 { middle(half) } else { (middle(half.saturating_sub(1)) + middle(half)) / 2 }
    }
}

impl fmt::Display for Times {
    /// Median, least and most, in milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        let (least, most) = (self.0.first().copied().unwrap_or_default(), self.0.last().copied().unwrap_or_default());
        write!(f, "{:>10.1} {:>10.1} {:>10.1}", milliseconds(self.median()), milliseconds(least), milliseconds(most))
    }
}

/// What the machine is and how busy it is now.
pub(crate) fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("unknown processor", |rest| rest.trim_start_matches([' ', '\t', ':']));
    let threads = thread::available_parallelism().map_or(0, usize::from);
    format!("{model}, {threads} threads, {}, load {}", std::env::consts::OS, load())
}

/// The load averages of the last 1, 5 and 15 minutes.
pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    if words.is_empty() { "unknown".to_owned() } else { words.join(" ") }
}
