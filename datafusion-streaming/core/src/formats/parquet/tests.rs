use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::OffsetBuffer;
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::*;
use bytes::Bytes;
use datafusion::common::Result;
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, RowKind, RowKinds};
use datafusion_streaming_udfs::timestamps::{TimestampType, wide_nanos};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::data_type::{Int96, Int96Type};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field as Value;
use parquet::schema::parser::parse_message_type;
use parquet::schema::printer::print_schema;

use crate::formats::{BulkDecoder, BulkStep, FileDecoder, Format, Malformed, TableOptions};

fn format(options: &[(&str, &str)]) -> Result<Format> {
    let mut all = BTreeMap::from([("format".to_string(), "parquet".to_string())]);
    all.extend(options.iter().map(|(key, value)| (key.to_string(), value.to_string())));
    let options = TableOptions::new("t", &all);
    let format = Format::try_new(&options)?;
    options.finish().map(|()| format)
}

fn decoder(schema: &SchemaRef, projection: Option<&[usize]>) -> Box<dyn BulkDecoder> {
    match format(&[]).unwrap().decoder(schema, projection).unwrap() {
        FileDecoder::Bulk(decoder) => decoder,
        FileDecoder::Records(_) => panic!("parquet has no records"),
    }
}

/// The batches of a file from a row on.
fn batches(
    decoder: &mut dyn BulkDecoder,
    file: &Bytes,
    row: u64,
    batch_size: usize,
) -> Result<Vec<RecordBatch>, Malformed> {
    decoder.open(file.len() as u64, row, batch_size)?;
    let mut batches = vec![];
    loop {
        match decoder.step()? {
            BulkStep::Needs(ranges) => {
                let bytes = ranges.iter().map(|range| file.slice(range.start as usize..range.end as usize));
                let bytes = bytes.collect();
                decoder.provide(ranges, bytes)?;
            }
            BulkStep::Rows(batch) => batches.push(batch),
            BulkStep::End => return Ok(batches),
        }
    }
}

fn read(file: &Bytes, schema: &SchemaRef) -> Result<RecordBatch, Malformed> {
    let batches = batches(decoder(schema, None).as_mut(), file, 0, 1024)?;
    Ok(concat_batches(schema, &batches).unwrap())
}

/// The error of reading a file, at the latest at its last row.
fn read_error(file: &Bytes, schema: &SchemaRef) -> String {
    read(file, schema).unwrap_err().to_string()
}

/// A file of batches.
fn write(options: &[(&str, &str)], written: &[&RecordBatch]) -> Result<Bytes> {
    let mut encoder = format(options)?.encoder("sink", &written[0].schema())?;
    let mut file = vec![];
    for batch in written {
        encoder.encode(&ChangelogBatch::insert_only((*batch).clone()), &mut file)?;
    }
    encoder.finish_file(&mut file)?;
    Ok(file.into())
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
        .unwrap()
}

/// Timestamps of so many digits: the first and the last there are, one in between, and NULL.
fn timestamps(digits: u8, is_instant: bool) -> ArrayRef {
    let of = TimestampType::with_digits(digits, is_instant);
    let (millis, nanos) = match digits {
        0 => (0, 0),
        1..=3 => (999, 0),
        4..=6 => (999, 999_000),
        _ => (999, 999_999),
    };
    let seconds = [Some(-62_135_596_800), Some(1_704_067_201), None, Some(253_402_300_799)];
    let times = seconds.into_iter().map(|second| Ok(second.map(|second| (second * 1_000 + millis, nanos))));
    of.collect(times, |_| unreachable!()).unwrap()
}

fn list_of(values: ArrayRef) -> ArrayRef {
    let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths([2, 0, 0, values.len() - 2]);
    Arc::new(ListArray::new(item, offsets, values, Some(vec![true, true, false, true].into())))
}

