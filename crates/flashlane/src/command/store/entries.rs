//! Lists the keys of a range.

use super::damage::Unread;
use super::device::{Place, open};
use crate::failure::{Failure, Status};
use crate::terminal::printable;
use anyhow::anyhow;
use flashlane_store::space::plain_range;
use flashlane_store::text::escape;
use flashlane_store::{Item, end_of_prefix};
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

/// Lists the keys, and with `values` their values, as lines that an import reads. Tables and files are left out.
pub fn scan(place: &Place, range: &Range, limit: u64, values: bool) -> Result<Status, Failure> {
    let mut store = open(place)?;
    let (from, end) = range.bounds();
    let mut out = BufWriter::new(io::stdout().lock());
    let mut left = limit;
    let mut unread = Unread::default();
    let mut next = Some(from);
    while let Some(from) = next.take() {
        let part = plain_range(&from, end.as_deref());
        let mut entries = store.entries(&part.start, part.end.as_deref(), values);
        while left > 0
            && let Some(item) = entries.next()
        {
            match unread.without(item) {
                Ok(None) => {}
                Ok(Some(item)) => {
                    left -= 1;
                    if let Err(error) = out.write_all(line(&item, values).as_bytes()) {
                        return ended(Err(error));
                    }
                }
                Err(failure) => {
                    let _ = out.flush();
                    return Err(failure);
                }
            }
        }
        next = part.next;
    }
    ended(out.flush())?;
    Ok(unread.report(place))
}

/// Returns the line of a pair.
fn line(item: &Item, values: bool) -> String {
    let mut line = escape(&item.key);
    if let Some(value) = item.value.as_ref().filter(|_| values) {
        line.push('\t');
        line += &escape(value);
    }
    line.push('\n');
    printable(&line).into_owned()
}

/// Returns how a command ends whose output ended so. A closed pipe is no error.
pub fn ended(written: io::Result<()>) -> Result<Status, Failure> {
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
