//! Runs scripts in `scripts/`, which call other programs. Their options are parsed here and passed as variables.

use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// Variables of a script: names and values.
pub type Variables = Vec<(&'static str, OsString)>;

/// Runs `scripts/NAME` with variables and arguments.
///
/// # Errors
/// Where it cannot be started, or fails after reporting the reason.
pub fn run(root: &Path, name: &str, variables: Variables, arguments: &[OsString]) -> Result<()> {
    start(root, name, variables, arguments, Stdio::inherit()).map(drop)
}

/// Runs `scripts/NAME` with variables, and returns its standard output.
///
/// # Errors
/// Where it cannot be started, or fails after reporting the reason.
pub fn output(root: &Path, name: &str, variables: Variables) -> Result<String> {
    start(root, name, variables, &[], Stdio::piped())
}

/// Runs a script to its end. Returns its standard output, if that is a pipe.
fn start(
    root: &Path,
    name: &str,
    variables: Variables,
    arguments: &[OsString],
    stdout: Stdio,
) -> Result<String> {
    let path = root.join("scripts").join(name);
    // On an interrupt the script cleans up, and this program waits for it.
    let interrupted = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, interrupted)?;
    let output = Command::new(&path)
        .args(arguments)
        .envs(variables)
        .stdin(Stdio::inherit())
        .stdout(stdout)
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", path.display()))?;
    if !output.status.success() {
        bail!("scripts/{name} failed: {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("scripts/{name} printed no text"))
}
