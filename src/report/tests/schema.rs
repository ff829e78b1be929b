//! A checker for the part of JSON Schema that the schemas here use. A keyword that it does not know fails the test, so that nothing is passed
//! over in silence.

use std::path::Path;

use regex::Regex;
use serde_json::Value;

/// Keywords that say nothing about a value.
const REMARKS: [&str; 9] = ["$schema", "$id", "id", "title", "description", "default", "definitions", "$defs", "format"];

/// Reads a schema of the repository.
pub(super) fn read(path: &str) -> Value {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// What of a value does not follow its schema. With `closed`, members that the schema does not name count too.
pub(super) fn problems(schema: &Value, value: &Value, closed: bool) -> Vec<String> {
    let mut found = Vec::new();
    Checker { root: schema, closed }.check(schema, value, "$", &mut found);
    found
}

struct Checker<'a> {
    root: &'a Value,
    closed: bool,
}

impl Checker<'_> {
    fn check(&self, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
        for (keyword, rule) in schema.as_object().unwrap() {
            let mut say = |problem: String| found.push(format!("{at}: {problem}"));
            match keyword.as_str() {
                "$ref" => {
                    let target = self.root.pointer(rule.as_str().unwrap().strip_prefix('#').unwrap()).unwrap();
                    self.check(target, value, at, found);
                }
                "type" => {
                    let types: Vec<&str> = rule
                        .as_array()
                        .map_or_else(|| vec![rule.as_str().unwrap()], |list| list.iter().map(|t| t.as_str().unwrap()).collect());
                    if !types.iter().any(|name| is_of_type(value, name)) {
                        say(format!("{value} is not of type {rule}"));
                    }
                }
                "enum" if !rule.as_array().unwrap().contains(value) => say(format!("{value} is none of {rule}")),
                "pattern" => {
                    if value.as_str().is_some_and(|text| !Regex::new(rule.as_str().unwrap()).unwrap().is_match(text)) {
                        say(format!("{value} does not match {rule}"));
                    }
                }
                "minimum" if value.as_f64().is_some_and(|number| number < rule.as_f64().unwrap()) => say(format!("{value} is too small")),
                "maximum" if value.as_f64().is_some_and(|number| number > rule.as_f64().unwrap()) => say(format!("{value} is too large")),
                "minItems" if value.as_array().is_some_and(|list| list.len() < rule.as_u64().unwrap() as usize) => {
                    say("too few items".to_owned())
                }
                "uniqueItems" if rule == true => {
                    let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
                    if list.iter().enumerate().any(|(index, item)| list[..index].contains(item)) {
                        say("the same item twice".to_owned());
                    }
                }
                "required" => {
                    for name in rule.as_array().unwrap().iter().filter(|_| value.is_object()) {
                        if value.get(name.as_str().unwrap()).is_none() {
                            say(format!("{name} is missing"));
                        }
                    }
                }
                "properties" => {
                    for (name, member) in value.as_object().into_iter().flatten() {
                        match rule.get(name) {
                            Some(rule) => self.check(rule, member, &format!("{at}.{name}"), found),
                            None if self.closed || schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                                found.push(format!("{at}: the schema does not name {name}"));
                            }
                            None => {}
                        }
                    }
                }
                "additionalProperties" if rule.is_object() => {
                    let named = schema.get("properties").and_then(Value::as_object);
                    for (name, member) in
                        value.as_object().into_iter().flatten().filter(|(name, _)| named.is_none_or(|named| !named.contains_key(*name)))
                    {
                        self.check(rule, member, &format!("{at}.{name}"), found);
                    }
                }
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(rule, item, &format!("{at}[{index}]"), found);
                    }
                }
                "anyOf" | "oneOf" => {
                    let fitting = rule.as_array().unwrap().iter().filter(|rule| problems_at(self, rule, value).is_empty()).count();
                    if fitting == 0 || (keyword == "oneOf" && fitting > 1) {
                        say(format!("{fitting} of {keyword} fit"));
                    }
                }
                "enum" | "minimum" | "maximum" | "minItems" | "uniqueItems" | "additionalProperties" => {}
                known if REMARKS.contains(&known) => {}
                other => panic!("the checker does not know {other}"),
            }
        }
    }
}

fn problems_at(checker: &Checker<'_>, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    checker.check(schema, value, "$", &mut found);
    found
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("no such type: {other}"),
    }
}

#[test]
fn the_checker_finds_what_is_wrong() {
    let schema = read("docs/schema/report-v1.schema.json");
    let wrong: Value =
        serde_json::from_str(r#"{"version": 2, "tool": {"name": 1, "version": "x"}, "snapshots": {}, "verdict": "maybe", "more": 1}"#)
            .unwrap();
    let found = problems(&schema, &wrong, false);
    for expected in
        ["$.version: 2 is none of", "$.tool.name: 1 is not of type", "\"base\" is missing", "$.snapshots: {} is not of type", "$.verdict"]
    {
        assert!(found.iter().any(|problem| problem.contains(expected)), "{expected}: {found:#?}");
    }
    assert!(!found.iter().any(|problem| problem.contains("more")));
    assert!(problems(&schema, &wrong, true).iter().any(|problem| problem.contains("does not name more")));
}
