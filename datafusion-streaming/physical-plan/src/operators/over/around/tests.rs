use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion_common::{Result, ScalarValue};
use datafusion_streaming_udfs::aggregate::{Count, FirstValue, LastValue, Max, Min, Sum};

use crate::changelog::ChangelogBatch;
use crate::operators::over::tests::{aggregate, batch, input};
use crate::operators::over::{FrameUnits, OverCall, OverFrame, OverNode};
use crate::operators::testing::{Random, changes, drain, lines_of, watermark};
use crate::runtime::{Driver, Operator, StreamElement, TimeAttributeKind};

/// Value, key, time.
type Row = (Option<i64>, i64, i64);

fn rows(rows: &[Row]) -> Result<StreamElement> {
    Ok(changes(ChangelogBatch::insert_only(batch(rows.iter().copied())?)))
}

fn lead(offset: usize, default: Option<i64>) -> OverCall {
    OverCall::Lead { column: 0, offset, default: default.map(|value| ScalarValue::Int64(Some(value))) }
}

fn lag(offset: usize) -> OverCall {
    OverCall::Lag { column: 0, offset, default: None }
}

fn between(units: FrameUnits, start: Option<i64>, end: i64) -> OverFrame {
    OverFrame::Between { units, start, end }
}

/// Passes `v`, `k` and `ts` on, with a number for each call.
fn node(frame: OverFrame, calls: Vec<OverCall>, ttl: i64) -> OverNode {
    let result = |call| Arc::new(Field::new(format!("r{call}"), DataType::Int64, true));
    let fields: Vec<_> = input().fields().iter().cloned().chain((0..calls.len()).map(result)).collect();
    let time = (2, TimeAttributeKind::Rowtime);
    OverNode::new(vec![1], time, frame, calls, input(), Arc::new(Schema::new(fields)), ttl)
}

/// Without the time of each row, which tells the same for each frame.
fn short(lines: Vec<String>) -> Vec<String> {
    let short = |line: String| {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            [kind, v, k, _, results @ ..] if *kind == "+I" => {
                format!("{kind} {v} {k} | {}", results.join(" "))
            }
            _ => line,
        }
    };
    lines.into_iter().map(short).collect()
}

fn some(rows_of: &[(i64, i64, i64)]) -> Result<StreamElement> {
    rows(&rows_of.iter().map(|(v, k, ts)| (Some(*v), *k, *ts)).collect::<Vec<_>>())
}

#[test]
fn a_frame_in_rows_waits_for_the_rows_behind() -> Result<()> {
    let frame = between(FrameUnits::Rows, Some(-1), 1);
    let input = [
        some(&[(1, 0, 10), (4, 0, 30), (2, 0, 20), (100, 1, 20)])?,
        watermark(20),
        // the first is late
        some(&[(64, 0, 20), (8, 0, 30), (16, 0, 40)])?,
        watermark(50),
    ];
    let lines = short(lines_of(node(frame, vec![aggregate(Sum)], 0).operator()?, input)?);
    let expected = [
        "+I 1 0 | 3",
        // both keys have a row of that time that waits
        "watermark 19",
        "+I 2 0 | 7",
        "+I 4 0 | 14",
        "+I 8 0 | 28",
        // at the end
        "+I 100 1 | 100",
        "+I 16 0 | 24",
    ];
    assert_eq!(lines, expected);
    Ok(())
}

#[test]
fn a_frame_in_range_waits_for_the_watermark() -> Result<()> {
    let frame = between(FrameUnits::Range, Some(0), 10);
    let input = [
        some(&[(1, 0, 10), (2, 0, 20), (4, 0, 20), (8, 0, 21)])?,
        watermark(19),
        watermark(20),
        watermark(35),
    ];
    let lines = short(lines_of(node(frame, vec![aggregate(Sum)], 0).operator()?, input)?);
    let expected = [
        "watermark 9",
        "+I 1 0 | 7",
        "watermark 19",
        "+I 2 0 | 14",
        "+I 4 0 | 14",
        "+I 8 0 | 8",
        "watermark 35",
    ];
    assert_eq!(lines, expected);
    Ok(())
}

