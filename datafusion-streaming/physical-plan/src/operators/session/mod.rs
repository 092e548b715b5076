//! Sessions: the table function SESSION, and aggregation by session.

mod aggregate;
mod sessions;
mod tvf;

pub use aggregate::SessionAggregateNode;
pub(crate) use sessions::Sessions;
pub use tvf::SessionTvfNode;

#[cfg(test)]
mod tests;
