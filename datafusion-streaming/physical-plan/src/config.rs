//! The options of the extension, part of a session's DataFusion configuration.

use std::fmt;
use std::str::FromStr;

use datafusion_common::config::{ConfigExtension, ConfigField, ConfigOptions, Visit};
use datafusion_common::{
    DataFusionError, Result, config_err, config_namespace, extensions_options, plan_err,
};

use crate::time::LocalZone;

extensions_options! {
    /// Options of the streaming extension, under the prefix `streaming`. Flink's own keys, such as
    /// `table.exec.state.ttl`, are mapped to these by `SET` in Flink SQL.
    pub struct StreamingOptions {
        /// Which queries stream: those over tables that are unbounded or change (`auto`), or all
        /// (`streaming`).
        pub runtime_mode: RuntimeMode, default = RuntimeMode::Auto
        /// What the root of a plan yields. Set by the extension itself for the query at hand.
        pub root: RootMode, default = RootMode::Rows
        /// How long state that is not written is kept, in milliseconds; 0: for ever.
        pub state_ttl: u64, default = 0
        /// Where keyed state is kept: in memory (`hashmap`), or what is too large for the memory on disk
        /// (`disk`; `rocksdb` means the same).
        pub state_backend: StateBackend, default = StateBackend::Hashmap
        /// The folder below which state on disk is kept; empty: that of the session's disk manager.
        pub state_local_dir: String, default = String::new()
        /// How many bytes of state a partition of an operator keeps in memory before it goes to disk. If it
        /// is not set, by its share of the session's memory pool.
        pub state_resident_bytes: Option<usize>, default = None
        /// The session's time zone: a region, UTC or an offset.
        pub local_time_zone: String, default = "UTC".to_string()
        /// Whether rows are bundled before they are aggregated.
        pub mini_batch: bool, default = false
        /// The most rows of a bundle; 0: no limit.
        pub mini_batch_size: u64, default = 0
        /// The longest time that a row waits in a bundle, in milliseconds.
        pub mini_batch_latency: u64, default = 0
        /// Whether a deduplication by rowtime puts out only the last change of a key in a bundle.
        pub deduplicate_compact_changes: bool, default = false
        /// Whether aggregations are split in a local and a global phase: `AUTO`, `ONE_PHASE` or
        /// `TWO_PHASE`.
        pub agg_phase_strategy: String, default = "AUTO".to_string()
        /// Whether DISTINCT aggregations are split by the distinct value first.
        pub distinct_agg_split: bool, default = false
        /// The number of partitions of streaming operators; 0: DataFusion's `target_partitions`.
        pub parallelism: usize, default = 0
        /// Into how many buckets of distinct values they are split.
        pub distinct_agg_buckets: u32, default = 1024
        /// How long a source may be silent before others stop waiting for its watermark, in
        /// milliseconds; 0: for ever.
        pub source_idle_timeout: u64, default = 0
        /// The options of windows.
        pub window: WindowOptions, default = WindowOptions::default()
        /// Whether windows in GROUP BY emit before their ends (Flink's
        /// `table.exec.emit.early-fire.enabled`).
        pub emit_early_fire: bool, default = false
        /// How long such an emission waits, in milliseconds of processing time; 0: a window emits with
        /// each row. It must be set where it is needed.
        pub emit_early_fire_delay: Option<u64>, default = None
        /// Whether windows in GROUP BY emit again for late rows (Flink's
        /// `table.exec.emit.late-fire.enabled`).
        pub emit_late_fire: bool, default = false
        /// How long such an emission waits, as for `emit_early_fire_delay`.
        pub emit_late_fire_delay: Option<u64>, default = None
        /// How long after its end a window in GROUP BY takes late rows, in milliseconds (Flink's
        /// `table.exec.emit.allow-lateness`). If it is not set, the state's time to live.
        pub emit_allow_lateness: Option<u64>, default = None
        /// Whether changelogs of tables with a primary key may repeat changes, and are normalised.
        pub cdc_events_duplicate: bool, default = false
        /// What is done about functions that give another value each time, computed of rows that may be
        /// taken back. Flink's default is to ignore them.
        pub non_deterministic_update: NonDeterministicUpdates, default = NonDeterministicUpdates::TryResolve
        /// Whether changes are brought under the primary key of the table that they are inserted into.
        pub upsert_materialize: UpsertMaterialize, default = UpsertMaterialize::Auto
        /// Whether queries may use what Flink refuses and this engine has a form of its own for: LEAD and frames with
        /// FOLLOWING, Top-N by RANK and DENSE_RANK. If it is not set: in `SessionContext::sql`, but not in Flink SQL.
        pub beyond_flink: Option<bool>, default = None
        /// For how many batches a lookup join asks its table at the same time.
        pub lookup_concurrency: u64, default = 8
        /// How long a lookup may take, in milliseconds, with all its retries; 0: as long as it needs.
        pub lookup_timeout: u64, default = 180_000
        /// What a client shows of a query: its `changelog` or the `table` at the end.
        pub result_mode: ResultMode, default = ResultMode::Changelog
        /// The name of jobs that have no other; empty: `insert-into_<table>`.
        pub job_name: String, default = String::new()
        /// How often a job takes a checkpoint, in milliseconds; 0: only when it is asked to.
        pub checkpoint_interval: u64, default = 0
        /// The least time between the end of a checkpoint and the start of the next, in milliseconds.
        pub checkpoint_min_pause: u64, default = 0
        /// How long a checkpoint may take before the job fails, in milliseconds.
        pub checkpoint_timeout: u64, default = 600_000
        /// The folder or URL below which each job has its checkpoints; empty: in memory, so that they
        /// serve restarts within the process only.
        pub checkpoint_dir: String, default = String::new()
        /// How many checkpoints of a job are kept.
        pub checkpoints_retained: usize, default = 1
        /// The folder or URL for savepoints that are taken without one.
        pub savepoint_dir: String, default = String::new()
        /// The savepoint or checkpoint that jobs start from; empty: their own latest one.
        pub restore_path: String, default = String::new()
        /// Whether state in a checkpoint that the query has no operator for is dropped, where it would
        /// otherwise be an error.
        pub ignore_unclaimed_state: bool, default = false
        /// Whether and when a job that has failed starts again. If it is not set, as in Flink:
        /// `exponential-delay` where checkpoints are taken on an interval, else not at all.
        pub restart_strategy: Option<RestartStrategy>, default = None
        /// `fixed-delay`: how often a job starts again.
        pub restart_attempts: u64, default = 1
        /// `fixed-delay`: the time before it does, in milliseconds.
        pub restart_delay: u64, default = 1_000
        /// `exponential-delay`: the time before the first restart, in milliseconds.
        pub restart_initial_backoff: u64, default = 1_000
        /// `exponential-delay`: the longest time before a restart, in milliseconds.
        pub restart_max_backoff: u64, default = 60_000
        /// `exponential-delay`: by what the time grows from restart to restart.
        pub restart_backoff_multiplier: f64, default = 1.5
        /// `exponential-delay`: by what part of itself the time may be longer or shorter, at random.
        pub restart_jitter_factor: f64, default = 0.1
        /// `exponential-delay`: after how many milliseconds without a failure the time is the first again.
        pub restart_reset_threshold: u64, default = 3_600_000
        /// `exponential-delay`: how often a job starts again before the job has run that long; 0: no limit.
        pub restart_attempts_before_reset: u64, default = 0
        /// The folder that relative paths of filesystem tables start from; empty: the process's.
        pub base_dir: String, default = String::new()
    }
}

