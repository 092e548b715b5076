use std::sync::Arc;

use arrow::array::Array;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion_streaming_physical_plan::changelog::pretty::changelog_lines;

use crate::formats::json::tests::{every_type, format, round_trip};
use crate::formats::{Format, ParseErrors};

fn csv(options: &[(&str, &str)]) -> Format {
    format(&[&[("format", "csv")], options].concat()).unwrap()
}

fn schema(fields: &[(&str, DataType)]) -> SchemaRef {
    let fields: Vec<Field> =
        fields.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true)).collect();
    Arc::new(Schema::new(fields))
}

fn int_and_string() -> SchemaRef {
    schema(&[("a", DataType::Int32), ("b", DataType::Utf8)])
}

/// The rows of a text, or the first error.
fn read(options: &[(&str, &str)], schema: &SchemaRef, text: &str) -> Result<Vec<String>, String> {
    let mut decoder = csv(options).decoder(schema, None).unwrap().records();
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        let len = decoder.next_record(rest).unwrap_or(rest.len());
        decoder.decode(&rest[..len]).map_err(|error| error.to_string())?;
        rest = &rest[len..];
    }
    let rows = changelog_lines([&decoder.finish().unwrap()]).unwrap();
    Ok(rows.into_iter().map(|row| row[3..].to_string()).collect())
}

fn rows(options: &[(&str, &str)], schema: &SchemaRef, text: &str) -> Vec<String> {
    read(options, schema, text).unwrap()
}

fn error(options: &[(&str, &str)], schema: &SchemaRef, text: &str) -> String {
    read(options, schema, text).unwrap_err()
}

#[test]
fn fields_may_be_quoted_and_have_delimiters_quotes_and_line_ends_in_them() {
    let text = "1,x\n2,\"a,b\"\r\n3,\"q\"\"q\"\n4,\"line1\nline2\"\n5,\"\"\n6,\n7,a\"b\n8,\"z\"  \n9, \"é";
    assert_eq!(
        rows(&[], &int_and_string(), text),
        ["1 x", "2 a,b", "3 q\"q", "4 line1\nline2", "5 ", "6 ", "7 a\"b", "8 z", "9  \"é"]
    );
}

#[test]
fn a_record_must_have_a_field_for_each_column() {
    let schema = int_and_string();
    assert_eq!(rows(&[], &schema, "1,x,\n"), ["1 x"]);
    for (text, len) in [("1\n", 1), ("1,x,y\n", 3), ("1,x,,\n", 4), ("\n", 1), ("#c\n", 1)] {
        assert_eq!(error(&[], &schema, text), format!("the table has 2 fields, but the record {len}"));
    }
}

#[test]
fn malformed_quotes_are_errors() {
    let schema = int_and_string();
    assert!(error(&[], &schema, "1,\"a\n").contains("never closed"));
    assert!(error(&[], &schema, "1,\"a\"b\n").contains("behind the closing quote"));
    assert!(error(&[("csv.escape-character", "\\")], &schema, "1,a\\").contains("behind an escape"));
}

#[test]
fn null_is_a_literal_quoted_or_not() {
    let schema = int_and_string();
    assert!(error(&[], &schema, ",x\n").contains("column 'a'"));
    let options = [("csv.null-literal", "n/a")];
    assert_eq!(
        rows(&options, &schema, "1,n/a\nn/a,x\n2,\"n/a\"\n3,\n"),
        ["1 NULL", "NULL x", "2 NULL", "3 "]
    );
    assert_eq!(rows(&[("csv.null-literal", "")], &schema, ",\n"), ["NULL NULL"]);
    let strict = Arc::new(Schema::new(vec![Field::new("a", DataType::Int32, false)]));
    let error = error(&options, &strict, "n/a\n");
    assert!(error.contains("column 'a'") && error.contains("NOT NULL"), "{error}");
}

