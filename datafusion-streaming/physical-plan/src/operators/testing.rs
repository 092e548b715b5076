//! Driving operators by hand in unit tests: elements in, changelog lines out.

use datafusion_common::Result;

use crate::changelog::{ChangelogBatch, pretty::changelog_lines};
use crate::runtime::{Driver, Operator, StreamElement};
use crate::time::Watermark;

/// Rows, as an element.
pub(crate) fn changes(changes: ChangelogBatch) -> StreamElement {
    StreamElement::Data(changes)
}

/// A watermark, as an element.
pub(crate) fn watermark(millis: i64) -> StreamElement {
    StreamElement::Watermark(Watermark(millis))
}

/// The output of an operator with one input for these elements and the end: rows as `+I 1 x`,
/// watermarks as `watermark 1000`.
pub(crate) fn lines_of(
    operator: impl Operator + 'static,
    input: impl IntoIterator<Item = StreamElement>,
) -> Result<Vec<String>> {
    let mut driver = Driver::detached(Box::new(operator), 1, 8192)?;
    let mut lines = vec![];
    for element in input {
        driver.input(0, element, 0)?;
        drain(&mut driver, &mut lines)?;
    }
    driver.end(0, 0)?;
    drain(&mut driver, &mut lines)?;
    lines.retain(|line| line != "watermark MAX");
    Ok(lines)
}

/// Numbers that look random, the same for the same seed, which is not 0.
pub(crate) struct Random(pub u64);

impl Random {
    /// A number from 0 on, below `bound`.
    pub(crate) fn below(&mut self, bound: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as i64
    }
}

/// Takes what a driver has put out, as lines.
pub(crate) fn drain(driver: &mut Driver, lines: &mut Vec<String>) -> Result<()> {
    while let Some(element) = driver.pop() {
        match element {
            StreamElement::Data(changes) => lines.extend(changelog_lines([&changes])?),
            StreamElement::Watermark(watermark) => lines.push(format!("watermark {watermark}")),
            StreamElement::Barrier(barrier) => lines.push(format!("barrier {barrier}")),
            StreamElement::Idle => lines.push("idle".to_string()),
        }
    }
    Ok(())
}
