//! The profile that a search starts from, the constants of it that can be fitted, and the twin's file.

use flashlane_base::Duration;
use flashlane_sim::config::DriveConfig;
use flashlane_sim::profile::{ConfigError, parse};

/// Why there is no search.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// Measurements contradict each other.
    #[error("{0}; remove the wrong ones")]
    Contradictory(String),
    /// The profile is invalid.
    #[error(transparent)]
    Profile(#[from] ConfigError),
    /// It shows its flash, and has no workloads of a drive.
    #[error("profile {0} is software-defined flash; allowed: a conventional drive")]
    Lanes(String),
    /// A workload does not fit the drive.
    #[error("{0}")]
    Workload(String),
}

/// A profile's file.
#[derive(Clone, Debug)]
pub struct Start {
    name: String,
    text: String,
    config: DriveConfig,
}

/// How a constant is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Time,
    Rate,
    Share,
}

/// A constant that can be fitted.
pub(crate) struct Field {
    pub(crate) key: &'static str,
    unit: Unit,
    /// `None` where the profile has no such part.
    get: fn(&DriveConfig) -> Option<f64>,
}

const fn time(key: &'static str, get: fn(&DriveConfig) -> Option<f64>) -> Field {
    Field { key, unit: Unit::Time, get }
}

fn ns(time: Duration) -> Option<f64> {
    Some(time.as_ns() as f64)
}

/// The constants that can be fitted. The others of a profile stay: counts are fitted in steps, and what a policy does
/// is no constant.
pub(crate) const FIELDS: [Field; 11] = [
    time("host.submission", |config| ns(config.host.submission.0)),
    time("host.completion", |config| ns(config.host.completion.0)),
    time("link.read_command", |config| ns(config.link.read_command.0)),
    time("link.write_command", |config| ns(config.link.write_command.0)),
    time("buffer.latency", |config| ns(config.buffer.as_ref()?.latency.0)),
    time("flash.read", |config| ns(config.flash.read.0)),
    time("flash.program", |config| ns(config.flash.program.0)),
    time("flash.bus_command", |config| ns(config.flash.bus_command.0)),
    Field { key: "link.bandwidth", unit: Unit::Rate, get: |config| Some(config.link.bandwidth.0 as f64) },
    Field { key: "flash.bus", unit: Unit::Rate, get: |config| Some(config.flash.bus.0 as f64) },
    Field { key: "flash.noise", unit: Unit::Share, get: |config| Some(config.flash.noise.0) },
];

impl Field {
    /// What is added to a value before its logarithm is taken, so that zero has one too.
    fn offset(&self) -> f64 {
        match self.unit {
            Unit::Time => 300.0,
            Unit::Rate => 0.0,
            Unit::Share => 0.02,
        }
    }

    /// The least and the most that is tried.
    fn range(&self) -> (f64, f64) {
        match self.unit {
            Unit::Time => (0.0, 20e6),
            Unit::Rate => (1e6, 100e9),
            Unit::Share => (0.0, 0.6),
        }
    }

    /// The value in the start profile, if it has this part and sets a limit there.
    pub(crate) fn value_in(&self, config: &DriveConfig) -> Option<f64> {
        (self.get)(config).filter(|value| self.unit != Unit::Rate || *value > 0.0)
    }

    /// The coordinate of a value in the search.
    pub(crate) fn coordinate(&self, value: f64) -> f64 {
        (value + self.offset()).ln()
    }

    /// The value of a coordinate.
    pub(crate) fn value(&self, coordinate: f64) -> f64 {
        let (least, most) = self.range();
        (coordinate.exp() - self.offset()).clamp(least, most)
    }

    /// A deviation of the coordinate as a share of the value; of one that is nearly zero, of its offset.
    pub(crate) fn share(&self, value: f64, deviation: f64) -> f64 {
        deviation * (value + self.offset()) / value.max(self.offset())
    }

    /// The value as a profile has it.
    pub(crate) fn written(&self, value: f64) -> String {
        match self.unit {
            Unit::Time => format!("{:.0}ns", value),
            Unit::Rate => format!("{:.0}kB/s", value / 1e3),
            Unit::Share => format!("{:.2}%", 100.0 * value),
        }
    }
}

/// Erase blocks of a plane with which a drive is predicted, the first that makes one, and their pages: its tables are
/// cleared for each prediction.
const BLOCKS: [u32; 5] = [16, 32, 64, 128, 256];
const PAGES: u32 = 64;

/// Settings in place of those of the start.
pub(crate) type Settings = Vec<(String, String)>;

