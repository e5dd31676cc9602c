//! The settings of the layer in a spec, and the checks against the device below.

use super::layout::Layout;
use super::{Bytes, Replicated, Timing};
use crate::entry::{Capabilities, Entry, Plan, Prepared, Stack, StateChange};
use crate::error::LayerError;
use crate::options::{OptionHelp, Options};
use crate::state::StateOptions;
use flashlane_base::Duration;
use flashlane_base::units::{
    exact_bytes, parse_bytes, parse_count, parse_duration, parse_share, typed_bytes, typed_duration,
};
use flashlane_device::DeviceInfo;
use flashlane_policy::OptionError;
use flashlane_policy::replication::{FAMILY, Replication};
use flashlane_replication::{EPOCH, MOST_COPIES, ROUND};
use std::fmt;
use std::sync::Arc;

pub(super) const NAME: &str = "replicated";

pub(crate) const ENTRY: Entry = Entry {
    name: NAME,
    summary: "copies pages that are often blocked to other partitions, and uses the one that is done first",
    adds: Capabilities { erase_units: false, bytes: false, stored_state: false },
    options,
    read: |options| Ok(Arc::new(Settings::parse(options)?)),
};

/// Partitions at most.
const MOST_PARTITIONS: u64 = 256;
/// Requests of a round at most.
const MOST_IN_ROUND: u64 = 1 << 20;
/// Copies of a page, itself included, where there are enough partitions (he14, table 2).
const COPIES: u32 = 4;

/// The settings of the layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Parts that the device is divided into, which the paper calls chips.
    pub partitions: u32,
    /// Share of each partition that holds copies.
    pub space: f64,
    /// Length of a page.
    pub page_bytes: u64,
    /// Copies of a page at most, itself included; `None` for 4, or the number of partitions if that is less.
    pub copies: Option<u32>,
    /// Name of the replication policy.
    pub policy: String,
    /// Share of the groups that the policy keeps because they were used last, where given.
    pub recency: Option<f64>,
    /// Blocking probability above which a blocked read is replicated, where given.
    pub threshold: Option<f64>,
    /// D, where given.
    pub delay: Option<Duration>,
    /// Time between two estimates of the thresholds of extra writes.
    pub epoch: Duration,
    /// Requests of a round, which is with copies or without.
    pub round: u32,
    /// Whether pages are copied where that makes accesses slower, too.
    pub always: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            partitions: 8,
            space: 0.1,
            page_bytes: 8 << 10,
            copies: None,
            policy: "pblru".into(),
            recency: None,
            threshold: None,
            delay: None,
            epoch: EPOCH,
            round: ROUND,
            always: false,
        }
    }
}

fn options() -> Vec<OptionHelp> {
    let option = |key, value, summary| OptionHelp { key, value, summary };
    vec![
        option("partitions", "COUNT", "equal parts of the device, each for a chip (8)"),
        option("space", "SHARE", "share of each partition that holds copies (10%)"),
        option("page", "SIZE", "length of a page (8KiB)"),
        option("copies", "COUNT", "copies of a page at most, itself included (4, or all partitions)"),
        option("policy", "NAME", "which group gives way: pblru or lru (pblru)"),
        option("recency", "SHARE", "groups that pblru keeps because they were used last (50%)"),
        option("threshold", "SHARE", "blocking probability above which pblru copies a blocked read (5%)"),
        option("delay", "TIME", "time after which an access is blocked (twice the median write, or read)"),
        option("epoch", "TIME", "time between two estimates of how long a partition stays idle (60s)"),
        option("round", "COUNT", "requests served with copies, or without, at a time (2048)"),
        option("always", "yes|no", "whether pages are copied where that makes accesses slower, too (no)"),
    ]
}

/// Refuses a value.
fn refuse(key: &'static str, given: impl fmt::Display, reason: impl Into<String>) -> LayerError {
    LayerError::Value { layer: NAME, key, given: given.to_string(), reason: reason.into() }
}

