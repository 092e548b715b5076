//! The options of the connector.

use std::time::Duration;

use datafusion::common::{Result, plan_datafusion_err, plan_err};
use regex::Regex;

use crate::formats::TableOptions;

/// The options of a table with `'connector' = 'filesystem'`, those of its format aside.
#[derive(Debug, Clone)]
pub struct FilesystemOptions {
    /// `path`: a file or a folder, as a local path or a URL.
    pub path: String,
    /// `source.monitor-interval`: how often to look for new files. Without it, the files that are there
    /// when reading begins are all there is.
    pub monitor_interval: Option<Duration>,
    /// `source.path.regex-pattern`: only files whose whole absolute path matches are read.
    pub path_pattern: Option<Regex>,
}

impl FilesystemOptions {
    /// Reads the options of a table.
    pub fn try_new(options: &TableOptions<'_>) -> Result<Self> {
        const MONITOR_INTERVAL: &str = "source.monitor-interval";
        let monitor_interval = options.duration(MONITOR_INTERVAL)?;
        if monitor_interval.is_some_and(|interval| interval.is_zero()) {
            return options.invalid(MONITOR_INTERVAL, "longer than zero");
        }
        let path = options.require("path")?;
        if path.is_empty() {
            return plan_err!("the option 'path' of table '{}' is empty", options.table());
        }
        const PATTERN: &str = "source.path.regex-pattern";
        let path_pattern = options.get(PATTERN).map(|pattern| Regex::new(&format!("^(?:{pattern})$")));
        let path_pattern = path_pattern.transpose().map_err(|error| {
            plan_datafusion_err!("the option '{PATTERN}' of table '{}': {error}", options.table())
        })?;
        Ok(FilesystemOptions { path: path.to_string(), monitor_interval, path_pattern })
    }

    /// Whether reading never ends.
    pub fn is_unbounded(&self) -> bool {
        self.monitor_interval.is_some()
    }
}
