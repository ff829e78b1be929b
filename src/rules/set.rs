//! The rules of a run: the built-in ones, a platform team's own, and what the configuration says about them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ::cel::Env;
use serde_json::Value;

use super::builtin::{self, Native};
use super::cel::{self, Compiled};
use super::definition::{Definition, DefinitionError, Logic};
use crate::finding::Severity;

/// Why rules cannot be loaded or evaluated. The check cannot do its job then; it is never a finding and never silence.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum RuleError {
    /// A definition cannot be used.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// An expression cannot be used, or failed.
    #[error("rule {rule}{}: expression `{expression}` {message}", subject.as_deref().map(|subject| format!(", {subject}")).unwrap_or_default())]
    Expression {
        /// The rule.
        rule: String,
        /// The change it failed on: object and Application; `None` where it failed at load.
        subject: Option<String>,
        /// The expression.
        expression: String,
        /// What is wrong.
        message: String,
    },
    /// There is no such rule.
    #[error("there is no rule `{0}`")]
    Unknown(String),
    /// A rule has no such parameter.
    #[error("rule {rule} has no parameter `{parameter}`")]
    UnknownParameter {
        /// The rule.
        rule: String,
        /// The parameter.
        parameter: String,
    },
    /// Two definitions have the same id.
    #[error("there are two rules `{0}`")]
    Duplicate(String),
    /// A rule of a platform team's own is not allowed so.
    #[error("rule {rule}: {message}")]
    NotAllowed {
        /// The rule.
        rule: String,
        /// Why.
        message: &'static str,
    },
    /// The system starts no thread.
    #[error("rules need a thread of their own: {0}")]
    Thread(#[from] std::io::Error),
}

/// How a rule judges.
pub(super) enum RuleLogic {
    Native(Native),
    Cel(Compiled),
}

/// A rule that is ready to run.
pub(super) struct Rule {
    pub(super) definition: Definition,
    pub(super) logic: RuleLogic,
    pub(super) enabled: bool,
    /// Replaces every grade of the rule.
    pub(super) severity: Option<Severity>,
    /// Defaults with the configuration's values over them.
    pub(super) parameters: BTreeMap<String, Value>,
}

/// What the configuration says about a rule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleSettings {
    /// Whether it runs; `None` leaves it as it is.
    pub enabled: Option<bool>,
    /// Severity of all its findings.
    pub severity: Option<Severity>,
    /// Parameters.
    pub parameters: BTreeMap<String, Value>,
}

/// The rules of a run, by id.
pub struct RuleSet {
    pub(super) env: Arc<Env>,
    pub(super) rules: BTreeMap<String, Rule>,
}

impl fmt::Debug for RuleSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.rules.keys()).finish()
    }
}

impl RuleSet {
    /// The built-in rules.
    ///
    /// # Errors
    /// Where no thread can be started to compile them on.
    pub fn builtin() -> Result<Self, RuleError> {
        let mut set = Self { env: cel::environment(), rules: BTreeMap::new() };
        let definitions = builtin::DEFINITIONS
            .iter()
            .map(|(id, text, native)| Ok((Definition::parse(text, id)?, *native)))
            .collect::<Result<Vec<_>, DefinitionError>>()?;
        set.load(definitions)?;
        Ok(set)
    }

    /// Adds rules of a platform team: file names with their texts. They are written in CEL, and their ids have a slash in them.
    ///
    /// # Errors
    /// Where a definition or one of its expressions cannot be used.
    pub fn add<'t>(&mut self, files: impl IntoIterator<Item = (&'t str, &'t str)>) -> Result<(), RuleError> {
        let mut definitions = Vec::new();
        for (name, text) in files {
            let definition = Definition::parse(text, name)?;
            let refuse = |message| Err(RuleError::NotAllowed { rule: definition.id.clone(), message });
            if !definition.id.contains('/') {
                return refuse("the id of a rule of your own has a slash in it, such as `acme/no-prune`");
            }
            if definition.logic != Logic::Cel {
                return refuse("a rule of your own is written in CEL: `logic: cel`");
            }
            definitions.push((definition, None));
        }
        self.load(definitions)
    }

    fn load(&mut self, definitions: Vec<(Definition, Option<Native>)>) -> Result<(), RuleError> {
        let env = self.env.clone();
        let rules = cel::on_large_stack(move || {
            definitions.into_iter().map(|(definition, native)| ready(&env, definition, native)).collect::<Result<Vec<_>, _>>()
        })??;
        for rule in rules {
            let id = rule.definition.id.clone();
            if self.rules.insert(id.clone(), rule).is_some() {
                return Err(RuleError::Duplicate(id));
            }
        }
        Ok(())
    }

    /// Applies what the configuration says about a rule.
    ///
    /// # Errors
    /// Where there is no such rule or parameter.
    pub fn configure(&mut self, id: &str, settings: RuleSettings) -> Result<(), RuleError> {
        let rule = self.rules.get_mut(id).ok_or_else(|| RuleError::Unknown(id.to_owned()))?;
        rule.enabled = settings.enabled.unwrap_or(rule.enabled);
        rule.severity = settings.severity.or(rule.severity);
        for (name, value) in settings.parameters {
            if !rule.definition.parameters.contains_key(&name) {
                return Err(RuleError::UnknownParameter { rule: id.to_owned(), parameter: name });
            }
            rule.parameters.insert(name, value);
        }
        Ok(())
    }

    /// The definitions, by id.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.rules.values().map(|rule| &rule.definition)
    }

    /// The definition of a rule.
    pub fn definition(&self, id: &str) -> Option<&Definition> {
        self.rules.get(id).map(|rule| &rule.definition)
    }

    /// Keeps only the rules that are named.
    #[cfg(test)]
    pub(super) fn only(mut self, ids: &[&str]) -> Self {
        self.rules.retain(|id, _| ids.contains(&id.as_str()));
        assert_eq!(self.rules.len(), ids.len(), "one of {ids:?} is no rule");
        self
    }
}

fn ready(env: &Env, definition: Definition, native: Option<Native>) -> Result<Rule, RuleError> {
    let logic = match (&definition.cel, native) {
        (Some(expressions), _) => {
            let compiled = Compiled::new(env, &definition, expressions).map_err(|error| RuleError::Expression {
                rule: definition.id.clone(),
                subject: None,
                expression: error.expression,
                message: error.message,
            })?;
            RuleLogic::Cel(compiled)
        }
        (None, Some(native)) => RuleLogic::Native(native),
        (None, None) => return Err(RuleError::NotAllowed { rule: definition.id, message: "it is registered without its module" }),
    };
    let parameters = definition.parameters.clone();
    Ok(Rule { definition, logic, enabled: true, severity: None, parameters })
}
