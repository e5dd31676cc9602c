//! A caller's own policy in a simulated drive.

use flashlane_base::{Instant, Seed};
use flashlane_device::{Device, Request};
use flashlane_open::{OpenError, OpenOptions};
use flashlane_policy::cleaning::{self, Cleaning, View};
use flashlane_policy::registry::Entry;
use flashlane_policy::{OptionError, Options, Policies};

/// Chooses the candidate with the most valid pages, the worst choice.
struct Fullest;

impl Cleaning for Fullest {
    fn choose(&mut self, view: View<'_>) -> Option<usize> {
        (0..view.valid.len()).filter(|&block| view.is_candidate(block)).max_by_key(|&block| view.valid[block])
    }
}

fn fullest(_: Seed, _: &Options) -> Result<Box<dyn Cleaning>, OptionError> {
    Ok(Box::new(Fullest))
}

fn policies() -> Policies {
    let mut policies = Policies::default();
    let entry = Entry {
        name: "fullest",
        summary: "the fullest block",
        is_random: false,
        build: fullest as cleaning::Build,
    };
    policies.cleaning.add(entry).expect("the name is free");
    policies
}

/// Returns the time and write amplification of random writes to a drive with this cleaning policy.
fn overwritten(policy: &str) -> (Instant, f64) {
    let spec =
        format!("sim:ssd-s,capacity=192MiB,flash.blocks=64,initial.state=full,cleaning.policy={policy}");
    let options = OpenOptions::new().policies(policies()).seed(Seed(1));
    let mut device = options.open(&spec).expect("a drive").device;
    let mut random = Seed(2).source();
    let mut out = Vec::new();
    for id in 0..30_000 {
        let page = random.below(device.info().capacity_bytes / 4096);
        device.submit(Request::write(id, page * 4096, 4096)).expect("the drive takes it");
        device.reap(Instant::FAR, &mut out);
    }
    (device.now(), device.counters().write_amplification().expect("pages were written"))
}

#[test]
fn callers_policy_runs_in_a_simulated_drive() {
    let (ended, amplification) = overwritten("fullest");
    assert_eq!((ended, amplification), overwritten("fullest"), "the same run twice");
    let (_, greedy) = overwritten("greedy");
    assert!(amplification > 1.5 * greedy, "fullest {amplification}, greedy {greedy}");
}

#[test]
fn callers_policy_is_known_to_that_caller_only() {
    let spec = "sim:ssd-s,cleaning.policy=fullest";
    let error = OpenOptions::new().open(spec).expect_err("nothing was added");
    assert!(matches!(error, OpenError::Profile { .. }), "{error}");
    assert!(error.to_string().contains("greedy, cost-benefit, d-choice"), "{error}");
    let error =
        OpenOptions::new().policies(policies()).open("sim:ssd-s,cleaning.policy=full").expect_err("none");
    assert!(error.to_string().contains("fullest"), "{error}");
}