#[test]
fn comments_and_empty_lines_are_passed_over_on_request() {
    let text = "#it's a \"comment\n1,x\n  #d\n\n \n2,y\n";
    assert_eq!(rows(&[("csv.allow-comments", "true")], &int_and_string(), text), ["1 x", "2 y"]);
}

#[test]
fn the_characters_can_be_chosen() {
    let schema = int_and_string();
    assert_eq!(rows(&[("csv.field-delimiter", "|")], &schema, "1|x,y\n"), ["1 x,y"]);
    assert_eq!(rows(&[("csv.field-delimiter", "\\t")], &schema, "1\tx\n"), ["1 x"]);
    assert_eq!(rows(&[("csv.field-delimiter", "\\u0001")], &schema, "1\u{1}x\n"), ["1 x"]);
    assert_eq!(rows(&[("csv.field-delimiter", "¦")], &schema, "1¦\"x¦\"\"\n\"\n2¦é\n"), ["1 x¦\"\n", "2 é"]);
    assert_eq!(rows(&[("csv.quote-character", "'")], &schema, "1,'x,''y'\n2,\"z\"\n"), ["1 x,'y", "2 \"z\""]);
    assert_eq!(rows(&[("csv.disable-quote-character", "true")], &schema, "1,\"x\"\n"), ["1 \"x\""]);
    let escape = [("csv.escape-character", "\\")];
    assert_eq!(rows(&escape, &schema, "1,x\\,y\\\\\\n\n2,\"a\\\"\nb\"\n"), ["1 x,y\\\n", "2 a\"\nb"]);
}

#[test]
fn values_of_each_type() {
    let schema = schema(&[
        ("b", DataType::Boolean),
        ("dt", DataType::Date32),
        ("t", DataType::Time32(TimeUnit::Second)),
        ("ts", DataType::Timestamp(TimeUnit::Millisecond, None)),
        ("z", DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))),
        ("de", DataType::Decimal128(5, 2)),
        ("y", DataType::Binary),
        ("d", DataType::Float64),
    ]);
    let text = "TRUE,2024-1-2,10:00, 2024-01-02 10:00:00.5 ,2024-01-02 10:00:00Z,1.005,AAE=, NaN \n\
                no,2024-02-30,10:00:01,2024-01-02 10:00:00,2024-01-02 10:00:00Z,12345,,1e3\n";
    assert_eq!(
        rows(&[], &schema, text),
        [
            "true 2024-01-02 10:00:00 2024-01-02T10:00:00.500 2024-01-02T10:00:00Z 1.01 0001 NaN",
            "false 2024-03-01 10:00:01 2024-01-02T10:00:00 2024-01-02T10:00:00Z NULL  1000.0"
        ]
    );
    assert!(error(&[], &int_and_string(), "1.9,x\n").contains("'1.9' is not a number of type INT"));
    assert_eq!(rows(&[], &int_and_string(), " 1 , x \n"), ["1  x "]);
}

fn list(item: DataType, nullable: bool) -> DataType {
    DataType::List(Arc::new(Field::new("item", item, nullable)))
}

fn nested() -> SchemaRef {
    let row = schema(&[("x", DataType::Int32), ("y", DataType::Utf8)]).fields().clone();
    schema(&[
        ("a", list(DataType::Int32, true)),
        ("b", DataType::Struct(row)),
        ("c", list(DataType::Utf8, true)),
    ])
}

#[test]
fn arrays_and_rows_have_delimiters_of_their_own() {
    let text = "1;2;3,4;z,a;b\n,,\n\"\",\"\",\"\"\n 1 ; 2 ,4;,;\n";
    assert_eq!(
        rows(&[], &nested(), text),
        ["[1, 2, 3] {x: 4, y: z} [a, b]", "[] NULL []", "[] NULL []", "[1, 2] {x: 4, y: } [, ]"]
    );
    let options = [("csv.array-element-delimiter", "||"), ("csv.null-literal", "-")];
    assert_eq!(rows(&options, &nested(), "1||-,-||z,-\n"), ["[1, NULL] {x: NULL, y: z} [NULL]"]);
    assert!(error(&[], &nested(), "1,4,x\n").contains("column 'b': a ROW of 2 fields, but 1"));
    assert!(error(&[], &nested(), "1;x,4;z,x\n").contains("column 'a': an element: "));
}

