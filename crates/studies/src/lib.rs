//! The papers' tables and figures again: claim, grid, published beside measured, verdict.

pub mod score;
