//! Random changelogs of random tables through random aggregations: what is left of the changelog at the end must
//! be DataFusion's answer over the rows that are left. In random batches, in several partitions, with mini-batch
//! or without, with DISTINCT split or not, and with restores on the way.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef, TimeUnit};
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

/// A column of `t`: its type, and how many different values it has.
#[derive(Debug, Clone)]
struct ColumnOf {
    name: String,
    data_type: DataType,
    values: usize,
}

impl ColumnOf {
    fn random(random: &mut Random, name: String) -> Self {
        let time = |unit| DataType::Timestamp(unit, None);
        let types = [
            DataType::Int8,
            DataType::Int16,
            DataType::Int32,
            DataType::Int64,
            DataType::UInt32,
            DataType::Float32,
            DataType::Float64,
            DataType::Decimal128(9, 2),
            DataType::Decimal128(30, 10),
            DataType::Utf8,
            DataType::LargeUtf8,
            DataType::Utf8View,
            DataType::Boolean,
            DataType::Date32,
            DataType::Time64(TimeUnit::Microsecond),
            time(TimeUnit::Second),
            time(TimeUnit::Nanosecond),
        ];
        ColumnOf { name, data_type: types[random.below(types.len())].clone(), values: 2 + random.below(9) }
    }

    fn is_number(&self) -> bool {
        self.data_type.is_numeric()
    }

    fn is_integer(&self) -> bool {
        self.data_type.is_integer()
    }

    /// An array of values, each told by a number. Floats are whole, so that sums of them are exact in any order.
    fn array(&self, numbers: impl Iterator<Item = Option<i64>>) -> Result<ArrayRef> {
        let numbers: ArrayRef = Arc::new(numbers.collect::<Int64Array>());
        let array = match self.data_type {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                let text = |number: Option<i64>| {
                    number.map(|n| ["", "a", "b", "ab", "\u{e9}"][n as usize % 5].repeat(n as usize / 5 + 1))
                };
                let texts = numbers.as_primitive::<Int64Type>().iter().map(text).collect::<StringArray>();
                cast(&texts, &self.data_type)?
            }
            DataType::Boolean => {
                let bits =
                    numbers.as_primitive::<Int64Type>().iter().map(|number| number.map(|n| n % 2 == 1));
                Arc::new(bits.collect::<BooleanArray>())
            }
            DataType::Int32 | DataType::Date32 => cast(&cast(&numbers, &DataType::Int32)?, &self.data_type)?,
            _ => cast(&numbers, &self.data_type)?,
        };
        Ok(array)
    }
}

/// `t`: columns of random types, of which the first may be keys, and at the end `ok BOOLEAN`.
fn random_columns(random: &mut Random) -> Vec<ColumnOf> {
    let mut columns: Vec<_> =
        (0..3 + random.below(4)).map(|number| ColumnOf::random(random, format!("c{number}"))).collect();
    // something to add up
    let number = [DataType::Int64, DataType::Float64, DataType::Decimal128(12, 3)][random.below(3)].clone();
    columns.push(ColumnOf { name: "n".to_string(), data_type: number, values: 9 });
    columns.push(ColumnOf { name: "ok".to_string(), data_type: DataType::Boolean, values: 2 });
    columns
}

/// The numbers of the values of a row.
type Row = Vec<Option<i64>>;

fn random_row(random: &mut Random, columns: &[ColumnOf]) -> Row {
    let signed = |column: &ColumnOf| column.is_number() && column.data_type != DataType::UInt32;
    let mut value = |column: &ColumnOf| {
        let value = (!random.one_in(6)).then(|| random.below(column.values) as i64);
        value.map(|value| if signed(column) { value - 3 } else { value })
    };
    columns.iter().map(&mut value).collect()
}

fn schema(columns: &[ColumnOf]) -> SchemaRef {
    let field = |column: &ColumnOf| Field::new(&column.name, column.data_type.clone(), true);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

fn batch<'a>(columns: &[ColumnOf], rows: impl Iterator<Item = &'a Row> + Clone) -> Result<RecordBatch> {
    let array = |(place, column): (usize, &ColumnOf)| column.array(rows.clone().map(|row| row[place]));
    let arrays = columns.iter().enumerate().map(array).collect::<Result<_>>()?;
    Ok(RecordBatch::try_new(schema(columns), arrays)?)
}

/// A query, its input and how it runs.
struct Case {
    columns: Vec<ColumnOf>,
    query: String,
    mode: ChangelogMode,
    changes: Vec<(RowKind, Row)>,
    /// The rows at the end.
    live: Vec<Row>,
    /// The lengths of batches, over and over.
    cuts: Vec<usize>,
    /// After how many changes the query is restored, ascending.
    restores: Vec<usize>,
    options: StreamingOptions,
}

