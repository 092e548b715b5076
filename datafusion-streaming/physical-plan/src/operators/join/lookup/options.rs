//! How a table is looked up.

use std::fmt;

/// The options of a lookup join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupOptions {
    /// What is kept of the rows that were found.
    pub cache: LookupCache,
    /// For how many batches lookups may run at the same time.
    pub concurrency: usize,
    /// How long a lookup may take with all its retries, in milliseconds; one that takes longer fails the query. `None`:
    /// as long as it needs.
    pub timeout: Option<i64>,
    /// Whether keys without rows are looked up again.
    pub retry: Option<LookupRetry>,
}

/// When keys that have no rows are looked up again: Flink's `lookup_miss` with a `fixed_delay`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookupRetry {
    /// After how many milliseconds.
    pub delay: i64,
    /// How often, the first lookup not counted.
    pub attempts: usize,
}

/// Batches whose lookups run at the same time, if nothing else is said.
const CONCURRENCY: usize = 8;

/// How long a lookup may take, in milliseconds, if nothing else is said.
const TIMEOUT: i64 = 180_000;

impl LookupOptions {
    /// Whether a lookup has another time than it has if nothing else is said.
    pub(super) fn own_timeout(&self) -> Option<i64> {
        self.timeout.filter(|timeout| *timeout != TIMEOUT)
    }
}

impl Default for LookupOptions {
    fn default() -> Self {
        LookupOptions {
            cache: LookupCache::None,
            concurrency: CONCURRENCY,
            timeout: Some(TIMEOUT),
            retry: None,
        }
    }
}

/// What is kept of rows that were found: Flink's `lookup.cache`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LookupCache {
    /// Nothing.
    #[default]
    None,
    /// The rows of keys that were looked up.
    Partial(PartialCache),
    /// The whole table, read at the first lookup.
    Full {
        /// After how many milliseconds it is read again; `None`: never.
        reload: Option<i64>,
    },
}

/// A cache of the keys that were looked up, the least recently used of which give way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialCache {
    /// The most entries, each of which holds the rows of a key; `None`: no limit. Flink's
    /// `lookup.partial-cache.max-rows` counts in the same way.
    pub max_rows: Option<usize>,
    /// How long an entry is kept, in milliseconds.
    pub expire_after_write: Option<i64>,
    /// How long an entry is kept that is not read, in milliseconds.
    pub expire_after_access: Option<i64>,
    /// Whether it is kept in mind which keys have no rows.
    pub cache_missing_key: bool,
}

impl Default for PartialCache {
    fn default() -> Self {
        PartialCache {
            max_rows: None,
            expire_after_write: None,
            expire_after_access: None,
            cache_missing_key: true,
        }
    }
}

impl fmt::Display for LookupCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LookupCache::None => f.write_str("NONE"),
            LookupCache::Full { reload: None } => f.write_str("FULL"),
            LookupCache::Full { reload: Some(millis) } => write!(f, "FULL, reload {millis} ms"),
            LookupCache::Partial(cache) => {
                f.write_str("PARTIAL")?;
                if let Some(rows) = cache.max_rows {
                    write!(f, ", max rows {rows}")?;
                }
                if let Some(millis) = cache.expire_after_write {
                    write!(f, ", expire after write {millis} ms")?;
                }
                if let Some(millis) = cache.expire_after_access {
                    write!(f, ", expire after access {millis} ms")?;
                }
                match cache.cache_missing_key {
                    true => Ok(()),
                    false => f.write_str(", without missing keys"),
                }
            }
        }
    }
}
