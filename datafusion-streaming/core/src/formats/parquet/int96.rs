//! INT96: the timestamps of 12 bytes that Flink, Hive and Spark write.
//!
//! The first 8 bytes are the nanoseconds of the day, the last 4 the Julian day, all in little-endian order.
//!
//! Arrow has no such type, and what the crate `parquet` makes of it ends in 1677 and 2262. So columns are handled
//! as 12 bytes of any meaning, FIXED_LEN_BYTE_ARRAY(12): their pages are the same to the byte. Only what a file
//! says of the column's type differs, and is exchanged when it is written and when it has been read.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, FixedSizeBinaryArray};
use arrow::datatypes::DataType;
use datafusion_streaming_udfs::timestamps::{TimestampType, Timestamps};
use parquet::basic::{ConvertedType, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataBuilder, RowGroupMetaData,
};
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, Type, TypePtr};

use super::malformed;
use crate::formats::Malformed;

/// The Arrow type that stands for INT96.
pub(super) const TWELVE_BYTES: DataType = DataType::FixedSizeBinary(LENGTH);

const LENGTH: i32 = 12;
/// The Julian day of 1970-01-01.
const EPOCH_DAY: i64 = 2_440_588;
const MILLIS_PER_DAY: i64 = 86_400_000;
const NANOS_PER_MILLI: i64 = 1_000_000;

/// Timestamps as INT96.
pub(super) fn to_int96(array: &ArrayRef) -> Result<ArrayRef, Malformed> {
    let times = Timestamps::new(array).map_err(malformed)?;
    let mut bytes = Vec::with_capacity(array.len() * LENGTH as usize);
    for row in 0..array.len() {
        let (millis, nanos) = times.millis(row).unwrap_or((0, 0));
        let day = i32::try_from(millis.div_euclid(MILLIS_PER_DAY) + EPOCH_DAY)
            .map_err(|_| Malformed::new("a timestamp is beyond the days that Parquet's INT96 holds"))?;
        let nanos = millis.rem_euclid(MILLIS_PER_DAY) * NANOS_PER_MILLI + nanos;
        bytes.extend_from_slice(&nanos.to_le_bytes());
        bytes.extend_from_slice(&day.to_le_bytes());
    }
    let array = FixedSizeBinaryArray::try_new(LENGTH, bytes.into(), array.logical_nulls());
    Ok(Arc::new(array.map_err(malformed)?))
}

/// The timestamps of INT96 values; digits that `to` does not have are cut off.
pub(super) fn from_int96(array: &FixedSizeBinaryArray, to: TimestampType) -> Result<ArrayRef, Malformed> {
    let time = |row: usize| {
        if array.is_null(row) {
            return Ok(None);
        }
        let (nanos, day) = array.value(row).split_at(8);
        let nanos = nanos.try_into().map_or(0, i64::from_le_bytes);
        let day = day.try_into().map_or(0, i32::from_le_bytes);
        let millis = (i64::from(day) - EPOCH_DAY) * MILLIS_PER_DAY + nanos.div_euclid(NANOS_PER_MILLI);
        Ok(Some((millis, nanos.rem_euclid(NANOS_PER_MILLI))))
    };
    super::from_file::timestamps((0..array.len()).map(time), to)
}

/// The type of a column or file in which each INT96 is 12 bytes instead.
pub(super) fn with_twelve_bytes(of: &TypePtr) -> Result<TypePtr, ParquetError> {
    let info = of.get_basic_info();
    let id = info.has_id().then(|| info.id());
    match of.as_ref() {
        Type::PrimitiveType { physical_type: PhysicalType::INT96, .. } => {
            let bytes = Type::primitive_type_builder(of.name(), PhysicalType::FIXED_LEN_BYTE_ARRAY)
                .with_length(LENGTH)
                .with_repetition(info.repetition())
                .with_id(id);
            Ok(Arc::new(bytes.build()?))
        }
        Type::PrimitiveType { .. } => Ok(Arc::clone(of)),
        Type::GroupType { fields, .. } => {
            let fields = fields.iter().map(with_twelve_bytes).collect::<Result<Vec<_>, _>>()?;
            let mut group = Type::group_type_builder(of.name())
                .with_fields(fields)
                .with_logical_type(info.logical_type_ref().cloned())
                .with_id(id);
            if info.logical_type_ref().is_none() && info.converted_type() != ConvertedType::NONE {
                group = group.with_converted_type(info.converted_type());
            }
            if info.has_repetition() {
                group = group.with_repetition(info.repetition());
            }
            Ok(Arc::new(group.build()?))
        }
    }
}

/// What is said of a column chunk, said of a column of the same bytes. Statistics stay behind: the order of
/// timestamps is not that of their bytes.
pub(super) fn described_as(
    chunk: &ColumnChunkMetaData,
    column: ColumnDescPtr,
) -> Result<ColumnChunkMetaData, ParquetError> {
    let mut builder = ColumnChunkMetaData::builder(column)
        .set_encodings_mask(*chunk.encodings_mask())
        .set_compression_codec(chunk.compression_codec())
        .set_num_values(chunk.num_values())
        .set_total_compressed_size(chunk.compressed_size())
        .set_total_uncompressed_size(chunk.uncompressed_size())
        .set_data_page_offset(chunk.data_page_offset())
        .set_dictionary_page_offset(chunk.dictionary_page_offset());
    if let Some(encodings) = chunk.page_encoding_stats() {
        builder = builder.set_page_encoding_stats(encodings.clone());
    }
    builder.build()
}

/// What a file says of itself, with 12 bytes for each INT96.
pub(super) fn file_with_twelve_bytes(file: ParquetMetaData) -> Result<ParquetMetaData, ParquetError> {
    let about = file.file_metadata();
    let columns = about.schema_descr().columns();
    if columns.iter().all(|column| column.physical_type() != PhysicalType::INT96) {
        return Ok(file);
    }
    let root = with_twelve_bytes(&about.schema_descr().root_schema_ptr())?;
    let schema = Arc::new(SchemaDescriptor::new(root));
    let row_group = |group: &RowGroupMetaData| {
        let chunks = group.columns().iter().zip(schema.columns());
        let chunks = chunks.map(|(chunk, column)| described_as(chunk, Arc::clone(column)));
        RowGroupMetaData::builder(Arc::clone(&schema))
            .set_num_rows(group.num_rows())
            .set_total_byte_size(group.total_byte_size())
            .set_column_metadata(chunks.collect::<Result<_, _>>()?)
            .build()
    };
    let row_groups = file.row_groups().iter().map(row_group).collect::<Result<Vec<_>, _>>()?;
    let created_by = about.created_by().map(str::to_string);
    let about =
        FileMetaData::new(about.version(), about.num_rows(), created_by, None, Arc::clone(&schema), None);
    Ok(ParquetMetaDataBuilder::new(about).set_row_groups(row_groups).build())
}
