//! Jsonnet files of plain directories, evaluated with jrsonnet in a process of presync's own.
//!
//! Takes the programs of a source; hands on the JSON text of each. Evaluation reads the files that the tree has, and no others. jrsonnet can
//! neither be interrupted nor bounded in memory, and its recursion may overflow the stack: a program that takes too much ends a process, and
//! it shall not be the one that judges the other Applications. So presync runs itself (`presync evaluate-jsonnet FILE`) within the limits
//! that every renderer's program has.

mod evaluate;
mod imports;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::thread;

use super::environment::Environment;
use super::program::{Call, ProgramError};
use super::{Inputs, RenderError, Request, Stop};
use crate::argocd::application::{Jsonnet, JsonnetVariable};
use crate::repo::{LinkError, LinkTarget, Tree, clean_path};

use evaluate::{Answer, Binding, Complaint, Order};
use imports::SearchPath;

pub use imports::Imports;

/// The hidden command that evaluates an order in a process of its own.
pub const COMMAND: &str = "evaluate-jsonnet";
/// Enough for about a hundred thousand brackets inside of each other: the parser recurs without a limit of its own.
const STACK_BYTES: usize = 512 << 20;

/// The jsonnet programs of one source, ready to be evaluated.
pub(super) struct Evaluation {
    order: Order,
    inputs: Inputs,
    folder: String,
    depends_on_revision: bool,
}

impl Evaluation {
    /// The evaluation of the programs at these paths.
    ///
    /// # Errors
    /// When a folder of libraries is not inside of the repository.
    pub(super) fn new(request: &Request<'_>, settings: &Jsonnet, programs: &[&str]) -> Result<Self, RenderError> {
        let environment = Environment::of(request);
        let search = search_path(settings, &request.tree, &request.path)?;
        let bindings = |variables: &[JsonnetVariable]| -> Vec<Binding> {
            let bind = |variable: &JsonnetVariable| Binding {
                name: variable.name.clone(),
                value: environment.substitute(&variable.value),
                is_code: variable.code,
            };
            // Of two with one name the last counts.
            let by_name: BTreeMap<&str, Binding> = variables.iter().map(|variable| (variable.name.as_str(), bind(variable))).collect();
            by_name.into_values().collect()
        };
        let (variables, arguments) = (bindings(&settings.ext_vars), bindings(&settings.tlas));
        let code = variables.iter().chain(&arguments).filter(|binding| binding.is_code).map(|binding| binding.value.as_str());
        let (files, inputs) = request.workshop.imports.closure(&request.tree, programs, &code.collect::<Vec<_>>(), &search);
        let programs = programs.iter().map(|program| (*program).to_owned()).collect();
        let mut values = settings.ext_vars.iter().chain(&settings.tlas).map(|variable| &variable.value);
        let depends_on_revision = values.any(|value| Environment::depends_on_revision(value));
        let order = Order { programs, files, search, variables, arguments };
        Ok(Self { order, inputs, folder: request.path.clone(), depends_on_revision })
    }

    /// The paths that decide the result.
    pub(super) fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// What was taken for granted.
    pub(super) fn assumption(&self) -> Option<String> {
        let what = "a variable or argument of jsonnet uses ARGOCD_APP_REVISION, which is not known before the merge: objects will change besides what is shown";
        self.depends_on_revision.then(|| what.to_owned())
    }

    /// All that decides the result besides the contents of files.
    pub(super) fn parameters(&self) -> String {
        let Order { programs, search, variables, arguments, .. } = &self.order;
        format!("jsonnet {programs:?} {search:?} {variables:?} {arguments:?}")
    }

