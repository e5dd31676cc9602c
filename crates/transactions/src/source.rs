//! Where transactions come from.

use crate::recording::{Header, OpenError, ReadError, Recording, Totals, Transaction};
use crate::synthetic::TpcB;

/// Supplies transactions, in their order.
pub trait Source {
    /// Facts that hold for all of them.
    fn header(&self) -> &Header;

    /// Makes the next transaction in `into`, whose memory is used again; returns false where there is no other.
    ///
    /// # Errors
    /// [`ReadError`] where the rest cannot be read.
    fn next(&mut self, into: &mut Transaction) -> Result<bool, ReadError>;

    /// Returns how often the same transactions were begun.
    fn passes(&self) -> u64 {
        1
    }
}

impl Source for TpcB {
    fn header(&self) -> &Header {
        TpcB::header(self)
    }

    fn next(&mut self, into: &mut Transaction) -> Result<bool, ReadError> {
        self.make(into);
        Ok(true)
    }
}

impl Source for Recording {
    fn header(&self) -> &Header {
        Recording::header(self)
    }

    fn next(&mut self, into: &mut Transaction) -> Result<bool, ReadError> {
        self.read(into)
    }
}

/// Opens a recording, each time at its beginning.
type Open = Box<dyn Fn() -> Result<Recording, OpenError>>;

/// A recording that begins anew at its end.
pub struct Repeated {
    open: Open,
    recording: Recording,
    passes: u64,
}

impl Repeated {
    /// Begins the recording that `open` opens, which MUST open the same one each time: a regular file, or memory.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn new(open: impl Fn() -> Result<Recording, OpenError> + 'static) -> Result<Self, OpenError> {
        Ok(Self { recording: open()?, open: Box::new(open), passes: 1 })
    }
}

impl Source for Repeated {
    fn header(&self) -> &Header {
        self.recording.header()
    }

    fn next(&mut self, into: &mut Transaction) -> Result<bool, ReadError> {
        if self.recording.read(into)? {
            return Ok(true);
        }
        let again = (self.open)().map_err(|error| match error {
            OpenError::Read { source, .. } => source,
            OpenError::File(error) => {
                ReadError::Io { source: std::io::Error::other(error), offset: 0, transactions: 0 }
            }
        })?;
        if again.header() != self.recording.header() {
            return Err(ReadError::Damaged {
                damage: "has changed while it was read",
                offset: 0,
                transactions: 0,
            });
        }
        self.recording = again;
        self.passes += 1;
        self.recording.read(into)
    }

    fn passes(&self) -> u64 {
        self.passes
    }
}

/// Sums of a whole recording.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Survey {
    /// Its totals.
    pub totals: Totals,
    /// Its accesses that change a page.
    pub writes: u64,
    /// Processor time of all transactions, in seconds.
    pub cpu_s: f64,
}

impl Survey {
    /// Reads a recording to its end, which checks all of it; calls `watch` now and then.
    ///
    /// # Errors
    /// [`ReadError`] where it cannot be read.
    pub fn of(recording: &mut Recording, mut watch: impl FnMut()) -> Result<Self, ReadError> {
        /// Transactions between two calls.
        const STEP: u64 = 1024;
        let mut survey = Self::default();
        let mut read = 0_u64;
        let mut transaction = Transaction::default();
        while recording.read(&mut transaction)? {
            survey.writes += transaction.accesses.iter().filter(|access| access.is_write()).count() as u64;
            survey.cpu_s += transaction.cpu.as_s_f64();
            read += 1;
            if read.is_multiple_of(STEP) {
                watch();
            }
        }
        survey.totals = recording.totals().expect("the end has the totals");
        Ok(survey)
    }
}
