//! Counts of what a device did.

/// Named counts of what a device did since it was made, in a fixed order. Empty where a device cannot know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(pub Vec<(&'static str, u64)>);

impl Counters {
    /// The count called `name`, if the device keeps it.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }

    /// What was counted since `earlier` was taken from the same device.
    pub fn since(&self, earlier: &Self) -> Self {
        Self(self.0.iter().map(|&(n, v)| (n, v.saturating_sub(earlier.get(n).unwrap_or(0)))).collect())
    }

    /// What was counted in this time and in another, of the same device.
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

    /// Flash pages programmed for each page the host wrote; `None` before the first host write or where unknown.
    pub fn write_amplification(&self) -> Option<f64> {
        let host = self.get(Self::HOST_PAGES_WRITTEN)?;
        let flash = self.get(Self::FLASH_PAGES_PROGRAMMED)?;
        (host > 0).then(|| flash as f64 / host as f64)
    }

    /// Pages' worth of data that the host wrote (a part of a page counts as one).
    pub const HOST_PAGES_WRITTEN: &'static str = "host_pages_written";
    /// Pages programmed into flash, whoever asked: host, cleaning, wear leveling.
    pub const FLASH_PAGES_PROGRAMMED: &'static str = "flash_pages_programmed";
}
