//! Impossible drives are refused with the field to change, the value given and the values allowed.

mod document;
mod randomness;

use super::*;
use crate::config::DriveConfig;

/// The refusal of `msr-32g` with these settings, as `KEY=VALUE,...`.
fn refusal(settings: &str) -> ConfigError {
    let overrides: Vec<(String, String)> = settings
        .split(',')
        .filter_map(|setting| setting.split_once('='))
        .map(|(key, value)| (key.into(), value.into()))
        .collect();
    match load("msr-32g", &overrides) {
        Ok(_) => panic!("{settings}: no such drive can be built"),
        Err(error) => error,
    }
}

#[test]
fn unsectioned_field_is_set_though_the_profile_lacks_it() {
    let set = |key: &str, value: &str| load("ssd-s", &[(key.into(), value.into())]);
    assert_eq!(load("ssd-s", &[]).unwrap().sector.0, 512);
    assert_eq!(set("sector", "4KiB").unwrap().sector.0, 4096);
    assert_eq!(set("description", "one of mine").unwrap().description, "one of mine");
    let words = set("sectors", "4KiB").unwrap_err().to_string();
    assert!(words.contains("no field of this name (did you mean 'sector'?)"), "{words}");
    let words = set("sector", "3KiB").unwrap_err().to_string();
    assert!(words.contains("'sector'") || words.contains("sector:"), "{words}");
}

fn drive(name: &str, settings: &[(&str, &str)]) -> Result<DriveConfig, ConfigError> {
    let settings: Vec<_> = settings.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    load(name, &settings)
}

#[test]
fn replaced_policy_leaves_the_options_it_alone_knows() {
    for policy in ["none", "dynamic", "static"] {
        assert!(drive("nvme-tlc", &[("wear.policy", policy)]).is_ok(), "{policy}");
    }
    let spread = |settings: &[(&str, &str)]| {
        drive("nvme-tlc", settings).map(|_| ()).map_err(|error| error.to_string()).unwrap_err()
    };
    // An option that is set beside the policy is one for this policy.
    let words = spread(&[("wear.policy", "none"), ("wear.options.spread", "9")]);
    assert!(words.contains("'spread' is unknown to policy 'none'"), "{words}");
    let words = spread(&[("wear.options.width", "9")]);
    assert!(words.contains("'width' is unknown"), "{words}");
    // Options that both policies know stay.
    let own = drive("nvme-tlc", &[]).unwrap();
    let same = drive("nvme-tlc", &[("wear.policy", own.wear.policy.as_str())]).unwrap();
    assert_eq!(same.wear.options.options().get("spread", 0, "", |_| true), Ok(200));
    for settings in [[("mapping.translation", "bast")], [("mapping.translation", "fast")]] {
        assert!(drive("samsung-like", &settings).is_ok(), "{settings:?}");
    }
}

#[test]
fn options_given_as_one_text_are_explained() {
    for (field, value) in [("wear.options", "{}"), ("cleaning.options", "{d=4}")] {
        let words = drive("nvme-tlc", &[(field, value)]).unwrap_err().to_string();
        assert!(words.contains(&format!("one option at a time, as in {field}.NAME=VALUE")), "{words}");
    }
}

#[test]
fn space_of_copies_that_does_not_fit_is_named() {
    let error =
        drive("nvme-tlc", &[("replication.policy", "pblru"), ("replication.space", "10%")]).unwrap_err();
    assert_eq!(error.field.as_deref(), Some("replication.space"), "{error}");
    assert!(error.to_string().contains("a smaller replication.space"), "{error}");
}

#[test]
fn copies_fit_the_dies_where_they_are_not_given() {
    let few = [("flash.channels", "2"), ("flash.packages", "1"), ("flash.dies", "1"), ("capacity", "1GiB")];
    let replicated = [&few[..], &[("replication.policy", "pblru")]].concat();
    assert!(drive("ssd-s", &replicated).is_ok());
    let given = [&replicated[..], &[("replication.copies", "4")]].concat();
    let error = drive("ssd-s", &given).unwrap_err();
    assert!(error.to_string().contains("allowed with 2 dies: 2 to 2"), "{error}");
}

