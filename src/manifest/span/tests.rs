use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::manifest::reader::read_stream;

const TEXT: &str = "# claim — précieux
apiVersion: v1
kind: PersistentVolumeClaim # kind
metadata:
  name: data
  annotations:   # ann
    # keep me
    a: 'b'   # tail
    y: 1
  labels: {x: y, \"z\": [1, 22]}
spec:
  accessModes:
  - ReadWriteOnce   # rwo
  - ReadOnlyMany

  containers:
    - name: c0
      image: >-
        reg/x:1
    - name: c1
      image: \"reg/y:2\" # img
      empty:
      args: [ ]
  script: |+
    one

  replicas: 3
";

fn whole(text: &str) -> Range<usize> {
    0..text.len()
}

fn pointer(text: &str) -> Pointer {
    Pointer::parse(text).unwrap()
}

/// The source of key and value.
fn source<'text>(text: &'text str, at: &str) -> Option<(Option<&'text str>, &'text str)> {
    let span = locate(text, whole(text), &pointer(at))?;
    Some((span.key.map(|key| &text[key]), &text[span.value]))
}

#[test]
fn scalars_are_found_with_key_and_without_comments() {
    for (at, key, value) in [
        ("/kind", "kind", "PersistentVolumeClaim"),
        ("/metadata/annotations/a", "a", "'b'"),
        ("/metadata/annotations/true", "y", "1"),
        ("/metadata/labels/x", "x", "y"),
        ("/spec/containers/0/image", "image", ">-\n        reg/x:1"),
        ("/spec/containers/1/image", "image", "\"reg/y:2\""),
        ("/spec/containers/1/empty", "empty", ""),
        ("/spec/containers/1/args", "args", "[ ]"),
        ("/spec/script", "script", "|+\n    one\n\n"),
        ("/spec/replicas", "replicas", "3"),
        ("/metadata/labels/z", "\"z\"", "[1, 22]"),
    ] {
        assert_eq!(source(TEXT, at), Some((Some(key), value)), "{at}");
    }
}

#[test]
fn list_items_have_no_key() {
    assert_eq!(source(TEXT, "/metadata/labels/z/1"), Some((None, "22")));
    assert_eq!(source(TEXT, "/spec/accessModes/0"), Some((None, "ReadWriteOnce")));
    assert_eq!(source(TEXT, "/spec/containers/0"), Some((None, "name: c0\n      image: >-\n        reg/x:1")));
}

#[test]
fn block_collections_go_from_their_first_entry_to_the_end_of_their_last() {
    let annotations = "a: 'b'   # tail\n    y: 1";
    assert_eq!(source(TEXT, "/metadata/annotations"), Some((Some("annotations"), annotations)));
    assert_eq!(source(TEXT, "/spec/accessModes"), Some((Some("accessModes"), "- ReadWriteOnce   # rwo\n  - ReadOnlyMany")));
    let all = locate(TEXT, whole(TEXT), &Pointer::root()).unwrap();
    assert_eq!((all.key, &TEXT[all.value]), (None, &TEXT[TEXT.find("apiVersion").unwrap()..TEXT.len() - 1]));
}

#[test]
fn an_empty_value_stands_on_the_line_of_its_key() {
    let span = locate(TEXT, whole(TEXT), &pointer("/spec/containers/1/empty")).unwrap();
    assert_eq!(line_column(TEXT, span.value.start).0, line_column(TEXT, span.key.unwrap().start).0);
}

#[test]
fn what_is_missing_leads_to_the_nearest_part_that_is_there() {
    assert_eq!(source(TEXT, "/spec/nope"), None);
    assert_eq!(source(TEXT, "/spec/accessModes/2"), None);
    assert_eq!(source(TEXT, "/kind/x"), None);
    let nearest = locate_nearest(TEXT, whole(TEXT), &pointer("/spec/containers/1/ports/0/name")).unwrap();
    assert!(TEXT[nearest.value].starts_with("name: c1"));
    let nearest = locate_nearest(TEXT, whole(TEXT), &pointer("/kind/x")).unwrap();
    assert_eq!(nearest.key.map(|key| &TEXT[key]), Some("kind"));
    assert_eq!(locate_nearest("# nothing\n", 0..10, &Pointer::root()), None);
}

#[test]
fn of_a_key_that_stands_twice_the_last_counts() {
    let text = "a: {b: 1, c: 2}\na: {b: 3}\n";
    assert_eq!(source(text, "/a/b"), Some((Some("b"), "3")));
    assert_eq!(source(text, "/a/c"), None);
}

#[test]
fn aliases_and_merge_keys_are_the_nearest_place_of_what_they_bring_in() {
    let text = "base: &base {x: 1}\nuse: *base\nspec:\n  <<: *base\n  z: 2\n";
    assert_eq!(source(text, "/use"), Some((Some("use"), "*base")));
    assert_eq!(source(text, "/use/x"), None);
    assert_eq!(source(text, "/base"), Some((Some("base"), "{x: 1}")));
    let nearest = |at| locate_nearest(text, whole(text), &pointer(at)).map(|span| &text[span.value]);
    assert_eq!(nearest("/use/x"), Some("*base"));
    assert_eq!(nearest("/spec/x"), Some("*base"));
    assert_eq!(nearest("/spec/z"), Some("2"));
}

