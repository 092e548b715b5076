//! Functions of numbers, and comparisons.

use super::*;
use arrow::array::{Float32Array, Float64Array};

fn doubles(values: &[Option<f64>]) -> ColumnarValue {
    column(Float64Array::from(values.to_vec()))
}

fn double(value: f64) -> ColumnarValue {
    ColumnarValue::Scalar(ScalarValue::from(value))
}

#[test]
fn types_stay() {
    let args = || vec![column(Int8Array::from(vec![Some(-128), Some(15), None]))];
    for (name, expected) in [
        ("abs", ["-128", "15", "NULL"]),
        ("floor", ["-128", "15", "NULL"]),
        ("ceil", ["-128", "15", "NULL"]),
        ("sign", ["-1", "1", "NULL"]),
        ("round", ["-128", "15", "NULL"]),
    ] {
        let (data_type, values) = call_in("UTC", name, args()).unwrap();
        assert_eq!((data_type, values), (DataType::Int8, expected.map(str::to_owned).to_vec()), "{name}");
    }
    // -130 wraps
    assert_eq!(call("round", [args(), vec![int(-1)]].concat()), ["126", "20", "NULL"]);
    assert!(error("abs", vec![constant("1")]).contains("ABS(<NUMERIC>)"));
    assert!(error("sqrt", vec![ColumnarValue::Scalar(ScalarValue::Null)]).contains("Cannot apply"));
}

#[test]
fn decimals_are_rounded() {
    let args = || decimals(&[Some(155_555), Some(-5_000), Some(-4_999), None], 8, 4);
    for (name, position, data_type, expected) in [
        ("round", 2, DataType::Decimal128(7, 2), ["15.56", "-0.50", "-0.50", "NULL"]),
        ("round", 0, DataType::Decimal128(5, 0), ["16", "-1", "0", "NULL"]),
        ("round", -1, DataType::Decimal128(5, 0), ["20", "0", "0", "NULL"]),
        ("round", 9, DataType::Decimal128(8, 4), ["15.5555", "-0.5000", "-0.4999", "NULL"]),
        ("truncate", 2, DataType::Decimal128(7, 2), ["15.55", "-0.50", "-0.49", "NULL"]),
        ("truncate", -1, DataType::Decimal128(5, 0), ["10", "0", "0", "NULL"]),
    ] {
        let result = call_in("UTC", name, vec![args(), int(position)]).unwrap();
        assert_eq!(result, (data_type, expected.map(str::to_owned).to_vec()), "{name} to {position}");
    }
    let (data_type, values) = call_in("UTC", "ceil", vec![args()]).unwrap();
    assert_eq!((data_type, values.join(" ")), (DataType::Decimal128(8, 0), "16 0 0 NULL".to_owned()));
    assert_eq!(call("floor", vec![args()]), ["15", "-1", "-1", "NULL"]);
    assert_eq!(call("abs", vec![args()]), ["15.5555", "0.5000", "0.4999", "NULL"]);
    let most = decimals(&[Some(10_i128.pow(38) - 1)], 38, 0);
    assert_eq!(call("round", vec![most, int(-1)]), ["NULL"]);
    let positions = ints(&[Some(1), Some(0), None, Some(2)]);
    assert_eq!(call("round", vec![args(), positions]), ["15.6000", "-1.0000", "NULL", "NULL"]);
}

#[test]
fn doubles_are_rounded() {
    let args = || doubles(&[Some(1.005), Some(-0.04), Some(1.5e25), None]);
    assert_eq!(call("round", vec![args(), int(2)]), ["1.01", "-0.04", "1.5e25", "NULL"]);
    assert_eq!(call("truncate", vec![args(), int(1)]), ["1.0", "0.0", "1.5e25", "NULL"]);
    for name in ["round", "truncate"] {
        assert!(error(name, vec![double(f64::NAN), int(1)]).contains("takes no NaN"));
        assert!(
            error(name, vec![double(1.0), ColumnarValue::Scalar(ScalarValue::from(1_i64))])
                .contains("Cannot apply")
        );
    }
}

#[test]
fn logarithms_and_powers() {
    let args = || vec![doubles(&[Some(4.0), Some(0.0), Some(-1.0), Some(f64::NAN), None])];
    for (name, expected) in [
        ("sqrt", ["2.0", "0.0", "NaN", "NaN", "NULL"]),
        ("ln", ["1.3862943611198906", "-inf", "NaN", "NaN", "NULL"]),
        ("log2", ["2.0", "-inf", "NaN", "NaN", "NULL"]),
        ("exp", ["54.598150033144236", "1.0", "0.36787944117144233", "NaN", "NULL"]),
        ("tanh", ["0.999329299739067", "0.0", "-0.7615941559557649", "NaN", "NULL"]),
        ("degrees", ["229.1831180523293", "0.0", "-57.29577951308232", "NaN", "NULL"]),
    ] {
        assert_eq!(call(name, args()), expected, "{name}");
    }
    assert_eq!(call("power", [args(), vec![int(0)]].concat()), ["1.0", "1.0", "1.0", "1.0", "NULL"]);
    assert_eq!(call("log", [vec![int(2)], args()].concat()), ["2.0", "-inf", "NaN", "NaN", "NULL"]);
    assert_eq!(call("sqrt", vec![decimals(&[Some(22_500), None], 8, 4)]), ["1.5", "NULL"]);
    assert_eq!(call("e", vec![]), ["2.718281828459045"]);
    let decimal = || decimals(&[Some(1)], 8, 4);
    assert!(error("atan2", vec![int(1), decimal()]).contains("Cannot apply"));
    assert_eq!(call("atan2", vec![decimal(), decimal()]), ["0.7853981633974483"]);
}