#[test]
fn capacity_follows_from_over_provisioning() {
    let own = drive("msr-32g", &[]).unwrap();
    // DiskSim's reserve is a share of the flash: 15% of it are 17.6% of the capacity.
    assert!((own.over_provisioning().unwrap() - (1.0 / 0.85 - 1.0)).abs() < 0.001);
    for channels in ["8", "16"] {
        let drive = drive("msr-32g", &[("flash.channels", channels), ("over_provisioning", "15%")]).unwrap();
        let blocks = u64::from(drive.flash.channels) * u64::from(drive.flash.planes) * 2048;
        let flash = blocks * 63 * drive.flash.page.0;
        assert!(drive.capacity.0 <= flash * 100 / 115 && drive.capacity.0 + 512 > flash * 100 / 115);
        assert!(drive.capacity.0.is_multiple_of(512));
        assert!((drive.over_provisioning().unwrap() - 0.15).abs() < 1e-6);
    }
    // A setting replaces the file's value of either.
    let text = PROFILES.iter().find(|profile| profile.name == "ssd-s").unwrap().text;
    let line = text.lines().find(|line| line.starts_with("capacity")).unwrap();
    let file = text.replacen(line, "over_provisioning = \"20%\"", 1);
    let parsed = |settings: &[(&str, &str)]| {
        let settings: Vec<_> = settings.iter().map(|&(key, value)| (key.into(), value.into())).collect();
        parse("mine.toml", &file, &settings).unwrap()
    };
    assert!((parsed(&[]).over_provisioning().unwrap() - 0.2).abs() < 1e-6);
    assert_eq!(parsed(&[("capacity", "1GiB")]).capacity.0, 1 << 30);
    assert!((parsed(&[("over_provisioning", "30%")]).over_provisioning().unwrap() - 0.3).abs() < 1e-6);
    let wider = parsed(&[("flash.blocks", "4096")]);
    assert!((wider.over_provisioning().unwrap() - 0.2).abs() < 1e-6);
    assert_eq!(drive("sdf", &[]).unwrap().over_provisioning(), None);
}

#[test]
fn capacity_and_over_provisioning_are_refused_together() {
    for (name, settings) in [
        ("msr-32g", &[("capacity", "1GiB"), ("over_provisioning", "15%")][..]),
        ("sdf", &[("over_provisioning", "15%")]),
        ("msr-32g", &[("over_provisioning", "0%")]),
    ] {
        let error = drive(name, settings).unwrap_err();
        let field = error.field.as_deref();
        assert!(matches!(field, Some("over_provisioning" | "flash.blocks")), "{settings:?}: {error}");
        assert!(error.to_string().contains("over_provisioning"), "{settings:?}: {error}");
    }
    let error = drive("msr-32g", &[("capacity", "1GiB"), ("over_provisioning", "15%")]).unwrap_err();
    assert!(error.reason.contains("capacity"), "{error}");
    let text = PROFILES[0].text;
    let line = text.lines().find(|line| line.starts_with("capacity")).unwrap();
    let error = parse("mine.toml", &text.replacen(line, "", 1), &[]).unwrap_err();
    assert_eq!(error.field.as_deref(), Some("capacity"), "{error}");
    let error = parse("mine.toml", &format!("over_provisioning = \"9%\"\n{text}"), &[]).unwrap_err();
    assert_eq!((error.field.as_deref(), error.line), (Some("over_provisioning"), Some(1)), "{error}");
}

