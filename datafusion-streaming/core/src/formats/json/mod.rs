//! The format `json`.

mod columns;
mod decoder;
mod encoder;
mod options;
#[cfg(test)]
pub(super) mod tests;
mod text;

pub use options::JsonOptions;

pub(super) use decoder::{JsonDecoder, JsonRows};
pub(super) use encoder::{JsonEncoder, JsonObjects};
pub(super) use text::{FieldNames, Span, compact};
