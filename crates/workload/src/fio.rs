//! Support for fio users: its job files ([`FioFile`]), and hints for its options in Flashlane's own forms (`words`).
//!
//! Options are translated exactly or refused: an option that would change the measurement and has no equivalent is
//! refused by name. Options that cannot change it (display and logging of results) are listed in [`FioFile::ignored`].
//! Meanings are those of fio 3.33's HOWTO.

mod ini;
mod options;
mod values;
mod words;

pub use options::FioFile;
pub use words::answer as fio_word;
pub(crate) use words::{answer_within, whole_line};

#[cfg(test)]
mod tests;
