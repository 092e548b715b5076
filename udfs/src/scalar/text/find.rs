//! Where a part of a text stands.

/// In texts of up to so many bytes each place is looked at: preparing a search takes longer.
const SHORT: usize = 64;

/// The byte at which a part first stands in a text.
pub(super) fn find(text: &str, part: &str) -> Option<usize> {
    let Some((first, rest)) = part.as_bytes().split_first() else { return Some(0) };
    if text.len() > SHORT {
        return text.find(part);
    }
    let bytes = text.as_bytes();
    let places = bytes.len().checked_sub(rest.len())?;
    (0..places).find(|place| bytes[*place] == *first && bytes[place + 1..].starts_with(rest))
}

/// Where a part first stands in a text at or behind the character `start`, counted in characters from 1; 0 if
/// nowhere. The empty part stands at the first character wherever the search starts, as in Flink; a start before the
/// text is its start.
pub(super) fn position(text: &str, part: &str, start: i64) -> i64 {
    if part.is_empty() {
        return 1;
    }
    let skipped = usize::try_from(start.saturating_sub(1).max(0)).unwrap_or(usize::MAX);
    let begin = if skipped == 0 {
        0
    } else {
        match text.char_indices().nth(skipped) {
            Some((begin, _)) => begin,
            None => return 0,
        }
    };
    match find(&text[begin..], part) {
        Some(found) => (skipped + text[begin..begin + found].chars().count() + 1) as i64,
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_in_characters() {
        for (text, part, start, expected) in [
            ("banana", "an", 1, 2),
            ("banana", "an", 3, 4),
            ("banana", "an", 5, 0),
            ("banana", "an", 100, 0),
            ("banana", "an", -3, 2),
            ("é漢😀漢", "漢", 3, 4),
            ("abc", "", 3, 1),
            ("", "", 1, 1),
            ("", "a", 1, 0),
            ("a", "aa", 1, 0),
            (&"é".repeat(50), "éa", 1, 0),
            (&("é".repeat(50) + "a"), "éa", 1, 50),
        ] {
            assert_eq!(position(text, part, start), expected, "{part} in {text} from {start}");
        }
    }
}
