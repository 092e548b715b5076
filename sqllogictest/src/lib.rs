//! Runs sqllogictest suites with change kinds against a streaming session.
