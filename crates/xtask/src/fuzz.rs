//! Deep fuzzing: the targets of `fuzz/` through cargo-fuzz.

use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::{Command, Stdio};

/// Fuzzes one target, or all, for `seconds` each.
pub fn run(root: &Path, target: Option<&str>, seconds: u64) -> Result<()> {
    let known: Vec<&str> = flashlane_fuzzing::TARGETS.iter().map(|target| target.name).collect();
    let targets = match target {
        None => known,
        Some(name) if known.contains(&name) => vec![name],
        Some(name) => bail!("there is no fuzz target '{name}'; there are: {}", known.join(", ")),
    };
    let found = Command::new("cargo")
        .args(["+nightly", "fuzz", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        bail!(
            "deep fuzzing needs 'rustup toolchain install nightly' and 'cargo install cargo-fuzz'; \
             the smoke run needs neither: 'cargo test -p flashlane-fuzzing'"
        );
    }
    for target in targets {
        println!("fuzzing {target} for {seconds} s");
        // The cargo that runs this task is of a fixed toolchain; only the rustup shim knows `+nightly`.
        let status = Command::new("cargo")
            .args(["+nightly", "fuzz", "run", target, "--", &format!("-max_total_time={seconds}")])
            .env_remove("RUSTUP_TOOLCHAIN")
            .env_remove("CARGO")
            .current_dir(root)
            .status()
            .context("cannot run cargo fuzz")?;
        if !status.success() {
            bail!("{target} found something: the input is kept in fuzz/artifacts/{target}");
        }
    }
    Ok(())
}
