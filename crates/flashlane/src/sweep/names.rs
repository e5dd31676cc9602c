//! Short names of swept keys.
//!
//! A key without a dot is short for a key of the command (`zipf` is `workload.zipf`) or a field of the drive's profile
//! (`channels` is `flash.channels`). A name of both (`depth` of the workload and of the link) is the command's own key,
//! whose full name the result shows.

use super::{Experiment, SEED};
use crate::failure::Failure;
use anyhow::anyhow;
use flashlane_base::suggest::nearest;
use flashlane_device::spec::Spec;
use flashlane_open::profile_fields;
use flashlane_sim::profile::{PROFILES, field_names};
use flashlane_workload::fio_word;

/// Replaces a short key in `text` by its full name.
pub(super) fn expand_key(text: &str, experiment: &impl Experiment, device: &Spec) -> Result<String, Failure> {
    let Some((name, values)) = text.split_once('=') else { return Ok(text.into()) };
    let name = name.trim();
    if name.contains('.') || name == SEED || name.is_empty() {
        return Ok(text.into());
    }
    let prefix = experiment.key_prefix();
    let (own, fields) = (experiment.keys(), fields(device, name)?);
    let full = format!("{prefix}.{name}");
    let refused = |reason: String| Err(Failure::unusable(anyhow!("cannot sweep '{text}': {reason}")));
    match (own.contains(&name), &fields[..]) {
        (true, _) => Ok(format!("{full}={values}")),
        (false, []) => {
            if let Some(hint) = fio_hint(name, prefix).filter(|_| prefix == "workload") {
                return refused(hint);
            }
            match nearest(name, own) {
                Some(near) if !is_any_field(name) => refused(format!("did you mean '{prefix}.{near}'?")),
                _ => Ok(text.into()),
            }
        }
        (false, _) => Ok(text.into()),
    }
}

/// Returns the profile fields called `name` of the drive in `device`; none for a real device.
fn fields(device: &Spec, name: &str) -> Result<Vec<String>, Failure> {
    Ok(profile_fields(device)?.into_iter().filter(|field| short(field) == name).collect())
}

fn short(field: &str) -> &str {
    field.rsplit('.').next().unwrap_or(field)
}

fn is_any_field(name: &str) -> bool {
    PROFILES.iter().flat_map(|source| field_names(source.text)).any(|field| short(&field) == name)
}

/// Returns a hint for an option of fio.
fn fio_hint(name: &str, prefix: &str) -> Option<String> {
    if matches!(name, "rw" | "readwrite") {
        return Some(format!(
            "fio's '{name}' is the pattern here: '{prefix}.pattern=random-read,random-write'"
        ));
    }
    fio_word(name, "").map(|answer| format!("{answer}, with the prefix '{prefix}.' in a sweep"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_finds_short_names_below_layers() {
        let of = |spec: &str, name: &str| fields(&spec.parse().unwrap(), name).unwrap();
        assert_eq!(of("sim:ssd-s", "channels"), ["flash.channels"]);
        assert_eq!(of("backed((sim:ssd-s,channels=4))", "depth"), ["link.depth"]);
        assert!(of("./file", "depth").is_empty() && of("sim:ssd-s", "zipf").is_empty());
    }
}
