//! Messages and documents name options only where the command has them, and sizes of a sentence in units of one family.

use crate::program::done;
use flashlane_block::{GetError, PutError};
use flashlane_store::{CreateError, OptionsError, WriteError};
use flashlane_store_files::FileError;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Commands that print the messages of a shared file.
const SHARED: [(&str, &[&str]); 4] = [
    ("preflight.rs", &["uflip", "run", "replay", "transactions", "serve"]),
    ("sweep.rs", &["uflip", "run", "replay", "transactions"]),
    ("device.rs", &["probe", "uflip", "run", "replay", "transactions"]),
    ("output.rs", &["probe", "uflip", "run", "replay", "transactions", "study", "report"]),
];

/// Files of libraries that print commands of other programs (fio, losetup, mkfs).
const OF_OTHER_PROGRAMS: [&str; 2] = ["serve/src/uri.rs", "serve/src/fuse.rs"];

/// The options in a text: `--destroy-data` as `destroy-data`.
fn mentioned(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let after = |(at, _): (usize, &str)| {
        let before = text[..at].chars().next_back();
        let name: String = text[at + 2..].chars().take_while(|&c| is_name(c)).collect();
        // A line of dashes is not an option.
        let is_option = name.starts_with(|c: char| c.is_ascii_lowercase()) && before != Some('-');
        is_option.then(|| name.trim_end_matches('-').to_owned())
    };
    text.match_indices("--").filter_map(after).collect()
}

/// The options of a command and all its subcommands, from their help.
fn options(command: &[&str]) -> BTreeSet<String> {
    let help = done(&[command, &["--help"]].concat());
    let mut options = mentioned(&help);
    let subcommands = help.split("Commands:\n").nth(1).unwrap_or_default();
    let names = subcommands.lines().map_while(|line| line.strip_prefix("  "));
    for name in names.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next()) {
        if name != "help" {
            options.extend(self::options(&[command, &[name]].concat()));
        }
    }
    options
}

