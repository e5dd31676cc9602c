//! `flashlane sdf`: immutable blocks on the lanes of a device that exposes its erase units.

mod bench;
mod blocks;
mod device;
mod status;
mod unreadable;
mod verdict;

use crate::device_argument::DeviceArgument;
use crate::failure::{Failure, Status};
use crate::options::{self, Format, OutputOptions, ReallyOption, SafetyOptions};
pub use device::{named_without_lanes, used_device_refusal};
use flashlane_base::units::parse_bytes;
use flashlane_base::{Duration, Seed};
use flashlane_block::Placement;
use flashlane_open::Consent;
use flashlane_trace::is_standard_output;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
pub use verdict::{Verdict, counted};

/// Store blocks on software-defined flash: format, put, get, delete, check, measure
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

const EXAMPLES: &str = "\
Examples:
  flashlane sdf bench sim:sdf
  flashlane sdf format 'lanes(./flash,channels=8)' --create 1GiB
  flashlane sdf put 'lanes(./flash)' photo.jpg
  flashlane sdf get 'lanes(./flash)' 0 --output copy.jpg
  flashlane sdf status 'lanes(./flash)'

A simulated device keeps nothing after the command: use it with 'bench'. docs/layout.md describes the on-device format.";

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Format a device for blocks; all data on it is lost
    Format {
        #[command(flatten)]
        device: DeviceOption,
        #[command(flatten)]
        output: OutputOptions,
        #[command(flatten)]
        safety: SafetyOptions,
    },
    /// Show lanes, wear, and bad and free units
    Status {
        #[command(flatten)]
        device: DeviceOption,
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Store files, one per block, and print their ids
    Put {
        #[command(flatten)]
        device: DeviceOption,
        /// Files to store; - for standard input
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Id of the first block, up to 9223372036854775807; the others count up from it; default: new ids
        #[arg(long, value_name = "ID", value_parser = block_id)]
        id: Option<u64>,
    },
    /// Write a block, or some of its bytes, to standard output or a file
    Get {
        #[command(flatten)]
        device: DeviceOption,
        /// Block id
        #[arg(value_parser = block_id)]
        id: u64,
        /// First byte to read
        #[arg(long, value_name = "BYTES", value_parser = bytes_of, default_value = "0")]
        offset: u64,
        /// Bytes to read; default: to the end of the block
        #[arg(long, value_name = "BYTES", value_parser = bytes_of)]
        length: Option<u64>,
        /// New file to write instead of standard output; - for standard output
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// List the blocks: id, bytes, lane and unit
    Ls {
        #[command(flatten)]
        device: DeviceOption,
        /// Output format
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
        format: Format,
    },
    /// Delete blocks, and wait until their units are erased
    Rm {
        #[command(flatten)]
        device: DeviceOption,
        /// Block ids
        #[arg(required_unless_present = "damaged", value_name = "ID", value_parser = block_id)]
        ids: Vec<u64>,
        /// Also erase damaged units; their contents are unknown, perhaps another program's, and are lost
        #[arg(long, requires = "destroy_data")]
        damaged: bool,
        /// Agree to lose the contents of damaged units
        #[arg(long, requires = "damaged")]
        destroy_data: bool,
    },
    /// Verify the checksums of every block, and read the first 4 KiB of erased units; exit status 1 unless all is sound
    Fsck {
        #[command(flatten)]
        device: DeviceOption,
        /// First rewrite damaged lane records and superblocks from their sound copies
        #[arg(long)]
        repair: bool,
        /// Also repair lane records that other data has overwritten; that data is lost
        #[arg(long, requires = "repair", help_heading = "Real drives")]
        destroy_data: bool,
        #[command(flatten)]
        repeated: ReallyOption,
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Measure puts, then gets; a real device keeps its lanes and its existing blocks
    Bench {
        #[command(flatten)]
        device: DeviceOption,
        #[command(flatten)]
        load: LoadOptions,
        #[command(flatten)]
        output: OutputOptions,
        #[command(flatten)]
        safety: SafetyOptions,
    },
}

impl Action {
    fn device(&self) -> &DeviceArgument {
        match self {
            Self::Format { device, .. }
            | Self::Status { device, .. }
            | Self::Put { device, .. }
            | Self::Get { device, .. }
            | Self::Ls { device, .. }
            | Self::Rm { device, .. }
            | Self::Fsck { device, .. }
            | Self::Bench { device, .. } => &device.device,
        }
    }
}

#[derive(Debug, clap::Args)]
struct DeviceOption {
    /// Software-defined flash: lanes(FILE,…), lanes(/dev/…), zoned(/dev/…), or simulated (sim:sdf)
    #[arg(value_parser = options::device)]
    device: DeviceArgument,
}

/// The load of a bench.
#[derive(Debug, clap::Args)]
struct LoadOptions {
    /// Puts or gets in flight; default: the number of lanes
    #[arg(long, value_name = "N", value_parser = nonzero_count)]
    in_flight: Option<NonZeroU32>,
    /// Blocks to put, limited to the free blocks; default: 4 per lane within 10 s (simulated: up to 2 GiB, at least 1
    /// per lane)
    #[arg(long, value_name = "N", value_parser = nonzero_count)]
    blocks: Option<NonZeroU32>,
    /// Bytes to put instead of --blocks, rounded up to the same number of whole blocks on every lane
    #[arg(long, value_name = "SIZE", value_parser = positive_bytes, conflicts_with = "blocks")]
    size: Option<u64>,
    /// Time limit of the puts, and again of the gets, in device time
    #[arg(long, value_name = "TIME", value_parser = options::positive_time)]
    duration: Option<Duration>,
    /// Number of gets; default: the number of blocks to put
    #[arg(long, value_name = "N", value_parser = options::count)]
    gets: Option<u64>,
    /// Bytes per get; default: a whole block
    #[arg(long, value_name = "SIZE", value_parser = positive_bytes)]
    get_bytes: Option<u64>,
    /// Get random blocks; default: one after the other
    #[arg(long)]
    random: bool,
    /// How to choose the lane of a block
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    placement: PlacementName,
    /// Seed of all randomness
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = options::seed, default_value = "1")]
    seed: Seed,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum PlacementName {
    /// The lane with the least queued work
    #[default]
    LeastLoaded,
    /// One lane after the other, by block id
    RoundRobin,
}

impl From<PlacementName> for Placement {
    fn from(name: PlacementName) -> Self {
        match name {
            PlacementName::LeastLoaded => Self::LeastLoaded,
            PlacementName::RoundRobin => Self::RoundRobin,
        }
    }
}

/// Parses an offset or length in bytes; the unit is optional.
pub fn bytes_of(text: &str) -> Result<u64, String> {
    text.parse().or_else(|_| parse_bytes(text).map_err(|error| error.to_string()))
}

/// Parses the id of a block.
fn block_id(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "allowed: a whole number, as 'flashlane sdf ls' lists ids".to_owned())
}

