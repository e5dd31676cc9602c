//! Deep fuzzing: runs the targets of `fuzz/` with cargo-fuzz.

use anyhow::{Context, Result, bail};
use flashlane_fuzzing::{TARGETS, Target};
use std::path::Path;
use std::process::{Command, Stdio};

/// Fuzzes one target, or all, for `seconds` each.
pub fn run(root: &Path, target: Option<&str>, seconds: u64) -> Result<()> {
    let targets: Vec<_> = TARGETS.iter().filter(|t| target.is_none_or(|name| t.name == name)).collect();
    if targets.is_empty() {
        let known: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        bail!("there is no fuzz target '{}'; there are: {}", target.unwrap_or_default(), known.join(", "));
    }
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
    for Target { name: target, seeds, .. } in targets {
        let corpus = root.join("fuzz/corpus").join(target);
        std::fs::create_dir_all(&corpus).with_context(|| format!("cannot make {}", corpus.display()))?;
        for (nth, seed) in seeds.iter().enumerate() {
            std::fs::write(corpus.join(format!("seed-{nth}")), seed).context("cannot write a seed")?;
        }
        println!("fuzzing {target} for {seconds} s");
        // The cargo that runs this task has a fixed toolchain; only the rustup shim accepts `+nightly`.
        let time = format!("-max_total_time={seconds}");
        // Without length control: seeds are whole files and should stay whole.
        let status = Command::new("cargo")
            .args(["+nightly", "fuzz", "run", target, "--", &time, "-len_control=0"])
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
