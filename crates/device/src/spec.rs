//! The spec grammar: how a device is named on a command line.
//!
//! ```text
//! SPEC     = "sim:" PROFILE { "," KEY "=" VALUE } [ "#" LANE ]
//!          | LAYER "(" INNER { "," KEY "=" VALUE } ")"
//!          | PATH
//! INNER    = "(" SPEC ")"  or a SPEC without settings
//! PROFILE  = a name (`ssd-s`) or a path that ends in `.toml`
//! LAYER    = a lower-case word; a path that happens to look like one is written `./word(…)`
//! ```
//!
//! Settings inside a layer's parentheses belong to the layer: `replicated(sim:ssd-s,partitions=16)`. To give settings
//! to the device below a layer, enclose that device in parentheses:
//! `replicated((sim:ssd-s,channels=16),partitions=16)`.
//!
//! A setting is given once.
//!
//! Parsing opens no device. An error says at which character parsing stopped and what was expected there.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A parsed device name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// A file or block device.
    Path(PathBuf),
    /// A simulated drive.
    Simulated {
        /// Name of a profile, or path of a profile file.
        profile: String,
        /// Settings that override those of the profile, in order.
        overrides: Vec<(String, String)>,
        /// The lane after `#`, if given.
        lane: Option<u32>,
    },
    /// A layer over another device.
    Layer {
        /// Name of the layer.
        name: String,
        /// The device below it.
        inner: Box<Spec>,
        /// Settings of the layer, in order.
        options: Vec<(String, String)>,
    },
}

impl Spec {
    /// Returns the spec with a setting of its simulated drive replaced, or appended; `None` where it has no simulated
    /// drive.
    pub fn with_setting(&self, key: &str, value: &str) -> Option<Self> {
        let mut spec = self.clone();
        let mut at = &mut spec;
        while let Self::Layer { inner, .. } = at {
            at = inner;
        }
        let Self::Simulated { overrides, .. } = at else { return None };
        match overrides.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value.to_owned(),
            None => overrides.push((key.to_owned(), value.to_owned())),
        }
        Some(spec)
    }
}

/// A spec could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read device '{given}' at character {}: {reason}", .position + 1)]
pub struct SpecError {
    /// The whole spec as given.
    pub given: String,
    /// Position where parsing stopped, in characters from 0.
    pub position: usize,
    /// The fault at that position, and the expected syntax.
    pub reason: String,
}

