//! Functions that choose among their arguments.

use super::*;
use arrow::array::Float64Array;

#[test]
fn the_first_that_is_not_null() {
    let args = vec![ints(&[Some(1), None, None]), ints(&[Some(2), Some(3), None])];
    assert_eq!(call("coalesce", args.clone()), ["1", "3", "NULL"]);
    assert_eq!(call("ifnull", args.clone()), ["1", "3", "NULL"]);
    assert_eq!(call("coalesce", [args, vec![int(9)]].concat()), ["1", "3", "9"]);
    let (data_type, values) =
        call_in("UTC", "coalesce", vec![ints(&[None]), decimals(&[Some(125)], 5, 2)]).unwrap();
    assert_eq!((data_type, values), (DataType::Decimal128(12, 2), vec!["1.25".to_owned()]));
    assert!(error("coalesce", vec![ColumnarValue::Scalar(ScalarValue::Null); 2]).contains("Cannot apply"));
    assert!(error("coalesce", vec![int(1), constant("a")]).contains("Cannot apply"));
}

#[test]
fn the_greatest_and_the_least() {
    let args = vec![ints(&[Some(1), Some(5), None]), ints(&[Some(2), Some(3), Some(7)])];
    assert_eq!(call("greatest", args.clone()), ["2", "5", "NULL"]);
    assert_eq!(call("least", args), ["1", "3", "NULL"]);
    let nan = || column(Float64Array::from(vec![f64::NAN]));
    let one = || column(Float64Array::from(vec![1.0]));
    assert_eq!(call("greatest", vec![one(), nan()]), ["NaN"]);
    assert_eq!(call("least", vec![nan(), one()]), ["1.0"]);
    assert_eq!(call("greatest", vec![texts(&[Some("a"), Some("z")]), constant("m")]), ["m", "z"]);
}

#[test]
fn if_takes_one_type() {
    let condition = column(arrow::array::BooleanArray::from(vec![Some(true), Some(false), None]));
    let (data_type, values) =
        call_in("UTC", "if", vec![condition.clone(), int(1), longs(&[Some(7); 3])]).unwrap();
    assert_eq!((data_type, values.join(" ")), (DataType::Int64, "1 7 7".to_owned()));
    assert!(
        error("if", vec![condition, int(1), ColumnarValue::Scalar(ScalarValue::Null)])
            .contains("Cannot apply")
    );
}
