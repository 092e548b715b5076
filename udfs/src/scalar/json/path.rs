//! SQL/JSON paths: `[lax | strict] $.name['name'][0][-1][0,1][*].*..name[?(@.name == 'x')]`.

use super::document::Json;

/// A path with its mode. Without a mode it is strict.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) lax: bool,
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Name(String),
    Index(i64),
    Indexes(Vec<i64>),
    All,
    Deep(String),
    Filter(String, Json),
}

impl Path {
    /// The path that a text is, `None` if it is malformed.
    pub(super) fn parse(text: &str) -> Option<Path> {
        let text = text.trim();
        let (lax, text) = match (text.strip_prefix("lax "), text.strip_prefix("strict ")) {
            (Some(text), _) => (true, text),
            (_, Some(text)) => (false, text),
            _ => (false, text),
        };
        let text = text.trim();
        let mut steps = vec![];
        let mut rest = match text.strip_prefix('$') {
            Some(rest) => rest,
            None => {
                let (name, rest) = name(text)?;
                steps.push(Step::Name(name));
                rest
            }
        };
        while !rest.is_empty() {
            let (step, behind) = step(rest)?;
            steps.push(step);
            rest = behind;
        }
        Some(Path { lax, steps })
    }

    /// The value at this path, `None` if there is none. Steps that can give several values give an array.
    pub(super) fn find(&self, document: &Json) -> Option<Json> {
        let mut found = vec![document];
        let mut several = false;
        for step in &self.steps {
            let mut next = vec![];
            for value in found {
                step.apply(value, &mut next);
            }
            several |= !matches!(step, Step::Name(_) | Step::Index(_));
            found = next;
            if found.is_empty() && !several {
                return None;
            }
        }
        if several {
            Some(Json::Array(found.into_iter().cloned().collect()))
        } else {
            found.first().copied().cloned()
        }
    }
}

impl Step {
    fn apply<'a>(&self, value: &'a Json, found: &mut Vec<&'a Json>) {
        let item = |items: &'a [Json], index: i64| {
            let index = if index < 0 { index + items.len() as i64 } else { index };
            usize::try_from(index).ok().and_then(|index| items.get(index))
        };
        match (self, value) {
            (Step::Name(name), Json::Object(members)) => found.extend(members.get(name)),
            (Step::Index(index), Json::Array(items)) => found.extend(item(items, *index)),
            (Step::Indexes(indexes), Json::Array(items)) => {
                found.extend(indexes.iter().filter_map(|index| item(items, *index)));
            }
            (Step::All, Json::Array(items)) => found.extend(items),
            (Step::All, Json::Object(members)) => found.extend(members.values()),
            (Step::Deep(name), Json::Object(members)) => {
                found.extend(members.get(name));
                members.values().for_each(|member| self.apply(member, found));
            }
            (Step::Deep(_), Json::Array(items)) => items.iter().for_each(|item| self.apply(item, found)),
            (Step::Filter(name, wanted), Json::Array(items)) => {
                let matches =
                    |item: &&Json| matches!(item, Json::Object(members) if members.get(name) == Some(wanted));
                found.extend(items.iter().filter(matches));
            }
            _ => {}
        }
    }
}

/// A name without quotes, and what comes behind.
fn name(text: &str) -> Option<(String, &str)> {
    let end = text.find(['.', '[', ' ', '(']).unwrap_or(text.len());
    (end > 0).then(|| (text[..end].to_owned(), &text[end..]))
}

fn step(text: &str) -> Option<(Step, &str)> {
    if let Some(rest) = text.strip_prefix("..") {
        let (name, rest) = name(rest)?;
        return Some((Step::Deep(name), rest));
    }
    if let Some(rest) = text.strip_prefix('.') {
        if let Some(rest) = rest.strip_prefix('*') {
            return Some((Step::All, rest));
        }
        let (name, rest) = name(rest)?;
        return Some((Step::Name(name), rest));
    }
    let inside = text.strip_prefix('[')?;
    if let Some(filter) = inside.strip_prefix("?(") {
        let (filter, rest) = filter.split_once(")]")?;
        let (name, value) = filter.split_once("==")?;
        let name = name.trim().strip_prefix("@.")?.to_owned();
        return Some((Step::Filter(name, literal(value.trim())?), rest));
    }
    if let Some(quote) = inside.chars().next().filter(|quote| matches!(quote, '"' | '\'')) {
        let (name, rest) = inside[1..].split_once(quote)?;
        return Some((Step::Name(name.to_owned()), rest.strip_prefix(']')?));
    }
    let (inside, rest) = inside.split_once(']')?;
    if inside.trim() == "*" {
        return Some((Step::All, rest));
    }
    let mut indexes: Vec<i64> =
        inside.split(',').map(|index| index.trim().parse().ok()).collect::<Option<_>>()?;
    let step = if indexes.len() == 1 { Step::Index(indexes.pop()?) } else { Step::Indexes(indexes) };
    Some((step, rest))
}

fn literal(text: &str) -> Option<Json> {
    match text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        Some(text) => Some(Json::Text(text.to_owned())),
        None => Json::parse(text),
    }
}
