//! The rules of a run: the built-in ones and the repository's own, with what the configuration says about them.
//!
//! Takes the configuration; hands on a [`RuleSet`]. Rules and the baseline are those of the base revision: a change cannot judge itself by
//! rules that it has just rewritten. What it adds to waivers and baseline is marked as its own.

use std::collections::BTreeMap;

use serde_json::Value;

use super::CheckError;
use super::configuration::{self, Configuration};
use super::revisions::Revisions;
use crate::config::{self, ConfigError, Level, OfThisChange, nearest};
use crate::manifest::{Origin, Pointer, Side, span};
use crate::repo::Tree;
use crate::rules::baseline::{self, Baseline};
use crate::rules::policy::{Policy, RuleEnvironment, Waiver};
use crate::rules::{RuleSet, RuleSettings};

/// Bytes of a rule's file.
const MAX_RULE_BYTES: usize = 1 << 18;

/// The rules of a run: the built-in ones, and what the configuration makes of them.
pub(super) fn rules(builtin: RuleSet, configuration: &Configuration, revisions: &mut Revisions) -> Result<RuleSet, CheckError> {
    let mut rules = builtin;
    let checked = Checked::new(configuration);
    for (index, folder) in configuration.config.rules.iter().enumerate() {
        let files = rule_files(&revisions.base, &folder.0)?;
        if files.is_empty() {
            return Err(checked
                .wrong(&["rules", &index.to_string()], format!("there are no rules in {} at the base revision", folder.0), None)
                .into());
        }
        rules.add(files.iter().map(|(name, text)| (name.as_str(), text.as_str())))?;
        if revisions.changes.touches_under(&folder.0) {
            revisions.notes.push(format!(
                "the rules in {} are those of the base revision; what this change does to them counts after the merge",
                folder.0
            ));
        }
    }
    let config = &configuration.config;
    for (id, settings) in checked.settings(&rules, &[], &config.severity, &config.parameters)? {
        rules.configure(&id, settings)?;
    }
    let mut policy = Policy {
        include: config.include.clone(),
        exclude: config.exclude.clone(),
        counts_of_this_change: config.suppressions.of_this_change == OfThisChange::Count,
        ..Policy::default()
    };
    for (index, environment) in config.environments.iter().enumerate() {
        let place = ["environments".to_owned(), index.to_string()];
        let settings = checked.settings(&rules, &place, &environment.severity, &environment.parameters)?;
        policy.environments.push(RuleEnvironment { matches: environment.matches.clone(), settings });
    }
    for (index, waiver) in config.waivers.iter().enumerate() {
        for rule in waiver.rules.as_slice() {
            checked.known(&rules, rule, &["waivers".to_owned(), index.to_string(), "rules".to_owned()])?;
        }
    }
    policy.waivers = waivers(configuration);
    policy.baseline = known_findings(&revisions.base)?;
    if revisions.changes.touches(baseline::FILE) {
        policy.baseline_of_this_change = known_findings(&revisions.head)?.without(&policy.baseline);
    }
    Ok(rules.under(policy))
}

/// The files of a folder of rules, without those of its tests.
fn rule_files(tree: &Tree, folder: &str) -> Result<Vec<(String, String)>, ConfigError> {
    let is_rule = |path: &str| {
        let within = path.strip_prefix(folder).unwrap_or(path);
        (path.ends_with(".yaml") || path.ends_with(".yml")) && !within.split('/').any(|part| part == "tests" || part.starts_with('.'))
    };
    let mut files = Vec::new();
    for entry in tree.under(folder).iter().filter(|entry| is_rule(&entry.path)) {
        let unreadable = |reason: String| ConfigError::Unreadable { file: entry.path.to_string(), reason, help: None };
        let text = configuration::text(tree, &entry.path)?.unwrap_or_default();
        if text.len() > MAX_RULE_BYTES {
            return Err(unreadable(format!("it is larger than {MAX_RULE_BYTES} bytes")));
        }
        files.push((entry.path.to_string(), text));
    }
    Ok(files)
}

fn known_findings(tree: &Tree) -> Result<Baseline, ConfigError> {
    let Some(text) = configuration::text(tree, baseline::FILE)? else { return Ok(Baseline::default()) };
    Baseline::parse(&text).map_err(|reason| ConfigError::Unreadable {
        file: baseline::FILE.to_owned(),
        reason,
        help: Some("Write it anew with `presync check --all --write-baseline`.".to_owned()),
    })
}

