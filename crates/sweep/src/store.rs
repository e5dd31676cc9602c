//! A store of measured points, so that a sweep can resume.
//!
//! One file per point: its result, with its definition and a checksum. A file is reused where the definition is
//! identical, so the definition MUST include everything that may change the result. Files are written atomically, and
//! the checksum detects later changes. No file is ever replaced: one that is not reused may be the user's.

use flashlane_files::AtomicFile;
use serde_json::Value;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A directory of points.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

/// The stored result of a point.
#[derive(Clone, Debug, PartialEq)]
pub enum Loaded {
    /// Nothing.
    Nothing,
    /// Its result.
    Result(Value),
    /// An unusable file of its name.
    Damaged {
        /// The file.
        file: PathBuf,
        /// The reason.
        reason: String,
    },
}

/// Key of a point's definition in its file.
const DEFINITION: &str = "definition";
/// Key of the result's fingerprint.
const CHECKSUM: &str = "checksum";
/// Maximum length of a point's name in a file name.
const READABLE: usize = 100;

impl Store {
    /// Opens the store in `dir`, and creates the directory where it is missing.
    ///
    /// # Errors
    /// The operating system's error, where the directory cannot be created; also where its name is a symbolic link.
    pub fn open(dir: &Path) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        if dir.is_symlink() {
            return Err(io::Error::new(
                io::ErrorKind::NotADirectory,
                "it is a symbolic link, which is not followed",
            ));
        }
        Ok(Self { dir: dir.to_owned() })
    }

    /// Returns the file of the point of this name and definition.
    pub fn file(&self, name: &str, definition: &str) -> PathBuf {
        let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.,=+%".contains(c) { c } else { '-' };
        let readable: String = name.trim_start_matches('.').chars().map(safe).take(READABLE).collect();
        self.dir.join(format!("{readable}-{:016x}.json", fingerprint(definition.as_bytes())))
    }

    /// Loads the result of a point.
    pub fn load(&self, name: &str, definition: &str) -> Loaded {
        let file = self.file(name, definition);
        let read = match fs::symlink_metadata(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Loaded::Nothing,
            Err(error) => Err(error.to_string()),
            // A device or a pipe may have no end.
            Ok(meta) if !meta.is_file() => Err("it is not a regular file".into()),
            Ok(_) => fs::read(&file).map_err(|error| error.to_string()).and_then(|bytes| opened(&bytes)),
        };
        match read {
            Ok((found, result)) if found == definition => Loaded::Result(result),
            // Another point with the same fingerprint.
            Ok(_) => Loaded::Nothing,
            Err(reason) => Loaded::Damaged { file, reason },
        }
    }

    /// Stores the result of a point, a JSON object. A file that has its name already is kept.
    ///
    /// # Errors
    /// The operating system's error, [`io::ErrorKind::AlreadyExists`] where there is such a file.
    pub fn save(&self, name: &str, definition: &str, result: &Value) -> io::Result<()> {
        let file = self.file(name, definition);
        let mut kept = result.clone();
        kept[DEFINITION] = definition.into();
        kept[CHECKSUM] = checksum(result).into();
        let taken = || {
            let reason = format!("'{}' exists, and is not replaced", file.display());
            Err(io::Error::new(io::ErrorKind::AlreadyExists, reason))
        };
        if file.symlink_metadata().is_ok() {
            return taken();
        }
        let mut temporary = AtomicFile::create(&file)?;
        // One write, since the file is not buffered.
        temporary.write_all(format!("{kept:#}\n").as_bytes())?;
        match temporary.commit_new() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken(),
            result => result,
        }
    }
}

/// Reads a file's definition and result.
fn opened(bytes: &[u8]) -> Result<(String, Value), String> {
    let mut result: Value =
        serde_json::from_slice(bytes).map_err(|error| format!("it is no JSON: {error}"))?;
    let fields = result.as_object_mut().ok_or("it is no object")?;
    let mut text = |name: &str| match fields.shift_remove(name) {
        Some(Value::String(text)) => Ok(text),
        _ => Err(format!("its '{name}' is missing")),
    };
    let (definition, expected) = (text(DEFINITION)?, text(CHECKSUM)?);
    if checksum(&result) != expected {
        return Err("its contents do not agree with its checksum".into());
    }
    Ok((definition, result))
}

fn checksum(result: &Value) -> String {
    format!("{:016x}", fingerprint(result.to_string().as_bytes()))
}

/// Hashes bytes, with the same value on every machine (FNV-1a, Fowler, Noll and Vo). It detects accidental changes, not
/// intentional ones.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    folded(0xcbf2_9ce4_8422_2325, bytes)
}

/// Returns the [`fingerprint`] of a file's content.
///
/// # Errors
/// The operating system's error, where the file cannot be read.
pub fn fingerprint_of(file: &Path) -> io::Result<u64> {
    let mut file = fs::File::open(file)?;
    let (mut hash, mut buffer) = (fingerprint(&[]), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hash),
            Ok(length) => hash = folded(hash, &buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn folded(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
