//! Points that were measured, kept so that a sweep can be taken up again.
//!
//! One file a point: the point's own result, with what defines it (`definition`) and a checksum beside it. A file is
//! used again where its definition is the same to the letter, so whatever else may change the result has to stand in
//! the definition. A file is there whole or not at all, and one that is damaged all the same is told from a good one by
//! its checksum.

use flashlane_files::WholeFile;
use serde_json::Value;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A directory of points.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

/// What a store has of a point.
#[derive(Clone, Debug, PartialEq)]
pub enum Loaded {
    /// Nothing.
    Nothing,
    /// Its result.
    Result(Value),
    /// A file of its name that cannot be used.
    Damaged {
        /// The file.
        file: PathBuf,
        /// Why not.
        reason: String,
    },
}

/// Beside a point's result: what defines the point …
const DEFINITION: &str = "definition";
/// … and the fingerprint of the result.
const CHECKSUM: &str = "checksum";
/// Of a point's name, so much is readable.
const READABLE: usize = 100;

impl Store {
    /// The store in `dir`, which is made where it is missing.
    ///
    /// # Errors
    /// As the operating system says, where the directory cannot be made; also where a symbolic link has its name.
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

    /// Where the point of this name and definition is kept.
    pub fn file(&self, name: &str, definition: &str) -> PathBuf {
        let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.,=+%".contains(c) { c } else { '-' };
        let readable: String = name.trim_start_matches('.').chars().map(safe).take(READABLE).collect();
        self.dir.join(format!("{readable}-{:016x}.json", fingerprint(definition.as_bytes())))
    }

    /// The result of the point, where it is kept.
    pub fn load(&self, name: &str, definition: &str) -> Loaded {
        let file = self.file(name, definition);
        let read = match fs::symlink_metadata(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Loaded::Nothing,
            Err(error) => Err(error.to_string()),
            // Of a device or a pipe there may be no end.
            Ok(meta) if !meta.is_file() => Err("it is not a regular file".into()),
            Ok(_) => fs::read(&file).map_err(|error| error.to_string()).and_then(|bytes| opened(&bytes)),
        };
        match read {
            Ok((found, result)) if found == definition => Loaded::Result(result),
            // Another point whose fingerprint is the same.
            Ok(_) => Loaded::Nothing,
            Err(reason) => Loaded::Damaged { file, reason },
        }
    }

    /// Keeps the result of a point, in place of what was kept of it. Results are JSON objects.
    ///
    /// # Errors
    /// As the operating system says; what was kept before is kept then.
    pub fn keep(&self, name: &str, definition: &str, result: &Value) -> io::Result<()> {
        let file = self.file(name, definition);
        let mut kept = result.clone();
        kept[DEFINITION] = definition.into();
        kept[CHECKSUM] = checksum(result).into();
        if file.is_symlink() {
            return Err(io::Error::other(format!(
                "'{}' is a symbolic link, which is not followed",
                file.display()
            )));
        }
        let mut whole = WholeFile::begin(&file)?;
        // As one piece: the file is not buffered.
        whole.write_all(format!("{kept:#}\n").as_bytes())?;
        whole.replace()
    }
}

/// A file's definition and result.
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

/// A number that tells texts apart, the same on every machine (FNV-1a, Fowler, Noll and Vo). It protects from accidents,
/// not from intent.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    folded(0xcbf2_9ce4_8422_2325, bytes)
}

/// The [`fingerprint`] of what a file holds.
///
/// # Errors
/// As the operating system says, where the file cannot be read.
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
