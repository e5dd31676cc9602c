//! Replies that a client has not taken, in parts, so that what was taken frees its memory.
//!
//! Invariant: no part is empty, and `taken` is less than the length of the first one.

use std::collections::VecDeque;

/// Length at which a part ends.
const PART_BYTES: usize = 64 << 10;
/// Length of the longest reply without data that a part still begins.
const REPLY_BYTES: usize = 16 << 10;

#[derive(Debug, Default)]
pub(crate) struct Output {
    parts: VecDeque<Vec<u8>>,
    /// Bytes of the first part that were taken.
    taken: usize,
    /// Bytes that were appended since the start, and of these those that were taken.
    appended_bytes: u64,
    taken_bytes: u64,
    held_bytes: usize,
}

impl Output {
    /// Appends a short reply, which `write` appends to its argument.
    pub fn append<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let mut part = self.last_with_room(REPLY_BYTES);
        let (length, capacity) = (part.len(), part.capacity());
        let written = write(&mut part);
        self.appended_bytes += (part.len() - length) as u64;
        self.held_bytes = self.held_bytes + part.capacity() - capacity;
        if !part.is_empty() {
            self.parts.push_back(part);
        }
        written
    }

    /// Appends data.
    pub fn append_data(&mut self, data: &[u8]) {
        let mut rest = data;
        while !rest.is_empty() {
            let mut part = self.last_with_room(1);
            let capacity = part.capacity();
            let (now, later) = rest.split_at(rest.len().min(PART_BYTES - part.len()));
            if part.is_empty() {
                part.reserve_exact(now.len());
            }
            part.extend_from_slice(now);
            self.held_bytes = self.held_bytes + part.capacity() - capacity;
            self.parts.push_back(part);
            rest = later;
        }
        self.appended_bytes += data.len() as u64;
    }

    /// Removes the last part if it has room for `bytes`. Returns it, or a new one.
    fn last_with_room(&mut self, bytes: usize) -> Vec<u8> {
        match self.parts.back() {
            Some(part) if part.len() + bytes <= PART_BYTES => self.parts.pop_back().unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// Returns the first bytes that were not taken; empty where all were.
    pub fn first(&self) -> &[u8] {
        self.parts.front().map_or(&[], |part| &part[self.taken..])
    }

    /// Takes the first `bytes` of [`first`](Self::first).
    pub fn take(&mut self, bytes: usize) {
        self.taken += bytes;
        self.taken_bytes += bytes as u64;
        if self.parts.front().is_some_and(|part| part.len() == self.taken) {
            self.held_bytes -= self.parts.pop_front().map_or(0, |part| part.capacity());
            self.taken = 0;
        }
    }

    /// Returns the number of bytes that were not taken.
    pub fn waiting_bytes(&self) -> u64 {
        self.appended_bytes - self.taken_bytes
    }

    /// Returns the number of bytes that were appended since the start.
    pub fn appended_bytes(&self) -> u64 {
        self.appended_bytes
    }

    /// Returns the number of bytes that were taken since the start.
    pub fn taken_bytes(&self) -> u64 {
        self.taken_bytes
    }

    /// Returns the memory of what was not taken.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_what_was_appended_and_frees_what_was_taken() {
        let mut random = flashlane_base::Seed(3).source();
        let (mut output, mut model) = (Output::default(), VecDeque::new());
        for step in 0..20_000_u64 {
            let bytes = |length: u64| (0..length).map(|nth| (step + nth) as u8).collect::<Vec<_>>();
            match random.below(4) {
                0 => {
                    let reply = bytes(random.below(40));
                    output.append(|part| part.extend_from_slice(&reply));
                    model.extend(reply);
                }
                1 if model.len() < 1 << 20 => {
                    let data = bytes(random.below([100, 8192, 200_000][step as usize % 3]));
                    output.append_data(&data);
                    model.extend(data);
                }
                _ => {
                    let first = output.first();
                    let taken = random.below(first.len() as u64 + 1) as usize;
                    assert!(model.drain(..taken).eq(first[..taken].iter().copied()));
                    output.take(taken);
                }
            }
            assert_eq!(output.waiting_bytes(), model.len() as u64);
            assert_eq!(output.first().is_empty(), model.is_empty());
            assert_eq!(output.held_bytes(), output.parts.iter().map(Vec::capacity).sum::<usize>());
            assert!(output.held_bytes() <= 2 * model.len() + 2 * PART_BYTES + 64);
        }
    }

    #[test]
    fn memory_of_a_long_reply_is_freed_as_it_is_taken() {
        let mut output = Output::default();
        output.append(|part| part.extend([7; 16]));
        output.append_data(&vec![1; 32 << 20]);
        assert!(output.held_bytes() <= (32 << 20) + 2 * PART_BYTES, "{}", output.held_bytes());
        for _ in 0..256 {
            output.take(output.first().len());
        }
        assert!(output.held_bytes() <= (16 << 20) + 2 * PART_BYTES, "{}", output.held_bytes());
        while output.waiting_bytes() > 0 {
            output.take(output.first().len());
        }
        assert_eq!((output.held_bytes(), output.appended_bytes()), (0, output.taken_bytes()));
    }
}