#[test]
fn ignored_errors_are_counted() {
    let mut decoder =
        csv(&[("csv.ignore-parse-errors", "true")]).decoder(&int_and_string(), None).unwrap().records();
    for record in ["x,y", "2,z", "1", "1,2,3", "\"", "3,\"a\"b"] {
        decoder.decode(record.as_bytes()).unwrap();
    }
    assert_eq!(decoder.rows(), 3);
    assert_eq!(changelog_lines([&decoder.finish().unwrap()]).unwrap(), ["+I NULL y", "+I 2 z", "+I 1 NULL"]);
    assert_eq!(decoder.ignored(), ParseErrors { records: 3, fields: 1 });

    let row = DataType::Struct(vec![Field::new("x", DataType::Int32, false)].into());
    let strict = Arc::new(Schema::new(vec![
        Field::new("l", list(DataType::Int32, false), false),
        Field::new("r", row, false),
    ]));
    let options = [("csv.ignore-parse-errors", "true"), ("csv.null-literal", "-")];
    assert_eq!(rows(&options, &strict, "1,1\n1;x,1\n1,x\n-,1\n1,\n2;3,4\n"), ["[1] {x: 1}", "[2, 3] {x: 4}"]);
}

#[test]
fn a_projection_does_not_look_at_the_other_fields() {
    let physical = schema(&[("a", DataType::Int32), ("b", DataType::Utf8), ("c", DataType::Int32)]);
    let mut decoder = csv(&[]).decoder(&physical, Some(&[2, 1])).unwrap().records();
    decoder.decode(b"not a number,x,2").unwrap();
    assert_eq!(changelog_lines([&decoder.finish().unwrap()]).unwrap(), ["+I 2 x"]);
    assert!(decoder.decode(b"1,x").is_err());
}

#[test]
fn a_record_ends_where_no_quote_is_open() {
    let decoder = csv(&[("csv.escape-character", "\\")]).decoder(&int_and_string(), None).unwrap().records();
    let len = |text: &str| decoder.next_record(text.as_bytes());
    assert_eq!(len("1,x\nmore"), Some(4));
    assert_eq!(len("1,\"x\n\""), None);
    assert_eq!(len("1,\"x\n\"\n"), Some(7));
    assert_eq!(len("1,\"x\"\"\n\"\n"), Some(9));
    assert_eq!(len("1,\"x\\\"\n\"\n"), Some(9));
    assert_eq!(len("1,a\"\n"), Some(5));
    assert_eq!(len("1,x"), None);
}

#[test]
fn every_type_survives_a_round_trip() {
    let (schema, records) = every_type();
    let mut json = format(&[("format", "json")]).unwrap().decoder(&schema, None).unwrap().records();
    records.iter().for_each(|record| json.decode(record.as_bytes()).unwrap());
    let batch = json.finish().unwrap();
    for options in [
        &[("csv.null-literal", "null")][..],
        &[("csv.null-literal", "-"), ("csv.field-delimiter", ";"), ("csv.quote-character", "'")],
        &[("csv.null-literal", "-"), ("csv.escape-character", "\\")],
        &[("csv.null-literal", "-"), ("csv.escape-character", "\\"), ("csv.disable-quote-character", "true")],
    ] {
        let (text, again) = round_trip(&csv(options), &batch);
        assert_eq!(changelog_lines([&again]).unwrap(), changelog_lines([&batch]).unwrap(), "{text}");
        assert_eq!(again.batch().column(7), batch.batch().column(7));
    }
}

