//! `docs/profiles.md` is the document of every mechanism: it has each setting with its default, and each counter.

use crate::config::DriveConfig;
use crate::config::section::{DriveKind, Facts};
use crate::device;
use crate::profile::{load, parse};
use flashlane_base::Seed;
use flashlane_device::Counters;
use std::collections::{BTreeMap, BTreeSet};

const DOCUMENT: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/profiles.md"));

/// The settings that every conventional drive must have, and those of its optional sections.
const REQUIRED: [(&str, &str); 19] = [
    ("name", "'tiny'"),
    ("capacity", "'8MiB'"),
    ("link.bandwidth", "'100MB/s'"),
    ("link.depth", "8"),
    ("queues.count", "2"),
    ("readahead.window", "'64KiB'"),
    ("readahead.cache", "'64KiB'"),
    ("buffer.size", "'64KiB'"),
    ("mapping.policy", "'write-order'"),
    ("mapping.chunk", "'4KiB'"),
    ("flash.channels", "2"),
    ("flash.packages", "1"),
    ("flash.blocks", "128"),
    ("flash.pages", "16"),
    ("flash.page", "'4KiB'"),
    ("flash.read", "'25us'"),
    ("flash.program", "'250us'"),
    ("flash.erase", "'1ms'"),
    ("flash.bus", "'40MB/s'"),
];

/// Sections that devices with erase units do not have.
const NOT_OF_LANES: [&str; 3] = ["readahead.", "buffer.", "mapping."];

/// The section that the drive with `field` must be given, if it is one of which defaults alone make none.
fn facts_of(field: &str) -> Option<Facts> {
    let given = DriveConfig::facts_of_sections().into_iter().filter(|facts| !facts.example.is_empty());
    given.into_iter().find(|facts| field.starts_with(&format!("{}.", facts.name)))
}

/// The text of a profile that sets what the kind of drive with `field` requires, but `without`; and what is `added`.
/// Every section that it could have is there.
fn profile(field: &str, without: Option<&str>, added: Option<(&str, &str)>) -> String {
    let special = facts_of(field);
    let is_conventional = special.is_none_or(|facts| facts.kinds.contains(&DriveKind::Conventional));
    let is_of_kind =
        |name: &str| is_conventional || !NOT_OF_LANES.iter().any(|section| name.starts_with(section));
    let of_kind = REQUIRED.into_iter().filter(|(name, _)| is_of_kind(name));
    let of_section = special.into_iter().flat_map(|facts| facts.example).map(|&(name, value)| {
        // As in a file, where only counts and switches are bare.
        let is_bare = value.parse::<u32>().is_ok() || value.parse::<bool>().is_ok();
        (name, if is_bare { value.to_owned() } else { format!("'{value}'") })
    });
    let settings = of_kind.map(|(name, value)| (name, value.to_owned())).chain(of_section);
    let added = added.map(|(name, value)| (name, value.to_owned()));
    let mut sections = BTreeMap::from([("", String::new()), ("power", String::new())]);
    // Copies go with none of the sections that have to be asked for.
    sections.extend(special.is_none().then(|| ("replication", String::new())));
    for (name, value) in settings.chain(added) {
        let (section, last) = name.rsplit_once('.').unwrap_or(("", name));
        let text = sections.entry(section).or_default();
        if Some(name) != without {
            *text += &format!("{last} = {value}\n");
        }
    }
    // What is in no section goes first.
    let header = |section: &str| if section.is_empty() { String::new() } else { format!("[{section}]\n") };
    sections.into_iter().map(|(section, text)| header(section) + &text).collect()
}

/// The rows of the tables with this header: the words in backticks of the first column, and the last column.
fn rows(header: &str) -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    let mut lines = DOCUMENT.lines();
    while lines.by_ref().any(|line| line == header) {
        for line in lines.by_ref().skip(1).take_while(|line| line.starts_with('|')) {
            let cells = line.trim_matches('|').split_once(" | ").expect("a row has columns");
            let last = line.trim_end_matches('|').rsplit_once('|').expect("a row has columns").1.trim();
            found.extend(cells.0.split('`').skip(1).step_by(2).map(|word| (word, last)));
        }
    }
    found
}

fn settings() -> BTreeMap<&'static str, &'static str> {
    let rows = rows("| field | is | default |");
    let count = rows.len();
    let settings: BTreeMap<_, _> = rows.into_iter().collect();
    assert_eq!(settings.len(), count, "a field has one row");
    settings
}

