//! `flashlane profile`: lists, shows and checks profiles of simulated drives.

use crate::failure::{Failure, Status};
use crate::options::Format;
use crate::output::{json, print};
use anyhow::anyhow;
use flashlane_base::units::format_bytes;
use flashlane_device::spec::Spec;
use flashlane_measure::{about_drains, about_free_blocks, about_over_provisioning};
use flashlane_open::{config_named, profile_text};
use flashlane_policy::Policies;
use flashlane_report::csv_line;
use flashlane_sim::config::DriveConfig;
use flashlane_sim::profile::{PROFILES, text_with};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// List, show and check profiles of simulated drives
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

const EXAMPLES: &str = "\
Examples:
  flashlane profile list
  flashlane profile show ssd-s > my.toml
  flashlane profile show ssd-s,flash.channels=16 > wide.toml
  flashlane profile check my.toml
  flashlane probe sim:my.toml

docs/profiles.md describes each field.";

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the built-in drives
    List {
        /// Output format
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
        format: Format,
    },
    /// Print a drive's profile: every setting with its unit and source
    Show {
        /// Name of a built-in drive, or a file that ends in .toml, which settings may follow: ssd-s,flash.channels=16
        #[arg(value_name = "NAME[,KEY=VALUE...]")]
        name: String,
        /// Output format; text is the profile file itself
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
        format: Format,
    },
    /// Check profile files, and report the line and field of an error
    Check {
        /// Profile files, which settings may follow: my.toml,flash.channels=16
        #[arg(required = true, value_name = "FILE[,KEY=VALUE...]")]
        files: Vec<String>,
    },
}

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    match &arguments.action {
        Action::List { format } => list(*format),
        Action::Show { name, format } => show(name, *format),
        Action::Check { files } => check(files),
    }
}

/// Returns the name of a profile that may be given as a simulated device.
fn without_prefix(name: &str) -> &str {
    name.strip_prefix("sim:").unwrap_or(name)
}

/// Loads a profile by name, or from a file that ends in `.toml`.
fn profile_named(name: &str) -> Result<DriveConfig, Failure> {
    Ok(config_named(without_prefix(name), &[], &Policies::default())?)
}

/// Loads a profile with the settings after its name.
fn profile_with_settings(given: &str) -> Result<DriveConfig, Failure> {
    let (name, settings) = name_and_settings(given)?;
    Ok(config_named(&name, &settings, &Policies::default())?)
}

/// Returns the name of a profile and the settings after it, as in the spec of a simulated drive.
fn name_and_settings(given: &str) -> Result<(String, Vec<(String, String)>), Failure> {
    let is_name = !given.contains(',') || Path::new(given).exists();
    let given = without_prefix(given);
    if is_name {
        return Ok((given.into(), Vec::new()));
    }
    match format!("sim:{given}").parse::<Spec>().map_err(Failure::unusable)? {
        Spec::Simulated { profile, overrides, lane: None } => Ok((profile, overrides)),
        _ => Err(Failure::unusable(anyhow!(
            "'{given}' is not a profile with settings; write it like 'my.toml,flash.channels=16'"
        ))),
    }
}

/// Returns the text of a profile, built-in or a file, which is known to be valid.
pub fn checked_text(name: &str) -> Result<String, Failure> {
    let name = without_prefix(name);
    profile_named(name)?;
    Ok(match PROFILES.iter().find(|profile| profile.name == name) {
        Some(profile) => profile.text.to_owned(),
        None => profile_text(name)?,
    })
}

fn list(format: Format) -> Result<Status, Failure> {
    let drives: Vec<DriveConfig> =
        PROFILES.iter().map(|profile| profile_named(profile.name)).collect::<Result<_, _>>()?;
    let text = match format {
        Format::Text => {
            drives.iter().fold(list_row("name", "capacity", "over-prov.", "description"), |text, drive| {
                let reserve = drive.over_provisioning().map_or_else(|| "-".into(), percent);
                let capacity = format_bytes(drive.capacity.0);
                text + &list_row(&drive.name, &capacity, &reserve, &drive.description)
            })
        }
        Format::Json => {
            let drives: Vec<Value> = drives.iter().map(overview).collect();
            json(&json!({ "schema": "flashlane.profiles/1", "profiles": drives }))
        }
        Format::Csv => drives.iter().fold(csv_line(FIELDS.iter().copied()), |text, drive| {
            let overview = overview(drive);
            let values: Vec<String> = FIELDS.iter().map(|field| plain(&overview[*field])).collect();
            text + &csv_line(values.iter().map(String::as_str))
        }),
    };
    print(&text)?;
    Ok(Status::Done)
}

/// Formats a line of the list; the third column is the effective over-provisioning.
fn list_row(name: &str, capacity: &str, reserve: &str, description: &str) -> String {
    format!("{name:<22} {capacity:>11} {reserve:>10}  {description}\n")
}

const FIELDS: &[&str] = &[
    "name",
    "description",
    "capacity_bytes",
    "over_provisioning_share",
    "channels",
    "packages",
    "dies",
    "planes",
    "page_bytes",
    "block_bytes",
    "chunk_bytes",
    "mapping",
];

