//! A sparse store of bytes, in which unwritten and zero ranges read as zeros and take no memory.
//!
//! Chunks have 4 KiB, the usual write size of drives, so that a scattered write costs one chunk. A read or write costs
//! one lookup per chunk, O(log n) in the number of chunks. Clones share chunks until one of them writes to them.
//!
//! Invariant: each chunk held has a byte that is not zero.

use flashlane_device::Lane;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

const CHUNK_BYTES: u64 = 4096;

static ZEROS: [u8; CHUNK_BYTES as usize] = [0; CHUNK_BYTES as usize];

type Chunk = Arc<[u8; CHUNK_BYTES as usize]>;

/// The data of a device's lanes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chunks {
    held: BTreeMap<(Lane, u64), Chunk>,
}

impl Chunks {
    /// Copies the bytes from `offset_bytes` on into `out`.
    pub fn read(&self, lane: Lane, offset_bytes: u64, out: &mut [u8]) {
        for (index, inside, outside) in pieces(offset_bytes, out.len() as u64) {
            match self.held.get(&(lane, index)) {
                Some(chunk) => out[outside].copy_from_slice(&chunk[inside]),
                None => out[outside].fill(0),
            }
        }
    }

    /// Stores `bytes` from `offset_bytes` on.
    pub fn write(&mut self, lane: Lane, offset_bytes: u64, bytes: &[u8]) {
        for (index, inside, outside) in pieces(offset_bytes, bytes.len() as u64) {
            if bytes[outside.clone()] == ZEROS[inside.clone()] {
                self.clear(lane, offset_bytes + outside.start as u64, outside.len() as u64);
                continue;
            }
            let chunk = self.held.entry((lane, index)).or_insert_with(|| Arc::new([0; CHUNK_BYTES as usize]));
            Arc::make_mut(chunk)[inside].copy_from_slice(&bytes[outside]);
        }
    }

    /// Clears `length_bytes` from `offset_bytes` on to zeros, in time proportional to the chunks held there.
    pub fn clear(&mut self, lane: Lane, offset_bytes: u64, length_bytes: u64) {
        let end = offset_bytes + length_bytes;
        let mut from = offset_bytes / CHUNK_BYTES;
        while let Some((&(_, index), chunk)) =
            self.held.range_mut((lane, from)..(lane, end.div_ceil(CHUNK_BYTES))).next()
        {
            let start = index * CHUNK_BYTES;
            if start >= offset_bytes && start + CHUNK_BYTES <= end {
                self.held.remove(&(lane, index));
            } else {
                let first = offset_bytes.max(start) - start;
                let last = end.min(start + CHUNK_BYTES) - start;
                Arc::make_mut(chunk)[first as usize..last as usize].fill(0);
                if **chunk == ZEROS {
                    self.held.remove(&(lane, index));
                }
            }
            from = index + 1;
        }
    }

    /// Returns the memory held for chunks.
    #[cfg(test)]
    fn held_bytes(&self) -> u64 {
        self.held.len() as u64 * CHUNK_BYTES
    }
}

/// Returns the chunks that a range touches: index, range in the chunk, range in the request.
fn pieces(offset_bytes: u64, length_bytes: u64) -> impl Iterator<Item = (u64, Range<usize>, Range<usize>)> {
    let end = offset_bytes + length_bytes;
    (offset_bytes / CHUNK_BYTES..end.div_ceil(CHUNK_BYTES)).map(move |index| {
        let start = index * CHUNK_BYTES;
        let (first, last) = (offset_bytes.max(start), end.min(start + CHUNK_BYTES));
        let inside = (first - start) as usize..(last - start) as usize;
        (index, inside, (first - offset_bytes) as usize..(last - offset_bytes) as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const AREA: usize = 20_000;

    #[derive(Clone, Debug)]
    enum Step {
        Write(u8),
        Clear,
        Read,
    }

    proptest! {
        #[test]
        fn chunks_equal_a_plain_vector(
            steps in prop::collection::vec(
                (
                    prop_oneof![(0..3_u8).prop_map(Step::Write), Just(Step::Clear), Just(Step::Read)],
                    0..2_u32,
                    0..AREA,
                    0..3 * CHUNK_BYTES as usize,
                ),
                1..60,
            ),
        ) {
            let (mut chunks, mut model) = (Chunks::default(), [vec![0_u8; AREA], vec![0_u8; AREA]]);
            for (step, lane, from, length) in steps {
                let to = (from + length).min(AREA);
                let expected = &mut model[lane as usize][from..to];
                match step {
                    Step::Write(byte) => {
                        expected.fill(byte);
                        chunks.write(Lane(lane), from as u64, expected);
                    }
                    Step::Clear => {
                        expected.fill(0);
                        chunks.clear(Lane(lane), from as u64, (to - from) as u64);
                    }
                    Step::Read => {}
                }
                prop_assert!(chunks.held.values().all(|chunk| **chunk != ZEROS));
                let mut found = vec![0xff; AREA];
                chunks.read(Lane(lane), 0, &mut found);
                prop_assert_eq!(&found, &model[lane as usize]);
            }
        }
    }

    #[test]
    fn scattered_writes_cost_one_chunk_each_and_zeros_free_them() {
        let mut chunks = Chunks::default();
        for i in 0..100 {
            chunks.write(Lane(0), i << 30, &[1; 4096]);
        }
        assert_eq!(chunks.held_bytes(), 100 * 4096);
        chunks.write(Lane(0), 0, &[0; 3 * 4096]);
        chunks.write(Lane(1), 100, &[0; 9000]);
        assert_eq!(chunks.held_bytes(), 99 * 4096, "zeros need no chunk, and free one");
        chunks.clear(Lane(0), 1 << 30, 512);
        chunks.write(Lane(0), (1 << 30) + 512, &[0; 3583]);
        assert_eq!(chunks.held_bytes(), 99 * 4096, "its last byte is not zero");
        chunks.clear(Lane(0), (1 << 30) + 4095, 1);
        assert_eq!(chunks.held_bytes(), 98 * 4096, "parts that are cleared one after the other free it too");
        chunks.clear(Lane(0), 0, u64::MAX >> 1);
        assert_eq!(chunks.held_bytes(), 0);
    }
}
