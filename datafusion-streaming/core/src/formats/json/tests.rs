use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use datafusion_streaming_physical_plan::changelog::pretty::changelog_lines;
use datafusion_streaming_physical_plan::changelog::{ChangelogBatch, RowKind, RowKinds};

use crate::formats::{Decoder, Format, ParseErrors, TableOptions};

pub(in crate::formats) fn format(options: &[(&str, &str)]) -> datafusion::common::Result<Format> {
    let options: BTreeMap<String, String> =
        options.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let options = TableOptions::new("t", &options);
    let format = Format::try_new(&options)?;
    options.finish()?;
    Ok(format)
}

fn json(options: &[(&str, &str)]) -> Format {
    format(&[&[("format", "json")], options].concat()).unwrap()
}

fn schema(fields: &[(&str, DataType)]) -> SchemaRef {
    let fields: Vec<Field> =
        fields.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true)).collect();
    Arc::new(Schema::new(fields))
}

fn decoder(options: &[(&str, &str)], schema: &SchemaRef) -> Box<dyn Decoder> {
    json(options).decoder(schema, None).unwrap().records()
}

/// What a column of a type makes of JSON values: the text of the array's value, or the error.
fn values(data_type: DataType, values: &[&str]) -> Vec<String> {
    values_with(&[], data_type, values)
}

fn values_with(options: &[(&str, &str)], data_type: DataType, values: &[&str]) -> Vec<String> {
    let schema = schema(&[("a", data_type)]);
    let one = |value: &&str| {
        let mut decoder = decoder(options, &schema);
        match decoder.decode(format!("{{\"a\":{value}}}").as_bytes()) {
            Ok(()) => changelog_lines([&decoder.finish().unwrap()]).unwrap()[0][3..].to_string(),
            Err(error) => format!("error: {error}"),
        }
    };
    values.iter().map(one).collect()
}

fn error_of(data_type: DataType, value: &str) -> String {
    let text = values(data_type, &[value]).remove(0);
    text.strip_prefix("error: ").unwrap_or_else(|| panic!("{value} is read as {text}")).to_string()
}

#[test]
fn booleans() {
    let forms = ["true", "false", "\"TRUE\"", "\" true \"", "\"yes\"", "1", "null"];
    assert_eq!(
        values(DataType::Boolean, &forms),
        ["true", "false", "true", "true", "false", "false", "NULL"]
    );
    assert!(error_of(DataType::Boolean, "[]").starts_with("column 'a': "));
}

#[test]
fn integers() {
    let forms = ["7", "-7", "\"7\"", "\" 8 \"", "1.9", "-1.9", "1e3", "\"+5\"", "null"];
    let read = ["7", "-7", "7", "8", "1", "-1", "1000", "5", "NULL"];
    assert_eq!(values(DataType::Int32, &forms), read);
    assert_eq!(values(DataType::Int64, &forms), read);
    assert_eq!(values(DataType::Int8, &["127", "\"-128\""]), ["127", "-128"]);
    assert_eq!(
        values(DataType::Int64, &["9223372036854775807", "-9223372036854775808"]).join(" "),
        "9223372036854775807 -9223372036854775808"
    );
    assert_eq!(error_of(DataType::Int8, "128"), "column 'a': 128 is out of the range of TINYINT");
    assert_eq!(error_of(DataType::Int32, "1e10"), "column 'a': 1e10 is out of the range of INT");
    assert_eq!(
        error_of(DataType::Int64, "9223372036854775808"),
        "column 'a': 9223372036854775808 is out of the range of BIGINT"
    );
    for wrong in ["\"1.5\"", "\"\"", "\"x\"", "true", "{}"] {
        error_of(DataType::Int32, wrong);
    }
    // Flink truncates for INT and BIGINT only
    error_of(DataType::Int8, "1.9");
    error_of(DataType::Int16, "1e3");
}

#[test]
fn floats() {
    let forms = ["0.1", "1", "\"NaN\"", "\"-Infinity\"", "-1.25e+17", "1e400", "null"];
    assert_eq!(values(DataType::Float64, &forms), ["0.1", "1.0", "NaN", "-inf", "-1.25e17", "inf", "NULL"]);
    assert_eq!(values(DataType::Float32, &["0.1", "16777217", "\"2.5\""]), ["0.1", "16777216.0", "2.5"]);
    error_of(DataType::Float64, "\"nan\"");
    error_of(DataType::Float64, "true");
}