impl Settings {
    pub(super) fn parse(options: &Options<'_>) -> Result<Self, LayerError> {
        let mut settings = Self::default();
        let count = |lowest: u64, highest: u64| {
            move |text: &str| {
                let count = parse_count(text).map_err(|error| error.to_string())?;
                match (lowest..=highest).contains(&count) {
                    true => Ok(count as u32),
                    false => Err(format!("it is from {lowest} to {highest}")),
                }
            }
        };
        if let Some(partitions) = options.read("partitions", |text| match parse_count(text) {
            Ok(1) => Err("a copy needs a second partition; give 2 to 256".into()),
            _ => count(2, MOST_PARTITIONS)(text),
        })? {
            settings.partitions = partitions;
        }
        if let Some(space) = options.read("space", open_share("10%"))? {
            settings.space = space;
        }
        if let Some(page_bytes) = options.read("page", |text| match parse_bytes(text) {
            Ok(0) => Err("a page holds something; write it like '8KiB'".to_owned()),
            other => other.map_err(|error| error.to_string()),
        })? {
            settings.page_bytes = page_bytes;
        }
        let most = u64::from(MOST_COPIES.min(settings.partitions));
        settings.copies = options.read("copies", |text| {
            count(2, most)(text).map_err(|error| match settings.partitions {
                partitions if partitions < MOST_COPIES => {
                    format!("{error}, since each copy is on another partition and there are {partitions}")
                }
                _ => error,
            })
        })?;
        if let Some(policy) = options.read("policy", |text| Ok::<_, String>(text.to_owned()))? {
            settings.policy = policy;
        }
        settings.recency = options.read("recency", open_share("50%"))?;
        settings.threshold = options.read("threshold", parse_share)?;
        settings.delay = options.read("delay", positive)?;
        if let Some(epoch) = options.read("epoch", positive)? {
            settings.epoch = epoch;
        }
        if let Some(round) = options.read("round", count(1, MOST_IN_ROUND))? {
            settings.round = round;
        }
        settings.always = options.read("always", yes_or_no)?.unwrap_or(false);
        settings.build_policy(1)?;
        Ok(settings)
    }

    /// Returns the number of copies of a page at most, itself included.
    pub(super) fn most_copies(&self) -> u32 {
        self.copies.unwrap_or(COPIES.min(self.partitions))
    }

    /// Builds the policy for a number of groups.
    pub(super) fn build_policy(&self, groups: u32) -> Result<Box<dyn Replication>, LayerError> {
        let given = [("recency", self.recency), ("threshold", self.threshold)];
        let given = given.iter().filter_map(|&(key, value)| Some((key.to_owned(), value?.to_string())));
        let policy = FAMILY.build(&self.policy, groups, &flashlane_policy::Options::new(given));
        policy.map_err(|error| {
            let (key, given) = match &error {
                OptionError::Unknown { name, .. } if name == "recency" => ("recency", self.recency),
                OptionError::Unknown { name, .. } if name == "threshold" => ("threshold", self.threshold),
                _ => ("policy", None),
            };
            let given = given.map_or_else(|| self.policy.clone(), percent);
            refuse(key, given, error.to_string())
        })
    }

    /// Divides a device.
    pub(super) fn layout(&self, below: &DeviceInfo) -> Result<Layout, LayerError> {
        check_kind(below)?;
        let in_partition = self.pages(below)? / u64::from(self.partitions);
        let slots = self.slots(in_partition)?;
        let data_pages = (in_partition - slots) as u32;
        Ok(Layout {
            partitions: self.partitions,
            page_bytes: self.page_bytes,
            data_pages,
            slots: slots as u32,
        })
    }

    /// Returns the number of pages of a device, of which each partition has as many as any other.
    fn pages(&self, below: &DeviceInfo) -> Result<u64, LayerError> {
        let Self { partitions, page_bytes, .. } = *self;
        let refuse_page = |reason| Err(refuse("page", exact_bytes(page_bytes), reason));
        let unit = below.write_unit_bytes.max(below.read_unit_bytes);
        if !page_bytes.is_multiple_of(unit) {
            return refuse_page(format!("it is a multiple of the device's unit of {}", exact_bytes(unit)));
        }
        let capacity = exact_bytes(below.capacity_bytes);
        if !below.capacity_bytes.is_multiple_of(page_bytes) {
            return refuse_page(format!("it does not divide the device's {capacity}"));
        }
        let pages = below.capacity_bytes / page_bytes;
        if !pages.is_multiple_of(partitions.into()) {
            let divides = |count: &u64| pages.is_multiple_of(*count);
            let fewer = (2..u64::from(partitions)).rev().find(divides);
            let more = (u64::from(partitions) + 1..=MOST_PARTITIONS).find(divides);
            let would: Vec<String> = fewer.into_iter().chain(more).map(|count| count.to_string()).collect();
            let would = match would.is_empty() {
                true => "no count does; another page might".to_owned(),
                false => format!("{} would", would.join(" or ")),
            };
            let page = exact_bytes(page_bytes);
            let reason = format!(
                "the device's {capacity} are {pages} pages of {page}, which it does not divide; {would}"
            );
            return Err(refuse("partitions", partitions, reason));
        }
        if pages > u64::from(u32::MAX) {
            let least = below.capacity_bytes.div_ceil(u32::MAX.into()).next_power_of_two();
            return refuse_page(format!("the device has {pages} pages; {} would do", exact_bytes(least)));
        }
        Ok(pages)
    }

