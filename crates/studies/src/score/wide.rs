//! Wide drives of the score: 64 MiB to 8 GiB, 1 to 32 channels, 1 to 8 packages of 1 to 4 dies with 1 to 4 planes,
//! chunks from a page to 1 MiB that need not be powers of two, every order of the stripe, slow and fast flash, buses
//! and links, up to 10% of noise, every buffer policy, and every initial state.
//!
//! *Truth.* The planes of a die that cannot work together are one queue: where the stripe visits them first, their
//! chunks are one. Where they can, a domain's chunk is one plane's or that of all, and a sub-domain is a die or a
//! plane. The only channel of a drive cannot be told from its link: its dies then are its domains, too. The reclaim
//! unit is an erase block, or those of all planes of a die.

use super::Truth;
use flashlane_base::Random;
use flashlane_sim::profile;

const CHANNELS: [u64; 14] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 28, 32];
const LEVELS: [&str; 4] = ["channel", "package", "die", "plane"];
const STATES: [&str; 3] = ["fresh", "full", "fragmented"];
/// Buffer policies and the placement that each requires.
const BUFFERS: [(&str, &str); 5] =
    [("fifo", "above"), ("lru", "above"), ("parallel", "below"), ("bplru", "above"), ("cflru", "above")];
/// Draws until a drive is possible: of small drives with many dies few are.
const MOST_DRAWS: usize = 10_000;

/// Draws a drive: its truth and its profile.
pub(super) fn draw(random: &mut Random) -> (Truth, String) {
    for _ in 0..MOST_DRAWS {
        let drawn = Drawn::new(random);
        let profile = drawn.profile();
        if profile::parse("random drive", &profile, &[]).is_ok() {
            return (drawn.truth(), profile);
        }
    }
    unreachable!("one of {MOST_DRAWS} drives is possible")
}

/// Values of a drive that determine its truth, and its profile's other lines.
struct Drawn {
    page: u64,
    chunk: u64,
    channels: u64,
    packages: u64,
    dies: u64,
    planes: u64,
    multi_plane: bool,
    order: Vec<&'static str>,
    is_by_address: bool,
    streams: u64,
    buffer: u64,
    pages_per_block: u64,
    /// Lines before the first section, and the sections.
    head: String,
    sections: String,
}

fn pick<T: Copy>(random: &mut Random, values: &[T]) -> T {
    values[random.below(values.len() as u64) as usize]
}

fn log_uniform(random: &mut Random, low: f64, high: f64) -> f64 {
    (low.ln() + random.unit() * (high / low).ln()).exp()
}

impl Drawn {
    fn new(random: &mut Random) -> Self {
        let sector: u64 = pick(random, &[512, 512, 4096]);
        let page = (2048_u64 << random.below(4)).max(sector);
        let chunk_pages = if random.chance(0.7) {
            1 << random.below(u64::from((1_048_576 / page).ilog2()) + 1)
        } else {
            log_uniform(random, 1.0, (1_048_576 / page + 1) as f64) as u64
        };
        let channels = pick(random, &CHANNELS);
        let (packages, dies) = (1 << random.below(4), 1 + random.below(4));
        let planes = pick(random, &[1, 2, 3, 4]);
        let mut order = LEVELS.to_vec();
        if random.chance(0.5) {
            random.shuffle(&mut order);
        }
        let is_by_address = random.chance(0.5);
        let streams = if random.chance(0.5) { 1 + random.below(32) } else { 0 };
        let buffer = if random.chance(0.6) {
            // Whole pages, and at least a few.
            (log_uniform(random, 65_536.0, 67_108_864.0) as u64 / page).max(16) * page
        } else {
            0
        };
        let multi_plane = random.chance(0.5);
        let mut drawn = Self {
            page,
            chunk: chunk_pages * page,
            channels,
            packages,
            dies,
            planes,
            multi_plane,
            order,
            is_by_address,
            streams,
            buffer,
            pages_per_block: 0,
            head: String::new(),
            sections: String::new(),
        };
        drawn.write(random, sector, chunk_pages);
        drawn
    }

