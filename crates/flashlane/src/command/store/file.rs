//! `flashlane store file`: files and directories on a store.

mod bytes;
mod mount;
mod names;

use super::device::{Place, failed as store_failed};
use super::{DurabilityOption, PlaceOptions, new_file};
use crate::command::sdf::bytes_of;
use crate::failure::{Failure, Status};
use crate::options::Format;
use crate::suggest::quoted;
use anyhow::anyhow;
use flashlane_base::units::parse_bytes;
use flashlane_store::text::escape;
use flashlane_store_files::FileError;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = HELP, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

const HELP: &str = "\
Examples:
  flashlane store file mkdir 'lanes(./flash)' /photos/2026
  flashlane store file put 'lanes(./flash)' /photos/2026/lake.jpg lake.jpg
  tar c ./work | flashlane store file put 'lanes(./flash)' /work.tar -
  flashlane store file ls 'lanes(./flash)' / --recursive
  flashlane store file mv 'lanes(./flash)' /photos /pictures
  flashlane store file get 'lanes(./flash)' /pictures/2026/lake.jpg \\
      --output copy.jpg

A path begins at the root, with a slash or without. Files of any length pass through little memory.";

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Store a file under a path, replacing an earlier one as a whole
    Put {
        #[command(flatten)]
        place: PlaceOptions,
        /// Path in the store, whose directory must be there
        path: OsString,
        /// File to read; - for standard input
        file: PathBuf,
        /// Add to the end of a file instead, which is created if it is not there; a power cut may leave a part
        #[arg(long)]
        append: bool,
        #[command(flatten)]
        durability: DurabilityOption,
    },
    /// Write a file, or a part of it, to standard output or a file
    Get {
        #[command(flatten)]
        place: PlaceOptions,
        /// Path in the store
        path: OsString,
        /// New file to write instead of standard output; - for standard output
        #[arg(long, value_name = "FILE", alias = "out")]
        output: Option<PathBuf>,
        /// First byte to read, at most the end of the file
        #[arg(long, value_name = "BYTES", value_parser = bytes_of, default_value = "0")]
        offset: u64,
        /// Maximum number of bytes; default: to the end of the file
        #[arg(long, value_name = "BYTES", value_parser = bytes_of)]
        length: Option<u64>,
    },
    /// Write files to standard output, one after the other
    Cat {
        #[command(flatten)]
        place: PlaceOptions,
        /// Paths in the store
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<OsString>,
    },
    /// List a directory
    Ls {
        #[command(flatten)]
        place: PlaceOptions,
        /// Path in the store
        #[arg(default_value = "/")]
        path: OsString,
        /// Also list what lies below
        #[arg(long)]
        recursive: bool,
        /// Output format
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
        format: Format,
    },
    /// Show the length and the last change of a file or directory
    Stat {
        #[command(flatten)]
        place: PlaceOptions,
        /// Path in the store
        path: OsString,
        /// Output format
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
        format: Format,
    },
    /// Create directories, and missing ones above them
    Mkdir {
        #[command(flatten)]
        place: PlaceOptions,
        /// Paths in the store
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<OsString>,
        #[command(flatten)]
        durability: DurabilityOption,
    },
    /// Rename or move a file or directory, replacing a file or empty directory there
    Mv {
        #[command(flatten)]
        place: PlaceOptions,
        /// Path in the store
        from: OsString,
        /// The new path, whose directory must be there
        to: OsString,
        #[command(flatten)]
        durability: DurabilityOption,
    },
    /// Remove files and empty directories
    Rm {
        #[command(flatten)]
        place: PlaceOptions,
        /// Paths in the store
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<OsString>,
        /// Also remove all that lies below
        #[arg(long)]
        recursive: bool,
        #[command(flatten)]
        durability: DurabilityOption,
    },
    /// Mount the files on a directory until Ctrl-C, for any program
    #[command(after_help = MOUNT_HELP)]
    Mount {
        #[command(flatten)]
        place: PlaceOptions,
        #[command(flatten)]
        mount: MountOptions,
        #[command(flatten)]
        durability: DurabilityOption,
    },
    /// Check that names, files and extents belong together
    Fsck {
        #[command(flatten)]
        place: PlaceOptions,
        /// Remove names that lead nowhere and extents of no file, and name the rest in /lost+found
        #[arg(long)]
        repair: bool,
        /// Repair also where units of the store are damaged: give up what they held, and remove what belonged to it
        #[arg(long, requires = "repair")]
        destroy_data: bool,
        /// Output format
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
        format: Format,
    },
    /// Cut a file at a length, or add zeros up to it that take no space
    Truncate {
        #[command(flatten)]
        place: PlaceOptions,
        /// Path in the store
        path: OsString,
        /// The new length
        #[arg(value_name = "SIZE", value_parser = parse_bytes)]
        length: u64,
        #[command(flatten)]
        durability: DurabilityOption,
    },
}

