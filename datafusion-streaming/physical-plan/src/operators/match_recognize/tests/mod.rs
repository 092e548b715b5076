//! The operator by hand: rows and watermarks in, lines out.

mod against_all_matches;

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::Operator as Op;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{Column, binary, is_null, lit};
use datafusion_streaming_udfs::aggregate::Sum;

use super::*;
use crate::changelog::ChangelogBatch;
use crate::operators::aggregate::AggregateCall;
use crate::operators::testing::{changes, drain, lines_of, watermark};
use crate::runtime::{Driver, StreamElement};

/// The columns of rows: `id`, `k`, `n`, `v`, `ts`.
const ID: usize = 0;
const K: usize = 1;
const N: usize = 2;
const V: usize = 3;
const TS: usize = 4;

fn input() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("k", DataType::Int64, true),
        Field::new("n", DataType::Utf8, true),
        Field::new("v", DataType::Int64, true),
        Field::new("ts", DataType::Timestamp(TimeUnit::Millisecond, None), true),
    ]))
}

/// Rows `(id, k, n, v, ts)`.
fn rows(rows: &[(i64, i64, &str, i64, i64)]) -> Result<StreamElement> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.2))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.3))),
        Arc::new(TimestampMillisecondArray::from_iter_values(rows.iter().map(|row| row.4))),
    ];
    Ok(changes(ChangelogBatch::insert_only(RecordBatch::try_new(input(), columns)?)))
}

/// A row for each letter, a second apart from 1000 on, with ids from 1 on.
fn letters(letters: &str) -> Result<StreamElement> {
    let letters: Vec<String> = letters.chars().map(String::from).collect();
    let row = |(place, letter): (usize, &'_ String)| {
        let id = place as i64 + 1;
        (id, 0, letter.clone(), 10 * id, 1000 * id)
    };
    let owned: Vec<_> = letters.iter().enumerate().map(row).collect();
    rows(&owned.iter().map(|(id, k, n, v, ts)| (*id, *k, n.as_str(), *v, *ts)).collect::<Vec<_>>())
}

fn row(variable: Option<usize>, first: bool, offset: usize, column: usize) -> PatternReference {
    PatternReference::Row { variable, first, offset, column }
}

fn last(variable: usize, column: usize) -> PatternReference {
    row(Some(variable), false, 0, column)
}

/// Expressions over references, the `i`-th of which is the column `i`.
fn over(
    references: Vec<PatternReference>,
    arguments: &[Arc<dyn PhysicalExpr>],
    expressions: impl Fn(&Schema) -> Result<Vec<Arc<dyn PhysicalExpr>>>,
) -> Result<PatternExpressions> {
    let field = |(place, reference): (usize, &PatternReference)| {
        let data_type = match reference {
            PatternReference::Row { column, .. } => input().field(*column).data_type().clone(),
            PatternReference::Aggregate { call, .. } => call.return_type.clone(),
            PatternReference::Rowtime => DataType::Timestamp(TimeUnit::Millisecond, None),
            PatternReference::Proctime => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        };
        Field::new(format!("r{place}"), data_type, true)
    };
    let schema = Schema::new(references.iter().enumerate().map(field).collect::<Vec<_>>());
    PatternExpressions::try_new(expressions(&schema)?, references, &schema, arguments, &input())
}

fn column(place: usize) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new(&format!("r{place}"), place))
}

/// Measures that are references as they are.
fn measures(references: Vec<PatternReference>) -> Result<PatternExpressions> {
    let count = references.len();
    over(references, &[], |_| Ok((0..count).map(column).collect()))
}

/// The condition that the row's letter is this one.
fn is_letter(letter: &str) -> Result<Option<PatternExpressions>> {
    let letter = lit(ScalarValue::from(letter));
    over(vec![row(None, false, 0, N)], &[], |schema| {
        Ok(vec![binary(column(0), Op::Eq, Arc::clone(&letter), schema)?])
    })
    .map(Some)
}

/// A pattern from a text such as `A B+? C`.
fn pattern(text: &str) -> Result<Pattern> {
    let element = |text: &str| {
        let (variable, quantifier) = text.split_at(1);
        let (quantifier, greedy) = match quantifier.strip_suffix('?') {
            Some(rest) if !rest.is_empty() => (rest, false),
            _ => (quantifier, true),
        };
        let number = |text: &str| text.parse::<u32>().ok();
        let (min, max) = match quantifier {
            "" => (1, Some(1)),
            "*" => (0, None),
            "+" => (1, None),
            "?" => (0, Some(1)),
            bounds => {
                let bounds = bounds.trim_matches(['{', '}']);
                match bounds.split_once(',') {
                    Some((min, max)) => (number(min).unwrap_or(0), number(max)),
                    None => (number(bounds).unwrap_or(0), number(bounds)),
                }
            }
        };
        PatternElement { variable: variable.to_string(), quantifier: Quantifier { min, max, greedy } }
    };
    Pattern::try_new(text.split(' ').map(element).collect())
}

