//! Readers and writers of traces, on samples, on what they wrote themselves and on hostile input.

mod excerpts;
mod hostile;
mod round_trip;
mod samples;