#[test]
fn lead_lag_and_ranks_have_no_frame() -> Result<()> {
    let calls = vec![
        lead(1, Some(-1)),
        lead(2, None),
        lag(1),
        OverCall::RowNumber,
        OverCall::Rank,
        OverCall::DenseRank,
        aggregate(Sum),
    ];
    let input = [some(&[(1, 0, 10), (2, 0, 20), (4, 0, 20), (8, 0, 21)])?, watermark(30)];
    let lines = short(lines_of(node(OverFrame::Rows(1), calls, 0).operator()?, input)?);
    // LAG is that of Flink: two peers have the same
    let expected = [
        "+I 1 0 | 2 4 NULL 1 1 1 1",
        "+I 2 0 | 4 8 2 2 2 2 3",
        "watermark 19",
        "+I 4 0 | 8 NULL 2 3 2 2 6",
        "+I 8 0 | -1 NULL 4 4 4 3 12",
    ];
    assert_eq!(lines, expected);
    Ok(())
}

#[test]
fn frames_beside_the_row_may_be_empty() -> Result<()> {
    let sums = |units, start, end| -> Result<Vec<String>> {
        let calls = vec![aggregate(Sum), aggregate(Count), aggregate(Max)];
        let input = [some(&[(1, 0, 10), (2, 0, 20), (4, 0, 20), (8, 0, 40)])?, watermark(99)];
        let lines = short(lines_of(node(between(units, start, end), calls, 0).operator()?, input)?);
        Ok(lines.into_iter().filter(|line| line.starts_with('+')).collect())
    };
    let behind = ["+I 1 0 | 6 2 4", "+I 2 0 | 12 2 8", "+I 4 0 | 8 1 8", "+I 8 0 | NULL 0 NULL"];
    assert_eq!(sums(FrameUnits::Rows, Some(1), 2)?, behind);
    let before = ["+I 1 0 | NULL 0 NULL", "+I 2 0 | 1 1 1", "+I 4 0 | 1 1 1", "+I 8 0 | 6 2 4"];
    assert_eq!(sums(FrameUnits::Range, Some(-20), -5)?, before);
    let all_before = ["+I 1 0 | NULL 0 NULL", "+I 2 0 | 1 1 1", "+I 4 0 | 3 2 2", "+I 8 0 | 7 3 4"];
    assert_eq!(sums(FrameUnits::Rows, None, -1)?, all_before);
    Ok(())
}

#[test]
fn what_waits_goes_out_when_its_key_expires() -> Result<()> {
    let frame = between(FrameUnits::Rows, Some(0), 1);
    let mut driver = Driver::detached(Box::new(node(frame, vec![aggregate(Sum)], 100).operator()?), 1, 100)?;
    driver.input(0, some(&[(1, 0, 10), (2, 1, 90)])?, 1_000)?;
    driver.input(0, watermark(20), 1_000)?;
    driver.fire_timer(1_200)?;
    driver.input(0, some(&[(4, 0, 40), (8, 0, 50)])?, 1_200)?;
    driver.input(0, watermark(60), 1_200)?;
    let mut lines = vec![];
    drain(&mut driver, &mut lines)?;
    assert_eq!(short(lines), ["watermark 9", "+I 1 0 | 1", "+I 4 0 | 12", "watermark 49"]);
    Ok(())
}

/// What the rows of a key, in order, should get.
fn expected(rows: &[Row], row: usize, frame: (FrameUnits, Option<i64>, i64)) -> Vec<Option<i64>> {
    let (units, start, end) = frame;
    let distance = |other: usize| match units {
        FrameUnits::Rows => other as i64 - row as i64,
        FrameUnits::Range => rows[other].2 - rows[row].2,
    };
    let in_frame = |other: &usize| distance(*other) >= start.unwrap_or(i64::MIN) && distance(*other) <= end;
    let members: Vec<Option<i64>> = (0..rows.len()).filter(in_frame).map(|other| rows[other].0).collect();
    let values: Vec<i64> = members.iter().copied().flatten().collect();
    let last_peer = rows.iter().rposition(|other| other.2 == rows[row].2).unwrap();
    let at = |place: Option<usize>| place.and_then(|place| rows.get(place)).and_then(|row| row.0);
    vec![
        (!values.is_empty()).then(|| values.iter().sum()),
        Some(values.len() as i64),
        values.iter().min().copied(),
        values.iter().max().copied(),
        values.first().copied(),
        values.last().copied(),
        at(Some(row + 2)),
        at(last_peer.checked_sub(3)),
        Some(row as i64 + 1),
    ]
}

