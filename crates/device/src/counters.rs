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

    /// Returns the flash pages programmed per page that the host wrote; `None` before the first host write or where
    /// unknown.
    pub fn write_amplification(&self) -> Option<f64> {
        let host = self.get(Self::HOST_PAGES_WRITTEN)?;
        let flash = self.get(Self::FLASH_PAGES_PROGRAMMED)?;
        (host > 0).then(|| flash as f64 / host as f64)
    }

    /// Pages that the host wrote; a partly written page counts as one.
    pub const HOST_PAGES_WRITTEN: &'static str = "host_pages_written";
    /// Pages programmed into flash for the host, GC and wear leveling.
    pub const FLASH_PAGES_PROGRAMMED: &'static str = "flash_pages_programmed";
}
