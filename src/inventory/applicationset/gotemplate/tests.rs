use serde_json::json;

use super::*;
use crate::inventory::applicationset::params::{Dict, Value};

fn data(json: serde_json::Value) -> Params {
    match Value::of_json(&json) {
        Value::Map(map) => map,
        other => panic!("{other:?}"),
    }
}

fn render(text: &str, params: &Params, missing: MissingKey) -> Result<String, String> {
    Template::parse(text).and_then(|template| template.render(params, missing)).map_err(|error| error.to_string())
}

#[track_caller]
fn gives(text: &str, json: serde_json::Value, expected: &str) {
    assert_eq!(render(text, &data(json), MissingKey::Default).as_deref(), Ok(expected), "{text}");
}

#[track_caller]
fn fails(text: &str, json: serde_json::Value, part: &str) {
    let error = render(text, &data(json), MissingKey::Default).unwrap_err();
    assert!(error.contains(part), "{text}: {error}");
}

#[test]
fn s10_60_missing_keys_print_no_value_or_fail_as_the_option_says() {
    gives("--> {{.doesnotexist}} <--", json!({"data": "x"}), "--> <no value> <--");
    let error = render("--> {{.doesnotexist}} <--", &data(json!({"data": "x"})), MissingKey::Error).unwrap_err();
    assert_eq!(error, "map has no entry for key \"doesnotexist\"");
    fails("{{.data.test}}", json!({"data": "a text"}), "can't evaluate field test in type string");
    assert!(MissingKey::of_options(&["missingkey=nothing".to_owned()]).is_err());
    assert_eq!(MissingKey::of_options(&["missingkey=error".to_owned()]), Ok(MissingKey::Error));
}

#[test]
fn s10_60_values_become_yaml_and_yaml_becomes_values() {
    let words = json!({"a": ["yes", "n", "2024-01-01", "1_000", "1:30", "1e3", "", "~", "plain", "a: b"], "on": true});
    let expected =
        "a:\n- \"yes\"\n- \"n\"\n- \"2024-01-01\"\n- \"1_000\"\n- \"1:30\"\n- \"1e3\"\n- \"\"\n- \"~\"\n- plain\n- 'a: b'\n\"on\": true";
    gives("{{ toYaml .data }}", json!({"data": words}), expected);
    gives("{{ toYaml .data | indent 2 }}", json!({"data": {"foo": ["bar"]}}), "  foo:\n  - bar");
    gives("{{ (fromYaml .value).name }}", json!({"value": "name: x\nother: 1"}), "x");
    fails("{{ (fromYaml .value).name }}", json!({"value": "- a"}), "fromYaml");
    gives("{{ fromYamlArray .value | last }}", json!({"value": "- a\n- b"}), "b");
}

#[test]
fn what_is_nil_in_the_data_is_not_what_is_missing() {
    gives("{{.a}} {{.b.c}}", json!({"a": null, "b": {}}), "<no value> <no value>");
    gives("{{.b.c.d}}", json!({"b": {}}), "<no value>");
    fails("{{.a.b}}", json!({"a": null}), "nil pointer evaluating interface {}.b");
    assert!(render("{{.b.c.d}}", &data(json!({"b": {}})), MissingKey::Zero).unwrap_err().contains("nil pointer evaluating"));
    assert!(render("{{.b.c.d}}", &data(json!({"b": {}})), MissingKey::Error).unwrap_err().contains("no entry for key \"c\""));
}

