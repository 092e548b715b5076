//! The command line of a runner, for any engine.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::common::{Result, exec_datafusion_err};
use futures::{StreamExt, stream};

use crate::{Engine, FileReport, Mode, Pending, Runner, slt_files};

/// How to call the command.
pub const USAGE: &str = "\
usage: slt [--mode plain|one-row|restore|parallel|all] [-v] [--jobs N] [--update-pending LIST] FILES…

Runs sqllogictest files (a folder stands for all .slt files below it) and prints for each how many of
its statements and queries passed.

  --mode MODE            how to run the queries (plain)
  -v                     show the first differing rows of what fails
  --jobs N               files to run at a time (2)
  --update-pending LIST  write what fails in these files and modes into a list of known failures
";

/// What the command was called with.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The modes to run every file in.
    pub modes: Vec<Mode>,
    /// Whether to show what differs.
    pub verbose: bool,
    /// How many files run at a time.
    pub jobs: usize,
    /// The list of known failures to rewrite.
    pub update_pending: Option<PathBuf>,
    /// Files and folders.
    pub paths: Vec<PathBuf>,
}

impl Options {
    /// Reads the arguments behind the name of the command. An error tells which is wrong.
    pub fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut options = Options {
            modes: vec![Mode::Plain],
            verbose: false,
            jobs: 2,
            update_pending: None,
            paths: vec![],
        };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().ok_or_else(|| format!("a value is missing behind {argument}"));
            match argument.as_str() {
                "-v" | "--verbose" => options.verbose = true,
                "--mode" => options.modes = parse_modes(&value()?)?,
                "--jobs" => {
                    let jobs = value()?;
                    options.jobs = (jobs.parse().ok().filter(|jobs| *jobs > 0))
                        .ok_or_else(|| format!("--jobs {jobs}: expected a number from 1"))?;
                }
                "--update-pending" => options.update_pending = Some(value()?.into()),
                _ if argument.starts_with('-') => return Err(format!("unknown option {argument}")),
                _ => options.paths.push(argument.into()),
            }
        }
        if options.paths.is_empty() { Err("no files".to_string()) } else { Ok(options) }
    }
}

fn parse_modes(name: &str) -> Result<Vec<Mode>, String> {
    if name == "all" { Ok(Mode::ALL.into()) } else { Ok(vec![name.parse()?]) }
}

/// Runs the files, writes a line for each and mode and last the sums to `out`, and answers whether
/// everything passed.
///
/// An error where there is no such file, or where `out` or the pending list cannot be written.
pub async fn run(engine: impl Engine + 'static, options: &Options, out: &mut impl Write) -> Result<bool> {
    let runner = Arc::new(Runner::new(engine));
    let runs = slt_files(&options.paths)?
        .into_iter()
        .flat_map(|path| options.modes.iter().map(move |mode| (path.clone(), *mode)));
    let mut reports = stream::iter(runs)
        .map(|(path, mode)| {
            let runner = Arc::clone(&runner);
            tokio::spawn(async move { runner.run(&path, mode).await })
        })
        .buffered(options.jobs);

    let mut pending = options.update_pending.as_deref().map(PendingFile::open).transpose()?;
    let (mut passed, mut failed) = (0, 0);
    while let Some(report) = reports.next().await {
        let report = report.map_err(|error| exec_datafusion_err!("a file did not run: {error}"))?;
        passed += report.passed();
        failed += report.failures().count();
        write_report(out, &report, options)?;
        if let Some(pending) = &mut pending {
            pending.list.update(&pending.folder, &report)?;
        }
    }
    writeln!(out, "{passed} passed, {failed} failed")?;
    if let Some(pending) = pending {
        std::fs::write(pending.path, pending.list.to_string())?;
    }
    Ok(failed == 0)
}

fn write_report(out: &mut impl Write, report: &FileReport, options: &Options) -> io::Result<()> {
    let mut text = format!("{}/{} {}", report.passed(), report.records.len(), report.path.display());
    if options.modes.len() > 1 {
        // Writing to a String does not fail
        let _ = write!(text, " {}", report.mode);
    }
    writeln!(out, "{text}")?;
    if options.verbose {
        for (record, failure) in report.failures() {
            writeln!(out, "  {}:{} [{}]", report.path.display(), record.line, report.mode)?;
            for line in record.sql.lines() {
                writeln!(out, "    {line}")?;
            }
            for line in failure.to_string().lines() {
                writeln!(out, "      {line}")?;
            }
        }
    }
    out.flush()
}

/// A pending list that is rewritten.
struct PendingFile {
    path: PathBuf,
    folder: PathBuf,
    list: Pending,
}

impl PendingFile {
    fn open(path: &Path) -> Result<Self> {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        Ok(PendingFile { path: path.to_path_buf(), folder, list: Pending::read(path)? })
    }
}

#[cfg(test)]
mod tests;
