//! The window aggregations against a direct model: random rows out of order, assigned, grouped and summed one by
//! one, with the watermark rule written anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, TimestampMillisecondArray};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef, TimeUnit, TimestampMillisecondType};
use datafusion_common::{JoinSide, JoinType, Result};
use datafusion_streaming_udfs::aggregate::{Count, Max, StreamingAggregate, Sum};

use super::aggregate::AggregateCall;
use super::late_rows::{LateFor, LateRowsNode};
use super::local_window_aggregate::{LocalWindowAggregateNode, SliceSource};
use super::session::{SessionAggregateNode, SessionTvfNode};
use super::slice_aggregate::SliceAggregateNode;
use super::testing::Random;
use super::window_aggregate::{EmitStrategy, GroupColumn, WindowAggregateNode};
use super::window_join::{WindowColumns, WindowJoinInput, WindowJoinNode};
use super::window_rank::WindowRankNode;
use super::window_tvf::WindowTvfNode;
use crate::changelog::{ChangelogBatch, ChangelogMode, RowKind};
use crate::runtime::{Driver, Operator, StreamElement, StreamNode, WindowProperties};
use crate::time::{LocalZone, Watermark, WindowAssigner};

/// A row: kind, key, time, value.
type Row = (RowKind, i64, i64, i64);

/// A line of the result: window, key, and what is aggregated.
type Line = ((i64, i64), i64, Vec<i64>);

fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Millisecond, None)
}

fn input() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int64, true),
        Field::new("ts", timestamp(), false),
        Field::new("v", DataType::Int64, true),
    ]))
}

fn output() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("window_start", timestamp(), false),
        Field::new("window_end", timestamp(), false),
        Field::new("k", DataType::Int64, true),
        Field::new("count", DataType::Int64, false),
        Field::new("sum", DataType::Int64, true),
        Field::new("max", DataType::Int64, true),
    ]))
}

fn calls() -> Vec<AggregateCall> {
    let functions: [Arc<dyn StreamingAggregate>; 3] = [Arc::new(Count), Arc::new(Sum), Arc::new(Max)];
    let call = |function: Arc<dyn StreamingAggregate>| AggregateCall {
        display: function.name().to_string(),
        args: if function.name() == "count" { vec![] } else { vec![2] },
        function,
        filter: None,
        distinct: false,
        ignore_nulls: false,
        appends_only: false,
        return_type: DataType::Int64,
    };
    functions.into_iter().map(call).collect()
}

const GROUP: [GroupColumn; 3] = [GroupColumn::WindowStart, GroupColumn::WindowEnd, GroupColumn::Key(0)];

fn mode(rows: &[Row]) -> ChangelogMode {
    rows.iter().fold(ChangelogMode::INSERT_ONLY, |mode, row| mode.with(row.0))
}

/// Windows assigned by the table function, and then aggregated.
fn attached(assigner: WindowAssigner, mode: ChangelogMode) -> Result<Vec<Driver>> {
    let windows = WindowTvfNode::try_new(1, assigner, LocalZone::UTC, &input())?;
    Ok(vec![driver(windows.operator())?, driver(attached_node(assigner, mode)?.operator()?)?])
}

fn attached_node(assigner: WindowAssigner, mode: ChangelogMode) -> Result<WindowAggregateNode> {
    let schema = WindowTvfNode::try_new(1, assigner, LocalZone::UTC, &input())?.schema();
    let properties = WindowProperties {
        start: vec![3],
        end: vec![4],
        time: vec![5],
        assigner,
        rowtime: true,
        local_time: false,
    };
    let zone = LocalZone::UTC;
    Ok(WindowAggregateNode::new(GROUP.to_vec(), &properties, 4, zone, calls(), schema, output(), mode))
}

fn sliced(assigner: WindowAssigner, mode: ChangelogMode) -> Result<Vec<Driver>> {
    let windows = WindowTvfNode::try_new(1, assigner, LocalZone::UTC, &input())?;
    let node = SliceAggregateNode::new(windows, GROUP.to_vec(), calls(), input(), output(), mode);
    Ok(vec![driver(node.operator()?)?])
}

fn sessions(gap: i64, mode: ChangelogMode) -> Result<Vec<Driver>> {
    let sessions = SessionTvfNode::try_new(1, gap, vec![0], LocalZone::UTC, input())?;
    let node = SessionAggregateNode::new(sessions, GROUP.to_vec(), calls(), input(), output(), mode);
    Ok(vec![driver(node.operator()?)?])
}

