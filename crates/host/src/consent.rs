//! The user's consent to the loss of data on one device. Made once from the options of a command or program; every
//! check asks it.

use std::path::PathBuf;

/// What the user has agreed to lose on a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Consent {
    /// Nothing: the device is only read.
    #[default]
    ReadOnly,
    /// Nothing: writes keep the blocks that are stored.
    KeepBlocks,
    /// The content of a file that this program has just made, so that no other program uses it even where that cannot
    /// be seen.
    NewFile,
    /// All data on a device that does not look used.
    Destroy,
    /// All data on a device even if it looks used: mounted, partitioned, with a known signature. Its path is repeated
    /// exactly as given; another path to the same device is refused.
    DestroyUsed(PathBuf),
}

/// A change of a device that requires consent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Any write.
    Write,
    /// Writes to any place, which lose the content: random bytes of a new file, or data.
    Overwrite,
    /// Writes that lose data.
    Destroy,
}

impl Consent {
    /// Returns whether the user agreed to `change`.
    pub fn allows(&self, change: Change) -> bool {
        match self {
            Self::ReadOnly => false,
            Self::KeepBlocks => change == Change::Write,
            Self::NewFile => change != Change::Destroy,
            Self::Destroy | Self::DestroyUsed(_) => true,
        }
    }

    /// Returns the consent of a caller that keeps the blocks on the device: other data in the way of its writes may be
    /// lost only where the path is repeated.
    pub fn keeping_blocks(self) -> Self {
        match self {
            Self::DestroyUsed(path) => Self::DestroyUsed(path),
            Self::ReadOnly | Self::KeepBlocks | Self::NewFile | Self::Destroy => Self::KeepBlocks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_consent_allows_what_the_ones_before_allow() {
        let used = Consent::DestroyUsed("/dev/sdb".into());
        let rows = [
            (Consent::ReadOnly, [false, false, false]),
            (Consent::KeepBlocks, [true, false, false]),
            (Consent::NewFile, [true, true, false]),
            (Consent::Destroy, [true, true, true]),
            (used.clone(), [true, true, true]),
        ];
        for (consent, allowed) in rows {
            let changes = [Change::Write, Change::Overwrite, Change::Destroy];
            assert_eq!(changes.map(|change| consent.allows(change)), allowed, "{consent:?}");
            // Blocks are kept whatever may be lost; only a repeated path also covers the use that a device shows.
            let kept = if consent == used { used.clone() } else { Consent::KeepBlocks };
            assert_eq!(consent.keeping_blocks(), kept);
        }
        assert_eq!(Consent::default(), Consent::ReadOnly);
    }
}
