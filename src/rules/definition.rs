//! A rule definition: the file `rules/<id>.yaml`, the only place where a rule's name, severity, texts and needs stand.
//!
//! Takes the text of such a file; hands on a checked [`Definition`].

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::finding::Severity;
use crate::plan::{Action, Change};

/// A rule, as its file defines it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Definition {
    /// Its name: lower-case words joined by hyphens; a platform team's own rules have a slash in it.
    pub id: String,
    /// First version of presync that has it.
    pub since: String,
    /// How settled it is.
    pub status: Status,
    /// Severity of the usual case.
    #[serde(deserialize_with = "severity")]
    pub severity: Severity,
    /// Other severities, by name, with the case in which they hold.
    #[serde(default)]
    pub grades: BTreeMap<String, Grade>,
    /// What it cannot do without.
    pub needs: Vec<Need>,
    /// What it reports, in one line.
    pub summary: String,
    /// What happens and why it hurts.
    pub why: String,
    /// What to do, in one or two sentences; shown with each finding that has no text of its own.
    pub help: String,
    /// How to fix it, at length, for the rule's page.
    pub fix: String,
    /// A change that it reports, and the one that it does not.
    pub example: Example,
    /// Where to read on.
    #[serde(default)]
    pub references: Vec<String>,
    /// Parameters with their defaults.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// Whether some findings come with a safe edit.
    #[serde(default)]
    pub fixable: bool,
    /// How it is written.
    pub logic: Logic,
    /// Where a `cel` rule's findings point, best place first.
    #[serde(default)]
    pub at: Vec<At>,
    /// Expressions of a `cel` rule.
    #[serde(default)]
    pub cel: Option<Cel>,
}

/// How settled a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// New; its texts and limits may change.
    Preview,
    /// Settled.
    Stable,
}

/// A severity that holds in a certain case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grade {
    /// The severity.
    #[serde(deserialize_with = "severity")]
    pub severity: Severity,
    /// When it holds, as the end of a sentence that begins with "when".
    pub when: String,
}

/// An input without which a rule is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Need {
    /// Live state from a snapshot.
    Snapshot,
    /// Rendered manifests; an Application that cannot be rendered has none.
    Render,
    /// The base revision.
    Base,
}

impl Need {
    /// The word used in definitions and pages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Render => "render",
            Self::Base => "base",
        }
    }
}

/// A change that a rule reports, and the one that it does not.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// What is reported, as text or YAML.
    pub bad: String,
    /// What presync says about it.
    pub finding: String,
    /// What is fine.
    pub good: String,
}

/// How a rule is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Logic {
    /// Expressions in the definition, about one change.
    Cel,
    /// A module of presync, for what joins, walks a graph or compares texts.
    Native,
}

/// What a place is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Of {
    /// The target.
    Object,
    /// The object at the base revision.
    BaseObject,
    /// The Application's definition.
    App,
    /// The fields of the target that cannot change, where that makes the sync fail; `path` does not count.
    RefusedFields,
}

/// A place that a `cel` rule points at. Places that do not exist for a change are left out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct At {
    /// What it is taken from.
    pub of: Of,
    /// JSON pointer into the object; empty for the object as a whole.
    #[serde(default)]
    pub path: String,
    /// What stands there.
    pub label: String,
}

/// The logic of a `cel` rule, in the words of ValidatingAdmissionPolicy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Cel {
    /// What it is evaluated for.
    #[serde(default)]
    pub each: Each,
    /// Which changes are looked at; checked before any expression runs.
    #[serde(default, rename = "match")]
    pub matches: Match,
    /// All must be true, else the rule has nothing to say about the change.
    #[serde(default)]
    pub match_conditions: Vec<Named>,
    /// Values for later expressions, as `variables.<name>`.
    #[serde(default)]
    pub variables: Vec<Named>,
    /// True means fine; each false one is a finding.
    pub validations: Vec<Validation>,
}

impl Cel {
    /// Whether an expression of the rule has this word in it.
    pub(super) fn mentions(&self, word: &str) -> bool {
        let named = self.match_conditions.iter().chain(&self.variables).map(|one| &one.expression);
        let validations = self.validations.iter().flat_map(|one| [Some(&one.expression), one.message_expression.as_ref()]).flatten();
        named.chain(validations).any(|expression| expression.contains(word))
    }

    /// Whether the rule looks at a change at all.
    pub(super) fn looks_at(&self, change: &Change) -> bool {
        let covers = |list: &[String], word: &str| list.is_empty() || list.iter().any(|one| one == word);
        self.each == Each::Change
            && covers(&self.matches.actions, change.action.as_str())
            && covers(&self.matches.kinds, &change.key.kind)
            && covers(&self.matches.groups, &change.key.group)
    }
}

/// What a `cel` rule is evaluated for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Each {
    /// Each change of an object.
    #[default]
    Change,
    /// Each Application, once; new where the change touches its definition.
    Application,
    /// The sync of each Application, once; new where the change brings anything about in it.
    Sync,
}

