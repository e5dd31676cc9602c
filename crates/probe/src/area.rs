//! An area of the device, and where its chunks lie in it.

use crate::bench::Bench;

/// An area of the device on which experiments run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// First byte.
    pub offset_bytes: u64,
    /// Length.
    pub length_bytes: u64,
}

/// Distance of the places of an experiment's repetitions: a multiple of every chunk of 2^a 3^b 5^c sectors up to 256
/// KiB (with b and c at most 1), so that each repetition has the same phase.
pub(crate) const PLACE_STEP_BYTES: u64 = 15 * 256 * 1024;

impl Area {
    /// Returns the number of whole chunks.
    pub(crate) fn chunks(&self, chunk: &Chunk) -> u64 {
        self.length_bytes.saturating_sub(chunk.phase_bytes) / chunk.size_bytes
    }

    /// Returns the start of the `nth` whole chunk.
    pub(crate) fn chunk_start(&self, chunk: &Chunk, nth: u64) -> u64 {
        self.offset_bytes + chunk.phase_bytes + nth * chunk.size_bytes
    }

    /// Returns the start of a random chunk with room for `room_bytes` after it.
    pub(crate) fn chunk_place(&self, bench: &mut Bench<'_>, chunk: &Chunk, room_bytes: u64) -> u64 {
        let room = Self { length_bytes: self.length_bytes.saturating_sub(room_bytes), ..*self };
        let nth = bench.random().below(room.chunks(chunk).max(1));
        self.chunk_start(chunk, nth)
    }

    /// Returns a random place with the phase of the area's start and room for `room_bytes`.
    pub(crate) fn place(&self, bench: &mut Bench<'_>, room_bytes: u64) -> u64 {
        let places = (self.length_bytes.saturating_sub(room_bytes) / PLACE_STEP_BYTES).max(1);
        self.offset_bytes + bench.random().below(places) * PLACE_STEP_BYTES
    }
}

/// Where a recommended point was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MeasuredArea {
    /// On the whole device, in whatever order it had been written.
    Whole { capacity_bytes: u64 },
    /// In an area that the probe had written in order.
    Filled(Area),
    /// On the whole of another drive of the same kind, which is full of data.
    FullDrive { capacity_bytes: u64 },
}

impl MeasuredArea {
    pub(crate) fn area(self) -> Area {
        match self {
            Self::Whole { capacity_bytes } | Self::FullDrive { capacity_bytes } => {
                Area { offset_bytes: 0, length_bytes: capacity_bytes }
            }
            Self::Filled(area) => area,
        }
    }

    /// Returns the area that the probe had written in order.
    pub(crate) fn filled(self) -> Option<Area> {
        match self {
            Self::Whole { .. } | Self::FullDrive { .. } => None,
            Self::Filled(area) => Some(area),
        }
    }
}

/// The chunk of the stripe, and how its boundaries showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// Bytes from one boundary to the next.
    pub size_bytes: u64,
    /// The first boundary, from the area's start.
    pub phase_bytes: u64,
    /// Share of the contrast, 0 to 1, that even the slowest boundaries show.
    pub clarity: f64,
    /// The time that a boundary saves, in microseconds: two reads on one die take so much longer than on two, one read
    /// of two pages than across a boundary; of a chunk that writes showed, a program time.
    pub contrast_us: f64,
    /// Number of boundaries measured.
    pub seen: usize,
}
