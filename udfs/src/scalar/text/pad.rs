//! What LPAD and RPAD share.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use datafusion_expr::ScalarFunctionArgs;

use super::utf16::{length, push_slice};
use crate::scalar::arguments::{Integer, Text, texts_and_ints};
use crate::scalar::text_rows::write_rows;

/// Where a text is filled up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

pub(super) fn types(args: &[DataType]) -> Option<(Vec<DataType>, DataType)> {
    Some((texts_and_ints(args, "tit")?, DataType::Utf8))
}

pub(super) fn pad(args: &ScalarFunctionArgs, side: Side) -> Result<ArrayRef> {
    let (texts, lengths, pads) = (Text::new(args, 0)?, Integer::new(args, 1)?, Text::new(args, 2)?);
    write_rows(args.number_rows, texts.bytes(args.number_rows), |row, result| {
        let mut write = || {
            let (text, pad) = (texts.get(row)?, pads.get(row)?);
            let wanted = usize::try_from(lengths.get(row)?).ok()?;
            if pad.is_empty() {
                return None;
            }
            let missing = wanted.saturating_sub(length(text));
            if side == Side::Right {
                push_slice(text, 0, wanted, result);
            }
            let pad_length = length(pad);
            for _ in 0..missing / pad_length {
                result.push_str(pad);
            }
            push_slice(pad, 0, missing % pad_length, result);
            if side == Side::Left {
                push_slice(text, 0, wanted, result);
            }
            Some(())
        };
        Ok(write())
    })
}
