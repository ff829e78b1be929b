//! Rules written as CEL expressions: compiled once, checked at load, evaluated for each change that they match.
//!
//! Takes a definition and the variables of one change; hands on drafts. The vocabulary and polarity are those of
//! ValidatingAdmissionPolicy: an expression that is true means that all is well.

mod around;
mod budget;
pub(super) mod facts;
mod functions;
mod guard;
mod value;
mod variables;

use std::sync::Arc;

use cel::objects::{Key, Map};
use cel::{Context, Env, ExecutionError, IdedExpr, Value};

use facts::Kind;

use super::definition::{At, Cel, Definition, Each, Named, Of};
use super::draft::Draft;
use crate::manifest::Manifest;
use crate::plan::{AppChange, Basis, Change, Reason, SyncPlan};

pub(super) use value::from_json;
pub(super) use variables::{Bound, Shared, Variables};

/// Stack of a thread that compiles or evaluates expressions. The CEL crate recurses over the expression; with the bounds of `guard`
/// this is ample even for unoptimised builds.
const STACK: usize = 32 << 20;

/// Why an expression cannot be used or failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{expression}`: {message}")]
pub(super) struct CelError {
    /// The expression.
    pub(super) expression: String,
    /// What is wrong with it.
    pub(super) message: String,
}

/// Runs a job on a thread whose stack is large enough for expressions.
///
/// # Errors
/// Where the system starts no thread.
pub(super) fn on_large_stack<T: Send>(job: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().name("rules".into()).stack_size(STACK).spawn_scoped(scope, job)?;
        worker.join().map_err(|_| std::io::Error::other("the thread that evaluates rules ended early"))
    })
}

/// The environment in which expressions are compiled and run: the standard library with strings and lists, and our functions.
pub(super) fn environment() -> Arc<Env> {
    let mut env = Env::stdlib();
    // These fail only where a name is declared twice, and the environment is fresh.
    let _ = env.add_extension(cel::extensions::strings);
    let _ = env.add_extension(cel::extensions::lists);
    Arc::new(env)
}

struct Expression {
    source: String,
    /// As it runs: what it costs is counted.
    metered: IdedExpr,
}

impl Expression {
    fn compile(env: &Env, source: &str, names: &guard::Names<'_>, yields: Option<Kind>) -> Result<Self, CelError> {
        let fail = |message: String| CelError { expression: source.to_owned(), message };
        guard::check_source(source).map_err(fail)?;
        let program = env.compile(source).map_err(|error| fail(error.to_string()))?;
        guard::check_expression(program.expression(), names).map_err(fail)?;
        match yields {
            Some(kind) => facts::check_yields(program.expression(), kind),
            None => facts::infer(program.expression(), &[]).map(drop),
        }
        .map_err(fail)?;
        Ok(Self { source: source.to_owned(), metered: budget::metered(program.expression()) })
    }

    fn run(&self, context: &Context<'_, '_>) -> Result<Value, CelError> {
        context.resolve(&self.metered).map_err(|error| self.fails(said(error)))
    }

    fn holds(&self, context: &Context<'_, '_>) -> Result<bool, CelError> {
        match self.run(context)? {
            Value::Bool(holds) => Ok(holds),
            other => Err(self.fails(format!("must be true or false, but is {other:?}"))),
        }
    }

    fn text(&self, context: &Context<'_, '_>) -> Result<String, CelError> {
        match self.run(context)? {
            Value::String(text) => Ok(text.to_string()),
            other => Err(self.fails(format!("must be a text, but is {other:?}"))),
        }
    }

    fn fails(&self, message: String) -> CelError {
        CelError { expression: self.source.clone(), message }
    }
}

/// What an error of the CEL crate says; ours without the name of a function that no source has.
fn said(error: ExecutionError) -> String {
    match error {
        ExecutionError::FunctionError { function, message } if function == budget::NAME => message,
        other => other.to_string(),
    }
}

enum Message {
    Fixed(String),
    Expression(Expression),
}

struct Validation {
    expression: Expression,
    message: Message,
    help: Option<String>,
    grade: Option<String>,
}

/// A compiled rule.
pub(super) struct Compiled {
    conditions: Vec<Expression>,
    variables: Vec<(String, Expression)>,
    validations: Vec<Validation>,
    at: Vec<At>,
}

impl Compiled {
    /// Compiles the expressions of a definition; on a large stack.
    ///
    /// # Errors
    /// Where an expression does not parse, exceeds a bound, or uses a name that nobody defines.
    pub(super) fn new(env: &Env, definition: &Definition, cel: &Cel) -> Result<Self, CelError> {
        let has_change = cel.each == Each::Change;
        let parameters = &definition.parameters;
        let mut own: Vec<&str> = Vec::new();
        let mut variables = Vec::new();
        let mut conditions = Vec::new();
        // As in ValidatingAdmissionPolicy, conditions are checked before variables exist.
        for Named { expression, .. } in &cel.match_conditions {
            let names = guard::Names { variables: &own, parameters, has_change };
            conditions.push(Expression::compile(env, expression, &names, Some(Kind::Bool))?);
        }
        for Named { name, expression } in &cel.variables {
            let names = guard::Names { variables: &own, parameters, has_change };
            variables.push((name.clone(), Expression::compile(env, expression, &names, None)?));
            own.push(name);
        }
        let names = guard::Names { variables: &own, parameters, has_change };
        let validations = cel
            .validations
            .iter()
            .map(|validation| {
                let message = match (&validation.message_expression, &validation.message) {
                    (Some(expression), _) => Message::Expression(Expression::compile(env, expression, &names, Some(Kind::Text))?),
                    (None, message) => Message::Fixed(message.clone().unwrap_or_default()),
                };
                Ok(Validation {
                    expression: Expression::compile(env, &validation.expression, &names, Some(Kind::Bool))?,
                    message,
                    help: validation.help.clone(),
                    grade: validation.grade.clone(),
                })
            })
            .collect::<Result<_, CelError>>()?;
        Ok(Self { conditions, variables, validations, at: definition.at.clone() })
    }

