//! Values whose names say that they are secret: environment variables, Helm parameters and Helm values.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde_json::{Map, Value};

use super::{REDACTED, mark};

/// Names whose values are secret: the built-in ones, and patterns of the user's own.
#[derive(Clone, Debug, Default)]
pub struct SecretNames {
    more: GlobSet,
    spared: GlobSet,
}

impl SecretNames {
    /// Names with patterns of the user's own; capitals do not matter.
    ///
    /// # Errors
    /// Names the pattern that cannot be read.
    pub fn new(more: &[String], spared: &[String]) -> Result<Self, String> {
        let set = |patterns: &[String]| {
            let mut builder = GlobSetBuilder::new();
            for pattern in patterns {
                let glob = GlobBuilder::new(pattern).case_insensitive(true).build();
                builder.add(glob.map_err(|error| format!("{pattern} is no pattern: {}", error.kind()))?);
            }
            builder.build().map_err(|error| error.kind().to_string())
        };
        Ok(Self { more: set(more)?, spared: set(spared)? })
    }

    fn is_sensitive(&self, name: &str) -> bool {
        !self.spared.is_match(name) && (self.more.is_match(name) || is_sensitive(name))
    }

    fn is_secret_value(&self, name: &str, value: &str) -> bool {
        let says_nothing = value.is_empty() || matches!(value, "true" | "false" | REDACTED);
        !says_nothing && (self.is_sensitive(name) || has_password_in_url(value))
    }

    /// Redacts a list of `name` and `value`, as environment variables and Helm parameters are written. Plugin parameters say `string`,
    /// `array` or `map`.
    pub(super) fn redact_named(&self, list: &mut [Value]) -> bool {
        let mut changed = false;
        for item in list.iter_mut().filter_map(Value::as_object_mut) {
            let name = item.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            for field in ["value", "string", "array", "map"] {
                if let Some(value) = item.get_mut(field) {
                    changed |= self.redact_value(&name, value);
                }
            }
        }
        changed
    }

    /// Redacts `helm` of an Application's source.
    pub(super) fn redact_helm(&self, helm: &mut Map<String, Value>) -> bool {
        let mut changed = false;
        if let Some(values) = helm.get_mut("valuesObject") {
            changed |= self.redact_tree(values);
        }
        if let Some(Value::String(values)) = helm.get_mut("values") {
            let redacted = self.redact_text(values);
            changed |= redacted != *values;
            *values = redacted;
        }
        changed
    }

    fn redact_tree(&self, value: &mut Value) -> bool {
        match value {
            Value::Array(items) => items.iter_mut().fold(false, |changed, item| self.redact_tree(item) | changed),
            Value::Object(map) => map.iter_mut().fold(false, |changed, (name, value)| {
                let this = self.redact_value(name, value);
                self.redact_tree(value) | this | changed
            }),
            _ => false,
        }
    }

    /// Redacts a value by its name; what a sensitive name holds as a list or map goes as a whole, unless it is a reference.
    fn redact_value(&self, name: &str, value: &mut Value) -> bool {
        let secret = match &*value {
            Value::String(text) => self.is_secret_value(name, text),
            Value::Number(_) => self.is_sensitive(name),
            Value::Array(items) => self.is_sensitive(name) && items.iter().any(Value::is_string),
            _ => false,
        };
        secret && mark(value)
    }

    /// Redacts YAML text line by line, so that its layout stays: `name: value`, and the lines of a block under `name: |`.
    fn redact_text(&self, text: &str) -> String {
        let mut redacted = String::with_capacity(text.len());
        let mut block: Option<usize> = None;
        for line in text.split_inclusive('\n') {
            let indent = line.len() - line.trim_start_matches([' ', '-']).len();
            let ending = if line.ends_with('\n') { "\n" } else { "" };
            if let Some(outer) = block {
                if line.trim().is_empty() || indent > outer {
                    continue;
                }
                block = None;
            }
            let (name, value) = line.trim().split_once(':').unwrap_or_default();
            let (name, value) = (name.trim_start_matches(['-', ' ']).trim_matches(['"', '\'']), value.trim());
            let is_block = value.starts_with(['|', '>']);
            if is_block && self.is_sensitive(name) || self.is_secret_value(name, value.trim_matches(['"', '\''])) {
                redacted.push_str(line.split_once(':').map_or("", |(before, _)| before));
                redacted.push_str(": ");
                redacted.push_str(REDACTED);
                redacted.push_str(ending);
                block = Some(indent);
            } else {
                redacted.push_str(line);
            }
        }
        redacted
    }
}