#[test]
fn refusal_of_too_little_over_provisioning_says_what_would_do() {
    let between = |text: &str, before: &str, after: &str| {
        let rest = text.split_once(before).map(|(_, rest)| rest)?;
        rest.split_once(after).map(|(part, _)| part.to_owned())
    };
    for name in ["nvme-tlc", "ssd-s", "msr-32g", "samsung-like"] {
        let reason = drive(name, &[("over_provisioning", "0.1%")]).unwrap_err().reason;
        assert!(reason.contains("follows from an over_provisioning of 0.1%"), "{name}: {reason}");
        let share = between(&reason, "over_provisioning of at least ", ")").expect(&reason);
        assert!(drive(name, &[("over_provisioning", &share)]).is_ok(), "{name}: {reason}");
        let less = format!("{}%", share.trim_end_matches('%').parse::<f64>().unwrap() - 0.2);
        assert!(drive(name, &[("over_provisioning", &less)]).is_err(), "{name}: {less} does, too");
        let capacity = between(&reason, "a capacity of at most ", " (").expect(&reason);
        assert!(drive(name, &[("capacity", &capacity)]).is_ok(), "{name}: {reason}");
    }
}

#[test]
fn refusal_of_too_large_an_slc_cache_says_what_would_do() {
    // Most of a plane's 1280 blocks are kept for the cache, which holds a third of a block in each.
    let cache =
        [("slc.size", "800MiB"), ("slc.read", "25us"), ("slc.program", "100us"), ("slc.fold", "idle")];
    let flash = [
        ("capacity", "1GiB"),
        ("flash.channels", "4"),
        ("flash.planes", "1"),
        ("flash.blocks", "1280"),
        ("flash.cell", "tlc"),
        ("slc.when_full", "fold"),
        ("cleaning.low", "3%"),
    ];
    let with = |changed: &[(&str, &str)]| {
        let kept =
            cache.iter().chain(&flash).filter(|(key, _)| changed.iter().all(|(other, _)| other != key));
        drive("ssd-s", &kept.chain(changed).copied().collect::<Vec<_>>())
    };
    let reason = with(&[]).unwrap_err().reason;
    assert!(!reason.contains("over_provisioning"), "no share of above 100% can be given: {reason}");
    for (key, before) in [("slc.size", "an slc.size of at most "), ("capacity", "a capacity of at most ")] {
        let most = reason.split_once(before).expect(&reason).1.split(',').next().unwrap();
        assert!(with(&[(key, most)]).is_ok(), "{key}={most}: {reason}");
    }
}

#[test]
fn settings_keep_the_over_provisioning_of_the_file_on_record() {
    let before = |settings: &[(&str, &str)]| {
        drive("msr-32g", settings).unwrap().over_provisioning_change.map(|change| change.profile_share)
    };
    let share = before(&[("flash.channels", "16")]).expect("twice the flash for one capacity");
    assert!((0.17..0.18).contains(&share), "{share}");
    for settings in [
        &[][..],
        &[("flash.read", "30us")],
        &[("flash.channels", "16"), ("over_provisioning", "15%")],
        &[("flash.channels", "16"), ("capacity", "50GiB")],
    ] {
        assert_eq!(before(settings), None, "{settings:?}");
    }
}