/// Returns the main properties of a drive.
fn overview(drive: &DriveConfig) -> Value {
    let flash = &drive.flash;
    let block_bytes = flash.page.0 * u64::from(flash.pages);
    let (chunk_bytes, mapping) = match (&drive.lanes, &drive.zones) {
        (None, None) => (drive.mapping.chunk.0, drive.mapping.policy.as_str()),
        (Some(lanes), _) => (lanes.stripe.map_or(block_bytes, |stripe| stripe.0), "lanes"),
        (None, Some(_)) => (flash.page.0, "zones"),
    };
    json!({
        "name": drive.name,
        "description": drive.description,
        "capacity_bytes": drive.capacity.0,
        "over_provisioning_share": drive.over_provisioning(),
        "channels": flash.channels,
        "packages": flash.packages,
        "dies": flash.dies,
        "planes": flash.planes,
        "page_bytes": flash.page.0,
        "block_bytes": block_bytes,
        "chunk_bytes": chunk_bytes,
        "mapping": mapping,
    })
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn show(name: &str, format: Format) -> Result<Status, Failure> {
    let (name, settings) = name_and_settings(name)?;
    let text = text_with(&Policies::default(), &name, &checked_text(&name)?, &settings);
    let text = text.map_err(Failure::unusable)?;
    let drive = config_named(&name, &settings, &Policies::default())?;
    let table: toml::Table = toml::from_str(&text).map_err(Failure::unusable)?;
    print(&match format {
        Format::Text => over_provisioning_comment(&drive) + &text,
        Format::Json => json(&json!({
            "schema": "flashlane.profile/1",
            "over_provisioning_share": drive.over_provisioning(),
            "profile": table,
        })),
        Format::Csv => fields(&table),
    })?;
    Ok(Status::Done)
}

/// Returns the effective over-provisioning as a comment above the file.
fn over_provisioning_comment(drive: &DriveConfig) -> String {
    drive.over_provisioning().map_or_else(String::new, |share| {
        format!("# effective over-provisioning: {} of the capacity\n", percent(share))
    })
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// Formats the fields as CSV: dotted name, value, source.
fn fields(table: &toml::Table) -> String {
    fn walk(prefix: &str, table: &toml::Table, out: &mut Vec<(String, String)>) {
        for (name, value) in table {
            match value {
                toml::Value::Table(inner) => walk(&format!("{prefix}{name}."), inner, out),
                toml::Value::String(text) => out.push((format!("{prefix}{name}"), text.clone())),
                other => out.push((format!("{prefix}{name}"), other.to_string())),
            }
        }
    }
    let (mut settings, mut sources) = (Vec::new(), Vec::new());
    let (own, provenance): (toml::Table, toml::Table) =
        table.clone().into_iter().partition(|(name, _)| name != "provenance");
    walk("", &own, &mut settings);
    for table in provenance.values().filter_map(toml::Value::as_table) {
        walk("", table, &mut sources);
    }
    settings.iter().fold(csv_line(["field", "value", "source"]), |text, (field, value)| {
        let section = field.split_once('.').map(|(section, _)| format!("{section}.*"));
        let source_of = |of: &String| sources.iter().find(|(name, _)| name == of);
        let source = source_of(field).or_else(|| source_of(section.as_ref()?));
        text + &csv_line([field.as_str(), value, source.map_or("", |(_, source)| source)])
    })
}

fn check(files: &[String]) -> Result<Status, Failure> {
    let mut wrong = Vec::new();
    for file in files {
        match profile_with_settings(file) {
            Ok(drive) => {
                print(&format!("{file}: {}\n", summary(&drive)))?;
                for (setting, reason) in drive.without_effect() {
                    print(&format!("{file}: {setting}: {reason}\n"))?;
                }
            }
            Err(failure) => wrong.push(failure),
        }
    }
    match wrong.pop() {
        None => Ok(Status::Done),
        Some(last) => {
            wrong.iter().for_each(Failure::print);
            Err(last)
        }
    }
}

fn summary(drive: &DriveConfig) -> String {
    let flash = &drive.flash;
    let dies = u64::from(flash.channels) * u64::from(flash.packages) * u64::from(flash.dies);
    let raw =
        dies * u64::from(flash.planes) * u64::from(flash.blocks) * u64::from(flash.pages) * flash.page.0;
    let (capacity, channels) = (format_bytes(drive.capacity.0), flash.channels);
    let share = 100.0 * drive.capacity.0 as f64 / raw as f64;
    let mut text = match (&drive.lanes, &drive.zones) {
        (None, None) => {
            let spare = percent(drive.over_provisioning().unwrap_or_default());
            format!("good: {capacity} over {dies} dies on {channels} channels, {spare} over-provisioned")
        }
        (Some(_), _) => {
            format!("good: {capacity} over {dies} dies on {channels} lanes, {share:.1}% of the flash")
        }
        (None, Some(zones)) => {
            let (count, zone) = (drive.capacity.0 / zones.capacity.0, format_bytes(zones.capacity.0));
            format!(
                "good: {capacity} in {count} zones of {zone} over {dies} dies on {channels} channels, {share:.1}% of the \
                 flash"
            )
        }
    };
    let reserve = drive.reserve();
    let doubts = [
        reserve.and_then(|flash| about_over_provisioning(drive.capacity.0, flash)),
        reserve.and_then(about_free_blocks),
        drive.programs_in_parts().map(about_drains),
    ];
    for doubt in doubts.into_iter().flatten() {
        let _ = write!(text, "; {doubt}");
    }
    if drive.provenance.is_empty() {
        let _ = write!(text, "; no [provenance] says where its numbers come from");
    }
    text
}
