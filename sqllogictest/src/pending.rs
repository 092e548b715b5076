//! The list of what is known not to pass yet.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use datafusion::common::{Result, exec_datafusion_err, exec_err};

use crate::{FileReport, Mode};

const HEAD: &str = "\
# Statements and queries that do not pass yet: the line on which they start, the modes in which they
# fail where these are not all, and how they begin. The tests fail where anything else fails, and
# where anything listed passes. `slt --update-pending THIS_FILE FILES…` rewrites the list.
";

/// How much of a record's text the list shows.
const SHOWN_CHARS: usize = 60;

/// A list of statements and queries that are known to fail.
///
/// In text, a file is a line with its name, relative to the list, and its number of entries; an
/// entry is an indented line: `12 [restore, parallel] SELECT …`.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Pending {
    entries: BTreeMap<PathBuf, BTreeMap<u32, Entry>>,
}

#[derive(Debug, Default, Clone, PartialEq)]
struct Entry {
    modes: BTreeSet<Mode>,
    text: String,
}

impl Pending {
    /// Reads a list. An error names the line that is not of this form.
    pub fn parse(list: &str) -> Result<Self> {
        let mut pending = Pending::default();
        let mut file = None;
        for (index, line) in list.lines().enumerate() {
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            let wrong = || exec_datafusion_err!("line {} of the pending list: '{line}'", index + 1);
            if line.starts_with(' ') {
                let (at, entry) = parse_entry(line.trim()).ok_or_else(wrong)?;
                pending.entries.entry(file.clone().ok_or_else(wrong)?).or_default().insert(at, entry);
            } else {
                let (name, _count) = line.rsplit_once(' ').ok_or_else(wrong)?;
                file = Some(PathBuf::from(name));
            }
        }
        Ok(pending)
    }

    /// Reads the list in a file; none where there is no file.
    pub fn read(path: &Path) -> Result<Self> {
        if path.exists() { Self::parse(&std::fs::read_to_string(path)?) } else { Ok(Self::default()) }
    }

    /// Replaces the entries of the report's file and mode by its failures. `folder` is the one from
    /// which the list names files.
    ///
    /// An error where the file is not below the folder, or could not be run at all.
    pub fn update(&mut self, folder: &Path, report: &FileReport) -> Result<()> {
        let name = self.name(folder, report)?;
        let entries = self.entries.entry(name).or_default();
        for entry in entries.values_mut() {
            entry.modes.remove(&report.mode);
        }
        for (record, failure) in report.failures() {
            if record.line == 0 {
                return exec_err!("{}: {failure}", report.path.display());
            }
            let entry = entries.entry(record.line).or_default();
            entry.modes.insert(report.mode);
            entry.text = first_words(&record.sql);
        }
        entries.retain(|_, entry| !entry.modes.is_empty());
        self.entries.retain(|_, entries| !entries.is_empty());
        Ok(())
    }

    /// What contradicts the list: failures that it does not have, and entries that did not fail.
    pub fn contradictions(&self, folder: &Path, report: &FileReport) -> Result<Vec<String>> {
        let name = self.name(folder, report)?;
        let listed: BTreeSet<u32> = (self.entries.get(&name).into_iter().flatten())
            .filter(|(_, entry)| entry.modes.contains(&report.mode))
            .map(|(line, _)| *line)
            .collect();
        let place = |line: u32| format!("{}:{line} [{}]", report.path.display(), report.mode);
        let mut failed = BTreeSet::new();
        let mut contradictions = vec![];
        for (record, failure) in report.failures() {
            failed.insert(record.line);
            if !listed.contains(&record.line) {
                let text = first_words(&record.sql);
                contradictions.push(format!("{} {text}\n{failure}", place(record.line)));
            }
        }
        for line in listed.difference(&failed) {
            contradictions.push(format!("{} is in the pending list, but does not fail", place(*line)));
        }
        Ok(contradictions)
    }

    /// The files of which something is listed, as the list names them.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.entries.keys().map(PathBuf::as_path)
    }

    /// The number of entries in a mode.
    pub fn count(&self, mode: Mode) -> usize {
        self.entries.values().flat_map(BTreeMap::values).filter(|entry| entry.modes.contains(&mode)).count()
    }

    fn name(&self, folder: &Path, report: &FileReport) -> Result<PathBuf> {
        let (folder, path) = (folder.canonicalize()?, report.path.canonicalize()?);
        match path.strip_prefix(&folder) {
            Ok(name) => Ok(name.to_path_buf()),
            Err(_) => exec_err!("{} is not below {}", path.display(), folder.display()),
        }
    }
}

impl fmt::Display for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        for (file, entries) in &self.entries {
            writeln!(f, "\n{} {}", file.display(), entries.len())?;
            for (line, Entry { modes, text }) in entries {
                if modes.len() == Mode::ALL.len() {
                    writeln!(f, "  {line} {text}")?;
                } else {
                    let modes: Vec<_> = modes.iter().map(|mode| mode.name()).collect();
                    writeln!(f, "  {line} [{}] {text}", modes.join(", "))?;
                }
            }
        }
        Ok(())
    }
}

/// `12 SELECT …` or `12 [restore, parallel] SELECT …`.
fn parse_entry(entry: &str) -> Option<(u32, Entry)> {
    let (line, rest) = entry.split_once(' ')?;
    let (modes, text) = match rest.strip_prefix('[') {
        Some(rest) => {
            let (modes, text) = rest.split_once("] ")?;
            (modes.split(", ").map(|mode| mode.parse().ok()).collect::<Option<_>>()?, text)
        }
        None => (Mode::ALL.into(), rest),
    };
    Some((line.parse().ok()?, Entry { modes, text: text.to_string() }))
}

/// The beginning of a record's text, in one line.
fn first_words(sql: &str) -> String {
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests;
