//! How long a row takes through filter -> aggregate -> Top-N: `latency [ROWS_PER_SECOND [SECONDS]]`.
//!
//! Each row is pushed alone at its time, on a thread of its own, whether those before have come out or not; its
//! latency ends when the change that it causes has come out, and counts from the time at which it was due.
//! Prints a JSON line, in microseconds.

#![expect(clippy::disallowed_methods, reason = "latency is wall-clock time")]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{AsArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_streaming::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use datafusion_streaming::tables::{ChangelogSender, ChangelogTable};
use datafusion_streaming::{ChangelogDataFrame, FlinkSql};
use futures::StreamExt;
use tokio::runtime::Builder;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// All keys are in the Top-N, so that every row that passes the filter causes a change.
const QUERY: &str = "SELECT k, n, latest FROM ( \
     SELECT *, ROW_NUMBER() OVER (ORDER BY n DESC) AS rn FROM ( \
         SELECT k, COUNT(*) AS n, MAX(id) AS latest FROM events WHERE v > 10 GROUP BY k)) \
     WHERE rn <= 100";

const KEYS: i64 = 64;

/// Rows that come while everything is still cold are not counted.
const WARM_UP: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let (rate, seconds) = match (numbers.next(), numbers.next(), numbers.next()) {
        (None, ..) => (10_000, 10),
        (Some(Ok(rate @ 1..)), None, _) => (rate, 10),
        (Some(Ok(rate @ 1..)), Some(Ok(seconds @ 1..)), None) => (rate, seconds),
        _ => {
            eprintln!("usage: latency [ROWS_PER_SECOND [SECONDS]]");
            return ExitCode::FAILURE;
        }
    };
    match measure(rate, seconds) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(rate: u64, seconds: u64) -> Result<serde_json::Value> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| exec_datafusion_err!("no runtime: {error}"))?;
    let schedule = Schedule { start: Instant::now() + Duration::from_millis(100), rate };
    let first = (WARM_UP.as_secs_f64() * rate as f64) as u64;
    let rows = first + rate * seconds;
    let mut micros = runtime.block_on(async {
        let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(1));
        datafusion_streaming::install(&context)?;
        let (table, sender) = ChangelogTable::new(schema(), ChangelogMode::INSERT_ONLY, 1024);
        context.register_table("events", Arc::new(table))?;
        let mut changelog = context.flink_sql(QUERY).await?.execute_changelog().await?;
        let sending = std::thread::spawn(move || send(&sender, schedule, rows));
        let mut micros = vec![];
        while let Some(changes) = changelog.next().await.transpose()? {
            let now = Instant::now();
            let latest = changes.batch().column(2).as_primitive::<Int64Type>().values();
            for (row, id) in latest.iter().enumerate() {
                let is_new = matches!(changes.kind(row), RowKind::Insert | RowKind::UpdateAfter);
                if is_new && *id as u64 >= first {
                    let latency = now.saturating_duration_since(schedule.due(*id as u64));
                    micros.push(latency.as_secs_f64() * 1e6);
                }
            }
        }
        match sending.join() {
            Ok(sent) => sent?,
            Err(_) => return Err(exec_datafusion_err!("the thread that sends rows has failed")),
        }
        Ok::<_, datafusion::error::DataFusionError>(micros)
    })?;
    micros.sort_by(f64::total_cmp);
    let quantile = |part: f64| micros.get(((micros.len() as f64 * part) as usize).min(micros.len() - 1));
    Ok(serde_json::json!({
        "rows_per_s": rate,
        "changes": micros.len(),
        "p50_us": quantile(0.5),
        "p99_us": quantile(0.99),
        "p99.9_us": quantile(0.999),
        "max_us": micros.last(),
    }))
}

/// When each row is due.
#[derive(Clone, Copy)]
struct Schedule {
    start: Instant,
    rate: u64,
}

impl Schedule {
    fn due(&self, row: u64) -> Instant {
        self.start + Duration::from_secs_f64(row as f64 / self.rate as f64)
    }
}

fn schema() -> SchemaRef {
    let field = |name: &str| Field::new(name, DataType::Int64, false);
    Arc::new(Schema::new(vec![field("k"), field("v"), field("id")]))
}

fn send(sender: &ChangelogSender, schedule: Schedule, rows: u64) -> Result<()> {
    for row in 0..rows {
        let id = row as i64;
        let values = [id * 7 % KEYS, id * 13 % 100, id];
        let columns = values.map(|value| Arc::new(Int64Array::from(vec![value])) as _);
        let batch = RecordBatch::try_new(schema(), columns.to_vec())?;
        // sleeping is too coarse for what is left
        let due = schedule.due(row);
        std::thread::sleep(
            due.saturating_duration_since(Instant::now()).saturating_sub(Duration::from_millis(1)),
        );
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        futures::executor::block_on(sender.send(ChangelogBatch::insert_only(batch)))?;
    }
    Ok(())
}