fn map_of(keys: ArrayRef, values: ArrayRef, nullable: bool) -> ArrayRef {
    let fields = Fields::from(vec![
        Field::new("key", keys.data_type().clone(), false),
        Field::new("value", values.data_type().clone(), nullable),
    ]);
    let entries = Arc::new(Field::new("entries", DataType::Struct(fields.clone()), false));
    let pairs = StructArray::new(fields, vec![keys, values], None);
    let offsets = OffsetBuffer::from_lengths([2, 0, 0, pairs.len() - 2]);
    let nulls = Some(vec![true, true, false, true].into());
    Arc::new(MapArray::new(entries, offsets, pairs, nulls, false))
}

/// Four rows of every type that a table can have.
fn every_type() -> RecordBatch {
    let strings: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some(""), None, Some("ä\u{1F600}")]));
    let bytes: Vec<Option<&[u8]>> = vec![Some(b"\x00\xff"), Some(b""), None, Some(b"abc")];
    let ints: ArrayRef = Arc::new(Int32Array::from(vec![Some(i32::MIN), Some(0), None, Some(i32::MAX)]));
    let decimals = |precision: u8, scale: i8| {
        let largest = 10_i128.pow(u32::from(precision)) - 1;
        let values = Decimal128Array::from(vec![Some(-largest), Some(1), None, Some(largest)]);
        Arc::new(values.with_precision_and_scale(precision, scale).unwrap()) as ArrayRef
    };
    let times = |unit: TimeUnit, last: i64| -> ArrayRef {
        let times: ArrayRef =
            Arc::new(Int64Array::from(vec![Some(0), Some(last / 1_000 * 1_000), None, Some(0)]));
        match unit {
            TimeUnit::Second | TimeUnit::Millisecond => {
                cast(&cast(&times, &DataType::Int32).unwrap(), &DataType::Time32(unit)).unwrap()
            }
            unit => cast(&times, &DataType::Time64(unit)).unwrap(),
        }
    };
    let fields = Fields::from(vec![
        Field::new("n", DataType::Int32, true),
        Field::new("ts", timestamps(9, false).data_type().clone(), true),
        Field::new("words", list_of(Arc::clone(&strings)).data_type().clone(), true),
    ]);
    let members = vec![Arc::clone(&ints), timestamps(9, false), list_of(Arc::clone(&strings))];
    let row: ArrayRef =
        Arc::new(StructArray::new(fields, members, Some(vec![true, false, true, true].into())));
    let keys: ArrayRef = Arc::new(StringArray::from(vec!["k", "l", "m", "n"]));
    let counts: ArrayRef = Arc::new(Int32Array::from(vec![1, 2, 3, 4]));
    batch(vec![
        ("b", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, Some(true)]))),
        ("i8", Arc::new(Int8Array::from(vec![Some(i8::MIN), Some(0), None, Some(i8::MAX)]))),
        ("i16", Arc::new(Int16Array::from(vec![Some(i16::MIN), Some(0), None, Some(i16::MAX)]))),
        ("i32", Arc::clone(&ints)),
        ("i64", Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(0), None, Some(i64::MAX)]))),
        ("f32", Arc::new(Float32Array::from(vec![Some(f32::MIN), Some(-0.0), None, Some(f32::INFINITY)]))),
        ("f64", Arc::new(Float64Array::from(vec![Some(f64::MIN), Some(-0.0), None, Some(f64::INFINITY)]))),
        ("d9", decimals(9, 2)),
        ("d18", decimals(18, 0)),
        ("d38", decimals(38, 38)),
        ("s", Arc::clone(&strings)),
        ("bytes", Arc::new(BinaryArray::from(bytes))),
        ("date", Arc::new(Date32Array::from(vec![Some(-719_162), Some(0), None, Some(2_932_896)]))),
        ("t0", times(TimeUnit::Second, 86_399)),
        ("t3", times(TimeUnit::Millisecond, 86_399_999)),
        ("t6", times(TimeUnit::Microsecond, 86_399_999_000)),
        ("t9", times(TimeUnit::Nanosecond, 86_399_000_000_000)),
        ("ts0", timestamps(0, false)),
        ("ts3", timestamps(3, false)),
        ("ts6", timestamps(6, false)),
        ("ts9", timestamps(9, false)),
        ("ltz3", timestamps(3, true)),
        ("ltz9", timestamps(9, true)),
        ("list", list_of(Arc::clone(&strings))),
        ("times", list_of(timestamps(9, true))),
        ("lists", list_of(list_of(timestamps(3, false)))),
        ("map", map_of(Arc::clone(&keys), timestamps(6, false), true)),
        ("by_time", map_of(timestamps(3, true).slice(0, 2), Arc::clone(&counts).slice(0, 2), true)),
        ("multiset", map_of(keys, counts, false)),
        ("row", Arc::clone(&row)),
        ("rows", list_of(row)),
    ])
}