fn driver(operator: impl Operator + 'static) -> Result<Driver> {
    Driver::detached(Box::new(operator), 1, 4096)
}

/// Rows in random order around a time that goes on; with retractions of earlier rows, if asked for.
fn rows(random: &mut Random, retracting: bool) -> Vec<Row> {
    let mut rows: Vec<Row> = vec![];
    for number in 0..200 {
        let earlier = match rows.is_empty() {
            true => None,
            false => Some(random.below(rows.len() as i64) as usize),
        };
        match earlier.map(|earlier| rows[earlier]) {
            Some((RowKind::Insert, key, time, value)) if retracting && random.below(4) == 0 => {
                // each row is taken back once at most, so that no group has fewer rows than none
                let taken = rows.iter().filter(|row| **row == (RowKind::Delete, key, time, value)).count();
                let added = rows.iter().filter(|row| **row == (RowKind::Insert, key, time, value)).count();
                if taken < added {
                    rows.push((RowKind::Delete, key, time, value));
                }
            }
            _ => {
                let time = number * 20 - random.below(150) - 1_000;
                rows.push((RowKind::Insert, random.below(3), time, random.below(100)));
            }
        }
    }
    rows
}

/// What a chain of operators answers, the watermark after each batch being `delay` behind the largest time.
fn answer(mut chain: Vec<Driver>, rows: &[Row], delay: i64, random: &mut Random) -> Result<Vec<Line>> {
    let mut lines = vec![];
    let (mut largest, mut rest) = (i64::MIN, rows);
    while !rest.is_empty() {
        let (batch, others) = rest.split_at(rest.len().min(1 + random.below(4) as usize));
        rest = others;
        // rows of one batch are seen with the watermark of the rows before it, so that each row comes alone
        for row in batch {
            push(&mut chain, StreamElement::Data(batch_of(std::slice::from_ref(row))?), &mut lines)?;
            largest = largest.max(row.2);
            push(&mut chain, StreamElement::Watermark(Watermark(largest - delay)), &mut lines)?;
        }
    }
    push(&mut chain, StreamElement::Watermark(Watermark::MAX), &mut lines)?;
    lines.sort();
    Ok(lines)
}

fn push(chain: &mut [Driver], element: StreamElement, lines: &mut Vec<Line>) -> Result<()> {
    let Some((first, rest)) = chain.split_first_mut() else {
        if let StreamElement::Data(changes) = element {
            assert!(changes.kinds().is_none(), "windows are emitted once");
            lines.extend(lines_of(changes.batch()));
        }
        return Ok(());
    };
    first.input(0, element, 0)?;
    while let Some(element) = first.pop() {
        push(rest, element, lines)?;
    }
    Ok(())
}

fn batch_of(rows: &[Row]) -> Result<ChangelogBatch> {
    let column = |value: fn(&Row) -> i64| rows.iter().map(value).collect::<Vec<_>>();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(column(|row| row.1))),
        Arc::new(TimestampMillisecondArray::from(column(|row| row.2))),
        Arc::new(Int64Array::from(column(|row| row.3))),
    ];
    let kinds = rows.iter().map(|row| row.0).collect();
    ChangelogBatch::try_new(RecordBatch::try_new(input(), columns)?, kinds)
}

fn lines_of(batch: &RecordBatch) -> Vec<Line> {
    let time = |column: usize, row: usize| {
        batch.column(column).as_primitive::<TimestampMillisecondType>().value(row)
    };
    let number = |column: usize, row: usize| batch.column(column).as_primitive::<Int64Type>().value(row);
    let line = |row| {
        let values = (3..6).map(|column| number(column, row)).collect();
        ((time(0, row), time(1, row)), number(2, row), values)
    };
    (0..batch.num_rows()).map(line).collect()
}

/// All windows of a time, by trying every start.
fn windows_of(assigner: WindowAssigner, time: i64) -> Vec<(i64, i64)> {
    let starts = |size: i64, every: i64, offset: i64| {
        (time - size + 1..=time).filter(move |start| (start - offset).rem_euclid(every) == 0)
    };
    match assigner {
        WindowAssigner::Tumble { size, offset } => {
            starts(size, size, offset).map(|start| (start, start + size)).collect()
        }
        WindowAssigner::Hop { slide, size, offset } => {
            starts(size, slide, offset).map(|start| (start, start + size)).collect()
        }
        WindowAssigner::Cumulate { step, max_size, offset } => {
            let start = starts(max_size, max_size, offset).next().unwrap_or(time);
            let ends = (1..=max_size / step).map(|steps| start + steps * step);
            ends.filter(|end| *end > time).map(|end| (start, end)).collect()
        }
        WindowAssigner::Session { gap } => vec![(time, time + gap)],
    }
}

