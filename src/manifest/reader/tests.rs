use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(text: &str) -> Stream {
    read_stream(text, &Limits::default())
}

fn values(text: &str) -> Vec<Value> {
    let stream = read(text);
    assert_eq!(stream.error, None, "{text}");
    stream.documents.into_iter().map(|document| document.value).collect()
}

fn error(text: &str) -> ReadError {
    read(text).error.unwrap()
}

#[test]
fn duplicate_keys_are_read_as_the_last_and_reported_with_both_places() {
    let text = "a: 1\nl:\n- {b: 1, b: 2}\na: 3\n";
    let document = read(text).documents.remove(0);
    assert_eq!(document.value, json!({"a": 3, "l": [{"b": 2}]}));
    let found: Vec<_> = document
        .duplicate_keys
        .iter()
        .map(|duplicate| (duplicate.pointer.to_string(), duplicate.first.start, duplicate.span.start))
        .collect();
    assert_eq!(found, [("/l/0/b".to_owned(), 11, 17), ("/a".to_owned(), 23, 0)].map(|(at, a, b)| (at, a.min(b), a.max(b))));
}

#[test]
fn a_merge_key_makes_no_duplicates() {
    let document = read("b: &b {x: 1}\ns:\n  <<: *b\n  x: 2\n").documents.remove(0);
    assert_eq!(document.value, json!({"b": {"x": 1}, "s": {"x": 2}}));
    assert_eq!(document.duplicate_keys, []);
    let document = read("b: &b {x: 1}\ns:\n  <<: *b\n  x: 2\n  x: 3\n").documents.remove(0);
    assert_eq!(document.duplicate_keys.len(), 1);
}

#[test]
fn duplicate_keys_of_json_are_reported_too() {
    let document = read("{\"a\": 1, \"a\": 2}").documents.remove(0);
    assert_eq!(document.value, json!({"a": 2}));
    assert_eq!((document.duplicate_keys[0].first.clone(), document.duplicate_keys[0].span.clone()), (1..4, 9..12));
}

#[test]
fn a_bad_document_stops_the_stream_and_keeps_those_before_it() {
    let stream = read("a: 1\n---\nb: [\n---\nc: 3\n");
    assert_eq!(stream.documents.len(), 1);
    let error = stream.error.unwrap();
    assert_eq!(error.line, 3);
    assert!(matches!(error.kind, ReadErrorKind::Yaml(_)), "{error}");
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    for (text, message) in [
        ("a: 1\n--- b\n", "line 2, column 1: nothing but a comment may follow the document separator `---`, but `b` does"),
        ("a: *b\n", "line 1, column 4: there is no anchor `b` before this alias"),
        ("a: &a [*a]\n", "line 1, column 8: this alias stands inside the value of its own anchor"),
        ("é: \"\u{7f}\"\n", "line 1, column 5: the character U+007F is not allowed in YAML"),
        ("a:\n  ~: 1\n", "line 2, column 3: null cannot be a key of a Kubernetes object"),
        ("a: .inf\n", "line 1, column 4: `inf` is not a number that a Kubernetes object can hold"),
        ("a: 1\n\t\nb: 1\n", "line 2, column 1: this is not valid YAML: a tab cannot stand here; indent with spaces"),
    ] {
        assert_eq!(error(text).to_string(), message, "{text}");
    }
}

#[test]
fn duplicate_keys_of_a_json_file_are_reported() {
    let (value, duplicates) = read_json_within("{\"data\": {\"a\": 1, \"b\": 0, \"a\": 2}}\n", &Limits::default()).unwrap();
    assert_eq!(value, json!({"data": {"a": 2, "b": 0}}));
    let places: Vec<_> = duplicates.iter().map(|key| (key.pointer.to_string(), key.first.clone(), key.span.clone())).collect();
    assert_eq!(places, [("/data/a".to_owned(), 10..13, 26..29)]);
}

#[test]
fn json_files_hold_one_value() {
    assert_eq!(read_json(" {\"a\": [1, 2.0, 1e2]} \n"), Ok(json!({"a": [1, 2, 100]})));
    let error = read_json("{}\n{}").unwrap_err();
    assert_eq!((error.kind, error.line), (ReadErrorKind::SecondJsonValue, 2));
    assert!(matches!(read_json("{\"a\": 01}").unwrap_err().kind, ReadErrorKind::Json(_)));
    assert!(matches!(read_json("").unwrap_err().kind, ReadErrorKind::Json(_)));
}

#[test]
fn limits_are_errors_that_name_them() {
    let limits = Limits { max_depth: 3, max_document_bytes: 40, max_documents: 2, max_alias_bytes: 200 };
    let kind = |text: &str| read_stream(text, &limits).error.map(|error| error.kind);
    assert_eq!(kind("[[[1]]]"), None);
    assert_eq!(kind("[[[[1]]]]"), Some(ReadErrorKind::TooDeep { limit: 3 }));
    assert_eq!(kind("{\"a\": [[[1]]]}"), Some(ReadErrorKind::TooDeep { limit: 3 }));
    assert_eq!(kind("a:\n  b:\n    c:\n      d: 1\n"), Some(ReadErrorKind::TooDeep { limit: 3 }));
    assert_eq!(kind("a: &a [[1]]\nb: [*a]\n"), Some(ReadErrorKind::TooDeep { limit: 3 }));
    assert_eq!(kind("a: 1\n---\na: 1\n---\na: 1\n"), Some(ReadErrorKind::TooManyDocuments { limit: 2 }));
    assert_eq!(kind(&"a: 1\n".repeat(9)), Some(ReadErrorKind::DocumentTooLong { limit: 40 }));
    assert_eq!(kind("a: &a xxxxxxxx\nb: [*a,*a,*a,*a,*a,*a]"), Some(ReadErrorKind::AliasBytes { limit: 200 }));
}

