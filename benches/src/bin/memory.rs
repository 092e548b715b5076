//! What the states of a million keys hold: `memory [NAME…]`. One JSON line a query: the bytes that its
//! operators have reserved when all rows are in, and that by key.

use std::process::ExitCode;

use datafusion::common::{Result, exec_err};
use datafusion_streaming::changelog::ChangelogBatch;
use datafusion_streaming_benches::hand_fed::{Definition, FedTable, HandFed};
use datafusion_streaming_benches::kv::Kv;
use datafusion_streaming_benches::{Events, blocks};
use datafusion_streaming_physical_plan::runtime::StreamElement;
use datafusion_streaming_physical_plan::time::Watermark;
use serde_json::json;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const KEYS: u64 = 1_000_000;
const EVENTS: u64 = 5_000_000;

/// Queries over `kv (k, v, d, s, ts)`.
const QUERIES: [(&str, &str); 8] = [
    ("count", "SELECT k, COUNT(*) FROM kv GROUP BY k"),
    ("count_sum_max", "SELECT k, COUNT(*), SUM(v), MAX(v) FROM kv GROUP BY k"),
    ("decimal", "SELECT k, SUM(d), AVG(d), MIN(d) FROM kv GROUP BY k"),
    ("count_distinct", "SELECT k, COUNT(DISTINCT v) FROM kv GROUP BY k"),
    ("first_last", "SELECT k, FIRST_VALUE(v), LAST_VALUE(v) FROM kv GROUP BY k"),
    (
        "dedup_first",
        "SELECT k, v, d, s, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS rn FROM kv) \
         WHERE rn = 1",
    ),
    (
        "dedup_last",
        "SELECT k, v, d, s, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS rn \
         FROM kv) WHERE rn = 1",
    ),
    (
        "topn",
        "SELECT k, v, s, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS rn FROM kv) \
         WHERE rn <= 2",
    ),
];

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    match run(&names) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}\nusage: memory [NAME…]");
            ExitCode::FAILURE
        }
    }
}

fn run(names: &[String]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| !QUERIES.iter().any(|(known, _)| known == name)) {
        return exec_err!("there is no query {unknown}");
    }
    for (name, sql) in QUERIES {
        if names.is_empty() || names.iter().any(|wanted| wanted == name) {
            let bytes = state_bytes(sql)?;
            let by_key = bytes as f64 / KEYS as f64;
            println!("{}", json!({"query": name, "keys": KEYS, "bytes": bytes, "bytes_per_key": by_key}));
        }
    }
    Ok(())
}

/// The bytes that a query holds when all events are in.
fn state_bytes(sql: &'static str) -> Result<usize> {
    let generator = Kv { keys: KEYS };
    let table = FedTable { rowtime: Some(4), ..FedTable::appends(generator.schema()) };
    let query = HandFed::try_new(&Definition { tables: vec![("kv", table)], sql, ..Definition::default() })?;
    let mut running = query.start()?;
    for block in blocks(generator, EVENTS) {
        let block = block?;
        running.feed(0, StreamElement::Data(ChangelogBatch::insert_only(block.batch)))?;
        running.feed(0, StreamElement::Watermark(Watermark(block.watermark)))?;
    }
    Ok(query.state_bytes())
}
