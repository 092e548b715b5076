//! Variances, standard deviations and PERCENTILE.

use arrow::array::{Float32Array, Float64Array, Int64Array, ListArray};
use arrow::datatypes::{DataType, Float64Type};

use super::*;

fn statistic(name: &str, arg: &ArrayRef) -> Call {
    let found = Statistic::all()
        .into_iter()
        .find(|statistic| statistic.name() == name || statistic.aliases().iter().any(|alias| alias == name));
    call(found.unwrap(), vec![Arc::clone(arg)])
}

#[test]
fn of_doubles() {
    let d: ArrayRef = Arc::new(Float64Array::from(vec![
        Some(2.0),
        Some(4.0),
        Some(4.0),
        None,
        Some(4.0),
        Some(5.0),
        Some(5.0),
        Some(7.0),
        Some(9.0),
    ]));
    check_values(
        &[statistic("var_pop", &d), statistic("var_samp", &d), statistic("variance", &d)],
        "+0 +0 +0 +0 +0 +0 +0 +0 +0",
        &[
            "0.0 NULL NULL",
            "1.0 2.0 2.0",
            "0.8888888888888881 1.3333333333333321 1.3333333333333321",
            "0.75 1.0 1.0",
            "0.9599999999999994 1.1999999999999993 1.1999999999999993",
            "1.0 1.2 1.2",
            "1.9591836734693888 2.285714285714287 2.285714285714287",
            "4.0 4.571428571428571 4.571428571428571",
        ],
    );
    let d: ArrayRef = Arc::new(Float64Array::from(vec![2.0, 4.0, 4.0, 4.0, 9.0]));
    check_values(
        &[statistic("stddev_pop", &d)],
        "+0 +0 +0 +0 +0",
        &["0.0", "1.0", "0.9428090415820629", "0.8660254037844386", "2.3323807579381204"],
    );
}

#[test]
fn of_other_types() {
    let i = ints(&[Some(2), Some(4), Some(4), None, Some(4)]);
    let bi: ArrayRef = Arc::new(Int64Array::from(vec![Some(2), Some(4), Some(4), None, Some(4)]));
    let f: ArrayRef = Arc::new(Float32Array::from(vec![Some(2.0), Some(4.0), Some(4.0), None, Some(4.0)]));
    let de: ArrayRef = Arc::new(decimals(&[Some(200), Some(400), Some(400), None, Some(400)], 10, 2));
    check_values(
        &[
            statistic("var_pop", &i),
            statistic("var_samp", &i),
            statistic("stddev_samp", &bi),
            statistic("var_pop", &f),
            statistic("var_samp", &f),
            statistic("var_pop", &de),
            statistic("var_samp", &de),
            statistic("stddev_pop", &de),
        ],
        "+0 +0 +0 +0 +0",
        &[
            "0 NULL NULL 0.0 NULL 0.000000 NULL 0.000000",
            "1 2 1 1.0 2.0 1.000000 2.000000 1.000000",
            "1 1 1 0.8888893 1.333334 0.888889 1.333334 0.942809",
            "0 1 1 0.75 1.0 0.750000 1.000000 0.866025",
        ],
    );
    let result = |data_type: DataType| Statistic::all()[0].return_type(&[data_type]).unwrap();
    assert_eq!(result(DataType::Int32), DataType::Int32);
    assert_eq!(result(DataType::Decimal128(10, 2)), DataType::Decimal128(38, 6));
}

#[test]
fn big_integers_wrap() {
    let i = ints(&[Some(100_000), Some(100_001), Some(100_003)]);
    let bi: ArrayRef = Arc::new(Int64Array::from(vec![10_000_000_000, 10_000_000_001, 10_000_000_003]));
    let d: ArrayRef = Arc::new(Float64Array::from(vec![100_000_000.25, 100_000_000.75, 100_000_001.25]));
    check_values(
        &[
            statistic("var_pop", &i),
            statistic("stddev_pop", &i),
            statistic("stddev_samp", &i),
            statistic("var_pop", &bi),
            statistic("var_pop", &d),
        ],
        "+0 +0 +0",
        &["0 0 NULL 0 0.0", "-1073741823 0 0 0 0.0", "1 1 1 2049638230412172403 0.0"],
    );
}