#[test]
fn impossible_drives_are_refused_by_the_field_that_is_wrong() {
    for (settings, field) in [
        ("flash.channels=0", "flash.channels"),
        ("flash.channels=4294967295", "flash.channels"),
        ("flash.packages=64,flash.dies=64,flash.planes=64", "flash.planes"),
        ("mapping.chunk=1GiB", "mapping.chunk"),
        ("flash.blocks=100", "flash.blocks"),
        ("flash.factory_bad=100%", "flash.factory_bad"),
        ("cleaning.low=50%", "cleaning.low"),
        ("cleaning.low=100%", "cleaning.low"),
        ("flash.noise=100%", "flash.noise"),
        // A share of the capacity that is beyond 32 bits must not come round to a small one.
        ("capacity=8000000TiB", "capacity"),
        ("capacity=1EiB", "capacity"),
        ("flash.pages=0", "flash.pages"),
        ("over_provisioning=150%", "over_provisioning"),
        ("initial.state=ful", "initial.state"),
        ("channels=four", "flash.channels"),
        ("flash.chanels=4", "flash.chanels"),
        ("link.depth=-1", "link.depth"),
        ("cleaning.defer=maybe", "cleaning.defer"),
        (
            "capacity=8000000TiB,flash.channels=1,flash.packages=1,flash.planes=1,flash.pages=1,compat.disksim.summary_pages=0",
            "flash.pages",
        ),
        (
            "buffer.size=1TiB,flash.page=1MiB,mapping.chunk=1MiB,mapping.unit=512B,flash.pages=8",
            "buffer.size",
        ),
        ("mapping.translation=bast", "mapping.translation_options"),
        ("mapping.translation=bast,mapping.translation_options.log_blocks=3", "compat.disksim.pool"),
        (
            "mapping.translation=block,mapping.translation_options.log_blocks=4,mapping.policy=write-order",
            "mapping.policy",
        ),
        (
            "mapping.translation=block,mapping.translation_options.log_blocks=4,cleaning.policy=d-choice",
            "cleaning.policy",
        ),
        ("channels=4,flash.channels=8", "flash.channels"),
        // Times that add up to the end of the clock.
        ("flash.read=2500000h", "flash.read"),
        ("flash.program=1h", "flash.program"),
        ("flash.erase=1h", "flash.erase"),
        ("flash.suspend=1h", "flash.suspend"),
        ("scheduling.write_wait=1h", "scheduling.write_wait"),
        ("flash.bus_command=1h", "flash.bus_command"),
        ("host.submission=1h", "host.submission"),
        ("link.read_command=1h", "link.read_command"),
        ("link.write_command=1h", "link.write_command"),
        ("cleaning.idle=2500000h", "cleaning.idle"),
        ("link.bandwidth=1B/s", "link.bandwidth"),
        ("flash.bus=1B/s", "flash.bus"),
    ] {
        let error = refusal(settings);
        assert_eq!(error.field.as_deref(), Some(field), "{settings}: {error}");
        assert!(error.reason.contains("allowed"), "{settings}: {error}");
    }
}

#[test]
fn refusal_of_parity_reads_names_the_unsuitable_setting() {
    const PARITY: [(&str, &str); 5] = [
        ("mapping.parity", "3"),
        ("mapping.policy", "write-order"),
        ("mapping.chunk", "2KiB"),
        ("flash.copyback", "false"),
        ("capacity", "2GiB"),
    ];
    const ROTATE: (&str, &str) = ("cleaning.rotate", "true");
    assert!(drive("he-4g", &[&PARITY[..], &[ROTATE, ("mapping.rebuild", "blocked")]].concat()).is_ok());
    for (with_parity, settings, field, reason) in [
        (
            false,
            vec![("mapping.rebuild", "blocked")],
            "mapping.rebuild",
            "it is 'blocked'; allowed without mapping.parity: only 'none'",
        ),
        (false, vec![("mapping.rebuild", "all")], "mapping.rebuild", "there is no value 'all'"),
        (false, vec![ROTATE], "cleaning.rotate", "it is true; allowed without mapping.parity: only false"),
        (
            true,
            vec![("flash.channels", "1"), ("flash.blocks", "32768")],
            "mapping.parity",
            "it is 3, and 4 do not divide 1 channels",
        ),
        (
            true,
            vec![ROTATE, ("cleaning.pacing", "proportional")],
            "cleaning.rotate",
            "it is true; allowed with cleaning.pacing 'proportional'",
        ),
        (
            true,
            vec![ROTATE, ("cleaning.low", "0%")],
            "cleaning.low",
            "it keeps 1 of 8192 blocks of a plane free; allowed with cleaning.rotate: at least 2",
        ),
        (
            true,
            vec![ROTATE, ("cleaning.defer", "behind-host")],
            "cleaning.defer",
            "it says when all GC that is due runs; allowed with cleaning.rotate: only 'no'",
        ),
    ] {
        let common = if with_parity { &PARITY[..] } else { &[] };
        let error = drive("he-4g", &[common, &settings].concat()).expect_err("it is refused");
        assert_eq!(error.field.as_deref(), Some(field), "{settings:?}: {error}");
        assert!(error.reason.starts_with(reason), "{settings:?}: {error}, expected: {reason}");
    }
}

