//! Commands to copy.

pub use flashlane_base::shell::quoted;
use flashlane_open::{Consent, Target, has_signatures, log_beside};

/// Returns the options, each after a space, that a command with this consent needs to overwrite data on `target` as it
/// is now. In use it is refused with any: that has to end first.
pub fn to_destroy(target: &Target, consent: &Consent) -> String {
    let path = target.path().filter(|_| has_signatures(target, consent));
    let really = path.map(|path| format!(" --really {}", quoted(&path.to_string_lossy())));
    format!(" --destroy-data{}", really.unwrap_or_default())
}

/// Returns how the store on a device is named on the command line.
pub fn store_named(target: &Target) -> String {
    let log = if log_beside(target).is_ok() { "" } else { " --log LOG" };
    format!("{}{log}", quoted(&target.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn quoted_argument_reaches_a_program_unchanged() {
        for argument in ["sim:ssd-s,channels=4", "lanes(./a)", "it's", "\"$HOME\" `it's`", "a\\b!", "", "*"] {
            let echo = format!("printf %s {}", quoted(argument));
            let output = Command::new("sh").args(["-c", &echo]).output().expect("there is a shell");
            assert_eq!(String::from_utf8_lossy(&output.stdout), argument, "{echo}");
        }
        assert_eq!(quoted("sim:ssd-s,channels=4"), "sim:ssd-s,channels=4");
    }
}
