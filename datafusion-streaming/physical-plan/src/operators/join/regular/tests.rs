use datafusion_common::{JoinType, Result};

use super::super::testing::{output, rows, spec};
use super::super::{LEFT, RIGHT};
use super::{JoinSpec, RegularJoinNode};
use crate::changelog::ChangelogMode;
use crate::operators::aggregate::Bundling;
use crate::operators::testing::{drain, watermark};
use crate::runtime::{Driver, Operator, StreamNode, StreamTraits, SubtaskSnapshot};
use crate::state::StateTable;

fn node(join_type: JoinType) -> Result<RegularJoinNode> {
    RegularJoinNode::try_new(spec(join_type, false), [ChangelogMode::ALL; 2], [0, 0])
}

/// The output for changes of the left (0) and of the right input (1), one at a time.
fn lines(join_type: JoinType, changes: &[(usize, &str)]) -> Result<Vec<String>> {
    let elements = changes.iter().map(|(port, change)| Ok((*port, rows(&[*change], false)?)));
    output(node(join_type)?.operator()?, elements.collect::<Result<_>>()?)
}

#[test]
fn an_inner_join_keeps_the_kinds_of_what_comes() -> Result<()> {
    let changes = [(0, "+I 1 10"), (1, "+I 1 20"), (1, "-U 1 20"), (1, "+U 1 21"), (0, "-D 1 10")];
    let expected = ["+I 1 10 1 20", "-U 1 10 1 20", "+U 1 10 1 21", "-D 1 10 1 21"];
    assert_eq!(lines(JoinType::Inner, &changes)?, expected);
    Ok(())
}

#[test]
fn pads_end_with_the_first_partner_and_come_back_after_the_last() -> Result<()> {
    let changes = [
        (0, "+I 1 10"),
        (0, "+I _ 11"),
        (1, "+I 1 20"),
        (1, "+I 1 21"),
        (1, "-D 1 20"),
        (1, "-D 1 21"),
        (0, "-D _ 11"),
    ];
    let expected = [
        "+I 1 10 NULL NULL",
        "+I NULL 11 NULL NULL",
        "-D 1 10 NULL NULL",
        "+I 1 10 1 20",
        "+I 1 10 1 21",
        "-D 1 10 1 20",
        "-D 1 10 1 21",
        "+I 1 10 NULL NULL",
        "-D NULL 11 NULL NULL",
    ];
    assert_eq!(lines(JoinType::Left, &changes)?, expected);
    Ok(())
}

#[test]
fn equal_rows_are_counted_on_both_sides() -> Result<()> {
    let changes = [(0, "+I 1 10"), (0, "+I 1 10"), (1, "+I 1 20"), (0, "-D 1 10"), (1, "-D 1 20")];
    let expected = [
        "+I 1 10 NULL NULL",
        "+I 1 10 NULL NULL",
        "-D 1 10 NULL NULL",
        "-D 1 10 NULL NULL",
        "+I 1 10 1 20",
        "+I 1 10 1 20",
        "-D 1 10 1 20",
        "-D 1 10 1 20",
        "+I 1 10 NULL NULL",
    ];
    assert_eq!(lines(JoinType::Full, &changes)?, expected);
    Ok(())
}

#[test]
fn semi_and_anti_joins_follow_the_first_and_the_last_match() -> Result<()> {
    let changes = [(0, "+I 1 10"), (1, "+I 1 20"), (1, "+I 1 21"), (1, "-D 1 20"), (1, "-D 1 21")];
    assert_eq!(lines(JoinType::LeftSemi, &changes)?, ["+I 1 10", "-D 1 10"]);
    assert_eq!(lines(JoinType::LeftAnti, &changes)?, ["+I 1 10", "-D 1 10", "+I 1 10"]);
    let marked = ["+I 1 10 false", "-U 1 10 false", "+U 1 10 true", "-U 1 10 true", "+U 1 10 false"];
    assert_eq!(lines(JoinType::LeftMark, &changes)?, marked);
    Ok(())
}