#[test]
fn refusal_of_block_mapping_names_the_unsuitable_setting() {
    let options = "mapping.translation_options";
    for (scheme, given, field) in [
        ("fast", "mapping.translation_options.log_blocks=0", options),
        ("fast", "mapping.translation_options.log_blocks=2049", options),
        ("fast", "mapping.translation_options.log_blocks=1000", "mapping.translation_options.log_blocks"),
        ("fast", "mapping.translation_options.stripe=24", options),
        ("fast", "mapping.translation_options.merge_batch=0", options),
        ("bast", "mapping.translation_options.merge_batch=2", options),
        ("bast", "mapping.translation_options.sequence_blocks=2", options),
        ("fast", "mapping.chunk=8KiB", "mapping.chunk"),
        ("bast", "cleaning.separate=true", "cleaning.separate"),
        ("block", "wear.policy=static", "wear.policy"),
        ("page", "flash.noise=0%", options),
    ] {
        let settings = format!(
            "mapping.translation={scheme},compat.disksim.pool=plane,mapping.translation_options.log_blocks=4,{given}"
        );
        let error = refusal(&settings);
        assert_eq!(error.field.as_deref(), Some(field), "{settings}: {error}");
        assert!(error.reason.contains("allowed") || error.reason.contains("it knows"), "{settings}: {error}");
    }
}

#[test]
fn an_old_name_of_a_setting_is_answered_with_the_new_one() {
    for (settings, new) in [
        ("flash.summary_pages=0", "compat.disksim.summary_pages"),
        ("link.whole_reads=false", "compat.disksim.whole_reads"),
        ("mapping.log_blocks=3", "mapping.translation_options.log_blocks"),
        ("log_blocks=3", "mapping.translation_options.log_blocks"),
        ("cleaning.lazy=false", "cleaning.defer = \"until-next-operation\""),
        ("overwrites=true", "buffer.coalesce"),
        ("cleaning.yields=true", "cleaning.defer = \"behind-host\""),
    ] {
        let error = refusal(settings).to_string();
        assert!(error.contains(new), "{settings}: {error}");
    }
    let text = PROFILES[0].text.replacen("size = ", "parallel_pages = 8\nsize = ", 1);
    let error = parse("mine.toml", &text, &[]).unwrap_err();
    assert_eq!(error.field.as_deref(), Some("buffer.parallel_pages"), "{error}");
    assert!(error.line.is_some() && error.reason.contains("batch_pages_per_package"), "{error}");
}

/// A profile that leaves `mapping.order` to its default, and that text with `setting`.
fn without_order(setting: &str) -> Result<DriveConfig, ConfigError> {
    let text = PROFILES.iter().find(|profile| profile.name == "ssd-s").unwrap().text;
    let text: String =
        text.lines().filter(|line| !line.starts_with("order")).map(|l| format!("{l}\n")).collect();
    let settings = setting.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    parse("mine.toml", &text, settings.as_slice())
}

#[test]
fn list_is_set_though_the_profile_leaves_it_to_its_default() {
    let default = without_order("").unwrap().mapping.order;
    assert_eq!(without_order("mapping.order=channel+package+die+plane").unwrap().mapping.order, default);
    let planes_first = without_order("mapping.order=plane+channel+package+die").unwrap().mapping.order;
    let of_file = drive("ssd-s", &[("mapping.order", "plane+channel+package+die")]).unwrap().mapping.order;
    assert_eq!(planes_first, of_file);
    for setting in ["mapping.order=plane", "mapping.order=plane/channel/package/die"] {
        let words = without_order(setting).unwrap_err().to_string();
        assert!(words.contains("joined by '+', as in channel+package+die+plane"), "{words}");
    }
    let words = drive("sdf", &[("mapping.order", "plane+channel+package+die")]).unwrap_err().to_string();
    assert!(words.contains("[lanes]"), "{words}");
}

