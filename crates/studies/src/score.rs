//! The probe's score: how often it is right, wrong or undecided about drives of known structure.
//!
//! Each drive is drawn at random over wide ranges: 2 to 32 channels, 1 to 4 packages, pages of 2 to 16 KiB, chunks up
//! to 64 KiB, both mappings, with and without readahead and buffer, timings from slow SLC to present TLC, up to 5%
//! of timing noise in array and host. A wrong answer is far worse than "not determined".

use flashlane_base::{Random, Seed};
use flashlane_probe::{Finding, Options, Status, probe};
use flashlane_result::feature::Feature;
use flashlane_result::score::{Mistake, SCORE_SCHEMA, Score, Tally};
use flashlane_sim::{Drive, profile};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// The true structure of a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    /// Chunk size.
    pub chunk_size_bytes: u64,
    /// Page size.
    pub page_size_bytes: u64,
    /// Number of channels.
    pub interleaving_degree: u64,
    /// Packages per channel.
    pub sub_domains: u64,
    /// `lba` or `write-order`.
    pub mapping_policy: &'static str,
    /// Number of streams that readahead follows; 0 for none.
    pub readahead_streams: u64,
    /// Size of the write buffer; 0 for none.
    pub write_buffer_bytes: u64,
}

/// Tolerance of a buffer's size, since the pages that leave it while it fills are estimated.
const BUFFER_TOLERANCE: f64 = 0.1;

/// Probes `drives` random drives on all cores; the result does not depend on the number of cores.
///
/// `watch` takes the number of drives done and returns whether to continue.
pub fn score(drives: u64, seed: Seed, watch: &(dyn Fn(u64) -> bool + Sync)) -> Score {
    let done = AtomicU64::new(0);
    let answers: Vec<Option<Vec<Answer>>> = (0..drives)
        .into_par_iter()
        .map(|drive| {
            if !watch(done.load(Ordering::Relaxed)) {
                return None;
            }
            let answers = examine(drive, seed);
            done.fetch_add(1, Ordering::Relaxed);
            Some(answers)
        })
        .collect();
    let probed = answers.iter().flatten().count() as u64;
    let mut features: Vec<Tally> =
        FEATURES.map(|feature| Tally { feature, right: 0, wrong: 0, not_determined: 0 }).into();
    let mut mistakes = Vec::new();
    for answer in answers.into_iter().flatten().flatten() {
        let tally =
            features.iter_mut().find(|t| t.feature == answer.feature).expect("every feature has a tally");
        match answer.mark {
            Mark::Right => tally.right += 1,
            Mark::NotDetermined => tally.not_determined += 1,
            Mark::Wrong(mistake) => {
                tally.wrong += 1;
                mistakes.push(mistake);
            }
        }
    }
    let partial = (probed < drives).then(|| format!("stopped after {probed} of {drives} drives"));
    Score { schema: SCORE_SCHEMA.into(), drives: probed, seed: seed.0, features, mistakes, partial }
}

const FEATURES: [Feature; 7] = [
    Feature::ChunkSize,
    Feature::PageSize,
    Feature::InterleavingDegree,
    Feature::SubDomains,
    Feature::MappingPolicy,
    Feature::ReadaheadStreams,
    Feature::WriteBuffer,
];

struct Answer {
    feature: Feature,
    mark: Mark,
}

enum Mark {
    Right,
    Wrong(Mistake),
    NotDetermined,
}

/// Probes the `drive`-th drive and marks each answer.
fn examine(drive: u64, seed: Seed) -> Vec<Answer> {
    let (truth, profile) = draw(&mut seed.derive_nth("score drive", drive).source());
    let config = profile::parse("random drive", &profile, &[]).expect("only possible drives are drawn");
    let mut device = Drive::new(&config, seed.derive_nth("score device", drive));
    let options =
        Options { may_write: true, seed: seed.derive_nth("score probe", drive), ..Options::default() };
    let result = probe(&mut device, options).expect("a simulated drive of this size can be probed");
    FEATURES
        .into_iter()
        .map(|feature| {
            let finding = result.finding(feature).expect("a whole probe names every feature");
            let mark = match (finding.status, is_right(feature, finding, &truth)) {
                (Status::NotDetermined, _) => Mark::NotDetermined,
                (_, true) => Mark::Right,
                (_, false) => Mark::Wrong(Mistake {
                    drive,
                    feature,
                    truth: format!("{truth:?}"),
                    answer: format!("{:?} {:?}: {}", finding.status, finding.value, finding.evidence),
                    profile: profile.clone(),
                }),
            };
            Answer { feature, mark }
        })
        .collect()
}

