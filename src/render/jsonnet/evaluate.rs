//! Evaluates jsonnet with jrsonnet. This is what runs in the process of its own.
//!
//! Takes an [`Order`]; hands on JSON texts, or a [`Complaint`]. Reads no file: all that may be imported is in the order.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use jrsonnet_evaluator::error::ErrorKind;
use jrsonnet_evaluator::function::CallLocation;
use jrsonnet_evaluator::manifest::JsonFormat;
use jrsonnet_evaluator::tla::TlaArg;
use jrsonnet_evaluator::trace::PathResolver;
use jrsonnet_evaluator::{AsPathLike, Error, IStr, ImportResolver, Source, SourcePath, Span, State, apply_tla, stack};
use jrsonnet_gcmodule::Acyclic;
use jrsonnet_ir::{SourceFifo, SourceFile};
use jrsonnet_stdlib::{ContextInitializer, TracePrinter};
use serde::{Deserialize, Serialize};

use super::imports::{Found, SearchPath};

/// Calls and values inside of each other: go-jsonnet's default.
const MAX_STACK: usize = 500;
/// How many make certain that it is not only counted in another way than go-jsonnet does, which leaves out tail calls.
const CERTAIN_STACK: usize = 20_000;

/// What is to be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Order {
    /// The files to evaluate, in order.
    pub(super) programs: Vec<String>,
    /// Everything that may be asked for, by path.
    pub(super) files: BTreeMap<String, Found>,
    /// Where imports are looked up.
    pub(super) search: SearchPath,
    /// External variables.
    pub(super) variables: Vec<Binding>,
    /// Top-level arguments.
    pub(super) arguments: Vec<Binding>,
}

/// A variable or an argument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Binding {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) is_code: bool,
}

/// Why a file cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Complaint {
    /// The file that was to be evaluated.
    pub(super) program: String,
    /// What is wrong.
    pub(super) message: String,
    /// Where: a file, a line and a column from 1.
    pub(super) place: Option<(String, u32, u32)>,
    /// Whether Argo CD cannot evaluate the file either.
    pub(super) is_certain: bool,
}

/// The JSON text of each file, up to the first that cannot be evaluated.
pub(super) type Answer = Result<Vec<String>, Complaint>;

/// Evaluates all files of an order.
pub(super) fn evaluate(order: &Order) -> Answer {
    order.programs.iter().map(|program| one(order, program)).collect()
}

fn one(order: &Order, program: &str) -> Result<String, Complaint> {
    let complaint = |error: &Error, is_certain: bool| Complaint {
        program: program.to_owned(),
        message: message(error),
        place: place(error),
        is_certain,
    };
    let error = match within(order, program, MAX_STACK) {
        Ok(json) => return Ok(json),
        Err(error) => error,
    };
    let is_certain = !matches!(error.error(), ErrorKind::StackOverflow) || within(order, program, CERTAIN_STACK).is_err();
    Err(complaint(&error, is_certain))
}

#[expect(clippy::mutable_key_type, reason = "the evaluator's names are equal and hashed by their text")]
fn within(order: &Order, program: &str, max_stack: usize) -> Result<String, Error> {
    let context = ContextInitializer::new(PathResolver::Absolute);
    {
        let mut settings = context.settings_mut();
        settings.trace_printer = Rc::new(Silent);
        settings.ext_vars = order.variables.iter().map(bound).collect();
    }
    let mut builder = State::builder();
    builder.import_resolver(Resolver { files: order.files.clone(), search: order.search.clone() }).context_initializer(context);
    let state = builder.build();
    let _entered = state.enter();
    let _limited = stack::limit_stack_depth(max_stack);
    let arguments: HashMap<IStr, TlaArg> = order.arguments.iter().map(bound).collect();
    state
        .import_resolved(SourcePath::new(SourceFile::new(program.into())))
        .and_then(|value| apply_tla(&arguments, value))
        .and_then(|value| value.manifest(JsonFormat::minify()))
}

