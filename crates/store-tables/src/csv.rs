//! Rows as CSV (RFC 4180), read and written.
//!
//! A field that is empty without quotes is null where the column is nullable; `""` is an empty text. So a table that is
//! written and read again is the same.

use crate::schema::Column;
use crate::value::{Type, Value, ValueError};
use std::io::{self, BufRead};

/// Longest record: a mistaken path (a device, a dump) must not exhaust memory.
const RECORD_BYTES_MAX: usize = 256 << 20;

/// A field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its text.
    pub text: String,
    /// Whether it stood in quotes.
    pub is_quoted: bool,
}

impl Field {
    /// Returns the value of a column that the field stands for.
    ///
    /// # Errors
    /// [`ValueError`].
    pub fn value(&self, column: &Column) -> Result<Value, ValueError> {
        if self.text.is_empty() && !self.is_quoted && (column.is_nullable || column.kind != Type::Text) {
            let name = column.name.clone();
            return if column.is_nullable { Ok(Value::Null) } else { Err(ValueError::Null { column: name }) };
        }
        column.kind.parse(&column.name, &self.text)
    }
}

/// Why a text is no CSV.
#[derive(Debug, thiserror::Error)]
pub enum CsvError {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Read(#[from] io::Error),
    /// A field that begins with a quote does not end.
    #[error("a quote that opens a field is not closed")]
    Open,
    /// Something else than a comma follows a field in quotes.
    #[error("field {field} goes on behind its closing quote: a quote within one is written twice")]
    BehindQuote {
        /// Number of the field, from 1.
        field: usize,
    },
    /// A field is no text.
    #[error("field {field} is no UTF-8")]
    NoText {
        /// Number of the field, from 1.
        field: usize,
    },
    /// A record is too long.
    #[error("a record is longer than {RECORD_BYTES_MAX} bytes")]
    Long,
}

/// Reads records.
pub struct Reader<R> {
    input: R,
    /// Lines that were read.
    lines: u64,
    /// Line at which the last record begins.
    line: u64,
    record: Vec<u8>,
}

impl<R: BufRead> Reader<R> {
    /// Begins with the first record.
    pub fn new(input: R) -> Self {
        Self { input, lines: 0, line: 0, record: Vec::new() }
    }

