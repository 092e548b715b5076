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
    /// `sink.rolling-policy.file-size`: when a part file is complete, in bytes.
    pub rolling_size: u64,
    /// `sink.rolling-policy.rollover-interval`: the age at which the next row completes a part file.
    pub rolling_interval: Duration,
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
        let rolling_interval = options.duration("sink.rolling-policy.rollover-interval")?;
        Ok(FilesystemOptions {
            path: path.to_string(),
            monitor_interval,
            path_pattern,
            rolling_size: options.memory_size("sink.rolling-policy.file-size")?.unwrap_or(128 << 20),
            rolling_interval: rolling_interval.unwrap_or(Duration::from_secs(30 * 60)),
        })
    }

    /// Whether reading never ends.
    pub fn is_unbounded(&self) -> bool {
        self.monitor_interval.is_some()
    }
}
