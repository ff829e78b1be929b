//! Go templates with the functions that Argo CD gives them.
//!
//! Takes text and parameters; hands on text. The text is parsed by `gotmpl`; it is checked and evaluated here, so that floats, `nil`, maps of
//! texts, unknown functions and stray `end`s are as they are in Go.

mod builtins;
mod check;
mod evaluate;
mod functions;
mod printf;

use std::collections::BTreeMap;

use gotmpl::parse::{ListNode, Parser};

pub(super) use functions::{base_of, sanitize_name};

use super::params::Params;

/// Why a template gives no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TemplateError {
    /// Argo CD fails as well.
    #[error("{0}")]
    Fails(String),
    /// A key is not there, which `missingkey=error` does not allow.
    #[error("map has no entry for key \"{0}\"")]
    MissingKey(String),
    /// presync cannot say what Argo CD makes of it.
    #[error("{0}")]
    Unjudged(String),
}

impl TemplateError {
    fn fails(message: impl Into<String>) -> Self {
        Self::Fails(message.into())
    }
}

/// What a missing key of a map gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum MissingKey {
    /// Nothing, printed as `<no value>`.
    #[default]
    Default,
    /// The zero value.
    Zero,
    /// An error.
    Error,
}

impl MissingKey {
    /// What the options of a set say; the last one counts.
    ///
    /// # Errors
    /// Where an option is one that Go does not know: it panics.
    pub(super) fn of_options(options: &[String]) -> Result<Self, TemplateError> {
        let mut missing = Self::default();
        for option in options {
            missing = match option.as_str() {
                "missingkey=default" | "missingkey=invalid" => Self::Default,
                "missingkey=zero" => Self::Zero,
                "missingkey=error" => Self::Error,
                other => return Err(TemplateError::fails(format!("unrecognized option: {other}"))),
            };
        }
        Ok(missing)
    }
}

/// A template that was parsed and checked.
#[derive(Debug)]
pub(super) struct Template {
    body: ListNode,
    named: BTreeMap<String, ListNode>,
}

impl Template {
    /// Parses and checks a text.
    ///
    /// # Errors
    /// Where Go would not parse it, or it uses what presync cannot evaluate.
    pub(super) fn parse(text: &str) -> Result<Self, TemplateError> {
        check::structure(text)?;
        let parsed = Parser::new(text, "{{", "}}").and_then(Parser::parse);
        let (body, defines) =
            parsed.map_err(|error| TemplateError::fails(format!("failed to parse template {text}: {}", shortened(&error.to_string()))))?;
        let mut named = BTreeMap::new();
        for define in defines {
            let name = define.name.to_string();
            let known: Option<&ListNode> = named.get(&name);
            match known {
                Some(known) if !known.is_empty_tree() && !define.body.is_empty_tree() => {
                    return Err(TemplateError::fails(format!("multiple definition of template {name:?}")));
                }
                Some(_) if define.body.is_empty_tree() => {}
                _ => drop(named.insert(name, define.body)),
            }
        }
        check::names(&body, &named)?;
        Ok(Self { body, named })
    }

    /// The text for one set of parameters.
    ///
    /// # Errors
    /// Where Go would fail, or where it would do what presync cannot.
    pub(super) fn render(&self, params: &Params, missing: MissingKey) -> Result<String, TemplateError> {
        evaluate::run(&self.body, &self.named, params, missing)
    }
}

fn shortened(message: &str) -> &str {
    message.strip_prefix("template: ").unwrap_or(message)
}

#[cfg(test)]
mod tests;
