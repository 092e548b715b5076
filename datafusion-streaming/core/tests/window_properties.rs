//! Windows against a direct model: each row is assigned to its windows by trying all of them, the windows are
//! grouped and aggregated one by one, and what is late is decided by a watermark rule of the test's own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::DateTime;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, TimestampMillisecondArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::common::Result;
use datafusion::prelude::SessionContext;
use datafusion_streaming::changelog::pretty::changelog_lines;
use datafusion_streaming::changelog::{ChangelogBatch, ChangelogMode};
use datafusion_streaming::runtime::{Checkpoint, CheckpointCoordinator, StreamElement, StreamEnvironment};
use datafusion_streaming::tables::{ChangelogSender, ChangelogTable};
use datafusion_streaming::{ChangelogDataFrame, FlinkSql, install};
use futures::StreamExt;

/// A generator of small numbers that gives the same ones on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound as u64) as i64
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as i64) as usize]
    }
}

/// Windows, all times in seconds.
#[derive(Debug, Clone, Copy)]
enum Windows {
    Tumble { size: i64, offset: i64 },
    Hop { slide: i64, size: i64, offset: i64 },
    Cumulate { step: i64, size: i64, offset: i64 },
    Session { gap: i64 },
}

impl Windows {
    fn random(kind: i64, random: &mut Random) -> Windows {
        let unit = 1 + random.below(9);
        match kind {
            0 => Windows::Tumble { size: unit + 1, offset: random.below(2 * unit + 1) - unit },
            1 => {
                let size = unit * (1 + random.below(4));
                Windows::Hop { slide: unit, size, offset: random.below(2 * size - 1) - (size - 1) }
            }
            2 => {
                let size = unit * (1 + random.below(4));
                Windows::Cumulate { step: unit, size, offset: random.below(2 * size - 1) - (size - 1) }
            }
            _ => Windows::Session { gap: unit },
        }
    }

    /// The call of the table function over the table `t`.
    fn sql(self) -> String {
        let call = |name: &str, intervals: &[i64]| {
            let intervals: Vec<_> =
                intervals.iter().map(|seconds| format!("INTERVAL '{seconds}' SECOND")).collect();
            format!("TABLE({name}(TABLE t, DESCRIPTOR(ts), {}))", intervals.join(", "))
        };
        match self {
            Windows::Tumble { size, offset } => call("TUMBLE", &[size, offset]),
            Windows::Hop { slide, size, offset } => call("HOP", &[slide, size, offset]),
            Windows::Cumulate { step, size, offset } => call("CUMULATE", &[step, size, offset]),
            Windows::Session { gap } => {
                format!("TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '{gap}' SECOND))")
            }
        }
    }

    /// The windows of a time on the wall, by trying every start and every end; of a session that of the
    /// row by itself.
    fn of(self, time: i64) -> Vec<(i64, i64)> {
        let starts = |size: i64, every: i64, offset: i64| {
            (time - size + 1..=time).filter(move |start| (start - offset).rem_euclid(every) == 0)
        };
        match self {
            Windows::Tumble { size, offset } => {
                starts(size, size, offset).map(|start| (start, start + size)).collect()
            }
            Windows::Hop { slide, size, offset } => {
                starts(size, slide, offset).map(|start| (start, start + size)).collect()
            }
            Windows::Cumulate { step, size, offset } => starts(size, size, offset)
                .flat_map(|start| (1..=size / step).map(move |steps| (start, start + steps * step)))
                .filter(|(_, end)| *end > time)
                .collect(),
            Windows::Session { gap } => vec![(time, time + gap)],
        }
    }
}

/// A row: key, time in seconds, value.
type Row = (i64, i64, i64);

/// Rows that come together, and the watermark behind them, in seconds.
type Batches = Vec<(Vec<Row>, i64)>;

/// A case: what is asked, and of which rows.
#[derive(Debug)]
struct Case {
    windows: Windows,
    /// The session's zone, of TIMESTAMP_LTZ times, and what its wall clock is ahead of UTC, in seconds.
    zone: Option<(&'static str, i64)>,
    lateness: i64,
    parallelism: usize,
    phases: &'static str,
    batches: Batches,
}

impl Case {
    fn random(kind: i64, random: &mut Random) -> Case {
        // before and after 1970, and across it
        let base = random.one_of(&[-1_000_000, -60, 1_706_000_000]);
        let (delay, jitter) = (random.below(12), 1 + random.below(25));
        let (mut batches, mut largest): (Batches, i64) = (vec![], i64::MIN);
        let mut number = 0;
        while number < 90 {
            let rows: Vec<Row> = (0..1 + random.below(4))
                .map(|_| {
                    number += 1;
                    (random.below(3), base + number - random.below(jitter), random.below(5))
                })
                .collect();
            largest = rows.iter().map(|row| row.1).fold(largest, i64::max);
            batches.push((rows, largest - delay));
        }
        Case {
            windows: Windows::random(kind, random),
            zone: random.one_of(&[
                None,
                None,
                Some(("Asia/Kolkata", 19_800)),
                Some(("GMT-03:30", -12_600)),
                Some(("America/New_York", -18_000)),
            ]),
            lateness: random.one_of(&[0, 0, 4, 9]),
            parallelism: random.one_of(&[1, 4]),
            phases: random.one_of(&["AUTO", "ONE_PHASE", "TWO_PHASE"]),
            batches,
        }
    }

