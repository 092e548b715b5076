//! Texts counted in UTF-16 units, as Java's `String` counts them: a character beyond the basic plane is two.

/// The number of UTF-16 units of a text.
pub(in crate::scalar) fn length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

/// Appends the units from `from` up to `to`. Half of a character becomes `?`, as when Java writes it as UTF-8.
pub(in crate::scalar) fn push_slice(text: &str, from: usize, to: usize, out: &mut String) {
    let mut at = 0;
    for letter in text.chars() {
        if at >= to {
            return;
        }
        let end = at + letter.len_utf16();
        if end > from {
            out.push(if at >= from && end <= to { letter } else { '?' });
        }
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_beyond_the_basic_plane_are_two_units() {
        let slice = |from, to| {
            let mut out = String::new();
            push_slice("é😀z", from, to, &mut out);
            out
        };
        assert_eq!(length("é😀z"), 4);
        assert_eq!(length("abc"), 3);
        assert_eq!(slice(0, 3), "é😀");
        assert_eq!(slice(0, 2), "é?");
        assert_eq!(slice(2, 9), "?z");
        assert_eq!(slice(4, 9), "");
    }
}