#[test]
fn a_slip_in_a_setting_is_answered_with_what_was_meant() {
    for (settings, words) in [
        ("chanels=4", "there is no field of this name (did you mean 'channels'?)"),
        ("flash.chanels=4", "(did you mean 'channels'?)"),
        (
            "initial.state=ful",
            "there is no value 'ful' (did you mean 'full'?); allowed: fresh, full, fragmented",
        ),
        (
            "mapping.translation=blok",
            "'blok' is no translation policy; there are: page, block, bast, fast (did you mean 'block'?)",
        ),
        ("channels=four", "it is 'four'; allowed: a whole number, 1 to 1024"),
        (
            "mapping.order=channel",
            "it lists 1; allowed: a list of 4, joined by '+', as in channel+package+die+plane",
        ),
        ("mapping.order=channel-package-die-plane", "joined by '+', as in channel+package+die+plane"),
        ("suspend=20us", "set it by its full name: 'flash.suspend'"),
        ("over_provisioning=150%", "for more than 100% give the capacity"),
    ] {
        let words_of = refusal(settings).to_string();
        assert!(words_of.contains(words), "{settings}: {words_of}");
        assert!(!words_of.contains('`'), "{words_of}");
    }
    let refused = |text: &str| parse("mine.toml", text, &[]).unwrap_err();
    let deep = refused(&format!("name = \"x\"\n{}\n", "a.".repeat(500) + "b = 1"));
    assert_eq!(deep.line, Some(2), "{deep}");
    let typed = refused("name = \"x\"\n[flash]\nchannels = \"four\"\n");
    assert_eq!((typed.line, typed.field.as_deref()), (Some(3), Some("flash.channels")), "{typed}");
    let named = refused("name = \"x\"\n");
    assert_eq!(named.field, None, "{named}");
    assert!(named.reason.contains("profile show ssd-s"), "{named}");
    let file = PROFILES[0].text.replacen("channels = ", "channels = \"sixteen\" # ", 1);
    assert!(refused(&file).reason.ends_with("a whole number, 1 to 1024"), "{}", refused(&file));
}

#[test]
fn a_buffer_can_be_taken_away_by_its_policy() {
    let with = |policy: &str| {
        let settings = [("buffer.policy", policy), ("buffer.size", "4MiB")];
        load("msr-64g", &settings.map(|(key, value)| (key.into(), value.into())))
    };
    assert!(with("lru").unwrap().buffer.is_some());
    assert!(with("none").unwrap().buffer.is_none());
    let reason = with("nine").unwrap_err().reason;
    assert!(reason.contains("'nine'") && reason.contains("'none', for no buffer"), "{reason}");
    // Where there is none anyway it need not be described first.
    assert!(load("msr-32g", &[("buffer.policy".into(), "none".into())]).unwrap().buffer.is_none());
}

#[test]
fn section_missing_in_the_profile_must_be_given_whole() {
    let error = refusal("readahead.policy=streams");
    assert_eq!(error.field.as_deref(), Some("readahead.window"));
    let example = "msr-32g has no [readahead], so that all of it must be given, as ssd-s has it: \
                   readahead.cache=512KiB,readahead.window=64KiB";
    assert!(error.reason.contains(example), "{error}");
    assert!(drive("msr-32g", &[("readahead.window", "64KiB"), ("readahead.cache", "512KiB")]).is_ok());
    let error = refusal("buffer.policy=lru");
    assert_eq!(error.field.as_deref(), Some("buffer.size"));
    assert!(error.reason.contains("missing"), "{error}");
    // For nothing else that is to blame.
    for settings in
        ["flash.noise=much", "bufer.size=1MiB", "buffer.policy=lru,buffer.size=1MiB,flash.noise=much"]
    {
        let reason = refusal(settings).reason;
        assert!(!reason.contains("has no ["), "{settings}: {reason}");
    }
}

