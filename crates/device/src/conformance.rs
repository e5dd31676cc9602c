//! The conformance body.
