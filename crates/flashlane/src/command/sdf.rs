//! `flashlane sdf`: immutable blocks on the lanes of a device that shows its erase units.

mod bench;
mod blocks;
mod device;
mod status;
mod verdict;

use crate::device as devices;
use crate::failure::{Failure, Status};
use crate::options::{self, Format, OutputOptions, ReallyOption, SafetyOptions};
use device::RepairOptions;
use flashlane_base::units::{parse_bytes, parse_count, parse_duration};
use flashlane_base::{Duration, Seed};
use flashlane_block::Placement;
use flashlane_device::spec::Spec;
use flashlane_trace::is_standard_output;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

/// Blocks on software-defined flash: format a device, put and get blocks, check them, measure
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
  flashlane sdf get 'lanes(./flash)' 0 > photo.jpg
  flashlane sdf status 'lanes(./flash)'

A simulated device forgets everything when the command ends: it is for 'bench'. How blocks lie on a device: docs/layout.md.";

/// Which blocks, and where.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Make a device hold blocks: all that is on it is lost
    Format {
        #[command(flatten)]
        device: DeviceOption,
        #[command(flatten)]
        output: OutputOptions,
        #[command(flatten)]
        safety: SafetyOptions,
    },
    /// Lanes, units, wear, bad and free units
    Status {
        #[command(flatten)]
        device: DeviceOption,
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Store files, one a block; prints their ids
    Put {
        #[command(flatten)]
        device: DeviceOption,
        /// The files; - for standard input
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// The id of the first, up to 9223372036854775807, the others follow; fresh ones unless given
        #[arg(long, value_name = "ID")]
        id: Option<u64>,
    },
    /// Write a block, or some of its bytes, to standard output or a file
    Get {
        #[command(flatten)]
        device: DeviceOption,
        /// The block's id
        id: u64,
        /// The first byte
        #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "0")]
        offset: u64,
        /// How many; to the block's end unless given
        #[arg(long, value_name = "BYTES", value_parser = bytes)]
        length: Option<u64>,
        /// A new file in place of standard output; - for standard output
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// List the blocks: id, bytes, lane and unit
    Ls {
        #[command(flatten)]
        device: DeviceOption,
        /// How the list is printed
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
        format: Format,
    },
    /// Delete blocks: done once their units are erased
    Rm {
        #[command(flatten)]
        device: DeviceOption,
        /// The blocks' ids
        #[arg(required_unless_present = "damaged", value_name = "ID")]
        ids: Vec<u64>,
        /// Erase the damaged units too: what they hold cannot be told, and is lost with that
        #[arg(long)]
        damaged: bool,
    },
    /// Read every block and compare it with its checksums, and the first 4 KiB of erased units; exit status 1 unless all is
    /// sound
    Fsck {
        #[command(flatten)]
        device: DeviceOption,
        /// First write anew what is damaged of the lanes' records and of the superblock, from their sound copies
        #[arg(long)]
        repair: bool,
        /// Repair records of the lanes that hold other data too: that is lost
        #[arg(long, requires = "repair", help_heading = "Real drives")]
        destroy_data: bool,
        #[command(flatten)]
        repeated: ReallyOption,
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Measure puts, then gets, with so many in flight; on a real device the lanes and the blocks that are there stay
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
    fn device(&self) -> &Spec {
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

/// On which device.
#[derive(Debug, clap::Args)]
struct DeviceOption {
    /// Software-defined flash: lanes(FILE,…), lanes(/dev/…), zoned(/dev/…), or simulated (sim:sdf)
    #[arg(value_parser = options::device)]
    device: Spec,
}

/// What is measured.
#[derive(Debug, clap::Args)]
struct LoadOptions {
    /// Puts, or gets, in flight; as many as there are lanes unless given
    #[arg(long, value_name = "N", value_parser = nonzero_count)]
    in_flight: Option<NonZeroU32>,
    /// Blocks to put, at most those that fit; four a lane (on a simulated device 2 GiB, one a lane at least), or as many as
    /// 10 s take, unless given
    #[arg(long, value_name = "N", value_parser = nonzero_count)]
    blocks: Option<NonZeroU32>,
    /// Bytes to put, rounded up to whole blocks and as many on every lane, in place of a number of blocks
    #[arg(long, value_name = "SIZE", value_parser = positive_bytes, conflicts_with = "blocks")]
    size: Option<u64>,
    /// The longest that puts, and then gets, go on, in the device's time
    #[arg(long, value_name = "TIME", value_parser = positive_time)]
    duration: Option<Duration>,
    /// Gets; as many as blocks unless given
    #[arg(long, value_name = "N", value_parser = count)]
    gets: Option<u64>,
    /// Bytes of a get; whole blocks unless given
    #[arg(long, value_name = "SIZE", value_parser = positive_bytes)]
    get_bytes: Option<u64>,
    /// Get random blocks; one after the other unless given
    #[arg(long)]
    random: bool,
    /// Which lane a block goes to
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    placement: PlacementName,
    /// The seed of all randomness
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = options::seed, default_value = "1")]
    seed: Seed,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum PlacementName {
    /// The lane with the least left to do
    #[default]
    LeastLoaded,
    /// By the block's id, lane after lane
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

/// A place within a block, to the byte: the unit may be left away.
fn bytes(text: &str) -> Result<u64, String> {
    text.parse().or_else(|_| parse_bytes(text).map_err(|error| error.to_string()))
}

/// The file to be made; none for standard output.
fn new_file(output: &Option<PathBuf>) -> Option<&Path> {
    output.as_deref().filter(|path| !is_standard_output(path))
}

/// How many: `20`, `20k`.
fn count(text: &str) -> Result<u64, String> {
    parse_count(text).map_err(|error| error.to_string())
}

/// The same of what there must be one, and of which there are fewer than 2³².
fn nonzero_count(text: &str) -> Result<NonZeroU32, String> {
    let count = u32::try_from(options::positive_count(text)?).ok().and_then(NonZeroU32::new);
    count.ok_or_else(|| format!("allowed: up to {}", u32::MAX))
}

/// A time above zero.
fn positive_time(text: &str) -> Result<Duration, String> {
    match parse_duration(text).map_err(|error| error.to_string())? {
        Duration::ZERO => Err("a time above zero is needed".into()),
        some => Ok(some),
    }
}

/// At least one.
fn positive_bytes(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        0 => Err("at least one byte is to be got".into()),
        some => Ok(some),
    }
}

impl Arguments {
    /// As `keeps_what_is_done` of all commands. A put or a delete is wholly done or not at all, whenever it is cut short.
    pub fn handles_interrupt(&self) -> bool {
        match &self.action {
            Action::Fsck { .. } | Action::Bench { .. } => true,
            // A file that is half made, or half a block.
            Action::Format { safety, .. } => safety.create.is_some(),
            Action::Get { output, .. } => new_file(output).is_some(),
            Action::Status { .. } | Action::Put { .. } | Action::Ls { .. } | Action::Rm { .. } => false,
        }
    }
}

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let target = &devices::resolve(arguments.action.device())?;
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
            let overwrite = *destroy_data;
            let repair = repair.then_some(RepairOptions { overwrite, really: repeated.really.as_deref() });
            status::fsck(target, repair, output)
        }
        Action::Bench { load, output, safety, .. } => bench::call(target, load, output, safety),
    }
}
