//! Where a part of a text stands.

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
    match text[begin..].find(part) {
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
        ] {
            assert_eq!(position(text, part, start), expected, "{part} in {text} from {start}");
        }
    }
}