#[test]
fn a_missing_entry_of_a_map_of_texts_is_an_empty_text() {
    let labels = Dict::of_texts(&[("env".to_owned(), "prod".to_owned())].into());
    let params = data(json!({"any": {}}));
    params.entries.borrow_mut().insert("labels".into(), Value::Map(labels));
    let render = |text: &str| render(text, &params, MissingKey::Default);
    assert_eq!(render(r#"{{ index .labels "env" }}-{{ index .labels "x" }}-"#).as_deref(), Ok("prod--"));
    assert_eq!(render(r#"{{ index .any "x" }}"#).as_deref(), Ok("<no value>"));
    assert_eq!(render("{{ .labels.x }}").as_deref(), Ok("<no value>"));
    assert!(render(r#"{{ index .missing "x" }}"#).unwrap_err().contains("index of untyped nil"));
    assert!(render(r#"{{ get .labels "env" }}"#).unwrap_err().contains("expected map[string]interface {}; got map[string]string"));
    assert!(render(r#"{{ dig "labels" "env" "none" . }}"#).unwrap_err().contains("is map[string]string"));
}

#[test]
fn numbers_of_the_data_are_floats() {
    gives("{{.n}} {{.m}} {{.f}}", json!({"n": 3, "m": 1_000_000, "f": 0.5}), "3 1e+06 0.5");
    fails("{{ if eq .n 3 }}x{{ end }}", json!({"n": 3}), "incompatible types for comparison");
    gives("{{ if eq .n 3.0 }}x{{ end }}", json!({"n": 3}), "x");
    gives(r#"{{ printf "%d %v %s" .n .n "a" }}"#, json!({"n": 3}), "%!d(float64=3) 3 a");
    gives("{{ int .n }} {{ add .n 2 }} {{ .n | toString }}", json!({"n": 3}), "3 5 3");
    gives("{{ .n | toJson }} {{ 1000000 }}", json!({"n": 1_000_000}), "1000000 1000000");
}

#[test]
fn what_go_refuses_to_parse_is_refused() {
    for (text, part) in [
        ("a{{end}}", "unexpected {{end}}"),
        ("{{if .a}}x", "unexpected EOF"),
        ("{{else}}", "unexpected {{else}}"),
        ("{{range .a}}x{{else if .b}}y{{end}}", "unexpected"),
        ("{{if .a}}{{nothing}}{{end}}", "function \"nothing\" not defined"),
        ("{{$x}}", "undefined variable"),
        ("{{if .a}}{{$x := 1}}{{end}}{{$x}}", "undefined variable"),
        ("{{.a", "unclosed action"),
        ("{{\"a\nb\"}}", "unterminated"),
        ("{{break}}", "outside {{range}}"),
        ("{{env \"HOME\"}}", "function \"env\" not defined"),
        ("{{include \"x\" .}}", "not defined"),
    ] {
        fails(text, json!({}), part);
    }
}

#[test]
fn functions_that_give_something_else_each_time_are_not_guessed() {
    for text in ["{{ randAlphaNum 5 }}", "{{ now }}", "{{ uuidv4 }}", "{{ genCA \"a\" 1 }}"] {
        let error = Template::parse(text).unwrap_err();
        assert!(matches!(&error, TemplateError::Unjudged(message) if message.contains("gives something else each time")), "{error}");
    }
    assert!(matches!(Template::parse("{{ untitle .a }}"), Err(TemplateError::Unjudged(_))));
    for whole in [r#"{{ semver "1.2.3" }}"#, r#"{{ "1.2.3" | semver | toJson }}"#, r#"{{ $v := semver "1.2.3" }}{{ $v }}"#] {
        assert!(matches!(Template::parse(whole), Err(TemplateError::Unjudged(_))), "{whole}");
    }
}

#[test]
fn control_flow_is_that_of_go() {
    let params = json!({"list": ["a", "b"], "map": {"y": 2, "x": "1"}, "none": []});
    gives("{{range $i, $v := .list}}{{if $i}},{{end}}{{$v}}{{end}}", params.clone(), "a,b");
    gives("{{range $k, $v := .map}}{{$k}}={{$v}};{{end}}", params.clone(), "x=1;y=2;");
    gives("{{range .none}}x{{else}}none{{end}}", params.clone(), "none");
    gives("{{with .missing}}x{{else with .list}}{{index . 1}}{{end}}", params.clone(), "b");
    gives("{{- if and .list (not .missing) -}} yes {{- end -}}", params.clone(), "yes");
    gives("{{range 3}}{{.}}{{if eq . 1}}{{break}}{{end}}{{end}}", params.clone(), "01");
    gives("{{define \"t\"}}<{{.}}>{{end}}{{template \"t\" index .list 0}}", params.clone(), "<a>");
    gives("{{/* a comment }} */}}x", params.clone(), "x");
    gives("{{ $x := 1 }}{{ if .list }}{{ $x = 2 }}{{ end }}{{ $x }}", params.clone(), "2");
    gives("{{ or .missing .none \"last\" }}", params, "last");
}

#[test]
fn arguments_are_checked_as_go_checks_them() {
    fails("{{ trunc .n .s }}", json!({"n": 3, "s": "abc"}), "wrong type for value; expected int; got float64");
    fails("{{ upper .n }}", json!({"n": 3}), "expected string; got float64");
    fails("{{ upper .missing }}", json!({}), "invalid value; expected string");
    fails("{{ upper }}", json!({}), "wrong number of args for upper: want 1 got 0");
    fails("{{ trunc (add 1 2) .s }}", json!({"s": "abc"}), "expected int; got int64");
    gives("{{ .missing | default \"d\" }}", json!({}), "d");
}

#[test]
fn set_writes_into_the_parameters() {
    gives("{{ $_ := set . \"id\" .path.basename }}{{ .id }}", json!({"path": {"basename": "x"}}), "x");
    fails("{{ set .a \"b\" . }}", json!({"a": {}}), "puts a map into itself");
}

#[test]
fn functions_of_sprig_give_what_they_give_there() {
    for (text, expected) in [
        (r#"{{ "a-b-c" | splitList "-" | last }}"#, "c"),
        (r#"{{ (split "-" "a-b")._1 }}"#, "b"),
        (r#"{{ trimSuffix ".yaml" "a.yaml" }}{{ trimPrefix "a" "abc" }}"#, "abc"),
        (r#"{{ replace "." "-" "a.b.c" }}"#, "a-b-c"),
        (r#"{{ "hello world" | title }}"#, "Hello World"),
        (r#"{{ "FirstName" | snakecase }} {{ "HTTPServer" | snakecase }} {{ "no_https" | kebabcase }}"#, "first_name http_server no-https"),
        (r#"{{ "http_server" | camelcase }}"#, "HttpServer"),
        (r#"{{ list 1 "a" nil | compact | join "," }}"#, "1,a"),
        (r#"{{ dict "a" 1 "b" (list 2 3) | toJson }}"#, r#"{"a":1,"b":[2,3]}"#),
        (r#"{{ dig "a" "b" "none" (dict "a" (dict "c" 1)) }}"#, "none"),
        (r#"{{ ternary "yes" "no" true }}"#, "yes"),
        (r#"{{ quote "a\"b" 1 nil }} {{ squote "x" }}"#, r#""a\"b" "1" 'x'"#),
        (r#"{{ cat "a" nil 1 }}"#, "a 1"),
        (r#"{{ nindent 2 "a\nb" }}"#, "\n  a\n  b"),
        (r#"{{ abbrev 5 "abcdefgh" }} {{ trunc 3 "abcdef" }} {{ trunc -3 "abcdef" }} {{ substr 1 3 "abcdef" }}"#, "ab... abc def bc"),
        (r#"{{ regexReplaceAll "a(x*)b" "-ab-axxb-" "${1}W" }}"#, "-W-xxW-"),
        (r#"{{ regexMatch "^v[0-9]+$" "v12" }}{{ regexFind "[a-z]+" "12ab" }}"#, "trueab"),
        (r#"{{ "hello" | b64enc }} {{ "aGVsbG8=" | b64dec }}"#, "aGVsbG8= hello"),
        (r#"{{ sha256sum "a" | trunc 8 }} {{ sha1sum "a" | trunc 8 }} {{ adler32sum "abc" }}"#, "ca978112 86f7e437 38600999"),
        (r#"{{ semverCompare ">=1.2.0" "1.3.0" }} {{ (semver "1.2.3").Minor }}{{ $v := semver "4.5.6" }}{{ $v.Patch }}"#, "true 26"),
        (r#"{{ base "a/b/c.yaml" }} {{ dir "a/b/c" }} {{ ext "x.tar.gz" }} {{ clean "a//b/../c" }}"#, "c.yaml a/b .gz a/c"),
        (r#"{{ div 7 2 }} {{ mod 7 2 }} {{ mul 2 3 }} {{ sub 1 3 }} {{ max 1 5 2 }} {{ round 2.567 1 }}"#, "3 1 6 -2 5 2.6"),
        (r#"{{ until 3 }} {{ untilStep 1 6 2 }} {{ seq 1 3 }}"#, "[0 1 2] [1 3 5] 1 2 3"),
        (r#"{{ kindIs "slice" (list) }} {{ typeOf "a" }} {{ hasKey (dict "a" 1) "a" }}"#, "true string true"),
        (r#"{{ pick (dict "a" 1 "b" 2) "a" | toJson }}{{ keys (dict "b" 1 "a" 2) | sortAlpha }}"#, r#"{"a":1}[a b]"#),
        (r#"{{ merge (dict "a" 1) (dict "a" 2 "b" 3) | toJson }}"#, r#"{"a":1,"b":3}"#),
        (r#"{{ mergeOverwrite (dict "a" 1) (dict "a" 2 "b" 3) | toJson }}"#, r#"{"a":2,"b":3}"#),
        (r#"{{ without (list 1 2 3) 2 }} {{ uniq (list 1 1 2) }} {{ has 2 (list 1 2) }}"#, "[1 3] [1 2] true"),
        (r#"{{ atoi "12" }} {{ int "0x10" }} {{ int64 2.9 }} {{ float64 "1.5" }}"#, "12 16 2 1.5"),
        (r#"{{ "<a&b>" | toJson }} {{ "<a>" | toRawJson }}"#, r#""\u003ca\u0026b\u003e" "<a>""#),
        (r#"{{ print "a" 1 2 "b" }}{{ len "abc" }}"#, "a1 2b3"),
        (r#"{{ printf "%-5s|%05d|%.2f|%q|%x|%t|%5v" "a" 42 1.005 "q" 255 true 7 }}"#, "a    |00042|1.00|\"q\"|ff|true|    7"),
        (r#"{{ normalize "Team_A/Feature.X-" }}"#, "team-a-feature.x"),
    ] {
        gives(text, json!({}), expected);
    }
}

#[test]
fn s10_64_slugs_are_cut_at_words_or_hard() {
    let long = "feat/a_really+long_pull_request_name_to_test_argo_slugification_and_branch_name_shortening_feature";
    let word = "feat/areallylongpullrequestnametotestargoslugificationandbranchnameshorteningfeature";
    gives(&format!("{{{{ slugify 50 false \"{long}\" }}}}"), json!({}), "feat-a-really-long-pull-request-name-to-test-argo");
    gives(&format!("{{{{ slugify 53 true \"{long}\" }}}}"), json!({}), "feat-a-really-long-pull-request-name-to-test-argo");
    gives(&format!("{{{{ slugify 50 true \"{word}\" }}}}"), json!({}), "feat");
    gives(&format!("{{{{ slugify 50 false \"{word}\" }}}}"), json!({}), "feat-areallylongpullrequestnametotestargoslugifica");
    gives("{{ slugify \"A b.c\" }}", json!({}), "a-b-c");
}

#[test]
fn hostile_templates_end_with_a_message() {
    let nested = "{{if .a}}".repeat(300) + &"{{end}}".repeat(300);
    assert!(Template::parse(&nested).is_err());
    let loops = "{{range until 2000}}{{range until 2000}}x{{end}}{{end}}";
    assert!(render(loops, &data(json!({})), MissingKey::Default).unwrap_err().contains("more often"));
    let recursion = "{{define \"a\"}}{{template \"a\"}}{{end}}{{template \"a\"}}";
    assert!(render(recursion, &data(json!({})), MissingKey::Default).unwrap_err().contains("nested deeper"));
    assert!(render("{{ repeat 999999999 \"abc\" }}", &data(json!({})), MissingKey::Default).is_err());
}

/// Recorded with `helm template`, which has the same functions from the same library: each expression with the text that it gives.
#[test]
fn functions_give_what_helm_recorded() {
    let recorded: serde_json::Value = serde_json::from_str(include_str!("../../../../fixtures/applicationsets/functions.json")).unwrap();
    let cases = recorded["cases"].as_array().unwrap();
    assert!(cases.len() > 160);
    for case in cases {
        let (expression, expected) = (case[0].as_str().unwrap(), case[1].as_str().unwrap());
        let given = render(&format!("{{{{ ({expression}) | toString }}}}"), &data(recorded["data"].clone()), MissingKey::Default);
        assert_eq!(given.as_deref(), Ok(expected), "{expression}");
    }
}

#[test]
fn verbs_that_are_not_followed_are_not_guessed() {
    fails(r#"{{ printf "%U" 65 }}"#, json!({}), "is not evaluated");
    fails(r#"{{ printf "%#v" .l }}"#, json!({"l": ["a"]}), "is not evaluated");
    gives(r#"{{ printf "%#v" "a" }}"#, json!({}), "\"a\"");
}
