//! The usual drives of the score: 2 to 32 channels, 1 to 4 packages, pages of 2 to 16 KiB, chunks up to 64 KiB, both
//! mappings, with and without readahead and buffer, timings from slow SLC to present TLC, up to 5% of timing noise in
//! array and host.

use super::Truth;
use flashlane_base::Random;

/// Draws a drive: its truth and its profile.
pub(super) fn draw(random: &mut Random) -> (Truth, String) {
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
        chunk_size_bytes: vec![chunk as u64],
        page_size_bytes: vec![page as u64],
        interleaving_degree: vec![channels],
        sub_domains: vec![packages],
        mapping_policy,
        readahead_streams: streams,
        write_buffer_bytes: buffer as u64,
        reclaim_unit_bytes: [1, planes].map(|planes| planes * pages_per_block * page as u64).into(),
        slc_cache_bytes: [0; 2],
        mapping_cache_reach_bytes: 0,
    };
    (truth, profile)
}
