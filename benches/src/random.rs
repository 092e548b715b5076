//! Random numbers and letters, each a function of where it is used.

/// 2026-01-01T00:00:00Z in epoch milliseconds.
const START_MS: i64 = 1_767_225_600_000;

/// The `stream`-th of the sixteen random numbers of event `n`: splitmix64, seeded with 0.
pub(crate) fn random(n: u64, stream: u64) -> u64 {
    let z = n.wrapping_mul(16).wrapping_add(stream + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A number in `0..limit`, uniform where `random` is. `limit` fits 32 bits.
pub(crate) fn below(random: u64, limit: u64) -> u64 {
    ((random >> 32) * limit) >> 32
}

/// The time of event `n` in epoch milliseconds: ten thousand events a second.
pub(crate) fn millis(n: u64) -> i64 {
    START_MS + (n / 10) as i64
}

/// Lower-case letters: entry `index` of a family of texts with `shortest` to
/// `shortest + lengths - 1` letters.
pub(crate) fn letters(family: u64, index: u64, shortest: u64, lengths: u64) -> String {
    let seed = 1_000_000_000_000 + family * 1_000_000 + index;
    let length = shortest + below(random(seed, 0), lengths);
    (0..length).map(|i| char::from(b'a' + below(random(seed * 256 + i, 1), 26) as u8)).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use arrow::array::{Array, AsArray, RecordBatch};
    use arrow::datatypes::{DataType, Decimal128Type, Int64Type, TimestampMillisecondType};

    /// The number of rows and their checksum: FNV-1a of the columns as text, each followed by `|`,
    /// summed over the rows.
    pub(crate) fn checksum<'a>(batches: impl IntoIterator<Item = &'a RecordBatch>) -> (usize, u64) {
        let (mut rows, mut sum) = (0, 0u64);
        for batch in batches {
            for row in 0..batch.num_rows() {
                let text: String = batch.columns().iter().map(|column| text(column, row) + "|").collect();
                let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
                    (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
                });
                sum = sum.wrapping_add(hash);
                rows += 1;
            }
        }
        (rows, sum)
    }

    fn text(column: &dyn Array, row: usize) -> String {
        match column.data_type() {
            DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
            DataType::Utf8 => column.as_string::<i32>().value(row).to_string(),
            DataType::Decimal128(_, _) => column.as_primitive::<Decimal128Type>().value_as_string(row),
            _ => column.as_primitive::<TimestampMillisecondType>().value(row).to_string(),
        }
    }
}
