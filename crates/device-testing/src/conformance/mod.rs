//! The conformance body: the laws that every device keeps, simulated, real or layered.
//!
//! [`check`] takes a way to make a fresh device and drives it through the laws, one at a time; [`check_data`] adds
//! those of devices that keep bytes. A broken law panics and names the law and the device. Whatever law is being
//! tried, every call is looked at for what must always hold: the clock never goes back, each accepted request
//! completes exactly once and under its own id, completions come in order of time and never from the future.
//!
//! The body fits any profile: it reads units, lanes, capacity, depth and read-only from the device. It writes all
//! over the device, so give it scratch. It asks for some two thousand small requests and a few dozen flushes, which
//! takes well under a second on a file. At most one device made by `make` is alive at a time, except that simulated
//! drives are also run two by two.

mod data;
mod law;
mod laws;
mod random;
mod refusals;
#[cfg(test)]
mod tests;
mod units;
mod watched;

use flashlane_device::{DataDevice, Device};
use law::{Law, Make};
use watched::{Health, Watched};

/// Drives devices from `make` through every law.
///
/// # Panics
/// Where a law is broken, naming it, the device, and what was seen.
pub fn check(make: &mut dyn FnMut() -> Box<dyn Device>) {
    run(make, Health::Sound);
}

/// Like [`check`] for devices that fail on purpose: a request may complete with a failure, and from some point on
/// the device may answer [`Gone`](flashlane_device::SubmitError::DeviceLost). All other laws hold even then.
///
/// # Panics
/// As [`check`].
pub fn check_failing(make: &mut dyn FnMut() -> Box<dyn Device>) {
    run(make, Health::Failing);
}

/// Drives devices that keep bytes through every law, those about bytes included.
///
/// # Panics
/// As [`check`].
pub fn check_data(make: &mut dyn FnMut() -> Box<dyn DataDevice>) {
    check(&mut || make() as Box<dyn Device>);
    for (name, law) in data::LAWS {
        law(Watched::new(make(), name, Health::Sound));
    }
}

fn run(make: &mut Make<'_>, health: Health) {
    for (name, law) in laws::LAWS.iter().chain(random::LAWS).chain(refusals::LAWS).chain(units::LAWS) {
        match law {
            Law::Alone(law) => law(Watched::new(make(), name, health)),
            Law::Simulated(law) => {
                if make().profile().simulated {
                    law(make, name, health);
                }
            }
        }
    }
}
