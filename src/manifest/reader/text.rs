//! From the bytes of a file to text, as Argo CD and kubectl decode files.
//!
//! Takes bytes, hands on UTF-8 text without a byte-order mark and the first place that was not valid.

use std::borrow::Cow;

/// The text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded<'bytes> {
    /// The text; borrowed from the file when that is valid UTF-8.
    pub text: Cow<'bytes, str>,
    /// Byte offset in the file of the first byte sequence that is no valid text. Argo CD reads U+FFFD there and goes on.
    pub first_invalid: Option<usize>,
}

/// Decodes a file: UTF-8 with or without byte-order mark, or UTF-16 of either byte order when it starts with one.
/// What is not valid becomes U+FFFD, which is what Argo CD (`reposerver/repository/repository.go`, `utfutil.OpenFile`)
/// and kubectl do.
pub fn decode(bytes: &[u8]) -> Decoded<'_> {
    match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => decode_utf8(rest, 3),
        [0xFF, 0xFE, rest @ ..] => decode_utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => decode_utf16(rest, u16::from_be_bytes),
        _ => decode_utf8(bytes, 0),
    }
}

fn decode_utf8(bytes: &[u8], skipped: usize) -> Decoded<'_> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Decoded { text: Cow::Borrowed(text), first_invalid: None },
        Err(error) => Decoded { text: String::from_utf8_lossy(bytes), first_invalid: Some(skipped + error.valid_up_to()) },
    }
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Decoded<'static> {
    let mut text = String::with_capacity(bytes.len());
    let mut first_invalid = None;
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut offset = 2;
    for decoded in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        let character = decoded.unwrap_or_else(|_| {
            first_invalid.get_or_insert(offset);
            char::REPLACEMENT_CHARACTER
        });
        offset += 2 * character.len_utf16();
        text.push(character);
    }
    if !rest.is_empty() {
        first_invalid.get_or_insert(offset);
        text.push(char::REPLACEMENT_CHARACTER);
    }
    Decoded { text: Cow::Owned(text), first_invalid }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_utf8_is_borrowed() {
        assert!(matches!(decode("é: 😀".as_bytes()).text, Cow::Borrowed("é: 😀")));
    }

    #[test]
    fn byte_order_marks_choose_the_encoding_and_are_dropped() {
        assert_eq!(decode(b"\xEF\xBB\xBFa: 1").text, "a: 1");
        for (mark, unit) in [(0xFEFF_u16, u16::to_le_bytes as fn(u16) -> [u8; 2]), (0xFEFF, u16::to_be_bytes)] {
            let bytes: Vec<u8> = std::iter::once(mark).chain("a: é😀".encode_utf16()).flat_map(unit).collect();
            assert_eq!(decode(&bytes), Decoded { text: Cow::Borrowed("a: é😀"), first_invalid: None });
        }
    }

    #[test]
    fn invalid_bytes_are_replaced_and_the_first_is_named() {
        let latin1 = decode(b"# caf\xE9\na: 1\xFF");
        assert_eq!(latin1.text, "# caf\u{FFFD}\na: 1\u{FFFD}");
        assert_eq!(latin1.first_invalid, Some(5));
        assert_eq!(decode(b"\xEF\xBB\xBFa\xFF").first_invalid, Some(4));
        assert_eq!(decode(b"\xFF\xFEa\0\x00\xD8").first_invalid, Some(4));
        assert_eq!(decode(b"\xFF\xFEa\0b").text, "a\u{FFFD}");
    }
}