/// A window and a key, and their rows.
type Group = (((i64, i64), i64), Vec<(RowKind, i64)>);
type Groups = BTreeMap<((i64, i64), i64), Vec<(RowKind, i64)>>;

fn expected(assigner: WindowAssigner, rows: &[Row], delay: i64) -> Vec<Line> {
    let mut groups: Groups = BTreeMap::new();
    let mut watermark = i64::MIN;
    for (kind, key, time, value) in rows {
        for window in windows_of(assigner, *time) {
            match assigner {
                WindowAssigner::Session { .. } => {
                    join_session(&mut groups, window, *key, (*kind, *value), watermark);
                }
                _ if window.1 - 1 > watermark => {
                    groups.entry((window, *key)).or_default().push((*kind, *value));
                }
                _ => {}
            }
        }
        watermark = watermark.max(time - delay);
    }
    let line = |(((start, end), key), values): Group| {
        let mut left: Vec<i64> = vec![];
        let mut taken: Vec<i64> = vec![];
        for (kind, value) in values {
            if kind == RowKind::Insert { left.push(value) } else { taken.push(value) }
        }
        for value in taken {
            left.remove(left.iter().position(|other| *other == value)?);
        }
        let max = *left.iter().max()?;
        Some(((start, end), key, vec![left.len() as i64, left.iter().sum(), max]))
    };
    let mut lines: Vec<Line> = groups.into_iter().filter_map(line).collect();
    lines.sort();
    lines
}

/// Unites a row's window with the sessions of its key that it touches and that have not fired.
fn join_session(groups: &mut Groups, window: (i64, i64), key: i64, row: (RowKind, i64), watermark: i64) {
    let touches = |((start, end), other): &&((i64, i64), i64)| {
        *other == key && *start <= window.1 && *end >= window.0 && end - 1 > watermark
    };
    let joined: Vec<_> = groups.keys().filter(touches).copied().collect();
    let mut united = window;
    let mut values = vec![];
    for session in joined {
        united = (united.0.min(session.0.0), united.1.max(session.0.1));
        values.extend(groups.remove(&session).unwrap_or_default());
    }
    if united.1 - 1 > watermark {
        values.push(row);
        groups.insert((united, key), values);
    }
}

/// Chains that must answer the same, for a kind of windows.
type Chain = fn(WindowAssigner, ChangelogMode) -> Result<Vec<Driver>>;

#[test]
fn random_rows_are_aggregated_as_by_hand() -> Result<()> {
    let mut random = Random(0x5eed);
    let mut compared = 0;
    for _ in 0..3 {
        let offset = random.below(200) - 100;
        let every: [(WindowAssigner, Vec<Chain>); 4] = [
            (WindowAssigner::Tumble { size: 70, offset: offset % 70 }, vec![attached]),
            (WindowAssigner::Hop { slide: 30, size: 120, offset }, vec![attached, sliced]),
            (WindowAssigner::Hop { slide: 50, size: 30, offset: 0 }, vec![attached]),
            (WindowAssigner::Cumulate { step: 40, max_size: 160, offset }, vec![attached, sliced]),
        ];
        for delay in [0, 60, 400] {
            let rows = rows(&mut random, false);
            for (assigner, chains) in &every {
                let expected = expected(*assigner, &rows, delay);
                for chain in chains {
                    let chain = chain(*assigner, mode(&rows))?;
                    assert_eq!(
                        answer(chain, &rows, delay, &mut random)?,
                        expected,
                        "{assigner}, delay {delay}"
                    );
                }
                compared += expected.len();
            }
            for gap in [1, 15, 45] {
                let expected = expected(WindowAssigner::Session { gap }, &rows, delay);
                let answered = answer(sessions(gap, mode(&rows))?, &rows, delay, &mut random)?;
                assert_eq!(answered, expected, "gap {gap}, delay {delay}");
                compared += expected.len();
            }
        }
    }
    assert!(compared > 1_000, "only {compared} windows were compared");
    Ok(())
}

