//! Options of tables that are looked up.

use std::collections::BTreeMap;
use std::time::Duration;

use datafusion::common::{Result, plan_err};
use datafusion_streaming_physical_plan::operators::join::lookup::{
    LookupCache, LookupOptions, LookupRetry, PartialCache,
};

use crate::formats::TableOptions;
use crate::sql::rewrite::LOOKUP_HINT;

const CACHE: &str = "lookup.cache";
const MAX_ROWS: &str = "lookup.partial-cache.max-rows";
const EXPIRE_AFTER_WRITE: &str = "lookup.partial-cache.expire-after-write";
const EXPIRE_AFTER_ACCESS: &str = "lookup.partial-cache.expire-after-access";
const CACHE_MISSING_KEY: &str = "lookup.partial-cache.cache-missing-key";
const RELOAD_STRATEGY: &str = "lookup.full-cache.reload-strategy";
const RELOAD_INTERVAL: &str = "lookup.full-cache.periodic-reload.interval";

const LOOKUP_ASYNC: &str = "lookup.async";

/// All of them.
const KEYS: [&str; 8] = [
    LOOKUP_ASYNC,
    CACHE,
    MAX_ROWS,
    EXPIRE_AFTER_WRITE,
    EXPIRE_AFTER_ACCESS,
    CACHE_MISSING_KEY,
    RELOAD_STRATEGY,
    RELOAD_INTERVAL,
];

/// Those of the hint LOOKUP.
const ASYNC: &str = "async";
const OUTPUT_MODE: &str = "output-mode";
const CAPACITY: &str = "capacity";
const TIMEOUT: &str = "timeout";
const SHUFFLE: &str = "shuffle";
const RETRY_PREDICATE: &str = "retry-predicate";
const RETRY_STRATEGY: &str = "retry-strategy";
const FIXED_DELAY: &str = "fixed-delay";
const MAX_ATTEMPTS: &str = "max-attempts";

/// The options that say together how a key is looked up again.
const RETRY: [&str; 4] = [RETRY_PREDICATE, RETRY_STRATEGY, FIXED_DELAY, MAX_ATTEMPTS];

/// The kinds of caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    None,
    Partial,
    Full,
}

/// How a table is looked up, by its options: Flink's `lookup.cache` and those that go with it, others
/// are passed over; and by the options `hinted` in a query, which go before them. `defaults` says what the session has
/// of concurrency and timeout.
///
/// # Errors
/// If the value of an option is not what it should be, or a hinted option is none of these.
pub fn lookup_options(
    table: &str,
    options: &BTreeMap<String, String>,
    hinted: &[(String, String)],
    defaults: LookupOptions,
) -> Result<LookupOptions> {
    let (mut hint, mut own_hinted) = (BTreeMap::new(), BTreeMap::new());
    for (key, value) in hinted {
        match key.strip_prefix(LOOKUP_HINT) {
            Some(key) => hint.insert(key.to_string(), value.clone()),
            None => own_hinted.insert(key.clone(), value.clone()),
        };
    }
    let hinted = own_hinted;
    let mut all = options.clone();
    all.extend(hinted.clone());
    let all = TableOptions::new(table, &all);
    let read_options = LookupOptions { cache: read(&all)?, ..defaults };
    let read_options =
        with_hint(read_options, all.boolean(LOOKUP_ASYNC, true)?, &TableOptions::new(table, &hint))?;
    let known = TableOptions::new(table, &hinted);
    KEYS.iter().for_each(|key| {
        known.get(key);
    });
    known.finish()?;
    Ok(read_options)
}