config_namespace! {
    /// Options of windows, under the prefix `streaming.window`.
    pub struct WindowOptions {
        /// How long after their ends the windows of table functions take late rows when they are
        /// aggregated, in milliseconds: such a row updates the result of its window. An extension of
        /// Flink's SQL.
        pub allowed_lateness: u64, default = 0
    }
}

impl ConfigExtension for StreamingOptions {
    const PREFIX: &'static str = "streaming";
}

impl StreamingOptions {
    /// The options of a configuration; the defaults where the extension is not installed.
    pub fn of(config: &ConfigOptions) -> StreamingOptions {
        config.extensions.get::<StreamingOptions>().cloned().unwrap_or_default()
    }

    /// Whether and when a job that has failed starts again.
    pub fn restarts(&self) -> RestartStrategy {
        let unset = match self.checkpoint_interval {
            0 => RestartStrategy::None,
            _ => RestartStrategy::ExponentialDelay,
        };
        self.restart_strategy.unwrap_or(unset)
    }

    /// Whether queries may use what Flink refuses and this engine has a form of its own for.
    pub fn goes_beyond_flink(&self) -> bool {
        self.beyond_flink != Some(false)
    }

    /// How long after their ends the windows of table functions take late rows, in milliseconds.
    pub fn window_lateness(&self) -> i64 {
        millis(self.window.allowed_lateness)
    }

