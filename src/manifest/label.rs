//! How names of labels, and names like those of hosts, are spelt.
//!
//! Takes text; hands on whether it is valid.

/// Length of a label's value and of the name part of its key (apimachinery `validation.LabelValueMaxLength`, `qualifiedNameMaxLength`).
pub const MAX_LABEL: usize = 63;
/// Length of a DNS subdomain.
pub const MAX_SUBDOMAIN: usize = 253;

/// `[prefix/]name`.
///
/// Source: Kubernetes `apimachinery/pkg/util/validation/validation.go:IsQualifiedName`.
pub fn is_label_key(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let prefixed = prefix.is_none_or(|prefix| prefix.len() <= MAX_SUBDOMAIN && prefix.split('.').all(is_dns_label));
    prefixed && name.len() <= MAX_LABEL && is_qualified(name)
}

/// Letters and digits at both ends, between them also `-`, `_` and `.`.
pub fn is_qualified(text: &str) -> bool {
    let ends = |character: Option<char>| character.is_some_and(|character| character.is_ascii_alphanumeric());
    let inner = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    ends(text.chars().next()) && ends(text.chars().next_back()) && text.chars().all(inner)
}

/// Labels between dots, as most objects are named.
///
/// Source: Kubernetes `apimachinery/pkg/util/validation/validation.go:IsDNS1123Subdomain`.
pub fn is_dns_subdomain(name: &str) -> bool {
    name.len() <= MAX_SUBDOMAIN && name.split('.').all(is_dns_label)
}

/// Lower-case letters and digits at both ends, between them also `-`.
pub fn is_dns_label(part: &str) -> bool {
    let ends = |character: Option<char>| character.is_some_and(|character| character.is_ascii_lowercase() || character.is_ascii_digit());
    let inner = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-';
    ends(part.chars().next()) && ends(part.chars().next_back()) && part.chars().all(inner)
}