#[test]
fn every_type_survives_a_round_trip() {
    let written = every_type();
    for options in [
        &[][..],
        &[("parquet.compression", "uncompressed")],
        &[("parquet.enable.dictionary", "false"), ("parquet.page.size", "64")],
        &[("parquet.block.size", "1")],
    ] {
        let file = write(options, &[&written, &written.slice(1, 3)]).unwrap();
        let expected = concat_batches(&written.schema(), [&written, &written.slice(1, 3)]).unwrap();
        assert_eq!(read(&file, &written.schema()).unwrap(), expected, "{options:?}");
    }
}

#[test]
fn an_encoder_writes_one_file_after_the_other() {
    let written = every_type();
    let mut encoder = format(&[]).unwrap().encoder("sink", &written.schema()).unwrap();
    for _ in 0..2 {
        let mut file = vec![];
        encoder.encode(&ChangelogBatch::insert_only(written.clone()), &mut file).unwrap();
        assert!(encoder.kept_back() > 100 && file.is_empty());
        encoder.finish_file(&mut file).unwrap();
        assert_eq!(encoder.kept_back(), 0);
        assert_eq!(read(&file.into(), &written.schema()).unwrap(), written);
    }
    let mut nothing = vec![];
    encoder.finish_file(&mut nothing).unwrap();
    assert!(nothing.is_empty());
}

#[test]
fn the_schema_of_a_file_is_that_of_flink() {
    let columns =
        ["i8", "i16", "i32", "d9", "d18", "d38", "s", "bytes", "date", "t6", "ts3", "ltz9", "times", "map"];
    let all = every_type();
    let indices: Vec<usize> = columns.iter().map(|name| all.schema().index_of(name).unwrap()).collect();
    let schema_of = |options: &[(&str, &str)]| {
        let file = write(options, &[&all.project(&indices).unwrap()]).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let mut text = vec![];
        print_schema(&mut text, reader.metadata().file_metadata().schema());
        String::from_utf8(text).unwrap()
    };
    assert_eq!(
        schema_of(&[]),
        "message flink_schema {
  OPTIONAL INT32 i8 (INTEGER(8,true));
  OPTIONAL INT32 i16 (INTEGER(16,true));
  OPTIONAL INT32 i32;
  OPTIONAL FIXED_LEN_BYTE_ARRAY (4) d9 (DECIMAL(9,2));
  OPTIONAL FIXED_LEN_BYTE_ARRAY (8) d18 (DECIMAL(18,0));
  OPTIONAL FIXED_LEN_BYTE_ARRAY (16) d38 (DECIMAL(38,38));
  OPTIONAL BYTE_ARRAY s (STRING);
  OPTIONAL BYTE_ARRAY bytes;
  OPTIONAL INT32 date (DATE);
  OPTIONAL INT32 t6 (TIME(MILLIS,true));
  OPTIONAL INT96 ts3;
  OPTIONAL INT96 ltz9;
  OPTIONAL group times (LIST) {
    REPEATED group list {
      OPTIONAL INT96 element;
    }
  }
  OPTIONAL group map (MAP) {
    REPEATED group key_value {
      REQUIRED BYTE_ARRAY key (STRING);
      OPTIONAL INT96 value;
    }
  }
}
"
    );
    let int64 = schema_of(&[("parquet.write.int64.timestamp", "true")]);
    assert!(int64.contains("INT64 ts3 (TIMESTAMP(MICROS,false));"), "{int64}");
    assert!(int64.contains("INT64 ltz9 (TIMESTAMP(MICROS,true));"), "{int64}");
    assert!(int64.contains("INT64 element (TIMESTAMP(MICROS,true));"), "{int64}");
}