fn calls() -> Vec<OverCall> {
    vec![
        aggregate(Sum),
        aggregate(Count),
        aggregate(Min),
        aggregate(Max),
        aggregate(FirstValue),
        aggregate(LastValue),
        lead(2, None),
        lag(3),
        OverCall::RowNumber,
    ]
}

/// Random rows and watermarks through an operator that is dropped and restored now and then.
fn random_run(random: &mut Random, frame: (FrameUnits, Option<i64>, i64)) -> Result<()> {
    let node = node(between(frame.0, frame.1, frame.2), calls(), 0);
    let mut driver = Driver::detached(Box::new(node.operator()?), 1, 100)?;
    let mut lines = vec![];
    let mut taken: BTreeMap<i64, Vec<Row>> = BTreeMap::new();
    let (mut time, mut passed) = (0, -100);
    for _ in 0..30 {
        let mut batch = vec![];
        for _ in 0..random.below(6) {
            time += random.below(4);
            let value = (random.below(8) > 0).then(|| random.below(50));
            let row = (value, random.below(3), time - random.below(8));
            batch.push(row);
            if row.2 > passed {
                taken.entry(row.1).or_default().push(row);
            }
        }
        driver.input(0, rows(&batch)?, 0)?;
        if random.below(2) == 0 {
            passed = passed.max(time - 5);
            driver.input(0, watermark(passed), 0)?;
        }
        drain(&mut driver, &mut lines)?;
        if random.below(4) == 0 {
            let snapshot = driver.snapshot()?;
            let (mut operator, saved) = (node.operator()?, &snapshot.tables[0].rows);
            let columns: Vec<usize> = (1..saved.num_columns()).collect();
            operator.tables()[0].restore(&saved.project(&columns)?)?;
            driver = Driver::detached(Box::new(operator), 1, 100)?;
            driver.input(0, watermark(passed), 0)?;
        }
    }
    driver.end(0, 0)?;
    drain(&mut driver, &mut lines)?;
    let mut results: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    let mut behind = i64::MIN;
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        if words[0] == "watermark" {
            behind = words[1].parse().unwrap_or(i64::MAX);
            continue;
        }
        let at = time_of(words[3]);
        assert!(at > behind, "{line} behind watermark {behind}");
        results.entry(words[2].parse().unwrap()).or_default().push(words[4..].join(" "));
    }
    for (key, rows) in &mut taken {
        rows.sort_by_key(|row| row.2);
        let text = |value: Option<i64>| value.map_or("NULL".to_string(), |value| value.to_string());
        let of_row = |row| expected(rows, row, frame).into_iter().map(text).collect::<Vec<_>>().join(" ");
        let expected: Vec<String> = (0..rows.len()).map(of_row).collect();
        assert_eq!(results.remove(key).unwrap_or_default(), expected, "key {key}, frame {frame:?}, {rows:?}");
    }
    assert!(results.is_empty());
    Ok(())
}

/// The milliseconds of `1970-01-01T00:00:00.012`.
fn time_of(text: &str) -> i64 {
    let value = ScalarValue::Utf8(Some(text.to_string()));
    match value.cast_to(&DataType::Timestamp(TimeUnit::Millisecond, None)) {
        Ok(ScalarValue::TimestampMillisecond(Some(millis), _)) => millis,
        other => panic!("{text} is {other:?}"),
    }
}

#[test]
fn random_frames_are_those_of_a_direct_model() -> Result<()> {
    let mut random = Random(0x005e_ed0f_0ea5);
    for _ in 0..60 {
        let units = if random.below(2) == 0 { FrameUnits::Rows } else { FrameUnits::Range };
        let width = if units == FrameUnits::Rows { 4 } else { 9 };
        let end = random.below(2 * width) - width;
        let start = (random.below(4) > 0).then(|| end - random.below(2 * width));
        random_run(&mut random, (units, start, end))?;
    }
    Ok(())
}
