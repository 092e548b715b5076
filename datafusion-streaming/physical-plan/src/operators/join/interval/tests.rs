use datafusion_common::{JoinType, Result};

use super::super::testing::{output, rows, spec};
use super::{Interval, IntervalJoinNode};
use crate::operators::testing::watermark;
use crate::runtime::StreamElement;

/// `left.ts BETWEEN right.ts - 5 AND right.ts`
fn lines(join_type: JoinType, elements: Vec<(usize, StreamElement)>) -> Result<Vec<String>> {
    let interval = Interval { times: [1, 1], lower: -5, upper: 0 };
    output(IntervalJoinNode::try_new(spec(join_type, true), interval)?.operator()?, elements)
}

#[test]
fn bounds_are_included_and_pads_wait_for_the_watermark() -> Result<()> {
    let elements = vec![
        (0, rows(&["+I 1 100", "+I 1 101", "+I 2 100"], true)?),
        (1, rows(&["+I 1 105"], true)?),
        (0, watermark(105)),
        (1, watermark(105)),
        (0, watermark(106)),
        (1, watermark(106)),
    ];
    let lines = lines(JoinType::Left, elements)?;
    let short: Vec<_> = lines.iter().map(|line| line.replace("1970-01-01T00:00:00.", "")).collect();
    let expected = [
        "+I 1 100 1 105",
        "+I 1 101 1 105",
        // held back by 5 ms and half of the interval
        "watermark 98",
        "+I 2 100 NULL NULL",
        "watermark 99",
    ];
    assert_eq!(short, expected);
    Ok(())
}

#[test]
fn a_row_too_late_for_partners_is_padded_at_once() -> Result<()> {
    let elements = vec![(0, watermark(200)), (1, watermark(200)), (0, rows(&["+I 1 100"], true)?)];
    let lines = lines(JoinType::Full, elements)?;
    assert_eq!(lines, ["watermark 193", "+I 1 1970-01-01T00:00:00.100 NULL NULL"]);
    Ok(())
}