/// The names that a section, or the profile for the section "", allows.
fn allowed(section: &str) -> Option<Vec<String>> {
    let text = profile(section, None, Some((&format!("{section}no-such-field"), "1")));
    let refusal = parse("tiny", &text, &[]).expect_err("there is no such field").to_string();
    let (_, names) = refusal.split_once("there is no field 'no-such-field'; allowed: ")?;
    Some(names.split(", ").map(str::to_owned).collect())
}

/// Adds the full names of all fields of a section.
fn add_fields(section: &str, fields: &mut BTreeSet<String>) {
    for name in allowed(section).unwrap_or_default() {
        let name = format!("{section}{name}");
        // Its keys are those of other fields.
        if name == "provenance" {
            continue;
        }
        let inner = format!("{name}.");
        match allowed(&inner) {
            Some(_) => add_fields(&inner, fields),
            None => drop(fields.insert(name)),
        }
    }
}

#[test]
fn document_has_a_row_for_each_setting_and_no_other() {
    let mut fields = BTreeSet::new();
    add_fields("", &mut fields);
    let documented: BTreeSet<String> = settings().keys().map(|&name| name.into()).collect();
    assert_eq!(documented, fields);
}

#[test]
fn fields_without_a_default_are_the_required_ones() {
    for (field, default) in settings() {
        let without = parse("tiny", &profile(field, Some(field), None), &[]);
        assert_eq!(without.is_err(), default.is_empty(), "{field}: {without:?}");
    }
}

/// A default that is a value: without quotes. Others are words about it.
fn value(default: &str) -> Option<&str> {
    let inner = match default.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
        Some(quoted) if !quoted.contains('`') => quoted.trim_matches('"'),
        _ if default.parse::<u32>().is_ok() => default,
        _ => return None,
    };
    (!inner.contains(['.', '{'])).then_some(inner)
}

#[test]
fn documented_defaults_are_those_of_the_program() {
    let read = |text: &str, settings: &[(String, String)]| -> DriveConfig {
        parse("tiny", text, settings).unwrap_or_else(|error| panic!("{settings:?}: {error}"))
    };
    let mut count = 0;
    for (field, default) in settings() {
        let Some(value) = value(default) else { continue };
        let text = profile(field, None, None);
        let (without, with) = (read(&text, &[]), read(&text, &[(field.into(), value.into())]));
        assert_eq!(format!("{with:?}"), format!("{without:?}"), "{field} = {value}");
        count += 1;
    }
    assert!(count > 40, "{count} defaults are values");
}

/// The names of the counters of a drive.
fn counters_of(config: &DriveConfig) -> Vec<&'static str> {
    let Counters(list) = device(config, Seed(1), config.name.clone()).counters();
    list.into_iter().map(|(name, _)| name).collect()
}

fn counters(profile: &str, settings: &[(&str, &str)]) -> Vec<&'static str> {
    let settings: Vec<_> = settings.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    counters_of(&load(profile, &settings).unwrap_or_else(|error| panic!("{profile}: {error}")))
}

#[test]
fn document_has_a_row_for_each_counter_and_no_other() {
    let parity = [
        ("flash.copyback", "false"),
        ("mapping.chunk", "2KiB"),
        ("mapping.policy", "write-order"),
        ("mapping.parity", "3"),
        ("mapping.rebuild", "blocked"),
        ("over_provisioning", "70%"),
    ];
    let drives: [(&str, &[(&str, &str)]); 6] = [
        ("ssd-s", &[]),
        ("ssd-s", &[("mapping.unit", "2KiB"), ("queues.count", "2"), ("power.idle", "1W")]),
        ("he-4g", &[("replication.policy", "pblru"), ("over_provisioning", "40%")]),
        ("he-4g", &parity),
        ("sdf", &[]),
        ("zn540-1tb", &[]),
    ];
    let sections = DriveConfig::facts_of_sections().into_iter();
    let of_sections = sections.filter(|facts| !facts.example.is_empty()).flat_map(|facts| {
        let text = profile(&format!("{}.", facts.name), None, None);
        counters_of(&parse("tiny", &text, &[]).unwrap_or_else(|error| panic!("{}: {error}", facts.name)))
    });
    let counted: BTreeSet<&str> = drives
        .iter()
        .flat_map(|(profile, settings)| counters(profile, settings))
        .chain(of_sections)
        .collect();
    // Results compute it from others.
    let computed = "write_amplification";
    let documented = rows("| counter | counts |").into_iter().map(|(name, _)| name);
    assert_eq!(documented.filter(|name| *name != computed).collect::<BTreeSet<_>>(), counted);
}