impl Start {
    /// Reads a profile's text; `name` is what errors call it.
    ///
    /// # Errors
    /// [`StartError`] where it is no conventional drive.
    pub fn new(name: &str, text: &str) -> Result<Self, StartError> {
        let config = parse(name, text, &[])?;
        if config.has_erase_units() {
            return Err(StartError::Lanes(name.into()));
        }
        Ok(Self { name: name.into(), text: text.into(), config })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn config(&self) -> &DriveConfig {
        &self.config
    }

    /// The profile with these settings.
    pub(crate) fn with(&self, settings: &Settings) -> Result<DriveConfig, StartError> {
        Ok(parse(&self.name, &self.text, settings)?)
    }

    /// These settings, with as many blocks in all as the profile has where they change the number of planes: its
    /// capacity and its reserve stay.
    pub(crate) fn with_equal_blocks(&self, mut settings: Settings) -> Settings {
        let flash = &self.config.flash;
        let count = |key: &str, before: u32| {
            let found = settings.iter().find(|(other, _)| other == key);
            u64::from(found.map_or(before, |(_, value)| value.parse().expect("a count is an integer")))
        };
        let counts = [
            ("flash.channels", flash.channels),
            ("flash.packages", flash.packages),
            ("flash.planes", flash.planes),
        ];
        let now: u64 = counts.iter().map(|(key, before)| count(key, *before)).product();
        let before: u64 = counts.iter().map(|(_, before)| u64::from(*before)).product();
        if now != before {
            let blocks = (u64::from(flash.blocks) * before).div_ceil(now);
            settings.push(("flash.blocks".into(), blocks.to_string()));
        }
        settings
    }

    /// The profile with these settings, full and with fewer and smaller blocks: with the same reserve it does the same,
    /// and is ready in a millisecond.
    pub(crate) fn small(&self, settings: Settings) -> Result<DriveConfig, StartError> {
        let mut settings = self.with_equal_blocks(settings);
        settings.push(("initial.state".into(), "full".into()));
        let whole = self.with(&settings)?;
        let pages = whole.flash.pages.min(PAGES);
        for blocks in BLOCKS.into_iter().filter(|blocks| *blocks < whole.flash.blocks) {
            let unit = whole.mapping.chunk.0.max(whole.sector.0);
            let share = f64::from(blocks) / f64::from(whole.flash.blocks) * f64::from(pages)
                / f64::from(whole.flash.pages);
            let capacity = (share * whole.capacity.0 as f64) as u64 / unit * unit;
            let mut settings = settings.clone();
            settings.extend(
                [
                    ("flash.blocks", blocks.to_string()),
                    ("flash.pages", pages.to_string()),
                    ("capacity", format!("{capacity}B")),
                    ("flash.factory_bad", "0%".into()),
                ]
                .map(|(key, value)| (key.to_owned(), value)),
            );
            // With few blocks the reserve may be too small for what GC requires.
            if let Ok(config) = self.with(&settings) {
                return Ok(config);
            }
        }
        Ok(whole)
    }

    /// The text of the profile with these settings, each with its source, under another name.
    pub fn twin(&self, name: &str, settings: &[(String, String, String)]) -> String {
        let mut text = edited(&self.text, "name", &quoted(name));
        for (key, value, source) in settings {
            let is_word = value.parse::<i64>().is_err() && value.parse::<bool>().is_err();
            let value = if is_word { quoted(value) } else { value.clone() };
            text = edited(&text, key, &value);
            text = edited(&text, &format!("provenance.{}", quoted(key)), &quoted(source));
        }
        text
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Replaces the value of a field in a profile's text, or adds the field to its section, or both at the end.
fn edited(text: &str, field: &str, value: &str) -> String {
    let (section, key) = field.split_once('.').unwrap_or(("", field));
    let line = format!("{key} = {value}");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut current = String::new();
    // Behind the last line of the section that has something.
    let mut end = section.is_empty().then_some(0);
    for at in 0..lines.len() {
        let content = lines[at].trim();
        if let Some(header) = content.strip_prefix('[').and_then(|header| header.strip_suffix(']')) {
            current = header.to_owned();
        }
        if current != section {
            continue;
        }
        if !content.is_empty() {
            end = Some(at + 1);
        }
        if content.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('=')) {
            lines[at] = line;
            return lines.join("\n") + "\n";
        }
    }
    match end {
        Some(end) => lines.insert(end, line),
        None => lines.extend([String::new(), format!("[{section}]"), line]),
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_is_replaced_added_or_gets_a_section() {
        let text = "name = \"a\"\n\n[flash]\nread = \"5us\"\nreadable = 1\n\n[link]\ndepth = 3\n";
        let read = edited(text, "flash.read", "\"7us\"");
        assert_eq!(read, text.replace("5us", "7us"));
        let bus = edited(text, "flash.bus", "\"1MB/s\"");
        assert!(bus.contains("readable = 1\nbus = \"1MB/s\"\n\n[link]"), "{bus}");
        assert!(edited(text, "host.submission", "\"1us\"").ends_with("\n\n[host]\nsubmission = \"1us\"\n"));
        assert!(edited(text, "name", "\"b\"").starts_with("name = \"b\"\n"));
    }
}
