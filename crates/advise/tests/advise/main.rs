//! Tests of advice on simulated drives.

mod drives;