/// Maximum nesting of layers, so that a hostile spec cannot exhaust the stack.
const DEEPEST: usize = 32;

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let mut reader = Reader { text, at: 0 };
        let spec = reader.spec(0, &[])?;
        if reader.at < text.len() {
            return Err(reader.error("nothing more is expected here"));
        }
        Ok(spec)
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn error(&self, reason: impl Into<String>) -> SpecError {
        let position = self.text[..self.at].chars().count();
        SpecError { given: self.text.into(), position, reason: reason.into() }
    }

    /// Consumes text up to (not including) the first of `ends`.
    fn until(&mut self, ends: &[char]) -> &'a str {
        let rest = self.rest();
        let taken = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.rest().starts_with(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    /// `ends`: characters that close this spec inside a layer, besides the end of the text.
    fn spec(&mut self, depth: usize, ends: &[char]) -> Result<Spec, SpecError> {
        if depth > DEEPEST {
            return Err(self.error(format!("layers are nested more than {DEEPEST} deep")));
        }
        if self.rest().starts_with("sim:") {
            self.at += 4;
            return self.simulated(ends);
        }
        let word = self.rest().find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(0);
        if word > 0 && self.rest()[word..].starts_with('(') {
            let name = self.rest()[..word].to_owned();
            self.at += word + 1;
            let inner = Box::new(self.inner(depth + 1)?);
            let mut options = self.settings(&[',', ')']);
            if let (Err(error), Spec::Path(_)) = (&mut options, &*inner) {
                error.reason += &format!(", or, if the comma is part of a path, '{name}((PATH),KEY=VALUE)'");
            }
            let options = options?;
            if !self.eat(')') {
                return Err(self.error(format!("the ')' that closes '{name}(' is missing")));
            }
            return Ok(Spec::Layer { name, inner, options });
        }
        let path = if ends.is_empty() { self.until(&[]) } else { self.until(ends) };
        if path.is_empty() {
            return Err(self.error("a path, 'sim:PROFILE' or 'LAYER(DEVICE)' is expected"));
        }
        Ok(Spec::Path(path.into()))
    }

    /// Parses the device below a layer.
    fn inner(&mut self, depth: usize) -> Result<Spec, SpecError> {
        if !self.eat('(') {
            return self.spec(depth, &[',', ')']);
        }
        let spec = self.spec(depth, &[')'])?;
        if !self.eat(')') {
            return Err(self.error("the ')' that closes the inner device is missing"));
        }
        Ok(spec)
    }

    fn simulated(&mut self, ends: &[char]) -> Result<Spec, SpecError> {
        let stops: Vec<char> = [',', '#'].iter().chain(ends).copied().collect();
        let profile = self.until(&stops).to_owned();
        if profile.is_empty() {
            return Err(self.error("a profile's name or file is expected after 'sim:'"));
        }
        // Where a comma ends the spec, the settings after it belong to the layer.
        let overrides = if ends.contains(&',') { Vec::new() } else { self.settings(&stops)? };
        let lane = if self.eat('#') {
            let number = self.until(if ends.is_empty() { &[] } else { ends });
            let lane =
                number.parse().map_err(|_| self.error(format!("'{number}' is not a lane's number")))?;
            Some(lane)
        } else {
            None
        };
        Ok(Spec::Simulated { profile, overrides, lane })
    }

    /// `{ "," KEY "=" VALUE }`
    fn settings(&mut self, stops: &[char]) -> Result<Vec<(String, String)>, SpecError> {
        let mut settings: Vec<(String, String)> = Vec::new();
        while self.eat(',') {
            let start = self.at;
            let setting = self.until(stops);
            let Some((key, value)) = setting.split_once('=') else {
                self.at = start;
                return Err(self.error(format!("'{setting}' is no setting: KEY=VALUE is expected")));
            };
            let (key, value) = (key.trim(), value.trim());
            if key.is_empty() || value.is_empty() {
                self.at = start;
                return Err(self.error(format!(
                    "'{setting}' lacks its {}",
                    if key.is_empty() { "key" } else { "value" }
                )));
            }
            if settings.iter().any(|(known, _)| known == key) {
                self.at = start;
                return Err(self.error(format!("'{key}' is given twice; it is allowed once")));
            }
            settings.push((key.to_owned(), value.to_owned()));
        }
        Ok(settings)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = |f: &mut fmt::Formatter<'_>, list: &[(String, String)]| {
            list.iter().try_for_each(|(k, v)| write!(f, ",{k}={v}"))
        };
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Simulated { profile, overrides, lane } => {
                write!(f, "sim:{profile}")?;
                settings(f, overrides)?;
                lane.map_or(Ok(()), |lane| write!(f, "#{lane}"))
            }
            Self::Layer { name, inner, options } => {
                // Parenthesized where a comma would end it, or where the path itself begins with '('.
                let apart = match &**inner {
                    Self::Simulated { overrides, .. } => !overrides.is_empty(),
                    Self::Path(path) => {
                        let path = path.to_string_lossy();
                        path.contains(',') || path.starts_with('(')
                    }
                    Self::Layer { .. } => false,
                };
                if apart {
                    write!(f, "{name}(({inner})")?;
                } else {
                    write!(f, "{name}({inner}")?;
                }
                settings(f, options)?;
                f.write_str(")")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_round_trips_through_display() {
        for text in [
            "/dev/nvme0n1",
            "./a file, with (odd) name",
            "sim:ssd-s",
            "sim:my.toml,channels=16,flash.read=25us",
            "sim:sdf#7",
            "replicated(sim:ssd-s,partitions=16)",
            "faulty(backed((sim:ssd-s,channels=4)),bit-flips=1%)",
            "lanes(/tmp/x,channels=44,unit=8MiB)",
            "backed((/tmp/a,b))",
            "backed(((odd),size=4k)",
        ] {
            let spec: Spec = text.parse().unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(spec.to_string(), text);
        }
        let spec: Spec = "replicated(sim:ssd-s,partitions=16)".parse().unwrap();
        assert!(matches!(spec, Spec::Layer { options, .. } if options.len() == 1));
    }

    #[test]
    fn with_setting_reaches_the_drive_below_layers() {
        let with = |text: &str, key: &str, value: &str| {
            text.parse::<Spec>().unwrap().with_setting(key, value).map(|spec| spec.to_string())
        };
        for (text, expected) in [
            ("sim:ssd-s", "sim:ssd-s,channels=4"),
            ("sim:ssd-s,channels=8,wear=x", "sim:ssd-s,channels=4,wear=x"),
            ("faulty(backed(sim:ssd-s),delays=1%)", "faulty(backed((sim:ssd-s,channels=4)),delays=1%)"),
        ] {
            assert_eq!(with(text, "channels", "4").as_deref(), Some(expected));
        }
        assert_eq!(with("faulty(./file)", "channels", "4"), None);
    }

    #[test]
    fn error_names_position_and_expectation() {
        for (text, position, part) in [
            ("", 0, "a path"),
            ("sim:", 4, "profile"),
            ("sim:ssd-s,channels", 10, "KEY=VALUE"),
            ("sim:ssd-s,=4", 10, "key"),
            ("sim:ssd-s,channels=8,channels=4", 21, "'channels' is given twice"),
            ("faulty(sim:ssd-s,delays=1%,delays=2%)", 27, "'delays' is given twice"),
            ("sim:ssd-s#x", 11, "lane"),
            ("backed(sim:ssd-s", 16, "')'"),
            ("backed(sim:ssd-s)x", 17, "nothing more"),
            ("lanes(./a,b.img,channels=2)", 10, "'lanes((PATH),KEY=VALUE)'"),
        ] {
            let error = text.parse::<Spec>().unwrap_err();
            assert_eq!(error.position, position, "{error}");
            assert!(error.reason.contains(part), "{error}");
        }
        assert!("a(".repeat(100_000).parse::<Spec>().is_err());
    }
}