const MOUNT_HELP: &str = "\
FUSE and the right to mount are required (root, or Debian's package fuse3). Only the user of the
command reaches the files, which have no owners, permissions, links or extended attributes. fsync
makes a file safe from power cuts, whatever --durability says. Ctrl-C and SIGTERM end the command
and unmount; 'umount MOUNT' ends it too. After kill -9, 'umount MOUNT' or the next mount there does.";

/// Where and how files are mounted.
#[derive(Debug, clap::Args)]
struct MountOptions {
    /// Empty directory to mount on
    #[arg(value_name = "MOUNT")]
    mount_point: PathBuf,
    /// Allow no changes
    #[arg(long)]
    read_only: bool,
    /// Bytes of an extent, where there are no files yet: a write within an extent writes all of it. By default 512KiB,
    /// or less where each block would have room for one only and stay partly empty
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    extent: Option<u64>,
}

impl Arguments {
    pub fn place(&self) -> &PlaceOptions {
        match &self.action {
            Action::Put { place, .. }
            | Action::Get { place, .. }
            | Action::Cat { place, .. }
            | Action::Ls { place, .. }
            | Action::Stat { place, .. }
            | Action::Mkdir { place, .. }
            | Action::Mv { place, .. }
            | Action::Rm { place, .. }
            | Action::Mount { place, .. }
            | Action::Fsck { place, .. }
            | Action::Truncate { place, .. } => place,
        }
    }

    /// Returns whether Ctrl-C lets the command remove a partial file, or unmount. A file in the store is there as a
    /// whole or not at all.
    pub fn handles_interrupt(&self) -> bool {
        match &self.action {
            Action::Get { output, .. } => new_file(output).is_some(),
            Action::Mount { .. } => true,
            _ => false,
        }
    }
}

pub fn call(place: &Place, arguments: &Arguments) -> Result<Status, Failure> {
    match &arguments.action {
        Action::Put { path, file, append, durability, .. } => {
            bytes::put(place, path, file, *append, durability.durability)
        }
        Action::Get { path, output, offset, length, .. } => {
            bytes::get(place, path, new_file(output), *offset, length.unwrap_or(u64::MAX))
        }
        Action::Cat { paths, .. } => bytes::cat(place, paths),
        Action::Ls { path, recursive, format, .. } => names::list(place, path, *recursive, *format),
        Action::Stat { path, format, .. } => names::stat(place, path, *format),
        Action::Mkdir { paths, durability, .. } => names::make(place, paths, durability.durability),
        Action::Mv { from, to, durability, .. } => names::rename(place, from, to, durability.durability),
        Action::Rm { paths, recursive, durability, .. } => {
            names::remove(place, paths, *recursive, durability.durability)
        }
        Action::Mount { mount, durability, .. } => mount::mount(place, mount, durability.durability),
        Action::Fsck { repair, destroy_data, format, .. } => {
            names::check(place, (*repair, *destroy_data), *format)
        }
        Action::Truncate { path, length, durability, .. } => {
            bytes::truncate(place, path, *length, durability.durability)
        }
    }
}

/// Returns why a file is not put at a path, or nothing moved there: its directory may be missing.
fn not_placed(place: &Place, path: &OsStr, error: FileError) -> Failure {
    let above = Path::new(path).parent().map(|above| above.as_os_str()).filter(|above| !above.is_empty());
    match (error, above) {
        (error @ FileError::Missing { .. }, Some(above)) => Failure::failed(anyhow!(
            "{error}; 'flashlane store file mkdir {} {}' makes the directory",
            quoted(&place.device.to_string()),
            quoted(&escape(above.as_bytes()))
        )),
        (error, _) => failed(error),
    }
}

/// Returns why a call failed. What is stored is the reason of status 1.
fn failed(error: FileError) -> Failure {
    match error {
        FileError::Store(error) => store_failed(error),
        FileError::Missing { .. }
        | FileError::Exists { .. }
        | FileError::NoDirectory { .. }
        | FileError::Directory { .. }
        | FileError::NotEmpty { .. }
        | FileError::IntoItself { .. }
        | FileError::Lossy(_)
        | FileError::Malformed { .. } => Failure::failed(error),
        error => Failure::unusable(error),
    }
}
