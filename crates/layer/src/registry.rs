//! The registry of layers, by name.

use crate::entry::{Entry, Layer};
use crate::error::LayerError;
use crate::options::Options;
use crate::{backed, faulty, lanes, replicated, striped};

/// Every layer.
pub const LAYERS: &[&Entry] = &[
    &backed::ENTRY,
    &faulty::ENTRY,
    &lanes::settings::ENTRY,
    &replicated::settings::ENTRY,
    &striped::settings::ENTRY,
];

/// Reads the settings of the layer called `name`.
///
/// # Errors
/// [`LayerError`] where there is no such layer, or a setting is unknown, given twice or invalid.
pub fn layer(name: &str, settings: &[(String, String)]) -> Result<Layer, LayerError> {
    let entry = LAYERS.iter().find(|entry| entry.name == name).ok_or_else(|| LayerError::NoSuchLayer {
        given: name.into(),
        allowed: LAYERS.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
    })?;
    let plan = (entry.read)(&Options::new(entry.name, &(entry.options)(), settings)?)?;
    Ok(Layer { entry, plan })
}

/// Returns the layer that stores data for a device that models time only.
pub fn keeping_bytes() -> &'static Entry {
    LAYERS.iter().find(|entry| entry.adds.bytes).expect("a layer adds bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Stack;
    use flashlane_base::Seed;
    use flashlane_device::{NullDevice, spec::Spec};

    /// Returns a null device under the layers of `spec`, outermost first.
    fn stack(spec: &str) -> Result<Stack, LayerError> {
        fn over(spec: &Spec) -> Result<Stack, LayerError> {
            match spec {
                Spec::Layer { name, inner, options } => layer(name, options)?.build(over(inner)?, Seed(1)),
                _ => Ok(Stack::Timing(Box::new(NullDevice::new(1 << 20)))),
            }
        }
        over(&spec.parse().expect(spec))
    }

    fn refusal(spec: &str) -> String {
        match stack(spec) {
            Ok(_) => panic!("'{spec}' was built"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn built_device_is_named_by_its_spec() {
        for spec in [
            "backed(null:)",
            "faulty(null:,read-errors=1%,delays=@3,delay=250us,vanish-after=1000)",
            "faulty(null:,stuck-lane=0,stuck-for=250us)",
            "faulty(backed(null:),lost-writes=0.5%,torn-writes=@7)",
            "faulty(faulty(null:,read-errors=1%),write-errors=2%)",
            "replicated(null:,partitions=4,space=10%)",
            "replicated(backed(null:),partitions=2,space=25%,page=4KiB,copies=2,recency=30%,threshold=2.5%,delay=1500us)",
            "replicated(null:,partitions=4,space=10%,policy=lru,epoch=30s)",
        ] {
            assert_eq!(stack(spec).map(|s| s.info().name.clone()), Ok(spec.into()));
        }
    }

    #[test]
    fn errors_name_the_given_and_the_allowed_values() {
        for (spec, parts) in [
            ("bakced(null:)", &["'bakced'", "backed, faulty, lanes, replicated, striped"][..]),
            ("backed(null:,size=4k)", &["'backed'", "'size'", "it knows: file"]),
            ("backed(null:,file=/dev/null/bytes)", &["'file=/dev/null/bytes'", "Not a directory"]),
            ("faulty(null:,read-error=1%)", &["'read-error'", "read-errors, write-errors"]),
            ("faulty(null:,read-errors=1)", &["'read-errors=1'", "'1%'", "'@1000'"]),
            ("faulty(null:,read-errors=101%)", &["'read-errors=101%'", "over 100%"]),
            ("faulty(null:,read-errors=@0)", &["'read-errors=@0'", "from 1"]),
            ("faulty(null:,delays=1%,delay=5)", &["'delay=5'", "unit is missing"]),
            ("faulty(null:,delay=5ms)", &["'delay=5ms'", "'delays'"]),
            ("faulty(null:,vanish-after=soon)", &["'vanish-after=soon'", "a count"]),
            ("faulty(null:,torn-writes=1%)", &["'torn-writes'", "bytes", "'backed(null:)'"]),
            ("replicated(null:,partitions=1)", &["'partitions=1'", "a second partition", "2 to 256"]),
            ("replicated(null:,partitions=257)", &["'partitions=257'", "from 2 to 256"]),
            ("replicated(null:,partitions=6)", &["'partitions=6'", "128 pages of 8 KiB", "4 or 8 would"]),
            ("replicated(null:,partitions=4,copies=5)", &["'copies=5'", "from 2 to 4", "there are 4"]),
            ("replicated(null:,partitions=16,copies=9)", &["'copies=9'", "from 2 to 8"]),
            ("replicated(null:,copies=1)", &["'copies=1'", "from 2 to 8"]),
            ("replicated(null:,space=0%)", &["'space=0%'", "more than 0%", "'10%'"]),
            ("replicated(null:,space=100%)", &["'space=100%'", "less than 100%"]),
            ("replicated(null:,space=5%)", &["'space=5%'", "a partition's 16 for copies", "7% to 93%"]),
            ("replicated(null:,page=8)", &["'page=8'", "unit is missing"]),
            ("replicated(null:,page=1KB)", &["'page=1000 B'", "multiple", "512 B"]),
            ("replicated(null:,page=1536B)", &["'page=1536 B'", "divide", "1 MiB"]),
            ("replicated(null:,recency=100%)", &["'recency=100%'", "less than 100%"]),
            ("replicated(null:,recency=0%)", &["'recency=0%'", "more than 0%"]),
            ("replicated(null:,threshold=0.05)", &["'threshold=0.05'", "unit is missing"]),
            ("replicated(null:,policy=lfu)", &["'policy=lfu'", "pblru, lru"]),
            ("replicated(null:,policy=lru,recency=30%)", &["'recency=30%'", "unknown to policy 'lru'"]),
            ("replicated(null:,delay=0us)", &["'delay=0us'", "more than nothing"]),
            ("replicated(null:,epoch=0s)", &["'epoch=0s'", "more than nothing"]),
            ("replicated(null:,budget=10%)", &["'budget'", "partitions, space, page"]),
            ("backed(backed(null:))", &["'backed(null:)'", "bytes already"]),
        ] {
            let message = refusal(spec);
            for part in parts {
                assert!(message.contains(part), "'{spec}' gives '{message}', which lacks '{part}'");
            }
        }
    }

    impl PartialEq for Stack {
        fn eq(&self, other: &Self) -> bool {
            self.info() == other.info()
        }
    }
}
