//! What changes are told with.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::interleave;
use arrow::datatypes::SchemaRef;
use datafusion_common::Result;

use crate::changelog::{ChangelogBatch, RowKind};
use crate::state::{Place, RowStore};

/// So many rows, or results of so many blocks, are told at once.
const ROWS: usize = 4096;
const BLOCKS: usize = 1024;

/// Changed rows, with where their results are. The columns are built at the end, all at once.
#[derive(Default)]
pub(super) struct Told {
    places: Vec<Place>,
    kinds: Vec<RowKind>,
    /// For each row, the block and the place in it.
    results: Vec<(usize, usize)>,
    /// The results of blocks, before or after a change.
    blocks: Vec<Vec<ArrayRef>>,
}

/// The results of a block, which are kept once a row is told of them.
pub(super) struct BlockResults<'a> {
    arrays: &'a [ArrayRef],
    number: Option<usize>,
}

impl<'a> BlockResults<'a> {
    pub(super) fn new(arrays: &'a [ArrayRef]) -> Self {
        BlockResults { arrays, number: None }
    }

    pub(super) fn arrays(&self) -> &'a [ArrayRef] {
        self.arrays
    }
}

impl Told {
    pub(super) fn push(&mut self, kind: RowKind, place: Place, block: &mut BlockResults<'_>, row: usize) {
        let number = *block.number.get_or_insert_with(|| {
            self.blocks.push(block.arrays.to_vec());
            self.blocks.len() - 1
        });
        self.kinds.push(kind);
        self.places.push(place);
        self.results.push((number, row));
    }

    /// Whether there is enough for a batch.
    pub(super) fn is_large(&self) -> bool {
        self.places.len() >= ROWS || self.blocks.len() >= BLOCKS
    }

    /// The changes: as many columns of the rows as `schema` has besides the results, and these.
    pub(super) fn finish(self, store: &RowStore, schema: &SchemaRef) -> Result<Option<ChangelogBatch>> {
        let Some(calls) = self.blocks.first().map(Vec::len) else { return Ok(None) };
        let mut columns = Vec::with_capacity(schema.fields().len());
        for column in 0..schema.fields().len() - calls {
            columns.push(store.gather_column(column, &self.places)?);
        }
        for call in 0..calls {
            let arrays: Vec<&dyn Array> = self.blocks.iter().map(|block| block[call].as_ref()).collect();
            columns.push(interleave(&arrays, &self.results)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.kinds.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?;
        ChangelogBatch::try_new(batch, self.kinds.into()).map(Some)
    }
}
