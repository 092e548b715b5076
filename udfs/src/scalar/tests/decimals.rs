//! MOD and the operators on DECIMAL.

use super::*;

#[test]
fn modulo() {
    let (data_type, values) = call_in(
        "UTC",
        "mod",
        vec![
            column(Int64Array::from(vec![Some(7), Some(-7), Some(i64::MIN), None])),
            column(Int8Array::from(vec![10, 4, -1, 0])),
        ],
    )
    .unwrap();
    assert_eq!(
        (data_type, values.as_slice()),
        (DataType::Int8, ["7", "-3", "0", "NULL"].map(str::to_owned).as_slice())
    );
    let zero = || column(Int32Array::from(vec![0]));
    assert!(error("mod", vec![zero(), zero()]).contains("/ by zero"));
    // the lowest 64 bits of a decimal without a fraction
    let most = 10_i128.pow(38) - 1;
    let wide =
        decimals(&[Some(most), Some(12_345_678_901_234_567_890_123_456_789_012_345_678), Some(5)], 38, 0);
    let (data_type, values) =
        call_in("UTC", "mod", vec![wide, ColumnarValue::Scalar(ScalarValue::from(7_i32))]).unwrap();
    assert_eq!(
        (data_type, values.as_slice()),
        (DataType::Int32, ["0", "-2", "5"].map(str::to_owned).as_slice())
    );
    // an exact remainder
    let wide = || decimals(&[Some(most), Some(-most), None], 38, 0);
    let (data_type, values) = call_in("UTC", "mod", vec![wide(), decimals(&[Some(70); 3], 3, 1)]).unwrap();
    assert_eq!(data_type, DataType::Decimal128(3, 1));
    assert_eq!(values, ["1.0", "-1.0", "NULL"]);
    assert!(error("mod", vec![wide(), decimals(&[Some(0); 3], 3, 1)]).contains("Division by zero"));
    assert!(error("mod", vec![wide(), decimals(&[Some(1); 3], 38, 38)]).contains("Division impossible"));
    let double = column(arrow::array::Float64Array::from(vec![1.0]));
    assert!(error("mod", vec![double.clone(), double]).contains("Cannot apply 'MOD'"));
}

#[test]
fn types_of_decimal_arithmetic() {
    let decimal = |precision, scale| DataType::Decimal128(precision, scale);
    let (x52, x104, x380) = (decimal(5, 2), decimal(10, 4), decimal(38, 0));
    let (x3818, x3838, x206, x10) = (decimal(38, 18), decimal(38, 38), decimal(20, 6), decimal(1, 0));
    use DecimalOperator::{Divide, Minus, Modulo, Plus, Times};
    for (operator, left, right, precision, scale) in [
        (Plus, &x52, &x52, 6, 2),
        (Plus, &x104, &x206, 21, 6),
        (Plus, &x380, &x52, 38, 2),
        (Plus, &x3818, &x3818, 38, 17),
        (Plus, &x3838, &x52, 38, 34),
        (Plus, &x3838, &x380, 38, 6),
        (Plus, &x52, &DataType::Int64, 22, 2),
        (Minus, &x3838, &x3838, 38, 37),
        (Times, &x52, &x104, 16, 6),
        (Times, &x10, &x10, 3, 0),
        (Times, &x206, &x206, 38, 9),
        (Times, &x3818, &x3818, 38, 6),
        (Times, &x3838, &x3838, 38, 37),
        (Times, &x3818, &x10, 38, 16),
        (Times, &x52, &DataType::Int8, 9, 2),
        (Divide, &x52, &x52, 13, 8),
        (Divide, &x52, &x104, 20, 13),
        (Divide, &x10, &x10, 7, 6),
        (Divide, &x380, &x52, 38, 6),
        (Divide, &x52, &x380, 38, 35),
        (Divide, &x206, &x206, 38, 18),
        (Divide, &DataType::Int32, &x52, 18, 6),
        (Modulo, &x52, &x104, 7, 4),
        (Modulo, &x380, &x52, 5, 2),
        (Modulo, &x3818, &x3838, 38, 38),
        (Modulo, &DataType::Int32, &x52, 5, 2),
        (Modulo, &x104, &DataType::Int64, 10, 4),
        (Modulo, &DataType::Int64, &x380, 38, 0),
    ] {
        assert_eq!(
            operator.result_type(left, right).unwrap(),
            decimal(precision, scale),
            "{left} {operator:?} {right}"
        );
    }
    assert_eq!(Modulo.result_type(&x380, &DataType::Int8).unwrap(), DataType::Int8);
}