#[test]
fn random_changelogs_are_aggregated_as_by_hand() -> Result<()> {
    let mut random = Random(0xc4a6e);
    // nothing is late: which of a row and its retraction would be dropped, is another matter
    let delay = 100_000;
    for _ in 0..3 {
        let rows = rows(&mut random, true);
        let hop = WindowAssigner::Hop { slide: 30, size: 120, offset: 7 };
        for chain in [attached, sliced] {
            let answered = answer(chain(hop, mode(&rows))?, &rows, delay, &mut random)?;
            assert_eq!(answered, expected(hop, &rows, delay));
        }
        let session = WindowAssigner::Session { gap: 45 };
        let answered = answer(sessions(45, mode(&rows))?, &rows, delay, &mut random)?;
        assert_eq!(answered, expected(session, &rows, delay));
    }
    Ok(())
}

/// Partial aggregates of slices, and then their windows.
fn in_two_phases(assigner: WindowAssigner, mode: ChangelogMode) -> Result<Vec<Driver>> {
    let windows = WindowTvfNode::try_new(1, assigner, LocalZone::UTC, &input())?;
    let slices = SliceSource::Time(windows.clone());
    let local = LocalWindowAggregateNode::try_new(vec![0], slices, calls(), input(), !mode.is_insert_only())?;
    let node = SliceAggregateNode::new(windows, GROUP.to_vec(), calls(), input(), output(), mode);
    Ok(vec![driver(local.operator()?)?, driver(node.with_partials(&local).operator()?)?])
}

#[test]
fn two_phases_aggregate_as_by_hand() -> Result<()> {
    let mut random = Random(0x2b);
    let assigners = [
        WindowAssigner::Tumble { size: 70, offset: -13 },
        WindowAssigner::Hop { slide: 30, size: 120, offset: 7 },
        WindowAssigner::Cumulate { step: 40, max_size: 160, offset: 21 },
    ];
    for assigner in assigners {
        for delay in [0, 60, 400] {
            let rows = rows(&mut random, false);
            let chain = in_two_phases(assigner, mode(&rows))?;
            let answered = answer(chain, &rows, delay, &mut random)?;
            assert_eq!(answered, expected(assigner, &rows, delay), "{assigner}, delay {delay}");
        }
        let rows = rows(&mut random, true);
        let chain = in_two_phases(assigner, mode(&rows))?;
        assert_eq!(
            answer(chain, &rows, 100_000, &mut random)?,
            expected(assigner, &rows, 100_000),
            "{assigner}"
        );
    }
    Ok(())
}

/// The state of windows of 100 ms, of which each gets rows of one key or two and is then passed: the rows
/// and bytes kept when the windows of these numbers have gone.
/// What a chain keeps, in rows and bytes, after so many windows, in each of which there are two of some keys.
fn kept(mut chain: Vec<Driver>, ports: usize, keys: i64, numbers: [i64; 2]) -> Result<Vec<(usize, usize)>> {
    let mut kept = vec![];
    let Some(mut last) = chain.pop() else { return Ok(kept) };
    for window in 0..=numbers[1] {
        let rows =
            [(RowKind::Insert, window % keys, window * 100, 1), (RowKind::Insert, 1, window * 100 + 9, 2)];
        let elements =
            [StreamElement::Data(batch_of(&rows)?), StreamElement::Watermark(Watermark(window * 100 + 9))];
        for element in elements {
            let mut elements = vec![element];
            for driver in &mut chain {
                for element in std::mem::take(&mut elements) {
                    driver.input(0, element, window)?;
                }
                elements.extend(std::iter::from_fn(|| driver.pop()));
            }
            for (element, port) in
                elements.iter().flat_map(|element| (0..ports).map(move |port| (element, port)))
            {
                last.input(port, element.clone(), window)?;
            }
            while last.pop().is_some() {}
        }
        if numbers.contains(&window) {
            let rows = last.snapshot()?.tables.iter().map(|table| table.rows.num_rows()).sum();
            kept.push((rows, last.metrics().state_bytes.value()));
        }
    }
    Ok(kept)
}

fn ranked(assigner: WindowAssigner, lateness: i64) -> Result<Vec<Driver>> {
    let windows = WindowTvfNode::try_new(1, assigner, LocalZone::UTC, &input())?;
    let rank = Arc::new(Field::new("rn", DataType::UInt64, false));
    let fields: Vec<_> = windows.schema().fields().iter().cloned().chain([rank]).collect();
    let columns = WindowColumns { start: 3, end: 4, zone: LocalZone::UTC };
    let order = vec![(2, SortOptions { descending: true, nulls_first: false })];
    let output = Arc::new(Schema::new(fields));
    let node = WindowRankNode::new(columns, vec![0], order, (1, 2), false, windows.schema(), output);
    let node = node.with_allowed_lateness(lateness);
    Ok(vec![driver(windows.operator())?, driver(node.operator()?)?])
}

