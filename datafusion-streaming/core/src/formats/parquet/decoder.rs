//! Decoding `parquet`.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_empty_array, new_null_array};
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use datafusion::common::{Result as DataFusionResult, plan_datafusion_err};
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use parquet::basic::Compression;
use parquet::file::FOOTER_SIZE;
use parquet::file::metadata::{FooterTail, PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder};

use super::from_file::from_stored;
use super::int96::file_with_twelve_bytes;
use super::malformed;
use super::options::ParquetTimestamps;
use super::schema::stored_type;
use crate::formats::{BulkDecoder, BulkStep, Malformed};

/// Decodes `parquet`, of each file only the columns that are wanted.
pub(in crate::formats) struct ParquetDecoder {
    /// The columns that are wanted.
    schema: SchemaRef,
    state: State,
    rows: Option<u64>,
}

/// How far a file has been read.
pub(super) enum State {
    /// There is no file, or no more of it.
    Idle,
    /// What the file says of itself, at its end, is needed first.
    Footer { footer: Box<ParquetMetaDataPushDecoder>, size: u64, row: u64, batch_size: usize },
    /// Its columns come, in batches.
    Rows { rows: Box<ParquetPushDecoder>, sources: Vec<Option<usize>> },
}

impl ParquetDecoder {
    /// A decoder of these columns.
    pub(in crate::formats) fn try_new(schema: &SchemaRef) -> DataFusionResult<Self> {
        for field in schema.fields() {
            stored_type(field.data_type(), ParquetTimestamps::Int96)
                .map_err(|error| plan_datafusion_err!("column '{}': {error}", field.name()))?;
        }
        Ok(ParquetDecoder { schema: Arc::clone(schema), state: State::Idle, rows: None })
    }

    /// Goes on to the rows, the first of which is `row`.
    pub(super) fn begin(
        &mut self,
        file: ParquetMetaData,
        row: u64,
        batch_size: usize,
    ) -> Result<State, Malformed> {
        let file = Arc::new(file_with_twelve_bytes(file).map_err(malformed)?);
        let mut groups = vec![];
        let (mut rows, mut skipped) = (0, row);
        for (index, group) in file.row_groups().iter().enumerate() {
            let len = u64::try_from(group.num_rows()).unwrap_or(0);
            rows += len;
            match groups.is_empty() && skipped >= len {
                true => skipped -= len,
                false => groups.push(index),
            }
        }
        self.rows = Some(rows);
        if groups.is_empty() {
            return match skipped {
                0 => Ok(State::Idle),
                _ => Err(Malformed::new(format!("it has {rows} rows now, but {row} of them have been read"))),
            };
        }
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let reader = ArrowReaderMetadata::try_new(Arc::clone(&file), options).map_err(malformed)?;
        let mut roots = vec![];
        for field in self.schema.fields() {
            let root = reader.schema().index_of(field.name()).ok();
            match root {
                Some(root) => {
                    let empty = new_empty_array(reader.schema().field(root).data_type());
                    from_stored(&empty, field.data_type())
                        .map_err(|error| error.within(&label(field.name())))?;
                }
                None if field.is_nullable() => {}
                None => {
                    return Err(Malformed::new(format!(
                        "it has no {}, which is NOT NULL",
                        label(field.name())
                    )));
                }
            }
            roots.push(root);
        }
        let schema = file.file_metadata().schema_descr();
        let mask = ProjectionMask::roots(schema, roots.iter().flatten().copied());
        let mut columns = groups.iter().flat_map(|group| file.row_group(*group).columns().iter().enumerate());
        let foreign = columns.find_map(|(leaf, chunk)| match chunk.compression() {
            Compression::UNCOMPRESSED | Compression::SNAPPY => None,
            other => mask.leaf_included(leaf).then_some(other),
        });
        if let Some(codec) = foreign {
            return Err(Malformed::new(format!(
                "it is compressed by {codec}; UNCOMPRESSED and SNAPPY can be read"
            )));
        }
        // The columns come in the order of the file, each once
        let rank = |root: usize| {
            let mut before: Vec<usize> =
                roots.iter().flatten().copied().filter(|other| *other < root).collect();
            before.sort_unstable();
            before.dedup();
            before.len()
        };
        let sources = roots.iter().map(|root| root.map(rank)).collect();
        let mut builder = ParquetPushDecoderBuilder::new_with_metadata(reader)
            .with_projection(mask)
            .with_row_groups(groups)
            .with_batch_size(batch_size);
        if skipped > 0 {
            builder = builder.with_offset(usize::try_from(skipped).map_err(malformed)?);
        }
        Ok(State::Rows { rows: Box::new(builder.build().map_err(malformed)?), sources })
    }
}

