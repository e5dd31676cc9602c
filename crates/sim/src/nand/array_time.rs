//! What an array time consists of.

use crate::energy::{EnergyMeter, Use};
use flashlane_base::{Duration, Instant};

/// The time of an array for reads, programs and erases that follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ArrayTime {
    pub(super) read: Duration,
    pub(super) program: Duration,
    pub(super) erase: Duration,
}

impl ArrayTime {
    pub(super) fn of_read(read: Duration) -> Self {
        Self { read, ..Self::default() }
    }

    pub(super) fn of_program(program: Duration) -> Self {
        Self { program, ..Self::default() }
    }

    pub(super) fn of_erase(erase: Duration) -> Self {
        Self { erase, ..Self::default() }
    }

    /// All of it.
    #[inline]
    pub(super) fn total(self) -> Duration {
        self.read + self.program + self.erase
    }

    /// Charges this array time of `planes` planes, which takes `time` by the flash's noise, within these two times.
    pub(super) fn charge(
        self,
        meter: &mut EnergyMeter,
        planes: u64,
        time: Duration,
        within: (Instant, Instant),
    ) {
        let total = u128::from(self.total().as_ns().max(1));
        let (mut nominal, mut charged) = (Duration::ZERO, Duration::ZERO);
        for (part, of) in [(self.read, Use::Read), (self.program, Use::Program), (self.erase, Use::Erase)] {
            nominal += part;
            let until = u128::from(nominal.as_ns()) * u128::from(time.as_ns()) / total;
            let until = Duration::from_ns(until as u64);
            meter.charge(of, planes, until - charged, within);
            charged = until;
        }
        debug_assert_eq!(charged, time, "no time is left");
    }
}
