//! Mounted file systems, as `/proc/PID/mountinfo` lists them.

use super::lookup::number;
use super::machine::Number;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A line of `/proc/PID/mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    pub number: Number,
    /// The mounted directory of the file system.
    pub root: PathBuf,
    pub at: PathBuf,
    pub file_system: String,
    pub source: PathBuf,
    /// Options of the file system, comma-separated, as the kernel writes them.
    pub options: String,
    /// A process or thread in whose mount namespace it is, as a folder of `/proc`; `None` for this process's own.
    pub process: Option<String>,
}

/// A layer of an overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layer {
    /// Its directory, as it was named to the kernel.
    pub path: PathBuf,
    /// Whether only data are taken from it, of files that have their names in other layers.
    pub is_data_only: bool,
}

impl Mount {
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split(' ');
        let number = number(fields.nth(2)?)?;
        let (root, at) = (unescape(fields.next()?), unescape(fields.next()?));
        // Optional fields end with a lone dash.
        let mut rest = fields.skip_while(|field| *field != "-").skip(1);
        let file_system = rest.next()?.to_owned();
        let source = unescape(rest.next()?);
        let options = rest.next().unwrap_or_default().to_owned();
        Some(Self { number, root, at, file_system, source, options, process: None })
    }

    /// Returns where this process finds a path of the mount's namespace; `None` for a relative path, since the
    /// directory at which it begins is not known.
    pub(super) fn here(&self, path: &Path, proc: &Path) -> Option<PathBuf> {
        let inside = path.strip_prefix("/").ok()?;
        Some(match &self.process {
            Some(process) => proc.join(process).join("root").join(inside),
            None => path.to_owned(),
        })
    }

    /// Returns the mount point, for messages.
    pub(super) fn shown_at(&self) -> PathBuf {
        let at = self.at.display();
        match &self.process {
            Some(visit) if visit.starts_with("self/") => {
                format!("{at} (in a mount namespace that no process is in)").into()
            }
            Some(process) => format!("{at} (as process {process} sees it)").into(),
            None => self.at.clone(),
        }
    }

    /// Returns the directories of an overlay, as they were named to the kernel.
    pub(super) fn layers(&self) -> Vec<Layer> {
        let mut layers = Vec::new();
        for (key, value) in self.options.split(',').filter_map(|option| option.split_once('=')) {
            let value = unescape(value);
            match key {
                "lowerdir" => layers.extend(lower_layers(value.as_os_str().as_bytes())),
                "lowerdir+" | "upperdir" => layers.push(Layer { path: value, is_data_only: false }),
                "datadir+" => layers.push(Layer { path: value, is_data_only: true }),
                _ => {}
            }
        }
        layers
    }
}

/// Parses a list of lower layers: colons separate them, two colons in a row come before each with data only, and a
/// backslash takes the next character as it is.
fn lower_layers(list: &[u8]) -> Vec<Layer> {
    let (mut layers, mut name, mut is_data_only) = (Vec::new(), Vec::new(), false);
    let mut end = |name: &mut Vec<u8>, is_data_only| {
        let path = PathBuf::from(std::ffi::OsString::from_vec(std::mem::take(name)));
        let is_named = !path.as_os_str().is_empty();
        layers.extend(is_named.then_some(Layer { path, is_data_only }));
        is_named
    };
    let mut bytes = list.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\\' => name.extend(bytes.next()),
            b':' => is_data_only |= !end(&mut name, is_data_only),
            _ => name.push(byte),
        }
    }
    end(&mut name, is_data_only);
    layers
}

/// Returns the mounts of this process.
pub(crate) fn mounts(proc: &Path) -> Vec<Mount> {
    let text = read_escaped(&proc.join("self/mountinfo")).unwrap_or_default();
    text.lines().filter_map(Mount::parse).collect()
}

/// Reads a list of `/proc`, with bytes beyond ASCII written as `\\377` and the like, for [`unescape`]: the kernel
/// leaves them as they are, and one path that is no UTF-8 must not hide all others.
pub(crate) fn read_escaped(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    for byte in fs::read(path)? {
        match byte.is_ascii() {
            true => text.push(char::from(byte)),
            false => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    Ok(text)
}

/// Decodes a path: the kernel writes blanks and backslashes as `\040` and the like.
pub(crate) fn unescape(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let code = (bytes[at] == b'\\')
            .then(|| text.get(at + 1..at + 4))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        out.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 4 } else { 1 };
    }
    std::ffi::OsString::from_vec(out).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_lines_are_skipped() {
        for line in ["", "1 2 3", "22 1 259:1 / /", "22 1 x:y / / rw - ext4 /dev/a rw"] {
            assert_eq!(Mount::parse(line), None, "{line}");
        }
        assert_eq!(unescape("a\\0b\\"), PathBuf::from("a\\0b\\"));
    }

    #[test]
    fn path_that_is_no_utf8_hides_no_mount() {
        let proc = tempfile::tempdir().unwrap();
        fs::create_dir(proc.path().join("self")).unwrap();
        let list =
            b"22 1 0:5 / /a\xff\\040b rw - tmpfs none rw\n23 1 7:0 / /caf\xc3\xa9 rw - ext4 /dev/loop0 rw\n";
        fs::write(proc.path().join("self/mountinfo"), list).unwrap();
        let found = mounts(proc.path());
        let at: Vec<_> = found.iter().map(|mount| mount.at.as_os_str().as_bytes()).collect();
        assert_eq!(at, [&b"/a\xff b"[..], "/caf\u{e9}".as_bytes()]);
    }

    #[test]
    fn overlay_layers_are_parsed() {
        let line =
            "50 22 0:60 / /merged rw - overlay none rw,lowerdir=/a\\040b:/c:l/rel,upperdir=/up,workdir=/w";
        let layers = |line: &str| -> Vec<_> {
            let layers = Mount::parse(line).unwrap().layers().into_iter();
            layers.map(|layer| (layer.path.display().to_string(), layer.is_data_only)).collect()
        };
        let [named, data] =
            [false, true].map(|is_data_only| move |name: &str| (name.to_owned(), is_data_only));
        assert_eq!(layers(line), ["/a b", "/c", "l/rel", "/up"].map(named));
        // As Linux 6.18 lists `a:b`, `c,d` and `e\f`.
        let line = r"50 22 0:60 / /m rw - overlay none rw,lowerdir=/a\134:b:/c\134\054d:/e\134\134f::/g::h,upperdir=/u:p";
        let expected =
            [["/a:b", "/c,d", r"/e\f"].map(named).to_vec(), ["/g", "h"].map(data).to_vec()].concat();
        assert_eq!(layers(line), [expected, vec![named("/u:p")]].concat());
        let line = "50 22 0:60 / /m rw - overlay none rw,lowerdir+=/a:b,datadir+=/c";
        assert_eq!(layers(line), [named("/a:b"), data("/c")]);
    }
}