    fn write(&mut self, random: &mut Random, sector: u64, chunk_pages: u64) {
        let capacity =
            log_uniform(random, (64_u64 << 20) as f64, (8_u64 << 30) as f64) as u64 / 65536 * 65536;
        let least_pages = chunk_pages.max(16);
        let pages_per_block = least_pages.max(16 << random.below(5));
        self.pages_per_block = pages_per_block;
        let all_planes = self.channels * self.packages * self.dies * self.planes;
        // Flash for a quarter more, and blocks for GC.
        let blocks = (capacity * 5 / 4).div_ceil(all_planes * pages_per_block * self.page) + 8;
        let state = pick(random, &STATES);
        self.head = format!(
            "name = \"random\"\ncapacity = \"{capacity}B\"\nsector = \"{sector}B\"\n[initial]\nstate = \"{state}\"\n"
        );
        let (noise, jitter) = (0.1 * random.unit(), 0.1 * random.unit());
        let ns =
            |random: &mut Random, low: f64, high: f64| format!("{:.0}ns", log_uniform(random, low, high));
        let rate =
            |random: &mut Random, low: f64, high: f64| format!("{:.0}B/s", log_uniform(random, low, high));
        let depth = if random.chance(0.15) { 1 } else { log_uniform(random, 1.0, 16384.0) as u64 };
        let command = ns(random, 100.0, 8e3);
        self.sections = format!(
            "[host]\nsubmission = \"{}\"\njitter = \"{:.2}%\"\n\
             [link]\nbandwidth = \"{}\"\nread_command = \"{command}\"\nwrite_command = \"{command}\"\n\
             depth = {depth}\nduplex = {}\nread_write_exclusion = {}\n\
             [mapping]\npolicy = \"{}\"\nchunk = \"{}B\"\norder = {:?}\n[cleaning]\nlow = \"3%\"\n\
             [flash]\nchannels = {}\npackages = {}\ndies = {}\nplanes = {}\nblocks = {blocks}\n\
             pages = {pages_per_block}\npage = \"{}B\"\nread = \"{}\"\nprogram = \"{}\"\nerase = \"2ms\"\n\
             bus = \"{}\"\nnoise = \"{:.2}%\"\ncache_mode = {}\nmulti_plane = {}\n",
            ns(random, 1e3, 50e3),
            jitter * 100.0,
            rate(random, 240e6, 7e9),
            random.chance(0.5),
            random.chance(0.3),
            if self.is_by_address { "lba" } else { "write-order" },
            self.chunk,
            self.order,
            self.channels,
            self.packages,
            self.dies,
            self.planes,
            self.page,
            ns(random, 3e3, 100e3),
            ns(random, 100e3, 2e6),
            rate(random, 40e6, 1.6e9),
            noise * 100.0,
            random.chance(0.5),
            self.multi_plane,
        );
        if random.chance(0.3) {
            self.sections += "suspend = \"5us\"\n[scheduling]\npolicy = \"read-first\"\n";
        }
        if self.streams > 0 {
            let window = 65536_u64.max(4 * self.page);
            let trigger = pick(random, &[2, 2, 4]);
            self.sections += &format!(
                "[readahead]\nwindow = \"{window}B\"\ncache = \"{}B\"\noptions = {{ streams = {}, trigger = {trigger} }}\n",
                2 * window * (self.streams + 1),
                self.streams
            );
        }
        if self.buffer > 0 {
            let (policy, placement) = pick(random, &BUFFERS);
            self.sections += &format!(
                "[buffer]\npolicy = \"{policy}\"\nsize = \"{}B\"\nplacement = \"{placement}\"\n",
                self.buffer
            );
        }
    }

    fn profile(&self) -> String {
        format!("{}{}", self.head, self.sections)
    }

    fn truth(&self) -> Truth {
        let dies = self.packages * self.dies;
        let count = |level: &&str| match *level {
            "channel" => self.channels,
            "package" => self.packages,
            "die" => self.dies,
            _ => self.planes,
        };
        let first = self.order.iter().find(|level| count(level) > 1);
        let mut chunk = vec![self.chunk];
        if first == Some(&"plane") {
            chunk.push(self.chunk * self.planes);
            if !self.multi_plane {
                chunk.remove(0);
            }
        }
        let mut sub_domains = vec![dies];
        if self.multi_plane && self.planes > 1 {
            sub_domains.push(dies * self.planes);
        }
        let mut degree = vec![self.channels];
        if self.channels == 1 {
            degree.extend(&sub_domains);
            sub_domains.extend([1, self.planes]);
        }
        Truth {
            chunk_size_bytes: chunk,
            page_size_bytes: vec![self.page],
            interleaving_degree: degree,
            sub_domains,
            mapping_policy: if self.is_by_address { "lba" } else { "write-order" },
            readahead_streams: self.streams,
            write_buffer_bytes: self.buffer,
            reclaim_unit_bytes: [1, self.planes]
                .map(|planes| planes * self.pages_per_block * self.page)
                .into(),
            slc_cache_bytes: [0; 2],
            mapping_cache_reach_bytes: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;
    use std::collections::BTreeSet;

    fn drawn(count: u64) -> Vec<(Truth, String)> {
        (0..count).map(|nth| draw(&mut Seed(3).derive_nth("wide drive", nth).source())).collect()
    }

    #[test]
    fn drives_cover_the_ranges() {
        let drives = drawn(300);
        let holds = |text: &str| drives.iter().any(|(_, profile)| profile.contains(text));
        for text in ["depth = 1\n", "sector = \"4096B\"", "channels = 1\n", "channels = 20\n", "dies = 3"] {
            assert!(holds(text), "{text}");
        }
        for text in STATES.iter().chain(BUFFERS.iter().map(|(policy, _)| policy)) {
            assert!(holds(&format!("\"{text}\"")), "{text}");
        }
        let first: BTreeSet<&str> = drives
            .iter()
            .filter_map(|(_, profile)| profile.split("order = [").nth(1)?.split(',').next())
            .collect();
        assert_eq!(first.len(), LEVELS.len(), "{first:?}");
        let odd = |truth: &Truth| !truth.chunk_size_bytes[0].is_power_of_two();
        assert!(drives.iter().any(|(truth, _)| odd(truth)));
    }

    #[test]
    fn planes_that_wait_for_each_other_are_one_chunk() {
        let mut drawn = Drawn::new(&mut Seed(1).source());
        (drawn.chunk, drawn.planes, drawn.dies, drawn.packages, drawn.channels) = (8192, 2, 1, 2, 4);
        drawn.order = vec!["die", "plane", "channel", "package"];
        drawn.multi_plane = false;
        let truth = drawn.truth();
        assert_eq!(truth.chunk_size_bytes, [16384]);
        assert_eq!((truth.interleaving_degree, truth.sub_domains), (vec![4], vec![2]));
        drawn.multi_plane = true;
        let truth = drawn.truth();
        assert_eq!((truth.chunk_size_bytes, truth.sub_domains), (vec![8192, 16384], vec![2, 4]));
    }
}