impl BulkDecoder for ParquetDecoder {
    fn open(&mut self, size: u64, row: u64, batch_size: usize) -> Result<(), Malformed> {
        let footer = ParquetMetaDataPushDecoder::try_new(size).map_err(malformed)?;
        let footer = footer.with_page_index_policy(PageIndexPolicy::Skip);
        self.state = State::Footer { footer: Box::new(footer), size, row, batch_size };
        self.rows = None;
        Ok(())
    }

    fn step(&mut self) -> Result<BulkStep, Malformed> {
        loop {
            match &mut self.state {
                State::Idle => return Ok(BulkStep::End),
                State::Footer { footer, row, batch_size, .. } => {
                    match footer.try_decode().map_err(malformed)? {
                        DecodeResult::NeedsData(ranges) => return Ok(BulkStep::Needs(ranges)),
                        DecodeResult::Data(file) => {
                            let (row, batch_size) = (*row, *batch_size);
                            self.state = self.begin(file, row, batch_size)?;
                        }
                        DecodeResult::Finished => self.state = State::Idle,
                    }
                }
                State::Rows { rows, sources } => match rows.try_decode().map_err(malformed)? {
                    DecodeResult::NeedsData(ranges) => return Ok(BulkStep::Needs(ranges)),
                    DecodeResult::Data(batch) => {
                        return completed(&self.schema, sources, &batch).map(BulkStep::Rows);
                    }
                    DecodeResult::Finished => self.state = State::Idle,
                },
            }
        }
    }

    fn provide(&mut self, ranges: Vec<Range<u64>>, bytes: Vec<Bytes>) -> Result<(), Malformed> {
        match &mut self.state {
            State::Idle => Ok(()),
            State::Footer { footer, size, .. } => {
                for tail in bytes.iter().filter(|tail| tail.len() == FOOTER_SIZE) {
                    let tail = FooterTail::try_from(tail.as_ref()).map_err(malformed)?;
                    let len = tail.metadata_length() as u64;
                    if len + FOOTER_SIZE as u64 > *size {
                        return Err(Malformed::new(format!(
                            "its index should have {len} bytes, but it has {size}"
                        )));
                    }
                }
                footer.push_ranges(ranges, bytes).map_err(malformed)
            }
            State::Rows { rows, .. } => rows.push_ranges(ranges, bytes).map_err(malformed),
        }
    }

    fn rows(&self) -> Option<u64> {
        self.rows
    }
}

fn label(column: &str) -> String {
    format!("column '{column}'")
}

/// The wanted columns of a batch: by their places in it, NULL where they have none.
fn completed(
    schema: &SchemaRef,
    sources: &[Option<usize>],
    batch: &RecordBatch,
) -> Result<RecordBatch, Malformed> {
    let count = batch.num_rows();
    let mut columns: Vec<ArrayRef> = vec![];
    for (field, source) in schema.fields().iter().zip(sources) {
        let column = match source {
            Some(source) => from_stored(batch.column(*source), field.data_type())
                .map_err(|error| error.within(&label(field.name())))?,
            None => new_null_array(field.data_type(), count),
        };
        if !field.is_nullable() && column.null_count() > 0 {
            return Err(Malformed::new(format!("{} is NOT NULL, but a row has NULL", label(field.name()))));
        }
        columns.push(column);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(malformed)
}
