//! Functions on texts and paths.

use std::rc::Rc;

use super::Arguments;
use crate::inventory::applicationset::gotemplate::TemplateError;
use crate::inventory::applicationset::gotemplate::printf::quoted;
use crate::inventory::applicationset::params::Value;

type Answer = Result<Value, TemplateError>;

/// Bytes that one call may write.
const LIMIT: usize = 1 << 20;

fn text(text: impl Into<Rc<str>>) -> Answer {
    Ok(Value::Text(text.into()))
}

pub(super) fn hello(_: &Arguments) -> Answer {
    text("Hello!")
}

pub(super) fn trim(arguments: &Arguments) -> Answer {
    text(arguments.text(0)?.trim())
}

pub(super) fn upper(arguments: &Arguments) -> Answer {
    text(arguments.text(0)?.to_uppercase())
}

pub(super) fn lower(arguments: &Arguments) -> Answer {
    text(arguments.text(0)?.to_lowercase())
}

/// Source: Go `strings.Title`: the first letter of each word.
pub(super) fn title(arguments: &Arguments) -> Answer {
    let mut previous = ' ';
    let mut out = String::new();
    for letter in arguments.text(0)?.chars() {
        if is_separator(previous) {
            out.extend(letter.to_uppercase())
        } else {
            out.push(letter)
        }
        previous = letter;
    }
    text(out)
}

fn is_separator(letter: char) -> bool {
    if letter.is_ascii() { !letter.is_ascii_alphanumeric() && letter != '_' } else { !letter.is_alphanumeric() && letter.is_whitespace() }
}

pub(super) fn trim_all(arguments: &Arguments) -> Answer {
    let set = arguments.text(0)?;
    text(arguments.text(1)?.trim_matches(|letter| set.contains(letter)))
}

pub(super) fn trim_suffix(arguments: &Arguments) -> Answer {
    let whole = arguments.text(1)?;
    text(whole.strip_suffix(&*arguments.text(0)?).unwrap_or(&whole))
}

pub(super) fn trim_prefix(arguments: &Arguments) -> Answer {
    let whole = arguments.text(1)?;
    text(whole.strip_prefix(&*arguments.text(0)?).unwrap_or(&whole))
}

pub(super) fn nospace(arguments: &Arguments) -> Answer {
    text(arguments.text(0)?.chars().filter(|letter| !letter.is_whitespace()).collect::<String>())
}

pub(super) fn contains(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(arguments.text(1)?.contains(&*arguments.text(0)?)))
}

pub(super) fn has_prefix(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(arguments.text(1)?.starts_with(&*arguments.text(0)?)))
}

pub(super) fn has_suffix(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(arguments.text(1)?.ends_with(&*arguments.text(0)?)))
}

pub(super) fn replace(arguments: &Arguments) -> Answer {
    let (old, new, source) = (arguments.text(0)?, arguments.text(1)?, arguments.text(2)?);
    if source.len().saturating_mul(new.len() + 1) > LIMIT * 16 {
        return Err(too_long());
    }
    text(source.replace(&*old, &new))
}

pub(super) fn repeat(arguments: &Arguments) -> Answer {
    let (count, unit) = (arguments.int(0)?, arguments.text(1)?);
    let count = usize::try_from(count).map_err(|_| arguments.error("strings: negative Repeat count"))?;
    if unit.len().saturating_mul(count) > LIMIT {
        return Err(too_long());
    }
    text(unit.repeat(count))
}

fn too_long() -> TemplateError {
    TemplateError::Unjudged("the template writes more text than presync follows".to_owned())
}

/// Cuts by bytes, as Go does; a letter that is cut apart cannot be shown and is an error here.
fn bytes(arguments: &Arguments, whole: &str, from: usize, to: usize) -> Answer {
    match whole.get(from..to) {
        Some(part) => text(part),
        None if from > to || to > whole.len() => Err(arguments.error(format!("slice bounds out of range [{from}:{to}]"))),
        None => Err(TemplateError::Unjudged("a template cuts a letter of several bytes apart".to_owned())),
    }
}

pub(super) fn trunc(arguments: &Arguments) -> Answer {
    let (count, whole) = (arguments.int(0)?, arguments.text(1)?);
    let length = whole.len();
    let magnitude = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    match count < 0 {
        true if magnitude < length => bytes(arguments, &whole, length - magnitude, length),
        false if magnitude < length => bytes(arguments, &whole, 0, magnitude),
        _ => text(whole),
    }
}

pub(super) fn substr(arguments: &Arguments) -> Answer {
    let (start, end, whole) = (arguments.int(0)?, arguments.int(1)?, arguments.text(2)?);
    let length = whole.len();
    let end = usize::try_from(end).ok().filter(|end| *end <= length || start < 0);
    bytes(arguments, &whole, usize::try_from(start).unwrap_or(0), end.unwrap_or(length))
}

/// Source: Masterminds/goutils `Abbreviate`.
pub(super) fn abbrev(arguments: &Arguments) -> Answer {
    let (width, whole) = (arguments.int(0)?, arguments.text(1)?);
    let width = usize::try_from(width).unwrap_or(0);
    if width < 4 || whole.len() <= width {
        return text(whole);
    }
    match whole.get(..width - 3) {
        Some(start) => text(format!("{start}...")),
        None => Err(TemplateError::Unjudged("a template cuts a letter of several bytes apart".to_owned())),
    }
}