    /// Whether a window that ends at this time on the wall takes no rows any more.
    fn is_gone(&self, end: i64, watermark: i64) -> bool {
        let ahead = self.zone.map_or(0, |(_, ahead)| ahead);
        // the last millisecond of the window, and the watermark, which is a whole second
        (end + self.lateness - ahead) * 1_000 - 1 <= watermark.saturating_mul(1_000)
    }
}

/// What a query is to answer: the lines of the table at the end, and the late rows.
fn expected(case: &Case) -> (Vec<String>, Vec<String>) {
    let mut groups: BTreeMap<((i64, i64), i64), Vec<i64>> = BTreeMap::new();
    let (mut late, mut watermark) = (vec![], i64::MIN / 1_000);
    for (rows, behind) in &case.batches {
        for (key, time, value) in rows {
            let windows = case.windows.of(time + case.zone.map_or(0, |(_, ahead)| ahead));
            let taken = match case.windows {
                Windows::Session { .. } => {
                    join_session(case, &mut groups, windows[0], *key, *value, watermark)
                }
                _ => {
                    let open = windows.into_iter().filter(|window| !case.is_gone(window.1, watermark));
                    let open: Vec<_> = open.collect();
                    open.iter().for_each(|window| groups.entry((*window, *key)).or_default().push(*value));
                    !open.is_empty()
                }
            };
            if !taken {
                late.push(format!("{key} {value}"));
            }
        }
        watermark = watermark.max(*behind);
    }
    let wall = |seconds: i64| {
        DateTime::from_timestamp(seconds, 0).map(|time| time.format("%Y-%m-%dT%H:%M:%S").to_string())
    };
    let line = |(((start, end), key), values): (((i64, i64), i64), Vec<i64>)| {
        let (sum, max) = (values.iter().sum::<i64>(), values.iter().max().copied().unwrap_or_default());
        let distinct = values.iter().collect::<BTreeSet<_>>().len();
        let (start, end) = (wall(start).unwrap_or_default(), wall(end).unwrap_or_default());
        format!("{start} {end} {key} {} {sum} {max} {distinct}", values.len())
    };
    let mut lines: Vec<String> = groups.into_iter().map(line).collect();
    lines.sort();
    late.sort();
    (lines, late)
}

/// Unites a row with the sessions of its key that it touches and that still take rows; whether it is in one.
fn join_session(
    case: &Case,
    groups: &mut BTreeMap<((i64, i64), i64), Vec<i64>>,
    window: (i64, i64),
    key: i64,
    value: i64,
    watermark: i64,
) -> bool {
    let touches = |((start, end), other): &&((i64, i64), i64)| {
        *other == key && *start <= window.1 && *end >= window.0 && !case.is_gone(*end, watermark)
    };
    let joined: Vec<_> = groups.keys().filter(touches).copied().collect();
    if joined.is_empty() && case.is_gone(window.1, watermark) {
        return false;
    }
    let (mut united, mut values) = (window, vec![]);
    for session in joined {
        united = (united.0.min(session.0.0), united.1.max(session.0.1));
        values.extend(groups.remove(&session).unwrap_or_default());
    }
    values.push(value);
    groups.insert((united, key), values);
    true
}

fn schema(case: &Case) -> SchemaRef {
    let zone = case.zone.map(|_| Arc::from("UTC"));
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int64, false),
        Field::new("ts", DataType::Timestamp(TimeUnit::Millisecond, zone), false),
        Field::new("v", DataType::Int64, false),
    ]))
}

async fn session(case: &Case) -> Result<(SessionContext, ChangelogSender)> {
    let ctx = SessionContext::new();
    install(&ctx)?;
    let mut options = vec![
        ("parallelism.default", case.parallelism.to_string()),
        ("table.optimizer.agg-phase-strategy", case.phases.to_string()),
        ("streaming.window.allowed_lateness", format!("{} s", case.lateness)),
    ];
    options.extend(case.zone.map(|(zone, _)| ("table.local-time-zone", zone.to_string())));
    for (key, value) in options {
        ctx.flink_sql(&format!("SET '{key}' = '{value}'")).await?.collect().await?;
    }
    let (table, sender) = ChangelogTable::new(schema(case), ChangelogMode::INSERT_ONLY, 1_000);
    ctx.register_table("t", Arc::new(table.with_rowtime("ts")?))?;
    Ok((ctx, sender))
}