#[test]
fn all_mistakes_that_can_be_found_are_named() {
    let fields = |settings: &str| {
        let error = refusal(settings);
        let others = error.others.iter().filter_map(|other| other.field.clone());
        error.field.iter().cloned().chain(others).collect::<Vec<_>>()
    };
    assert_eq!(
        fields("flash.channels=2000,link.depth=0,flash.pages=0,wear.policy=x"),
        ["link.depth", "flash.channels", "flash.pages", "wear.policy"]
    );
    // Rules over several settings, where each by itself is in range.
    assert_eq!(fields("mapping.chunk=5000B,flash.spare=1MiB"), ["mapping.chunk", "flash.spare"]);
    let text = refusal("flash.channels=2000,link.depth=0").to_string();
    assert_eq!(text.lines().filter(|line| line.starts_with("profile msr-32g")).count(), 2, "{text}");
}

/// Fields and their values.
type Given = &'static [(&'static str, &'static str)];

/// A setting of each kind that has no effect, beside what takes it away, and a value of that which gives it one.
const WITHOUT_EFFECT: [(&str, Given, Given); 9] = [
    ("cleaning.preemptible=true", &[], &[("scheduling.policy", "read-first")]),
    ("cleaning.high=4%", &[("cleaning.low", "5%")], &[("cleaning.low", "3%")]),
    ("cleaning.idle=1ms", &[], &[("cleaning.high", "50%")]),
    ("scheduling.write_wait=1ms", &[], &[("flash.suspend", "20us")]),
    ("flash.multi_plane=true", &[("flash.planes", "1"), ("flash.blocks", "16384")], &[]),
    ("flash.endurance_spread=5%", &[], &[("flash.endurance", "3000")]),
    ("host.jitter=5%", &[("host.submission", "0us")], &[("host.submission", "5us")]),
    ("buffer.high_watermark=50%", &[("buffer.batch_pages_per_package", "8")], &[]),
    ("buffer.drain_per_die=8", &[("buffer.batch_pages_per_package", "8")], &[]),
];

