//! DISTINCT calls through [`Aggregates`].

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray,
};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion_common::Result;
use datafusion_streaming_udfs::aggregate::{Count, Fate, OutputLayout, StreamingAggregate, Sum};

use super::{AggregateCall, Aggregates};

const TYPES: [DataType; 3] = [DataType::Int32, DataType::Utf8, DataType::Boolean];

fn distinct(function: Arc<dyn StreamingAggregate>, column: usize, filter: Option<usize>) -> AggregateCall {
    AggregateCall {
        display: format!("{}(DISTINCT {column})", function.name()),
        return_type: if function.name() == "count" { DataType::Int64 } else { TYPES[column].clone() },
        function,
        args: vec![column],
        filter,
        distinct: true,
        ignore_nulls: false,
        appends_only: false,
    }
}

fn aggregates(retracting: bool) -> Result<Aggregates> {
    aggregates_with_ttl(retracting, 0)
}

fn aggregates_with_ttl(retracting: bool, ttl: i64) -> Result<Aggregates> {
    let calls = [
        distinct(Arc::new(Count), 0, None),
        distinct(Arc::new(Sum), 0, None),
        distinct(Arc::new(Count), 0, Some(2)),
        distinct(Arc::new(Count), 1, None),
    ];
    let mut aggregates = Aggregates::with_ttl(&calls, &TYPES, retracting, ttl)?;
    aggregates.grow(4);
    Ok(aggregates)
}

fn batch(rows: &[(Option<i32>, &str, bool)]) -> Result<RecordBatch> {
    let fields = TYPES.iter().enumerate();
    let schema =
        Schema::new(fields.map(|(n, t)| Field::new(n.to_string(), t.clone(), true)).collect::<Vec<_>>());
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|row| row.0).collect::<Int32Array>()),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1))),
        Arc::new(BooleanArray::from_iter(rows.iter().map(|row| Some(row.2)))),
    ];
    Ok(RecordBatch::try_new(Arc::new(schema), columns)?)
}

/// The values of a slot as text.
fn values(aggregates: &Aggregates, slot: u32) -> Result<String> {
    let columns = aggregates.evaluate(&[slot])?;
    let text = |column: &ArrayRef| arrow::util::display::array_value_to_string(column, 0);
    Ok(columns.iter().map(text).collect::<Result<Vec<_>, _>>()?.join(" "))
}

/// All distinct values that are kept of a slot.
fn members_of(aggregates: &Aggregates, slot: u32) -> Result<Vec<ArrayRef>> {
    let columns = aggregates.snapshot(&[slot])?.into_iter();
    let lists = columns.filter(|(field, _)| field.name().starts_with("$distinct"));
    let members = lists.map(|(_, column)| Arc::clone(column.as_list::<i32>().values()));
    Ok(members.filter(|members| !members.is_empty()).collect())
}

#[test]
fn a_value_counts_once_for_each_filter() -> Result<()> {
    let mut aggregates = aggregates(false)?;
    let rows =
        batch(&[(Some(5), "x", false), (Some(5), "x", true), (None, "", true), (Some(7), "x", false)])?;
    aggregates.accumulate(&rows, &[1, 1, 1, 1], None)?;
    aggregates.accumulate(&rows, &[1, 1, 1, 2], None)?;
    assert_eq!(values(&aggregates, 1)?, "2 12 1 2");
    assert_eq!(values(&aggregates, 2)?, "1 7 0 1");
    Ok(())
}

#[test]
fn a_value_goes_with_its_last_row() -> Result<()> {
    let mut aggregates = aggregates(true)?;
    let rows =
        batch(&[(Some(5), "x", true), (Some(5), "y", false), (Some(6), "y", true), (Some(5), "x", true)])?;
    aggregates.accumulate(&rows, &[0; 4], Some(&[false, false, false, true]))?;
    assert_eq!(values(&aggregates, 0)?, "2 11 1 1");
    // taken before it comes: the two cancel each other
    let early = batch(&[(Some(9), "z", true), (Some(9), "z", true)])?;
    aggregates.accumulate(&early, &[0; 2], Some(&[true, false]))?;
    assert_eq!(values(&aggregates, 0)?, "2 11 1 1");
    Ok(())
}

#[test]
fn a_group_that_ends_gives_its_values_back_and_may_start_again() -> Result<()> {
    let mut aggregates = aggregates(true)?;
    let rows =
        batch(&[(Some(5), "x", true), (Some(6), "x", true), (Some(6), "x", true), (Some(5), "x", true)])?;
    let fates = [Fate::First, Fate::Update, Fate::Last, Fate::First];
    let retract = [false, false, true, false];
    let folded = aggregates.fold(&rows, &[0; 4], Some(&retract), &fates, OutputLayout::Single)?;
    assert_eq!(folded.values[0].as_primitive::<Int64Type>().values(), &[1, 2, 2, 1]);
    assert_eq!(values(&aggregates, 0)?, "1 5 1 1");
    aggregates.clear(&[0]);
    assert_eq!(values(&aggregates, 0)?, "0 NULL 0 0".replace("NULL", ""));
    assert!(members_of(&aggregates, 0)?.is_empty());
    Ok(())
}

