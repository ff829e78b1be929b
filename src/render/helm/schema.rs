//! Whether the schema of a chart reads something from elsewhere: helm would fetch it from the network, or read it from the machine that renders.
//!
//! Takes the files of a chart, packed ones included; hands on the first address. Nothing is run.

use std::io::Read;
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use regex::bytes::Regex;
use serde_json::Value;

use crate::render::Inputs;
use crate::repo::{EntryKind, Tree};

/// The file of a chart that its values are checked with.
const NAME: &str = "values.schema.json";
/// Bytes of a packed chart that are looked through, unpacked.
const MAX_BYTES: u64 = 64 << 20;

/// An address that a schema among the files names.
pub(super) fn address_elsewhere(tree: &Tree, inputs: &Inputs) -> Option<String> {
    let files = inputs.entries(tree).into_iter().filter(|entry| matches!(entry.kind, EntryKind::File | EntryKind::Executable));
    files.into_iter().find_map(|entry| {
        let is_schema = entry.path.rsplit('/').next() == Some(NAME);
        if !is_schema && !entry.path.ends_with(".tgz") {
            return None;
        }
        let bytes = tree.read_entry(entry).ok()?;
        if is_schema { in_schema(&serde_json::from_slice(&bytes).ok()?) } else { in_package(&bytes) }
    })
}

/// An address in a schema: what does not begin in the schema itself.
fn in_schema(schema: &Value) -> Option<String> {
    let mut stack = vec![schema];
    while let Some(value) = stack.pop() {
        match value {
            Value::Object(fields) => {
                let addresses = fields.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
                if let Some((_, address)) = addresses.into_iter().find(|(name, address)| is_elsewhere(name, address)) {
                    return Some(address.to_owned());
                }
                stack.extend(fields.values());
            }
            Value::Array(items) => stack.extend(items),
            _ => {}
        }
    }
    None
}

fn is_elsewhere(name: &str, address: &str) -> bool {
    match name {
        "$ref" | "$dynamicRef" | "$recursiveRef" => !address.starts_with('#'),
        // Helm brings the drafts along.
        "$schema" => !["http://json-schema.org/", "https://json-schema.org/"].iter().any(|draft| address.starts_with(draft)),
        _ => false,
    }
}

/// The same in a packed chart, by how its bytes look: its files lie in it one after the other, as they are.
fn in_package(bytes: &[u8]) -> Option<String> {
    static MEMBER: OnceLock<Option<Regex>> = OnceLock::new();
    let mut unpacked = Vec::new();
    // What is damaged is looked at as far as it goes; helm reads no further either.
    let _ = GzDecoder::new(bytes).take(MAX_BYTES).read_to_end(&mut unpacked);
    memchr::memmem::find(&unpacked, NAME.as_bytes())?;
    // A name may be written with escapes, which no schema needs.
    let member = MEMBER.get_or_init(|| Regex::new(r#""((?:\\u00[0-9a-fA-F]{2}|\$)[A-Za-z\\0-9]{2,40})"\s*:\s*"([^"]*)""#).ok()).as_ref()?;
    let text = |bytes: Option<regex::bytes::Match<'_>>| bytes.map(|found| String::from_utf8_lossy(found.as_bytes()).into_owned());
    member.captures_iter(&unpacked).find_map(|found| {
        let (name, address) = (text(found.get(1))?, text(found.get(2))?);
        let is_hidden = name.contains('\\');
        (is_hidden || is_elsewhere(&name, &address)).then_some(address)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use serde_json::json;

    #[test]
    fn only_addresses_outside_of_the_schema_are_elsewhere() {
        for schema in [
            json!({"$ref": "file:///etc/passwd"}),
            json!({"properties": {"a": {"anyOf": [{"$ref": "http://127.0.0.1/x.json"}]}}}),
            json!({"$schema": "file:///proc/self/environ"}),
            json!({"$ref": "other.json#/definitions/a"}),
        ] {
            assert!(in_schema(&schema).is_some(), "{schema}");
        }
        let own = json!({"$schema": "http://json-schema.org/draft-07/schema#", "$id": "https://example.test/x", "$defs": {"a": {}}, "$ref": "#/$defs/a",
            "properties": {"ref": {"default": "file:///x"}}});
        assert_eq!(in_schema(&own), None);
    }

    #[test]
    fn packed_charts_are_looked_through() {
        let packed = |text: &str| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(text.as_bytes()).unwrap();
            in_package(&encoder.finish().unwrap())
        };
        assert_eq!(packed("db/values.schema.json\0{\"$ref\": \"file:///etc/passwd\"}").as_deref(), Some("file:///etc/passwd"));
        assert!(packed("db/values.schema.json\0{\"\\u0024ref\":\"file:///x\"}").is_some());
        assert_eq!(packed("db/values.schema.json\0{\"$ref\": \"#/definitions/a\"}"), None);
        assert_eq!(packed("db/templates/a.yaml\0 \"$ref\": \"other\""), None);
        assert_eq!(in_package(b"no package"), None);
    }
}
