//! Errors on opening a device: the exit status, and what to do.

use crate::failure::Failure;
use anyhow::anyhow;
use flashlane_base::suggest::nearest;
use flashlane_base::units::exact_bytes;
use flashlane_host::CreateError;
use flashlane_layer::LayerError;
use flashlane_open::{OpenError, is_profile_file};
use flashlane_sim::profile::{self, PROFILES, field_names};
use flashlane_sim::{ConfigError, MakeError};
use std::path::Path;

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Profile { profile, error } => no_such_profile(&profile, *error),
            OpenError::Real { path, error } => not_opened(&path, error),
            OpenError::Create(ref error @ CreateError::Exists { ref path }) => {
                let long = path.metadata().map_or_else(|_| String::new(), |data| length_of(&data));
                Self::unusable(anyhow!(
                    "{error}{long}; omit --create to use it as it is, or remove it, and --create makes it anew"
                ))
            }
            OpenError::CreateSimulated { spec } => {
                Self::unusable(anyhow!("--create requires the path of a new file, and '{spec}' has none"))
            }
            OpenError::Make(error @ MakeError::Stopped) => {
                Self::failed(anyhow!("{error}; nothing was measured"))
            }
            OpenError::Layer(error @ LayerError::NoSuchOption { .. }) => {
                let hint = below_the_layer(&error);
                Self::unusable(anyhow!("{error}{hint}"))
            }
            OpenError::Layer(LayerError::Lanes(ref cause)) if cause.is_unreadable() => Self::failed(error),
            OpenError::Create(CreateError::Os { ref path, ref source, .. }) => {
                match forbidden(path, source) {
                    Some(cause) => Self::unusable(anyhow!("{error}{cause}")),
                    None => Self::failed(error),
                }
            }
            OpenError::Create(CreateError::Stopped { .. }) | OpenError::Random(_) => Self::failed(error),
            _ => Self::unusable(error),
        }
    }
}

/// Says in a clause how long a file is: what an earlier creation left when it was killed is shorter than it was to be.
pub fn length_of(data: &std::fs::Metadata) -> String {
    if data.is_file() { format!(": it is {} long", exact_bytes(data.len())) } else { String::new() }
}

/// Returns a hint for a setting of a simulated drive that was given to the layer above it.
fn below_the_layer(error: &LayerError) -> String {
    let LayerError::NoSuchOption { layer, given, .. } = error else { return String::new() };
    let is_field = |name: &String| name == given || name.rsplit('.').next() == Some(given);
    if !PROFILES.iter().flat_map(|profile| field_names(profile.text)).any(|name| is_field(&name)) {
        return String::new();
    }
    format!("; '{given}' is a setting of the drive below it: write '{layer}((sim:NAME,{given}=…))'")
}

fn no_such_profile(name: &str, error: ConfigError) -> Failure {
    if is_profile_file(name) || profile::names().contains(&name) {
        return Failure::unusable(error);
    }
    let file = format!("{name}.toml");
    let hint =
        if Path::new(&file).exists() { format!("; did you mean the file '{file}'?") } else { String::new() };
    Failure::unusable(anyhow!("{error}{hint}"))
}

fn not_opened(path: &Path, error: flashlane_host::OpenError) -> Failure {
    use flashlane_host::OpenError;
    match error {
        OpenError::NotFound { .. } => Failure::unusable(anyhow!("{error}{}", suggest_for(path))),
        OpenError::NoDirectIo { .. } => {
            Failure::unusable(anyhow!("{error}; --allow-page-cache measures through the page cache"))
        }
        OpenError::Os { ref source, .. } => match forbidden(path, source) {
            Some(cause) => Failure::unusable(anyhow!("{error}{cause}")),
            None => Failure::failed(error),
        },
        OpenError::Replaced { .. } => Failure::failed(error),
        _ => Failure::unusable(error),
    }
}

/// Explains an error of the operating system that would recur on every attempt to open the device or create the file.
fn forbidden(path: &Path, source: &std::io::Error) -> Option<&'static str> {
    const EPERM: i32 = 1;
    const EAGAIN: i32 = 11;
    const EACCES: i32 = 13;
    const EROFS: i32 = 30;
    Some(match source.raw_os_error()? {
        // The file's own permissions would be EACCES.
        EPERM if path.is_file() => {
            "; the file's permissions allow it, but it may be immutable or append-only (lsattr shows 'i' or 'a', \
             'chattr -i' or '-a' takes that away), or a security module forbids it to this process"
        }
        EPERM => {
            "; the file's permissions allow it, but a control group or container that limits devices, or a security \
             module, forbids it to this process: run it outside, or have the device added there"
        }
        // The open does not block, and was tried for a second.
        EAGAIN => "; another program has a lease on it, and does not give it back (lslocks shows LEASE)",
        EACCES => {
            "; the file's permissions do not allow it: run as its owner, a member of its group, or root"
        }
        EROFS => {
            "; its file system is mounted read-only, or the device is write-protected: only read from it"
        }
        _ => return None,
    })
}

/// Returns a suggestion for a path that does not exist, and that the command cannot create.
pub fn suggest_existing(path: &Path) -> String {
    match path.to_string_lossy().contains('/') {
        true => String::new(),
        false => suggest_for(path),
    }
}

/// Returns a suggestion for a path that does not exist.
pub fn suggest_for(path: &Path) -> String {
    let given = path.to_string_lossy();
    if given.starts_with("/dev/") {
        return String::new();
    }
    if given.contains('/') {
        return "; --create SIZE creates it as a new file".into();
    }
    // `ssd-s,channels=4` is a simulated drive without `sim:`.
    let (name, settings) =
        given.split_once(',').map_or((&*given, ""), |(name, _)| (name, &given[name.len()..]));
    match nearest(name, profile::names()) {
        Some(near) => format!("; did you mean the simulated drive 'sim:{near}{settings}'?"),
        None => "; simulated drives are written 'sim:NAME', and 'flashlane profile list' lists them".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Status;
    use std::io;

    #[test]
    fn device_that_may_not_be_opened_is_unusable() {
        let file = tempfile::NamedTempFile::new().expect("a file can be created");
        for (path, errno, status, part) in [
            (file.path(), libc::EPERM, Status::Unusable, "chattr -i"),
            (Path::new("/dev/null"), libc::EPERM, Status::Unusable, "control group"),
            (file.path(), libc::EACCES, Status::Unusable, "run as its owner"),
            (file.path(), libc::EROFS, Status::Unusable, "mounted read-only"),
            (file.path(), libc::EAGAIN, Status::Unusable, "lslocks"),
            (file.path(), libc::EIO, Status::Failed, "os error 5"),
        ] {
            let source = io::Error::from_raw_os_error(errno);
            let error = flashlane_host::OpenError::Os { path: path.into(), action: "open", source };
            let failure = not_opened(path, error);
            let reason = failure.reason();
            assert!(failure.status == status && reason.contains(part), "{errno}: {reason}");
        }
    }
}
