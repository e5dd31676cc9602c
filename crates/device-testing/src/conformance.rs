//! Conformance tests: the laws that every device keeps, simulated, real or layered.
//!
//! [`check`] creates fresh devices with `make` and tests one law at a time; [`check_data`] adds the laws of devices
//! that store data. A broken law panics and names the law and the device. Every call is also checked for the
//! invariants: the clock never goes back, each accepted request completes exactly once and under its own id,
//! completions come in order of time and never from the future.
//!
//! The tests adapt to any device: units, lanes, capacity, depth and read-only come from the device. They overwrite the
//! device's data. They submit about two thousand small requests and a few dozen flushes, which takes well under a
//! second on a file. At most one device made by `make` is alive at a time, except that simulated drives also run in
//! pairs.

mod data;
mod law;
mod laws;
mod random;
mod refusals;
#[cfg(test)]
mod tests;
mod units;
mod watched;
mod zones;

use flashlane_device::{DataDevice, Device};
use law::{Law, Make};
use watched::{Health, Watched};

/// Tests devices from `make` against every law.
///
/// # Panics
/// Where a law is broken; the message names the law, the device and the observation.
pub fn check(make: &mut dyn FnMut() -> Box<dyn Device>) {
    run(make, Health::Sound);
}

/// Like [`check`], for devices with injected failures: requests may fail, and from some point on the device may return
/// [`DeviceLost`](flashlane_device::SubmitError::DeviceLost). All other laws still hold.
///
/// # Panics
/// As [`check`].
pub fn check_failing(make: &mut dyn FnMut() -> Box<dyn Device>) {
    run(make, Health::Failing);
}

/// Tests devices that store data against every law, including those about data.
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
    for (name, law) in
        laws::LAWS.iter().chain(random::LAWS).chain(refusals::LAWS).chain(units::LAWS).chain(zones::LAWS)
    {
        match law {
            Law::Alone(law) => law(Watched::new(make(), name, health)),
            Law::Simulated(law) => {
                if make().info().simulated {
                    law(make, name, health);
                }
            }
        }
    }
}
