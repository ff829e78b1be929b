//! ignoreDifferences: takes an Application's rules and argocd-cm's, hands on compiled rules that take fields out of a comparison,
//! say whether they cover a field, and make the target that RespectIgnoreDifferences really applies.

mod jq;
mod managers;
mod remove;
mod respect;
mod settings;

use std::collections::BTreeMap;

use crate::argocd::pattern::Pattern;
use serde_json::Value;

use super::json_merge;
use super::normalize::{KnownTypeField, group_kind};
use jq::PathExpression;
pub use respect::RespectOptions;
pub use settings::{CompareOptions, StatusIgnore};

/// A rule that cannot be used; Argo CD answers the first one with a ComparisonError for the whole Application.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IgnoreError {
    /// The expression is not jq.
    #[error("jqPathExpressions: `{expression}` cannot be parsed: {reason}")]
    Jq {
        /// As written.
        expression: String,
        /// What the parser says.
        reason: String,
    },
    /// The expression can run for ever, or looks at more than the object (Argo CD stops it after a second; presync does not start it).
    #[error("jqPathExpressions: `{expression}` is not evaluated because it uses `{word}`")]
    Unbounded {
        /// As written.
        expression: String,
        /// The function.
        word: String,
    },
    /// A setting of argocd-cm is not the YAML it must be.
    #[error("argocd-cm: `{key}` cannot be read: {reason}")]
    Setting {
        /// The key.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// `spec.ignoreDifferences` has another form.
    #[error("spec.ignoreDifferences cannot be read: {0}")]
    Rules(String),
}

/// Compiled rules of one Application, together with the system-wide ones.
#[derive(Debug)]
pub struct IgnoreRules {
    removals: Vec<Rule<Removal>>,
    /// Rules that Argo CD runs and presync does not.
    not_run: Vec<Rule<IgnoreError>>,
    managers: Vec<Rule<Vec<String>>>,
    system_managers: BTreeMap<String, Vec<String>>,
    known_types: BTreeMap<(String, String), Vec<KnownTypeField>>,
}

#[derive(Debug)]
struct Rule<T> {
    group: Pattern,
    kind: Pattern,
    name: String,
    namespace: String,
    what: T,
}

#[derive(Debug)]
enum Removal {
    /// Tokens of a JSON pointer.
    Pointer(Vec<String>),
    Jq(PathExpression),
}

/// Group, kind, namespace and name of an object, as rules look at them.
#[derive(Debug, Clone, Copy)]
pub struct Target<'k> {
    /// API group; empty for core.
    pub group: &'k str,
    /// Kind.
    pub kind: &'k str,
    /// Namespace; empty if it has none.
    pub namespace: &'k str,
    /// Name.
    pub name: &'k str,
}

impl<'k> Target<'k> {
    /// Of an object.
    pub fn of(object: &'k Value) -> Target<'k> {
        let (group, kind) = group_kind(object);
        let text =
            |field: &str| object.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_str).unwrap_or_default();
        Target { group, kind, namespace: text("namespace"), name: text("name") }
    }
}

impl<T> Rule<T> {
    fn matches(&self, target: &Target<'_>) -> bool {
        self.group.matches(target.group)
            && self.kind.matches(target.kind)
            && (self.name.is_empty() || self.name == target.name)
            && (self.namespace.is_empty() || self.namespace == target.namespace)
    }
}

impl Default for IgnoreRules {
    /// No rules but the known type that is built in.
    fn default() -> IgnoreRules {
        IgnoreRules {
            removals: Vec::new(),
            not_run: Vec::new(),
            managers: Vec::new(),
            system_managers: BTreeMap::new(),
            known_types: settings::default_known_types(),
        }
    }
}

impl IgnoreRules {
    /// Compiles an Application's `spec.ignoreDifferences` and the argocd-cm keys `resource.customizations`,
    /// `resource.customizations.ignoreDifferences.*` and `….knownTypeFields.*`. Both sources count (`util/argo/normalizers/diff_normalizer.go`).
    ///
    /// # Errors
    /// The first rule that cannot be read or parsed. Those that are not run are kept aside ([`IgnoreRules::not_run`]).
    pub fn compile(application: Option<&Value>, settings: &BTreeMap<String, String>) -> Result<IgnoreRules, IgnoreError> {
        let mut rules = IgnoreRules::default();
        for rule in settings::application_rules(application)? {
            if !rule.lists.managed_fields_managers.is_empty() {
                rules.managers.push(rule.compiled(rule.lists.managed_fields_managers.clone()));
            }
            rules.add_removals(&rule)?;
        }
        for (key, customization) in settings::customizations(settings)? {
            let Some((group, kind)) = settings::group_and_kind(&key) else { continue };
            if !customization.known_types.is_empty() {
                rules.known_types.insert((group.to_owned(), kind.to_owned()), customization.known_types);
            }
            let rule =
                settings::WrittenRule { group: group.to_owned(), kind: kind.to_owned(), lists: customization.lists, ..Default::default() };
            rules.add_removals(&rule)?;
            rules.system_managers.insert(key, rule.lists.managed_fields_managers);
        }
        Ok(rules)
    }