/// Whether a value is secret by its name, or a URL with a password in it.
pub fn may_be_secret(name: &str, value: &str) -> bool {
    SecretNames::default().is_secret_value(name, value)
}

/// Parts of a name that mark its value as secret, without regard to case and separators.
const SECRET_PARTS: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "token",
    "secret",
    "credential",
    "apikey",
    "accesskey",
    "privatekey",
    "encryptionkey",
    "signingkey",
];
/// Last words of names that mean a reference to a secret or a setting about one, and not the secret.
const HARMLESS_ENDS: [&str; 12] = ["name", "names", "ref", "refs", "enabled", "path", "file", "namespace", "ttl", "url", "uri", "endpoint"];

/// Whether a name means that its value is a secret: `DB_PASSWORD`, `auth.apiToken`, `SIGNING_KEY`; not `tls.secretName` nor
/// `auth.existingSecret`, which name a Secret object.
pub(super) fn is_sensitive(name: &str) -> bool {
    let words = words(name);
    let Some(last) = words.last() else { return false };
    if HARMLESS_ENDS.contains(&last.as_str()) || words.ends_with(&["existing".to_owned(), "secret".to_owned()]) {
        return false;
    }
    let joined = words.concat();
    matches!(last.as_str(), "key" | "pwd" | "pass" | "pat") || SECRET_PARTS.iter().any(|part| joined.contains(part))
}

/// The lower-case words of a name written with separators or capitals.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut starts_word = true;
    let mut after_lower = false;
    for character in name.chars() {
        if !character.is_alphanumeric() {
            starts_word = true;
            continue;
        }
        if starts_word || (after_lower && character.is_uppercase()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(character.to_lowercase());
        }
        starts_word = false;
        after_lower = character.is_lowercase();
    }
    words
}

/// Whether a text is a URL with a password in it, as connection strings have.
pub(super) fn has_password_in_url(text: &str) -> bool {
    let mut rest = text;
    // Nearly all texts have neither; this is asked of every text of a cluster.
    if memchr::memchr(b'@', rest.as_bytes()).is_none() {
        return false;
    }
    while let Some((_, after)) = rest.split_once("://") {
        let authority = after.split(['/', ' ', '\n', '"', '\'', '?']).next().unwrap_or_default();
        if authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':')) {
            return true;
        }
        rest = after;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secret_values_are_known_and_references_to_secrets_are_not_among_them() {
        for name in ["DB_PASSWORD", "auth.apiToken", "SIGNING_KEY", "clientSecret", "api-key", "PGPASSWORD", "githubPAT", "db.pass"] {
            assert!(is_sensitive(name), "{name}");
        }
        for name in ["tls.secretName", "auth.existingSecret", "TOKEN_TTL", "keyboard", "monkey", "PASSWORD_FILE", "image.tag", "", "path"] {
            assert!(!is_sensitive(name), "{name}");
        }
    }

    #[test]
    fn patterns_add_names_and_spare_names() {
        let names = SecretNames::new(&["*_dsn".into()], &["signing_key".into()]).unwrap();
        assert!(names.is_secret_value("SENTRY_DSN", "x") && names.is_secret_value("db_password", "x"));
        assert!(!names.is_secret_value("SIGNING_KEY", "x") && !names.is_secret_value("port", "80"));
        assert!(SecretNames::new(&["[".into()], &[]).unwrap_err().contains('['));
    }

    #[test]
    fn passwords_in_urls_are_seen() {
        assert!(has_password_in_url("postgres://shop:pw@db:5432/shop"));
        assert!(has_password_in_url("a=http://x b=amqp://u:p@q"));
        for harmless in ["https://shop.test:8443/a@b:c", "mailto:a@b", "ssh://git@host/x"] {
            assert!(!has_password_in_url(harmless), "{harmless}");
        }
    }

    #[test]
    fn values_text_keeps_its_layout() {
        let text = "db:\n  password: \"pw\" # why\n  host: db\n  privateKey: |\n    line one\n\n    line two\n  port: 5\n- token: t\nsecretName: s";
        let expected = "db:\n  password: presync:redacted\n  host: db\n  privateKey: presync:redacted\n  port: 5\n- token: presync:redacted\nsecretName: s";
        assert_eq!(SecretNames::default().redact_text(text), expected);
    }
}