fn joined(assigner: WindowAssigner, lateness: i64) -> Result<Vec<Driver>> {
    let windows = WindowTvfNode::try_new(1, assigner, LocalZone::UTC, &input())?;
    let side = || WindowJoinInput {
        window: WindowColumns { start: 3, end: 4, zone: LocalZone::UTC },
        keys: vec![0],
        schema: windows.schema(),
    };
    let node = WindowJoinNode {
        inputs: [side(), side()],
        join_type: JoinType::Full,
        null_equals_null: false,
        filter: None,
        output: vec![(JoinSide::Left, 0), (JoinSide::Right, 0)],
        schema: Arc::new(Schema::new(vec![
            Field::new("k", DataType::Int64, true),
            Field::new("k2", DataType::Int64, true),
        ])),
        lateness,
    };
    let join = Driver::detached(Box::new(node.operator()), 2, 4096)?;
    Ok(vec![driver(windows.operator())?, join])
}

fn updating(assigner: WindowAssigner, emit: EmitStrategy) -> Result<Vec<Driver>> {
    let node = attached_node(assigner, ChangelogMode::INSERT_ONLY)?.with_emit(emit);
    let windows = WindowTvfNode::try_new(1, assigner, LocalZone::UTC, &input())?;
    Ok(vec![driver(windows.operator())?, driver(node.operator()?)?])
}

fn session_rows(lateness: i64) -> Result<SessionTvfNode> {
    let node = SessionTvfNode::try_new(1, 50, vec![0], LocalZone::UTC, input())?;
    Ok(node.with_allowed_lateness(lateness))
}

fn late_sessions(lateness: i64) -> Result<Vec<Driver>> {
    let (sessions, mode) = (session_rows(lateness)?, ChangelogMode::INSERT_ONLY);
    let node = SessionAggregateNode::new(sessions, GROUP.to_vec(), calls(), input(), output(), mode);
    Ok(vec![driver(node.operator()?)?])
}

/// A chain of operators with windows: name, operators, inputs of the last.
type NamedChain = (&'static str, Vec<Driver>, usize);

fn chains() -> Result<Vec<NamedChain>> {
    let tumble = WindowAssigner::Tumble { size: 100, offset: 0 };
    let hop = WindowAssigner::Hop { slide: 100, size: 300, offset: 0 };
    let cumulate = WindowAssigner::Cumulate { step: 100, max_size: 300, offset: 0 };
    let mode = ChangelogMode::INSERT_ONLY;
    let late = EmitStrategy { early: Some(0), late: 0, lateness: 200 };
    let delayed = EmitStrategy { early: Some(2), late: 3, lateness: 200 };
    let mut chains = vec![
        ("SESSION", late_sessions(0)?, 1),
        ("SESSION, late", late_sessions(200)?, 1),
        ("rows of SESSION", vec![driver(session_rows(0)?.operator()?)?], 1),
        ("rows of SESSION, late", vec![driver(session_rows(200)?.operator()?)?], 1),
        (
            "LATE_ROWS of SESSION",
            vec![driver(LateRowsNode::new(LateFor::Sessions(session_rows(200)?), input()).operator()?)?],
            1,
        ),
    ];
    for assigner in [tumble, hop, cumulate] {
        chains.push(("slices", sliced(assigner, mode)?, 1));
        chains.push(("two phases", in_two_phases(assigner, mode)?, 1));
        chains.push(("attached", attached(assigner, mode)?, 1));
        chains.push(("emitting with each row", updating(assigner, late)?, 1));
        chains.push(("emitting with delays", updating(assigner, delayed)?, 1));
        for lateness in [0, 200] {
            chains.push(("ranked", ranked(assigner, lateness)?, 1));
            chains.push(("joined", joined(assigner, lateness)?, 2));
        }
    }
    Ok(chains)
}

#[test]
fn closed_windows_leave_no_state() -> Result<()> {
    for (name, chain, ports) in chains()? {
        let kept = kept(chain, ports, 1, [10, 1_000])?;
        assert!(kept[1].0 < 40 * ports, "{name} keeps {} rows", kept[1].0);
        assert_eq!(kept[0], kept[1], "{name}");
    }
    for (name, chain, ports) in chains()? {
        // keys that come and go: when ten windows have gone even where they overlap and wait for late rows, and a thousand
        // later, at the same place in the cycles of keys and sizes
        let kept = kept(chain, ports, 7, [31, 31 + 48 * 21])?;
        assert_eq!(kept[0], kept[1], "{name}");
    }
    Ok(())
}
