//! The jobs: those of the Flink baseline, and the queries of Nexmark that are not among them.

mod baseline;
mod nexmark;

/// A query that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query {
    /// Its name; that of the baseline where it is one of those.
    pub name: &'static str,
    /// The number of events that are measured.
    pub events: u64,
    /// The keys of `kv`; 0 for the queries over Nexmark's tables.
    pub keys: u64,
    /// Whether rows are bundled (`table.exec.mini-batch`: 50,000 rows, 2 s).
    pub mini_batch: bool,
    /// Whether the sink takes `-U` rows. As Flink's `blackhole` most do without.
    pub update_before: bool,
    /// Its SQL.
    pub sql: &'static str,
}

impl Query {
    /// All queries.
    pub fn all() -> impl Iterator<Item = &'static Query> {
        baseline::QUERIES.iter().chain(&nexmark::QUERIES)
    }

    /// The query of this name.
    pub fn named(name: &str) -> Option<&'static Query> {
        Query::all().find(|query| query.name == name)
    }
}

const M: u64 = 1_000_000;

const fn query(name: &'static str, events: u64, keys: u64, sql: &'static str) -> Query {
    Query { name, events, keys, mini_batch: false, update_before: false, sql }
}
