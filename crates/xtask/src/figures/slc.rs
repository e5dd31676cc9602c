//! Drives with an SLC cache, against published measurements of an erased drive that is written once, in order: its
//! cache's size, the speed in it and past it, and the mean over the whole drive (TechPowerUp's reviews, as their pages
//! say).

use super::{Figure, Goal, number_after, percent_off};

const WITHIN: Option<Goal> = Some(Goal::AtMost(10.0, Some(5.0)));

macro_rules! command {
    ($drive:literal, $stop:literal) => {
        concat!(
            "cargo run -q --release -p flashlane -- run sim:",
            $drive,
            " sequential-write,size=1MiB,depth=16,",
            $stop,
            " --format json"
        )
    };
}

/// Percent between the bandwidth of a run and a published one, in GB/s.
fn bandwidth_off(output: &str, published: f64) -> Option<f64> {
    let measured = number_after(output, "\"bandwidth_bytes_per_s\":")? / 1e9;
    Some(percent_off(measured, published))
}

/// Percent between what a run wrote to the cache, in pages of 16 KiB, and a published size, in GB.
fn size_off(output: &str, published: f64) -> Option<f64> {
    let measured = number_after(output, "\"slc_pages_written\":")? * 16384.0 / 1e9;
    Some(percent_off(measured, published))
}

pub const SN580_SIZE: Figure = Figure {
    id: "sn580-slc-size",
    what: "`sn580-like`: size of the SLC cache against 341 GB of the drive (fitted): deviation in %",
    goal: WITHIN,
    command: command!("sn580-like,slc.when_full=direct", "requests=400k"),
    read: |output| size_off(output, 341.0),
};

pub const SN580_IN: Figure = Figure {
    id: "sn580-slc-speed",
    what: "`sn580-like`: writes into the cache against 4 GB/s: deviation in %",
    goal: WITHIN,
    command: command!("sn580-like", "requests=100k"),
    read: |output| bandwidth_off(output, 4.0),
};

pub const SN580_AFTER: Figure = Figure {
    id: "sn580-folding",
    what: "`sn580-like`: writes past the cache, which fold it, against 0.45 GB/s: deviation in %",
    goal: WITHIN,
    command: command!("sn580-like", "warmup=500k,requests=100k"),
    read: |output| bandwidth_off(output, 0.45),
};

pub const SN580_MEAN: Figure = Figure {
    id: "sn580-whole",
    what: "`sn580-like`: mean over the whole drive against 0.596 GB/s: deviation in %",
    goal: WITHIN,
    command: command!("sn580-like", "requests=953k"),
    read: |output| bandwidth_off(output, 0.596),
};

pub const ATOM_SIZE: Figure = Figure {
    id: "atom-50-slc-size",
    what: "`atom-50-like`: size of the SLC cache against 280 GB of the drive (fitted): deviation in %",
    goal: WITHIN,
    command: command!("atom-50-like", "requests=400k"),
    read: |output| size_off(output, 280.0),
};

pub const ATOM_IN: Figure = Figure {
    id: "atom-50-slc-speed",
    what: "`atom-50-like`: writes into the cache against 4.5 GB/s (fitted): deviation in %",
    goal: WITHIN,
    command: command!("atom-50-like", "requests=100k"),
    read: |output| bandwidth_off(output, 4.5),
};

pub const ATOM_DIRECT: Figure = Figure {
    id: "atom-50-direct",
    what: "`atom-50-like`: writes directly to TLC against 2 GB/s (fitted): deviation in %",
    goal: WITHIN,
    command: command!("atom-50-like", "warmup=300k,requests=100k"),
    read: |output| bandwidth_off(output, 2.0),
};

pub const ATOM_AFTER: Figure = Figure {
    id: "atom-50-folding",
    what: "`atom-50-like`: writes while the cache is folded against 0.5 GB/s: deviation in %",
    goal: WITHIN,
    command: command!("atom-50-like", "warmup=600k,requests=100k"),
    read: |output| bandwidth_off(output, 0.5),
};

pub const ATOM_MEAN: Figure = Figure {
    id: "atom-50-whole",
    what: "`atom-50-like`: mean over the whole drive against 0.80 GB/s: deviation in %",
    goal: WITHIN,
    command: command!("atom-50-like", "requests=953800"),
    read: |output| bandwidth_off(output, 0.8),
};
