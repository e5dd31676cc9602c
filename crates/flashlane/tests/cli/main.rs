//! The program from outside: arguments in, text and exit status out.

mod bad_input;
mod contract;
mod documents;
mod endings;
mod fixtures;
mod help;
mod mentions;
mod program;
mod readme;
mod recording;
mod replay;
mod safety;
mod sdf;
mod sdf_bench;
mod sdf_damage;
mod sdf_foreign;
mod sdf_guard;
mod serve;
mod snapshots;
mod store;
mod stored;
mod sweeps;
mod traces;
mod transactions;
mod uflip;
mod workloads;
