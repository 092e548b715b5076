//! The ways to run a file.

use std::fmt;
use std::str::FromStr;

/// How the queries of a file are run. The answers must be the same in every mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// As a user would.
    Plain,
    /// Batches of one row: nothing may depend on where batches are cut.
    OneRow,
    /// A snapshot every few rows, after which the query is dropped, planned again from its text,
    /// restored and continued.
    Restore,
    /// Keyed operators in four partitions. The order across keys is then open, so answers are
    /// compared sorted, and where more than the order is open ([`Determined::Table`](crate::Determined))
    /// by the table at the end.
    Parallel,
    /// Batches of a few rows, after each of which all keys leave the memory for the disk. The order in which
    /// keys are put out is then open, so answers are compared sorted.
    Disk,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 5] = [Mode::Plain, Mode::OneRow, Mode::Restore, Mode::Parallel, Mode::Disk];

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Plain => "plain",
            Mode::OneRow => "one-row",
            Mode::Restore => "restore",
            Mode::Parallel => "parallel",
            Mode::Disk => "disk",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name).ok_or_else(|| {
            format!("unknown mode '{name}': expected one of {}", Mode::ALL.map(Mode::name).join(", "))
        })
    }
}
