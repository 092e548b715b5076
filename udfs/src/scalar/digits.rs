//! Digits of all scripts.

/// The value of a character that is a decimal digit of the basic plane.
pub(super) fn decimal_digit(letter: char) -> Option<u8> {
    if letter.is_ascii() {
        return letter.is_ascii_digit().then(|| letter as u8 - b'0');
    }
    let code = u32::from(letter);
    let zero = DIGIT_ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&code))?;
    u8::try_from(code - zero).ok()
}

/// The zeros of the scripts of the basic plane, each followed by the other nine digits.
const DIGIT_ZEROS: [u32; 36] = [
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0,
    0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50,
    0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
];
