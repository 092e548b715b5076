//! Random changelogs through random aggregations: what is left of the changelog at the end must be
//! DataFusion's answer over the rows that are left. In random batches, in several partitions, with
//! mini-batch or without, and with a restore in the middle.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::catalog::MemTable;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_streaming::ChangelogDataFrame;
use datafusion_streaming::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use datafusion_streaming::config::StreamingOptions;
use datafusion_streaming::runtime::{Checkpoint, CheckpointCoordinator, StreamElement, StreamEnvironment};
use datafusion_streaming::tables::{ChangelogSender, ChangelogTable};
use futures::StreamExt;

const RUNS: u64 = 60;

#[tokio::test]
async fn a_changelog_of_aggregates_ends_in_what_datafusion_answers() -> Result<()> {
    for seed in 1..=RUNS {
        let case = Case::random(&mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let expected = case.batch_answer().await?;
        let answer = case.streaming_answer().await?;
        assert_eq!(answer, expected, "seed {seed}: {}\n{:?}", case.query, case.options);
    }
    Ok(())
}

/// Rows as text, with how often each is there.
type Table = BTreeMap<String, i64>;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn pick(&mut self, of: &[&'static str]) -> &'static str {
        of[self.below(of.len())]
    }
}

/// A row of `t (k VARCHAR, i INT, b BIGINT, d DOUBLE, s VARCHAR, ok BOOLEAN)`. Doubles are whole
/// numbers, so that sums of them are exact in any order.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    k: Option<String>,
    i: Option<i32>,
    b: Option<i64>,
    d: Option<f64>,
    s: Option<String>,
    ok: Option<bool>,
}

impl Row {
    fn random(random: &mut Random) -> Self {
        let mut some = |bound: usize| (!random.one_in(6)).then(|| random.below(bound));
        Row {
            k: some(4).map(|k| format!("k{k}")),
            i: some(7).map(|i| i as i32 - 3),
            b: some(50).map(|b| b as i64 * 1_000_000_007 - 20),
            d: some(9).map(|d| d as f64 - 4.0),
            s: some(5).map(|s| "abcde"[s..].to_string()),
            ok: some(2).map(|ok| ok == 1),
        }
    }
}

fn schema() -> SchemaRef {
    let field = |(name, data_type): (&str, DataType)| Field::new(name, data_type, true);
    let fields = [
        ("k", DataType::Utf8),
        ("i", DataType::Int32),
        ("b", DataType::Int64),
        ("d", DataType::Float64),
        ("s", DataType::Utf8),
        ("ok", DataType::Boolean),
    ];
    Arc::new(Schema::new(fields.into_iter().map(field).collect::<Vec<_>>()))
}

fn batch<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> Result<RecordBatch> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.clone().map(|row| row.k.clone()).collect::<StringArray>()),
        Arc::new(rows.clone().map(|row| row.i).collect::<Int32Array>()),
        Arc::new(rows.clone().map(|row| row.b).collect::<Int64Array>()),
        Arc::new(rows.clone().map(|row| row.d).collect::<Float64Array>()),
        Arc::new(rows.clone().map(|row| row.s.clone()).collect::<StringArray>()),
        Arc::new(rows.map(|row| row.ok).collect::<BooleanArray>()),
    ];
    Ok(RecordBatch::try_new(schema(), columns)?)
}

/// A query, its input and how it runs.
struct Case {
    query: String,
    mode: ChangelogMode,
    changes: Vec<(RowKind, Row)>,
    /// The rows at the end.
    live: Vec<Row>,
    /// The lengths of batches, over and over.
    cuts: Vec<usize>,
    /// After how many changes the query is restored.
    restore: Option<usize>,
    options: StreamingOptions,
}

impl Case {
    fn random(random: &mut Random) -> Self {
        let retracting = !random.one_in(3);
        let (mut changes, mut live) = (vec![], vec![]);
        for _ in 0..30 + random.below(150) {
            match random.below(4) {
                0 if retracting && !live.is_empty() => {
                    changes.push((RowKind::Delete, live.swap_remove(random.below(live.len()))));
                }
                1 if retracting && !live.is_empty() => {
                    let place = random.below(live.len());
                    let new = Row::random(random);
                    let old = std::mem::replace(&mut live[place], new.clone());
                    changes.push((RowKind::UpdateBefore, old));
                    changes.push((RowKind::UpdateAfter, new));
                }
                _ => {
                    let new = Row::random(random);
                    live.push(new.clone());
                    changes.push((RowKind::Insert, new));
                }
            }
        }
        let mut options = StreamingOptions::default();
        options.parallelism = 1 + random.below(3);
        if random.one_in(2) {
            options.mini_batch = true;
            options.mini_batch_size = 1 + random.below(12) as u64;
            options.agg_phase_strategy = random.pick(&["AUTO", "ONE_PHASE", "TWO_PHASE"]).to_string();
        }
        Case {
            query: query(random),
            mode: if retracting { ChangelogMode::ALL } else { ChangelogMode::INSERT_ONLY },
            restore: random.one_in(2).then(|| 1 + random.below(changes.len() - 1)),
            cuts: (0..4).map(|_| 1 + random.below(20)).collect(),
            changes,
            live,
            options,
        }
    }

    fn context(&self) -> Result<SessionContext> {
        let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
        datafusion_streaming::install(&context)?;
        let state = context.state_ref();
        state.write().config_mut().options_mut().extensions.insert(self.options.clone());
        Ok(context)
    }

