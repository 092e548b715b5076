//! The format `json`.

mod columns;
mod decoder;
mod options;
mod text;

pub use options::JsonOptions;

pub(super) use decoder::{JsonDecoder, JsonRows};
pub(super) use text::{FieldNames, Span, compact};
