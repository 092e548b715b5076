//! Keys and values.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use arrow::array::{Decimal128Array, Int64Array, RecordBatch, StringBuilder, TimestampMillisecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::common::Result;

use crate::Events;
use crate::random::{below, millis, random};

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    Arc::new(Schema::new(vec![
        Field::new("k", DataType::Int64, false),
        Field::new("v", DataType::Int64, false),
        Field::new("d", DataType::Decimal128(19, 2), false),
        Field::new("s", DataType::Utf8, false),
        Field::new("ts", DataType::Timestamp(TimeUnit::Millisecond, None), false),
    ]))
});

static STRINGS: LazyLock<Vec<String>> =
    LazyLock::new(|| (0..1000).map(|index| format!("str-{index}")).collect());

/// A row an event: `k` of so many keys, `v` below 10,000, `d` below 100,000.00, `s` one of 1,000
/// strings, and the time `ts`. All are uniform.
#[derive(Debug, Clone, Copy)]
pub struct Kv {
    /// The number of keys.
    pub keys: u64,
}

impl Events for Kv {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&SCHEMA)
    }

    fn rows(&self, events: Range<u64>) -> Result<RecordBatch> {
        let number =
            |stream: u64, limit: u64| events.clone().map(move |n| below(random(n, stream), limit) as i64);
        let mut strings = StringBuilder::new();
        for index in number(3, 1000) {
            strings.append_value(&STRINGS[index as usize]);
        }
        let decimals = Decimal128Array::from_iter_values(number(2, 10_000_000).map(i128::from));
        Ok(RecordBatch::try_new(
            self.schema(),
            vec![
                Arc::new(Int64Array::from_iter_values(number(0, self.keys))),
                Arc::new(Int64Array::from_iter_values(number(1, 10_000))),
                Arc::new(decimals.with_precision_and_scale(19, 2)?),
                Arc::new(strings.finish()),
                Arc::new(TimestampMillisecondArray::from_iter_values(events.clone().map(millis))),
            ],
        )?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks;
    use crate::random::tests::checksum;

    #[test]
    fn rows_are_those_of_the_baseline() {
        let batches: Vec<_> = blocks(Kv { keys: 4096 }, 100_000).map(|block| block.unwrap().batch).collect();
        assert_eq!(checksum(&batches), (100_000, 0x5b19_a4de_817b_d4da));
    }
}
