//! Which data of a simulated drive is in memory: what it takes of the limit, and what a client may skip.
//!
//! One bit for each granule, a unit of the drive or 4 KiB if that is shorter, which is set where data other than zeros
//! may be, or zeros for which a client wants room. Data takes memory in chunks of 4 KiB, as the layer below keeps it:
//! in those with a bit. The pages of the bits themselves take memory once a bit in them is set.
//!
//! A write reserves its chunks when it begins, and sets or clears the bits when it is done. One that fails at the drive
//! may have written anything and sets them; one that never reached the drive leaves them. Writes in flight to the same
//! new chunks reserve these each, so that writes may be refused a little below the limit.

use crate::command::Extent;
use std::ops::Range;

/// The chunk of the data of simulated devices (`flashlane_layer::Backed`).
const CHUNK_BYTES: u64 = 4096;
/// Memory for the data of a drive in which any can be written.
pub const DATA_BYTES_MIN: u64 = CHUNK_BYTES;

static ZEROS: [u8; CHUNK_BYTES as usize] = [0; CHUNK_BYTES as usize];

/// The granules that hold data.
#[derive(Debug)]
pub(crate) struct Written {
    words: Vec<u64>,
    granule_bytes: u64,
    /// Chunks with a bit.
    chunks: u64,
    /// Chunks of writes in flight.
    reserved: u64,
    chunks_max: u64,
}

/// Chunks that a write in flight may need.
#[must_use]
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Reserved(u64);

impl Written {
    /// Nothing of `size_bytes` is written, and at most `memory_bytes` may be. `unit_bytes` is the unit of writes.
    pub fn new(size_bytes: u64, unit_bytes: u64, memory_bytes: u64) -> Self {
        // A chunk has at most as many granules as a word has bits.
        let granule_bytes = match CHUNK_BYTES.is_multiple_of(unit_bytes) {
            true => unit_bytes.max(CHUNK_BYTES / 64),
            false => CHUNK_BYTES,
        };
        let words = size_bytes.div_ceil(granule_bytes * 64) as usize;
        let chunks_max = memory_bytes / CHUNK_BYTES;
        Self { words: vec![0; words], granule_bytes, chunks: 0, reserved: 0, chunks_max }
    }

    /// Reserves memory for a write of `data`, or of anything without it. Returns `None` where the memory does not
    /// suffice.
    pub fn reserve(&mut self, offset_bytes: u64, length_bytes: u64, data: Option<&[u8]>) -> Option<Reserved> {
        let needs_chunk = |at: u64, end: u64| {
            let is_zero = |data: &[u8]| {
                let piece = &data[(at - offset_bytes) as usize..(end - offset_bytes) as usize];
                piece == &ZEROS[..piece.len()]
            };
            !self.has_chunk(at / CHUNK_BYTES) && !data.is_some_and(is_zero)
        };
        let new = pieces(offset_bytes, length_bytes, CHUNK_BYTES)
            .filter(|piece| needs_chunk(piece.start, piece.end));
        let new = new.count() as u64;
        if new > 0 && self.chunks + self.reserved + new > self.chunks_max {
            return None;
        }
        self.reserved += new;
        Some(Reserved(new))
    }

    /// Ends a reservation. The data that was written is to be stored before.
    pub fn release(&mut self, reserved: Reserved) {
        self.reserved -= reserved.0;
    }

    /// Notes that data was written: its zeros take no memory.
    pub fn store(&mut self, offset_bytes: u64, data: &[u8]) {
        let granule_bytes = self.granule_bytes;
        for Range { start, end } in pieces(offset_bytes, data.len() as u64, granule_bytes) {
            let piece = &data[(start - offset_bytes) as usize..(end - offset_bytes) as usize];
            let granule = start / granule_bytes;
            match piece == &ZEROS[..piece.len()] {
                false => self.change(granule..granule + 1, true),
                true if end - start == granule_bytes => self.change(granule..granule + 1, false),
                // The rest of the granule is as it was.
                true => {}
            }
        }
    }

    /// Notes that a range takes memory, whatever its data is.
    pub fn mark(&mut self, offset_bytes: u64, length_bytes: u64) {
        let end = (offset_bytes + length_bytes).div_ceil(self.granule_bytes);
        self.change(offset_bytes / self.granule_bytes..end, true);
    }

    /// Notes that a range takes no memory. Granules that lie partly inside are left.
    pub fn clear(&mut self, offset_bytes: u64, length_bytes: u64) {
        let end = (offset_bytes + length_bytes) / self.granule_bytes;
        self.change(offset_bytes.div_ceil(self.granule_bytes)..end, false);
    }

    /// Returns the memory of what was written.
    pub fn held_bytes(&self) -> u64 {
        self.chunks * CHUNK_BYTES
    }

    /// Returns the extents of a range, at most `count`: then the range is not covered.
    pub fn extents(&self, offset_bytes: u64, length_bytes: u64, count: usize) -> Vec<Extent> {
        let (end, granule_bytes) = (offset_bytes + length_bytes, self.granule_bytes);
        let (mut at, mut extents) = (offset_bytes, Vec::new());
        while at < end && extents.len() < count {
            let is_hole = !self.has(at / granule_bytes);
            let next = self.next_other(at / granule_bytes, end.div_ceil(granule_bytes)) * granule_bytes;
            let next = next.min(end);
            extents.push(Extent { length_bytes: (next - at) as u32, is_hole });
            at = next;
        }
        extents
    }

    fn has(&self, granule: u64) -> bool {
        self.words[(granule / 64) as usize] >> (granule % 64) & 1 == 1
    }

