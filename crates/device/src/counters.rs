//! Counters of a device.

/// Named counts since the device was created, in a fixed order. Empty where the device counts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(pub Vec<(&'static str, u64)>);

impl Counters {
    /// Returns the count called `name`, or `None` where the device does not keep it.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }

    /// Returns the difference to `earlier`, taken from the same device.
    pub fn since(&self, earlier: &Self) -> Self {
        Self(self.0.iter().map(|&(n, v)| (n, v.saturating_sub(earlier.get(n).unwrap_or(0)))).collect())
    }

    /// Returns the sum of the counts of two periods of one device.
    pub fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        for &(name, value) in &other.0 {
            match sum.0.iter_mut().find(|(n, _)| *n == name) {
                Some((_, total)) => *total += value,
                None => sum.0.push((name, value)),
            }
        }
        sum
    }

    /// Returns the bytes programmed into flash per byte that the host wrote and that no longer waits in a write buffer;
    /// `None` before the first such byte or where unknown.
    pub fn write_amplification(&self) -> Option<f64> {
        let host = self.get(Self::HOST_BYTES_SETTLED).or_else(|| self.get(Self::HOST_BYTES_WRITTEN))?;
        let flash = self.get(Self::FLASH_BYTES_PROGRAMMED)?;
        (host > 0).then(|| flash as f64 / host as f64)
    }

    /// Returns by how many pages a write buffer has filled up, of which some may be on their way to flash; 0 where it
    /// has emptied, or there is none.
    pub fn pages_left_in_buffer(&self) -> u64 {
        let of = |name: &str| self.get(name).unwrap_or(0);
        if self.get(Self::HOST_PAGES_SETTLED).is_none() {
            return 0;
        }
        let came = of(Self::HOST_PAGES_WRITTEN) + of(Self::BUFFER_PAGES_DRAINED);
        let went = of(Self::HOST_PAGES_SETTLED) + of(Self::PAGES_LOST) + of(Self::BUFFER_PAGES_PROGRAMMED);
        came.saturating_sub(went)
    }

    /// Pages that the host wrote; a partly written page counts as one, and one whose write failed as none.
    pub const HOST_PAGES_WRITTEN: &'static str = "host_pages_written";
    /// Of the pages that the host wrote, those that no longer wait in a write buffer: they were programmed, or replaced
    /// or trimmed before. Only devices with a buffer count them.
    pub const HOST_PAGES_SETTLED: &'static str = "host_pages_settled";
    /// Pages that a write buffer handed to flash.
    pub const BUFFER_PAGES_DRAINED: &'static str = "buffer_pages_drained";
    /// Of these, pages whose program has ended.
    pub const BUFFER_PAGES_PROGRAMMED: &'static str = "buffer_pages_programmed";
    /// Bytes that the host wrote, but for those whose write failed.
    pub const HOST_BYTES_WRITTEN: &'static str = "host_bytes_written";
    /// Of the bytes that the host wrote, those that no longer wait in a write buffer: their page was programmed, or it
    /// was replaced as a whole or trimmed before. Only devices with a buffer count them.
    pub const HOST_BYTES_SETTLED: &'static str = "host_bytes_settled";
    /// Bytes of the pages programmed into flash.
    pub const FLASH_BYTES_PROGRAMMED: &'static str = "flash_bytes_programmed";
    /// Of the pages that the host wrote, those that a write buffer lost, since no block was left to program them.
    pub const PAGES_LOST: &'static str = "pages_lost";
    /// Energy that the device took, in nanojoules: the sum of the counters whose names begin with
    /// [`Counters::ENERGY_OF`].
    pub const ENERGY: &'static str = "energy_nj";
    /// How the names of counters begin that have the energy of an operation or state, in nanojoules.
    pub const ENERGY_OF: &'static str = "energy_of_";
    /// Pages of the blocks that GC emptied, moved or stale, parity left out; of a block that is being emptied, a share
    /// in proportion to the valid pages that it no longer holds. Only drives that map pages count them.
    pub const PAGES_COLLECTED: &'static str = "pages_collected";
    /// Pages that GC and wear leveling moved.
    pub const PAGES_MOVED: &'static str = "pages_moved_by_cleaning";
    /// Those of them that were moved out of an SLC cache.
    pub const SLC_PAGES_FOLDED: &'static str = "slc_pages_folded";
    /// Pages of parity programmed.
    pub const PARITY_PAGES_PROGRAMMED: &'static str = "parity_pages_programmed";
    /// Pages programmed into flash for the host, GC and wear leveling.
    pub const FLASH_PAGES_PROGRAMMED: &'static str = "flash_pages_programmed";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_wait_in_a_buffer_are_not_saved() {
        let counted = |written: u64, settled: Option<u64>, programmed: u64| {
            let settled = settled.map(|settled| (Counters::HOST_PAGES_SETTLED, settled));
            let others = [
                (Counters::HOST_PAGES_WRITTEN, written),
                (Counters::HOST_BYTES_WRITTEN, 1024 * written),
                (Counters::FLASH_BYTES_PROGRAMMED, 4096 * programmed),
            ];
            // A quarter of each page was written.
            let bytes = settled.map(|(_, pages)| (Counters::HOST_BYTES_SETTLED, 1024 * pages));
            Counters(others.into_iter().chain(settled).chain(bytes).collect())
        };
        assert_eq!(counted(100, None, 120).write_amplification(), Some(4.8));
        let filled = counted(100, Some(60), 60);
        assert_eq!((filled.write_amplification(), filled.pages_left_in_buffer()), (Some(4.0), 40));
        // Sixty pages left the buffer that were written before.
        let emptied = counted(100, Some(160), 160);
        assert_eq!((emptied.write_amplification(), emptied.pages_left_in_buffer()), (Some(4.0), 0));
        // What could not be programmed does not wait.
        let mut worn = counted(100, Some(60), 66);
        worn.0.push((Counters::PAGES_LOST, 30));
        assert_eq!((worn.write_amplification(), worn.pages_left_in_buffer()), (Some(4.4), 10));
        assert_eq!(counted(40, Some(0), 0).write_amplification(), None);
        assert_eq!(Counters::default().write_amplification(), None);
    }
}