#[test]
fn decimals() {
    let forms = ["1.005", "\" 2.5 \"", "-0.005", "1e2", "\"1E-1\"", "12345", "999.995", "null"];
    assert_eq!(
        values(DataType::Decimal128(5, 2), &forms),
        ["1.01", "2.50", "-0.01", "100.00", "0.10", "NULL", "NULL", "NULL"]
    );
    let big = "-99999999999999999999.999999999999999999";
    assert_eq!(values(DataType::Decimal128(38, 18), &[big, &format!("\"{big}\"")]), [big, big]);
    error_of(DataType::Decimal128(5, 2), "\"x\"");
    error_of(DataType::Decimal128(5, 2), "true");
}

#[test]
fn strings_take_any_scalar_as_it_is_written_and_nested_values_as_compact_json() {
    let forms = ["\"x\"", "\"\"", r#""\u00e9\n\"\/\ud83d\ude00""#, "1.50", "1e3", "true", "null"];
    assert_eq!(values(DataType::Utf8, &forms), ["x", "", "é\n\"/😀", "1.50", "1e3", "true", "NULL"]);
    let nested = r#"{ "x" : 1.50, "y y":[1, "\u00e9\/ \"", -1e7 ,null ] }"#;
    assert_eq!(values(DataType::Utf8, &[nested]), [r#"{"x":1.5,"y y":[1,"é/ \"",-1.0E7,null]}"#]);
}

#[test]
fn bytes_are_base64() {
    assert_eq!(
        values(DataType::Binary, &["\"AAE=\"", "\"\"", r#""\/w==""#, "null"]),
        ["0001", "", "ff", "NULL"]
    );
    for wrong in ["\"AAE\"", "\"AA E=\"", "5"] {
        assert!(error_of(DataType::Binary, wrong).contains("Base64"));
    }
}

#[test]
fn dates_and_times() {
    assert_eq!(values(DataType::Date32, &["\"2024-02-29\"", "\"0001-01-01\""]), ["2024-02-29", "0001-01-01"]);
    assert_eq!(error_of(DataType::Date32, "5"), "column 'a': '5' is not a date of the form yyyy-MM-dd");
    assert_eq!(values(DataType::Time32(TimeUnit::Second), &["\"12:00:00.75\""]), ["12:00:00"]);
    assert_eq!(values(DataType::Time32(TimeUnit::Millisecond), &["\"12:00:00.7599\""]), ["12:00:00.759"]);
    assert_eq!(
        values(DataType::Time64(TimeUnit::Microsecond), &["\"12:00:00.000001\""]),
        ["12:00:00.000001"]
    );
    assert_eq!(
        values(DataType::Time64(TimeUnit::Nanosecond), &["\"12:00:00.000000001\""]),
        ["12:00:00.000000001"]
    );
}

#[test]
fn timestamps() {
    for (unit, text) in [
        (TimeUnit::Second, "0001-01-01T00:00:00"),
        (TimeUnit::Millisecond, "2024-02-29T12:00:00.999"),
        (TimeUnit::Microsecond, "1969-12-31T23:59:59.999999"),
        (TimeUnit::Nanosecond, "2024-02-29T12:00:00.999999999"),
    ] {
        let sql = format!("\"{}\"", text.replace('T', " "));
        assert_eq!(values(DataType::Timestamp(unit, None), &[&sql]), [text]);
        let iso = [("json.timestamp-format.standard", "ISO-8601")];
        assert_eq!(values_with(&iso, DataType::Timestamp(unit, None), &[&format!("\"{text}\"")]), [text]);
        let zoned = DataType::Timestamp(unit, Some("UTC".into()));
        let ltz = format!("\"{}Z\"", text.replace('T', " "));
        assert_eq!(values(zoned, &[&ltz]), [format!("{text}Z")]);
    }
    let no_zone =
        error_of(DataType::Timestamp(TimeUnit::Second, Some("UTC".into())), "\"2024-01-01 00:00:00\"");
    assert!(no_zone.contains("HH:mm:ss[.fraction]Z"), "{no_zone}");
}

fn list(item: DataType, nullable: bool) -> DataType {
    DataType::List(Arc::new(Field::new("item", item, nullable)))
}

fn map(value: DataType, nullable: bool) -> DataType {
    let entries =
        Fields::from(vec![Field::new("key", DataType::Utf8, false), Field::new("value", value, nullable)]);
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false)
}

fn row(fields: &[(&str, DataType)]) -> DataType {
    DataType::Struct(schema(fields).fields().clone())
}

#[test]
fn arrays() {
    let forms = ["[1, \"2\" ,null]", "[]", "null"];
    assert_eq!(values(list(DataType::Int32, true), &forms), ["[1, 2, NULL]", "[]", "NULL"]);
    assert_eq!(values(list(list(DataType::Utf8, true), true), &["[[\"x\"], null, []]"]), ["[[x], NULL, []]"]);
    assert!(error_of(list(DataType::Int32, true), "{\"x\":1}").contains("is not an array"));
    assert!(error_of(list(DataType::Int32, true), "\"[1]\"").contains("is not an array"));
    assert!(error_of(list(DataType::Int32, true), "[1, \"x\"]").starts_with("column 'a': an element: "));
    assert!(error_of(list(DataType::Int32, false), "[1, null]").contains("NOT NULL"));
}

#[test]
fn maps_and_multisets() {
    let forms = [r#"{"x":1, "y":null, "\u00e9":3}"#, "{}", "null"];
    assert_eq!(values(map(DataType::Int32, true), &forms), ["{x: 1, y: NULL, é: 3}", "{}", "NULL"]);
    assert_eq!(values(map(DataType::Int32, true), &[r#"{"x":1,"y":2,"x":3}"#]), ["{x: 3, y: 2}"]);
    assert_eq!(values(map(DataType::Int32, false), &[r#"{"p":2}"#]), ["{p: 2}"]);
    assert!(error_of(map(DataType::Int32, false), r#"{"p":null}"#).contains("NOT NULL"));
    assert!(error_of(map(DataType::Int32, true), "[]").contains("is not an object"));

    let keys = Fields::from(vec![
        Field::new("key", DataType::Int32, false),
        Field::new("value", DataType::Int32, true),
    ]);
    let unsupported = DataType::Map(Arc::new(Field::new("entries", DataType::Struct(keys), false)), false);
    let error = json(&[]).decoder(&schema(&[("m", unsupported)]), None).err().unwrap().to_string();
    assert!(error.contains("column 'm'") && error.contains("Int32"), "{error}");
}

#[test]
fn rows() {
    let nested = row(&[("p", DataType::Int32), ("q", row(&[("r", list(DataType::Utf8, true))]))]);
    let forms = [r#"{"q":{"r":["x"],"z":0},"p":1}"#, "{}", r#"{"p":2,"q":null}"#, "null"];
    assert_eq!(
        values(nested.clone(), &forms),
        ["{p: 1, q: {r: [x]}}", "{p: NULL, q: NULL}", "{p: 2, q: NULL}", "NULL"]
    );
    assert!(error_of(nested.clone(), "5").contains("is not an object"));
    let deep = error_of(nested, r#"{"q":{"r":5}}"#);
    assert!(deep.starts_with("column 'a': field 'q': field 'r': "), "{deep}");
}

#[test]
fn columns_are_found_by_name() {
    let schema = schema(&[("a", DataType::Int32), ("b", DataType::Utf8), ("é", DataType::Int32)]);
    let mut decoder = decoder(&[], &schema);
    for record in [
        r#"{"a":1,"b":"x","é":2}"#,
        r#"{"\u00e9":2,"z":{"a":[9,{}]},"b":"y","A":7}"#,
        r#"  { "b" : "z" , "a" : 3 }  "#,
        "{}",
        r#"{"a":1,"a":2}"#,
        "",
        "\r\n",
    ] {
        decoder.decode(record.as_bytes()).unwrap();
    }
    assert_eq!(decoder.rows(), 5);
    let batch = decoder.finish().unwrap();
    assert_eq!(
        changelog_lines([&batch]).unwrap(),
        ["+I 1 x 2", "+I NULL y 2", "+I 3 z NULL", "+I NULL NULL NULL", "+I 2 NULL NULL"]
    );
    assert_eq!(batch.schema(), schema);
    assert_eq!((decoder.rows(), decoder.finish().unwrap().num_rows()), (0, 0));
}

#[test]
fn a_projection_reads_only_its_columns() {
    let physical = schema(&[("a", DataType::Int32), ("b", DataType::Utf8), ("c", DataType::Int32)]);
    let mut decoder = json(&[]).decoder(&physical, Some(&[2, 1])).unwrap().records();
    decoder.decode(br#"{"a":"not a number","b":"x","c":5}"#).unwrap();
    assert_eq!(changelog_lines([&decoder.finish().unwrap()]).unwrap(), ["+I 5 x"]);
    let mut none = json(&[]).decoder(&physical, Some(&[])).unwrap().records();
    none.decode(b"{\"a\":1}").unwrap();
    none.decode(b"{}").unwrap();
    assert_eq!(none.finish().unwrap().num_rows(), 2);
}

#[test]
fn an_array_of_objects_is_a_row_each() {
    let mut decoder = decoder(&[], &schema(&[("a", DataType::Int32)]));
    decoder.decode(br#"[{"a":1}, {"a":2}]"#).unwrap();
    decoder.decode(b"[]").unwrap();
    assert_eq!(changelog_lines([&decoder.finish().unwrap()]).unwrap(), ["+I 1", "+I 2"]);
    assert!(decoder.decode(br#"[{"a":3}, null]"#).is_err());
    assert_eq!(decoder.rows(), 0);
}

#[test]
fn control_characters_in_strings_need_no_escape() {
    assert_eq!(
        values(DataType::Utf8, &["\"x\ty\u{1}\\\\\"", "{\"k\":\t\"\t\"}"]),
        ["x\ty\u{1}\\", "{\"k\":\"\\t\"}"]
    );
}

#[test]
fn malformed_records_are_errors_that_say_what_is_wrong() {
    let schema = schema(&[("a", DataType::Int32)]);
    let error = |record: &[u8]| decoder(&[], &schema).decode(record).unwrap_err().to_string();
    for (record, what) in [
        ("{\"a\":1", "EOF while parsing"),
        ("{\"a\":1} x", "trailing characters at column 9"),
        ("{\"a\":1}{\"a\":2}", "trailing characters"),
        ("   ", "EOF"),
        ("nonsense", "expected ident"),
        ("null", "expected a JSON object"),
        ("5", "expected a JSON object"),
        ("{a:1}", "key must be a string"),
        ("{\"a\":01}", "invalid number"),
        ("{\"z\":}", "expected value"),
    ] {
        let error = error(record.as_bytes());
        assert!(error.contains(what), "{record}: {error}");
        assert!(!error.contains("line 1"), "the line is the reader's to tell: {error}");
    }
    assert!(error(b"{\"a\":\"\xff\"}").contains("UTF-8"));
}

#[test]
fn missing_fields_can_be_errors() {
    let options = [("json.fail-on-missing-field", "true")];
    let nested = schema(&[("a", DataType::Int32), ("r", row(&[("x", DataType::Int32)]))]);
    let mut decoder = decoder(&options, &nested);
    decoder.decode(br#"{"a":null,"r":{"x":null}}"#).unwrap();
    decoder.decode(br#"{"r":null,"a":1}"#).unwrap();
    let error = decoder.decode(br#"{"r":{"x":1}}"#).unwrap_err().to_string();
    assert!(error.contains("no field 'a'"), "{error}");
    let error = json(&options)
        .decoder(&nested, None)
        .unwrap()
        .records()
        .decode(br#"{"a":1,"r":{}}"#)
        .unwrap_err()
        .to_string();
    assert!(error.contains("column 'r'") && error.contains("no field 'x'"), "{error}");
}

#[test]
fn a_null_in_a_not_null_column_is_an_error_that_names_it() {
    let schema = Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int32, false),
        Field::new("d", DataType::Decimal128(3, 0), false),
    ]));
    for (record, column) in
        [(r#"{"d":1}"#, "id"), (r#"{"id":null,"d":1}"#, "id"), (r#"{"id":1,"d":1000}"#, "d")]
    {
        let error = decoder(&[], &schema).decode(record.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(&format!("column '{column}'")) && error.contains("NOT NULL"), "{error}");
    }
}

#[test]
fn ignored_errors_make_fields_null_and_drop_records_and_are_counted() {
    let schema = schema(&[
        ("a", DataType::Int32),
        ("b", list(DataType::Int32, true)),
        ("c", row(&[("x", DataType::Int32)])),
        ("d", map(DataType::Int32, true)),
    ]);
    let mut decoder = decoder(&[("json.ignore-parse-errors", "true")], &schema);
    for record in [
        r#"{"a":"x","b":[1,"y"],"c":{"x":"z"},"d":{"k":"v","l":2}}"#,
        r#"{"a":1,"b":5,"c":5,"d":5}"#,
        "broken",
        r#"{"a":2,"#,
        r#"{"a":3}"#,
        r#"[{"a":4},5]"#,
    ] {
        decoder.decode(record.as_bytes()).unwrap();
    }
    assert_eq!(
        changelog_lines([&decoder.finish().unwrap()]).unwrap(),
        ["+I NULL [1, NULL] {x: NULL} {k: NULL, l: 2}", "+I 1 NULL NULL NULL", "+I 3 NULL NULL NULL"]
    );
    assert_eq!(decoder.ignored(), ParseErrors { records: 3, fields: 7 });
}

#[test]
fn ignored_errors_never_put_null_where_it_must_not_be() {
    let strict = Arc::new(Schema::new(vec![
        Field::new("l", list(DataType::Int32, false), true),
        Field::new("id", DataType::Int32, false),
        Field::new("r", DataType::Struct(vec![Field::new("x", DataType::Utf8, false)].into()), false),
        Field::new("m", map(DataType::Int32, false), false),
    ]));
    let mut decoder = decoder(&[("json.ignore-parse-errors", "true")], &strict);
    for record in [
        r#"{"id":1,"r":{"x":"a"},"m":{},"l":[1]}"#,
        r#"{"id":"x","r":{"x":"a"},"m":{},"l":[2]}"#,
        r#"{"id":3,"r":{"x":null},"m":{}}"#,
        r#"{"id":4,"r":{"x":"a"},"m":{"k":null}}"#,
        r#"{"id":5,"r":{"x":"a"},"m":{"k":1},"l":[1,"y",3]}"#,
        r#"{"id":6}"#,
        r#"{"id":7,"r":{"x":"b"},"m":{"k":1}}"#,
    ] {
        decoder.decode(record.as_bytes()).unwrap();
    }
    assert_eq!(decoder.rows(), 2);
    let batch = decoder.finish().unwrap();
    assert_eq!(changelog_lines([&batch]).unwrap(), ["+I [1] 1 {x: a} {}", "+I NULL 7 {x: b} {k: 1}"]);
    assert_eq!(decoder.ignored().records, 5);
    assert_eq!(decoder.rows(), 0);
}

/// A schema with every type, and a batch of extreme and of NULL values.
pub(in crate::formats) fn every_type() -> (SchemaRef, Vec<String>) {
    let mut fields = vec![
        ("b", DataType::Boolean),
        ("i8", DataType::Int8),
        ("i16", DataType::Int16),
        ("i32", DataType::Int32),
        ("i64", DataType::Int64),
        ("f32", DataType::Float32),
        ("f64", DataType::Float64),
        ("d", DataType::Decimal128(38, 18)),
        ("s", DataType::Utf8),
        ("y", DataType::Binary),
        ("dt", DataType::Date32),
        ("t0", DataType::Time32(TimeUnit::Second)),
        ("t3", DataType::Time32(TimeUnit::Millisecond)),
        ("t6", DataType::Time64(TimeUnit::Microsecond)),
        ("t9", DataType::Time64(TimeUnit::Nanosecond)),
    ];
    for (unit, name, zoned) in [
        (TimeUnit::Second, "ts0", "z0"),
        (TimeUnit::Millisecond, "ts3", "z3"),
        (TimeUnit::Microsecond, "ts6", "z6"),
        (TimeUnit::Nanosecond, "ts9", "z9"),
    ] {
        fields.push((name, DataType::Timestamp(unit, None)));
        fields.push((zoned, DataType::Timestamp(unit, Some("UTC".into()))));
    }
    let records = [
        r#"{"b":true,"i8":-128,"i16":-32768,"i32":-2147483648,"i64":-9223372036854775808,"f32":1.17549435E-38,
            "f64":-1.7976931348623157E308,"d":-99999999999999999999.999999999999999999,"s":"a\"b,\n\\é","y":"AP8=",
            "dt":"0001-01-01","t0":"23:59:59","t3":"23:59:59.999","t6":"23:59:59.999999","t9":"23:59:59.999999999",
            "ts0":"0001-01-01 00:00:00","ts3":"1969-12-31 23:59:59.999","ts6":"9999-12-31 23:59:59.999999",
            "ts9":"2262-04-11 23:47:16.854775807","z0":"0001-01-01 00:00:00Z","z3":"2024-01-01 00:00:00.5Z",
            "z6":"2024-01-01 00:00:00.000001Z","z9":"1677-09-21 00:12:43.145224192Z"}"#,
        r#"{"b":false,"i8":0,"i16":0,"i32":0,"i64":0,"f32":"NaN","f64":"-Infinity","d":0.000000000000000001,"s":"",
            "y":"","dt":"2024-02-29","t0":"00:00:00","t3":"00:00:00","t6":"00:00:00","t9":"00:00:00"}"#,
        "{}",
    ];
    (schema(&fields), records.iter().map(|record| record.replace('\n', " ")).collect())
}

/// Encodes a batch and decodes the result record by record.
pub(in crate::formats) fn round_trip(format: &Format, batch: &ChangelogBatch) -> (String, ChangelogBatch) {
    let mut out = vec![];
    format.encoder("sink", &batch.schema()).unwrap().encode(batch, &mut out).unwrap();
    let mut decoder = format.decoder(&batch.schema(), None).unwrap().records();
    let mut rest = out.as_slice();
    while !rest.is_empty() {
        let len = decoder.next_record(rest).expect("the encoder ends every record");
        decoder.decode(&rest[..len]).unwrap();
        rest = &rest[len..];
    }
    (String::from_utf8(out).unwrap(), decoder.finish().unwrap())
}

fn decode(format: &Format, schema: &SchemaRef, records: &[impl AsRef<str>]) -> ChangelogBatch {
    let mut decoder = format.decoder(schema, None).unwrap().records();
    records.iter().for_each(|record| decoder.decode(record.as_ref().as_bytes()).unwrap());
    decoder.finish().unwrap()
}

/// Batches as text: NaN is not equal to itself.
fn text(batch: &ChangelogBatch) -> Vec<String> {
    changelog_lines([batch]).unwrap()
}

#[test]
fn every_type_survives_a_round_trip() {
    let (schema, records) = every_type();
    for options in [
        &[][..],
        &[("json.timestamp-format.standard", "iso-8601"), ("json.encode.decimal-as-plain-number", "true")],
        &[("json.encode.ignore-null-fields", "true")],
    ] {
        let batch = decode(&json(&[]), &schema, &records);
        assert_eq!(batch.num_rows(), 3);
        let (_, again) = round_trip(&json(options), &batch);
        assert_eq!(text(&again), text(&batch));
        assert_eq!(again.schema(), batch.schema());
        assert_eq!(again.batch().column(7), batch.batch().column(7));
    }
}

#[test]
fn encoded_records_have_flinks_forms() {
    let (schema, records) = every_type();
    let batch = decode(&json(&[]), &schema, &records);
    let (out, _) = round_trip(&json(&[]), &batch);
    let first = concat!(
        r#"{"b":true,"i8":-128,"i16":-32768,"i32":-2147483648,"i64":-9223372036854775808,"f32":1.1754944E-38,"#,
        r#""f64":-1.7976931348623157E308,"d":-99999999999999999999.999999999999999999,"s":"a\"b,\n\\é","y":"AP8=","#,
        r#""dt":"0001-01-01","t0":"23:59:59","t3":"23:59:59.999","t6":"23:59:59.999999","t9":"23:59:59.999999999","#,
        r#""ts0":"0001-01-01 00:00:00","z0":"0001-01-01 00:00:00Z","ts3":"1969-12-31 23:59:59.999","#,
        r#""z3":"2024-01-01 00:00:00.5Z","ts6":"9999-12-31 23:59:59.999999","z6":"2024-01-01 00:00:00.000001Z","#,
        r#""ts9":"2262-04-11 23:47:16.854775807","z9":"1677-09-21 00:12:43.145224192Z"}"#,
    );
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], first);
    assert!(lines[1].contains(r#""f32":"NaN","f64":"-Infinity","d":1E-18,"s":"","y":"","#), "{}", lines[1]);
    assert!(lines[2].starts_with(r#"{"b":null,"i8":null,"#));
    let (out, _) = round_trip(&json(&[("json.encode.ignore-null-fields", "true")]), &batch);
    assert_eq!(out.lines().nth(2), Some("{}"));
}

#[test]
fn nested_types_survive_a_round_trip() {
    let nested = row(&[("p", list(row(&[("q", map(DataType::Decimal128(5, 2), true))]), true))]);
    let schema = schema(&[("l", list(list(DataType::Float64, true), true)), ("n", nested)]);
    let records = [
        r#"{"l":[[1.5,"NaN",null],[],null],"n":{"p":[{"q":{"a\"":1.25,"b":null}},{"q":{}},{"q":null},null]}}"#,
        r#"{"l":[],"n":{"p":null}}"#,
        r#"{"l":null,"n":null}"#,
    ];
    let batch = decode(&json(&[]), &schema, &records);
    let (out, again) = round_trip(&json(&[]), &batch);
    assert_eq!(out.lines().collect::<Vec<_>>(), records);
    assert_eq!(text(&again), text(&batch));
    // A slice has offsets that do not begin at zero
    let (out, _) = round_trip(&json(&[]), &batch.slice(1, 2));
    assert_eq!(out.lines().collect::<Vec<_>>(), records[1..]);
}

#[test]
fn the_encoder_refuses_updates_and_names_the_table() {
    let schema = schema(&[("a", DataType::Int32)]);
    let batch = decode(&json(&[]), &schema, &["{\"a\":1}", "{\"a\":2}"]);
    let kinds = RowKinds::from(vec![RowKind::Insert, RowKind::UpdateBefore]);
    let updates = ChangelogBatch::try_new(batch.batch().clone(), kinds).unwrap();
    let error =
        json(&[]).encoder("sink", &schema).unwrap().encode(&updates, &mut vec![]).unwrap_err().to_string();
    assert!(error.contains("'sink'") && error.contains("-U") && error.contains("debezium-json"), "{error}");
}

#[test]
fn unsupported_types_are_planning_errors_that_name_the_column() {
    let schema = schema(&[("a", DataType::Int32), ("u", DataType::UInt8)]);
    let decoder = json(&[]).decoder(&schema, None).err().unwrap().to_string();
    assert!(decoder.contains("column 'u'") && decoder.contains("UInt8"), "{decoder}");
    let encoder = json(&[]).encoder("sink", &schema).err().unwrap().to_string();
    assert!(encoder.contains("column 'u'") && encoder.contains("UInt8"), "{encoder}");
}

#[test]
fn option_errors() {
    let error = |options: &[(&str, &str)]| format(options).unwrap_err().to_string();
    assert!(error(&[]).contains("no option 'format'"));
    let unknown = error(&[("format", "jsno")]);
    assert!(unknown.contains("'jsno'") && unknown.contains("did you mean 'json'?"), "{unknown}");
    let key = error(&[("format", "json"), ("json.ignore-parse-error", "true")]);
    assert!(key.contains("did you mean 'json.ignore-parse-errors'?"), "{key}");
    let value = error(&[("format", "json"), ("json.ignore-parse-errors", "yes")]);
    assert!(value.contains("must be true or false, not 'yes'"), "{value}");
    let standard = error(&[("format", "json"), ("json.timestamp-format.standard", "RFC")]);
    assert!(standard.contains("'SQL' or 'ISO-8601'"), "{standard}");
    let both =
        [("format", "json"), ("json.ignore-parse-errors", "true"), ("json.fail-on-missing-field", "true")];
    assert!(error(&both).contains("only one of them"));
    let mode = error(&[("format", "json"), ("json.map-null-key.mode", "KEEP")]);
    assert!(mode.contains("'FAIL' or 'DROP' or 'LITERAL'"), "{mode}");
    // Options of another format are unknown
    assert!(
        error(&[("format", "json"), ("csv.null-literal", "x")]).contains("unknown option 'csv.null-literal'")
    );
}

#[test]
fn arrays_have_the_nullability_of_their_columns() {
    let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int32, false)]));
    let batch = decode(&json(&[]), &schema, &["{\"id\":1}"]);
    assert_eq!(batch.batch().column(0).as_primitive::<arrow::datatypes::Int32Type>().values(), &[1]);
    assert_eq!(batch.batch().column(0).null_count(), 0);
}
