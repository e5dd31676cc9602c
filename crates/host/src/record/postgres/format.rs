//! Offsets of an event's fields, from its `format` file in tracefs.

/// The layout of one kind of event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Format {
    /// Number in the first two bytes of its events.
    pub(super) id: u16,
    fields: Vec<(String, Field)>,
}

/// Where a field lies in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    offset: usize,
    size: usize,
}

impl Format {
    /// Parses the text of a `format` file; `None` where it has no number.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        Some(Self { id, fields: text.lines().filter_map(field).collect() })
    }

    pub(super) fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(field, _)| field == name).map(|(_, field)| *field)
    }
}

/// Parses `field:u32 blk; offset:8; size:4; signed:0;` with tabs between.
fn field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.trim().split(';').map(str::trim);
    let declared = parts.next()?.strip_prefix("field:")?;
    let name = declared.rsplit(char::is_whitespace).next()?;
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    let mut number = |key: &str| parts.next()?.strip_prefix(key)?.parse().ok();
    let field = Field { offset: number("offset:")?, size: number("size:")? };
    Some((name.into(), field))
}

impl Field {
    /// Returns the number of up to eight bytes in `event`, without sign. `None` where the event is too short.
    pub(super) fn number(self, event: &[u8]) -> Option<u64> {
        let bytes = event.get(self.offset..self.offset.checked_add(self.size)?)?;
        Some(match *bytes {
            [byte] => byte.into(),
            [a, b] => u16::from_ne_bytes([a, b]).into(),
            [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
            _ => u64::from_ne_bytes(bytes.try_into().ok()?),
        })
    }

    /// Returns the text that a `__data_loc` field points to, without its final zero.
    pub(super) fn text(self, event: &[u8]) -> Option<&[u8]> {
        let place = u32::try_from(self.number(event)?).ok()?;
        let (offset, length) = ((place & 0xffff) as usize, (place >> 16) as usize);
        let text = event.get(offset..offset + length)?;
        Some(text.strip_suffix(b"\0").unwrap_or(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name: read\nID: 1733\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:__data_loc char[] text;\toffset:24;\tsize:4;\tsigned:1;\n\n\
        print fmt: \"(%lx)\", REC->__probe_ip\n";

    #[test]
    fn fields_are_found_by_name() {
        let format = Format::parse(TEXT).unwrap();
        assert_eq!(format.id, 1733);
        assert_eq!(format.field("common_pid"), Some(Field { offset: 4, size: 4 }));
        assert_eq!(format.field("prev_comm"), Some(Field { offset: 8, size: 16 }));
        assert_eq!(format.field("common"), None);
        assert_eq!(Format::parse("format:\n"), None);
    }

    #[test]
    fn values_are_read_within_the_event_only() {
        let text = Format::parse(TEXT).unwrap().field("text").unwrap();
        let mut event = [0; 32];
        event[24..28].copy_from_slice(&(28_u32 | 4 << 16).to_ne_bytes());
        event[28..].copy_from_slice(b"abc\0");
        assert_eq!(text.text(&event), Some(&b"abc"[..]));
        assert_eq!(text.text(&event[..31]), None);
        assert_eq!(text.number(&event[..27]), None);
    }
}
