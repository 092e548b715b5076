//! Rows in blocks, with watermarks between them.

use std::ops::Range;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;

use crate::random::millis;

/// The number of events in a block.
const BLOCK_EVENTS: u64 = 8192;

/// A generator: what rows a range of event numbers has.
pub trait Events {
    /// The columns; none is nullable.
    fn schema(&self) -> SchemaRef;

    /// The rows of these events, in the order of their numbers and of their time.
    fn rows(&self, events: Range<u64>) -> Result<RecordBatch>;
}

/// The rows of a block of events, and the watermark behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The rows; none where no event of the block is of this generator's kind.
    pub batch: RecordBatch,
    /// Epoch milliseconds: no later row has this time or an earlier one.
    pub watermark: i64,
}

/// The rows of the first `events` events, in the blocks of the baseline's sources.
pub fn blocks(generator: impl Events, events: u64) -> impl Iterator<Item = Result<Block>> {
    (0..events.div_ceil(BLOCK_EVENTS)).map(move |block| {
        let numbers = block * BLOCK_EVENTS..events.min((block + 1) * BLOCK_EVENTS);
        let watermark = millis(numbers.end - 1) - 1;
        Ok(Block { batch: generator.rows(numbers)?, watermark })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::Kv;

    #[test]
    fn blocks_are_full_but_for_the_last_and_end_in_a_watermark() {
        let blocks: Vec<Block> = blocks(Kv { keys: 4 }, 20_000).map(Result::unwrap).collect();
        let rows: Vec<usize> = blocks.iter().map(|block| block.batch.num_rows()).collect();
        assert_eq!(rows, [8192, 8192, 3616]);
        let watermarks: Vec<i64> = blocks.iter().map(|block| block.watermark - 1_767_225_600_000).collect();
        assert_eq!(watermarks, [818, 1637, 1998]);
    }

    #[test]
    fn no_events_are_no_blocks() {
        assert_eq!(blocks(Kv { keys: 4 }, 0).count(), 0);
    }
}