/// A node over unpartitioned rows, whose measures are named `m0`, `m1`, ….
fn node(
    text: &str,
    after: AfterMatch,
    definitions: Vec<Option<PatternExpressions>>,
    measures: PatternExpressions,
) -> Result<MatchRecognizeNode> {
    let field = |(place, expression): (usize, &Arc<dyn PhysicalExpr>)| -> Result<Field> {
        let references = measures.references();
        let data_type = match measures.reference_of(place) {
            Some(PatternReference::Row { column, .. }) => input().field(*column).data_type().clone(),
            Some(PatternReference::Aggregate { call, .. }) => call.return_type.clone(),
            Some(_) => DataType::Timestamp(TimeUnit::Millisecond, None),
            None => panic!("{expression} of {references:?} is no reference"),
        };
        Ok(Field::new(format!("m{place}"), data_type, true))
    };
    let fields: Vec<Field> = measures.expressions().iter().enumerate().map(field).collect::<Result<_>>()?;
    Ok(MatchRecognizeNode {
        keys: vec![],
        time: TS,
        kind: TimeAttributeKind::Rowtime,
        then_by: vec![],
        pattern: pattern(text)?,
        after,
        within: 0,
        definitions,
        measures,
        input: input(),
        schema: Arc::new(Schema::new(fields)),
    })
}

/// The same, partitioned by `k`.
fn partitioned(node: MatchRecognizeNode) -> MatchRecognizeNode {
    let key = Field::new("k", DataType::Int64, true);
    let fields = std::iter::once(Arc::new(key)).chain(node.schema.fields().iter().cloned());
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    MatchRecognizeNode { keys: vec![K], schema, ..node }
}

fn found(node: &MatchRecognizeNode, input: Vec<StreamElement>) -> Result<Vec<String>> {
    let mut lines = lines_of(node.operator()?, input)?;
    lines.retain(|line| !line.starts_with("watermark"));
    Ok(lines)
}

fn ids_of_abc(text: &str, after: AfterMatch) -> Result<MatchRecognizeNode> {
    let definitions = vec![is_letter("a")?, is_letter("b")?, is_letter("c")?];
    let ids = vec![last(0, ID), row(Some(1), true, 0, ID), last(1, ID), last(2, ID)];
    node(text, after, definitions, measures(ids)?)
}

#[test]
fn rows_match_one_behind_the_other() -> Result<()> {
    let found = |text, rows| found(&ids_of_abc(text, AfterMatch::SkipPastLastRow)?, vec![letters(rows)?]);
    assert_eq!(found("A B C", "zabcabzabc")?, ["+I 2 3 3 4", "+I 8 9 9 10"]);
    assert_eq!(found("A B+ C", "abbcac")?, ["+I 1 2 3 4"]);
    assert_eq!(found("A B* C", "abbcac")?, ["+I 1 2 3 4", "+I 5 NULL NULL 6"]);
    assert_eq!(found("A B? C", "abbcacabc")?, ["+I 5 NULL NULL 6", "+I 7 8 8 9"]);
    assert_eq!(found("A B{2,3} C", "abcabbcabbbcabbbbc")?, ["+I 4 5 6 7", "+I 8 9 11 12"]);
    Ok(())
}

#[test]
fn a_match_decides_where_the_next_one_may_start() -> Result<()> {
    let any = || vec![None, None, None];
    let ids = || measures(vec![row(None, true, 0, ID), row(None, false, 0, ID)]);
    let expect = |after, expected: &[&str]| -> Result<()> {
        assert_eq!(
            found(&node("A B C", after, any(), ids()?)?, vec![letters("xxxxxx")?])?,
            expected,
            "{after:?}"
        );
        Ok(())
    };
    expect(AfterMatch::SkipPastLastRow, &["+I 1 3", "+I 4 6"])?;
    expect(AfterMatch::SkipToNextRow, &["+I 1 3", "+I 2 4", "+I 3 5", "+I 4 6"])?;
    expect(AfterMatch::SkipToFirst(1), &["+I 1 3", "+I 2 4", "+I 3 5", "+I 4 6"])?;
    expect(AfterMatch::SkipToLast(2), &["+I 1 3", "+I 3 5"])?;
    let for_ever = node("A B C", AfterMatch::SkipToFirst(0), any(), ids()?)?;
    let error = found(&for_ever, vec![letters("xxx")?]).unwrap_err().to_string();
    assert!(error.contains("SKIP TO FIRST A: that is the first row of the match"), "{error}");
    let missing = node("A B* C", AfterMatch::SkipToLast(1), vec![None, is_letter("b")?, None], ids()?)?;
    let error = found(&missing, vec![letters("xx")?]).unwrap_err().to_string();
    assert!(error.contains("a match of PATTERN (A B* C) has no row of B"), "{error}");
    Ok(())
}

