//! Flink's scalar kernels against DataFusion's nearest ones, on batches of 1,024 and 8,192 rows, with and without
//! NULLs.

#![expect(missing_docs, reason = "the group that Criterion's macro makes")]

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Float64Array, Int32Array, StringArray};
use arrow::compute::kernels::numeric::div;
use arrow::datatypes::{DataType, Field, FieldRef};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF};
use datafusion::scalar::ScalarValue;
use datafusion_streaming_udfs::scalar::flink_scalars;

/// A call that is ready to be evaluated.
struct Call {
    function: Arc<ScalarUDF>,
    args: Vec<ColumnarValue>,
    fields: Vec<FieldRef>,
    result: FieldRef,
    rows: usize,
}

impl Call {
    fn new(function: Arc<ScalarUDF>, args: Vec<ColumnarValue>, rows: usize) -> Result<Self> {
        let types: Vec<DataType> = args.iter().map(ColumnarValue::data_type).collect();
        let types = match function.coerce_types(&types) {
            Ok(types) => types,
            // functions of DataFusion's with other kinds of signatures get what they take
            Err(_) => types,
        };
        let args = args
            .into_iter()
            .zip(&types)
            .map(|(arg, to)| arg.cast_to(to, None))
            .collect::<Result<Vec<_>>>()?;
        let fields: Vec<FieldRef> = types
            .into_iter()
            .map(|data_type| Arc::new(Field::new("a", data_type, true)) as FieldRef)
            .collect();
        let scalars: Vec<Option<&ScalarValue>> = args
            .iter()
            .map(|arg| match arg {
                ColumnarValue::Scalar(value) => Some(value),
                ColumnarValue::Array(_) => None,
            })
            .collect();
        let result = function
            .return_field_from_args(ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &scalars })?;
        Ok(Self { function, args, fields, result, rows })
    }

    fn evaluate(&self) -> Result<ColumnarValue> {
        self.function.invoke_with_args(ScalarFunctionArgs {
            args: self.args.clone(),
            arg_fields: self.fields.clone(),
            number_rows: self.rows,
            return_field: Arc::clone(&self.result),
            config_options: Arc::default(),
        })
    }
}

fn flink(name: &str) -> Arc<ScalarUDF> {
    let found = flink_scalars().into_iter().find(|function| function.name() == name);
    found.unwrap_or_else(|| panic!("there is no function {name}"))
}

fn words(rows: usize, nulls: bool) -> ArrayRef {
    let word =
        |row: usize| (!nulls || !row.is_multiple_of(7)).then(|| format!("word {} of {row}", row * 31 % 97));
    Arc::new((0..rows).map(word).collect::<StringArray>())
}

fn ints(rows: usize, nulls: bool) -> ArrayRef {
    Arc::new(
        (0..rows).map(|row| (!nulls || row % 7 != 0).then_some(row as i32 % 50 + 1)).collect::<Int32Array>(),
    )
}

fn doubles(rows: usize, nulls: bool) -> ArrayRef {
    let value = |row: usize| (!nulls || !row.is_multiple_of(7)).then_some((row * 7 % 1_000) as f64 / 3.0);
    Arc::new((0..rows).map(value).collect::<Float64Array>())
}

fn text(value: &str) -> ColumnarValue {
    ColumnarValue::Scalar(ScalarValue::from(value))
}

fn int(value: i64) -> ColumnarValue {
    ColumnarValue::Scalar(ScalarValue::from(value))
}

/// A name, the arguments of a function of ours, and a function of DataFusion's with its arguments.
type Pair = (&'static str, Vec<ColumnarValue>, Arc<ScalarUDF>, Vec<ColumnarValue>);

fn scalars(criterion: &mut Criterion) {
    use datafusion::functions::{math, string, unicode};
    for rows in [1_024, 8_192] {
        for nulls in [false, true] {
            let (words, numbers, floats) = (words(rows, nulls), ints(rows, nulls), doubles(rows, nulls));
            let (word, number, float) = (
                || ColumnarValue::Array(Arc::clone(&words)),
                || ColumnarValue::Array(Arc::clone(&numbers)),
                || ColumnarValue::Array(Arc::clone(&floats)),
            );
            let int32 = |value: i32| ColumnarValue::Scalar(ScalarValue::from(value));
            let pairs: Vec<Pair> = vec![
                ("hex", vec![word()], string::lower(), vec![word()]),
                ("to_base64", vec![word()], string::lower(), vec![word()]),
                (
                    "concat",
                    vec![word(), text("-"), word()],
                    string::concat(),
                    vec![word(), text("-"), word()],
                ),
                (
                    "substring",
                    vec![word(), int32(2), int32(3)],
                    unicode::substr(),
                    vec![word(), int(2), int(3)],
                ),
                ("left", vec![word(), int32(3)], unicode::left(), vec![word(), int(3)]),
                (
                    "replace",
                    vec![word(), text("o"), text("0")],
                    string::replace(),
                    vec![word(), text("o"), text("0")],
                ),
                ("locate", vec![text("of"), word()], unicode::strpos(), vec![word(), text("of")]),
                ("startswith", vec![word(), text("word")], string::starts_with(), vec![word(), text("word")]),
                ("flink_float_less", vec![float(), float()], math::signum(), vec![float()]),
                ("sqrt", vec![float()], math::sqrt(), vec![float()]),
                ("abs", vec![number()], math::abs(), vec![number()]),
            ];
            let label = format!("{rows}{}", if nulls { " with NULLs" } else { "" });
            for (name, args, theirs, their_args) in pairs {
                let ours =
                    Call::new(flink(name), args, rows).unwrap_or_else(|error| panic!("{name}: {error}"));
                let theirs =
                    Call::new(theirs, their_args, rows).unwrap_or_else(|error| panic!("{name}: {error}"));
                let mut group = criterion.benchmark_group(format!("scalar/{name}"));
                group.bench_function(BenchmarkId::new("flink", &label), |bencher| {
                    bencher.iter(|| ours.evaluate())
                });
                let their_name = format!("datafusion {}", theirs.function.name());
                group.bench_function(BenchmarkId::new(their_name, &label), |bencher| {
                    bencher.iter(|| theirs.evaluate())
                });
            }
            let divide = Call::new(flink("flink_integer_divide"), vec![number(), number()], rows)
                .unwrap_or_else(|error| panic!("{error}"));
            let mut group = criterion.benchmark_group("scalar/flink_integer_divide");
            group.bench_function(BenchmarkId::new("flink", &label), |bencher| {
                bencher.iter(|| divide.evaluate())
            });
            let divisors: &dyn Array = numbers.as_ref();
            let divisors = divisors.as_any().downcast_ref::<Int32Array>();
            group.bench_function(BenchmarkId::new("arrow div", &label), |bencher| {
                bencher.iter(|| divisors.map(|divisors| div(divisors, divisors)));
            });
        }
    }
}

criterion_group!(benches, scalars);
criterion_main!(benches);