#[test]
fn int96_is_the_day_and_its_nanoseconds_to_other_readers() {
    let time = (1_704_067_200_123, 456_789);
    let of = TimestampType::with_digits(9, false);
    let times = of.collect([Ok(Some(time)), Ok(None)].into_iter(), |_| unreachable!()).unwrap();
    let file = write(&[], &[&batch(vec![("ts", times)])]).unwrap();

    let reader = SerializedFileReader::new(file.clone()).unwrap();
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(|row| row.unwrap()).collect();
    let values: Vec<_> = rows.iter().flat_map(|row| row.get_column_iter()).map(|(_, value)| value).collect();
    assert_eq!(values, [&Value::TimestampMillis(1_704_067_200_123), &Value::Null]);

    let mut reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let read = reader.next().unwrap().unwrap();
    let nanos = read.column(0).as_primitive::<TimestampNanosecondType>();
    assert_eq!(i128::from(nanos.value(0)), wide_nanos(time.0, time.1));
    assert!(nanos.is_null(1));
}

/// Other writers use dictionaries for INT96, which ours does not.
#[test]
fn int96_of_other_writers_is_read() {
    for dictionary in [true, false] {
        let schema = Arc::new(parse_message_type("message m { REQUIRED INT96 ts; }").unwrap());
        let properties = WriterProperties::builder().set_dictionary_enabled(dictionary).build();
        let mut writer = SerializedFileWriter::new(vec![], schema, Arc::new(properties)).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let nanos: u64 = 3_600_123_456_789;
        let mut value = Int96::new();
        value.set_data(nanos as u32, (nanos >> 32) as u32, 2_440_589);
        column.typed::<Int96Type>().write_batch(&[value, value, value], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        let file = writer.into_inner().unwrap().into();
        for digits in [0, 3, 6, 9] {
            let of = TimestampType::with_digits(digits, false);
            let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("ts", of.data_type(), true)]));
            let times = (0..3).map(|_| Ok(Some((90_000_123, 456_789))));
            let expected = of.collect(times, |_| unreachable!());
            assert_eq!(read(&file, &schema).unwrap().column(0), &expected.unwrap());
        }
    }
}

#[test]
fn int64_timestamps_have_the_unit_that_is_set() {
    let written = batch(vec![("ts", timestamps(9, false)), ("ltz", timestamps(9, true))]);
    for (unit, digits) in [("millis", 3), ("micros", 6)] {
        let options = [("parquet.write.int64.timestamp", "true"), ("parquet.timestamp.time.unit", unit)];
        let file = write(&options, &[&written]).unwrap();
        let cut = batch(vec![("ts", timestamps(digits, false)), ("ltz", timestamps(digits, true))]);
        assert_eq!(read(&file, &cut.schema()).unwrap(), cut, "{unit}");
    }
    let options = [("parquet.write.int64.timestamp", "true"), ("parquet.timestamp.time.unit", "nanos")];
    let error = write(&options, &[&written]).unwrap_err().to_string();
    assert!(error.contains("column 'ts' of table 'sink'") && error.contains("beyond"), "{error}");
    let middle = written.slice(1, 2);
    let file = write(&options, &[&middle]).unwrap();
    assert_eq!(read(&file, &middle.schema()).unwrap(), middle);
}

#[test]
fn a_time_that_has_no_place_is_an_error_that_names_the_column() {
    let times = batch(vec![("at", Arc::new(Time64MicrosecondArray::from(vec![1_000, 1_001])))]);
    let error = write(&[], &[&times]).unwrap_err().to_string();
    assert!(error.contains("column 'at' of table 'sink'") && error.contains("TIME(3)"), "{error}");
}