/// `UP` where the value is above the last one of the same variable, and the first one below 100.
fn rising() -> Result<Option<PatternExpressions>> {
    over(vec![last(0, V), row(Some(0), false, 1, V)], &[], |schema| {
        let above = binary(column(0), Op::Gt, column(1), schema)?;
        Ok(vec![binary(is_null(column(1))?, Op::Or, above, schema)?])
    })
    .map(Some)
}

#[test]
fn a_condition_looks_back_at_the_rows_of_its_own_key() -> Result<()> {
    let bounds = measures(vec![row(Some(0), true, 0, ID), last(0, ID), last(1, ID)])?;
    let node = partitioned(node("U{2,} X", AfterMatch::SkipPastLastRow, vec![rising()?, None], bounds)?);
    let input = rows(&[
        (1, 0, "", 10, 1),
        (2, 1, "", 5, 2),
        (3, 0, "", 20, 3),
        (4, 1, "", 4, 4),
        (5, 0, "", 15, 5),
        (6, 1, "", 9, 6),
        (7, 1, "", 9, 7),
    ])?;
    assert_eq!(found(&node, vec![input])?, ["+I 0 1 3 5", "+I 1 4 6 7"]);
    Ok(())
}

#[test]
fn aggregates_are_of_the_rows_of_a_variable() -> Result<()> {
    let sum = |variable| PatternReference::Aggregate {
        variable,
        call: AggregateCall {
            function: Arc::new(Sum),
            args: vec![0],
            filter: None,
            distinct: false,
            ignore_nulls: false,
            appends_only: false,
            return_type: DataType::Int64,
            display: "sum(v)".to_string(),
        },
    };
    let value: Arc<dyn PhysicalExpr> = Arc::new(Column::new("v", V));
    let below = over(vec![sum(Some(0))], &[Arc::clone(&value)], |schema| {
        Ok(vec![binary(column(0), Op::Lt, lit(60_i64), schema)?])
    })?;
    let sums =
        over(vec![sum(Some(0)), sum(None), sum(Some(1))], &[value], |_| Ok((0..3).map(column).collect()))?;
    let node = node("A+ B", AfterMatch::SkipPastLastRow, vec![Some(below), None], sums)?;
    // 10 + 20 < 60, but with 30 it is not; then 40 alone is, and 50 does not fit with it
    assert_eq!(found(&node, vec![letters("xxxxx")?])?, ["+I 30 60 30", "+I 40 90 50"]);
    Ok(())
}

#[test]
fn rows_are_matched_by_their_times_and_late_ones_are_dropped() -> Result<()> {
    let descending = SortOptions { descending: true, nulls_first: false };
    let node = MatchRecognizeNode {
        then_by: vec![(ID, descending)],
        ..ids_of_abc("A B C", AfterMatch::SkipToNextRow)?
    };
    let input = vec![
        rows(&[(3, 0, "c", 0, 30), (2, 0, "b", 0, 10), (1, 0, "a", 0, 5), (4, 0, "c", 0, 10)])?,
        watermark(20),
        rows(&[(5, 0, "a", 0, 20), (6, 0, "b", 0, 25), (7, 0, "c", 0, 40), (8, 0, "a", 0, 21)])?,
        watermark(50),
    ];
    let lines = lines_of(node.operator()?, input)?;
    assert_eq!(lines, ["watermark 20", "+I 8 6 6 3", "watermark 50"], "4 comes before 2, and 5 is late");
    Ok(())
}