#[test]
fn floating_numbers_are_compared_as_java_does() {
    let left = || doubles(&[Some(1.0), Some(f64::NAN), Some(-0.0), Some(f64::INFINITY), None]);
    let right = || doubles(&[Some(2.0), Some(f64::NAN), Some(0.0), Some(1.0), Some(1.0)]);
    for (name, expected) in [
        ("flink_float_equal", ["false", "false", "true", "false", "NULL"]),
        ("flink_float_not_equal", ["true", "true", "false", "true", "NULL"]),
        ("flink_float_less", ["true", "false", "false", "false", "NULL"]),
        ("flink_float_less_or_equal", ["true", "false", "true", "false", "NULL"]),
        ("flink_float_greater", ["false", "false", "false", "true", "NULL"]),
        ("flink_float_greater_or_equal", ["false", "false", "true", "true", "NULL"]),
        ("flink_float_distinct", ["true", "true", "false", "true", "true"]),
        ("flink_float_not_distinct", ["false", "false", "true", "false", "false"]),
    ] {
        assert_eq!(call(name, vec![left(), right()]), expected, "{name}");
    }
    assert_eq!(
        call("flink_float_less", vec![left(), double(2.0)]),
        ["true", "false", "true", "false", "NULL"]
    );
    assert_eq!(
        call("flink_float_less", vec![double(0.0), left()]),
        ["true", "false", "false", "true", "NULL"]
    );
    assert_eq!(call("flink_float_equal", vec![left(), null(DataType::Float64)]), ["NULL"; 5]);
    assert_eq!(call("flink_float_not_distinct", vec![left(), null(DataType::Float64)])[4], "true");
    assert_eq!(call("flink_float_equal", vec![double(f64::NAN), double(f64::NAN)]), ["false"]);
    let floats = || column(Float32Array::from(vec![0.1_f32]));
    assert_eq!(call("flink_float_equal", vec![floats(), floats()]), ["true"]);
    for operator in FloatOperator::ALL {
        assert_eq!(operator.negated().negated(), operator);
    }
}

#[test]
fn what_need_not_be_evaluated_is_folded() {
    use datafusion_common::DFSchema;
    use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
    use datafusion_expr::{Expr, col, lit, try_cast};
    let fields = ["a", "b"].map(|name| Field::new(name, DataType::Int32, true));
    let schema = Arc::new(DFSchema::try_from(arrow::datatypes::Schema::new(fields.to_vec())).unwrap());
    let context = SimplifyContext::builder().with_schema(schema).build();
    let folded = |name: &str, args: Vec<Expr>| match function(name).simplify(args, &context).unwrap() {
        ExprSimplifyResult::Simplified(expr) => Some(expr),
        ExprSimplifyResult::Original(_) => None,
    };
    let position = || lit(ScalarValue::Int32(None));
    let narrow = || Expr::Cast(datafusion_expr::Cast::new(Box::new(col("a")), DataType::Int8));
    let wide = || Expr::Cast(datafusion_expr::Cast::new(Box::new(col("a")), DataType::Int64));
    for name in ["round", "truncate"] {
        assert_eq!(folded(name, vec![col("a") + col("b"), position()]), Some(lit(ScalarValue::Int32(None))));
        assert_eq!(folded(name, vec![wide(), position()]), Some(lit(ScalarValue::Int64(None))));
        for operand in [col("a") / col("b"), col("a") % lit(2), narrow(), try_cast(col("a"), DataType::Int64)]
        {
            assert_eq!(folded(name, vec![operand, position()]), None);
        }
        assert_eq!(folded(name, vec![col("a"), lit(1)]), None);
    }
    assert_eq!(folded("is_digit", vec![col("a") * lit(2)]), Some(lit(true)));
    assert_eq!(folded("is_decimal", vec![col("a")]), Some(lit(true)));
    assert_eq!(folded("is_alpha", vec![-col("a")]), Some(lit(false)));
    for name in ["is_alpha", "is_digit", "is_decimal"] {
        assert_eq!(folded(name, vec![col("a") / col("b")]), None);
        assert_eq!(folded(name, vec![narrow()]), None);
        assert_eq!(folded(name, vec![lit("x")]), None);
    }
}

#[test]
fn floats_are_found_by_their_bits() {
    let numbers = Float64Array::from(vec![Some(0.0), Some(-0.0), Some(1.5), Some(f64::NAN), None]);
    let constant = |number: f64| ColumnarValue::Scalar(ScalarValue::from(number));
    assert_eq!(
        call("flink_float_in", vec![column(numbers), constant(-0.0), constant(1.5)]),
        ["true", "false", "true", "false", "NULL"]
    );
}