#[test]
fn rows_go_on_behind_any_row() {
    let all: ArrayRef = Arc::new(Int32Array::from_iter_values(0..100));
    let written = batch(vec![("n", Arc::clone(&all)), ("m", all)]);
    // a row group every 7 rows
    let parts: Vec<RecordBatch> = (0..100).step_by(7).map(|at| written.slice(at, 7.min(100 - at))).collect();
    let file = write(&[("parquet.block.size", "1")], &parts.iter().collect::<Vec<_>>()).unwrap();
    let reader = SerializedFileReader::new(file.clone()).unwrap();
    assert_eq!(reader.num_row_groups(), 15);
    for projection in [&[0, 1][..], &[1], &[]] {
        let mut decoder = decoder(&written.schema(), Some(projection));
        for row in 0..=100 {
            let read = batches(decoder.as_mut(), &file, row as u64, 5).unwrap();
            assert!(read.iter().all(|batch| (1..=5).contains(&batch.num_rows())));
            assert_eq!(decoder.rows(), Some(100));
            let rows: usize = read.iter().map(RecordBatch::num_rows).sum();
            assert_eq!(rows, 100 - row, "{projection:?} from {row}");
            if let Some(first) = read.first().filter(|_| !projection.is_empty()) {
                let whole = concat_batches(&first.schema(), &read).unwrap();
                assert_eq!(whole, written.slice(row, 100 - row).project(projection).unwrap());
            }
        }
        let error = batches(decoder.as_mut(), &file, 101, 5).unwrap_err().to_string();
        assert!(error.contains("100 rows now"), "{error}");
    }
}

#[test]
fn columns_are_found_by_name() {
    let written = batch(vec![
        ("a", Arc::new(Int32Array::from(vec![1, 2]))),
        ("b", Arc::new(StringArray::from(vec![Some("x"), None]))),
        ("c", Arc::new(Int32Array::from(vec![3, 4]))),
    ]);
    let file = write(&[], &[&written]).unwrap();
    let physical: SchemaRef = Arc::new(Schema::new(vec![
        Field::new("c", DataType::Int32, true),
        Field::new("missing", DataType::Int64, true),
        Field::new("A", DataType::Int32, true),
        Field::new("a", DataType::Int32, false),
    ]));
    let mut decoder = decoder(&physical, Some(&[3, 1, 0, 2]));
    let read = batches(decoder.as_mut(), &file, 0, 8).unwrap();
    let nulls: ArrayRef = Arc::new(Int32Array::from(vec![None, None]));
    let columns = [written.column(0), &new_null_array(&DataType::Int64, 2), written.column(2), &nulls];
    assert_eq!(read[0].columns().iter().collect::<Vec<_>>(), columns);

    let strict = |name: &str, data_type: DataType| {
        read_error(&file, &Arc::new(Schema::new(vec![Field::new(name, data_type, false)])))
    };
    let missing = strict("missing", DataType::Int64);
    assert!(missing.contains("no column 'missing'") && missing.contains("NOT NULL"), "{missing}");
    let null = strict("b", DataType::Utf8);
    assert!(null.contains("column 'b' is NOT NULL"), "{null}");
}

#[test]
fn fields_of_rows_are_found_by_name() {
    let fields =
        Fields::from(vec![Field::new("x", DataType::Int32, true), Field::new("y", DataType::Utf8, true)]);
    let (x, y): (ArrayRef, ArrayRef) =
        (Arc::new(Int32Array::from(vec![1, 2])), Arc::new(StringArray::from(vec!["p", "q"])));
    let nulls = Some(vec![true, false].into());
    let rows = StructArray::new(fields, vec![Arc::clone(&x), y], nulls.clone());
    let file = write(&[], &[&batch(vec![("r", Arc::new(rows))])]).unwrap();
    let wanted =
        Fields::from(vec![Field::new("z", DataType::Boolean, true), Field::new("x", DataType::Int64, true)]);
    let schema: SchemaRef =
        Arc::new(Schema::new(vec![Field::new("r", DataType::Struct(wanted.clone()), true)]));
    let longs = cast(&x, &DataType::Int64).unwrap();
    let expected = StructArray::new(wanted, vec![new_null_array(&DataType::Boolean, 2), longs], nulls);
    assert_eq!(read(&file, &schema).unwrap().column(0).as_struct(), &expected);
}