#[test]
fn distinct_values_are_restored_and_merged() -> Result<()> {
    let rows = batch(&[(Some(5), "x", true), (Some(6), "y", false), (Some(5), "z", false)])?;
    let mut first = aggregates(true)?;
    first.accumulate(&rows, &[0, 0, 1], None)?;

    let saved: Vec<ArrayRef> = first.snapshot(&[0, 1])?.into_iter().map(|(_, column)| column).collect();
    let mut restored = aggregates(true)?;
    restored.restore(&[3, 2], &saved)?;
    assert_eq!(values(&restored, 3)?, "2 11 1 2");
    restored.accumulate(&rows.slice(0, 1), &[3], Some(&[true]))?;
    assert_eq!(values(&restored, 3)?, "1 6 0 1", "the counts are those of before");

    let partial = first.partial(&[0, 1])?;
    let mut global = aggregates(true)?;
    global.merge_partial(&[0, 0], &partial)?;
    assert_eq!(values(&global, 0)?, "2 11 1 3", "the 5 of both partials counts once");
    let mut retraction = aggregates(true)?;
    retraction.accumulate(&rows, &[0; 3], Some(&[true; 3]))?;
    let partial = retraction.partial(&[0])?;
    global.merge_partial(&[0], &partial)?;
    assert_eq!(global.evaluate(&[0])?[0].as_ref(), &Int64Array::from(vec![0]) as &dyn Array);
    Ok(())
}

#[test]
fn members_have_clocks_of_their_own() -> Result<()> {
    let mut aggregates = aggregates_with_ttl(true, 100)?;
    let at = |aggregates: &mut Aggregates, now: i64, value: i32| {
        aggregates.set_time(now);
        aggregates.accumulate(&batch(&[(Some(value), "x", true)])?, &[0], None)
    };
    at(&mut aggregates, 1_000, 5)?;
    at(&mut aggregates, 1_050, 6)?;
    at(&mut aggregates, 1_120, 6)?;
    assert_eq!(values(&aggregates, 0)?, "2 11 2 1");
    at(&mut aggregates, 1_130, 5)?;
    assert_eq!(values(&aggregates, 0)?, "3 16 3 1", "the 5 was forgotten, and counts anew");
    aggregates.set_time(5_000);
    aggregates.sweep();
    assert!(members_of(&aggregates, 0)?.is_empty(), "what nobody asks for is swept away");
    Ok(())
}

/// Random changes, many of which take values that are not there, through states that are restored after each
/// batch and through states that are left alone.
#[test]
fn distinct_values_go_on_where_they_were() -> Result<()> {
    for ttl in [0, 1_000_000] {
        let (mut alone, mut restored) = (aggregates_with_ttl(true, ttl)?, aggregates_with_ttl(true, ttl)?);
        let mut random = 42_u64;
        let mut below = |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % bound
        };
        for _ in 0..200 {
            let rows: Vec<_> = (0..1 + below(6))
                .map(|_| {
                    ((below(4) > 0).then(|| below(3) as i32), ["x", "y"][below(2) as usize], below(2) > 0)
                })
                .collect();
            let rows = batch(&rows)?;
            let slots: Vec<u32> = (0..rows.num_rows()).map(|_| below(3) as u32).collect();
            let retract: Vec<bool> = (0..rows.num_rows()).map(|_| below(5) < 2).collect();
            alone.accumulate(&rows, &slots, Some(&retract))?;
            restored.accumulate(&rows, &slots, Some(&retract))?;
            for slot in 0..3 {
                assert_eq!(values(&alone, slot)?, values(&restored, slot)?, "ttl {ttl}");
            }
            let saved =
                restored.snapshot(&[0, 1, 2])?.into_iter().map(|(_, column)| column).collect::<Vec<_>>();
            restored = aggregates_with_ttl(true, ttl)?;
            restored.restore(&[0, 1, 2], &saved)?;
        }
    }
    Ok(())
}

/// What the first phase makes knows no time to live; what keeps it does.
#[test]
fn partial_distinct_values_are_merged_into_ones_that_expire() -> Result<()> {
    let calls = [distinct(Arc::new(Count), 0, None), distinct(Arc::new(Sum), 0, None)];
    let mut partial = Aggregates::for_partials(&calls, &TYPES, true)?;
    partial.grow(1);
    partial.accumulate(&batch(&[(Some(5), "x", true), (Some(6), "y", true)])?, &[0, 0], None)?;
    let columns = partial.partial(&[0])?;
    let mut global = Aggregates::with_ttl(&calls, &TYPES, true, 100)?;
    global.grow(1);
    for (now, expected) in [(0, "2 11"), (50, "2 11"), (200, "4 22")] {
        global.set_time(now);
        global.merge_partial(&[0], &columns)?;
        assert_eq!(values(&global, 0)?, expected, "at {now}");
    }
    Ok(())
}
