use std::sync::Arc;

use datafusion_common::{JoinType, Result};

use super::super::testing::{output, rows, schema, spec};
use super::TemporalJoinNode;
use crate::changelog::ChangelogMode;
use crate::operators::testing::watermark;
use crate::runtime::{StreamTraits, TimeAttribute, TimeAttributeKind};

fn traits(keyed: bool, timed: bool) -> StreamTraits {
    let rowtime = TimeAttribute { column: 1, kind: TimeAttributeKind::Rowtime };
    StreamTraits {
        mode: ChangelogMode::ALL,
        upsert_keys: if keyed { vec![vec![0]] } else { vec![] },
        time_attributes: if timed { vec![rowtime] } else { vec![] },
        ..StreamTraits::default()
    }
}

fn node(join_type: JoinType) -> Result<TemporalJoinNode> {
    let inputs = [schema(true), schema(true)];
    let schema = Arc::clone(&spec(JoinType::Inner, true).schema);
    TemporalJoinNode::try_new(join_type, [vec![0], vec![0]], 1, None, inputs, schema)
}

#[test]
fn a_row_has_the_version_of_its_time() -> Result<()> {
    let node = node(JoinType::Left)?.over(&traits(false, true), &traits(true, true))?;
    let elements = vec![
        (0, rows(&["+I 1 15", "+I 1 20", "+I 1 5", "-D 1 35"], true)?),
        (1, rows(&["+I 1 10", "-U 1 10", "+U 1 20", "-D 1 30"], true)?),
        (0, watermark(18)),
        (1, watermark(18)),
        (0, watermark(100)),
        (1, watermark(100)),
    ];
    let lines = output(node.operator()?, elements)?;
    let short: Vec<_> = lines.iter().map(|line| line.replace("1970-01-01T00:00:00.0", "")).collect();
    let expected = [
        "+I 1 15 1 10",
        "+I 1 05 NULL NULL",
        "watermark 18",
        "+I 1 20 1 20",
        "-D 1 35 NULL NULL",
        "watermark 100",
    ];
    assert_eq!(short, expected);
    Ok(())
}

#[test]
fn what_is_no_versioned_table_is_refused() -> Result<()> {
    let refused = |left: StreamTraits, right: StreamTraits| -> Result<String> {
        Ok(node(JoinType::Inner)?.over(&left, &right).unwrap_err().to_string())
    };
    assert!(refused(traits(false, true), traits(false, true))?.contains("no primary key"));
    assert!(refused(traits(false, true), traits(true, false))?.contains("no rowtime"));
    assert!(refused(traits(false, false), traits(true, true))?.contains("time attribute"));
    assert!(node(JoinType::Full).unwrap_err().to_string().contains("LEFT JOIN"));
    Ok(())
}