    /// Returns the line at which the last record begins, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Returns the next record; `None` at the end. Empty lines are none.
    ///
    /// # Errors
    /// [`CsvError`], after which there is no next.
    pub fn next_record(&mut self) -> Result<Option<Vec<Field>>, CsvError> {
        loop {
            self.record.clear();
            self.line = self.lines + 1;
            // A line end within quotes does not end the record: as many quotes have opened as closed where it ends.
            loop {
                let room = (RECORD_BYTES_MAX - self.record.len()) as u64;
                let read = io::Read::take(&mut self.input, room).read_until(b'\n', &mut self.record)?;
                self.lines += u64::from(read > 0);
                let is_whole = self.record.iter().filter(|byte| **byte == b'"').count() % 2 == 0;
                match (read, self.record.is_empty()) {
                    (0, true) => return Ok(None),
                    (0, false) if is_whole => break,
                    (0, false) if room == 0 => return Err(CsvError::Long),
                    (0, false) => return Err(CsvError::Open),
                    _ if is_whole && self.record.ends_with(b"\n") => break,
                    _ => {}
                }
            }
            let record = self.record.strip_suffix(b"\n").unwrap_or(&self.record);
            let record = record.strip_suffix(b"\r").unwrap_or(record);
            if !record.is_empty() {
                return fields(record).map(Some);
            }
        }
    }
}

fn fields(mut rest: &[u8]) -> Result<Vec<Field>, CsvError> {
    let mut out = Vec::new();
    loop {
        let field = out.len() + 1;
        let mut bytes = Vec::new();
        let is_quoted = rest.first() == Some(&b'"');
        if is_quoted {
            rest = &rest[1..];
            loop {
                let end = rest.iter().position(|byte| *byte == b'"').ok_or(CsvError::Open)?;
                bytes.extend_from_slice(&rest[..end]);
                rest = &rest[end + 1..];
                if rest.first() != Some(&b'"') {
                    break;
                }
                bytes.push(b'"');
                rest = &rest[1..];
            }
        } else {
            let end = rest.iter().position(|byte| *byte == b',').unwrap_or(rest.len());
            bytes.extend_from_slice(&rest[..end]);
            rest = &rest[end..];
        }
        let text = String::from_utf8(bytes).map_err(|_| CsvError::NoText { field })?;
        out.push(Field { text, is_quoted });
        match rest.split_first() {
            None => return Ok(out),
            Some((b',', behind)) => rest = behind,
            Some(_) => return Err(CsvError::BehindQuote { field }),
        }
    }
}

/// Returns a record of these values, with its line end.
pub fn line(values: &[Value]) -> String {
    let fields: Vec<String> = values.iter().map(field).collect();
    fields.join(",") + "\r\n"
}

fn field(value: &Value) -> String {
    let text = value.to_string();
    let is_plain = !text.contains(['"', ',', '\n', '\r']) && text.trim() == text;
    let is_empty = text.is_empty() && *value != Value::Null;
    if is_plain && !is_empty { text } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<Vec<(u64, Vec<Field>)>, CsvError> {
        let mut reader = Reader::new(text);
        let mut records = Vec::new();
        while let Some(record) = reader.next_record()? {
            records.push((reader.line(), record));
        }
        Ok(records)
    }

    fn plain(text: &str) -> Field {
        Field { text: text.into(), is_quoted: false }
    }

    fn quoted(text: &str) -> Field {
        Field { text: text.into(), is_quoted: true }
    }

    #[test]
    fn records_are_read_with_their_lines() {
        let found = read(b"a,b\r\n\r\n\"x,\"\"y\"\"\r\nz\",\n,\"\"\nlast").unwrap();
        let expected = [
            (1, vec![plain("a"), plain("b")]),
            (3, vec![quoted("x,\"y\"\r\nz"), plain("")]),
            (5, vec![plain(""), quoted("")]),
            (6, vec![plain("last")]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn other_texts_are_refused() {
        assert!(matches!(read(b"a,\"b\nc"), Err(CsvError::Open)));
        assert!(matches!(read(b"a,\"b\"c\"\""), Err(CsvError::BehindQuote { field: 2 })));
        assert!(matches!(read(b"a,\xff"), Err(CsvError::NoText { field: 2 })));
    }

    #[test]
    fn values_are_read_back() {
        let texts = ["", "a", "a,b", "say \"so\"", " x", "two\nlines", "end\r"];
        let kinds = [(Type::Text, true), (Type::Text, false), (Type::Bytes, true), (Type::Integer, true)];
        let column = |(kind, is_nullable)| Column { is_nullable, ..Column::new("c", kind) };
        let of_texts = texts.map(|text| (Value::from(text), column(kinds[1])));
        let others = [
            (Value::Null, column(kinds[0])),
            (Value::from(""), column(kinds[0])),
            (Value::Bytes(vec![0, 0xff, b'\\', b'\t', b'"']), column(kinds[2])),
            (Value::Bytes(Vec::new()), column(kinds[2])),
            (Value::Null, column(kinds[3])),
            (Value::Integer(i64::MIN), column(kinds[3])),
        ];
        for (value, column) in of_texts.into_iter().chain(others) {
            // A record of one null would be an empty line.
            let text = line(&[value.clone(), Value::Integer(1)]);
            let records = read(text.as_bytes()).unwrap();
            assert_eq!(records[0].1[0].value(&column), Ok(value), "{text}");
        }
        let integer = Column::new("c", Type::Integer);
        assert_eq!(plain("").value(&integer), Err(ValueError::Null { column: "c".into() }));
    }
}