#[test]
fn state_comes_back_from_a_snapshot() -> Result<()> {
    let mut saved = Driver::detached(Box::new(node(JoinType::Full)?.operator()?), 2, 8192)?;
    saved.input(0, rows(&["+I 1 10", "+I 2 11"], false)?, 0)?;
    saved.input(1, rows(&["+I 1 20", "+I 1 20"], false)?, 0)?;
    let snapshot = saved.snapshot()?;
    let mut restored = node(JoinType::Full)?.operator()?;
    for table in restored.tables() {
        restore(table, &snapshot)?;
    }
    let mut driver = Driver::detached(Box::new(restored), 2, 8192)?;
    driver.input(1, rows(&["-D 1 20", "+I 2 21", "-D 1 20"], false)?, 0)?;
    let mut lines = vec![];
    drain(&mut driver, &mut lines)?;
    let expected = ["-D 1 10 1 20", "-D 2 11 NULL NULL", "+I 2 11 2 21", "-D 1 10 1 20", "+I 1 10 NULL NULL"];
    assert_eq!(lines, expected);
    Ok(())
}

fn restore(table: &mut dyn StateTable, snapshot: &SubtaskSnapshot) -> Result<()> {
    let saved = snapshot.tables.iter().find(|saved| saved.name == table.name()).unwrap();
    match saved.keyed {
        true => {
            let columns: Vec<_> = (1..saved.rows.num_columns()).collect();
            table.restore(&saved.rows.project(&columns)?)
        }
        false => table.restore(&saved.rows),
    }
}

#[test]
fn expired_rows_have_no_partners_and_are_swept() -> Result<()> {
    let appends = [ChangelogMode::INSERT_ONLY; 2];
    let node = RegularJoinNode::try_new(spec(JoinType::Inner, false), appends, [1000, 0])?;
    let mut driver = Driver::detached(Box::new(node.operator()?), 2, 8192)?;
    driver.input(0, rows(&["+I 1 10"], false)?, 0)?;
    driver.input(1, rows(&["+I 1 20"], false)?, 999)?;
    driver.input(1, rows(&["+I 1 21"], false)?, 1000)?;
    let mut lines = vec![];
    drain(&mut driver, &mut lines)?;
    assert_eq!(lines, ["+I 1 10 1 20"]);
    Ok(())
}

#[test]
fn keys_follow_from_the_keys_of_the_inputs() -> Result<()> {
    let keyed = |key: Vec<usize>| StreamTraits {
        mode: ChangelogMode::ALL,
        upsert_keys: vec![key],
        ..StreamTraits::default()
    };
    let keys = |join_type: JoinType, left: Vec<usize>, right: Vec<usize>| -> Result<Vec<Vec<usize>>> {
        Ok(node(join_type)?.traits(&[&keyed(left), &keyed(right)])?.upsert_keys)
    };
    assert_eq!(keys(JoinType::Inner, vec![0, 1], vec![0])?, [vec![0, 1], vec![0, 1, 2]]);
    // a padded left side is NULL for each unmatched row of the right
    assert_eq!(keys(JoinType::Full, vec![0], vec![0])?, [vec![0, 2]]);
    assert_eq!(keys(JoinType::LeftSemi, vec![0, 1], vec![0])?, [vec![0, 1]]);
    // without the join key it would come out of several partitions
    assert!(keys(JoinType::Inner, vec![1], vec![1])?.is_empty());
    Ok(())
}

#[test]
fn keys_of_different_types_are_refused() -> Result<()> {
    let spec = JoinSpec { keys: [vec![0], vec![1]], ..spec(JoinType::Inner, false) };
    let error = RegularJoinNode::try_new(spec, [ChangelogMode::ALL; 2], [0, 0]).unwrap_err();
    assert!(error.to_string().contains("cast one of them"), "{error}");
    Ok(())
}