/// The deepest value that is accepted, and far deeper input, on a stack as small as that of a worker thread.
#[test]
fn deep_nesting_never_overflows_the_stack() {
    let work = || {
        let depth = Limits::default().max_depth;
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        let deepest = values(&nested(depth));
        assert_eq!(deepest.clone(), deepest);
        assert_eq!(deepest[0].to_string().len(), 2 * depth + 1);
        for depth in [depth + 1, 9_000, 100_000] {
            for text in [
                nested(depth),
                format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth)),
                "- ".repeat(depth),
                format!("a: {}", nested(depth)),
            ] {
                assert!(matches!(error(&text).kind, ReadErrorKind::TooDeep { .. }), "{depth}");
                crate::manifest::span::locate(&text, 0..text.len(), &crate::manifest::pointer::Pointer::root().join("a"));
            }
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn aliases_cannot_make_a_small_text_large() {
    let long = "x".repeat(100_000);
    let text = format!("a: &a {long}\nb: [{}*a]\n", "*a, ".repeat(10_000));
    assert!(matches!(error(&text).kind, ReadErrorKind::AliasBytes { .. }));
    let laughs = (1..9).fold("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, level| {
        let alias = format!("*a{}", level - 1);
        text + &format!("a{level}: &a{level} [{}]\n", [alias.as_str(); 9].join(","))
    });
    assert_eq!(error(&laughs).kind, ReadErrorKind::ExcessiveAliasing);
}

/// Strings that YAML 1.1 and the writer of the test see alike.
fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{6,9}", "[ -~éß😀\n]{0,20}"]
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6_f64).prop_map(|number| Value::from(number + 0.5)),
        text().prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect()))
        ]
    })
}

/// Floats with no fraction come back as integers.
fn normal(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if !number.is_i64() && float.fract() == 0.0 => json!(float as i64),
            _ => Value::Number(number),
        },
        Value::Array(list) => list.into_iter().map(normal).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, normal(value))).collect(),
        other => other,
    }
}

proptest! {
    #[test]
    fn json_text_reads_back_as_json_and_as_yaml(value in json_value()) {
        let map = normal(json!({"spec": value}));
        prop_assert_eq!(read_json(&map.to_string()), Ok(map.clone()));
        prop_assert_eq!(values(&map.to_string()), vec![map.clone()]);
        prop_assert_eq!(values(&format!("# YAML\n{map:#}\n")), vec![map]);
    }

    #[test]
    fn yaml_text_reads_back_to_the_same_value(value in json_value()) {
        let map = normal(json!({"spec": value}));
        let text = serde_yaml::to_string(&map).unwrap();
        // The writer leaves words like `y` and `0b1_0` unquoted, which YAML 1.1 does not read as text.
        let plain_words_only = serde_yaml::from_str::<Value>(&text).is_ok_and(|again| again == map);
        let stream = read(&text);
        if plain_words_only && stream.documents.first().is_some_and(|document| document.value != map) {
            let typed = |text: &str| !matches!(scalar::resolve(text.into()), event::Scalar::Text(_));
            prop_assert!(text.split([' ', '\n', ':', '?']).any(typed), "{}", text);
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let decoded = decode(&bytes);
        read(&decoded.text);
        let _ = read_json(&decoded.text);
    }

    #[test]
    fn no_yaml_like_text_makes_the_reader_panic(text in "([-:?*&!|>{}\\[\\], \tab1\n\r\"'#<%@.~é]|---\n|<<: |\\*a|&a |!!int ){0,60}") {
        let stream = read(&text);
        for document in stream.documents {
            prop_assert!(text.get(document.range).is_some());
        }
        if let Some(error) = stream.error {
            prop_assert!(error.offset <= text.len());
        }
        let _ = read_json(&text);
    }
}

#[test]
fn the_next_line_character_ends_a_line() {
    let read = |text: &str| {
        let stream = read_stream(text, &Limits::default());
        (stream.documents.into_iter().map(|document| document.value).collect::<Vec<_>>(), stream.error.is_some())
    };
    assert_eq!(read("a: [x\u{85}y]"), (vec![json!({"a": ["x y"]})], false));
    assert_eq!(read("a: x\u{85} y\n"), (vec![json!({"a": "x y"})], false));
    assert_eq!(read("a: x\u{85}\n"), (vec![json!({"a": "x"})], false));
    assert_eq!(read("a: x\u{85}b: z\n"), (vec![json!({"a": "x", "b": "z"})], false));
    assert_eq!(read("a: \"x\u{85}y\"\n"), (vec![json!({"a": "x y"})], false));
    assert_eq!(read("a: |\n  x\u{85}  y\n"), (vec![json!({"a": "x\ny\n"})], false));
    assert!(read("a: x\u{85}y\n").1, "what follows stands at the margin and is no key");
    assert_eq!(read("{\"a\": \"x\u{85}y\"}"), (vec![json!({"a": "x\u{85}y"})], false), "JSON knows no such line end");
}
