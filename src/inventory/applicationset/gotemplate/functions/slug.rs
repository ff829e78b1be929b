//! Argo CD's own functions on names: `normalize` and `slugify`.

use super::Arguments;
use crate::inventory::applicationset::gotemplate::TemplateError;
use crate::inventory::applicationset::params::Value;

/// Bytes of a DNS name.
const LONGEST_NAME: usize = 253;

/// A text as a DNS name: lower case, other letters as `-`, no `-` and `.` at its ends.
///
/// Source: Argo CD `applicationset/utils/template_functions.go:SanitizeName`.
pub(in crate::inventory::applicationset) fn sanitize_name(name: &str) -> String {
    let fits = |letter: char| matches!(letter, '-' | '.' | 'a'..='z' | '0'..='9');
    let mapped: String = name.to_lowercase().chars().map(|letter| if fits(letter) { letter } else { '-' }).collect();
    mapped.get(..LONGEST_NAME).unwrap_or(&mapped).trim_matches(['-', '.']).to_owned()
}

pub(super) fn normalize(arguments: &Arguments) -> Result<Value, TemplateError> {
    Ok(Value::text(&sanitize_name(&arguments.text(0)?)))
}

/// Source: Argo CD `applicationset/utils/utils.go:SlugifyName` and gosimple/slug `Make`.
pub(super) fn slugify(arguments: &Arguments) -> Result<Value, TemplateError> {
    let count = arguments.count();
    let Some(last) = count.checked_sub(1) else { return Ok(Value::text("")) };
    let name = arguments.text(last)?;
    let longest = if count > 1 { arguments.int(0)? } else { 50 };
    let smart = match arguments.rest(1) {
        [Value::Bool(smart), _, ..] => *smart,
        [_, _, ..] => return Err(arguments.error("interface conversion: interface {} is not bool")),
        _ => true,
    };
    let mut slug = String::new();
    for letter in sanitize_name(&name).chars() {
        let letter = if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' };
        if letter != '-' || !slug.ends_with('-') {
            slug.push(letter);
        }
    }
    let slug = slug.trim_matches(['-', '_']);
    let longest = usize::try_from(longest).unwrap_or(0);
    Ok(Value::text(if longest == 0 || slug.len() <= longest { slug } else { shortened(slug, longest, smart) }))
}

fn shortened(slug: &str, longest: usize, smart: bool) -> &str {
    let cut = slug.get(..longest).unwrap_or(slug);
    if !smart {
        return cut.trim_matches('-');
    }
    let at_word = slug.get(..=longest).and_then(|start| start.rfind('-')).filter(|at| *at > 0);
    at_word.and_then(|at| slug.get(..at)).unwrap_or(cut)
}
