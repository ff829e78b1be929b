//! Takes the values out of Secrets in texts that people will see.
//!
//! Takes a file's text; hands on a text of the same length and lines, so that places in it stay where they are.

/// Fields that say what an object is, and may be shown.
const SHOWN: [&str; 6] = ["apiVersion", "kind", "name", "namespace", "type", "immutable"];

/// A text without the values of its Secrets. Documents that cannot be parsed are masked by how they look, and rather too much than too
/// little.
pub(super) fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut document = String::new();
    for line in text.split_inclusive('\n') {
        if line.starts_with("---") {
            flush(&mut document, &mut masked);
        }
        document.push_str(line);
    }
    flush(&mut document, &mut masked);
    masked
}

fn flush(document: &mut String, masked: &mut String) {
    if is_secret(document) {
        document.split_inclusive('\n').for_each(|line| masked.push_str(&mask_line(line)));
    } else {
        masked.push_str(document);
    }
    document.clear();
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
            let masked = mask(text);
            assert!(!masked.contains("canary"), "{masked}");
            assert_eq!((masked.len(), masked.lines().count()), (text.len(), text.lines().count()), "{masked}");
        }
    }

    #[test]
    fn keys_and_other_documents_stay() {
        let text = "kind: ConfigMap\ndata: {a: shown}\n---\nkind: Secret\nmetadata:\n  name: login\ndata:\n  password: Y2FuYXJ5\n";
        assert_eq!(mask(text), text.replace("Y2FuYXJ5", "********"));
        let others = "kind: SecretStore\nspec: {a: b}\n---\nkind: ExternalSecret\nspec: {a: b}\n";
        assert_eq!(mask(others), others);
    }
}