    fn add_removals(&mut self, rule: &settings::WrittenRule) -> Result<(), IgnoreError> {
        for pointer in &rule.lists.json_pointers {
            self.removals.push(rule.compiled(Removal::Pointer(remove::tokens(pointer))));
        }
        for expression in &rule.lists.jq_path_expressions {
            match PathExpression::compile(expression) {
                Ok(compiled) => self.removals.push(rule.compiled(Removal::Jq(compiled))),
                Err(error @ IgnoreError::Unbounded { .. }) => self.not_run.push(rule.compiled(error)),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A rule for this object that Argo CD runs and presync does not, so that a difference may be one that Argo CD does not see.
    pub fn not_run(&self, object: &Value) -> Option<&IgnoreError> {
        if self.not_run.is_empty() {
            return None;
        }
        let target = Target::of(object);
        self.not_run.iter().find(|rule| rule.matches(&target)).map(|rule| &rule.what)
    }

    /// The first rule that Argo CD runs and presync does not, whatever it is about.
    pub fn first_not_run(&self) -> Option<&IgnoreError> {
        self.not_run.first().map(|rule| &rule.what)
    }

    /// The live object after a merge patch that leads from it to the wanted one, where the ignored fields are left out of both.
    pub fn patched_without(&self, wanted: &Value, live: &Value) -> Value {
        let without = |object: &Value| {
            let mut object = object.clone();
            self.normalize(&mut object, StatusIgnore::None);
            object
        };
        match (without(live), without(wanted), live) {
            (Value::Object(from), Value::Object(to), Value::Object(live)) => {
                let mut patched = live.clone();
                json_merge::apply(&mut patched, json_merge::difference(&from, &to));
                Value::Object(patched)
            }
            (_, wanted, _) => wanted,
        }
    }

    /// Whether any rule could touch an object of this pair, and whether all that could are pointers through maps alone.
    pub(super) fn touches(&self, target: &Target<'_>) -> Touch {
        let mut touch = Touch::Nothing;
        for rule in self.removals.iter().filter(|rule| rule.matches(target)) {
            match &rule.what {
                Removal::Pointer(tokens) if !tokens.iter().any(|token| remove::may_be_index(token)) => touch = Touch::MapFields,
                _ => return Touch::Anything,
            }
        }
        let (group, kind) = (target.group, target.kind);
        if !self.managers_of(target).is_empty() || self.known_types_of(group, kind).is_some() {
            return Touch::Anything;
        }
        touch
    }

    fn known_types_of(&self, group: &str, kind: &str) -> Option<&[KnownTypeField]> {
        // A tuple of owned strings cannot be looked up by references; the map has a handful of entries.
        self.known_types
            .iter()
            .find(|((own_group, own_kind), _)| own_group == group && own_kind == kind)
            .map(|(_, fields)| fields.as_slice())
    }

    fn managers_of(&self, target: &Target<'_>) -> Vec<&str> {
        let mut managers: Vec<&str> = Vec::new();
        if !self.system_managers.is_empty() {
            let own = self.system_managers.get(&format!("{}/{}", target.group, target.kind));
            managers.extend(own.into_iter().chain(self.system_managers.get("*/*")).flatten().map(String::as_str));
        }
        managers.extend(self.managers.iter().filter(|rule| rule.matches(target)).flat_map(|rule| &rule.what).map(String::as_str));
        managers
    }

    /// Whether any rule covers some field of this object.
    pub fn concerns(&self, object: &Value) -> bool {
        self.touches(&Target::of(object)) != Touch::Nothing
    }

    /// Takes the ignored fields out of one object, then rewrites fields of known types (`composableNormalizer`).
    pub(super) fn normalize(&self, object: &mut Value, status: StatusIgnore) {
        let owned = Target::of(object);
        let matching: Vec<_> = self.removals.iter().filter(|rule| rule.matches(&owned)).collect();
        let known = self.known_types_of(owned.group, owned.kind);
        let drop_status = status.covers(&owned);
        for rule in matching {
            match &rule.what {
                Removal::Pointer(tokens) => remove::pointer(object, tokens),
                Removal::Jq(expression) => expression.remove(object),
            }
        }
        if drop_status {
            status.remove(object);
        }
        if let Some(fields) = known {
            super::normalize::known_types(object, fields);
        }
    }

    /// Whether a rule covers the field at a JSON pointer of an object: the field itself, or something that contains it.
    /// With `managedFieldsManagers` the object must be the live one, since its managedFields say who owns the field.
    pub fn ignores(&self, target: &Target<'_>, object: &Value, pointer: &str) -> bool {
        let wanted = remove::tokens(pointer);
        let removed = self.removals.iter().filter(|rule| rule.matches(target)).any(|rule| match &rule.what {
            Removal::Pointer(tokens) => wanted.starts_with(tokens),
            Removal::Jq(expression) => expression.paths(object).is_some_and(|paths| paths.iter().any(|path| wanted.starts_with(path))),
        });
        removed || managers::owns(&self.managers_of(target), object, pointer)
    }
}

/// How far rules reach into an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touch {
    Nothing,
    MapFields,
    Anything,
}

#[cfg(test)]
mod tests;
