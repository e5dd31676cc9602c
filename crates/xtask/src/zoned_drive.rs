//! Tests of zoned drives on one emulated by QEMU: the options of `scripts/zoned-drive`.

use crate::script;
use anyhow::{Result, bail};
use clap::Args;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub struct Options {
    /// A kernel with NVMe and zoned block devices built in; without it Debian's cloud kernel is downloaded
    #[arg(long, value_name = "VMLINUZ")]
    kernel: Option<PathBuf>,
    /// A directory with its null_blk.ko and configfs.ko, not compressed: the tests run on that drive too
    #[arg(long, value_name = "DIR", requires = "kernel")]
    modules: Option<PathBuf>,
    /// Time limit in seconds
    #[arg(long, value_name = "N", default_value_t = 900, value_parser = clap::value_parser!(u32).range(1..=999_999))]
    seconds: u32,
}

/// Runs the tests; prints `skipped` and the reason where a requirement is missing.
///
/// # Errors
/// Where an option is out of range, or a test fails.
pub fn run(root: &Path, options: Options) -> Result<()> {
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
