//! Encoding `parquet`.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::{
    DataFusionError, Result, exec_datafusion_err, internal_datafusion_err, plan_datafusion_err,
};
use datafusion_streaming_physical_plan::changelog::ChangelogBatch;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{SchemaDescriptor, Type};

use super::int96::{described_as, with_twelve_bytes};
use super::options::{ParquetCompression, ParquetOptions};
use super::schema::{parquet_type, stored_type};
use super::to_file::to_stored;
use crate::formats::{Encoder, insert_only};

/// The name that Flink gives the root of a file's schema.
const ROOT: &str = "flink_schema";

/// Encodes `parquet`. Row groups are written as they are complete; the one that is open is kept back.
pub(in crate::formats) struct ParquetEncoder {
    table: String,
    /// The columns as they are stored.
    columns: Vec<Field>,
    /// The schema of the files.
    schema: SchemaDescriptor,
    properties: Arc<WriterProperties>,
    /// Makes the columns of a row group, in which each INT96 is 12 bytes.
    row_groups: ArrowRowGroupWriterFactory,
    block_size: usize,
    file: Option<SerializedFileWriter<Vec<u8>>>,
    /// The columns of the open row group, nested ones by what is in them.
    row_group: Option<Vec<ArrowColumnWriter>>,
}

impl ParquetEncoder {
    pub(in crate::formats) fn try_new(
        table: &str,
        schema: &SchemaRef,
        options: &ParquetOptions,
    ) -> Result<Self> {
        let column = |field: &Arc<Field>| {
            let stored = stored_type(field.data_type(), options.timestamps).map_err(|error| {
                plan_datafusion_err!("column '{}' of table '{table}': {error}", field.name())
            })?;
            Ok(Field::new(field.name(), stored, true))
        };
        let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>>>()?;
        Self::with_columns(table, columns, options)
            .map_err(|error| plan_datafusion_err!("table '{table}' makes no Parquet file: {error}"))
    }

    fn with_columns(
        table: &str,
        columns: Vec<Field>,
        options: &ParquetOptions,
    ) -> Result<Self, ParquetError> {
        let types = columns.iter().map(|column| parquet_type(column).map(Arc::new));
        let types = types.collect::<Result<Vec<_>, _>>()?;
        let root = Arc::new(Type::group_type_builder(ROOT).with_fields(types).build()?);
        let schema = SchemaDescriptor::new(Arc::clone(&root));
        let mut properties = WriterProperties::builder()
            .set_compression(match options.compression {
                ParquetCompression::Uncompressed => Compression::UNCOMPRESSED,
                ParquetCompression::Snappy => Compression::SNAPPY,
            })
            .set_data_page_size_limit(options.page_size)
            .set_dictionary_enabled(options.dictionary);
        for column in schema.columns().iter().filter(|column| column.physical_type() == PhysicalType::INT96) {
            properties =
                properties.set_column_statistics_enabled(column.path().clone(), EnabledStatistics::None);
        }
        let properties = Arc::new(properties.build());
        // It only tells the factory what the columns are
        let storage = SerializedFileWriter::new(vec![], with_twelve_bytes(&root)?, Arc::clone(&properties))?;
        let row_groups = ArrowRowGroupWriterFactory::new(&storage, Arc::new(Schema::new(columns.clone())));
        Ok(ParquetEncoder {
            table: table.to_string(),
            columns,
            schema,
            properties,
            row_groups,
            block_size: options.block_size,
            file: None,
            row_group: None,
        })
    }

    fn failed(&self, error: ParquetError) -> DataFusionError {
        exec_datafusion_err!("table '{}': its Parquet file cannot be written: {error}", self.table)
    }

    /// Begins a file and a row group where there is none.
    fn begin(&mut self) -> Result<(), ParquetError> {
        if self.file.is_none() {
            let (root, properties) = (self.schema.root_schema_ptr(), Arc::clone(&self.properties));
            self.file = Some(SerializedFileWriter::new(vec![], root, properties)?);
        }
        if self.row_group.is_none() {
            self.row_group = Some(self.row_groups.create_column_writers(0)?);
        }
        Ok(())
    }

    /// Ends the open row group.
    fn finish_row_group(&mut self, out: &mut Vec<u8>) -> Result<(), ParquetError> {
        let (Some(file), Some(columns)) = (&mut self.file, self.row_group.take()) else { return Ok(()) };
        let mut row_group = file.next_row_group()?;
        for (column, described) in columns.into_iter().zip(self.schema.columns()) {
            let mut chunk = column.close()?;
            if described.physical_type() == PhysicalType::INT96 {
                let metadata = described_as(&chunk.close().metadata, Arc::clone(described))?;
                chunk.close_mut().metadata = metadata;
            }
            chunk.append_to_row_group(&mut row_group)?;
        }
        row_group.close()?;
        file.flush()?;
        out.append(file.inner_mut());
        Ok(())
    }
}

impl Encoder for ParquetEncoder {
    fn encode(&mut self, changes: &ChangelogBatch, out: &mut Vec<u8>) -> Result<()> {
        insert_only(&self.table, "parquet", changes)?;
        self.begin().map_err(|error| self.failed(error))?;
        let Some(row_group) = &mut self.row_group else { return Ok(()) };
        let mut writers = row_group.iter_mut();
        for (field, column) in self.columns.iter().zip(changes.batch().columns()) {
            let error = |error: &dyn std::fmt::Display| {
                exec_datafusion_err!("column '{}' of table '{}': {error}", field.name(), self.table)
            };
            let stored = to_stored(column, field.data_type()).map_err(|unfit| error(&unfit))?;
            for leaf in compute_leaves(field, &stored).map_err(|failed| error(&failed))? {
                let writer = writers.next().ok_or_else(|| internal_datafusion_err!("a column too many"))?;
                writer.write(&leaf).map_err(|failed| error(&failed))?;
            }
        }
        if self.kept_back() >= self.block_size {
            self.finish_row_group(out).map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    fn finish_file(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.finish_row_group(out).map_err(|error| self.failed(error))?;
        let Some(file) = self.file.take() else { return Ok(()) };
        out.append(&mut file.into_inner().map_err(|error| self.failed(error))?);
        Ok(())
    }

    fn kept_back(&self) -> usize {
        self.row_group.iter().flatten().map(ArrowColumnWriter::get_estimated_total_bytes).sum()
    }
}