/// The waivers of the base, and those that only the change has.
fn waivers(configuration: &Configuration) -> Vec<Waiver> {
    let before = &configuration.config.waivers;
    let file = configuration.file.as_ref().filter(|_| configuration.is_inside);
    let of = |(index, waiver): (usize, &config::Waiver), side: Side, text: &str| Waiver {
        rules: waiver.rules.as_slice().to_vec(),
        matches: waiver.matches.clone(),
        reason: waiver.reason.clone(),
        expires: waiver.expires,
        origin: file.map(|(path, _)| Origin {
            path: path.as_str().into(),
            side,
            document: 0..text.len(),
            line: 1,
            within: format!("/waivers/{index}"),
            rendered: None,
        }),
        of_this_change: side == Side::Head,
    };
    let text = configuration.file.as_ref().map(|(_, text)| text.as_str()).unwrap_or_default();
    let mut waivers: Vec<Waiver> = before.iter().enumerate().map(|one| of(one, Side::Base, text)).collect();
    if let Some((after, text)) = &configuration.after {
        let added = after.waivers.iter().enumerate().filter(|(_, waiver)| !before.contains(waiver));
        waivers.extend(added.map(|one| of(one, Side::Head, text)));
    }
    waivers
}

/// The file of a configuration, to point into.
struct Checked<'a> {
    file: &'a str,
    text: &'a str,
}

impl<'a> Checked<'a> {
    fn new(configuration: &'a Configuration) -> Self {
        let (file, text) = configuration.file.as_ref().map(|(file, text)| (file.as_str(), text.as_str())).unwrap_or_default();
        Self { file, text }
    }

    /// A mistake at a place of the file.
    fn wrong<S: AsRef<str>>(&self, place: &[S], said: String, help: Option<String>) -> ConfigError {
        let pointer: String = place.iter().map(|token| format!("/{}", token.as_ref().replace('~', "~0").replace('/', "~1"))).collect();
        let found = Pointer::parse(&pointer).ok().and_then(|pointer| span::locate(self.text, 0..self.text.len(), &pointer));
        ConfigError::at(self.file, self.text, found.map(|found| found.key.unwrap_or(found.value)), &said, help)
    }

    fn known<S: AsRef<str>>(&self, rules: &RuleSet, id: &str, place: &[S]) -> Result<(), ConfigError> {
        if rules.definition(id).is_some() {
            return Ok(());
        }
        let help = match nearest(id, rules.definitions().map(|definition| definition.id.as_str())) {
            Some(near) => format!("Did you mean `{near}`?"),
            None => "`presync rules` lists all.".to_owned(),
        };
        Err(self.wrong(place, format!("there is no rule `{id}`"), Some(help)))
    }

    /// What is said about rules at one place of the file.
    fn settings(
        &self,
        rules: &RuleSet,
        place: &[String],
        severity: &BTreeMap<String, Level>,
        parameters: &BTreeMap<String, BTreeMap<String, Value>>,
    ) -> Result<BTreeMap<String, RuleSettings>, ConfigError> {
        let below = |more: &[&str]| place.iter().cloned().chain(more.iter().map(|token| (*token).to_owned())).collect::<Vec<_>>();
        let mut all: BTreeMap<String, RuleSettings> = BTreeMap::new();
        for (id, level) in severity {
            self.known(rules, id, &below(&["severity", id]))?;
            let settings = all.entry(id.clone()).or_default();
            settings.enabled = Some(*level != Level::Off);
            settings.severity = level.severity();
        }
        for (id, own) in parameters {
            self.known(rules, id, &below(&["parameters", id]))?;
            let defaults = rules.definition(id).map(|definition| &definition.parameters);
            for (name, value) in own {
                let place = below(&["parameters", id, name]);
                let known: Vec<&str> = defaults.into_iter().flat_map(BTreeMap::keys).map(String::as_str).collect();
                let Some(default) = defaults.and_then(|defaults| defaults.get(name)) else {
                    let help = if known.is_empty() { "It has none.".to_owned() } else { format!("There are: {}.", known.join(", ")) };
                    return Err(self.wrong(&place, format!("{id} has no parameter `{name}`"), Some(help)));
                };
                if std::mem::discriminant(default) != std::mem::discriminant(value) {
                    let help = format!("Its default is `{default}`.");
                    return Err(self.wrong(
                        &place,
                        format!("`{name}` of {id} is {}, not {}", type_of(default), type_of(value)),
                        Some(help),
                    ));
                }
                all.entry(id.clone()).or_default().parameters.insert(name.clone(), value.clone());
            }
        }
        Ok(all)
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    }
}
