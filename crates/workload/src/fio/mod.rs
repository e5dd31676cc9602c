//! fio's language: its job files ([`FioFile`]), and its words where they stand in our own forms (`words`).
//!
//! What means something here is translated, exactly or not at all: an option that would change what is measured and has
//! no equivalent is refused by its name. Options that cannot change it (how results are shown and logged) are listed in
//! [`FioFile::ignored`]. Meanings are those of fio 3.33's HOWTO.

mod ini;
mod options;
mod values;
mod words;

pub use options::FioFile;
pub use words::answer as fio_word;
pub(crate) use words::{answer_within, rewritten};

#[cfg(test)]
mod tests;
