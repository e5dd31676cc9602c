//! Copies of the superblock that hold other data, written around this layer. A copy that is replaced is erased, and so
//! the other data would be lost: such a unit is kept as a damaged one.
//!
//! Only on real devices: no other program reaches a simulated one. A copy is read as a whole, and there are few of
//! them.

use crate::header::Header;
use crate::layout::Layout;
use flashlane_device::remains::is_remains;

/// Returns whether a unit holds the copy of the superblock with this header, or a damaged one, and nothing else.
pub(crate) fn is_as_written(unit: &[u8], header: &Header, layout: &Layout) -> bool {
    let mut expected = vec![0; layout.header_bytes as usize];
    header.encode(&mut expected);
    let (head, rest) = unit.split_at(expected.len());
    let (payload, foot) = rest.split_at(layout.footer_offset() as usize - expected.len());
    is_remains(head, &expected) && payload.iter().all(|&byte| byte == 0) && is_remains(foot, &expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::{Content, Superblock};
    use crate::layout::UnitAddress;

    #[test]
    fn other_data_differs_from_damage() {
        let layout = Layout {
            lanes: 2,
            units: 8,
            unit_bytes: 8192,
            granule_bytes: 1024,
            header_bytes: 1024,
            granules: 6,
        };
        let (lanes, units, unit_bytes, granule_bytes) = (2, 8, 8192, 1024);
        let retired = vec![UnitAddress { lane: 1, unit: 3 }];
        let superblock =
            Superblock { lanes, units, unit_bytes, granule_bytes, id_floor: 9, has_log: true, retired };
        let content = Content::Superblock(superblock);
        let address = UnitAddress { lane: 1, unit: 6 };
        let header = Header { format_id: 77, sequence: 5, address, erases: Some(3), content };
        let mut unit = vec![0; 8192];
        header.encode(&mut unit[..1024]);
        header.encode(&mut unit[7168..]);
        for (at, bytes, is_damage) in [
            (0, &b""[..], true),
            (0, b"h", true),
            (0, b"hello", false),
            (0, &[0; 1024], true),
            (512, &[0xff; 512], true),
            (600, b"hello", false),
            (1024, b"h", false),
            (7167, b"h", false),
            (7168, b"hello", false),
            (8191, b"h", true),
            (8190, b"he", false),
        ] {
            let mut found = unit.clone();
            found[at..at + bytes.len()].copy_from_slice(bytes);
            assert_eq!(is_as_written(&found, &header, &layout), is_damage, "{bytes:?} at {at}");
        }
    }
}
