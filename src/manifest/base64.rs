//! Standard base64 with padding, as Go's `base64.StdEncoding` reads and writes it: takes text or bytes, hands on the other.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

/// Go accepts bits behind the last byte, and no missing padding.
const ENGINE: GeneralPurpose = GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

/// Encodes bytes, with padding.
pub fn encode(bytes: &[u8]) -> String {
    ENGINE.encode(bytes)
}

/// Decodes text; line breaks are skipped, everything else must be exact. `None` where it is no base64.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let symbols: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    ENGINE.decode(symbols).ok()
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
        assert_eq!(decode("Yh==").as_deref(), Some(&b"b"[..]), "Go overlooks bits behind the last byte");
        for wrong in ["Y", "YW", "YWI", "Yg=", "Yg==Yg==", "Y===", "=", "Y g="] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
