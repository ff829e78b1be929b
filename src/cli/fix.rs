//! `presync check --fix`: carries out the safe edits of the findings in the working tree, or shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use super::Failure;
use super::shared::{SharedArgs, failed};
use crate::check::Outcome;
use crate::finding::{Finding, Fix};
use crate::fix::{Edited, Refusal, files};
use crate::manifest::reader::decode;
use crate::repo::{Repository, Tree};

/// The edits of a run.
#[derive(Default)]
pub(super) struct Edits {
    /// Files with the text before and after, by path.
    files: BTreeMap<String, (String, Edited)>,
    /// Fingerprints of the findings that they are for.
    meant: BTreeSet<String>,
    /// What is left to a person, each as a sentence.
    by_hand: Vec<String>,
}

impl Edits {
    /// Whether they change a file.
    pub(super) fn change_something(&self) -> bool {
        self.written().next().is_some()
    }

    fn written(&self) -> impl Iterator<Item = (&String, &Edited)> {
        self.files.iter().filter(|(_, (before, after))| before != after.text()).map(|(path, (_, after))| (path, after))
    }

    /// Says what became of them. A finding that is still there after its edit is not fixed.
    pub(super) fn tell(&self, after: &Outcome) -> Result<(), Failure> {
        let counts = |finding: &&Finding| finding.suppressed.is_none() && self.meant.contains(&finding.fingerprint());
        let left: Vec<&Finding> = after.findings.iter().filter(counts).collect();
        let still: BTreeSet<String> = left.iter().map(|finding| finding.fingerprint()).collect();
        let fixed = self.meant.len() - still.len();
        let mut err = io::stderr().lock();
        writeln!(err, "fixed {} in {}", counted(fixed, "finding"), counted(self.written().count(), "file"))?;
        say(&self.by_hand, &mut err)?;
        for finding in left {
            writeln!(err, "{} is found in spite of its edit: {}. {}", finding.rule, finding.message, finding.help)?;
        }
        Ok(())
    }
}

/// Carries the edits out.
pub(super) fn write(outcome: &Outcome, args: &SharedArgs) -> Result<Edits, Failure> {
    let root = root(args)?;
    let edits = edits(outcome, &root);
    for (path, after) in edits.written() {
        let file = root.join(path);
        fs::write(&file, after.text()).map_err(|error| miette::miette!("cannot write {}: {error}", file.display()))?;
    }
    Ok(edits)
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
    let mut edits = Edits::default();
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
            Ok(()) => drop(edits.meant.insert(finding.fingerprint())),
            Err(refusal) => edits.by_hand.push(format!("{refusal}. {}: {}", finding.rule, finding.help)),
        }
    }
    edits
}

/// Takes back that findings can be fixed where the text stands against it: of a rendered object only the text tells what the file decides.
pub(super) fn withdraw(outcome: &mut Outcome, args: &SharedArgs) -> Result<(), Failure> {
    let is_doubtful = |fix: &Fix| fix.steps.iter().any(|step| step.origin.rendered.is_some());
    let mut tree: Option<Tree> = None;
    for finding in outcome.findings.iter_mut().filter(|finding| finding.fixable) {
        let Some(fix) = finding.fix.as_ref().filter(|fix| is_doubtful(fix)) else { continue };
        let tree = match &mut tree {
            Some(tree) => tree,
            none => none.insert(tree_of(&outcome.head, args)?),
        };
        finding.fixable = files(fix).into_iter().all(|path| {
            let text = tree.read(path).ok().and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
            let edited = text.and_then(|text| Edited::new(path, text).ok());
            edited.is_some_and(|mut edited| edited.apply(fix.steps.iter().filter(|step| &*step.origin.path == path)).is_ok())
        });
    }
    Ok(())
}

/// The files of the head that was judged.
fn tree_of(head: &str, args: &SharedArgs) -> Result<Tree, Failure> {
    let repository = Repository::discover(&args.repo).map_err(failed)?;
    let tree = match head {
        "worktree" => repository.worktree(),
        "index" => repository.index_tree(),
        commit => repository.resolve(commit).and_then(|commit| repository.commit_tree(&commit)),
    };
    tree.map_err(failed)
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
