//! Options of tables that are looked up.

use std::collections::BTreeMap;
use std::time::Duration;

use datafusion::common::{Result, plan_err};
use datafusion_streaming_physical_plan::operators::join::lookup::{LookupCache, LookupOptions, PartialCache};

use crate::formats::TableOptions;

const CACHE: &str = "lookup.cache";
const MAX_ROWS: &str = "lookup.partial-cache.max-rows";
const EXPIRE_AFTER_WRITE: &str = "lookup.partial-cache.expire-after-write";
const EXPIRE_AFTER_ACCESS: &str = "lookup.partial-cache.expire-after-access";
const CACHE_MISSING_KEY: &str = "lookup.partial-cache.cache-missing-key";
const RELOAD_STRATEGY: &str = "lookup.full-cache.reload-strategy";
const RELOAD_INTERVAL: &str = "lookup.full-cache.periodic-reload.interval";

/// All of them.
const KEYS: [&str; 7] = [
    CACHE,
    MAX_ROWS,
    EXPIRE_AFTER_WRITE,
    EXPIRE_AFTER_ACCESS,
    CACHE_MISSING_KEY,
    RELOAD_STRATEGY,
    RELOAD_INTERVAL,
];

/// The kinds of caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    None,
    Partial,
    Full,
}

/// How a table is looked up, by its options: Flink's `lookup.cache` and those that go with it, others
/// are passed over; and by the options `hinted` in a query, which go before them.
///
/// # Errors
/// If the value of an option is not what it should be, or a hinted option is none of these.
pub fn lookup_options(
    table: &str,
    options: &BTreeMap<String, String>,
    hinted: &[(String, String)],
) -> Result<LookupOptions> {
    let hinted: BTreeMap<String, String> = hinted.iter().cloned().collect();
    let mut all = options.clone();
    all.extend(hinted.clone());
    let read_options = read(&TableOptions::new(table, &all))?;
    let known = TableOptions::new(table, &hinted);
    KEYS.iter().for_each(|key| {
        known.get(key);
    });
    known.finish()?;
    Ok(read_options)
}

/// [`lookup_options`] of options of which the others are read elsewhere.
pub(super) fn read(options: &TableOptions<'_>) -> Result<LookupOptions> {
    let kinds = [("NONE", Kind::None), ("PARTIAL", Kind::Partial), ("FULL", Kind::Full)];
    let kind = options.choice(CACHE, &kinds, Kind::None)?;
    let partial = PartialCache {
        max_rows: match options.get(MAX_ROWS).map(str::parse::<usize>) {
            None => None,
            Some(Ok(rows)) if rows > 0 => Some(rows),
            Some(_) => return options.invalid(MAX_ROWS, "a number of rows, 1 or more"),
        },
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
    let cache = match kind {
        Kind::None => LookupCache::None,
        Kind::Partial => LookupCache::Partial(partial),
        Kind::Full => LookupCache::Full { reload },
    };
    Ok(LookupOptions { cache, ..LookupOptions::default() })
}

fn millis(span: Option<Duration>) -> Option<i64> {
    span.map(|span| i64::try_from(span.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(options: &[(&str, &str)]) -> Result<LookupCache> {
        let options = options.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Ok(lookup_options("t", &options, &[])?.cache)
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
        let options = lookup_options("t", &own, &hinted)?;
        assert_eq!(options.cache, LookupCache::Partial(PartialCache::default()));
        let error = lookup_options("t", &own, &[("lookup.cash".to_string(), "x".to_string())]).unwrap_err();
        assert!(error.to_string().contains("did you mean 'lookup.cache'?"), "{error}");
        Ok(())
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
