//! A timestamp plus a constant.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, RecordBatch};
use arrow::datatypes::{
    DataType, Schema, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, Operator};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{BinaryExpr, Literal};

/// `timestamp + interval` or `timestamp - interval`, the interval being a constant without months that is a
/// whole number of the timestamp's unit. Arrow's kernel goes through calendar dates for each row.
///
/// What leaves the range of the type is computed by the original expression, which tells the error.
#[derive(Debug)]
pub(super) struct TimestampShift {
    time: Arc<dyn PhysicalExpr>,
    /// In the timestamp's unit.
    shift: i64,
    original: Arc<dyn PhysicalExpr>,
}

impl TimestampShift {
    /// The fast form of an expression over columns of `schema`; `None` where it is something else.
    pub(super) fn of(expression: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Self> {
        let sum = expression.downcast_ref::<BinaryExpr>()?;
        let literal = |side: &Arc<dyn PhysicalExpr>| {
            side.downcast_ref::<Literal>().map(|literal| literal.value().clone())
        };
        let (time, interval, sign) = match sum.op() {
            Operator::Plus => match literal(sum.right()) {
                Some(interval) => (sum.left(), interval, 1),
                None => (sum.right(), literal(sum.left())?, 1),
            },
            Operator::Minus => (sum.left(), literal(sum.right())?, -1),
            _ => return None,
        };
        let (days, nanos) = match interval {
            ScalarValue::IntervalMonthDayNano(Some(interval)) if interval.months == 0 => {
                (interval.days, interval.nanoseconds)
            }
            ScalarValue::IntervalDayTime(Some(interval)) => {
                (interval.days, i64::from(interval.milliseconds) * 1_000_000)
            }
            _ => return None,
        };
        let DataType::Timestamp(unit, zone) = time.data_type(schema).ok()? else { return None };
        // elsewhere a day may have 23 hours
        let days_are_equal = days == 0 || zone.as_deref().is_none_or(|zone| matches!(zone, "UTC" | "+00:00"));
        let nanos = i128::from(days) * 86_400_000_000_000 + i128::from(nanos);
        let nanos_per_unit = match unit {
            TimeUnit::Second => 1_000_000_000,
            TimeUnit::Millisecond => 1_000_000,
            TimeUnit::Microsecond => 1_000,
            TimeUnit::Nanosecond => 1,
        };
        if !days_are_equal || nanos % nanos_per_unit != 0 {
            return None;
        }
        let shift = i64::try_from(nanos / nanos_per_unit).ok()?.checked_mul(sign)?;
        Some(TimestampShift { time: Arc::clone(time), shift, original: Arc::clone(expression) })
    }

    /// The shifted column; `None` if a value leaves the range.
    fn shifted(&self, times: &ArrayRef) -> Option<ArrayRef> {
        match times.data_type() {
            DataType::Timestamp(TimeUnit::Second, _) => self.add::<TimestampSecondType>(times),
            DataType::Timestamp(TimeUnit::Millisecond, _) => self.add::<TimestampMillisecondType>(times),
            DataType::Timestamp(TimeUnit::Microsecond, _) => self.add::<TimestampMicrosecondType>(times),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => self.add::<TimestampNanosecondType>(times),
            _ => None,
        }
    }

    fn add<T: ArrowPrimitiveType<Native = i64>>(&self, times: &ArrayRef) -> Option<ArrayRef> {
        let times: &PrimitiveArray<T> = times.as_primitive_opt::<T>()?;
        let (low, high) = match self.shift {
            shift @ 0.. => (i64::MIN, i64::MAX - shift),
            shift => (i64::MIN - shift, i64::MAX),
        };
        // the values below NULLs are arbitrary, and mostly in range, too
        if !times.values().iter().all(|time| (low..=high).contains(time)) {
            return None;
        }
        let shifted = times.values().iter().map(|time| time.wrapping_add(self.shift)).collect();
        let shifted = PrimitiveArray::<T>::new(shifted, times.nulls().cloned());
        Some(Arc::new(shifted.with_data_type(times.data_type().clone())))
    }
}

impl PhysicalExpr for TimestampShift {
    fn data_type(&self, input_schema: &Schema) -> Result<DataType> {
        self.original.data_type(input_schema)
    }

    fn nullable(&self, input_schema: &Schema) -> Result<bool> {
        self.original.nullable(input_schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        if let ColumnarValue::Array(times) = self.time.evaluate(batch)?
            && let Some(shifted) = self.shifted(&times)
        {
            return Ok(ColumnarValue::Array(shifted));
        }
        self.original.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.original.children()
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Arc::clone(&self.original).with_new_children(children)
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.original.fmt_sql(f)
    }
}

impl fmt::Display for TimestampShift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.original.fmt(f)
    }
}

impl PartialEq for TimestampShift {
    fn eq(&self, other: &Self) -> bool {
        self.original.eq(&other.original)
    }
}

impl Eq for TimestampShift {}

impl Hash for TimestampShift {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.original.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::TimestampMillisecondArray;
    use arrow::datatypes::{Field, IntervalMonthDayNano};
    use datafusion_physical_expr::expressions::{col, lit};

    use super::*;

    fn schema(unit: TimeUnit) -> Schema {
        Schema::new(vec![Field::new("ts", DataType::Timestamp(unit, None), true)])
    }

    fn minus(schema: &Schema, days: i32, nanoseconds: i64) -> Arc<dyn PhysicalExpr> {
        let interval =
            ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano { months: 0, days, nanoseconds }));
        Arc::new(BinaryExpr::new(col("ts", schema).unwrap(), Operator::Minus, lit(interval)))
    }

    fn evaluate(expression: &dyn PhysicalExpr, schema: Schema, times: Vec<Option<i64>>) -> Result<ArrayRef> {
        let times: ArrayRef = Arc::new(TimestampMillisecondArray::from(times));
        let batch = RecordBatch::try_new(Arc::new(schema), vec![times])?;
        expression.evaluate(&batch)?.into_array(batch.num_rows())
    }

    #[test]
    fn it_says_what_the_original_says() {
        let schema = schema(TimeUnit::Millisecond);
        let original = minus(&schema, 1, 5_000_000_000);
        let shift = TimestampShift::of(&original, &schema).unwrap();
        assert_eq!(shift.shift, -86_405_000);
        let times = vec![Some(0), None, Some(1_767_225_600_123), Some(-1)];
        let expected = evaluate(original.as_ref(), schema.clone(), times.clone()).unwrap();
        assert_eq!(&evaluate(&shift, schema.clone(), times).unwrap(), &expected);
        assert_eq!(shift.to_string(), original.to_string());
        let out_of_range = evaluate(&shift, schema, vec![Some(i64::MIN)]);
        assert!(out_of_range.is_err());
    }

    #[test]
    fn parts_of_the_unit_are_left_to_the_original() {
        let seconds = schema(TimeUnit::Second);
        assert!(TimestampShift::of(&minus(&seconds, 0, 1_000_000), &seconds).is_none());
        assert!(TimestampShift::of(&minus(&seconds, 2, 0), &seconds).is_some());
    }
}