#[test]
fn setting_without_effect_is_refused_where_it_is_given() {
    for (setting, takes_away, gives) in WITHOUT_EFFECT {
        let own = setting.split_once('=').unwrap();
        let base = [("buffer.size", "1MiB")];
        let with = |others: &[(&str, &str)]| drive("msr-32g", &[&base[..], others, &[own]].concat());
        let words = with(takes_away).map(drop).expect_err(setting).to_string();
        assert!(words.contains(own.0) && words.contains("it has no effect: "), "{setting}: {words}");
        assert!(words.contains("allowed: "), "{setting}: {words}");
        with(gives).map(drop).unwrap_or_else(|error| panic!("{setting} with {gives:?}: {error}"));
        // It stays in a file, from which other drives are made, and can be asked for.
        drive("msr-32g", &[&base[..], takes_away].concat())
            .map(drop)
            .unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn file_keeps_settings_that_others_take_the_effect_from() {
    let of_file = drive("memoright-like", &[]).unwrap();
    assert_eq!(of_file.without_effect(), []);
    let in_order = drive("memoright-like", &[("scheduling.policy", "fifo")]).unwrap();
    let unused: Vec<&str> = in_order.without_effect().into_iter().map(|(field, _)| field).collect();
    assert_eq!(unused, ["cleaning.preemptible"]);
    for profile in PROFILES {
        assert_eq!(drive(profile.name, &[]).unwrap().without_effect(), [], "{}", profile.name);
    }
}

#[test]
fn buffer_holds_no_more_than_the_drive() {
    let words = refusal("buffer.size=1TiB").to_string();
    assert!(words.contains("buffer.size") && words.contains("at most the drive's capacity of "), "{words}");
}

#[test]
fn drive_of_too_many_units_is_offered_a_larger_one() {
    let with = |settings: &[(&str, &str)]| {
        let drive_of_128tib = [("flash.channels", "1024"), ("flash.blocks", "65536"), ("capacity", "1TiB")];
        drive("ssd-s", &[&drive_of_128tib[..], settings].concat())
            .map(drop)
            .map_err(|error| error.to_string())
    };
    let words = with(&[]).unwrap_err();
    let (_, unit) = words.split_once("mapping.unit=").unwrap_or_else(|| panic!("{words}"));
    let unit = unit.split([',', ' ']).next().unwrap();
    assert!(with(&[("mapping.unit", unit), ("mapping.chunk", unit)]).is_ok(), "mapping.unit={unit}: {words}");
}

#[test]
fn too_many_bad_blocks_are_refused_with_the_most_that_fit() {
    let words = refusal("flash.factory_bad=99%").to_string();
    let (_, most) =
        words.split_once("allowed: a flash.factory_bad of at most ").unwrap_or_else(|| panic!("{words}"));
    let (most, _) = most.split_once(',').unwrap();
    assert!(drive("msr-32g", &[("flash.factory_bad", most)]).is_ok(), "{most}");
}

#[test]
fn endurance_out_of_range_has_one_range() {
    let allowed = |value: &str| {
        let words = refusal(&format!("flash.endurance={value}")).to_string();
        words.split_once("; allowed: ").unwrap_or_else(|| panic!("{words}")).1.replace("a whole number, ", "")
    };
    assert_eq!((allowed("0"), allowed("-3")), ("1 to 1000000000".into(), "1 to 1000000000".into()));
}

#[test]
fn refused_setting_has_no_line() {
    let text = PROFILES.iter().find(|profile| profile.name == "ssd-s").unwrap().text;
    let with = |key: &str, value: &str| [(key.to_owned(), value.to_owned())];
    let error = parse("my.toml", text, &with("flash.channels", "0")).unwrap_err();
    assert_eq!((error.line, error.field.as_deref()), (None, Some("flash.channels")), "{error}");
    // A built-in profile is no file that its user has seen.
    let error = parse("my.toml", text, &with("flash.page", "3KiB")).unwrap_err();
    let built_in = load("ssd-s", &with("flash.page", "3KiB")).unwrap_err();
    assert_eq!(built_in.line, None, "{built_in}");
    assert_eq!(ConfigError { file: "ssd-s".into(), ..error.without_lines() }, built_in);
}

#[test]
fn free_blocks_beyond_the_reserve_are_reported() {
    let reported =
        |high: &str| drive("msr-32g", &[("cleaning.high", high)]).unwrap().reserve().unwrap().out_of_reach;
    let most = reported("60%").expect("no drive has so much spare").most_share;
    assert!((0.02..0.3).contains(&most), "{most}");
    assert_eq!(reported(&format!("{:.3}%", most * 100.0)), None);
    assert!(reported(&format!("{:.3}%", most * 100.0 + 1.0)).is_some());
}

#[test]
fn drains_of_less_than_a_program_are_reported() {
    let reported = |settings: &[(&str, &str)]| drive("nvme-tlc", settings).unwrap().programs_in_parts();
    let program_units = |settings: &[(&str, &str)]| reported(settings).map(|drains| drains.program_units());
    assert_eq!(program_units(&[("buffer.drain_per_die", "15")]), Some(16));
    assert_eq!(program_units(&[("buffer.drain_per_die", "16")]), None);
    let one_plane = ("flash.multi_plane", "false");
    assert_eq!(program_units(&[one_plane, ("buffer.drain_per_die", "3")]), Some(4));
    assert_eq!(program_units(&[one_plane, ("buffer.drain_per_die", "4")]), None);
    assert_eq!(program_units(&[("buffer.policy", "none")]), None);
}