#[test]
fn decimal_arithmetic() {
    let p = || decimals(&[Some(125), Some(-125), Some(99_999), None], 5, 2);
    let q = || decimals(&[Some(25_000), Some(3_333), Some(9_999_999_999), Some(1)], 10, 4);
    for (name, expected) in [
        ("flink_decimal_plus", ["3.7500", "-0.9167", "1000999.9899", "NULL"]),
        ("flink_decimal_minus", ["-1.2500", "-1.5833", "-999000.0099", "NULL"]),
        ("flink_decimal_times", ["3.125000", "-0.416625", "999989999.900001", "NULL"]),
        ("flink_decimal_divide", ["0.5000000000000", "-3.7503750375038", "0.0009999900001", "NULL"]),
        ("mod", ["1.2500", "-0.2501", "999.9900", "NULL"]),
    ] {
        assert_eq!(call(name, vec![p(), q()]), expected, "{name}");
    }
    let most = 10_i128.pow(38) - 1;
    let m = || decimals(&[Some(most), Some(5)], 38, 0);
    let h = || decimals(&[Some(most), Some(2_500_000_000_000_000_000)], 38, 18);
    assert_eq!(call("flink_decimal_plus", vec![m(), m()]), ["NULL", "10"]);
    assert_eq!(
        call("flink_decimal_plus", vec![h(), h()]),
        ["200000000000000000000.00000000000000000", "5.00000000000000000"]
    );
    assert_eq!(call("flink_decimal_times", vec![h(), h()]), ["NULL", "6.250000"]);
    assert_eq!(
        call("flink_decimal_divide", vec![h(), ColumnarValue::Scalar(ScalarValue::from(3_i32))]),
        ["33333333333333333333.333333333333333333", "0.833333333333333333"]
    );
    let zero = || decimals(&[Some(0), Some(0)], 10, 4);
    assert!(error("flink_decimal_divide", vec![m(), zero()]).contains("Division by zero"));
    assert!(error("flink_decimal_divide", vec![zero(), zero()]).contains("Division undefined"));
    assert!(error("flink_decimal_plus", vec![m(), constant("1")]).contains("Cannot apply"));
}

#[test]
fn a_decimal_result_that_cannot_overflow_is_not_null() {
    let nullable = |left: DataType, right: DataType, null: bool| {
        let fields: Vec<FieldRef> = [left, right]
            .map(|data_type| Arc::new(Field::new("a", data_type, null)))
            .into_iter()
            .map(|field| field as FieldRef)
            .collect();
        let args = ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &[None, None] };
        function("flink_decimal_plus").return_field_from_args(args).unwrap().is_nullable()
    };
    assert!(!nullable(DataType::Decimal128(5, 2), DataType::Decimal128(10, 0), false));
    assert!(nullable(DataType::Decimal128(5, 2), DataType::Decimal128(10, 0), true));
    assert!(nullable(DataType::Decimal128(38, 0), DataType::Decimal128(10, 0), false));
}

#[test]
fn decimals_with_a_constant() {
    let p = || decimals(&[Some(125), Some(-125), None], 5, 2);
    let tenth = || ColumnarValue::Scalar(ScalarValue::Decimal128(Some(1_000), 10, 4));
    for (name, first, second) in [
        ("flink_decimal_plus", ["1.3500", "-1.1500", "NULL"], ["1.3500", "-1.1500", "NULL"]),
        ("flink_decimal_minus", ["1.1500", "-1.3500", "NULL"], ["-1.1500", "1.3500", "NULL"]),
        ("flink_decimal_times", ["0.125000", "-0.125000", "NULL"], ["0.125000", "-0.125000", "NULL"]),
    ] {
        assert_eq!(call(name, vec![p(), tenth()]), first, "{name} of a column and a constant");
        assert_eq!(call(name, vec![tenth(), p()]), second, "{name} of a constant and a column");
        let nothing = ColumnarValue::Scalar(ScalarValue::Decimal128(None, 10, 4));
        assert_eq!(call(name, vec![p(), nothing]), ["NULL"; 3], "{name} of a column and NULL");
    }
}

#[test]
fn modulo_by_a_constant() {
    let numbers = || longs(&[Some(17), Some(-17), Some(i64::MIN), None]);
    let by = |divisor: Option<i64>| ColumnarValue::Scalar(ScalarValue::Int64(divisor));
    assert_eq!(call("mod", vec![numbers(), by(Some(5))]), ["2", "-2", "-3", "NULL"]);
    assert_eq!(call("mod", vec![numbers(), by(Some(-1))]), ["0", "0", "0", "NULL"]);
    assert_eq!(call("mod", vec![numbers(), by(None)]), ["NULL"; 4]);
    assert!(error("mod", vec![numbers(), by(Some(0))]).contains("/ by zero"));
    assert_eq!(call("mod", vec![longs(&[None, None]), by(Some(0))]), ["NULL"; 2]);
}