/// Which changes a `cel` rule looks at. An empty list matches everything.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Match {
    /// Actions, by their words in reports.
    pub actions: Vec<String>,
    /// Kinds.
    pub kinds: Vec<String>,
    /// API groups; the core group is the empty text.
    pub groups: Vec<String>,
}

/// An expression with a name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// The expression.
    pub expression: String,
}

/// One thing that must be true.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Validation {
    /// True means fine.
    pub expression: String,
    /// What will happen, if it is always the same text.
    #[serde(default)]
    pub message: Option<String>,
    /// What will happen, as an expression that yields a text.
    #[serde(default)]
    pub message_expression: Option<String>,
    /// What to do, where it differs from the rule's own help.
    #[serde(default)]
    pub help: Option<String>,
    /// Severity grade; the rule's severity where there is none.
    #[serde(default)]
    pub grade: Option<String>,
}

/// A definition that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// It is no such YAML.
    #[error("{source_name}: {message}")]
    Shape {
        /// File or rule.
        source_name: String,
        /// What the reader says, with line and column.
        message: String,
        /// Where, in bytes.
        offset: Option<usize>,
    },
    /// Its parts do not fit together.
    #[error("rule {id}: {message}")]
    Content {
        /// The rule.
        id: String,
        /// What is wrong.
        message: String,
    },
}

fn severity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Severity, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_severity(&text).ok_or_else(|| serde::de::Error::custom(format!("`{text}` is none of error, warning, info")))
}

fn parse_severity(text: &str) -> Option<Severity> {
    [Severity::Error, Severity::Warning, Severity::Info].into_iter().find(|severity| severity.as_str() == text)
}

impl Definition {
    /// Reads and checks a definition; `source_name` is what errors call it.
    ///
    /// # Errors
    /// Where a field is unknown, missing or of the wrong type, or a `cel` rule has no expressions or names a grade that does not exist.
    pub fn parse(text: &str, source_name: &str) -> Result<Self, DefinitionError> {
        let definition: Self = serde_yaml::from_str(text).map_err(|error| DefinitionError::Shape {
            source_name: source_name.to_owned(),
            message: error.to_string(),
            offset: error.location().map(|location| location.index().min(text.len())),
        })?;
        definition.check().map_err(|message| DefinitionError::Content { id: definition.id.clone(), message })?;
        Ok(definition)
    }

    fn check(&self) -> Result<(), String> {
        match (self.logic, &self.cel) {
            (Logic::Cel, None) => return Err("logic is cel, but there is no `cel`".into()),
            (Logic::Native, Some(_)) => return Err("logic is native, but there is a `cel`".into()),
            _ => {}
        }
        for validation in self.cel.iter().flat_map(|cel| &cel.validations) {
            if let Some(grade) = &validation.grade
                && !self.grades.contains_key(grade)
            {
                return Err(format!("there is no grade `{grade}`"));
            }
            if validation.message.is_some() == validation.message_expression.is_some() {
                return Err(format!("`{}` needs either message or messageExpression", validation.expression));
            }
        }
        if let Some(cel) = &self.cel {
            if cel.validations.is_empty() {
                return Err("there are no validations".into());
            }
            let Match { actions, kinds, groups } = &cel.matches;
            if cel.each != Each::Change && !(actions.is_empty() && kinds.is_empty() && groups.is_empty()) {
                return Err("`match` is about changes, and the rule is not evaluated for each of them".into());
            }
            if let Some(action) = actions.iter().find(|action| !Action::ALL.iter().any(|known| known.as_str() == action.as_str())) {
                return Err(format!("there is no action `{action}`"));
            }
        }
        Ok(())
    }

    /// JSON pointer of an expression in the definition's file.
    pub(super) fn pointer_of(&self, expression: &str) -> Option<String> {
        let cel = self.cel.as_ref()?;
        let named = |list: &'static str, all: &[Named]| {
            let position = all.iter().position(|one| one.expression == expression)?;
            Some(format!("/cel/{list}/{position}/expression"))
        };
        let validation = || {
            cel.validations.iter().enumerate().find_map(|(position, one)| {
                let member = if one.expression == expression {
                    "expression"
                } else if one.message_expression.as_deref() == Some(expression) {
                    "messageExpression"
                } else {
                    return None;
                };
                Some(format!("/cel/validations/{position}/{member}"))
            })
        };
        named("matchConditions", &cel.match_conditions).or_else(|| named("variables", &cel.variables)).or_else(validation)
    }

    /// The severity of a grade; the rule's own where there is no such grade.
    pub fn severity_of(&self, grade: Option<&str>) -> Severity {
        grade.and_then(|grade| self.grades.get(grade)).map_or(self.severity, |grade| grade.severity)
    }

    /// Whether the rule cannot do without this input.
    pub fn needs(&self, need: Need) -> bool {
        self.needs.contains(&need)
    }
}