    /// How long a window in GROUP BY waits before it emits ahead of its end, and for late rows, in
    /// milliseconds; `None`: not set.
    pub fn emit_delays(&self) -> [Option<i64>; 2] {
        [self.emit_early_fire_delay, self.emit_late_fire_delay].map(|delay| delay.map(millis))
    }

    /// How long after their ends windows in GROUP BY, sessions aside, take late rows, in milliseconds: as
    /// in Flink as long as their state lives, unless it is set.
    pub fn group_window_lateness(&self) -> i64 {
        match self.emit_late_fire {
            true => millis(self.emit_allow_lateness.unwrap_or(self.state_ttl)),
            false => 0,
        }
    }

    /// The session's time zone.
    pub fn zone(&self) -> Result<LocalZone> {
        LocalZone::parse(&self.local_time_zone)
    }
}

/// A duration as the operators have it.
fn millis(duration: u64) -> i64 {
    i64::try_from(duration).unwrap_or(i64::MAX)
}

/// Declares an option whose values are words.
macro_rules! word_option {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub enum $name {
            $($(#[$value_doc])* $value,)*
        }

        impl FromStr for $name {
            type Err = DataFusionError;

            fn from_str(text: &str) -> Result<Self> {
                match text.to_ascii_lowercase().as_str() {
                    $($word => Ok($name::$value),)*
                    _ => plan_err!("'{text}' is not one of {}", [$($word),*].join(", ")),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $($name::$value => $word,)*
                })
            }
        }

        impl ConfigField for $name {
            fn visit<V: Visit>(&self, visitor: &mut V, key: &str, description: &'static str) {
                visitor.some(key, self, description);
            }

            fn set(&mut self, key: &str, value: &str) -> Result<()> {
                match value.parse() {
                    Ok(value) => *self = value,
                    Err(error) => return config_err!("{key}: {error}"),
                }
                Ok(())
            }
        }
    };
}

word_option! {
    /// Which queries stream.
    RuntimeMode {
        /// Those over tables that are unbounded or change.
        #[default]
        Auto = "auto",
        /// All.
        Streaming = "streaming",
    }
}

word_option! {
    /// What is done about functions that give another value each time, computed of rows that may be
    /// taken back.
    NonDeterministicUpdates {
        /// They are refused where their value must be the same again.
        #[default]
        TryResolve = "try_resolve",
        /// Nothing: the result may be wrong.
        Ignore = "ignore",
    }
}

word_option! {
    /// Whether changes are brought under the primary key of the table that they are inserted into.
    UpsertMaterialize {
        /// Where it is not the key of the query.
        #[default]
        Auto = "auto",
        /// Never.
        None = "none",
        /// Always.
        Force = "force",
    }
}

word_option! {
    /// What the root of a plan yields.
    RootMode {
        /// Plain rows: of a changing result over bounded tables, the final table.
        #[default]
        Rows = "rows",
        /// The changelog, read through `execute_changelog`.
        Changelog = "changelog",
        /// Nothing: the plan is only shown.
        Explain = "explain",
    }
}

word_option! {
    /// Where keyed state is kept, under Flink's names and our own.
    StateBackend {
        /// In memory.
        #[default]
        Hashmap = "hashmap",
        /// What is too large for the memory on disk.
        Disk = "disk",
        /// The same, under Flink's name for state on disk.
        RocksDb = "rocksdb",
    }
}

word_option! {
    /// What becomes of a job that has failed.
    RestartStrategy {
        /// It has failed.
        #[default]
        None = "none",
        /// It starts again after a while, a number of times.
        FixedDelay = "fixed-delay",
        /// It starts again, each time after a longer while.
        ExponentialDelay = "exponential-delay",
    }
}

word_option! {
    /// What a client shows of a query.
    ResultMode {
        /// Every change.
        #[default]
        Changelog = "changelog",
        /// The table at the end.
        Table = "table",
    }
}
