//! The rules of a run: the built-in ones, a platform team's own, and what the configuration says about them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use ::cel::Env;
use miette::{NamedSource, SourceSpan};
use serde_json::Value;

use super::builtin::{self, Native};
use super::cel::{self, CelError, Compiled};
use super::definition::{Definition, DefinitionError, Logic};
use super::policy::Policy;
use crate::finding::Severity;
use crate::manifest::Pointer;
use crate::manifest::span::{line_column, locate};

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
    /// A rule file of a platform team has a mistake, or one of its expressions failed.
    #[error("{message}")]
    InFile {
        /// What is wrong, with rule, file and line.
        message: String,
        /// The file's text.
        #[source_code]
        text: Arc<NamedSource<String>>,
        /// Where.
        #[label("here")]
        place: Option<SourceSpan>,
        /// What to do.
        #[help]
        help: Option<String>,
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
    /// Compiled when it is first needed; those of a platform team at once, so that their mistakes are told.
    Cel(OnceLock<Compiled>),
}

/// The file of a rule of a platform team.
#[derive(Clone)]
pub(super) struct RuleFile {
    name: Arc<str>,
    text: Arc<str>,
}

impl RuleFile {
    /// A mistake in it; at a place, if that is known.
    fn wrong(&self, place: Option<Range<usize>>, said: &str, help: Option<&str>) -> RuleError {
        let line = place.as_ref().map(|place| {
            let (line, column) = line_column(&self.text, place.start);
            format!(":{line}:{column}")
        });
        RuleError::InFile {
            message: format!("{}{}: {said}", self.name, line.unwrap_or_default()),
            text: Arc::new(NamedSource::new(&*self.name, self.text.to_string())),
            place: place.map(SourceSpan::from),
            help: help.map(str::to_owned),
        }
    }

    /// Where a field stands in it.
    fn place(&self, pointer: &str) -> Option<Range<usize>> {
        Some(locate(&self.text, 0..self.text.len(), &Pointer::parse(pointer).ok()?)?.value)
    }

    fn of_definition(&self, error: &DefinitionError) -> RuleError {
        match error {
            DefinitionError::Shape { message, offset, .. } => {
                let said = message.rsplit_once(" at line ").map_or(message.as_str(), |(said, _)| said);
                self.wrong(offset.map(|offset| offset..offset), said, Some("docs/own-rules.md describes every field."))
            }
            DefinitionError::Content { id, message } => self.wrong(self.place("/id"), &format!("rule {id}: {message}"), None),
        }
    }
}

/// A rule that is ready to run.
pub(super) struct Rule {
    /// Its file, where it is one of a platform team.
    pub(super) file: Option<RuleFile>,
    pub(super) definition: Definition,
    pub(super) logic: RuleLogic,
    pub(super) enabled: bool,
    /// Replaces every grade of the rule.
    pub(super) severity: Option<Severity>,
    /// Defaults with the configuration's values over them.
    pub(super) parameters: BTreeMap<String, Value>,
}

impl Rule {
    /// An expression of the rule cannot be used, or failed for a subject.
    pub(super) fn wrong(&self, subject: Option<String>, error: CelError) -> RuleError {
        let CelError { expression, message } = error;
        let definition = &self.definition;
        let Some(file) = &self.file else { return RuleError::Expression { rule: definition.id.clone(), subject, expression, message } };
        let subject = subject.map(|subject| format!(", {subject}")).unwrap_or_default();
        let whole = definition.pointer_of(&expression).and_then(|pointer| file.place(&pointer));
        // A name that the message speaks of is pointed at by itself.
        let name = message.split('`').nth(1).filter(|name| !name.is_empty());
        let narrow = whole.clone().zip(name).and_then(|(whole, name)| {
            let start = whole.start + file.text.get(whole.clone())?.find(name)?;
            Some(start..start + name.len())
        });
        let help = "docs/facts.md lists what expressions may use.";
        file.wrong(narrow.or(whole), &format!("rule {}{subject}: expression `{}` {message}", definition.id, expression.trim()), Some(help))
    }

