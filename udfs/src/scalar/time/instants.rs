//! A column of timestamps as wall-clock times.

use arrow::array::ArrayRef;
use datafusion_common::Result;
use datafusion_common::config::ConfigOptions;

use crate::datetime::{LocalDateTime, LocalZone};
use crate::timestamps::{TimestampType, Timestamps};

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
    times: Timestamps,
    /// The zone of TIMESTAMP_LTZ, `None` for TIMESTAMP.
    pub(in crate::scalar) zone: Option<LocalZone>,
}

impl Instants {
    pub(in crate::scalar) fn new(array: &ArrayRef, config: &ConfigOptions) -> Result<Self> {
        let is_instant = TimestampType::of(array.data_type()).is_some_and(|of| of.is_instant);
        let zone = is_instant.then(|| session_zone(config)).transpose()?;
        Ok(Self { times: Timestamps::new(array)?, zone })
    }

    /// Milliseconds since the epoch and the nanoseconds beyond them. `None` for NULL.
    pub(in crate::scalar) fn millis(&self, row: usize) -> Option<(i64, i64)> {
        self.times.millis(row)
    }

    /// Nanoseconds since the epoch. `None` for NULL.
    pub(in crate::scalar) fn nanos(&self, row: usize) -> Option<i128> {
        self.times.nanos(row)
    }

    /// The wall-clock time, `None` for NULL.
    pub(in crate::scalar) fn local(&self, row: usize) -> Option<LocalDateTime> {
        let (millis, nanos) = self.millis(row)?;
        let millis = self.zone.map_or(millis, |zone| zone.to_local(millis));
        Some(LocalDateTime::from_millis(millis, nanos))
    }
}