/// The files of the program's own source below `dir`.
fn sources(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .filter(|path| !path.ends_with("tests"))
        .flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

/// A file's text without comments and tests.
fn messages(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn messages_name_only_options_of_their_command() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let help = done(&["--help"]);
    let listed = help.split("Commands:\n").nth(1).unwrap_or_default();
    let first_words = listed.lines().map_while(|line| line.strip_prefix("  "));
    let names: Vec<&str> = first_words
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split(' ').next())
        .filter(|name| *name != "help")
        .collect();
    assert!(names.len() > 12, "{names:?}");
    let known: BTreeMap<&str, BTreeSet<String>> =
        names.iter().map(|name| (*name, options(&[name]))).collect();
    let mut wrong = Vec::new();
    for file in sources(&src) {
        let shared = SHARED.iter().find(|(name, _)| file == src.join(name)).map(|(_, commands)| *commands);
        let below = file.strip_prefix(src.join("command")).ok();
        let own = below.and_then(|path| {
            let first = path.iter().next()?.to_str()?;
            names.iter().find(|name| first.trim_end_matches(".rs") == **name)
        });
        let commands = shared.or(own.map(std::slice::from_ref)).unwrap_or_default();
        for option in mentioned(&messages(&file)) {
            for command in commands.iter().filter(|command| !known[**command].contains(&option)) {
                wrong.push(format!("{}: --{option}, but not of '{command}'", file.display()));
            }
        }
    }
    // Messages of the libraries name options of any command.
    let all: BTreeSet<&String> = known.values().flatten().collect();
    let crates = fs::read_dir(src.join("../..")).unwrap().map(|entry| entry.unwrap().path());
    // Programs of their own, with options of their own.
    let libraries = crates.filter(|path| !path.ends_with("flashlane") && !path.join("src/main.rs").exists());
    for library in libraries.filter(|path| path.join("src").exists()) {
        let files = sources(&library.join("src"));
        for file in files.iter().filter(|file| !OF_OTHER_PROGRAMS.iter().any(|other| file.ends_with(other))) {
            let lost = mentioned(&messages(file)).into_iter().filter(|option| !all.contains(option));
            wrong.extend(lost.map(|option| format!("{}: --{option} is no option", file.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The commands in the shell blocks of a document, and in its code spans those with options, each as its words.
fn commands(document: &str) -> Vec<Vec<String>> {
    let (mut texts, mut fenced) = (Vec::new(), None);
    for part in document.split("```") {
        match fenced {
            Some(()) => texts.extend(part.strip_prefix("sh\n").map(|block| block.replace("\\\n", " "))),
            None => {
                let spans = part.split('`').skip(1).step_by(2).filter(|span| span.contains(" --"));
                texts.extend(spans.map(|span| span.replace('\n', " ")));
            }
        }
        fenced = fenced.xor(Some(()));
    }
    let ends = |word: &String| ["|", "&&", ";", "&", ">", "2>&1"].contains(&word.as_str());
    let lines = texts.iter().flat_map(|text| text.lines()).filter(|line| line.contains("flashlane "));
    let words = lines.map(|line| shlex::split(line).unwrap_or_default());
    words.flat_map(|words| words.split(ends).map(<[String]>::to_vec).collect::<Vec<_>>()).collect()
}

/// The program's arguments, where the command runs it: `sudo flashlane …`, `cargo run --release -- …`.
fn arguments(command: &[String]) -> Option<&[String]> {
    let own = |word: &String| word == "flashlane" || (word.ends_with("/flashlane") && !word.contains('='));
    let begins_with = |words: &[&str]| command.iter().zip(words).all(|(word, other)| word == other);
    match command.iter().position(|word| word == "--") {
        _ if begins_with(&["cargo", "test"]) => None,
        Some(at) if begins_with(&["cargo"]) => Some(&command[at + 1..]),
        _ => command.iter().take(3).position(own).map(|at| &command[at + 1..]),
    }
}

#[test]
fn documents_name_only_commands_and_options_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = Vec::new();
    helps(&[], &mut all);
    let known: BTreeMap<&str, BTreeSet<String>> = all
        .iter()
        .map(|(command, help)| (command.trim_end_matches("--help").trim(), mentioned(help)))
        .collect();
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for path in files(&root.join("docs"), &["md"]).into_iter().chain([root.join("README.md")]) {
        for command in commands(&fs::read_to_string(&path).unwrap()) {
            let Some(arguments) = arguments(&command) else { continue };
            // What follows `--` is another program's.
            let arguments = arguments.split(|word| word == "--").next().unwrap_or_default();
            // The longest subcommand: `store serve`.
            let depth = (1..=arguments.len().min(3))
                .rev()
                .find(|n| known.contains_key(arguments[..*n].join(" ").as_str()));
            let name = arguments[..depth.unwrap_or_default()].join(" ");
            let options = &known[name.as_str()];
            let given =
                arguments.iter().filter_map(|word| word.strip_prefix("--")).filter(|word| !word.is_empty());
            let given: Vec<_> = given.map(|word| word.split('=').next().unwrap_or_default()).collect();
            let what = format!("{}: {}", path.display(), command.join(" "));
            seen += 1;
            if depth.is_none() && !given.contains(&"help") && !given.contains(&"version") {
                wrong.push(format!("{what}: no such command"));
            }
            let lost = given.iter().filter(|option| !options.contains(**option));
            wrong.extend(lost.map(|option| format!("{what}: '{name}' has no --{option}")));
        }
    }
    assert!(seen > 150, "{seen} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Other names for a percentile than p50, p99 and p99.9. Fields of results are `p999`.
const PERCENTILES: [&str; 7] = ["99th", "90th", "95th", "50th", "pct99", "99%ile", "99%-ile"];

/// The text of a command's help and that of all its subcommands.
fn helps(command: &[&str], out: &mut Vec<(String, String)>) {
    let help = done(&[command, &["--help"]].concat());
    let subcommands = help.split("Commands:\n").nth(1).unwrap_or_default().to_owned();
    out.push((format!("{} --help", command.join(" ")), help));
    let names = subcommands.lines().map_while(|line| line.strip_prefix("  "));
    for name in names.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next()) {
        if name != "help" {
            helps(&[command, &[name]].concat(), out);
        }
    }
}

/// The files with one of these extensions below a folder.
fn files(dir: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let all = entries.flat_map(|path| if path.is_dir() { files(&path, extensions) } else { vec![path] });
    let has_extension = |path: &PathBuf| {
        path.extension().and_then(|own| own.to_str()).is_some_and(|own| extensions.contains(&own))
    };
    all.filter(has_extension).collect()
}

/// Help, documents, messages, tables and pages call a percentile p50, p99 or p99.9.
#[test]
fn percentile_has_one_name_everywhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut texts = Vec::new();
    helps(&[], &mut texts);
    let read = |path: PathBuf| (path.display().to_string(), fs::read_to_string(&path).unwrap());
    texts.push(read(root.join("README.md")));
    texts.extend(files(&root.join("docs"), &["md"]).into_iter().map(read));
    // Tables and pages of each kind of result.
    texts.extend(files(&root.join("crates/report/tests/snapshots"), &["snap"]).into_iter().map(read));
    let sources = files(&root.join("crates"), &["rs"]).into_iter().filter(|path| {
        let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
        parts.contains(&"src") && !parts.contains(&"tests") && !parts.contains(&"tests.rs")
    });
    texts.extend(sources.map(|path| (path.display().to_string(), messages(&path))));
    assert!(texts.len() > 500, "{} texts", texts.len());
    let mut wrong = Vec::new();
    for (name, text) in &texts {
        for line in text.lines() {
            let other = PERCENTILES.iter().find(|other| line.contains(**other));
            wrong.extend(other.map(|other| format!("{name}: '{other}' in: {}", line.trim())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let run = &texts.iter().find(|(name, _)| name.ends_with("snapshots__run-text.snap")).unwrap().1;
    assert!(run.contains("p99"), "a table of latencies names its percentiles");
}

/// Returns whether a text names sizes both in powers of 1000 and of 1024, or bytes that no one counts.
fn mixes_units(text: &str) -> bool {
    let decimal = [" KB", " MB", " GB"].iter().any(|unit| text.contains(unit));
    let digits = text.split(|c: char| !c.is_ascii_digit()).any(|number| number.len() > 5);
    decimal || digits
}

#[test]
fn sizes_beside_bounds_are_in_powers_of_1024() {
    let (id, device) = (0, "d".to_owned());
    let (given_bytes, most_bytes) = (100_000, 63 << 10);
    let (least_bytes, unit_bytes) = (20 << 20, 1 << 20);
    let texts = [
        PutError::OtherLayout { given_bytes: 100_000, block_bytes: 240 << 10 }.to_string(),
        GetError::OutOfRange { id, offset_bytes: 200_000, length_bytes: 100_000, block_bytes: 240 << 10 }
            .to_string(),
        GetError::OutOfRange { id, offset_bytes: 300_000, length_bytes: 1, block_bytes: 100_000 }.to_string(),
        WriteError::KeyTooLong { given_bytes, most_bytes }.to_string(),
        WriteError::BatchTooLarge { given_bytes, most_bytes }.to_string(),
        WriteError::Full { blocks_free: 9, blocks_needed: 10, room_bytes: 1_032_151, failure: None }
            .to_string(),
        OptionsError::LongBound { nth: 1, bytes: given_bytes, most: most_bytes }.to_string(),
        OptionsError::SmallBlocks { block_bytes: 100_000, least_bytes: 2 << 20 }.to_string(),
        CreateError::LogTooSmall { device, given_bytes, least_bytes: unit_bytes + least_bytes }.to_string(),
        FileError::TooLong { given: 1 << 63, most: i64::MAX as u64 }.to_string(),
        FileError::TooLong { given: u128::MAX, most: i64::MAX as u64 }.to_string(),
    ];
    for text in texts {
        assert!(!mixes_units(&text), "{text}");
    }
}