#[test]
fn encoded_records_have_flinks_forms() {
    let schema = schema(&[
        ("s", DataType::Utf8),
        ("i", DataType::Int32),
        ("d", DataType::Float64),
        ("de", DataType::Decimal128(9, 9)),
        ("ts", DataType::Timestamp(TimeUnit::Millisecond, None)),
        ("l", list(DataType::Int32, true)),
    ]);
    let mut json = format(&[("format", "json")]).unwrap().decoder(&schema, None).unwrap().records();
    for record in [
        r#"{"s":"plain","i":-1,"d":"NaN","de":0.000000027,"ts":"2024-01-01 00:00:00.5","l":[1,null]}"#,
        r#"{"s":"two words","d":1e10,"l":[1]}"#,
        r#"{"s":"a\"b"}"#,
        r#"{"s":"morethantwentyfourcharacters"}"#,
        r#"{"s":""}"#,
    ] {
        json.decode(record.as_bytes()).unwrap();
    }
    let batch = json.finish().unwrap();
    let encode = |options: &[(&str, &str)]| {
        let mut out = vec![];
        csv(options).encoder("sink", &schema).unwrap().encode(&batch, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(
        encode(&[]),
        "plain,-1,NaN,2.7E-8,\"2024-01-01 00:00:00.5\",1;\n\
         \"two words\",,1.0E10,,,1\n\
         \"a\"\"b\",,,,,\n\
         \"morethantwentyfourcharacters\",,,,,\n\
         ,,,,,\n"
    );
    let options = [("csv.null-literal", "-"), ("csv.write-bigdecimal-in-scientific-notation", "false")];
    assert!(encode(&options).starts_with("plain,-1,NaN,0.000000027,\"2024-01-01 00:00:00.5\",1;-\n"));
}

#[test]
fn what_cannot_be_written_is_an_error() {
    let schema = int_and_string();
    let mut json = format(&[("format", "json")]).unwrap().decoder(&schema, None).unwrap().records();
    json.decode(br#"{"a":1,"b":"x,y"}"#).unwrap();
    let batch = json.finish().unwrap();
    let mut encoder = csv(&[("csv.disable-quote-character", "true")]).encoder("sink", &schema).unwrap();
    let error = encoder.encode(&batch, &mut vec![]).unwrap_err().to_string();
    assert!(error.contains("'sink'") && error.contains("csv.quote-character"), "{error}");
}

#[test]
fn unsupported_types_are_planning_errors_that_name_the_column() {
    let deep = schema(&[("a", list(list(DataType::Int32, true), true))]);
    let entries = Field::new(
        "entries",
        DataType::Struct(
            vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Int32, true)].into(),
        ),
        false,
    );
    let map = schema(&[("a", DataType::Map(Arc::new(entries), false))]);
    for schema in [deep, map] {
        let decoder = csv(&[]).decoder(&schema, None).err().unwrap().to_string();
        assert!(decoder.contains("column 'a'"), "{decoder}");
        let encoder = csv(&[]).encoder("sink", &schema).err().unwrap().to_string();
        assert!(encoder.contains("column 'a'") && encoder.contains("'sink'"), "{encoder}");
    }
}

#[test]
fn option_errors() {
    let error =
        |option: &[(&str, &str)]| format(&[&[("format", "csv")], option].concat()).unwrap_err().to_string();
    assert!(error(&[("csv.field-delimiter", "||")]).contains("must be one character, not '||'"));
    assert!(error(&[("csv.escape-character", "")]).contains("one character"));
    assert!(error(&[("csv.array-element-delimiter", "")]).contains("at least one character"));
    let both = [("csv.quote-character", "'"), ("csv.disable-quote-character", "true")];
    assert!(error(&both).contains("only one of them"));
    assert!(error(&[("csv.null-litteral", "x")]).contains("did you mean 'csv.null-literal'?"));
}

#[test]
fn columns_keep_their_nullability() {
    let strict = Arc::new(Schema::new(vec![Field::new("a", DataType::Int32, false)]));
    let mut decoder = csv(&[]).decoder(&strict, None).unwrap().records();
    decoder.decode(b"1").unwrap();
    assert_eq!(decoder.finish().unwrap().batch().column(0).null_count(), 0);
}