#[test]
fn a_match_that_takes_too_long_makes_way_for_those_that_wait_for_it() -> Result<()> {
    let definitions = || -> Result<Vec<_>> { Ok(vec![is_letter("a")?, None, is_letter("c")?]) };
    let bounds = || measures(vec![last(0, ID), last(2, ID), PatternReference::Rowtime]);
    let within = |millis| -> Result<MatchRecognizeNode> {
        let node = node("A X*? C", AfterMatch::SkipToNextRow, definitions()?, bounds()?)?;
        Ok(MatchRecognizeNode { within: millis, ..node })
    };
    let expected: [&str; 0] = [];
    assert_eq!(found(&within(1000)?, vec![letters("ac")?])?, expected, "a second is too long");
    assert_eq!(found(&within(1001)?, vec![letters("ac")?])?, ["+I 1 2 1970-01-01T00:00:02"]);
    // the state does not grow with matches that are over
    let mut driver = Driver::detached(Box::new(within(3000)?.operator()?), 1, 100)?;
    driver.input(0, letters("axxxxxxxaxxxxx")?, 0)?;
    driver.input(0, watermark(60_000), 0)?;
    assert_eq!(driver.snapshot()?.tables[0].rows.num_rows(), 0);
    Ok(())
}

#[test]
fn by_processing_time_rows_do_not_wait() -> Result<()> {
    let node = MatchRecognizeNode {
        kind: TimeAttributeKind::Proctime,
        ..ids_of_abc("A B C", AfterMatch::SkipPastLastRow)?
    };
    let mut driver = Driver::detached(Box::new(node.operator()?), 1, 100)?;
    let mut lines = vec![];
    driver.input(0, rows(&[(1, 0, "a", 0, 50), (2, 0, "b", 0, 7)])?, 0)?;
    driver.input(0, rows(&[(3, 0, "c", 0, 1)])?, 5)?;
    drain(&mut driver, &mut lines)?;
    assert_eq!(lines, ["+I 1 2 2 3"]);
    Ok(())
}

/// What a snapshot at every place of the input gives is what no snapshot gives.
#[test]
fn a_snapshot_restores_matches_under_way() -> Result<()> {
    let bounds = measures(vec![row(Some(0), true, 0, ID), last(0, ID), last(1, ID), last(2, ID)])?;
    let definitions = vec![rising()?, None, is_letter("c")?];
    let node = partitioned(node("A+? X*? C", AfterMatch::SkipToNextRow, definitions, bounds)?);
    let node = MatchRecognizeNode { within: 9_000, ..node };
    let mut input = vec![];
    for id in 1..40_i64 {
        let letter = if id % 7 == 0 { "c" } else { "a" };
        input.push((id, id % 2, letter, (id * 31) % 17, 500 * id + (id * 7919) % 900));
    }
    let element = |place: usize| match place % 2 {
        0 => rows(&[input[place / 2]]),
        _ => Ok(watermark(500 * (place as i64 / 2))),
    };
    let elements = 2 * input.len();
    let whole = lines_of(node.operator()?, (0..elements).map(element).collect::<Result<Vec<_>>>()?)?;
    assert!(whole.iter().filter(|line| line.starts_with('+')).count() > 10, "{whole:?}");
    for cut in 0..elements {
        let mut lines = vec![];
        let mut driver = Driver::detached(Box::new(node.operator()?), 1, 100)?;
        for place in 0..cut {
            driver.input(0, element(place)?, 0)?;
        }
        drain(&mut driver, &mut lines)?;
        let snapshot = driver.snapshot()?;
        let mut operator = node.operator()?;
        let saved = &snapshot.tables[0].rows;
        operator.tables()[0].restore(&saved.project(&(1..saved.num_columns()).collect::<Vec<_>>())?)?;
        let mut rest = vec![watermark(500 * (cut as i64 / 2).saturating_sub(1))];
        rest.extend((cut..elements).map(element).collect::<Result<Vec<_>>>()?);
        lines.extend(lines_of(operator, rest)?);
        lines.retain(|line| line.starts_with('+'));
        let expected: Vec<_> = whole.iter().filter(|line| line.starts_with('+')).cloned().collect();
        assert_eq!(lines, expected, "cut at {cut}");
    }
    Ok(())
}

#[test]
fn what_flink_refuses_is_refused() {
    let error = |text: &str| pattern(text).unwrap_err().to_string();
    assert!(error("A B A").contains("the variable A is in two places"));
    assert!(error("A* B?").contains("may match no row"));
    assert!(error("A B+").contains("ends with the greedy B+"));
    assert!(error("A+ B? C").contains("the optional B? behind the greedy A+"));
    assert!(error("A B{2,3}").contains("ends with the greedy B{2,3}"));
    assert!(error("A B?? C").contains("write B?"));
    assert!(error("A B{0,3} C").contains("at least 1"));
    assert!(error("A B{3,2} C").contains("must not be less than the lower bound 3"));
    for accepted in ["A B{2}", "A B+?", "A B?", "A{0,1} B", "A B{2,3}?"] {
        assert_eq!(pattern(accepted).unwrap().to_string(), accepted.replace("{0,1}", "?"));
    }
}