pub(super) fn quote(arguments: &Arguments) -> Answer {
    let shown = arguments.rest(0).iter().filter(|value| !matches!(value, Value::Missing | Value::Nil));
    text(shown.map(|value| quoted(&value.print())).collect::<Vec<_>>().join(" "))
}

pub(super) fn squote(arguments: &Arguments) -> Answer {
    let shown = arguments.rest(0).iter().filter(|value| !matches!(value, Value::Missing | Value::Nil));
    text(shown.map(|value| format!("'{}'", value.print())).collect::<Vec<_>>().join(" "))
}

pub(super) fn cat(arguments: &Arguments) -> Answer {
    let shown = arguments.rest(0).iter().filter(|value| !matches!(value, Value::Missing | Value::Nil));
    text(shown.map(Value::print).collect::<Vec<_>>().join(" "))
}

pub(super) fn indent(arguments: &Arguments) -> Answer {
    let pad = " ".repeat(usize::try_from(arguments.int(0)?).map_err(|_| arguments.error("strings: negative Repeat count"))?.min(LIMIT));
    text(format!("{pad}{}", arguments.text(1)?.replace('\n', &format!("\n{pad}"))))
}

pub(super) fn nindent(arguments: &Arguments) -> Answer {
    match indent(arguments)? {
        Value::Text(indented) => text(format!("\n{indented}")),
        other => Ok(other),
    }
}

pub(super) fn plural(arguments: &Arguments) -> Answer {
    text(if arguments.int(2)? == 1 { arguments.text(0)? } else { arguments.text(1)? })
}

pub(super) fn to_string(arguments: &Arguments) -> Answer {
    text(arguments.any(0).print())
}

pub(super) fn fail(arguments: &Arguments) -> Answer {
    Err(arguments.error(arguments.text(0)?))
}

/// The words of a name in mixed case. With digits in it the words depend on the version of a library.
fn words(whole: &str) -> Result<Vec<String>, TemplateError> {
    if whole.chars().any(|letter| letter.is_numeric() || !letter.is_ascii()) {
        let message = "snakecase, camelcase and kebabcase of texts with digits or letters beyond ASCII are not evaluated";
        return Err(TemplateError::Unjudged(message.to_owned()));
    }
    let letters: Vec<char> = whole.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for (index, letter) in letters.iter().enumerate() {
        if !letter.is_alphabetic() {
            words.push(std::mem::take(&mut word));
            continue;
        }
        let before = index.checked_sub(1).and_then(|at| letters.get(at)).copied().unwrap_or(' ');
        let after = letters.get(index + 1).copied().unwrap_or(' ');
        let starts = letter.is_uppercase() && (before.is_lowercase() || (before.is_uppercase() && after.is_lowercase()));
        if starts && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        word.push(*letter);
    }
    words.push(word);
    Ok(words.into_iter().filter(|word| !word.is_empty()).collect())
}

/// Source: huandu/xstrings `ToSnakeCase`.
pub(super) fn snakecase(arguments: &Arguments) -> Answer {
    text(words(&arguments.text(0)?)?.join("_").to_lowercase())
}

/// Source: huandu/xstrings `ToKebabCase`.
pub(super) fn kebabcase(arguments: &Arguments) -> Answer {
    text(words(&arguments.text(0)?)?.join("-").to_lowercase())
}

/// Source: huandu/xstrings `ToPascalCase`: words end at spaces, hyphens and underscores; letters inside of a word keep their case.
pub(super) fn camelcase(arguments: &Arguments) -> Answer {
    let whole = arguments.text(0)?;
    words(&whole)?;
    let mut out = String::new();
    for word in whole.split(['_', '-', ' ']).filter(|word| !word.is_empty()) {
        let mut letters = word.chars();
        out.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        out.push_str(letters.as_str());
    }
    text(out)
}

/// Source: Go `path.Base`.
pub(super) fn base(arguments: &Arguments) -> Answer {
    text(base_of(&arguments.text(0)?))
}

/// The last part of a path, as Go's `path.Base`.
pub(in crate::inventory::applicationset) fn base_of(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() { "/" } else { trimmed.rsplit('/').next().unwrap_or(trimmed) }
}

/// Source: Go `path.Dir`.
pub(super) fn dir(arguments: &Arguments) -> Answer {
    let path = arguments.text(0)?;
    text(cleaned(path.rsplit_once('/').map_or("", |(folder, _)| if folder.is_empty() { "/" } else { folder })))
}

/// Source: Go `path.Ext`.
pub(super) fn ext(arguments: &Arguments) -> Answer {
    let path = arguments.text(0)?;
    let name = path.rsplit('/').next().unwrap_or_default();
    text(name.rfind('.').and_then(|at| name.get(at..)).unwrap_or_default())
}

pub(super) fn is_abs(arguments: &Arguments) -> Answer {
    Ok(Value::Bool(arguments.text(0)?.starts_with('/')))
}

pub(super) fn clean(arguments: &Arguments) -> Answer {
    text(cleaned(&arguments.text(0)?))
}

/// Source: Go `path.Clean`.
fn cleaned(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if rooted => {}
            other => parts.push(other),
        }
    }
    match (rooted, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}