    /// The JSON text of each program, by path.
    ///
    /// # Errors
    /// When one cannot be evaluated, or presync cannot tell.
    pub(super) fn run(&self, request: &Request<'_>) -> Result<BTreeMap<String, String>, Stop> {
        let what = || format!("jsonnet files in {}", if self.folder.is_empty() { "the repository root" } else { &self.folder });
        let Some(program) = request.workshop.programs.presync() else {
            return Err(Stop::unjudged(what(), "jsonnet is evaluated by the program presync, which is not at hand"));
        };
        let home = request.workshop.scratch.home().map_err(|error| Stop::scratch(what(), &error))?;
        let file = home.path().join("order.json");
        let written = serde_json::to_vec(&self.order).map_err(io::Error::from).and_then(|order| fs::write(&file, order));
        written.map_err(|error| Stop::unjudged(what(), format!("a temporary file cannot be written: {error}")))?;
        let call = Call {
            program,
            arguments: vec![COMMAND.into(), file.into_os_string()],
            directory: home.path(),
            home: home.path(),
            environment: Vec::new(),
            limits: request.workshop.limits.clone(),
        };
        let output = call.run().map_err(|error| self.failed(request, &error))?;
        let answer: Answer = serde_json::from_slice(&output.stdout)
            .map_err(|error| Stop::unjudged(what(), format!("the evaluation gave no answer that can be read: {error}")))?;
        let texts = answer.map_err(|complaint| complained(request, &complaint))?;
        Ok(self.order.programs.iter().cloned().zip(texts).collect())
    }

    /// An evaluation that ended before it gave an answer.
    fn failed(&self, request: &Request<'_>, error: &ProgramError) -> Stop {
        let programs = self.order.programs.join(", ");
        let what = match error {
            ProgramError::Start { .. } => return Stop::unjudged(format!("jsonnet file {programs}"), error.to_string()),
            ProgramError::TimedOut { limit, .. } => format!("did not end within {} seconds", limit.as_secs()),
            ProgramError::TooMuchOutput { limit, .. } => format!("gave more than {limit} bytes"),
            ProgramError::Failed { status, .. } if status.starts_with("signal") => "took more memory than it may have".to_owned(),
            ProgramError::Failed { .. } => return Stop::unjudged(format!("jsonnet file {programs}"), error.to_string()),
        };
        let message = format!("the evaluation of {programs} {what} and was stopped");
        let error =
            RenderError::new("render-failed", message, "Look for recursion or repetition without end in the file and what it imports.");
        match self.order.programs.first() {
            Some(program) => error.at(&program.as_str().into(), request.side, 1, 1).into(),
            None => error.into(),
        }
    }
}

fn complained(request: &Request<'_>, complaint: &Complaint) -> Stop {
    let Complaint { program, message, place, is_certain } = complaint;
    if !is_certain {
        return Stop::unjudged(format!("jsonnet file {program}"), format!("{message}; whether Argo CD counts as many is not known"));
    }
    let message = format!("{program} cannot be evaluated: {message}. Argo CD generates no manifests of the Application");
    let (path, line, column) = place.clone().unwrap_or_else(|| (program.clone(), 1, 1));
    RenderError::new(
        "render-failed",
        message,
        "Mend the file, the variables and arguments in the Application, or leave it out with `directory.exclude`.",
    )
    .at(&path.into(), request.side, line, column)
    .into()
}

/// The folders that imports are looked up in: the last library first, the Application's own folder last.
///
/// Source: Argo CD `reposerver/repository/repository.go:makeJsonnetVM`, go-jsonnet `imports.go:FileImporter.Import`.
fn search_path(settings: &Jsonnet, tree: &Tree, path: &str) -> Result<SearchPath, RenderError> {
    let mut folders = Vec::new();
    for library in settings.libs.iter().rev() {
        let inside = clean_path(library).and_then(|folder| match tree.resolve_link(&folder) {
            Ok(LinkTarget::Directory(folder)) => Some(folder),
            Err(LinkError::OutOfBounds { .. }) => None,
            // Nothing is found there.
            _ => Some(folder),
        });
        let Some(folder) = inside else {
            let message = format!("the jsonnet library folder {library} is outside of the repository, which Argo CD refuses");
            let help = "Use a folder of the repository, named from its root, in `directory.jsonnet.libs`.";
            return Err(RenderError::new("render-failed", message, help));
        };
        folders.push(folder);
    }
    folders.push(path.to_owned());
    Ok(SearchPath { folders })
}

/// Evaluates the order in a file and writes the answer: the work of the process of its own.
///
/// # Errors
/// When the order cannot be read, or the answer cannot be written.
pub fn evaluate_order(file: &Path, out: &mut dyn io::Write) -> io::Result<()> {
    let order: Order = serde_json::from_slice(&fs::read(file)?)?;
    let answer = thread::scope(|scope| {
        let evaluation = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, || evaluate::evaluate(&order))?;
        evaluation.join().map_err(|_| io::Error::other("the evaluator failed"))
    })?;
    serde_json::to_writer(&mut *out, &answer)?;
    out.flush()
}