fn is_right(feature: Feature, finding: &Finding, truth: &Truth) -> bool {
    let number = finding.number();
    match feature {
        Feature::ChunkSize => number == Some(truth.chunk_size_bytes),
        Feature::PageSize => number == Some(truth.page_size_bytes),
        Feature::InterleavingDegree => number == Some(truth.interleaving_degree),
        Feature::SubDomains => number == Some(truth.sub_domains),
        Feature::MappingPolicy => finding.word() == Some(truth.mapping_policy),
        Feature::ReadaheadStreams => number.unwrap_or(0) == truth.readahead_streams,
        Feature::WriteBuffer => match (number, truth.write_buffer_bytes) {
            (None, 0) => true,
            (Some(found), bytes) => (found as f64 / bytes as f64 - 1.0).abs() <= BUFFER_TOLERANCE,
            _ => false,
        },
        _ => unreachable!("a feature without a rule"),
    }
}

/// Draws a drive: its truth and its profile.
fn draw(random: &mut Random) -> (Truth, String) {
    let page = 2048 << random.below(4);
    let chunk = page * (1 << random.below(u64::from((65536 / page as u64).ilog2()) + 1));
    let channels = 2 + random.below(31);
    let packages = 1 + random.below(4);
    let planes = 1 + random.below(2);
    let mapping_policy = if random.chance(0.5) { "lba" } else { "write-order" };
    let streams = if random.chance(0.5) { 1 << random.below(4) } else { 0 };
    // 64 KiB to 4 MiB, and at least a few pages.
    let buffer = if random.chance(0.5) { (65536 << random.below(7)).max(16 * page) } else { 0 };
    let log_uniform =
        |random: &mut Random, low: f64, high: f64| (low.ln() + random.unit() * (high / low).ln()).exp();
    let read_us = log_uniform(random, 20.0, 90.0);
    let program_us = read_us * log_uniform(random, 5.0, 20.0);
    let bus_mb = log_uniform(random, 25.0, 400.0);
    let link_mb = log_uniform(random, 250.0, 4000.0);
    let command_us = log_uniform(random, 0.3, 8.0);
    let host_us = log_uniform(random, 4.0, 50.0);
    let noise = 0.05 * random.unit();
    // 8 GiB, and flash for a quarter more.
    let pages_per_block = 64_u64;
    let blocks =
        ((8_u64 << 30) * 5 / 4).div_ceil(channels * packages * planes * pages_per_block * page as u64);
    let mut profile = format!(
        "name = \"random\"\ncapacity = \"8GiB\"\n\
         [host]\nsubmission = \"{:.0}ns\"\njitter = \"{:.2}%\"\n\
         [link]\nbandwidth = \"{:.0}B/s\"\nread_command = \"{:.0}ns\"\nwrite_command = \"{:.0}ns\"\n\
         depth = 32\nduplex = {}\nread_write_exclusion = {}\n\
         [mapping]\npolicy = \"{mapping_policy}\"\nchunk = \"{chunk}B\"\n\
         [cleaning]\nlow = \"3%\"\n\
         [flash]\nchannels = {channels}\npackages = {packages}\nplanes = {planes}\nblocks = {blocks}\n\
         pages = {pages_per_block}\npage = \"{page}B\"\nread = \"{:.0}ns\"\nprogram = \"{:.0}ns\"\n\
         erase = \"2ms\"\nbus = \"{:.0}B/s\"\nnoise = \"{:.2}%\"\n",
        host_us * 1e3,
        noise * 100.0,
        link_mb * 1e6,
        command_us * 1e3,
        command_us * 1e3,
        random.chance(0.5),
        random.chance(0.5),
        read_us * 1e3,
        program_us * 1e3,
        bus_mb * 1e6,
        noise * 100.0,
    );
    if streams > 0 {
        let window = 65536_u64.max(4 * page as u64);
        profile += &format!(
            "[readahead]\nwindow = \"{window}B\"\ncache = \"{}B\"\noptions = {{ streams = {streams} }}\n",
            2 * window * (streams + 1)
        );
    }
    if buffer > 0 {
        let policy = if random.chance(0.5) { "fifo" } else { "lru" };
        profile += &format!("[buffer]\npolicy = \"{policy}\"\nsize = \"{buffer}B\"\n");
    }
    let truth = Truth {
        chunk_size_bytes: chunk as u64,
        page_size_bytes: page as u64,
        interleaving_degree: channels,
        sub_domains: packages,
        mapping_policy,
        readahead_streams: streams,
        write_buffer_bytes: buffer as u64,
    };
    (truth, profile)
}
