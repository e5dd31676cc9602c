//! The settings of the layer in a spec, and the checks against the device below.

use super::stripes::Stripes;
use super::{Bytes, Striped, Timing};
use crate::entry::{Capabilities, Entry, Plan, Prepared, Stack, StateChange};
use crate::error::LayerError;
use crate::label::label;
use crate::options::{OptionHelp, Options};
use crate::state::StateOptions;
use flashlane_base::units::{exact_bytes, parse_bytes, parse_count, typed_bytes};
use flashlane_device::DeviceInfo;
use std::sync::Arc;

const NAME: &str = "striped";

pub(crate) const ENTRY: Entry = Entry {
    name: NAME,
    summary: "stripes erase units over several lanes, so that one large access uses all of them",
    adds: Capabilities { erase_units: false, bytes: false, stored_state: false },
    options,
    read: |options| Ok(Arc::new(Settings::parse(options)?)),
};

/// Bytes on a lane before the next lane follows, where the spec does not say, and the fewest that it may say.
const STRIPE_BYTES: u64 = 128 << 10;
const STRIPE_BYTES_MIN: u64 = 4 << 10;
/// Lanes of a unit where the spec does not say.
const LANES: u32 = 4;

/// The settings of the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Lanes of the device below that are one lane of the layer.
    pub lanes: u32,
    /// Bytes on a lane before the next lane follows.
    pub stripe_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { lanes: LANES, stripe_bytes: STRIPE_BYTES }
    }
}

fn options() -> Vec<OptionHelp> {
    vec![
        OptionHelp { key: "lanes", value: "N", summary: "lanes that a unit is striped over; default: 4" },
        OptionHelp {
            key: "stripe",
            value: "SIZE",
            summary: "bytes on a lane before the next lane follows; default: 128KiB",
        },
    ]
}

impl Settings {
    fn parse(options: &Options<'_>) -> Result<Self, LayerError> {
        let lanes = options.read("lanes", |given| match parse_count(given) {
            Ok(lanes @ 2..=1024) => Ok(lanes as u32),
            Ok(_) => Err("a unit is striped over 2 to 1024 lanes".to_owned()),
            Err(error) => Err(error.to_string()),
        })?;
        let lanes = lanes.unwrap_or(LANES);
        let stripe_bytes = options.read("stripe", |given| match parse_bytes(given) {
            Ok(bytes @ STRIPE_BYTES_MIN..=STRIPE_BYTES) if bytes.is_power_of_two() => match halvings(bytes) {
                halvings if halvings < lanes => Ok(bytes),
                halvings => Err(format!(
                    "stripes of {} need at least {} lanes, as a unit begins one lane further for each halving of {}, which \
                     tells stripes of different sizes on a device apart; allowed with {lanes} lanes: at least {}",
                    exact_bytes(bytes),
                    halvings + 1,
                    exact_bytes(STRIPE_BYTES),
                    exact_bytes(STRIPE_BYTES >> (lanes - 1)),
                )),
            },
            Ok(_) => Err("a stripe has a power of two from 4 KiB to 128 KiB".to_owned()),
            Err(error) => Err(error.to_string()),
        })?;
        Ok(Self { lanes, stripe_bytes: stripe_bytes.unwrap_or(STRIPE_BYTES) })
    }

    /// Returns how units lie on the device below, and the properties of the layer.
    ///
    /// # Errors
    /// [`LayerError::Unsuited`] where the device has no lanes of this number, or units that stripes do not divide.
    pub(super) fn over(self, below: &DeviceInfo) -> Result<(Stripes, DeviceInfo), LayerError> {
        let Self { lanes, stripe_bytes } = self;
        let unsuited =
            |reason: String| Err(LayerError::Unsuited { layer: NAME, device: below.name.clone(), reason });
        if below.erase_unit_bytes == 0 {
            return unsuited(
                "it has no erase units; lanes of them are given by 'lanes(DEVICE)' or 'sim:sdf'".into(),
            );
        }
        if below.zones.is_some() {
            return unsuited("its erase units are zones, of which only a few may be open; it needs lanes without such limits".into());
        }
        if !below.lanes.is_multiple_of(lanes) {
            return unsuited(format!("its {} lanes are not a multiple of {lanes}", below.lanes));
        }
        if below.depth < lanes {
            return unsuited(format!(
                "it takes {} requests at once, fewer than one for each of {lanes} lanes",
                below.depth
            ));
        }
        let divides = |part: u64, whole: u64| whole.is_multiple_of(part);
        let write_bytes = below.write_unit_bytes.max(stripe_bytes);
        if !divides(stripe_bytes, below.erase_unit_bytes)
            || !divides(below.read_unit_bytes, stripe_bytes)
            || !divides(below.write_unit_bytes.min(stripe_bytes), write_bytes)
        {
            let text = |bytes: u64| exact_bytes(bytes).to_string();
            return unsuited(format!(
                "stripes of {} do not fit its units of {} (read), {} (written) and {} (erased): each has to divide the other",
                text(stripe_bytes),
                text(below.read_unit_bytes),
                text(below.write_unit_bytes),
                text(below.erase_unit_bytes),
            ));
        }
        let mut settings = format!(",lanes={lanes}");
        if stripe_bytes != STRIPE_BYTES {
            settings += &format!(",stripe={}", typed_bytes(stripe_bytes));
        }
        let factor = u64::from(lanes);
        let info = DeviceInfo {
            name: label(NAME, &below.name, &settings),
            capacity_bytes: below.capacity_bytes * factor,
            lanes: below.lanes / lanes,
            write_unit_bytes: write_bytes * factor,
            erase_unit_bytes: below.erase_unit_bytes * factor,
            depth: below.depth / lanes,
            ..below.clone()
        };
        let first_lane = halvings(stripe_bytes) % lanes;
        Ok((Stripes { lanes, stripe_bytes, part_bytes: below.erase_unit_bytes, first_lane }, info))
    }
}

/// How often the usual stripe has to be halved for this one. Units begin on as many lanes further, so that stripes of
/// another size find no block of theirs on a device, instead of damaged ones.
fn halvings(stripe_bytes: u64) -> u32 {
    (STRIPE_BYTES / stripe_bytes).checked_ilog2().unwrap_or(0)
}

impl Plan for Settings {
    fn planned(&self, below: &DeviceInfo) -> Result<DeviceInfo, LayerError> {
        Ok(self.over(below)?.1)
    }

    fn divides_units(&self) -> bool {
        true
    }

    fn prepare(&self, inner: Stack, _: StateOptions) -> Result<Prepared, LayerError> {
        let settings = *self;
        settings.over(inner.info())?;
        Ok(Prepared::new(StateChange::None, move |_| {
            Ok(match inner {
                Stack::Timing(device) => Stack::Timing(Box::new(Striped::new(Timing(device), settings)?)),
                Stack::Data(device) => Stack::Data(Box::new(Striped::new(Bytes(device), settings)?)),
            })
        }))
    }
}
