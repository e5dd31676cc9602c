//! What is wrong with a superblock as it was found: damage, foreign data, or a later program's.

/// Why a block cannot be used as a superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// It does not begin with the magic.
    #[error("is not ours")]
    Foreign,
    /// Its checksum is wrong.
    #[error("is damaged")]
    Damaged,
    /// Its checksum is right, but its fields are not possible.
    #[error("has invalid fields")]
    Nonsense,
    /// The device cannot read it.
    #[error("cannot be read")]
    Unreadable,
    /// It has a later version.
    #[error("is of version {0}")]
    Newer(u32),
}
