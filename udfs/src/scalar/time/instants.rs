//! A column of timestamps as wall-clock times.

use arrow::array::{Array, ArrayRef};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, TimeUnit};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{Result, internal_err};

use crate::datetime::{LocalDateTime, LocalZone};

/// The zone that TIMESTAMP_LTZ is seen in: the session's `datafusion.execution.time_zone`.
pub(in crate::scalar) fn session_zone(config: &ConfigOptions) -> Result<LocalZone> {
    match &config.execution.time_zone {
        Some(zone) => LocalZone::parse(zone),
        None => Ok(LocalZone::UTC),
    }
}

/// A column of TIMESTAMP or TIMESTAMP_LTZ of any precision.
#[derive(Debug)]
pub(in crate::scalar) struct Instants {
    values: ScalarBuffer<i64>,
    nulls: Option<NullBuffer>,
    unit: TimeUnit,
    /// The zone of TIMESTAMP_LTZ, `None` for TIMESTAMP.
    pub(in crate::scalar) zone: Option<LocalZone>,
}

impl Instants {
    pub(in crate::scalar) fn new(array: &ArrayRef, config: &ConfigOptions) -> Result<Self> {
        let DataType::Timestamp(unit, zone) = array.data_type() else {
            return internal_err!("{} is no TIMESTAMP", array.data_type());
        };
        let array_data = array.to_data();
        let values =
            ScalarBuffer::new(array_data.buffers()[0].clone(), array_data.offset(), array_data.len());
        let zone = zone.is_some().then(|| session_zone(config)).transpose()?;
        Ok(Self { values, nulls: array.logical_nulls(), unit: *unit, zone })
    }

    /// Milliseconds since the epoch and the nanoseconds beyond them. `None` for NULL.
    pub(in crate::scalar) fn millis(&self, row: usize) -> Option<(i64, i64)> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        let value = self.values[row];
        Some(match self.unit {
            TimeUnit::Second => (value.saturating_mul(1_000), 0),
            TimeUnit::Millisecond => (value, 0),
            TimeUnit::Microsecond => (value.div_euclid(1_000), value.rem_euclid(1_000) * 1_000),
            TimeUnit::Nanosecond => (value.div_euclid(1_000_000), value.rem_euclid(1_000_000)),
        })
    }

    /// The wall-clock time, `None` for NULL.
    pub(in crate::scalar) fn local(&self, row: usize) -> Option<LocalDateTime> {
        let (millis, nanos) = self.millis(row)?;
        let millis = self.zone.map_or(millis, |zone| zone.to_local(millis));
        Some(LocalDateTime::from_millis(millis, nanos))
    }
}