fn bound(binding: &Binding) -> (IStr, TlaArg) {
    let value = match binding.is_code {
        true => TlaArg::InlineCode(binding.value.clone()),
        false => TlaArg::String(binding.value.as_str().into()),
    };
    (binding.name.as_str().into(), value)
}

/// Finds imports among the files of an order.
#[derive(Acyclic)]
struct Resolver {
    files: BTreeMap<String, Found>,
    search: SearchPath,
}

impl ImportResolver for Resolver {
    fn resolve_from(&self, from: &SourcePath, path: &dyn AsPathLike) -> Result<SourcePath, Error> {
        let importing = from.path().map(|path| path.to_string_lossy().into_owned());
        let import = path.as_path().to_owned().to_string();
        let failed = |message: String| Error::from(ErrorKind::ImportIo(message));
        let candidates = self.search.candidates(importing.as_deref(), &import).map_err(|error| failed(error.to_string()))?;
        match candidates.into_iter().find(|candidate| self.files.contains_key(candidate)) {
            Some(found) => Ok(SourcePath::new(SourceFile::new(found.into()))),
            None => Err(failed(format!("there is no {import:?} beside the importing file, in the Application's folder or in its libs"))),
        }
    }

    fn load_file_contents(&self, resolved: &SourcePath) -> Result<Vec<u8>, Error> {
        if let Some(code) = resolved.downcast_ref::<SourceFifo>() {
            return Ok(code.1.to_vec());
        }
        let path = resolved.path().map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        match self.files.get(&path) {
            Some(Found::Text(text)) => Ok(text.clone().into_bytes()),
            Some(Found::Unreadable(why)) => Err(ErrorKind::ImportIo(why.clone()).into()),
            None => Err(ErrorKind::ImportIo(format!("there is no {path}")).into()),
        }
    }
}

/// What `std.trace` prints goes nowhere.
#[derive(Acyclic)]
struct Silent;

