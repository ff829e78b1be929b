//! Takes secret values out of texts that people will see: of Secrets, of what a kustomization makes Secrets from, of fields whose names say so,
//! and of all lines of value files that no finding points at.
//!
//! Takes a file's text; hands on a text of the same length and lines, so that places in it stay where they are.

use std::collections::BTreeSet;

use crate::snapshot::may_be_secret;

/// Fields that say what an object is, and may be shown.
const SHOWN: [&str; 6] = ["apiVersion", "kind", "name", "namespace", "type", "immutable"];

/// What a document of a file is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// It has a Secret in it: none of its values is shown.
    Secret,
    /// Objects and what renders them: values are shown, but for those that are secret by their names.
    Manifests,
    /// Anything else, such as a chart's values, which may become Secrets: only lines that findings point at are shown.
    Values,
}

/// A text without secret values; `pointed` are the lines, from 1, that findings point at. Documents that cannot be parsed are masked by how
/// they look, and rather too much than too little.
pub(super) fn mask(path: &str, text: &str, pointed: &BTreeSet<u32>) -> String {
    let mut masked = String::with_capacity(text.len());
    let (mut document, mut first) = (String::new(), 1);
    let mut flush = |document: &mut String, first: &mut u32| {
        let lines = mask_document(path, document, *first, pointed, &mut masked);
        *first += lines;
        document.clear();
    };
    for line in text.split_inclusive('\n') {
        if line.starts_with("---") {
            flush(&mut document, &mut first);
        }
        document.push_str(line);
    }
    flush(&mut document, &mut first);
    masked
}

/// Masks one document, whose first line has this number; hands on how many lines it has.
fn mask_document(path: &str, document: &str, first: u32, pointed: &BTreeSet<u32>, masked: &mut String) -> u32 {
    let content = content_of(path, document);
    let mut names = Names::default();
    let mut number = first;
    for line in document.split_inclusive('\n') {
        let is_secret = names.take_in(line);
        let is_shown = match content {
            Content::Secret => false,
            Content::Manifests => !is_secret,
            Content::Values => !is_secret && pointed.contains(&number),
        };
        if is_shown {
            masked.push_str(line)
        } else {
            masked.push_str(&mask_line(line))
        }
        number += 1;
    }
    number - first
}