#[test]
fn of_a_changelog() {
    let d: ArrayRef = Arc::new(Float64Array::from(vec![
        Some(1.0),
        Some(3.0),
        Some(8.0),
        Some(8.0),
        Some(3.0),
        Some(5.0),
        Some(1.0),
        None,
        Some(5.0),
        None,
        Some(4.0),
    ]));
    check(
        &[statistic("var_pop", &d), statistic("var_samp", &d)],
        "+0 +0 +0 -0 -0 +0 -0 +0 -0 -0 +0",
        &[
            "+I 0 0.0 NULL",
            "-U 0 0.0 NULL",
            "+U 0 1.0 2.0",
            "-U 0 1.0 2.0",
            "+U 0 8.666666666666666 13.0",
            "-U 0 8.666666666666666 13.0",
            "+U 0 1.0 2.0",
            "-U 0 1.0 2.0",
            "+U 0 0.0 NULL",
            "-U 0 0.0 NULL",
            "+U 0 4.0 8.0",
            "-U 0 4.0 8.0",
            "+U 0 0.0 NULL",
            "-U 0 0.0 NULL",
            "+U 0 NULL NULL",
            "-D 0 NULL NULL",
            "+I 0 0.0 NULL",
        ],
    );
    // a value that changes nothing is told all the same
    check_values(&[statistic("var_pop", &ints(&[Some(4), Some(4), None]))], "+0 +0 +0", &["0", "0"]);
}

#[test]
fn percentiles_are_interpolated() {
    let d: ArrayRef = Arc::new(Float64Array::from(vec![2.0, 4.0, 4.0, 4.0, 5.0, 5.0]));
    let i = ints(&[Some(2), Some(4), None, Some(4), Some(4), Some(5)]);
    let fraction = |fraction: f64| Arc::new(Float64Array::from(vec![fraction; 6])) as ArrayRef;
    check_values(
        &[call(Percentile, vec![Arc::clone(&d), fraction(0.5)]), call(Percentile, vec![i, fraction(0.25)])],
        "+0 +0 +0 +0 +0 +0",
        &["2.0 2.0", "3.0 2.5", "4.0 2.5", "4.0 3.0", "4.0 3.5", "4.0 4.0"],
    );
    let fractions =
        ListArray::from_iter_primitive::<Float64Type, _, _>(vec![Some([0.0, 0.5, 1.0].map(Some)); 6]);
    check_values(
        &[call(Percentile, vec![d, Arc::new(fractions)])],
        "+0 +0 +0 +0 +0 +0",
        &["[2.0, 2.0, 2.0]", "[2.0, 3.0, 4.0]", "[2.0, 4.0, 4.0]", "[2.0, 4.0, 5.0]"],
    );
}

#[test]
fn percentiles_of_a_changelog() {
    let d: ArrayRef =
        Arc::new(Float64Array::from(vec![Some(1.0), Some(3.0), Some(8.0), Some(8.0), None, Some(3.0)]));
    let fraction: ArrayRef = Arc::new(Float64Array::from(vec![0.5; 6]));
    check(
        &[call(Percentile, vec![d, fraction])],
        "+0 +0 +0 -0 +0 -0",
        &[
            "+I 0 1.0", "-U 0 1.0", "+U 0 2.0", "-U 0 2.0", "+U 0 3.0", "-U 0 3.0", "+U 0 2.0", "-U 0 2.0",
            "+U 0 1.0",
        ],
    );
    // values with frequencies
    let d: ArrayRef = Arc::new(Float64Array::from(vec![1.5, f64::NAN, 2.5, 1e-4]));
    let fraction: ArrayRef = Arc::new(Float64Array::from(vec![0.5; 4]));
    let frequency = ints(&[Some(2), Some(1), None, Some(3)]);
    check_values(&[call(Percentile, vec![d, fraction, frequency])], "+0 +0 +0 +0", &["1.5", "0.75005"]);
}

#[test]
fn percentiles_refuse_fractions_out_of_range() {
    let call = call(Percentile, vec![ints(&[Some(1)]), Arc::new(Float64Array::from(vec![1.5]))]);
    let mut state = call.state(false);
    state.grow(1);
    let args = call.take_args(&UInt32Array::from(vec![0]));
    let error = state.accumulate(&Rows { slots: &[0], retract: None, filter: None }, &args).unwrap_err();
    assert!(error.to_string().contains("should be between [0.0, 1.0]"), "{error}");
    assert!(Percentile.coerce_types(&[DataType::Utf8, DataType::Float64]).is_err());
}