/// The options with those of a LOOKUP hint. A table that is not looked up asynchronously is asked for one batch after the
/// other, and given the time that it needs.
fn with_hint(mut options: LookupOptions, by_table: bool, hint: &TableOptions<'_>) -> Result<LookupOptions> {
    let is_async = hint.boolean(ASYNC, by_table)?;
    // in order is one of the orders that are allowed
    hint.choice(OUTPUT_MODE, &[("ORDERED", ()), ("ALLOW_UNORDERED", ())], ())?;
    hint.boolean(SHUFFLE, false)?;
    if let Some(capacity) = count(hint, CAPACITY, "a number of batches, 1 or more")? {
        options.concurrency = capacity;
    }
    if let Some(timeout) = positive(hint, TIMEOUT)? {
        options.timeout = Some(timeout);
    }
    if !is_async {
        (options.concurrency, options.timeout) = (1, None);
    }
    hint.choice(RETRY_PREDICATE, &[("LOOKUP_MISS", ())], ())?;
    hint.choice(RETRY_STRATEGY, &[("FIXED_DELAY", ())], ())?;
    let delay = positive(hint, FIXED_DELAY)?;
    let attempts = count(hint, MAX_ATTEMPTS, "a number of attempts, 1 or more")?;
    let lacking = RETRY.iter().find(|key| hint.get(key).is_none());
    options.retry = match (delay, attempts, lacking) {
        (Some(delay), Some(attempts), None) => Some(LookupRetry { delay, attempts }),
        (_, _, Some(lacking)) if RETRY.iter().any(|key| hint.get(key).is_some()) => {
            return plan_err!(
                "the hint LOOKUP for table '{}' has no option '{lacking}': to look a key up again it takes all of '{}'",
                hint.table(),
                RETRY.join("', '")
            );
        }
        _ => None,
    };
    hint.finish()?;
    Ok(options)
}

fn count(options: &TableOptions<'_>, key: &str, expected: &str) -> Result<Option<usize>> {
    match options.get(key).map(str::parse::<usize>) {
        None => Ok(None),
        Some(Ok(count)) if count > 0 => Ok(Some(count)),
        Some(_) => options.invalid(key, expected),
    }
}

/// A time span in milliseconds, one at least.
fn positive(options: &TableOptions<'_>, key: &str) -> Result<Option<i64>> {
    match millis(options.duration(key)?) {
        Some(..=0) => options.invalid(key, "a time span of a millisecond or more"),
        span => Ok(span),
    }
}

/// What of [`lookup_options`] is in options of which the others are read elsewhere.
pub(super) fn read(options: &TableOptions<'_>) -> Result<LookupCache> {
    options.boolean(LOOKUP_ASYNC, true)?;
    let kinds = [("NONE", Kind::None), ("PARTIAL", Kind::Partial), ("FULL", Kind::Full)];
    let kind = options.choice(CACHE, &kinds, Kind::None)?;
    let partial = PartialCache {
        max_rows: count(options, MAX_ROWS, "a number of rows, 1 or more")?,
        expire_after_write: millis(options.duration(EXPIRE_AFTER_WRITE)?),
        expire_after_access: millis(options.duration(EXPIRE_AFTER_ACCESS)?),
        cache_missing_key: options.boolean(CACHE_MISSING_KEY, true)?,
    };
    options.choice(RELOAD_STRATEGY, &[("PERIODIC", ())], ())?;
    let reload = millis(options.duration(RELOAD_INTERVAL)?);
    if kind == Kind::Full && reload.is_none() {
        return plan_err!(
            "table '{}' has '{CACHE}' = 'FULL' and no option '{RELOAD_INTERVAL}'; say how often it is to be read again, \
             such as '10 min'",
            options.table()
        );
    }
    Ok(match kind {
        Kind::None => LookupCache::None,
        Kind::Partial => LookupCache::Partial(partial),
        Kind::Full => LookupCache::Full { reload },
    })
}

