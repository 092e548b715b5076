//! Time: watermarks, the clock, windows, time zones.

pub mod clock;
mod current_watermark;
mod millis;
mod proctime;
mod slicing;
mod watermark;
mod window;

pub use clock::{Clock, ManualClock, SystemClock};
pub use current_watermark::{current_watermark_udf, reads_watermark, with_watermark};
pub use datafusion_streaming_udfs::datetime::LocalZone;
pub use millis::{millis_of, timestamps_of};
pub use proctime::{PROCTIME_FUNCTION, proctime_udf};
pub use slicing::Slicing;
pub use watermark::{Merged, Watermark, WatermarkMerge};
pub use window::{TimeWindow, WindowAssigner, window_start};
