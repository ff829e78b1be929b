//! Objects that come out differently each time a chart is rendered: random passwords, fresh certificates, the time.
//!
//! Takes a chart and several outputs of it; hands on the fields that differ.

use std::sync::OnceLock;

use regex::Regex;
use serde_json::Value;

use crate::manifest::pointer::escape;
use crate::render::{Inputs, Unstable};
use crate::repo::{EntryKind, ParsedFile, Tree};

/// What a chart's actions may make anew at each render.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::render) struct Suspicion {
    /// Something random, or in no fixed order.
    pub(in crate::render) random: bool,
    /// The time.
    pub(super) time: bool,
}

impl Suspicion {
    /// Looks through the files of a chart. A packed chart is suspected of everything.
    pub(in crate::render) fn of(tree: &Tree, inputs: &Inputs) -> Self {
        let mut suspicion = Self::default();
        for entry in inputs.entries(tree).into_iter().filter(|entry| matches!(entry.kind, EntryKind::File | EntryKind::Executable)) {
            if entry.path.ends_with(".tgz") {
                return Self { random: true, time: true };
            }
            let in_templates = entry.path.contains("templates/") || entry.path.ends_with(".tpl") || entry.path.ends_with(".yaml");
            if in_templates && let Ok(bytes) = tree.read_entry(entry) {
                suspicion.add(&String::from_utf8_lossy(&bytes));
            }
        }
        suspicion
    }

    fn add(&mut self, text: &str) {
        static WORDS: OnceLock<Option<Regex>> = OnceLock::new();
        // Sprig's functions whose result is not decided by their arguments.
        let pattern = r"(?:^|[\s(|=])(?:(rand[A-Z]\w*|uuidv4|gen[A-Z]\w*|shuffle|bcrypt|htpasswd|encryptAES|keys|values)|(now|ago))\b";
        let Some(words) = WORDS.get_or_init(|| Regex::new(pattern).ok()) else { return };
        for action in text.split("{{").skip(1).filter_map(|rest| rest.split("}}").next()) {
            for found in words.captures_iter(action) {
                self.random |= found.get(1).is_some();
                self.time |= found.get(2).is_some();
            }
        }
    }

    /// Whether rendering once is enough.
    pub(super) fn is_none(self) -> bool {
        !self.random && !self.time
    }
}

/// The fields that differ between two outputs of one chart.
pub(in crate::render) fn between(one: &ParsedFile, other: &ParsedFile) -> Vec<Unstable> {
    let mut found = Vec::new();
    for (at, object) in one.objects.iter().enumerate() {
        let Some(key) = &object.key else { continue };
        let same = other.objects.iter().find(|candidate| candidate.key.as_ref() == Some(key));
        let pointers = match same.or(other.objects.get(at)) {
            Some(counterpart) => differences(&object.object, &counterpart.object),
            None => vec![String::new()],
        };
        if !pointers.is_empty() {
            found.push(Unstable { key: key.clone(), pointers });
        }
    }
    found
}

fn differences(one: &Value, other: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(one, other, "", &mut found);
    found
}

fn collect(one: &Value, other: &Value, pointer: &str, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(fields), Value::Object(others)) => {
            let names = fields.keys().chain(others.keys().filter(|name| !fields.contains_key(*name)));
            for name in names {
                let pointer = format!("{pointer}/{}", escape(name));
                match (fields.get(name), others.get(name)) {
                    (Some(one), Some(other)) => collect(one, other, &pointer, found),
                    _ => found.push(pointer),
                }
            }
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            for (at, (one, other)) in items.iter().zip(others).enumerate() {
                collect(one, other, &format!("{pointer}/{at}"), found);
            }
        }
        _ if one != other => found.push(pointer.to_owned()),
        _ => {}
    }
}

/// A file for the variable `TZ` that puts the clock of a program `hours` before or behind universal time: two renders that are a day apart in
/// their local time show what depends on the date.
///
/// Source: RFC 9636, version 1 of the format.
pub(super) fn time_zone(hours: i32) -> Vec<u8> {
    let mut file = b"TZif".to_vec();
    file.extend([0; 16]);
    // Counts of: UT indicators, standard indicators, leap seconds, transitions, types, characters.
    for count in [0_u32, 0, 0, 0, 1, 4] {
        file.extend(count.to_be_bytes());
    }
    file.extend((hours * 3600).to_be_bytes());
    file.extend([0, 0]);
    file.extend(b"XXX\0");
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspicion(text: &str) -> Suspicion {
        let mut suspicion = Suspicion::default();
        suspicion.add(text);
        suspicion
    }

    #[test]
    fn only_functions_in_actions_raise_suspicion() {
        for text in [
            "{{ randAlphaNum 24 | b64enc }}",
            "{{- $ca := genCA \"ca\" 365 }}",
            "{{ .Values.x | default (uuidv4) }}",
            "{{ keys .Values.x }}",
        ] {
            assert!(suspicion(text).random, "{text}");
        }
        assert_eq!(suspicion("{{ now | date \"2006\" }}"), Suspicion { random: false, time: true });
        for text in ["now is the time", "{{ .Values.now }}", "{{ .Values.keys }}", "{{ include \"web.knows\" . }}", "{{ .Values.random }}"]
        {
            assert!(suspicion(text).is_none(), "{text}");
        }
    }

    #[test]
    fn fields_that_differ_are_named_and_others_are_not() {
        let output = |password: &str| {
            ParsedFile::of_output(format!("kind: Secret\nmetadata: {{name: a}}\ndata: {{user: x, \"pass/word\": {password}}}\n---\nkind: A\nmetadata: {{name: b}}\n").as_bytes())
        };
        let found = between(&output("one"), &output("two"));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].key.named(), found[0].pointers.clone()), ("Secret a".to_owned(), vec!["/data/pass~1word".to_owned()]));
        assert!(between(&output("one"), &output("one")).is_empty());
    }

    #[test]
    fn a_name_that_differs_makes_the_object_a_new_one_each_time() {
        let output = |name: &str| ParsedFile::of_output(format!("kind: Job\nmetadata: {{name: {name}}}\n").as_bytes());
        assert_eq!(between(&output("a-x1"), &output("a-y2"))[0].pointers, ["/metadata/name"]);
    }
}
