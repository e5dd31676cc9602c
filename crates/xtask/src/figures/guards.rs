//! Attacks on the guards of data that is not ours.

use super::{Figure, Goal, number_after};

pub const WAYS: Figure = Figure {
    id: "guards",
    what: "other data at random places of a file, 200 rounds on a device with blocks and 25 on a plain file, then every \
           command without consent: the number of ways past the guards, by which a byte of it changed",
    goal: Some(Goal::AtMost(0.0, None)),
    command: "env FLASHLANE_GUARD_ROUNDS=200 cargo test -q -p flashlane --test cli foreign_data_anywhere_is_kept -- --nocapture",
    read: |output| number_after(output, "ways past the guards:"),
};
