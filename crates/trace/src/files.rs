//! The files of a trace: mostly one; blktrace writes one a processor.

use std::path::{Path, PathBuf};

/// The files that `path` stands for: itself where it is there, else `PATH.blktrace.0` and all after it, plain or
/// compressed; itself where there are none either, so that opening it says so.
pub fn files(path: &Path) -> Vec<PathBuf> {
    if path.exists() {
        return vec![path.to_owned()];
    }
    let part = |number: u32| {
        ["", ".gz", ".xz", ".zst"].iter().find_map(|ending| {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".blktrace.{number}{ending}"));
            Some(PathBuf::from(name)).filter(|part| part.exists())
        })
    };
    let parts: Vec<PathBuf> = (0..).map_while(part).collect();
    if parts.is_empty() { vec![path.to_owned()] } else { parts }
}
