//! A parsed file as it is kept: what stands in it and where, then the texts of its objects, so that none is read before it is wanted.
//!
//! Takes a [`ParsedFile`]; hands on its bytes, and the other way round.

use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;

use super::ParsedFile;
use super::parsed::{DocumentPlace, ParsedObject};
use crate::manifest::{Content, ResourceKey, has_plain_metadata, heading_of};

/// Bytes of the table's length, which stands first.
const LENGTH: usize = 4;

/// What stands in a file: its size, its documents and objects, whether it is skipped, looks like a manifest, and has a second JSON value.
/// Names would take longer to read than the rest.
type Table = (u64, Vec<Document>, Vec<Object>, [bool; 3]);

/// Start, end, first line, and keys that appear twice.
type Document = (usize, usize, u32, Vec<String>);

/// The key; the document and the place in it; the lengths of heading and whole text, which lie one behind the other; whether the metadata is
/// plain.
type Object = (Option<[String; 4]>, usize, String, [usize; 2], bool);

/// A parsed file as it is kept; `None` where it may hold a Secret, or would not come back as it is.
pub(super) fn encode(parsed: &ParsedFile) -> Option<Vec<u8>> {
    if parsed.error.is_some() {
        return None;
    }
    let mut texts = Vec::new();
    let mut objects = Vec::with_capacity(parsed.objects.len());
    for object in &parsed.objects {
        let before = texts.len();
        serde_json::to_writer(&mut texts, &heading_of(&object.object)).ok()?;
        let heading = texts.len() - before;
        serde_json::to_writer(&mut texts, &*object.object).ok()?;
        let key = object.key.as_ref().map(|key| [&key.group, &key.kind, &key.namespace, &key.name].map(|part| part.to_string()));
        let lengths = [heading, texts.len() - before - heading];
        objects.push((key, object.document, object.within.clone(), lengths, has_plain_metadata(&object.object)));
    }
    let place = |place: &DocumentPlace| (place.range.start, place.range.end, place.line, place.duplicate_keys.clone());
    let flags = [parsed.skipped, parsed.looks_like_manifest, parsed.second_json_value];
    let table: Table = (parsed.bytes, parsed.documents.iter().map(place).collect(), objects, flags);
    let table = serde_json::to_vec(&table).ok()?;
    let mut encoded = u32::try_from(table.len()).ok()?.to_le_bytes().to_vec();
    encoded.extend(table);
    encoded.extend(texts);
    if may_hold_secret(&encoded) {
        return None;
    }
    // Some numbers change a little on their way through text.
    let all = 0..encoded.len();
    let encoded = Arc::new(encoded);
    if decode(&encoded, all)? != *parsed {
        return None;
    }
    Arc::into_inner(encoded)
}

/// The file that lies at a place of a text.
pub(super) fn decode(arena: &Arc<Vec<u8>>, place: Range<usize>) -> Option<ParsedFile> {
    let encoded = arena.get(place.clone())?;
    let (length, rest) = encoded.split_at_checked(LENGTH)?;
    let length = usize::try_from(u32::from_le_bytes(length.try_into().ok()?)).ok()?;
    let (bytes, documents, stored, flags): Table = serde_json::from_slice(rest.get(..length)?).ok()?;
    let mut at = place.start + LENGTH + length;
    let mut objects = Vec::with_capacity(stored.len());
    for (key, document, within, [heading, whole], is_plain) in stored {
        let middle = at.checked_add(heading)?;
        let end = middle.checked_add(whole).filter(|end| *end <= place.end)?;
        let key = key.map(|[group, kind, namespace, name]| ResourceKey::new(&group, &kind, &namespace, &name));
        objects.push(ParsedObject {
            key,
            object: Content::of_text(Arc::clone(arena), at..middle, middle..end, is_plain),
            document,
            within,
        });
        at = end;
    }
    let place = |(start, end, line, duplicate_keys): Document| DocumentPlace { range: start..end, line, duplicate_keys };
    let [skipped, looks_like_manifest, second_json_value] = flags;
    let documents = documents.into_iter().map(place).collect();
    Some(ParsedFile { bytes, documents, objects, error: None, skipped, looks_like_manifest, second_json_value })
}

/// Whether the word `Secret` stands in it, by itself: as a kind, or in a manifest within a text; or kustomize is to make Secrets out of it.
fn may_hold_secret(encoded: &[u8]) -> bool {
    if memmem::find(encoded, b"secretGenerator").is_some() {
        return true;
    }
    let letter = |at: Option<usize>| at.and_then(|at| encoded.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    memmem::find_iter(encoded, b"Secret").any(|start| !letter(start.checked_sub(1)) && !letter(Some(start + "Secret".len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::{Format, parsed};

    fn parse(text: &str) -> ParsedFile {
        parsed::parse(text.as_bytes(), Format::Stream, Some("+skip"))
    }

    #[test]
    fn files_with_secrets_and_broken_files_are_not_kept() {
        for text in [
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: canary}\n",
            "kind: List\nitems:\n- {kind: Secret, data: {a: Y2FuYXJ5}}\n",
            "kind: ConfigMap\ndata:\n  m.yaml: |\n    kind: Secret\n    stringData: {a: canary}\n",
            "kind: Kustomization\nsecretGenerator: [{name: a, literals: [password=canary]}]\n",
            "kind: ConfigMap\n---\na: [\n",
        ] {
            assert_eq!(encode(&parse(text)), None, "{text}");
        }
        assert!(encode(&parse("kind: ExternalSecret\nspec: {secretStoreRef: {kind: SecretStore}}\n")).is_some());
    }

    #[test]
    fn a_place_that_does_not_hold_what_its_table_says_gives_nothing() {
        let encoded = encode(&parse("kind: ConfigMap\nmetadata: {name: a}\n")).unwrap();
        let all = encoded.len();
        let encoded = Arc::new(encoded);
        assert!(decode(&encoded, 0..all).is_some());
        assert!((0..all).all(|end| decode(&encoded, 0..end).is_none()));
    }
}
