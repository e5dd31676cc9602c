//! Checks and preparations before a measurement: consent to overwrite the device, the directory of `--out`, the file of
//! `--create`.

use crate::failure::Failure;
use crate::options::{OutputOptions, SafetyOptions};
use crate::output;
use crate::progress::Meter;
use crate::refusal::suggest_for;
use anyhow::anyhow;
use flashlane_base::units::format_bytes;
use flashlane_layer::Format;
use flashlane_open::{AccessMode, Change, Consent, Real, Target};

/// Runs the checks and preparations of a command that need no open device, ordered so that a refusal leaves no files
/// behind. `writes` names the operation that would write, if it requires consent, and an alternative.
pub fn preflight(
    target: &Target,
    safety: &SafetyOptions,
    out: &OutputOptions,
    writes: Option<(String, &str)>,
) -> Result<(), Failure> {
    let formats = || {
        let asked = target.state_settings().format == Some(Format::Always);
        asked.then(|| ("'format=yes'".to_owned(), "leave the setting out"))
    };
    if let Some((what, alternative)) = writes.or_else(formats) {
        require_consent(target, &safety.consent(), &what, alternative)?;
    }
    output::prepare_for_device(out, target)?;
    create(target, safety)
}

/// Returns the access of a command that writes to its device if it has consent, and only reads it otherwise.
pub fn access_allowed(target: &Target, consent: &Consent) -> AccessMode {
    AccessMode::for_writes(target.is_simulated() || consent.allows(Change::Overwrite))
}

/// Refuses to overwrite a real device without consent, before anything is opened. `what` names the operation that would
/// write; `alternative` may be empty.
pub fn require_consent(
    target: &Target,
    consent: &Consent,
    what: &str,
    alternative: &str,
) -> Result<(), Failure> {
    let Some(real) = target.real().filter(|_| !consent.allows(Change::Overwrite)) else {
        return Ok(());
    };
    let path = real.path();
    if !path.exists() {
        let error = anyhow!("'{}' does not exist{}", path.display(), suggest_for(path));
        return Err(Failure::unusable(error.context(format!("{what} cannot begin"))));
    }
    let everywhere = target.overwrites_free_places().map(|layer| {
        format!(
            ", and '{layer}' takes all of it from then on: it writes copies without checking for other data"
        )
    });
    Err(Failure::unusable(anyhow!(
        "--destroy-data is required: {what} would overwrite data on '{}'{}{}; nothing was touched{}",
        path.display(),
        described(real),
        everywhere.unwrap_or_default(),
        if alternative.is_empty() { String::new() } else { format!(". To keep that data, {alternative}") }
    )))
}

/// Describes a real device in parentheses: kind, size, model, file system.
fn described(real: &Real) -> String {
    let identity = real.identity().clone();
    let file_bytes = real.path().metadata().ok().filter(|meta| meta.is_file()).map(|meta| meta.len());
    let words = [
        identity.kind.clone(),
        file_bytes.or(identity.drive_size_bytes.filter(|_| file_bytes.is_none())).map(format_bytes),
        identity.model.clone(),
        identity.file_system.map(|name| format!("on {name}")),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

/// Creates the file of `--create`, if given.
pub fn create(target: &Target, safety: &SafetyOptions) -> Result<(), Failure> {
    let Some(length_bytes) = safety.create else { return Ok(()) };
    let meter = Meter::new(format!("creating the file of '{target}'"));
    Ok(flashlane_open::create(target, length_bytes, |done_bytes| {
        meter.set(Some(done_bytes as f64 / length_bytes as f64));
        !flashlane_host::interrupted()
    })?)
}
