//! FLOOR and CEIL of times to a unit.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Int32Type, Int64Type, TimeUnit};
use datafusion_common::{Result, exec_datafusion_err, exec_err, plan_datafusion_err};
use datafusion_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

use super::instants::Instants;
use crate::datetime::{MILLIS_PER_DAY, TimeUnitRange, ceil, ceil_date, floor, floor_date};
use crate::scalar::arguments::{any_nullable, array, constant_text, is_text, result_of, wrong_arguments};
use crate::timestamps::{TimestampType, is_timestamp};

/// To which side a time is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the start of the unit.
    Floor,
    /// To the start of the next unit.
    Ceil,
}

/// `FLOOR(time TO unit)` and `CEIL(time TO unit)`, planned as `flink_floor(time, 'UNIT')` and
/// `flink_ceil(time, 'UNIT')`: a DATE, TIME, TIMESTAMP or TIMESTAMP_LTZ, which is seen in the session's
/// zone, rounded to a [`TimeUnitRange`]. The type stays.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct FloorCeil {
    rounding: Rounding,
    signature: Signature,
}

impl FloorCeil {
    /// FLOOR or CEIL.
    pub fn new(rounding: Rounding) -> Self {
        Self { rounding, signature: Signature::user_defined(Volatility::Stable) }
    }

    fn sql_name(&self) -> &'static str {
        match self.rounding {
            Rounding::Floor => "FLOOR",
            Rounding::Ceil => "CEIL",
        }
    }

    fn round(&self, unit: TimeUnitRange, millis: i64) -> i64 {
        match self.rounding {
            Rounding::Floor => floor(unit, millis),
            Rounding::Ceil => ceil(unit, millis),
        }
    }

    fn dates(&self, unit: TimeUnitRange, array: &ArrayRef) -> Result<ArrayRef> {
        let days = cast(array, &DataType::Int32)?;
        let round = |days: i32| {
            let rounded = match self.rounding {
                Rounding::Floor => floor_date(unit, i64::from(days)),
                Rounding::Ceil => ceil_date(unit, i64::from(days)),
            };
            i32::try_from(rounded)
                .map_err(|_| exec_datafusion_err!("{} of a date is out of range", self.sql_name()))
        };
        let days: Int32Array = days.as_primitive::<Int32Type>().try_unary(round)?;
        Ok(cast(&(Arc::new(days) as ArrayRef), array.data_type())?)
    }

    /// As Flink does, this takes the milliseconds of a TIME for days when it rounds to units longer than a
    /// day; DAY leaves a TIME as it is.
    fn times(&self, unit: TimeUnitRange, array: &ArrayRef) -> Result<ArrayRef> {
        if unit == TimeUnitRange::Day {
            return Ok(Arc::clone(array));
        }
        let nanos = cast(array, &DataType::Time64(TimeUnit::Nanosecond))?;
        let nanos = cast(&nanos, &DataType::Int64)?;
        let round = |nanos: i64| {
            let millis = nanos / 1_000_000;
            let rounded = match (unit.millis(), self.rounding) {
                (Some(length), Rounding::Floor) => nanos / (length * 1_000_000) * length,
                (Some(length), Rounding::Ceil) => {
                    (nanos as u64).div_ceil(length as u64 * 1_000_000) as i64 * length
                }
                (None, Rounding::Floor) => floor_date(unit, millis),
                (None, Rounding::Ceil) => ceil_date(unit, millis),
            };
            if (0..MILLIS_PER_DAY).contains(&rounded) {
                return Ok(rounded * 1_000_000);
            }
            exec_err!("{} of a TIME is out of the range of a day", self.sql_name())
        };
        let nanos: Int64Array = nanos.as_primitive::<Int64Type>().try_unary(round)?;
        let nanos = cast(&(Arc::new(nanos) as ArrayRef), &DataType::Time64(TimeUnit::Nanosecond))?;
        Ok(cast(&nanos, array.data_type())?)
    }

    fn timestamps(
        &self,
        unit: TimeUnitRange,
        of: TimestampType,
        array: &ArrayRef,
        times: &Instants,
    ) -> Result<ArrayRef> {
        let rounded = (0..array.len()).map(|row| {
            let Some((mut millis, nanos)) = times.millis(row) else { return Ok(None) };
            if unit == TimeUnitRange::Millisecond && self.rounding == Rounding::Ceil && nanos > 0 {
                millis += 1;
            }
            // minutes and what is finer do not depend on the zone
            let zone = times.zone.filter(|_| unit >= TimeUnitRange::Hour);
            // the offset is that of the instant, not that of the boundary
            let offset = zone.map_or(0, |zone| zone.to_local(millis) - millis);
            Ok(Some((self.round(unit, millis + offset) - offset, 0)))
        });
        let beyond = |_| exec_err!("{} of a timestamp is out of range", self.sql_name());
        let rounded = of.collect(rounded, beyond)?;
        if rounded.data_type() == array.data_type() {
            return Ok(rounded);
        }
        // it may name a zone of its own
        Ok(cast(&rounded, array.data_type())?)
    }
}

impl ScalarUDFImpl for FloorCeil {
    fn name(&self) -> &str {
        match self.rounding {
            Rounding::Floor => "flink_floor",
            Rounding::Ceil => "flink_ceil",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        match arg_types {
            [time, unit]
                if is_text(unit)
                    && (is_timestamp(time)
                        || matches!(time, DataType::Date32 | DataType::Time32(_) | DataType::Time64(_))) =>
            {
                Ok(vec![time.clone(), DataType::Utf8])
            }
            _ => {
                let name = self.sql_name();
                Err(wrong_arguments(name, arg_types, &format!("{name}(<DATETIME> TO <TIME_UNIT>)")))
            }
        }
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        arg_types.first().cloned().ok_or_else(|| plan_datafusion_err!("{} takes a time", self.sql_name()))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let time = &args.arg_fields[0];
        let field = Field::new(self.name(), time.data_type().clone(), any_nullable(args.arg_fields));
        Ok(Arc::new(field))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(Some(unit)) = constant_text(&args, 1) else {
            return exec_err!("the unit of {} must be a constant", self.sql_name());
        };
        let unit: TimeUnitRange = unit.parse()?;
        let times = array(&args, 0)?;
        let rounded = match (times.data_type(), TimestampType::of(times.data_type())) {
            (_, Some(of)) => {
                let instants = Instants::new(&times, &args.config_options)?;
                self.timestamps(unit, of, &times, &instants)?
            }
            (DataType::Date32, None) => self.dates(unit, &times)?,
            _ => self.times(unit, &times)?,
        };
        result_of(&args, rounded)
    }
}
