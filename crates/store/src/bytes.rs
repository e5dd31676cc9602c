//! Reading and writing of numbers in the formats on the device: little-endian, and variable-length (LEB128).

/// Appends a number of variable length: seven bits a byte, the lowest first.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Returns the bytes that [`put_varint`] appends.
pub fn varint_bytes(value: u64) -> u64 {
    u64::from((64 - (value | 1).leading_zeros()).div_ceil(7))
}

/// Appends bytes with their length before them.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads fields one after the other; `None` where the bytes end before.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Begins with the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the bytes that are not read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns whether all bytes are read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads this number of bytes.
    pub fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(length).ok()?)?;
        self.rest = rest;
        Some(taken)
    }

    /// Reads a byte.
    pub fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    /// Reads a number of 4 bytes.
    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes")))
    }

    /// Reads a number of 8 bytes.
    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().expect("eight bytes")))
    }

    /// Reads a number of 16 bytes.
    pub fn u128(&mut self) -> Option<u128> {
        Some(u128::from_le_bytes(self.take(16)?.try_into().expect("sixteen bytes")))
    }

    /// Reads what [`put_varint`] appends.
    pub fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Reads what [`put_bytes`] appends.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.varint()?;
        self.take(length)
    }

    /// Reads a list of numbers with their count before them.
    pub fn list(&mut self) -> Option<Vec<u64>> {
        let count = self.varint()?;
        // Each takes eight bytes: a false count does not take memory.
        if count > self.rest.len() as u64 / 8 {
            return None;
        }
        (0..count).map(|_| self.u64()).collect()
    }
}

/// Appends what [`Reader::list`] reads.
pub fn put_list(out: &mut Vec<u8>, list: &[u64]) {
    put_varint(out, list.len() as u64);
    list.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
}

/// Returns the least key above all keys that begin with `prefix`; `None` where there is none.
pub fn end_of_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let kept = prefix.iter().rposition(|&byte| byte < u8::MAX)? + 1;
    let mut end = prefix[..kept].to_vec();
    end[kept - 1] += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_length_are_read_back() {
        let values = (0..64).flat_map(|bits| [1_u64 << bits, (1 << bits) - 1, u64::MAX >> bits]);
        for value in values {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            assert_eq!(bytes.len() as u64, varint_bytes(value));
            let mut reader = Reader::new(&bytes);
            assert_eq!((reader.varint(), reader.is_empty()), (Some(value), true));
            assert_eq!(Reader::new(&bytes[..bytes.len() - 1]).varint(), None);
        }
        assert_eq!(Reader::new(&[0xff; 11]).varint(), None);
    }

    #[test]
    fn false_counts_are_refused() {
        let mut bytes = Vec::new();
        put_list(&mut bytes, &[7, u64::MAX]);
        assert_eq!(Reader::new(&bytes).list(), Some(vec![7, u64::MAX]));
        assert_eq!(Reader::new(&bytes[..bytes.len() - 1]).list(), None);
        let mut false_count = Vec::new();
        put_varint(&mut false_count, u64::MAX);
        assert_eq!(Reader::new(&false_count).list(), None);
        assert_eq!(Reader::new(&false_count).bytes(), None);
    }
}
