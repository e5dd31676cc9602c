//! Tasks of the project that are not its program: crate arrows, figures, deep fuzzing and trials, recordings. Run as `cargo xtask TASK`.

mod arrows;
mod figures;
mod fuzz;
mod record;
mod script;
mod sim;
mod zoned_drive;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use std::path::PathBuf;

#[derive(Parser)]
#[command(bin_name = "cargo xtask", about = "Tasks of the project that are not its program")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Check that crates use each other only as the table in arrows.rs allows
    Arrows,
    /// Measure the figures anew and rewrite docs/figures.md
    ///
    /// Exits with 1 where a figure falls short of what was asked for.
    Figures {
        /// Only these; all others keep the value that was measured last
        ids: Vec<String>,
        /// List the figures and their commands, and measure nothing
        #[arg(long)]
        list: bool,
    },
    /// Fuzz with coverage feedback, through cargo-fuzz on a nightly toolchain
    ///
    /// `cargo test` runs the same bodies over a fixed budget of mutated seeds, on any toolchain.
    Fuzz {
        /// One target; without it, all of them in turn
        target: Option<String>,
        /// How long each target runs, in seconds
        #[arg(long, default_value_t = 60, value_name = "N")]
        seconds: u64,
    },
    /// Try the block layer on simulated devices, cutting their power at every step
    ///
    /// `cargo test` runs the same trials from fixed seeds, within a small budget; this takes new ones each time.
    Sim {
        /// The first seed; drawn where absent
        #[arg(long, value_name = "SEED")]
        first: Option<u64>,
        /// Trials, one a seed; by default as many as it takes for the cuts
        #[arg(long, value_name = "N")]
        trials: Option<u64>,
        /// Power cuts, at least
        #[arg(long, default_value_t = 1_000_000, value_name = "N")]
        cuts: u64,
    },
    /// Record a real program on a drive made for it; needs root, and flashlane on the path or in $FLASHLANE
    Record {
        #[command(subcommand)]
        program: record::Program,
    },
    /// Test zoned drives in a guest of QEMU, with a zoned NVMe drive
    ZonedDrive(zoned_drive::Options),
}

fn main() -> Result<()> {
    let root = root()?;
    match Arguments::parse().task {
        Task::Arrows => arrows::check(&root),
        Task::Figures { ids, list } => figures::run(&root, &ids, list),
        Task::Fuzz { target, seconds } => fuzz::run(&root, target.as_deref(), seconds),
        Task::Sim { first, trials, cuts } => sim::run(first, trials, cuts),
        Task::Record { program } => record::run(&root, &program),
        Task::ZonedDrive(options) => zoned_drive::run(&root, options),
    }
}

/// The workspace's folder.
fn root() -> Result<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("run this as 'cargo xtask'")?;
    let root = PathBuf::from(manifest).join("../..");
    root.canonicalize().with_context(|| format!("no workspace at {}", root.display()))
}

/// The cargo that runs us.
fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
