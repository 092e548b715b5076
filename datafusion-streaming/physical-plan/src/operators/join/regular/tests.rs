use datafusion_common::{JoinType, Result};

use super::super::testing::{output, rows, spec};
use super::{JoinSpec, RegularJoinNode};
use crate::changelog::ChangelogMode;
use crate::operators::testing::drain;
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
