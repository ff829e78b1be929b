//! `presync check --fix`: carries out the safe edits of the findings in the working tree, or shows them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use super::Failure;
use super::shared::{SharedArgs, failed};
use crate::check::Outcome;
use crate::fix::{Edited, Refusal, files};
use crate::manifest::reader::decode;
use crate::repo::Repository;

/// The edits of a run.
struct Edits {
    /// Files with the text before and after, by path.
    files: BTreeMap<String, (String, Edited)>,
    /// How many findings they settle.
    settled: usize,
    /// What is left to a person, each as a sentence.
    by_hand: Vec<String>,
}

/// Carries the edits out; hands on whether anything was written.
pub(super) fn write(outcome: &Outcome, args: &SharedArgs) -> Result<bool, Failure> {
    let root = root(args)?;
    let edits = edits(outcome, &root);
    let mut written = 0;
    for (path, (before, after)) in edits.files.iter().filter(|(_, (before, after))| before != after.text()) {
        let file = root.join(path);
        fs::write(&file, after.text()).map_err(|error| miette::miette!("cannot write {}: {error}", file.display()))?;
        written += usize::from(before != after.text());
    }
    let mut err = io::stderr().lock();
    writeln!(err, "fixed {} in {}", counted(edits.settled, "finding"), counted(written, "file"))?;
    say(&edits.by_hand, &mut err)?;
    Ok(written > 0)
}

/// Shows the edits as a diff and writes nothing.
pub(super) fn diff(outcome: &Outcome, args: &SharedArgs, fails: bool) -> Result<ExitCode, Failure> {
    let edits = edits(outcome, &root(args)?);
    let mut out = io::stdout().lock();
    for (path, (before, after)) in &edits.files {
        let diff = similar::TextDiff::from_lines(before.as_str(), after.text());
        write!(out, "{}", diff.unified_diff().header(&format!("a/{path}"), &format!("b/{path}")))?;
    }
    say(&edits.by_hand, &mut io::stderr().lock())?;
    Ok(if fails { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn say(by_hand: &[String], err: &mut impl Write) -> io::Result<()> {
    by_hand.iter().try_for_each(|sentence| writeln!(err, "{sentence}"))
}

fn root(args: &SharedArgs) -> Result<std::path::PathBuf, Failure> {
    let repository = Repository::discover(&args.repo).map_err(failed)?;
    let root = repository.root().map(Path::to_owned);
    root.ok_or_else(|| miette::miette!(help = "Name a checkout with --repo DIR.", "the repository is bare and has no files").into())
}

fn edits(outcome: &Outcome, root: &Path) -> Edits {
    let mut edits = Edits { files: BTreeMap::new(), settled: 0, by_hand: Vec::new() };
    for finding in outcome.findings.iter().filter(|finding| finding.suppressed.is_none()) {
        let Some(fix) = &finding.fix else { continue };
        let apply = |path: &str, edits: &mut Edits| -> Result<(), Refusal> {
            if !edits.files.contains_key(path) {
                let text = text(root, path)?;
                edits.files.insert(path.to_owned(), (text.clone(), Edited::new(path, text)?));
            }
            let steps = fix.steps.iter().filter(|step| &*step.origin.path == path);
            edits.files.get_mut(path).map_or(Ok(()), |(_, edited)| edited.apply(steps))
        };
        match files(fix).into_iter().try_for_each(|path| apply(path, &mut edits)) {
            Ok(()) => edits.settled += 1,
            Err(refusal) => edits.by_hand.push(format!("{refusal}. {}: {}", finding.rule, finding.help)),
        }
    }
    edits
}

/// The text of a file of the working tree; what is no plain UTF-8 file is left alone.
fn text(root: &Path, path: &str) -> Result<String, Refusal> {
    let refuse = |why: String| Refusal::File { path: path.to_owned(), why };
    let file = root.join(path);
    let is_file = fs::symlink_metadata(&file).map_err(|error| refuse(error.to_string()))?.is_file();
    if !is_file {
        return Err(refuse("it is no plain file".to_owned()));
    }
    let bytes = fs::read(&file).map_err(|error| refuse(error.to_string()))?;
    if decode(&bytes).text.as_bytes() != bytes {
        return Err(refuse("it is not plain UTF-8".to_owned()));
    }
    String::from_utf8(bytes).map_err(|_| refuse("it is not plain UTF-8".to_owned()))
}
