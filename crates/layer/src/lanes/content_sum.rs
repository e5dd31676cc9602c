//! The checksum of all that a unit holds, as its record has it.

/// Checksum of all bytes of a unit: the upper 24 bits of their CRC-32C, with 1 in place of 0, which stands for an
/// unknown one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentSum(u32);

impl ContentSum {
    pub(super) fn of_crc(crc: u32) -> Self {
        Self((crc >> 8).max(1))
    }

    /// Returns the checksum of a unit's bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self::of_crc(crc32c::crc32c(bytes))
    }

    pub(super) fn encode(sum: Option<Self>) -> [u8; 3] {
        let [low, middle, high, _] = sum.map_or(0, |sum| sum.0).to_le_bytes();
        [low, middle, high]
    }

    pub(super) fn decode([low, middle, high]: [u8; 3]) -> Option<Self> {
        let sum = u32::from_le_bytes([low, middle, high, 0]);
        (sum != 0).then_some(Self(sum))
    }
}
