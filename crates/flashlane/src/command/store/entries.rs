//! Lists the keys of a range.

use super::device::{Place, failed, open};
use crate::failure::{Failure, Status};
use crate::terminal::printable;
use anyhow::anyhow;
use flashlane_store::end_of_prefix;
use flashlane_store::text::escape;
use std::io::{self, BufWriter, Write};

/// The keys to list.
pub struct Range {
    pub from: Option<Vec<u8>>,
    pub to: Option<Vec<u8>>,
    pub prefix: Option<Vec<u8>>,
}

impl Range {
    /// Returns the first key, and the one before which the range ends.
    fn bounds(&self) -> (Vec<u8>, Option<Vec<u8>>) {
        let prefix = self.prefix.as_deref().unwrap_or_default();
        let from = self.from.as_deref().unwrap_or_default().max(prefix);
        let ends = [self.to.clone(), end_of_prefix(prefix)];
        (from.to_vec(), ends.into_iter().flatten().min())
    }
}

/// Lists the keys, and with `values` their values, as lines that an import reads.
pub fn scan(place: &Place, range: &Range, limit: u64, values: bool) -> Result<Status, Failure> {
    let mut store = open(place)?;
    let (from, end) = range.bounds();
    let mut out = BufWriter::new(io::stdout().lock());
    let mut left = limit;
    let mut entries = store.entries(&from, end.as_deref(), values);
    let written = loop {
        if left == 0 {
            break out.flush();
        }
        let Some(item) = entries.next() else { break out.flush() };
        let item = match item {
            Ok(item) => item,
            Err(error) => {
                let _ = out.flush();
                return Err(failed(error));
            }
        };
        left -= 1;
        let mut line = escape(&item.key);
        if let Some(value) = item.value.filter(|_| values) {
            line.push('\t');
            line += &escape(&value);
        }
        line.push('\n');
        if let Err(error) = out.write_all(printable(&line).as_bytes()) {
            break Err(error);
        }
    };
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::failed(anyhow!("cannot write to standard output: {error}")))
        }
        _ => Ok(Status::Done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_the_narrowest() {
        let of = |from: &str, to: &str, prefix: &str| {
            let bytes = |text: &str| (!text.is_empty()).then(|| text.as_bytes().to_vec());
            let (from, to) = Range { from: bytes(from), to: bytes(to), prefix: bytes(prefix) }.bounds();
            let text = |bytes| String::from_utf8(bytes).unwrap();
            (text(from), to.map(text).unwrap_or_default())
        };
        assert_eq!(of("", "", ""), (String::new(), String::new()));
        assert_eq!(of("b", "d", ""), ("b".into(), "d".into()));
        assert_eq!(of("", "", "a:"), ("a:".into(), "a;".into()));
        assert_eq!(of("a:5", "a:9", "a:"), ("a:5".into(), "a:9".into()));
        assert_eq!(of("a", "b", "a:"), ("a:".into(), "a;".into()));
    }
}
