//! The engines that find a pattern: one that never looks back, and one that does for the patterns that need it.

use datafusion_common::{Result, exec_datafusion_err};

/// A compiled pattern.
#[derive(Debug)]
pub(super) enum Engine {
    /// Takes time in proportion to the text.
    Linear(regex::Regex),
    /// For look-around, references to groups, atomic groups and possessive quantifiers.
    Backtracking(Box<fancy_regex::Regex>),
}

/// The groups of a match.
pub(in crate::scalar) enum Captures<'a> {
    Linear(regex::Captures<'a>),
    Backtracking(fancy_regex::Captures<'a, str>),
}

/// Where a group was found: a part of the text.
#[derive(Debug, Clone, Copy)]
pub(in crate::scalar) struct Found<'a> {
    text: &'a str,
    start: usize,
}

impl<'a> Found<'a> {
    pub(in crate::scalar) fn as_str(&self) -> &'a str {
        self.text
    }

    /// The byte at which it starts.
    pub(in crate::scalar) fn start(&self) -> usize {
        self.start
    }

    /// The byte behind its last one.
    pub(in crate::scalar) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

impl<'a> Captures<'a> {
    /// A group by its number, 0 for the whole match; `None` if it took no part in the match or there is none.
    pub(in crate::scalar) fn get(&self, group: usize) -> Option<Found<'a>> {
        match self {
            Self::Linear(captures) => {
                captures.get(group).map(|found| Found { text: found.as_str(), start: found.start() })
            }
            Self::Backtracking(captures) => {
                captures.get(group).map(|found| Found { text: found.as_str(), start: found.start() })
            }
        }
    }
}

impl Engine {
    /// Compiles a pattern, for the linear engine if it takes it. `None` for a malformed one.
    pub(super) fn new(pattern: &str, backtracks: bool) -> Option<Self> {
        if !backtracks && let Ok(regex) = regex::Regex::new(pattern) {
            return Some(Self::Linear(regex));
        }
        fancy_regex::Regex::new(pattern).ok().map(|regex| Self::Backtracking(Box::new(regex)))
    }

    /// The number of groups, the whole match included.
    pub(super) fn groups(&self) -> usize {
        match self {
            Self::Linear(regex) => regex.captures_len(),
            Self::Backtracking(regex) => regex.captures_len(),
        }
    }

    pub(super) fn is_match(&self, text: &str) -> Result<bool> {
        match self {
            Self::Linear(regex) => Ok(regex.is_match(text)),
            Self::Backtracking(regex) => regex.is_match(text).map_err(|error| too_long(regex, &error)),
        }
    }

    pub(super) fn find(&self, text: &str) -> Result<Option<(usize, usize)>> {
        Ok(match self {
            Self::Linear(regex) => regex.find(text).map(|found| (found.start(), found.end())),
            Self::Backtracking(regex) => regex
                .find(text)
                .map_err(|error| too_long(regex, &error))?
                .map(|found| (found.start(), found.end())),
        })
    }

    /// The first match at a byte or behind it.
    pub(super) fn captures_at<'a>(&self, text: &'a str, at: usize) -> Result<Option<Captures<'a>>> {
        Ok(match self {
            Self::Linear(regex) => regex.captures_at(text, at).map(Captures::Linear),
            Self::Backtracking(regex) => regex
                .captures_from_pos(text, at)
                .map_err(|error| too_long(regex, &error))?
                .map(Captures::Backtracking),
        })
    }
}

/// The error of a search that went back too often.
fn too_long(regex: &fancy_regex::Regex, error: &fancy_regex::Error) -> datafusion_common::DataFusionError {
    exec_datafusion_err!(
        "the regular expression '{}' takes too many steps ({error}); write it without look-around, references or \
         quantifiers in quantifiers",
        regex.as_str()
    )
}
