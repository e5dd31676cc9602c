//! Which bytes of a device were written, in chunks of 4 KiB: what its data takes of memory, and what a client may skip.
//!
//! One bit per chunk. The pages of the bits themselves take memory once a chunk in them is written.

use crate::nbd::Extent;

/// The chunk of the data of simulated devices (`flashlane_layer::Backed`).
const CHUNK_BYTES: u64 = 4096;
/// Memory for the data of a drive in which any can be written.
pub const DATA_BYTES_MIN: u64 = CHUNK_BYTES;

/// The chunks that were written.
#[derive(Debug)]
pub(crate) struct Written {
    words: Vec<u64>,
    chunks: u64,
    chunks_max: u64,
}

impl Written {
    /// Nothing of `size_bytes` is written, and at most `memory_bytes` may be.
    pub fn new(size_bytes: u64, memory_bytes: u64) -> Self {
        let words = size_bytes.div_ceil(CHUNK_BYTES * 64) as usize;
        Self { words: vec![0; words], chunks: 0, chunks_max: memory_bytes / CHUNK_BYTES }
    }

    /// Marks a range as written. Returns false, and marks nothing, where the memory does not suffice.
    pub fn mark(&mut self, offset_bytes: u64, length_bytes: u64) -> bool {
        let chunks = offset_bytes / CHUNK_BYTES..(offset_bytes + length_bytes).div_ceil(CHUNK_BYTES);
        let new = chunks.clone().filter(|&chunk| !self.has(chunk)).count() as u64;
        if self.chunks + new > self.chunks_max {
            return false;
        }
        self.chunks += new;
        chunks.for_each(|chunk| self.words[(chunk / 64) as usize] |= 1 << (chunk % 64));
        true
    }

    /// Marks the chunks that lie inside a range as not written.
    pub fn clear(&mut self, offset_bytes: u64, length_bytes: u64) {
        for chunk in offset_bytes.div_ceil(CHUNK_BYTES)..(offset_bytes + length_bytes) / CHUNK_BYTES {
            self.chunks -= u64::from(self.has(chunk));
            self.words[(chunk / 64) as usize] &= !(1 << (chunk % 64));
        }
    }

    /// Returns the memory of what was written.
    pub fn held_bytes(&self) -> u64 {
        self.chunks * CHUNK_BYTES
    }

    /// Returns the extents of a range, at most `count`: then the range is not covered.
    pub fn extents(&self, offset_bytes: u64, length_bytes: u32, count: usize) -> Vec<Extent> {
        let end = offset_bytes + u64::from(length_bytes);
        let (mut at, mut extents) = (offset_bytes, Vec::new());
        while at < end && extents.len() < count {
            let is_hole = !self.has(at / CHUNK_BYTES);
            let next = self.next_other(at / CHUNK_BYTES, end.div_ceil(CHUNK_BYTES)) * CHUNK_BYTES;
            let next = next.min(end);
            extents.push(Extent { length_bytes: (next - at) as u32, is_hole });
            at = next;
        }
        extents
    }

    fn has(&self, chunk: u64) -> bool {
        self.words[(chunk / 64) as usize] >> (chunk % 64) & 1 == 1
    }

    /// Returns the first chunk after `chunk`, before `end`, that differs from it; `end` where there is none.
    fn next_other(&self, chunk: u64, end: u64) -> u64 {
        let same = if self.has(chunk) { u64::MAX } else { 0 };
        let mut at = chunk + 1;
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

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    #[test]
    fn written_ranges_equal_a_plain_list() {
        const CHUNKS: u64 = 200;
        let mut random = Seed(1).source();
        let (mut written, mut model) =
            (Written::new(CHUNKS * CHUNK_BYTES, 1 << 30), vec![false; CHUNKS as usize]);
        for _ in 0..2000 {
            let offset = random.below(CHUNKS * CHUNK_BYTES);
            let length = 1 + random.below((CHUNKS * CHUNK_BYTES - offset).min(20 * CHUNK_BYTES));
            let is_mark = random.chance(0.5);
            match is_mark {
                true => assert!(written.mark(offset, length)),
                false => written.clear(offset, length),
            }
            for (nth, is_written) in model.iter_mut().enumerate() {
                let (first, last) = (nth as u64 * CHUNK_BYTES, (nth as u64 + 1) * CHUNK_BYTES);
                if is_mark && first < offset + length && last > offset {
                    *is_written = true;
                }
                if !is_mark && first >= offset && last <= offset + length {
                    *is_written = false;
                }
            }
            let count = model.iter().filter(|&&is_written| is_written).count() as u64;
            assert_eq!(written.held_bytes(), count * CHUNK_BYTES);
            let mut at = offset;
            for extent in written.extents(offset, length as u32, usize::MAX) {
                let last = at + u64::from(extent.length_bytes) - 1;
                for chunk in at / CHUNK_BYTES..=last / CHUNK_BYTES {
                    assert_eq!(model[chunk as usize], !extent.is_hole);
                }
                at = last + 1;
            }
            assert_eq!(at, offset + length);
        }
        assert_eq!(written.extents(0, 1 << 19, 1).len(), 1);
    }

    #[test]
    fn mark_beyond_memory_changes_nothing() {
        let mut written = Written::new(1 << 20, 2 * CHUNK_BYTES);
        assert!(written.mark(CHUNK_BYTES, 1));
        assert!(!written.mark(0, 3 * CHUNK_BYTES));
        assert!(written.mark(CHUNK_BYTES - 1, 2) && written.held_bytes() == 2 * CHUNK_BYTES);
        written.clear(0, CHUNK_BYTES);
        assert!(written.mark(5 * CHUNK_BYTES, 1));
    }
}
