//! Tests of the log.