    /// The expressions of a rule that is written in CEL, compiled; on a large stack.
    ///
    /// # Errors
    /// Where one of them cannot be used.
    pub(super) fn compiled(&self, env: &Env) -> Result<Option<&Compiled>, RuleError> {
        let (RuleLogic::Cel(compiled), Some(expressions)) = (&self.logic, &self.definition.cel) else { return Ok(None) };
        if let Some(compiled) = compiled.get() {
            return Ok(Some(compiled));
        }
        let fresh = Compiled::new(env, &self.definition, expressions).map_err(|error| self.wrong(None, error))?;
        Ok(Some(compiled.get_or_init(|| fresh)))
    }
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
    pub(super) policy: Policy,
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
    /// Where a definition cannot be used.
    pub fn builtin() -> Result<Self, RuleError> {
        let mut set = Self { env: cel::environment(), policy: Policy::default(), rules: BTreeMap::new() };
        for (id, text, native) in builtin::DEFINITIONS {
            set.insert(ready(Definition::parse(text, id)?, *native, None)?)?;
        }
        Ok(set)
    }

    /// Adds rules of a platform team: file names with their texts. They are written in CEL, and their ids have a slash in them.
    ///
    /// # Errors
    /// Where a definition or one of its expressions cannot be used.
    pub fn add<'t>(&mut self, files: impl IntoIterator<Item = (&'t str, &'t str)>) -> Result<(), RuleError> {
        let mut definitions = Vec::new();
        for (name, text) in files {
            let file = RuleFile { name: name.into(), text: text.into() };
            let definition = Definition::parse(text, name).map_err(|error| file.of_definition(&error))?;
            let refuse =
                |pointer: &str, message: &str| Err(file.wrong(file.place(pointer), &format!("rule {}: {message}", definition.id), None));
            if !definition.id.contains('/') {
                return refuse("/id", "the id of a rule of your own has a slash in it, such as `acme/no-prune`");
            }
            if definition.logic != Logic::Cel {
                return refuse("/logic", "a rule of your own is written in CEL: `logic: cel`");
            }
            if definition.fixable {
                return refuse("/fixable", "a rule of your own has no safe edits");
            }
            definitions.push((definition, file));
        }
        let env = Arc::clone(&self.env);
        let rules = cel::on_large_stack(move || {
            let rules = definitions.into_iter().map(|(definition, file)| {
                let rule = ready(definition, None, Some(file))?;
                rule.compiled(&env)?;
                Ok(rule)
            });
            rules.collect::<Result<Vec<_>, RuleError>>()
        })??;
        rules.into_iter().try_for_each(|rule| self.insert(rule))
    }

    fn insert(&mut self, rule: Rule) -> Result<(), RuleError> {
        let id = rule.definition.id.clone();
        match self.rules.insert(id.clone(), rule) {
            Some(_) => Err(RuleError::Duplicate(id)),
            None => Ok(()),
        }
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

    /// The same rules under what the configuration says about findings.
    #[must_use]
    pub fn under(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// What the configuration says about findings.
    pub fn policy(&self) -> &Policy {
        &self.policy
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

fn ready(definition: Definition, native: Option<Native>, file: Option<RuleFile>) -> Result<Rule, RuleError> {
    let logic = match (&definition.cel, native) {
        (Some(_), _) => RuleLogic::Cel(OnceLock::new()),
        (None, Some(native)) => RuleLogic::Native(native),
        (None, None) => return Err(RuleError::NotAllowed { rule: definition.id, message: "it is registered without its module" }),
    };
    let parameters = definition.parameters.clone();
    Ok(Rule { file, definition, logic, enabled: true, severity: None, parameters })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expressions_of_every_built_in_rule_compile() {
        let rules = RuleSet::builtin().unwrap();
        let compiled = cel::on_large_stack(|| rules.rules.values().filter_map(|rule| rule.compiled(&rules.env).unwrap()).count()).unwrap();
        assert_eq!(compiled, rules.definitions().filter(|definition| definition.logic == Logic::Cel).count());
    }
}
