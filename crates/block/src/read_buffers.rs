//! Buffers of finished reads, kept for later ones: the first use of fresh memory costs as much as the read.
//!
//! Buffers are kept by classes, the powers of two from a page on. Reads of any lengths share them so.
//!
//! Invariant: `kept_bytes` is the sum of the classes' buffers, and at most [`KEPT_BYTES_MAX`].

use flashlane_device::Buffer;

/// Most bytes of buffers that are kept.
const KEPT_BYTES_MAX: usize = 32 << 20;
/// Bytes of the smallest class.
const SMALLEST_BYTES: usize = 4096;

/// Buffers for reads.
#[derive(Default)]
pub(crate) struct ReadBuffers {
    /// The buffers of each class, from the smallest on.
    classes: Vec<Vec<Buffer>>,
    kept_bytes: usize,
}

impl ReadBuffers {
    /// Returns a buffer of this length with any content.
    pub(crate) fn take(&mut self, length_bytes: usize) -> Buffer {
        let class = class_of(length_bytes);
        let mut buffer = match self.classes.get_mut(class).and_then(Vec::pop) {
            Some(buffer) => {
                self.kept_bytes -= SMALLEST_BYTES << class;
                buffer
            }
            None => Buffer::zeroed(SMALLEST_BYTES << class),
        };
        buffer.set_len(length_bytes);
        buffer
    }

    /// Keeps a buffer that came from here. Where there are too many, one of the class with the most bytes goes.
    pub(crate) fn keep(&mut self, buffer: Buffer) {
        let class = class_of(buffer.len());
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, Vec::new);
        }
        self.classes[class].push(buffer);
        self.kept_bytes += SMALLEST_BYTES << class;
        if self.kept_bytes > KEPT_BYTES_MAX {
            let bytes = |class: &usize| self.classes[*class].len() << class;
            let largest = (0..self.classes.len()).max_by_key(bytes).expect("there is a class");
            self.classes[largest].pop();
            self.kept_bytes -= SMALLEST_BYTES << largest;
        }
        debug_assert!(self.kept_bytes <= KEPT_BYTES_MAX.max(SMALLEST_BYTES << class));
    }
}

fn class_of(length_bytes: usize) -> usize {
    length_bytes.div_ceil(SMALLEST_BYTES).next_power_of_two().ilog2() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;

    #[test]
    fn buffers_of_mixed_lengths_are_used_again_within_the_bound() {
        let (mut buffers, mut random, mut out) = (ReadBuffers::default(), Seed(1).source(), Vec::new());
        for step in 0..20_000 {
            if out.len() < 64 && random.chance(0.5) {
                let length = 512 * (1 + random.below(1024)) as usize;
                let buffer = buffers.take(length);
                assert_eq!((buffer.len(), buffer.as_slice().len()), (length, length), "step {step}");
                out.push(buffer);
            } else if !out.is_empty() {
                let nth = random.below(out.len() as u64) as usize;
                buffers.keep(out.swap_remove(nth));
            }
            let kept = buffers.classes.iter().enumerate().map(|(class, kept)| kept.len() << class);
            assert_eq!(kept.sum::<usize>() * SMALLEST_BYTES, buffers.kept_bytes, "step {step}");
            assert!(buffers.kept_bytes <= KEPT_BYTES_MAX, "step {step}");
        }
        assert!(buffers.kept_bytes > 0);
    }

    #[test]
    fn same_memory_serves_another_length_of_its_class() {
        let mut buffers = ReadBuffers::default();
        let first = buffers.take(300_000);
        let memory = first.as_slice().as_ptr();
        buffers.keep(first);
        let (second, third) = (buffers.take(500_000), buffers.take(500_000));
        assert_eq!(second.as_slice().as_ptr(), memory);
        assert_ne!(third.as_slice().as_ptr(), memory);
    }
}
