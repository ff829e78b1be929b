//! Renders every text and every key of a JSON value as a template of its own.
//!
//! Source: Argo CD `applicationset/utils/utils.go:deeplyReplace`; numbers and booleans are taken over as they are.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use serde_json::{Map, Value as Json};

use super::fasttemplate;
use super::gotemplate::{MissingKey, Template, TemplateError};
use super::params::{Dict, Params, Value};
use crate::argocd::applicationset::SetSpec;

/// The template language of a set, with the templates that were parsed.
pub(super) struct Renderer {
    /// Whether templates are Go templates.
    pub(super) go: bool,
    missing: MissingKey,
    parsed: RefCell<HashMap<String, Rc<Template>>>,
}

impl Renderer {
    /// The language that a set asks for.
    ///
    /// # Errors
    /// Where an option of Go templates is unknown.
    pub(super) fn new(spec: &SetSpec) -> Result<Self, TemplateError> {
        let missing = if spec.go_template { MissingKey::of_options(&spec.go_template_options)? } else { MissingKey::Default };
        Ok(Self { go: spec.go_template, missing, parsed: RefCell::default() })
    }

    /// Renders one text.
    ///
    /// # Errors
    /// Where Argo CD fails, or presync cannot follow it.
    pub(super) fn text(&self, text: &str, params: &Params) -> Result<String, TemplateError> {
        self.text_with(text, params, self.missing)
    }

    fn text_with(&self, text: &str, params: &Params, missing: MissingKey) -> Result<String, TemplateError> {
        if !text.contains("{{") {
            return Ok(text.to_owned());
        }
        if !self.go {
            return fasttemplate::render(text, params).map_err(TemplateError::Fails);
        }
        let known = self.parsed.borrow().get(text).map(Rc::clone);
        let template = match known {
            Some(template) => template,
            None => {
                let template = Rc::new(Template::parse(text)?);
                self.parsed.borrow_mut().insert(text.to_owned(), Rc::clone(&template));
                template
            }
        };
        template.render(params, missing)
    }

    /// Renders a value through and through.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub(super) fn deep(&self, json: &Json, params: &Params) -> Result<Json, TemplateError> {
        Ok(match json {
            Json::String(text) => Json::String(self.text(text, params)?),
            Json::Array(items) => Json::Array(items.iter().map(|item| self.deep(item, params)).collect::<Result<_, _>>()?),
            Json::Object(fields) => {
                let mut rendered = Map::new();
                for (key, value) in fields {
                    rendered.insert(self.text(key, params)?, self.deep(value, params)?);
                }
                Json::Object(rendered)
            }
            other => other.clone(),
        })
    }

    /// Renders the `values` of a matrix' second generator ahead: those that need the generator's own parameters are left for it.
    ///
    /// Source: Argo CD `applicationset/utils/utils.go:RenderGeneratorParams`, since 3.5.
    pub(super) fn values_ahead(
        &self,
        values: &BTreeMap<String, String>,
        params: &Params,
    ) -> Result<BTreeMap<String, String>, TemplateError> {
        let missing = if self.go { MissingKey::Error } else { self.missing };
        let mut rendered = BTreeMap::new();
        for (key, value) in values {
            let text = match self.text_with(value, params, missing) {
                Err(TemplateError::MissingKey(_)) => value.clone(),
                Err(TemplateError::Fails(message)) if message.contains("can't evaluate field") => value.clone(),
                other => other?,
            };
            rendered.insert(key.clone(), text);
        }
        Ok(rendered)
    }

    /// Adds a generator's `values` to its parameters; they cannot see each other.
    ///
    /// Source: Argo CD `applicationset/generators/value_interpolation.go:appendTemplatedValues`.
    pub(super) fn add_values(&self, values: &BTreeMap<String, String>, params: &Params) -> Result<(), TemplateError> {
        let mut rendered = BTreeMap::new();
        for (key, value) in values {
            rendered.insert(key.clone(), self.text(value, params)?);
        }
        put_values(self.go, &rendered, params);
        Ok(())
    }
}

/// Puts values into parameters: under `values` for Go templates, else under `values.<key>`.
pub(super) fn put_values(go: bool, values: &BTreeMap<String, String>, params: &Dict) {
    if values.is_empty() {
        return;
    }
    let mut entries = params.entries.borrow_mut();
    if go {
        entries.insert("values".into(), Value::Map(Dict::of_texts(values)));
    } else {
        entries.extend(values.iter().map(|(key, value)| (format!("values.{key}").into(), Value::text(value))));
    }
}
