//! Character sets by Java's names.

use datafusion_common::{Result, exec_err};

/// A character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Charset {
    Utf8,
    Ascii,
    Latin1,
    /// Written with a mark of its byte order, big-endian.
    Utf16,
    Utf16BigEndian,
    Utf16LittleEndian,
}

impl Charset {
    /// The character set of a name, in any case.
    pub(super) fn new(name: &str) -> Result<Self> {
        Ok(match name.to_ascii_uppercase().as_str() {
            "UTF-8" | "UTF8" => Self::Utf8,
            "US-ASCII" | "ASCII" | "ISO646-US" => Self::Ascii,
            "ISO-8859-1" | "ISO8859_1" | "ISO8859-1" | "ISO_8859-1" | "LATIN1" | "L1" => Self::Latin1,
            "UTF-16" | "UTF16" | "UTF_16" | "UNICODE" => Self::Utf16,
            "UTF-16BE" | "UTF_16BE" | "UNICODEBIGUNMARKED" => Self::Utf16BigEndian,
            "UTF-16LE" | "UTF_16LE" | "UNICODELITTLEUNMARKED" => Self::Utf16LittleEndian,
            _ => {
                return exec_err!(
                    "the character set '{name}' is not known; use US-ASCII, ISO-8859-1, UTF-8, UTF-16BE, UTF-16LE or UTF-16"
                );
            }
        })
    }

    /// Appends a text in this character set; what it does not have becomes `?`.
    pub(super) fn encode(self, text: &str, bytes: &mut Vec<u8>) {
        let narrow = |limit: u32| {
            text.chars().map(move |c| if u32::from(c) < limit { u32::from(c) as u8 } else { b'?' })
        };
        match self {
            Self::Utf8 => bytes.extend_from_slice(text.as_bytes()),
            Self::Ascii => bytes.extend(narrow(0x80)),
            Self::Latin1 => bytes.extend(narrow(0x100)),
            // Java writes no mark into the empty text
            Self::Utf16 if text.is_empty() => {}
            Self::Utf16 => {
                bytes.extend([0xFE, 0xFF]);
                bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
            }
            Self::Utf16BigEndian => bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
            Self::Utf16LittleEndian => bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
        }
    }

    /// Appends the text that bytes are; what is not valid becomes a replacement character.
    pub(super) fn decode(self, bytes: &[u8], text: &mut String) {
        const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;
        let mut utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
            let (pairs, odd) = bytes.as_chunks::<2>();
            let units = pairs.iter().map(|pair| unit(*pair));
            text.extend(char::decode_utf16(units).map(|letter| letter.unwrap_or(REPLACEMENT)));
            text.extend(odd.iter().map(|_| REPLACEMENT));
        };
        match self {
            Self::Utf8 => text.push_str(&String::from_utf8_lossy(bytes)),
            Self::Ascii => {
                text.extend(
                    bytes.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { REPLACEMENT }),
                );
            }
            Self::Latin1 => text.extend(bytes.iter().map(|byte| char::from(*byte))),
            Self::Utf16 => match bytes {
                [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes),
                [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes),
                _ => utf16(bytes, u16::from_be_bytes),
            },
            Self::Utf16BigEndian => utf16(bytes, u16::from_be_bytes),
            Self::Utf16LittleEndian => utf16(bytes, u16::from_le_bytes),
        }
    }
}

/// The character set of the last name, read once as long as it stays the same.
#[derive(Default)]
pub(super) struct Charsets {
    known: Option<(String, Charset)>,
}

impl Charsets {
    pub(super) fn get(&mut self, name: &str) -> Result<Charset> {
        match &self.known {
            Some((known, charset)) if known == name => Ok(*charset),
            _ => {
                let charset = Charset::new(name)?;
                self.known = Some((name.to_owned(), charset));
                Ok(charset)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_go_there_and_back() {
        for name in ["utf-8", "UTF-16", "UTF-16BE", "UTF-16LE"] {
            let charset = Charset::new(name).unwrap();
            let (mut bytes, mut text) = (vec![], String::new());
            charset.encode("é漢😀", &mut bytes);
            charset.decode(&bytes, &mut text);
            assert_eq!(text, "é漢😀", "{name}");
        }
        let mut bytes = vec![];
        Charset::Latin1.encode("é漢😀", &mut bytes);
        Charset::Ascii.encode("é", &mut bytes);
        assert_eq!(bytes, [0xE9, b'?', b'?', b'?']);
        assert!(Charset::new("EBCDIC").unwrap_err().to_string().contains("EBCDIC"));
    }

    #[test]
    fn what_is_not_valid_is_replaced() {
        let decoded = |charset: Charset, bytes: &[u8]| {
            let mut text = String::new();
            charset.decode(bytes, &mut text);
            text
        };
        assert_eq!(decoded(Charset::Utf8, &[0xFF, 0xFE, 0]), "\u{FFFD}\u{FFFD}\0");
        assert_eq!(decoded(Charset::Ascii, &[0x80, b'a']), "\u{FFFD}a");
        assert_eq!(decoded(Charset::Utf16BigEndian, &[0xD8, 0x3D, 0]), "\u{FFFD}\u{FFFD}");
        assert_eq!(decoded(Charset::Utf16, &[0xFF, 0xFE, b'a', 0]), "a");
    }
}
