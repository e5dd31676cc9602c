//! The files of a trace: usually one; blktrace writes one per processor.

use crate::compression::Compression;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Returns the files of the trace at `path`: the path itself where it exists, else every `PATH.blktrace.N`, plain or
/// compressed, in the order of N (processors that were off have none). Returns the path itself where there are none
/// either, so that opening it reports the error.
pub fn files(path: &Path) -> Vec<PathBuf> {
    if path.exists() {
        return vec![path.to_owned()];
    }
    let parts = parts(path).unwrap_or_default();
    if parts.is_empty() { vec![path.to_owned()] } else { parts }
}

fn parts(path: &Path) -> Option<Vec<PathBuf>> {
    let mut begin = path.file_name()?.to_owned();
    begin.push(".blktrace.");
    let dir = path.parent().filter(|dir| *dir != OsStr::new("")).unwrap_or(Path::new("."));
    let mut parts: BTreeMap<(u32, usize, OsString), PathBuf> = BTreeMap::new();
    for entry in dir.read_dir().ok()?.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.as_encoded_bytes().strip_prefix(begin.as_encoded_bytes()) else { continue };
        if let Some((number, place)) = std::str::from_utf8(rest).ok().and_then(number) {
            let path = path.with_file_name(&name);
            // The name orders endings of one compression, since directories have no order.
            parts.insert((number, place, name), path);
        }
    }
    // A file with a compressed copy is read once.
    let mut earlier = None;
    parts.retain(|(number, ..), _| earlier.replace(*number) != Some(*number));
    Some(parts.into_values().collect())
}

/// Returns the processor's number in blktrace's notation, and the rank of the compression.
fn number(rest: &str) -> Option<(u32, usize)> {
    let (digits, ending) = rest.split_once('.').unwrap_or((rest, ""));
    let number: u32 = digits.parse().ok().filter(|number: &u32| number.to_string() == digits)?;
    if digits.len() == rest.len() {
        return Some((number, 0));
    }
    Compression::of_ending(ending).map(|compression| (number, 1 + compression as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_files_of_a_name_are_found_in_order() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "sda.blktrace.10",
            "sda.blktrace.0",
            "sda.blktrace.3.xz",
            "sda.blktrace.3.gz",
            "sda.blktrace.4.ZSTD",
            "sda.blktrace.1.zst",
            "sda.blktrace.1",
            "sda.blktrace.02",
            "sda.blktrace.",
            "sda.blktrace.5.",
            "sda.blktrace.6.bz2",
            "sda.blktrace.+7",
            "sdb.blktrace.4",
            "asda.blktrace.8",
            "sda.blktrace.x",
        ] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let found = |name: &str| {
            let names = files(&dir.path().join(name)).into_iter();
            names.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let numbered = [
            "sda.blktrace.0",
            "sda.blktrace.1",
            "sda.blktrace.3.gz",
            "sda.blktrace.4.ZSTD",
            "sda.blktrace.10",
        ];
        assert_eq!(found("sda"), numbered);
        // An existing path, and a path without any files, are returned unchanged.
        assert_eq!(found("sda.blktrace.0"), ["sda.blktrace.0"]);
        assert_eq!(found("sdc"), ["sdc"]);
    }

    #[test]
    fn choice_of_a_copy_does_not_depend_on_creation_order() {
        for [first, second] in
            [["a.blktrace.0.zst", "a.blktrace.0.zstd"], ["a.blktrace.0.GZ", "a.blktrace.0.gz"]]
        {
            for made in [[first, second], [second, first]] {
                let dir = tempfile::tempdir().unwrap();
                made.iter().for_each(|name| std::fs::write(dir.path().join(name), "").unwrap());
                assert_eq!(files(&dir.path().join("a")), [dir.path().join(first)]);
            }
        }
    }
}