#[test]
fn a_bundle_is_folded_before_it_is_joined() -> Result<()> {
    let bundling = Bundling { size: 100, latency: 0 };
    let left =
        ["+I 1 10", "-U 1 10", "+U 1 11", "-U 2 20", "+U 2 21", "-U 2 21", "+U 2 22", "+I 3 30", "-D 3 30"];
    let joined = |unique_key: Option<Vec<usize>>| -> Result<Vec<String>> {
        let node = RegularJoinNode::try_new(spec(JoinType::Inner, false), [ChangelogMode::ALL; 2], [0, 0])?;
        let node = node.with_bundling(bundling, [unique_key, None]);
        let input = vec![
            (LEFT, rows(&["+I 2 20"], false)?),
            (RIGHT, rows(&["+I 1 0", "+I 2 0", "+I 3 0"], false)?),
            (LEFT, watermark(1)),
            (RIGHT, watermark(1)),
            (LEFT, rows(&left, false)?),
            (LEFT, watermark(2)),
            (RIGHT, watermark(2)),
        ];
        let mut lines = output(node.operator()?, input)?;
        lines.retain(|line| !line.starts_with("watermark"));
        Ok(lines)
    };
    assert_eq!(joined(Some(vec![0]))?, ["+I 2 20 2 0", "+I 1 11 1 0", "-U 2 20 2 0", "+U 2 22 2 0"]);
    // without a key only what comes and goes within the bundle is left out
    assert_eq!(joined(None)?, ["+I 2 20 2 0", "+U 1 11 1 0", "-U 2 20 2 0", "+U 2 22 2 0"]);
    Ok(())
}

#[test]
fn a_bundle_ends_when_it_is_full() -> Result<()> {
    let node = RegularJoinNode::try_new(spec(JoinType::Left, false), [ChangelogMode::ALL; 2], [0, 0])?;
    let node = node.with_bundling(Bundling { size: 3, latency: 0 }, [Some(vec![0]), Some(vec![0])]);
    let input =
        vec![(LEFT, rows(&["+I 1 10", "+I 2 20"], false)?), (RIGHT, rows(&["+I 1 5", "+I 2 6"], false)?)];
    // the right side is joined first, so that the left one is not padded in vain
    assert_eq!(output(node.operator()?, input)?, ["+I 1 10 1 5", "+I 2 20 NULL NULL"]);
    Ok(())
}

/// Inputs with one row at most of a join key: it is taken back whatever it says, and replaced by what comes.
#[test]
fn unique_join_keys_need_no_content() -> Result<()> {
    let changes = [
        (0, "+I 1 10"),
        (1, "+I 1 20"),
        (0, "-U 1 10"),
        (0, "+U 1 11"),
        (1, "-D 1 99"),
        (1, "+I 1 21"),
        (0, "+I 1 12"),
        (1, "-D 1 21"),
        (1, "+I 1 22"),
        (0, "-D _ 5"),
    ];
    let elements: Vec<_> =
        changes.iter().map(|(port, change)| Ok((*port, rows(&[*change], false)?))).collect::<Result<_>>()?;
    let node = node(JoinType::Left)?.with_unique_join_keys([true, true]);
    let expected = [
        "+I 1 10 NULL NULL",
        "-D 1 10 NULL NULL",
        "+I 1 10 1 20",
        "-D 1 10 1 20",
        "+I 1 11 1 20",
        "-D 1 11 1 99",
        "+I 1 11 NULL NULL",
        "-D 1 11 NULL NULL",
        "+I 1 11 1 21",
        "+I 1 12 1 21",
        "-D 1 12 1 21",
        "+I 1 12 NULL NULL",
        "-D 1 12 NULL NULL",
        "+I 1 12 1 22",
        "-D NULL 5 NULL NULL",
    ];
    assert_eq!(output(node.operator()?, elements)?, expected);
    Ok(())
}