    /// What the rule says about one change; on a large stack.
    ///
    /// # Errors
    /// Where an expression fails or yields the wrong type.
    pub(super) fn judge(&self, plan: &SyncPlan, change: &Change, bound: &Bound<'_>, parameters: &Value) -> Result<Vec<Draft>, CelError> {
        let drafts = self.evaluate(bound, parameters, &|message| Draft::of_change(plan, change, message))?;
        Ok(drafts.into_iter().map(|draft| self.places(plan, change, draft)).collect())
    }

    /// What the rule says about an Application or its sync; on a large stack.
    ///
    /// # Errors
    /// Where an expression fails or yields the wrong type.
    pub(super) fn judge_application(
        &self,
        each: Each,
        plan: &SyncPlan,
        bound: &Bound<'_>,
        parameters: &Value,
    ) -> Result<Vec<Draft>, CelError> {
        let introduced = match each {
            Each::Sync => plan.changes.iter().any(|change| change.introduced),
            Each::Application | Each::Change => plan.change != AppChange::Unchanged,
        };
        let draft =
            |message| Draft::of_application(&plan.application, message).assumed(plan.basis == Basis::Assumed).introduced(introduced);
        let drafts = self.evaluate(bound, parameters, &draft)?;
        let there = self.at.iter().filter(|at| plan.application.object.pointer(&at.path).is_some());
        let places: Vec<(&str, &str)> = there.map(|at| (at.path.as_str(), at.label.as_str())).collect();
        let places = if places.is_empty() { vec![("", "here")] } else { places };
        let placed = |draft: Draft| places.iter().fold(draft, |draft, (path, label)| draft.at(plan.origin.as_ref(), path, *label));
        Ok(drafts.into_iter().map(placed).collect())
    }

    /// A draft for each validation that does not hold.
    fn evaluate(&self, bound: &Bound<'_>, parameters: &Value, draft: &dyn Fn(String) -> Draft) -> Result<Vec<Draft>, CelError> {
        bound.budget.refill();
        let mut context = bound.context.new_inner_scope();
        context.add_variable_from_value("params", parameters.clone());
        for condition in &self.conditions {
            if !condition.holds(&context)? {
                return Ok(Vec::new());
            }
        }
        let mut own = std::collections::HashMap::new();
        for (name, expression) in &self.variables {
            let value = expression.run(&context)?;
            bound.budget.charge(&value).map_err(|error| expression.fails(said(error)))?;
            own.insert(Key::from(name.clone()), value);
            context.add_variable_from_value("variables", Value::Map(Map { map: Arc::new(own.clone()) }));
        }
        let mut drafts = Vec::new();
        for (position, validation) in self.validations.iter().enumerate() {
            if validation.expression.holds(&context)? {
                continue;
            }
            let message = match &validation.message {
                Message::Fixed(text) => text.clone(),
                Message::Expression(expression) => expression.text(&context)?,
            };
            let mut draft = draft(message).grade(validation.grade.as_deref());
            if let Some(help) = &validation.help {
                draft = draft.help(help.trim());
            }
            if position > 0 {
                draft = draft.discriminator(position.to_string());
            }
            drafts.push(draft);
        }
        Ok(drafts)
    }

    fn places(&self, plan: &SyncPlan, change: &Change, draft: Draft) -> Draft {
        let mut any = false;
        let mut draft = draft;
        for at in &self.at {
            let manifest = match at.of {
                Of::Object => change.target.as_ref(),
                Of::BaseObject => change.base.as_ref(),
                Of::RefusedFields => {
                    for (target, pointer) in refused_fields(change) {
                        any = true;
                        draft = draft.at(Some(&target.origin), pointer, at.label.as_str());
                    }
                    continue;
                }
                Of::App => {
                    any |= plan.origin.is_some();
                    draft = draft.at(plan.origin.as_ref(), &at.path, at.label.as_str());
                    continue;
                }
            };
            if let Some(manifest) = manifest.filter(|manifest| manifest.object.pointer(&at.path).is_some()) {
                any = true;
                draft = draft.at(Some(&manifest.origin), &at.path, at.label.as_str());
            }
        }
        // A finding about an object that stands nowhere in the repository points at its Application.
        if any { draft } else { draft.at(change.origin().or(plan.origin.as_ref()), "", "here") }
    }
}

/// The fields that make the sync fail, as far as they stand in the target.
fn refused_fields(change: &Change) -> impl Iterator<Item = (&Manifest, &str)> {
    let fields: &[String] = match &change.reason {
        Reason::Fails { fields, .. } => fields,
        _ => &[],
    };
    let target = change.target.as_deref();
    fields.iter().filter_map(move |field| {
        let target = target?;
        target.object.pointer(field).map(|_| (target, field.as_str()))
    })
}

#[cfg(test)]
mod builtin_tests;
#[cfg(test)]
mod tests;
