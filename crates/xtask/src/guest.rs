//! Tests in a guest that QEMU plays, with drivers that this machine's kernel may lack: the options of
//! `scripts/zoned-drive` and `scripts/nbd-kernel`.

use crate::script;
use anyhow::{Result, bail};
use clap::{Args, value_parser};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct ZonedDrive {
    /// A kernel with NVMe and zoned block devices built in; without it Debian's cloud kernel is downloaded
    #[arg(long, value_name = "VMLINUZ")]
    kernel: Option<PathBuf>,
    /// A directory with its null_blk.ko and configfs.ko, not compressed: the tests run on that drive too
    #[arg(long, value_name = "DIR", requires = "kernel")]
    modules: Option<PathBuf>,
    /// Time limit in seconds
    #[arg(long, value_name = "N", default_value_t = 900, value_parser = value_parser!(u32).range(1..=999_999))]
    seconds: u32,
}

#[derive(Args)]
pub struct NbdKernel {
    /// The device to serve, of 64 MiB at least: it is overwritten
    #[arg(default_value = "sim:ssd-s,capacity=256MiB")]
    device: String,
    /// Simulated times are this many times as long
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    slowdown: u32,
    /// Time limit in seconds
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = value_parser!(u32).range(1..=999_999))]
    seconds: u32,
}

/// Tests zoned drives on one that the guest has; prints `skipped` and the reason where a requirement is missing.
///
/// # Errors
/// Where an option is out of range, or a test fails.
pub fn zoned_drive(root: &Path, options: ZonedDrive) -> Result<()> {
    if let Some(modules) = options.modules.as_ref().filter(|modules| !modules.is_dir()) {
        bail!("--modules: there is no directory '{}'", modules.display());
    }
    let variables = vec![
        ("KERNEL", options.kernel.unwrap_or_default().into()),
        ("MODULES", options.modules.unwrap_or_default().into()),
        ("TIMEOUT", options.seconds.to_string().into()),
    ];
    script::run(root, "zoned-drive", variables, &[])
}

/// Tests `flashlane serve nbd` with the client of the guest's kernel; likewise.
///
/// # Errors
/// Where a test fails.
pub fn nbd_kernel(root: &Path, options: NbdKernel) -> Result<()> {
    let variables = vec![
        ("DEVICE", options.device.into()),
        ("SLOWDOWN", options.slowdown.to_string().into()),
        ("TIMEOUT", options.seconds.to_string().into()),
    ];
    script::run(root, "nbd-kernel", variables, &[])
}
