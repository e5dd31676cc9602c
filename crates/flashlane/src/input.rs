//! Text files that the user names: read to a limit, so that a slip (a device, a dump) is an error and not a machine
//! out of memory.

use std::io::Read;
use std::path::Path;

/// The most that a profile or a job file may have; the largest of ours has 5 KB.
pub const SETTINGS_BYTES: u64 = 1 << 20;
/// The most that a result may have: those of long runs have a few megabytes.
pub const RESULT_BYTES: u64 = 1 << 30;

/// The text of a file of at most `most_bytes`; else why not, without the file's name.
pub fn read_text(path: &Path, most_bytes: u64) -> Result<String, String> {
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut text = String::new();
    file.take(most_bytes + 1).read_to_string(&mut text).map_err(|error| error.to_string())?;
    if text.len() as u64 > most_bytes {
        return Err(format!("it is larger than {}", flashlane_base::units::format_bytes(most_bytes)));
    }
    Ok(text)
}