/// Returns the file to create; `None` for standard output.
fn new_file(output: &Option<PathBuf>) -> Option<&Path> {
    output.as_deref().filter(|path| !is_standard_output(path))
}

/// Parses a count from 1 to 2³² − 1.
fn nonzero_count(text: &str) -> Result<NonZeroU32, String> {
    let count = u32::try_from(options::positive_count(text)?).ok().and_then(NonZeroU32::new);
    count.ok_or_else(|| format!("allowed: up to {}", u32::MAX))
}

/// Parses a size of at least 1 byte.
fn positive_bytes(text: &str) -> Result<u64, String> {
    match bytes_of(text)? {
        0 => Err("allowed: at least 1 byte".into()),
        some => Ok(some),
    }
}

impl Arguments {
    /// Returns whether Ctrl-C lets the command report or clean up. Puts and deletes are atomic and need neither.
    pub fn handles_interrupt(&self) -> bool {
        match &self.action {
            Action::Fsck { .. } | Action::Bench { .. } => true,
            // Remove a partial file.
            Action::Format { safety, .. } => safety.create.is_some(),
            Action::Get { output, .. } => new_file(output).is_some(),
            Action::Status { .. } | Action::Put { .. } | Action::Ls { .. } | Action::Rm { .. } => false,
        }
    }
}

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let target = arguments.action.device().target()?;
    match &arguments.action {
        Action::Format { output, safety, .. } => status::format(target, output, safety),
        Action::Status { output, .. } => status::status(target, output),
        Action::Put { files, id, .. } => blocks::put(target, files, *id),
        Action::Get { id, offset, length, output, .. } => {
            blocks::get(target, *id, *offset, *length, new_file(output))
        }
        Action::Ls { format, .. } => blocks::list(target, *format),
        Action::Rm { ids, damaged, .. } => blocks::remove(target, ids, *damaged),
        Action::Fsck { repair, destroy_data, repeated, output, .. } => {
            let consent = match (*repair, *destroy_data) {
                (false, _) => Consent::ReadOnly,
                (true, false) => Consent::KeepBlocks,
                (true, true) => repeated.consent_to_destroy(),
            };
            status::fsck(target, consent, output)
        }
        Action::Bench { load, output, safety, .. } => bench::call(target, load, output, safety),
    }
}
