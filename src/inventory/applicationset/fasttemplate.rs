//! Argo CD's older template language: `{{name}}` is replaced by the parameter of that name where there is such a text, and stays otherwise.
//!
//! Source: Argo CD `applicationset/utils/utils.go:Replace` with valyala/fasttemplate.

use super::params::{Dict, Value};

/// Replaces the tags of a text.
///
/// # Errors
/// Where a tag is opened and never closed after a complete one.
pub(super) fn render(text: &str, params: &Dict) -> Result<String, String> {
    if !is_templated(text) {
        return Ok(text.to_owned());
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let (before, tail) = rest.split_at(start);
        out.push_str(before);
        let inner = tail.get(2..).unwrap_or_default();
        let Some(end) = inner.find("}}") else {
            return Err(format!("invalid template: cannot find end tag \"}}}}\" in the template {text:?} starting from {inner:?}"));
        };
        let (tag, tail) = inner.split_at(end);
        match params.get(tag.trim()) {
            Some(Value::Text(value)) if !tag.trim().is_empty() => out.push_str(&value),
            _ => {
                out.push_str("{{");
                out.push_str(tag);
                out.push_str("}}");
            }
        }
        rest = tail.get(2..).unwrap_or_default();
    }
    out.push_str(rest);
    Ok(out)
}

/// Whether a line of the text has a complete tag.
fn is_templated(text: &str) -> bool {
    text.lines().any(|line| line.find("{{").is_some_and(|start| line.get(start + 2..).is_some_and(|rest| rest.contains("}}"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn render_with(text: &str, params: serde_json::Value) -> Result<String, String> {
        match Value::of_json(&params) {
            Value::Map(params) => render(text, &params),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn s10_59_tags_without_a_text_of_that_name_stay_as_they_are() {
        let params = json!({"one": "two", "three": "four", "number": 3});
        let cases = [
            ("}} {{", "}} {{"),
            ("{{ }}", "{{ }}"),
            ("{{}}", "{{}}"),
            ("{{ONE}}", "{{ONE}}"),
            ("{{one}}{{three}}", "twofour"),
            ("{{ one }}-{{ five }}", "two-{{ five }}"),
            ("{{number}}", "{{number}}"),
            ("no tags", "no tags"),
        ];
        for (text, expected) in cases {
            assert_eq!(render_with(text, params.clone()).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn s10_61_a_tag_that_is_never_closed_is_an_error_after_a_complete_one() {
        let params = json!({"properly.closed": "x"});
        assert!(render_with("{{properly.closed}} {{improperly.closed}", params.clone()).is_err());
        assert_eq!(render_with("{{improperly.closed}", params.clone()).as_deref(), Ok("{{improperly.closed}"));
        assert_eq!(render_with("{{\n}}", params).as_deref(), Ok("{{\n}}"));
    }

    #[test]
    fn what_a_tag_is_replaced_by_is_no_template_again() {
        assert_eq!(render_with("{{a}}", json!({"a": "{{b}}", "b": "c"})).as_deref(), Ok("{{b}}"));
    }
}