fn millis(span: Option<Duration>) -> Option<i64> {
    span.map(|span| i64::try_from(span.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(options: &[(&str, &str)]) -> Result<LookupCache> {
        let options = options.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Ok(lookup_options("t", &options, &[], LookupOptions::default())?.cache)
    }

    #[test]
    fn options_are_flinks() -> Result<()> {
        assert_eq!(cache(&[])?, LookupCache::None);
        let partial = cache(&[
            (CACHE, "partial"),
            (MAX_ROWS, "100"),
            (EXPIRE_AFTER_WRITE, "1 min"),
            (CACHE_MISSING_KEY, "false"),
        ])?;
        let expected = PartialCache {
            max_rows: Some(100),
            expire_after_write: Some(60_000),
            expire_after_access: None,
            cache_missing_key: false,
        };
        assert_eq!(partial, LookupCache::Partial(expected));
        let full = cache(&[(CACHE, "FULL"), (RELOAD_INTERVAL, "10 s")])?;
        assert_eq!(full, LookupCache::Full { reload: Some(10_000) });
        Ok(())
    }

    #[test]
    fn hints_go_before_the_options_of_the_table() -> Result<()> {
        let own = BTreeMap::from([(CACHE.to_string(), "NONE".to_string()), ("path".into(), "x".into())]);
        let hinted = [(CACHE.to_string(), "PARTIAL".to_string())];
        let options = lookup_options("t", &own, &hinted, LookupOptions::default())?;
        assert_eq!(options.cache, LookupCache::Partial(PartialCache::default()));
        let hinted = [("lookup.cachee".to_string(), "x".to_string())];
        let error = lookup_options("t", &own, &hinted, LookupOptions::default()).unwrap_err();
        assert!(error.to_string().contains("did you mean 'lookup.cache'?"), "{error}");
        Ok(())
    }

    fn hint(options: &[(&str, &str)]) -> Result<LookupOptions> {
        let hinted: Vec<_> =
            options.iter().map(|(key, value)| (format!("{LOOKUP_HINT}{key}"), value.to_string())).collect();
        lookup_options("t", &BTreeMap::new(), &hinted, LookupOptions::default())
    }

    const RETRIES: [(&str, &str); 4] = [
        (RETRY_PREDICATE, "lookup_miss"),
        (RETRY_STRATEGY, "fixed_delay"),
        (FIXED_DELAY, "10s"),
        (MAX_ATTEMPTS, "3"),
    ];

    #[test]
    fn the_hint_says_how_long_and_how_often() -> Result<()> {
        let mut options = RETRIES.to_vec();
        options.extend([
            (TIMEOUT, "180s"),
            (CAPACITY, "5"),
            (OUTPUT_MODE, "allow_unordered"),
            (ASYNC, "true"),
        ]);
        let expected = LookupOptions {
            concurrency: 5,
            timeout: Some(180_000),
            retry: Some(LookupRetry { delay: 10_000, attempts: 3 }),
            ..LookupOptions::default()
        };
        assert_eq!(hint(&options)?, expected);
        let one_by_one = hint(&[(ASYNC, "false"), (TIMEOUT, "1 s")])?;
        assert_eq!((one_by_one.concurrency, one_by_one.timeout, one_by_one.retry), (1, None, None));
        Ok(())
    }

    #[test]
    fn wrong_hints_are_named() {
        for (options, expected) in [
            (&RETRIES[..3], "the hint LOOKUP for table 't' has no option 'max-attempts'"),
            (
                &[(CAPACITY, "0")],
                "the option 'capacity' of table 't' must be a number of batches, 1 or more, not '0'",
            ),
            (
                &[(TIMEOUT, "0 s")],
                "the option 'timeout' of table 't' must be a time span of a millisecond or more",
            ),
            (&[(FIXED_DELAY, "soon")], "'fixed-delay' of table 't'"),
            (&[(RETRY_STRATEGY, "backoff")], "'retry-strategy' of table 't' must be 'FIXED_DELAY'"),
            (&[("tiemout", "1 s")], "table 't' has the unknown option 'tiemout'; did you mean 'timeout'"),
        ] {
            let error = hint(options).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn wrong_options_are_named() {
        for (options, expected) in [
            (vec![(CACHE, "some")], "'lookup.cache' of table 't' must be 'NONE' or 'PARTIAL' or 'FULL'"),
            (vec![(MAX_ROWS, "0")], "1 or more"),
            (vec![(EXPIRE_AFTER_WRITE, "soon")], "time span"),
            (vec![(CACHE, "FULL")], "no option 'lookup.full-cache.periodic-reload.interval'"),
        ] {
            let error = cache(&options).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