    fn has_chunk(&self, chunk: u64) -> bool {
        let granules = CHUNK_BYTES / self.granule_bytes;
        let first = chunk * granules;
        self.words[(first / 64) as usize] >> (first % 64) & (u64::MAX >> (64 - granules)) != 0
    }

    /// Returns the number of chunks with a bit in a word.
    fn chunks_of(&self, word: u64) -> u64 {
        let granules = CHUNK_BYTES / self.granule_bytes;
        // The lowest bit of each chunk becomes the union of its bits.
        let (mut union, mut width) = (word, 1);
        while width < granules {
            union |= union >> width;
            width *= 2;
        }
        let lowest = (0..64).step_by(granules as usize).fold(0, |bits, at| bits | 1 << at);
        u64::from((union & lowest).count_ones())
    }

    /// Sets or clears the bits of granules.
    fn change(&mut self, granules: Range<u64>, is_set: bool) {
        for Range { start, end } in pieces(granules.start, granules.end.saturating_sub(granules.start), 64) {
            let (nth, mask) = ((start / 64) as usize, u64::MAX >> (64 - (end - start)) << (start % 64));
            let before = self.words[nth];
            let after = if is_set { before | mask } else { before & !mask };
            if after != before {
                self.words[nth] = after;
                self.chunks = self.chunks - self.chunks_of(before) + self.chunks_of(after);
            }
        }
    }

    /// Returns the first granule after `granule`, before `end`, that differs from it; `end` where there is none.
    fn next_other(&self, granule: u64, end: u64) -> u64 {
        let same = if self.has(granule) { u64::MAX } else { 0 };
        let mut at = granule + 1;
        while at < end {
            let other = (self.words[(at / 64) as usize] ^ same) >> (at % 64);
            if other != 0 {
                return (at + u64::from(other.trailing_zeros())).min(end);
            }
            at = (at / 64 + 1) * 64;
        }
        end
    }
}

/// Returns the parts of a range between multiples of `step`.
fn pieces(start: u64, length: u64, step: u64) -> impl Iterator<Item = Range<u64>> {
    let end = start + length;
    let pieces = start / step..if length == 0 { start / step } else { end.div_ceil(step) };
    pieces.map(move |nth| start.max(nth * step)..end.min((nth + 1) * step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    #[test]
    fn written_granules_equal_a_plain_list() {
        const SIZE: u64 = 200 * CHUNK_BYTES;
        for (unit, granule) in [(512, 512), (4096, 4096), (16384, 4096), (1, 64), (520, 4096)] {
            let mut random = Seed(unit).source();
            let mut written = Written::new(SIZE, unit, 1 << 30);
            let mut model = vec![false; (SIZE / granule) as usize];
            for _ in 0..1000 {
                let offset = random.below(SIZE);
                let length = 1 + random.below((SIZE - offset).min(20 * CHUNK_BYTES));
                let mut data = vec![0; length as usize];
                let kind = random.below(3);
                match kind {
                    0 => written.mark(offset, length),
                    1 => written.clear(offset, length),
                    _ => {
                        for _ in 0..random.below(20) {
                            let (from, bytes) = (random.below(length), random.below(3000));
                            data[from as usize..(from + bytes).min(length) as usize].fill(7);
                        }
                        written.store(offset, &data);
                    }
                }
                for (nth, is_written) in model.iter_mut().enumerate() {
                    let (first, last) = (nth as u64 * granule, (nth as u64 + 1) * granule);
                    let (from, to) = (first.max(offset), last.min(offset + length));
                    let is_whole = (from, to) == (first, last);
                    if from < to {
                        let part = &data[(from - offset) as usize..(to - offset) as usize];
                        match kind {
                            0 => *is_written = true,
                            2 if part.contains(&7) => *is_written = true,
                            _ if is_whole => *is_written = false,
                            _ => {}
                        }
                    }
                }
                let chunks = model.chunks((CHUNK_BYTES / granule) as usize);
                let held = chunks.filter(|granules| granules.contains(&true)).count() as u64;
                assert_eq!(written.held_bytes(), held * CHUNK_BYTES);
                let mut at = offset;
                for extent in written.extents(offset, length, usize::MAX) {
                    let last = at + u64::from(extent.length_bytes) - 1;
                    for nth in at / granule..=last / granule {
                        assert_eq!(model[nth as usize], !extent.is_hole);
                    }
                    at = last + 1;
                }
                assert_eq!(at, offset + length);
            }
            assert_eq!(written.extents(0, SIZE, 1).len(), 1);
        }
    }

    #[test]
    fn reservations_count_until_they_are_released() {
        let mut written = Written::new(1 << 20, 512, 2 * CHUNK_BYTES);
        let one = written.reserve(CHUNK_BYTES, 1, Some(&[1])).unwrap();
        assert_eq!(written.reserve(0, 3 * CHUNK_BYTES, None), None);
        assert_eq!(written.reserve(0, 512, Some(&[0; 512])), Some(Reserved(0)), "zeros take no memory");
        let other = written.reserve(0, 512, None).unwrap();
        assert_eq!(written.reserve(CHUNK_BYTES, 512, None), None, "both are reserved");
        written.store(CHUNK_BYTES, &[1]);
        written.release(one);
        // A write that never reached the drive stores nothing.
        written.release(other);
        assert_eq!(written.held_bytes(), CHUNK_BYTES);
        assert_eq!(written.reserve(CHUNK_BYTES - 1, 2, Some(&[1, 1])), Some(Reserved(1)));
        assert_eq!(written.reserve(CHUNK_BYTES, 512, None), Some(Reserved(0)), "it is there already");
    }
}
