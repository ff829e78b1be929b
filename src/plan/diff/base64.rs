//! Standard base64, as Go reads and writes it: takes text or bytes, hands on the other.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes, with padding.
pub(in crate::plan) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().enumerate().fold(0_u32, |word, (index, byte)| word | u32::from(*byte) << (16 - 8 * index));
        for position in 0..4 {
            let letter = ALPHABET.get((word >> (18 - 6 * position) & 63) as usize).copied().unwrap_or(b'=');
            text.push(if position > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

/// Decodes text; line breaks are skipped, everything else must be exact.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut word, mut letters, mut padding) = (0_u32, 0, 0);
    for letter in text.bytes().filter(|letter| !matches!(letter, b'\r' | b'\n')) {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' if letters >= 2 => {
                padding += 1;
                0
            }
            _ => return None,
        };
        if padding > 0 && letter != b'=' {
            return None;
        }
        word = word << 6 | u32::from(value);
        letters += 1;
        if letters == 4 {
            let [_, first, second, third] = word.to_be_bytes();
            bytes.extend([first, second, third].into_iter().take(3 - padding));
            if padding > 0 {
                letters = 5;
                continue;
            }
            (word, letters) = (0, 0);
        } else if letters > 4 {
            return None;
        }
    }
    (letters == 0 || letters == 5).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn text_and_bytes_are_turned_into_each_other() {
        for (bytes, text) in [("", ""), ("b", "Yg=="), ("ab", "YWI="), ("abc", "YWJj"), ("abcd", "YWJjZA==")] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(decode("YW\nJj\n").as_deref(), Some(&b"abc"[..]));
        for wrong in ["Y", "YW", "YWI", "Yg=", "Yg==Yg==", "Y===", "=", "Y g="] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