impl Case {
    fn random(random: &mut Random) -> Self {
        let columns = random_columns(random);
        let retracting = !random.one_in(3);
        let (mut changes, mut live) = (vec![], vec![]);
        for _ in 0..30 + random.below(150) {
            match random.below(4) {
                0 if retracting && !live.is_empty() => {
                    changes.push((RowKind::Delete, live.swap_remove(random.below(live.len()))));
                }
                1 if retracting && !live.is_empty() => {
                    let place = random.below(live.len());
                    let new = random_row(random, &columns);
                    let old = std::mem::replace(&mut live[place], new.clone());
                    changes.push((RowKind::UpdateBefore, old));
                    changes.push((RowKind::UpdateAfter, new));
                }
                _ => {
                    let new = random_row(random, &columns);
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
        if random.one_in(3) {
            options.distinct_agg_split = true;
            options.distinct_agg_buckets = 1 + random.below(5) as u32;
        }
        if random.one_in(4) {
            // long enough for the run, but other paths
            options.state_ttl = 86_400_000;
        }
        let mut restores: Vec<_> =
            (0..random.below(4)).map(|_| 1 + random.below(changes.len() - 1)).collect();
        restores.sort_unstable();
        restores.dedup();
        Case {
            query: query(random, &columns),
            columns,
            mode: if retracting { ChangelogMode::ALL } else { ChangelogMode::INSERT_ONLY },
            restores,
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
        let rows = batch(&self.columns, self.live.iter())?;
        context.register_table("t", Arc::new(MemTable::try_new(schema(&self.columns), vec![vec![rows]])?))?;
        let mut table = Table::new();
        for batch in context.sql(&self.query).await?.collect().await? {
            apply(&mut table, &ChangelogBatch::insert_only(batch))?;
        }
        Ok(table)
    }

    async fn streaming_answer(&self) -> Result<Table> {
        let mut table = Table::new();
        let (mut checkpoint, mut from) = (None, 0);
        for to in &self.restores {
            checkpoint = self.run(&self.changes[from..*to], checkpoint, true, &mut table).await?;
            from = *to;
        }
        self.run(&self.changes[from..], checkpoint, false, &mut table).await?;
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
        let (source, sender) = ChangelogTable::new(schema(&self.columns), self.mode, changes.len() + 1);
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
            let rows = batch(&self.columns, next.iter().map(|(_, row)| row))?;
            sender.send(ChangelogBatch::try_new(rows, kinds)?).await?;
            rest = others;
        }
        Ok(())
    }
}

/// An aggregation of `t`, or one of its results.
fn query(random: &mut Random, columns: &[ColumnOf]) -> String {
    let keys = random_keys(random, columns);
    let calls: Vec<String> = (0..1 + random.below(5))
        .map(|number| format!("{} AS a{number}", random_call(random, columns)))
        .collect();
    let by = match (keys.as_slice(), random.below(5)) {
        ([_], _) | (_, 0 | 1) => keys.join(", "),
        (_, 2) => format!("ROLLUP ({})", keys.join(", ")),
        (_, 3) => format!("CUBE ({})", keys.join(", ")),
        ([one, others @ ..], _) => {
            format!("GROUPING SETS (({one}), ({}), ({one}), ())", others.join(", "))
        }
        ([], _) => "()".to_string(),
    };
    let named: Vec<String> = keys.iter().enumerate().map(|(n, key)| format!("{key} AS k{n}")).collect();
    let having = random.pick(&["", "", "", " HAVING COUNT(*) > 1", " HAVING MAX(n) > 1"]);
    let selected = named.into_iter().chain(calls).collect::<Vec<_>>().join(", ");
    let inner = format!("SELECT {selected} FROM t GROUP BY {by}{having}");
    match random.below(4) {
        0 => format!(
            "SELECT a0, COUNT(*) AS n, COUNT(DISTINCT k0) AS d, MAX(k0) AS m FROM ({inner}) GROUP BY a0"
        ),
        _ => inner,
    }
}

fn random_keys(random: &mut Random, columns: &[ColumnOf]) -> Vec<String> {
    let mut keys: Vec<String> = vec![];
    for _ in 0..1 + random.below(3) {
        let key = &columns[random.below(columns.len())];
        let key = match random.below(5) {
            0 => format!("CASE WHEN ok THEN {} END", key.name),
            _ => key.name.clone(),
        };
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

fn random_call(random: &mut Random, columns: &[ColumnOf]) -> String {
    let column = |random: &mut Random, fits: fn(&ColumnOf) -> bool| {
        let fitting: Vec<_> = columns.iter().filter(|column| fits(column)).collect();
        (!fitting.is_empty()).then(|| fitting[random.below(fitting.len())].name.clone())
    };
    let distinct = if random.one_in(2) { "DISTINCT " } else { "" };
    let ordered = |column: &ColumnOf| column.data_type != DataType::Boolean;
    // of decimals DataFusion cuts the mean off, and Flink rounds it
    let mean = |column: &ColumnOf| column.is_number() && !column.data_type.is_decimal();
    let call = match random.below(7) {
        0 => None,
        1 | 2 => column(random, |_| true).map(|arg| format!("COUNT({distinct}{arg})")),
        3 => column(random, ColumnOf::is_number).map(|arg| format!("SUM({distinct}{arg})")),
        4 => column(random, mean).map(|arg| format!("AVG({arg})")),
        5 => {
            let function = random.pick(&["MIN", "MAX"]);
            column(random, ordered).map(|arg| format!("{function}({distinct}{arg})"))
        }
        // a function without a state of ours
        _ => column(random, ColumnOf::is_integer).map(|arg| format!("BIT_XOR({arg})")),
    };
    let filter = random.pick(&["", "", " FILTER (WHERE ok)", " FILTER (WHERE n > 0)"]);
    format!("{}{filter}", call.unwrap_or_else(|| "COUNT(*)".to_string()))
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