    /// Returns the number of slots for copies among the pages of a partition; the others are for data.
    fn slots(&self, in_partition: u64) -> Result<u64, LayerError> {
        let Self { partitions, page_bytes, space, .. } = *self;
        if in_partition < 2 {
            let page = exact_bytes(page_bytes);
            let reason = format!(
                "each holds one page of {page}, and needs one for data and one for copies; fewer partitions, a smaller page or a larger device would"
            );
            return Err(refuse("partitions", partitions, reason));
        }
        let slots = (in_partition as f64 * space) as u64;
        if slots == 0 || slots == in_partition {
            let what = if slots == 0 { "copies" } else { "data" };
            let least = (100.0 / in_partition as f64).ceil();
            let reason = format!(
                "it leaves no page of a partition's {in_partition} for {what}; {least}% to {}% would",
                100.0 - least
            );
            return Err(refuse("space", percent(space), reason));
        }
        let further = u64::from(self.most_copies() - 1);
        if slots > (in_partition - slots) * further {
            let most = 100 * further / (further + 1);
            let reason = format!(
                "a page has at most {further} further copies, which fill no more than {most}% of a partition"
            );
            return Err(refuse("space", percent(space), reason));
        }
        Ok(slots)
    }
}

/// Refuses a device that is divided already, or where copies cannot be written in place.
fn check_kind(below: &DeviceInfo) -> Result<(), LayerError> {
    let unsuited = |reason: &str| {
        Err(LayerError::Unsuited { layer: NAME, device: below.name.clone(), reason: reason.into() })
    };
    if below.erase_unit_bytes > 0 {
        return unsuited("it has erase units, and copies are written in place; it needs a device without");
    }
    if below.lanes > 1 {
        return unsuited("it has lanes; it needs a device with one address space");
    }
    Ok(())
}

/// Returns a parser of a share without its ends.
fn open_share(example: &'static str) -> impl Fn(&str) -> Result<f64, String> {
    move |text| match parse_share(text) {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        Ok(_) => Err(format!("it is more than 0% and less than 100%; write it like '{example}'")),
        Err(error) => Err(error.to_string()),
    }
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("it is yes or no".into()),
    }
}

fn positive(text: &str) -> Result<Duration, String> {
    match parse_duration(text) {
        Ok(time) if time.is_zero() => Err("it is more than nothing; write it like '1ms'".into()),
        other => other.map_err(|error| error.to_string()),
    }
}

/// Formats a share, rounded, because binary fractions of a percent would show.
fn percent(share: f64) -> String {
    format!("{}%", (share * 1e11).round() / 1e9)
}

impl fmt::Display for Settings {
    /// Formats the settings for a spec, each after a comma: the first two, and those that are not the default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self::default();
        write!(f, ",partitions={},space={}", self.partitions, percent(self.space))?;
        if self.page_bytes != default.page_bytes {
            write!(f, ",page={}", typed_bytes(self.page_bytes))?;
        }
        self.copies.map_or(Ok(()), |copies| write!(f, ",copies={copies}"))?;
        if self.policy != default.policy {
            write!(f, ",policy={}", self.policy)?;
        }
        self.recency.map_or(Ok(()), |share| write!(f, ",recency={}", percent(share)))?;
        self.threshold.map_or(Ok(()), |share| write!(f, ",threshold={}", percent(share)))?;
        self.delay.map_or(Ok(()), |delay| write!(f, ",delay={}", typed_duration(delay)))?;
        if self.epoch != default.epoch {
            write!(f, ",epoch={}", typed_duration(self.epoch))?;
        }
        if self.round != default.round {
            write!(f, ",round={}", self.round)?;
        }
        if self.always {
            f.write_str(",always=yes")?;
        }
        Ok(())
    }
}

impl Plan for Settings {
    fn planned(&self, below: &DeviceInfo) -> Result<DeviceInfo, LayerError> {
        let layout = self.layout(below)?;
        let address_map = layout.address_map(below.address_map);
        Ok(DeviceInfo { capacity_bytes: layout.capacity_bytes(), address_map, ..below.clone() })
    }

    /// Copies have no mark that tells them from other data.
    fn overwrites_free_places(&self) -> bool {
        true
    }

    fn prepare(&self, inner: Stack, _: StateOptions) -> Result<Prepared, LayerError> {
        self.layout(inner.info())?;
        let settings = self.clone();
        Ok(Prepared::new(StateChange::None, move |seed| {
            Ok(match inner {
                Stack::Timing(device) => {
                    Stack::Timing(Box::new(Replicated::new(Timing(device), settings, seed)?))
                }
                Stack::Data(device) => Stack::Data(Box::new(Replicated::new(Bytes(device), settings, seed)?)),
            })
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_device::{Device, NullDevice};

    #[test]
    fn devices_that_cannot_be_divided_are_refused_with_what_would_do() {
        let settings = Settings::default();
        let page = settings.page_bytes;
        let of = |pages: u64| NullDevice::new(pages * page).info().clone();
        let cases = [
            (of(8), Settings { partitions: 8, ..settings.clone() }, "each holds one page"),
            (of(16), Settings { partitions: 8, space: 0.1, ..settings.clone() }, "50% to 50% would"),
            (of(90), Settings { partitions: 8, ..settings.clone() }, "6 or 9 would"),
            (of(800), Settings { partitions: 8, space: 0.8, ..settings }, "no more than 75%"),
        ];
        for (device, settings, expected) in cases {
            let error = settings.layout(&device).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
