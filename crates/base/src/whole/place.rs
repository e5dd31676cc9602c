//! Where a file is to be: found, or refused in words that mean something to whoever named the place.

use std::fs::{FileType, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Why no file can be put there.
#[derive(Debug, thiserror::Error)]
enum Unfit {
    #[error(
        "that is a directory, or named as one; what is needed is the name of a file in one that is there"
    )]
    Directory,
    #[error("it is {0}, and no plain file")]
    NotPlain(&'static str),
    #[error("it is a link to '{}', which leads nowhere", .0.display())]
    Dangling(PathBuf),
    #[error("there is no directory '{}'", .0.display())]
    NoDirectory(PathBuf),
}

/// The place, where it is a link that which it leads to, and what is known of the file that is there.
pub(super) fn find(named: &Path) -> io::Result<(PathBuf, Option<Metadata>)> {
    let unfit = |kind, reason| Err(io::Error::new(kind, reason));
    if is_named_as_directory(named) {
        return unfit(ErrorKind::IsADirectory, Unfit::Directory);
    }
    let place = match named.symlink_metadata() {
        Ok(meta) if meta.is_symlink() => match named.canonicalize() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return unfit(error.kind(), Unfit::Dangling(named.read_link()?));
            }
            target => target?,
        },
        Ok(_) => named.to_owned(),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            let dir = directory(named);
            if !dir.is_dir() {
                return unfit(error.kind(), Unfit::NoDirectory(dir.to_owned()));
            }
            return Ok((named.to_owned(), None));
        }
        Err(error) => return Err(error),
    };
    let old = place.metadata()?;
    if old.is_dir() {
        return unfit(ErrorKind::IsADirectory, Unfit::Directory);
    }
    if !old.is_file() {
        return unfit(ErrorKind::Other, Unfit::NotPlain(kind(old.file_type())));
    }
    Ok((place, Some(old)))
}

/// The directory of a file.
pub(super) fn directory(place: &Path) -> &Path {
    place.parent().filter(|dir| *dir != Path::new("")).unwrap_or(Path::new("."))
}

/// Whether only a directory can be called so. `Path` takes `new/` and `new/.` for `new`.
fn is_named_as_directory(named: &Path) -> bool {
    let last = named.as_os_str().as_encoded_bytes().rsplit(|byte| *byte == b'/').next();
    matches!(last, None | Some(b"" | b"." | b".."))
}

fn kind(file: FileType) -> &'static str {
    match file {
        file if file.is_char_device() => "a character device",
        file if file.is_block_device() => "a block device",
        file if file.is_fifo() => "a pipe",
        file if file.is_socket() => "a socket",
        _ => "something else",
    }
}