#[test]
fn spans_count_from_the_start_of_the_whole_text() {
    let text = "a: 1\n---\n# é\na: 22\n--- # c\na: 333\n";
    let values: Vec<_> = read_stream(text, &Default::default())
        .documents
        .into_iter()
        .map(|document| (document.line, &text[locate(text, document.range, &pointer("/a")).unwrap().value]))
        .collect();
    assert_eq!(values, [(1, "1"), (4, "22"), (6, "333")]);
}

#[test]
fn json_is_searched_as_json() {
    let text = "{\n\t\"a\": {\"b/c\": [true, {\"d\": \"x\\/y\"}]}\n}";
    assert_eq!(source(text, "/a/b~1c/1/d"), Some((Some("\"d\""), "\"x\\/y\"")));
    assert_eq!(source(text, "/a/b~1c/0"), Some((None, "true")));
    assert_eq!(source(text, "/a/b~1c/1"), Some((None, "{\"d\": \"x\\/y\"}")));
    assert_eq!(source("{a: {b: 1}, \"c\": 2}", "/a/b"), Some((Some("b"), "1")));
}

#[test]
fn a_pair_in_a_list_is_a_map_without_braces() {
    let text = "l: [a: 1 , b, c: {d: 2} ]\n";
    assert_eq!(source(text, "/l/0"), Some((None, "a: 1")));
    assert_eq!(source(text, "/l/0/a"), Some((Some("a"), "1")));
    assert_eq!(source(text, "/l/1"), Some((None, "b")));
    assert_eq!(source(text, "/l/2"), Some((None, "c: {d: 2}")));
}

#[test]
fn lines_and_columns_count_characters_from_one() {
    assert_eq!(line_column("é: 1\nü: x", 0), (1, 1));
    assert_eq!(line_column("é: 1\nü: x", 2), (1, 2));
    assert_eq!(line_column("é: 1\nü: x", 10), (2, 4));
    assert_eq!(line_column("é", 99), (1, 2));
}

/// Every place in a value.
fn places(value: &Value, at: &Pointer, found: &mut Vec<Pointer>) {
    found.push(at.clone());
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| places(value, &at.join(key), found)),
        Value::Array(list) => list.iter().enumerate().for_each(|(index, value)| places(value, &at.join(index.to_string()), found)),
        _ => {}
    }
}

/// Reads a part of a text again, at the column where it stands so that its lines keep their indentation. `None` for a block
/// scalar whose header counts the indentation from the map around it, which is missing then.
fn reread(text: &str, part: Range<usize>) -> Option<Value> {
    let source = &text[part.clone()];
    if source.starts_with(['|', '>']) && source.lines().next().is_some_and(|header| header.contains(|c: char| c.is_ascii_digit())) {
        return None;
    }
    let line_start = text[..part.start].rfind('\n').map_or(0, |at| at + 1);
    let column = text[line_start..part.start].chars().count();
    let source = format!("{}{}", " ".repeat(column), &text[part]);
    read_stream(&source, &Default::default()).documents.pop().map(|document| document.value).or(Some(Value::Null))
}

fn check_every_place(text: &str) -> Result<(), TestCaseError> {
    let stream = read_stream(text, &Default::default());
    prop_assert_eq!(&stream.error, &None, "{}", text);
    let Some(document) = stream.documents.into_iter().next() else {
        return Ok(());
    };
    let mut pointers = Vec::new();
    places(&document.value, &Pointer::root(), &mut pointers);
    for at in pointers {
        let span = locate(text, document.range.clone(), &at);
        prop_assert!(span.is_some(), "{} is not found in\n{}", at, text);
        let value = at.get(&document.value).cloned().unwrap_or_default();
        let span = span.unwrap_or(FieldSpan { key: None, value: 0..0 });
        let again = reread(text, span.value.clone()).unwrap_or_else(|| value.clone());
        prop_assert_eq!(again, value, "{} is {:?} in\n{}", at, &text[span.value], text);
        if let (Some(key), Some(name)) = (span.key, at.tokens().last()) {
            let again = reread(text, key.clone()).unwrap_or_else(|| json!(name));
            let text_again = again.as_str().map_or_else(|| again.to_string(), str::to_string);
            prop_assert_eq!(&text_again, name, "{} is {:?} in\n{}", at, &text[key], text);
        }
    }
    Ok(())
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,6}", "[ -~é😀\n]{0,12}", Just("yes".to_owned()), Just("1".to_owned()), Just("two\nlines\n".to_owned())]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word().prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(word(), inner, 0..5).prop_map(|map| Value::Object(map.into_iter().collect()))
        ]
    })
}

proptest! {
    #[test]
    fn every_place_of_a_json_text_reads_back_to_its_value(value in value()) {
        let map = json!({"spec": value});
        check_every_place(&map.to_string())?;
        check_every_place(&serde_json::to_string_pretty(&map).unwrap())?;
    }

    #[test]
    fn every_place_of_a_yaml_text_reads_back_to_its_value(value in value()) {
        let text = serde_yaml::to_string(&json!({"spec": value})).unwrap();
        // YAML 1.1 reads more words as booleans and numbers than the writer quotes, as values and as keys; what matters
        // here is that the place reads as the document does.
        if read_stream(&text, &Default::default()).error.is_none() {
            check_every_place(&text)?;
        }
    }

    #[test]
    fn no_text_makes_the_search_panic(text in "\\PC*|[-:?*&!|>{}\\[\\], \ta\n\"'#<%@]{0,60}", at in "(/[a0-9<]{0,2}){0,3}") {
        locate_nearest(&text, whole(&text), &pointer(&at));
    }
}
