//! What a run tells on standard error while it goes on and when it is done.
//!
//! Takes the programs that it runs.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::render::{Calls, Made};
use crate::snapshot::may_be_secret;

/// How often progress is shown.
const STEP: Duration = Duration::from_millis(100);

/// The notes of a run; where progress is shown, one line on standard error is rewritten as programs end.
pub(super) fn calls(shows_progress: bool) -> Calls {
    if !shows_progress {
        return Calls::default();
    }
    let last = Mutex::new(None::<Instant>);
    Calls::watched(move |made, count| {
        let Ok(mut last) = last.lock() else { return };
        if last.is_none_or(|last| last.elapsed() >= STEP) {
            *last = Some(Instant::now());
            // Progress that cannot be shown is no reason to stop.
            let _ = write!(io::stderr(), "\r\x1b[Krendering: {count} done, last {}", name(&made.program));
        }
    })
}

/// Takes the line of progress away.
pub(super) fn end() {
    let _ = write!(io::stderr(), "\r\x1b[K");
}

/// Tells which programs were run, and how long everything took.
pub(super) fn tell(calls: &Calls, took: Duration) {
    let mut out = io::stderr().lock();
    for made in calls.made() {
        let _ = writeln!(out, "{}", line(&made));
    }
    let _ = writeln!(out, "took {:.2} s", took.as_secs_f64());
}

/// `ran helm template . --set a=b (0.12 s)`; values that are secret by their names are left out.
fn line(made: &Made) -> String {
    let mut text = format!("ran {}", made.program);
    let mut versions = 0;
    let mut arguments = made.arguments.iter().peekable();
    while let Some(argument) = arguments.next() {
        if argument == "--api-versions" {
            // There are hundreds of them.
            versions += 1;
            arguments.next();
            continue;
        }
        let shown = match argument.split_once('=') {
            Some((name, value)) if may_be_secret(name, value) => format!("{name}=***"),
            _ => crate::repo::without_passwords(argument),
        };
        let is_plain = !shown.is_empty() && shown.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./=:@,+%".contains(&byte));
        text.push(' ');
        text.push_str(&if is_plain { shown } else { format!("'{}'", shown.replace('\'', "'\\''")) });
    }
    let failed = if made.succeeded { "" } else { ", failed" };
    let more = if versions > 0 { format!(" and {versions} times --api-versions") } else { String::new() };
    format!("{text}{more} ({:.2} s{failed})", made.took.as_secs_f64())
}

/// The name of a program.
fn name(program: &str) -> String {
    Path::new(program).file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_told_with_its_arguments_and_without_secrets() {
        let made = Made {
            program: "/usr/bin/helm".into(),
            arguments: ["template", ".", "--api-versions", "v1", "--set", "db.password=canary", "--set", "note=it's"]
                .map(str::to_owned)
                .into(),
            took: Duration::from_millis(120),
            succeeded: false,
        };
        assert_eq!(
            line(&made),
            "ran /usr/bin/helm template . --set 'db.password=***' --set 'note=it'\\''s' and 1 times --api-versions (0.12 s, failed)"
        );
    }
}
