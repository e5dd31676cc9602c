//! The Rust files of a folder.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the Rust files of a folder and of all folders in it, in the order of their paths.
///
/// # Errors
/// Names the folder that cannot be listed.
pub fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let (mut files, mut left) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the text of a file.
///
/// # Errors
/// Names the file that cannot be read.
pub fn text_of(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
