//! The grammar of device specs.

use crate::Target;
use flashlane_device::spec::Spec;

pub(crate) const TARGET: Target = Target {
    name: "spec_grammar",
    body,
    seeds: &[
        "/dev/nvme0n1",
        "./a file, with (odd) name",
        "sim:ssd-s",
        "sim:my.toml,channels=16,flash.read=25us",
        "sim:sdf,channels=4#7",
        "replicated(sim:ssd-s,partitions=16)",
        "faulty(backed((sim:ssd-s,channels=4)),bit-flips=1%,vanish-after=1000)",
        "lanes((/tmp/a,b),channels=44,unit=8MiB)",
        "a(b(c((sim:x#3))))",
    ],
};

fn body(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match text.parse::<Spec>() {
        Ok(spec) => {
            let written = spec.to_string();
            let again = written.parse::<Spec>();
            assert_eq!(again.as_ref(), Ok(&spec), "'{text}' is written as '{written}'");
        }
        Err(error) => {
            assert!(error.position <= text.chars().count(), "{error} lies beyond the text");
            assert!(!error.reason.is_empty() && !error.to_string().is_empty());
        }
    }
}