impl TracePrinter for Silent {
    fn print_trace(&self, _: CallLocation<'_>, _: IStr) {}
}

/// The error in one line.
fn message(error: &Error) -> String {
    match error.error() {
        ErrorKind::RuntimeError(text) => text.to_string(),
        ErrorKind::ImportIo(text) => text.clone(),
        ErrorKind::UndefinedExternalVariable(name) => format!("the external variable {name} is not set"),
        ErrorKind::StackOverflow => format!("more than {MAX_STACK} calls stand inside of each other"),
        ErrorKind::StaticAnalysisError(found) => {
            let errors = found.iter().filter(|found| is_error(found)).map(|found| found.message.as_str());
            errors.collect::<Vec<_>>().join("; ")
        }
        other => other.to_string().replace('\n', "; "),
    }
}

fn is_error(found: &jrsonnet_evaluator::analyze::Diagnostic) -> bool {
    matches!(found.level, jrsonnet_evaluator::analyze::DiagLevel::Error)
}

/// Where the error is: the innermost place that stands in a file.
fn place(error: &Error) -> Option<(String, u32, u32)> {
    if let ErrorKind::ImportSyntaxError { path, error } = error.error() {
        return at(path, error.location.1);
    }
    if let ErrorKind::StaticAnalysisError(found) = error.error() {
        return found.iter().filter(|found| is_error(found)).find_map(|found| found.span.as_ref().and_then(in_file));
    }
    error.trace().0.iter().find_map(|element| element.location.as_ref().and_then(in_file))
}

fn in_file(span: &Span) -> Option<(String, u32, u32)> {
    at(&span.0, span.1)
}

fn at(source: &Source, offset: u32) -> Option<(String, u32, u32)> {
    let path = source.source_path().path()?.to_string_lossy().into_owned();
    let before = source.code().get(..offset as usize).unwrap_or(source.code());
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Some((path, u32::try_from(line).ok()?, u32::try_from(column).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(files: &[(&str, &str)]) -> Order {
        Order {
            programs: vec!["apps/main.jsonnet".into()],
            files: files.iter().map(|(path, text)| ((*path).to_owned(), Found::Text((*text).to_owned()))).collect(),
            search: SearchPath { folders: vec!["vendor".into(), "apps".into()] },
            variables: Vec::new(),
            arguments: Vec::new(),
        }
    }

    fn of(text: &str) -> Answer {
        evaluate(&order(&[("apps/main.jsonnet", text)]))
    }

    fn binding(name: &str, value: &str, is_code: bool) -> Binding {
        Binding { name: name.into(), value: value.into(), is_code }
    }

    #[test]
    fn variables_and_arguments_are_texts_or_code() {
        let mut order = order(&[
            ("apps/main.jsonnet", "local lib = import 'lib.libsonnet'; function(name, count=1) {name: name, count: count, env: lib.env}"),
            ("vendor/lib.libsonnet", "{env: [std.extVar('text'), std.extVar('code'), importstr 'note.txt', std.thisFile]}"),
            ("vendor/note.txt", "hello"),
        ]);
        order.variables = vec![binding("text", "1 + 1", false), binding("code", "1 + 1", true)];
        order.arguments = vec![binding("name", "shop", false), binding("count", "{n: 2}.n", true)];
        let expected = r#"{"count":2,"env":["1 + 1",2,"hello","vendor/lib.libsonnet"],"name":"shop"}"#;
        assert_eq!(evaluate(&order), Ok(vec![expected.to_owned()]));
    }

    #[test]
    fn arguments_are_ignored_where_the_file_is_no_function() {
        let mut order = order(&[("apps/main.jsonnet", "{a: 1}")]);
        order.arguments = vec![binding("unused", "x", false)];
        assert_eq!(evaluate(&order), Ok(vec![r#"{"a":1}"#.to_owned()]));
    }

    #[test]
    fn errors_say_what_is_wrong_and_where() {
        let complaint = |text: &str| {
            let complaint = of(text).unwrap_err();
            (complaint.message, complaint.place.map(|(_, line, column)| (line, column)))
        };
        assert_eq!(complaint("local x = 1;\n{\n  a: error 'no value',\n}\n"), ("no value".into(), Some((3, 6))));
        assert_eq!(complaint("local x = 1;\n{\n  a: y,\n}\n"), ("undefined local: y".into(), Some((3, 6))));
        let (message, place) = complaint("{\n  a: ,\n}\n");
        assert!(message.starts_with("syntax error") && place == Some((2, 6)), "{message} {place:?}");
        let (message, place) = complaint("{\n  a: std.extVar('stage'),\n}\n");
        assert!(message.contains("external variable stage") && place == Some((2, 16)), "{message} {place:?}");
        let (message, _) = complaint("import 'gone.libsonnet'");
        assert!(message.contains("there is no \"gone.libsonnet\""), "{message}");
        let (message, _) = complaint("import '/etc/passwd'");
        assert!(message.contains("outside of the repository"), "{message}");
    }

    #[test]
    fn recursion_without_end_is_an_error() {
        assert!(of("local f(x) = f(x + 1); f(0)").unwrap_err().message.contains("500 calls"));
        assert!(of("{a: self.a}").unwrap_err().message.contains("infinite recursion"));
        assert_eq!(of("local f(x) = if x == 0 then 0 else 1 + f(x - 1); f(450)"), Ok(vec!["450".into()]));
    }

    #[test]
    fn deep_recursion_that_ends_may_be_counted_in_another_way() {
        let deep = |depth: usize| of(&format!("local f(x) = if x == 0 then 0 else f(x - 1); f({depth})"));
        assert!(!deep(1_000).unwrap_err().is_certain);
        assert!(of("local f(x) = f(x + 1); f(0)").unwrap_err().is_certain);
    }

    #[test]
    fn numbers_and_strings_are_those_of_go_jsonnet() {
        let text = r#"{a: 1e3, b: 1.5, c: 1e21, d: 0.1 + 0.2, e: -0, f: 123456789012345678, h: "\u0007<>&é"}"#;
        let expected = "{\"a\":1000,\"b\":1.5,\"c\":1000000000000000000000,\"d\":0.30000000000000004,\"e\":-0,\"f\":123456789012345680,\"h\":\"\\u0007<>&é\"}";
        assert_eq!(of(text), Ok(vec![expected.to_owned()]));
    }
}