async fn push(case: &Case, sender: &ChangelogSender, batches: &[(Vec<Row>, i64)]) -> Result<()> {
    for (rows, watermark) in batches {
        let column = |value: fn(&Row) -> i64| rows.iter().map(value).collect::<Vec<_>>();
        let times = TimestampMillisecondArray::from(column(|row| row.1 * 1_000));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(column(|row| row.0))),
            Arc::new(times.with_timezone_opt(case.zone.map(|_| "UTC"))),
            Arc::new(Int64Array::from(column(|row| row.2))),
        ];
        let batch = RecordBatch::try_new(schema(case), columns)?;
        sender.send(ChangelogBatch::insert_only(batch)).await?;
        sender.watermark(watermark * 1_000).await?;
    }
    Ok(())
}

/// The changelog of a query: lines with their kinds. With `cut` the query is dropped behind so many batches
/// and restored from a snapshot.
async fn answered(case: &Case, query: &str, cut: Option<usize>) -> Result<Vec<String>> {
    let mut lines = vec![];
    let (before, after) = case.batches.split_at(cut.unwrap_or_default());
    let mut restored: Option<Checkpoint> = None;
    if !before.is_empty() {
        let (ctx, sender) = session(case).await?;
        let checkpoints = Arc::new(CheckpointCoordinator::new(None, None));
        let environment =
            StreamEnvironment { checkpoints: Some(Arc::clone(&checkpoints)), ..StreamEnvironment::default() };
        let running = ctx.flink_sql(query).await?.execute_changelog_with(environment).await?;
        let mut elements = running.into_elements();
        push(case, &sender, before).await?;
        // all has been seen when the watermark behind it comes out
        let last = before.iter().map(|(_, watermark)| watermark * 1_000).max();
        while restored.is_none() {
            match elements.next().await.transpose()? {
                None => break,
                Some(StreamElement::Data(changes)) => lines.extend(changelog_lines([&changes])?),
                Some(StreamElement::Watermark(watermark)) if Some(watermark.0) == last => {
                    checkpoints.trigger();
                }
                Some(StreamElement::Barrier(barrier)) => restored = checkpoints.complete(barrier),
                Some(_) => {}
            }
        }
        assert!(restored.is_some(), "no checkpoint was taken");
    }
    let (ctx, sender) = session(case).await?;
    let checkpoints = Some(Arc::new(CheckpointCoordinator::new(restored, None)));
    let environment = StreamEnvironment { checkpoints, ..StreamEnvironment::default() };
    let mut changelog = ctx.flink_sql(query).await?.execute_changelog_with(environment).await?;
    push(case, &sender, after).await?;
    drop(sender);
    while let Some(changes) = changelog.next().await.transpose()? {
        lines.extend(changelog_lines([&changes])?);
    }
    Ok(lines)
}

/// The table that a changelog ends with; nothing may be taken back that is not there.
fn final_table(changelog: &[String]) -> Vec<String> {
    let mut table: BTreeMap<&str, i64> = BTreeMap::new();
    for line in changelog {
        let (kind, row) = line.split_at(3);
        let count = table.entry(row).or_default();
        *count += if kind.starts_with('+') { 1 } else { -1 };
        assert!((0..=1).contains(count), "{line} in\n{}", changelog.join("\n"));
    }
    table.into_iter().filter(|(_, count)| *count == 1).map(|(row, _)| row.to_string()).collect()
}

#[tokio::test]
async fn windows_are_what_the_model_says() -> Result<()> {
    let mut random = Random(0x51de);
    let (mut windows, mut late_rows) = (0, 0);
    for number in 0..48 {
        let case = Case::random(number % 4, &mut random);
        let (lines, late) = expected(&case);
        let query = format!(
            "SELECT window_start, window_end, k, COUNT(*), SUM(v), MAX(v), COUNT(DISTINCT v) FROM {} \
             GROUP BY window_start, window_end, k",
            case.windows.sql()
        );
        // where the watermark has gone on, so that it comes out
        let is_cut = |place: &usize| case.batches[*place].1 > case.batches[*place - 1].1;
        let cuts: Vec<usize> = (1..case.batches.len()).filter(is_cut).map(|place| place + 1).collect();
        let cut = (number % 2 == 0).then(|| random.one_of(&cuts));
        let changelog = answered(&case, &query, cut).await?;
        assert_eq!(final_table(&changelog), lines, "cut behind {cut:?}: {case:?}");
        if case.lateness == 0 {
            assert!(changelog.iter().all(|line| line.starts_with("+I")), "{case:?}");
        }

        let query = format!("SELECT k, v FROM LATE_ROWS((SELECT * FROM {}))", case.windows.sql());
        let mut changelog = answered(&case, &query, cut).await?;
        changelog.sort();
        let expected: Vec<String> = late.iter().map(|row| format!("+I {row}")).collect();
        assert_eq!(changelog, expected, "late rows, cut behind {cut:?}: {case:?}");
        (windows, late_rows) = (windows + lines.len(), late_rows + late.len());
    }
    assert!(windows > 1_000 && late_rows > 100, "only {windows} windows and {late_rows} late rows");
    Ok(())
}
