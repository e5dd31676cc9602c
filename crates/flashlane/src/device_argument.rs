//! DEVICE on a command line, resolved once.

use crate::device::resolve;
use crate::failure::Failure;
use flashlane_device::spec::Spec;
use flashlane_open::Target;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The spec of a device, and what it names once that is known. All clones resolve it together.
#[derive(Clone, Debug)]
pub struct DeviceArgument {
    spec: Spec,
    target: Arc<OnceLock<Target>>,
}

impl DeviceArgument {
    pub fn new(spec: Spec) -> Self {
        Self { spec, target: Arc::default() }
    }

    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Returns the device that the spec names, if it was resolved.
    pub fn resolved(&self) -> Option<&Target> {
        self.target.get()
    }

    /// Returns the device that the spec names. The first call resolves it, and one after an error does so again.
    pub fn target(&self) -> Result<&Target, Failure> {
        if let Some(target) = self.target.get() {
            return Ok(target);
        }
        let target = resolve(&self.spec)?;
        Ok(self.target.get_or_init(|| target))
    }
}

impl fmt::Display for DeviceArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spec.fmt(f)
    }
}
