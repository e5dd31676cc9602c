//! Development tasks: crate dependencies, figures, deep fuzzing and trials, recordings. Run as `cargo xtask TASK`.

mod arrows;
mod circles;
mod figures;
mod fuzz;
mod guest;
mod record;
mod script;
mod served;
mod sim;
mod sources;
mod widths;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use std::path::PathBuf;

#[derive(Parser)]
#[command(bin_name = "cargo xtask", about = "Development tasks of the project")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Check that crates depend on each other only as the table in arrows.rs allows, and their files in no large
    /// circles, and that comments are no wider than 120 columns
    Arrows,
    /// Measure the figures again and rewrite docs/figures.md
    ///
    /// Exits with 1 where a figure misses its goal.
    Figures {
        /// Figures to measure, all if none is given; others keep their last value
        ids: Vec<String>,
        /// List the figures and their commands without measuring
        #[arg(long)]
        list: bool,
    },
    /// Fuzz with coverage feedback, through cargo-fuzz on a nightly toolchain
    ///
    /// `cargo test` runs the same bodies over a fixed budget of mutated seeds, on any toolchain.
    Fuzz {
        /// Target to fuzz, all if none is given
        target: Option<String>,
        /// Time for each target, in seconds
        #[arg(long, default_value_t = 60, value_name = "N")]
        seconds: u64,
    },
    /// Test the block layer, or replication, on simulated devices with power cuts
    ///
    /// `cargo test` runs a few of the same trials from fixed seeds; this uses new seeds each time.
    Sim {
        /// What is tested
        #[arg(value_enum, default_value_t = sim::Subject::Blocks)]
        subject: sim::Subject,
        /// The first seed; random if not given
        #[arg(long, value_name = "SEED")]
        first: Option<u64>,
        /// Number of trials, one per seed; by default as many as needed for the cuts
        #[arg(long, value_name = "N")]
        trials: Option<u64>,
        /// Least number of power cuts
        #[arg(long, default_value_t = 1_000_000, value_name = "N")]
        cuts: u64,
    },
    /// Record a real program on a drive created for it; needs root, and flashlane on the path or in $FLASHLANE
    Record {
        #[command(subcommand)]
        program: record::Program,
    },
    /// Run a program on a served drive, and take all of it away; needs root, and flashlane on the path or in $FLASHLANE
    Served {
        #[command(subcommand)]
        program: served::Program,
    },
    /// Test zoned drives in a QEMU guest with a zoned NVMe drive
    ZonedDrive(guest::ZonedDrive),
    /// Test `flashlane serve nbd` with the kernel's client in a QEMU guest; flashlane on the path or in $FLASHLANE
    NbdKernel(guest::NbdKernel),
}

fn main() -> Result<()> {
    let root = root()?;
    match Arguments::parse().task {
        Task::Arrows => {
            arrows::check(&root)?;
            circles::check(&root)?;
            widths::check(&root)
        }
        Task::Figures { ids, list } => figures::run(&root, &ids, list),
        Task::Fuzz { target, seconds } => fuzz::run(&root, target.as_deref(), seconds),
        Task::Sim { subject, first, trials, cuts } => sim::run(subject, first, trials, cuts),
        Task::Record { program } => record::run(&root, &program),
        Task::Served { program } => served::run(&root, &program),
        Task::ZonedDrive(options) => guest::zoned_drive(&root, options),
        Task::NbdKernel(options) => guest::nbd_kernel(&root, options),
    }
}

/// Returns the directory of the workspace.
fn root() -> Result<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("run this as 'cargo xtask'")?;
    let root = PathBuf::from(manifest).join("../..");
    root.canonicalize().with_context(|| format!("no workspace at {}", root.display()))
}

/// Returns the cargo that runs this program.
fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
