//! The format `csv`.

mod columns;
mod decoder;
mod encoder;
mod options;
mod record;
#[cfg(test)]
mod tests;

pub use options::CsvOptions;

pub(super) use decoder::CsvDecoder;
pub(super) use encoder::CsvEncoder;
