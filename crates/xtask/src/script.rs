//! Runs scripts in `scripts/`, which call other programs. Their options are parsed here and passed as variables.

use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Variables of a script: names and values.
pub type Variables = Vec<(&'static str, OsString)>;

/// Runs `scripts/NAME` with variables and arguments.
///
/// # Errors
/// Where it cannot be started, or fails after reporting the reason.
pub fn run(root: &Path, name: &str, variables: Variables, arguments: &[OsString]) -> Result<()> {
    let path = root.join("scripts").join(name);
    // On an interrupt the script cleans up, and this program waits for it.
    let interrupted = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, interrupted)?;
    let status = Command::new(&path)
        .args(arguments)
        .envs(variables)
        .status()
        .with_context(|| format!("cannot run {}", path.display()))?;
    if !status.success() {
        bail!("scripts/{name} failed: {status}");
    }
    Ok(())
}