/// A file of the arrow writer, whose choice of types is another one.
fn foreign(columns: Vec<(&str, ArrayRef)>) -> Bytes {
    let batch = batch(columns);
    let mut writer = ArrowWriter::try_new(vec![], batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap().into()
}

#[test]
fn what_other_writers_make_of_a_type_is_read() {
    let decimal = |value: i128, precision: u8, scale: i8| -> ArrayRef {
        let values = Decimal128Array::from(vec![value]).with_precision_and_scale(precision, scale);
        Arc::new(values.unwrap())
    };
    let micros = 1_704_067_200_123_456;
    for (stored, wanted) in [
        (Arc::new(Int32Array::from(vec![7])) as ArrayRef, Arc::new(Int64Array::from(vec![7])) as ArrayRef),
        (Arc::new(Int64Array::from(vec![7])), Arc::new(Int8Array::from(vec![7]))),
        (Arc::new(UInt32Array::from(vec![u32::MAX])), Arc::new(Int64Array::from(vec![i64::from(u32::MAX)]))),
        (Arc::new(Float32Array::from(vec![0.5])), Arc::new(Float64Array::from(vec![0.5]))),
        (decimal(123, 5, 2), decimal(12300, 10, 4)),
        (Arc::new(Int32Array::from(vec![7])), decimal(700, 10, 2)),
        (Arc::new(BinaryArray::from(vec![&b"text"[..]])), Arc::new(StringArray::from(vec!["text"]))),
        (Arc::new(StringArray::from(vec!["text"])), Arc::new(BinaryArray::from(vec![&b"text"[..]]))),
        (Arc::new(Int32Array::from(vec![7])), Arc::new(Date32Array::from(vec![7]))),
        (
            Arc::new(Time64NanosecondArray::from(vec![1_999_999_999])),
            Arc::new(Time32SecondArray::from(vec![1])),
        ),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![micros])),
            Arc::new(TimestampMillisecondArray::from(vec![micros / 1_000])),
        ),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![-1]).with_timezone("UTC")),
            Arc::new(TimestampSecondArray::from(vec![-1])),
        ),
        (
            Arc::new(TimestampMillisecondArray::from(vec![5])),
            TimestampType::with_digits(9, true)
                .collect([Ok(Some((5, 0)))].into_iter(), |_| unreachable!())
                .unwrap(),
        ),
    ] {
        let file = foreign(vec![("v", Arc::clone(&stored))]);
        let wanted = batch(vec![("v", wanted)]);
        let read = read(&file, &wanted.schema()).unwrap_or_else(|error| panic!("{stored:?}: {error}"));
        assert_eq!(read, wanted, "{stored:?}");
    }
}

#[test]
fn what_a_column_cannot_hold_is_an_error_that_names_it() {
    for (stored, wanted, words) in [
        (Arc::new(Int64Array::from(vec![128])) as ArrayRef, DataType::Int8, "128"),
        (Arc::new(Int64Array::from(vec![0])), DataType::Utf8, "column of Utf8 cannot hold"),
        (Arc::new(StringArray::from(vec!["1"])), DataType::Int32, "column of Int32 cannot hold"),
        (Arc::new(BinaryArray::from(vec![&b"\xff"[..]])), DataType::Utf8, "UTF"),
        (Arc::new(Int64Array::from(vec![0])), DataType::Timestamp(TimeUnit::Second, None), "cannot hold"),
        (
            Arc::new(TimestampMillisecondArray::from(vec![i64::MAX])),
            DataType::Timestamp(TimeUnit::Microsecond, None),
            "beyond",
        ),
        (
            Arc::new(Decimal128Array::from(vec![1]).with_precision_and_scale(5, 2).unwrap()),
            DataType::Decimal128(5, 1),
            "cannot hold",
        ),
    ] {
        let file = foreign(vec![("v", stored)]);
        let error = read_error(&file, &Arc::new(Schema::new(vec![Field::new("v", wanted, true)])));
        assert!(error.contains("column 'v'") && error.contains(words), "{error}");
    }
}

