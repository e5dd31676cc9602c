//! Text files that the user names, read up to a limit: a mistaken path (a device, a dump) is an error and does not
//! exhaust memory.

use std::io::{ErrorKind, Read};
use std::path::Path;

/// Size limit of a profile or job file; the largest built-in profile has 5 KB.
pub const SETTINGS_BYTES: u64 = 1 << 20;
/// Size limit of a result; results of long runs have a few megabytes.
pub const RESULT_BYTES: u64 = 1 << 30;

/// Reads a file of at most `most_bytes`. Errors do not name the file.
pub fn read_text(path: &Path, most_bytes: u64) -> Result<String, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    file.take(most_bytes + 1).read_to_string(&mut text).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => "it is no text (UTF-8)".to_owned(),
        _ => error.to_string(),
    })?;
    if text.len() as u64 > most_bytes {
        return Err(format!("it is larger than {}", flashlane_base::units::format_bytes(most_bytes)));
    }
    Ok(text)
}