fn content_of(path: &str, document: &str) -> Content {
    if is_secret(document) {
        return Content::Secret;
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_built = matches!(name, "kustomization.yaml" | "kustomization.yml" | "Kustomization" | "Chart.yaml" | ".presync.yaml");
    let is_object = || document.lines().any(|line| line.starts_with("apiVersion") || line.trim_start().starts_with("\"apiVersion\""));
    let is_template = || path.contains("/templates/") || path.starts_with("templates/") || name.ends_with("sonnet");
    if is_built || is_object() || is_template() { Content::Manifests } else { Content::Values }
}

/// The names that decide whether the value of a line is secret, while a document is read line by line.
#[derive(Default)]
struct Names {
    /// Indentation of a secret value that goes on over the next lines.
    block: Option<usize>,
    /// The last `name`, for the `value` beside it, and its indentation.
    named: Option<(String, usize)>,
    /// Inside of `secretGenerator`, what Secrets are made from.
    in_generator: bool,
}

impl Names {
    /// Whether the line has a secret value.
    fn take_in(&mut self, line: &str) -> bool {
        let content = line.trim_start_matches([' ', '\t', '-']);
        let indent = line.len() - content.len();
        let content = content.trim_end();
        if content.is_empty() || content.starts_with('#') {
            return self.block.is_some() || self.in_generator;
        }
        if !line.starts_with([' ', '-', '\t']) {
            self.in_generator = content.trim_start_matches('"').starts_with("secretGenerator");
        }
        if let Some(outer) = self.block {
            if indent > outer {
                return true;
            }
            self.block = None;
        }
        let parts = content.split(['{', '}', '[', ']', ',']).filter_map(|part| part.split_once(':'));
        let is_secret = parts.fold(false, |is_secret, (name, value)| self.is_secret(name, value, indent) || is_secret);
        if is_secret {
            self.block = Some(indent);
        }
        is_secret || self.in_generator
    }

    fn is_secret(&mut self, name: &str, value: &str, indent: usize) -> bool {
        let plain = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
        let (name, value) = (plain(name), plain(value));
        if name == "name" {
            self.named = Some((value, indent));
            return false;
        }
        let beside = self.named.as_ref().filter(|(_, at)| *at == indent).map(|(named, _)| named.as_str());
        may_be_secret(&name, &value) || (name == "value" && beside.is_some_and(|named| may_be_secret(named, &value)))
    }
}

/// Whether a kind in the document may be `Secret`, in YAML or JSON, in a list or in an embedded manifest.
fn is_secret(document: &str) -> bool {
    document.match_indices("kind").any(|(at, kind)| {
        let value =
            document.get(at + kind.len()..).unwrap_or_default().trim_start_matches(|c: char| c.is_whitespace() || "\"':".contains(c));
        value.strip_prefix("Secret").is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    })
}

/// One line of a Secret: its keys stay, its values do not.
fn mask_line(line: &str) -> String {
    let content = line.trim_start_matches([' ', '\t', '-']);
    let end = content.trim_end().len();
    if content.starts_with("---") || end == 0 {
        return line.to_owned();
    }
    let (kept, value) = match content.split_once(':').filter(|(key, _)| !key.contains(['{', '[', ',', '#'])) {
        Some((key, value)) if SHOWN.contains(&key.trim().trim_matches(['"', '\''])) && !value.contains(['{', '[', ',']) => {
            return line.to_owned();
        }
        Some((key, value)) if !key.contains(char::is_whitespace) => (key.len() + 1, value),
        _ => (0, content),
    };
    let start = line.len() - content.len() + kept;
    let stars: String = value.chars().map(|c| if c.is_whitespace() { c.to_string() } else { "*".repeat(c.len_utf8()) }).collect();
    line.get(..start).unwrap_or_default().to_owned() + &stars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secrets_are_masked_and_all_stays_in_its_place() {
        for text in [
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  p: canary\n  p: \"canary\"\n",
            "kind: Secret\nstringData:\n  block: |\n    canary\n    and: canary\n",
            "{kind: Secret, stringData: {p: canary}}\n",
            "{\n  \"kind\": \"Secret\",\n  \"data\": {\"p\": \"canary\"}\n}\n",
            "kind: List\nitems:\n- kind: Secret\n  data:\n    p: canary\n",
            "stringData:\n  - canary\n  :canary\nkind: 'Secret'\n",
            "kind: Secret\ndata:\n\tp: canärycanary\n",
            "kind: Secret\nmetadata:\n  name: {a: canary}\n  annotations: {x: canary} # canary\n",
        ] {
            let masked = mask("a.yaml", text, &BTreeSet::new());
            assert!(!masked.contains("canary"), "{masked}");
            assert_eq!((masked.len(), masked.lines().count()), (text.len(), text.lines().count()), "{masked}");
        }
    }

    #[test]
    fn keys_and_other_documents_stay() {
        let text = "kind: ConfigMap\ndata: {a: shown}\n---\nkind: Secret\nmetadata:\n  name: login\ndata:\n  password: Y2FuYXJ5\n";
        let all = (1..20).collect();
        assert_eq!(mask("a.yaml", text, &all), text.replace("Y2FuYXJ5", "********"));
        let others = "kind: SecretStore\nspec: {a: b}\n---\nkind: ExternalSecret\nspec: {a: b}\n";
        assert_eq!(mask("a.yaml", others, &all), others);
    }

    #[test]
    fn of_value_files_only_the_lines_that_are_pointed_at_are_shown() {
        let text = "enabled: false\ndb:\n  user: canary\n  port: 5432\n";
        assert_eq!(mask("c/values.yaml", text, &BTreeSet::from([4])), "enabled: *****\ndb:\n  user: ******\n  port: 5432\n");
        assert_eq!(mask("o/.env", "A=canary\nB=canary\n", &BTreeSet::from([2])), "********\nB=canary\n");
        let password = "db:\n  password: canary\n";
        assert_eq!(mask("c/values.yaml", password, &BTreeSet::from([2])), password.replace("canary", "******"));
    }

    #[test]
    fn values_that_are_secret_by_their_names_are_masked_in_every_file() {
        let text =
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  API_TOKEN: canary\n  privateKey: |\n    canary\n\n    canary\n  host: db # shown\n";
        let masked = mask("a.yaml", text, &BTreeSet::from([4, 6]));
        assert_eq!(masked, text.replace("canary", "******").replace('|', "*"));
        let env = "apiVersion: v1\nspec:\n  env:\n  - name: DB_PASSWORD\n    value: canary\n  - name: HOST\n    value: shown\n  - {name: A_TOKEN, value: canary}\n";
        let masked = mask("a.yaml", env, &BTreeSet::new());
        assert!(!masked.contains("canary") && masked.contains("value: shown") && masked.contains("name: DB_PASSWORD"), "{masked}");
        let references = "apiVersion: v1\nspec:\n  tls:\n  - secretName: shown\n    passwordFile: shown\n";
        assert_eq!(mask("a.yaml", references, &BTreeSet::new()), references);
    }

    #[test]
    fn what_a_kustomization_makes_secrets_from_is_masked() {
        let text = "resources: [shown.yaml]\nsecretGenerator:\n- name: login\n  literals:\n  - a=canary\nimages:\n- name: shown\n  newTag: shown\n";
        let all: BTreeSet<u32> = (1..20).collect();
        assert_eq!(mask("o/kustomization.yaml", text, &all), text.replace("a=canary", "********"));
        let flow = "secretGenerator: [{name: a, literals: [b=canary]}]\n";
        assert!(!mask("o/kustomization.yaml", flow, &all).contains("canary"));
    }
}