    async fn batch_answer(&self) -> Result<Table> {
        let context = SessionContext::new();
        let rows = batch(self.live.iter())?;
        context.register_table("t", Arc::new(MemTable::try_new(schema(), vec![vec![rows]])?))?;
        let mut table = Table::new();
        for batch in context.sql(&self.query).await?.collect().await? {
            apply(&mut table, &ChangelogBatch::insert_only(batch))?;
        }
        Ok(table)
    }

    async fn streaming_answer(&self) -> Result<Table> {
        let mut table = Table::new();
        let (first, second) = self.changes.split_at(self.restore.unwrap_or_default());
        let checkpoint = match self.restore {
            Some(_) => self.run(first, None, true, &mut table).await?,
            None => None,
        };
        self.run(second, checkpoint, false, &mut table).await?;
        table.retain(|_, count| *count != 0);
        Ok(table)
    }

    /// Runs the query over changes, to a checkpoint behind the last or to the end.
    async fn run(
        &self,
        changes: &[(RowKind, Row)],
        from: Option<Checkpoint>,
        to_checkpoint: bool,
        table: &mut Table,
    ) -> Result<Option<Checkpoint>> {
        let context = self.context()?;
        let (source, sender) = ChangelogTable::new(schema(), self.mode, changes.len() + 1);
        context.register_table("t", Arc::new(source))?;
        let every = to_checkpoint.then_some(changes.len() as u64);
        let checkpoints = Arc::new(CheckpointCoordinator::new(from, every));
        let environment =
            StreamEnvironment { checkpoints: Some(Arc::clone(&checkpoints)), ..StreamEnvironment::default() };
        self.send(&sender, changes).await?;
        // an input that is to be continued does not end
        let _open = to_checkpoint.then_some(sender);
        let frame = context.sql(&self.query).await?;
        let mut elements = frame.execute_changelog_with(environment).await?.into_elements();
        while let Some(element) = elements.next().await {
            match element? {
                StreamElement::Data(changes) => apply(table, &changes)?,
                StreamElement::Barrier(barrier) => {
                    let checkpoint = checkpoints.complete(barrier);
                    return checkpoint
                        .map(Some)
                        .ok_or_else(|| exec_datafusion_err!("nothing took part in the checkpoint"));
                }
                StreamElement::Watermark(_) | StreamElement::Idle => {}
            }
        }
        Ok(None)
    }

    async fn send(&self, sender: &ChangelogSender, changes: &[(RowKind, Row)]) -> Result<()> {
        let mut rest = changes;
        for cut in self.cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (next, others) = rest.split_at((*cut).min(rest.len()));
            let kinds = next.iter().map(|(kind, _)| *kind).collect();
            sender.send(ChangelogBatch::try_new(batch(next.iter().map(|(_, row)| row))?, kinds)?).await?;
            rest = others;
        }
        Ok(())
    }
}

/// An aggregation of `t`.
fn query(random: &mut Random) -> String {
    let keys = random.pick(&["k", "i", "k, ok", "s, i", "CONCAT(k, s)"]);
    let argument = |random: &mut Random, of: &[&'static str]| {
        let distinct = if random.one_in(3) { "DISTINCT " } else { "" };
        format!("{distinct}{}", random.pick(of))
    };
    let call = |random: &mut Random, number: usize| {
        let call = match random.below(7) {
            0 => "COUNT(*)".to_string(),
            1 => format!("COUNT({})", argument(random, &["i", "b", "d", "s", "ok"])),
            2 => format!("SUM({})", argument(random, &["i", "b", "d", "i + 1"])),
            3 => format!("AVG({})", random.pick(&["i", "b", "d"])),
            4 => format!("MIN({})", argument(random, &["i", "b", "d", "s"])),
            5 => format!("MAX({})", argument(random, &["i", "b", "d", "s"])),
            // a function without a state of ours
            _ => format!("BIT_XOR({})", random.pick(&["i", "b"])),
        };
        let filter = match random.below(4) {
            0 => " FILTER (WHERE ok)",
            1 => " FILTER (WHERE i > 0)",
            _ => "",
        };
        format!("{call}{filter} AS a{number}")
    };
    let calls: Vec<String> = (0..1 + random.below(5)).map(|number| call(random, number)).collect();
    let grouping = match keys.contains(", ") && random.one_in(2) {
        true => random.pick(&["ROLLUP", "CUBE"]),
        false => "",
    };
    let by = if grouping.is_empty() { keys.to_string() } else { format!("{grouping} ({keys})") };
    format!("SELECT {keys}, {} FROM t GROUP BY {by}", calls.join(", "))
}

/// Applies changes to a table.
fn apply(table: &mut Table, changes: &ChangelogBatch) -> Result<()> {
    let options = FormatOptions::default().with_null("NULL");
    let columns = changes.batch().columns();
    let columns = columns
        .iter()
        .map(|column| ArrayFormatter::try_new(column, &options))
        .collect::<Result<Vec<_>, _>>()?;
    for row in 0..changes.num_rows() {
        let text: Vec<String> = columns.iter().map(|column| column.value(row).to_string()).collect();
        let sign = if changes.kind(row).is_retraction() { -1 } else { 1 };
        *table.entry(text.join(" | ")).or_default() += sign;
    }
    Ok(())
}
