//! Scripts in `scripts/`: what they do by calling other programs stays shell; their options are read here, and handed
//! over as variables.

use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// A script's variables: names and values.
pub type Variables = Vec<(&'static str, OsString)>;

/// Runs `scripts/NAME`.
///
/// # Errors
/// Where it cannot be started, or fails: it has said why.
pub fn run(root: &Path, name: &str, variables: Variables) -> Result<()> {
    let path = root.join("scripts").join(name);
    // It puts away what it made when it is interrupted, and this waits for that.
    let interrupted = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, interrupted)?;
    let status = Command::new(&path)
        .envs(variables)
        .status()
        .with_context(|| format!("cannot run {}", path.display()))?;
    if !status.success() {
        bail!("scripts/{name} failed: {status}");
    }
    Ok(())
}
