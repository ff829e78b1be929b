//! Taking fields out of an object by JSON pointer or by path.

use serde_json::Value;

/// The unescaped tokens of a JSON pointer. The first one, before the leading slash, is dropped.
pub(super) fn tokens(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect()
}

/// Whether a token can address a list element.
pub(super) fn may_be_index(token: &str) -> bool {
    token == "-" || token.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// Removes the field (RFC 6902 `remove`); one that is not there is no error. A negative index counts from the end, as in the library that
/// Argo CD uses.
pub(super) fn pointer(object: &mut Value, tokens: &[String]) {
    let Some((last, parents)) = tokens.split_last() else { return };
    let mut at = object;
    for token in parents {
        let next = match at {
            Value::Object(map) => map.get_mut(token),
            Value::Array(items) => index(token, items.len()).and_then(|index| items.get_mut(index)),
            _ => None,
        };
        let Some(next) = next else { return };
        at = next;
    }
    match at {
        Value::Object(map) => {
            map.remove(last);
        }
        Value::Array(items) => {
            if let Some(index) = index(last, items.len()) {
                items.remove(index);
            }
        }
        _ => {}
    }
}

fn index(token: &str, length: usize) -> Option<usize> {
    let number: i64 = token.parse().ok()?;
    let index = if number < 0 { number.checked_add(i64::try_from(length).ok()?)? } else { number };
    usize::try_from(index).ok().filter(|index| *index < length)
}