#[test]
fn a_codec_that_is_not_built_is_named() {
    let written =
        batch(vec![("n", Arc::new(Int32Array::from(vec![1]))), ("m", Arc::new(Int32Array::from(vec![1])))]);
    let file = write(&[], &[&written]).unwrap();
    let metadata: ParquetMetaData = ParquetMetaDataReader::new().parse_and_finish(&file).unwrap();
    let group = metadata.row_group(0).clone();
    let mut chunks = group.columns().to_vec();
    let gzip = chunks[1].clone().into_builder().set_compression(Compression::GZIP(Default::default()));
    chunks[1] = gzip.build().unwrap();
    let group = group.into_builder().set_column_metadata(chunks).build().unwrap();
    let metadata = metadata.into_builder().set_row_groups(vec![group]).build();
    for (column, fails) in [(0, false), (1, true)] {
        let schema = Arc::new(written.schema().project(&[column]).unwrap());
        let mut decoder = super::ParquetDecoder::try_new(&schema).unwrap();
        let error = decoder.begin(metadata.clone(), 0, 8).err().map(|error| error.to_string());
        assert_eq!(error.is_some_and(|error| error.contains("GZIP") && error.contains("SNAPPY")), fails);
    }
}

#[test]
fn damaged_files_are_refused() {
    let written = every_type();
    let file = write(&[("parquet.compression", "UNCOMPRESSED")], &[&written]).unwrap();
    let schema = written.schema();
    for len in (0..file.len()).step_by(97) {
        read(&file.slice(..len), &schema).unwrap_err();
    }
    let long_footer = [&b"PAR1"[..], &[0; 64], &1_000_u32.to_le_bytes(), b"PAR1"].concat();
    assert!(read_error(&long_footer.into(), &schema).contains("1000 bytes"));
    read(&Bytes::from("{\"id\": 1}\n{\"id\": 2}\n"), &schema).unwrap_err();
}

#[test]
fn options_are_checked() {
    let error = |key: &str, value: &str| format(&[(key, value)]).unwrap_err().to_string();
    let codec = error("parquet.compression", "GZIP");
    for word in ["'parquet.compression'", "'UNCOMPRESSED' or 'SNAPPY'", "'GZIP'"] {
        assert!(codec.contains(word), "{codec}");
    }
    assert!(error("parquet.utc-timezone", "false").contains("must be true"));
    assert!(error("parquet.block.size", "0").contains("at least one byte"));
    assert!(error("parquet.timestamp.time.unit", "days").contains("'millis' or 'micros' or 'nanos'"));
    let unknown = error("parquet.compresion", "SNAPPY");
    assert!(unknown.contains("'parquet.compresion'; did you mean 'parquet.compression'?"), "{unknown}");
    let all = [
        ("parquet.utc-timezone", "true"),
        ("parquet.compression", "snappy"),
        ("parquet.write.int64.timestamp", "true"),
        ("parquet.timestamp.time.unit", "nanos"),
        ("parquet.block.size", "1048576"),
        ("parquet.page.size", "64kb"),
        ("parquet.enable.dictionary", "true"),
    ];
    assert_eq!(format(&all).unwrap().name(), "parquet");
}

#[test]
fn only_insertions_are_taken() {
    let rows = batch(vec![("n", Arc::new(Int32Array::from(vec![1])))]);
    let mut encoder = format(&[]).unwrap().encoder("sink", &rows.schema()).unwrap();
    let deletion = ChangelogBatch::try_new(rows, RowKinds::from(vec![RowKind::Delete])).unwrap();
    let error = encoder.encode(&deletion, &mut vec![]).unwrap_err().to_string();
    assert!(error.contains("'sink'") && error.contains("-D") && error.contains("'parquet'"), "{error}");
}

#[test]
fn types_without_a_form_are_refused() {
    let interval = Field::new("i", DataType::Interval(IntervalUnit::MonthDayNano), true);
    let nested = Field::new("r", DataType::Struct(vec![interval.clone()].into()), true);
    for (field, words) in [(interval, "column 'i'"), (nested, "column 'r'")] {
        let schema: SchemaRef = Arc::new(Schema::new(vec![field]));
        let format = format(&[]).unwrap();
        let encoder = format.encoder("sink", &schema).err().unwrap().to_string();
        assert!(encoder.contains(words) && encoder.contains("'sink'"), "{encoder}");
        assert!(format.decoder(&schema, None).err().unwrap().to_string().contains(words));
    }
}
