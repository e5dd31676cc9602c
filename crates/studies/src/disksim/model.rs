//! What that simulator does, written down step by step and as plainly as it can be: an answer for configurations of the
//! drive for which none is published. It shares nothing with the drive that is held to it.
//!
//! Times are in ms, as there. A package does one thing at a time, in the order in which pages come to it; before each it
//! cleans a block if one of its planes is short of them.

use flashlane_base::Operation;
use flashlane_trace::Record;
use std::collections::VecDeque;

pub(super) const SECTOR_BYTES: u64 = 512;
/// A sector's bytes on a package's bus: its spare bytes go along.
const SECTOR_ON_BUS_BYTES: u64 = SECTOR_BYTES + SPARE_BYTES;
pub(super) const SPARE_BYTES: u64 = 16;
const HOST_BUS_MS: f64 = 0.000_238_4;
/// Requests that the drive holds at once.
const DEPTH: usize = 20;

/// A drive of that simulator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    pub(super) packages: usize,
    /// Planes of a package.
    pub(super) planes: usize,
    /// Blocks of a plane.
    pub(super) blocks: usize,
    /// Pages of a block, of which the last is its summary's.
    pub(super) pages: usize,
    pub(super) page_sectors: u64,
    /// Blocks of a plane that are not exported, in percent.
    pub(super) reserve_percent: usize,
    /// Free blocks, in percent, at which cleaning begins.
    pub(super) low_percent: usize,
    pub(super) read_us: f64,
    pub(super) program_us: f64,
    pub(super) erase_us: f64,
    /// A package's bus.
    pub(super) bus_mb_per_s: f64,
    /// Whether a page is moved within its plane, and each plane has an open block of its own.
    pub(super) copyback: bool,
}

impl Parameters {
    /// Blocks of a plane that are exported.
    fn exported_blocks(&self) -> usize {
        self.blocks - self.reserve_percent * self.blocks / 100
    }

    pub(super) fn capacity_bytes(&self) -> u64 {
        let pages = self.packages * self.planes * self.exported_blocks() * (self.pages - 1);
        pages as u64 * self.page_sectors * SECTOR_BYTES
    }

    fn transfer_ms(&self, sectors: u64) -> f64 {
        (sectors * SECTOR_ON_BUS_BYTES) as f64 / (self.bus_mb_per_s * 1e3)
    }
}

/// The mean response time of requests in ms, from when the drive takes them.
pub(super) fn mean_response_ms(parameters: Parameters, records: impl Iterator<Item = Record>) -> f64 {
    let mut model = Model {
        packages: (0..parameters.packages).map(|_| Package::new(&parameters)).collect(),
        parameters,
        now: 0.0,
        requests: Vec::new(),
        done: Vec::new(),
        at_host: VecDeque::new(),
        commands: VecDeque::new(),
        completions: VecDeque::new(),
        bus: None,
        in_drive: 0,
        sum_ms: 0.0,
        count: 0,
    };
    model.run(records);
    model.sum_ms / model.count as f64
}

struct Request {
    read: bool,
    first_sector: u64,
    sectors: u64,
    /// When the drive took it.
    taken: f64,
    /// Pages that are not done.
    left: u64,
}

struct Model {
    parameters: Parameters,
    packages: Vec<Package>,
    now: f64,
    requests: Vec<Request>,
    /// Requests that are over, whose numbers can be used again.
    done: Vec<usize>,
    at_host: VecDeque<usize>,
    /// Requests that the drive holds and has not looked at.
    commands: VecDeque<usize>,
    completions: VecDeque<usize>,
    /// Until when the host's bus is busy, and for whom.
    bus: Option<(f64, usize)>,
    in_drive: usize,
    sum_ms: f64,
    count: u64,
}

impl Model {
    fn run(&mut self, records: impl Iterator<Item = Record>) {
        let mut records = records.peekable();
        loop {
            let arrival = records.peek().map(|record| record.at.as_ns() as f64 / 1e6);
            let package = (0..self.packages.len())
                .filter_map(|at| Some((self.packages[at].busy_until?, at)))
                .min_by(|a, b| a.0.total_cmp(&b.0));
            let bus = self.bus.map(|(until, _)| until);
            let times = [arrival, bus, package.map(|(until, _)| until)];
            let Some(next) = times.into_iter().flatten().min_by(f64::total_cmp) else { return };
            self.now = next;
            if arrival == Some(next) {
                self.arrive(&records.next().expect("it was peeked at"));
            } else if bus == Some(next) {
                self.transferred();
            } else if let Some((_, package)) = package {
                self.package_done(package);
            }
        }
    }

    fn arrive(&mut self, record: &Record) {
        let request = Request {
            read: record.operation == Operation::Read,
            first_sector: record.offset_bytes / SECTOR_BYTES,
            sectors: record.length_bytes / SECTOR_BYTES,
            taken: 0.0,
            left: 0,
        };
        let id = match self.done.pop() {
            Some(id) => {
                self.requests[id] = request;
                id
            }
            None => {
                self.requests.push(request);
                self.requests.len() - 1
            }
        };
        self.at_host.push_back(id);
        self.take();
        self.use_bus();
    }

    /// The drive takes requests while it has room.
    fn take(&mut self) {
        while self.in_drive < DEPTH
            && let Some(id) = self.at_host.pop_front()
        {
            self.in_drive += 1;
            self.requests[id].taken = self.now;
            self.commands.push_back(id);
        }
    }

    /// Gives the host's bus, if it is free, to who comes next: completions, of which only a read's has data, before
    /// commands, of which only a write's has.
    fn use_bus(&mut self) {
        while self.bus.is_none() {
            let completed = self.completions.pop_front();
            let Some(id) = completed.or_else(|| self.commands.pop_front()) else { return };
            let Request { read, sectors, .. } = self.requests[id];
            if read == completed.is_some() {
                self.bus = Some((self.now + sectors as f64 * HOST_BUS_MS, id));
            } else if read {
                self.split(id);
            } else {
                self.complete(id);
            }
        }
    }

    fn transferred(&mut self) {
        let Some((_, id)) = self.bus.take() else { return };
        if self.requests[id].read {
            self.complete(id);
        } else {
            self.split(id);
        }
        self.use_bus();
    }

    fn complete(&mut self, id: usize) {
        self.sum_ms += self.now - self.requests[id].taken;
        self.count += 1;
        self.in_drive -= 1;
        self.done.push(id);
        self.take();
    }

    /// Hands a request's pages to their packages.
    fn split(&mut self, id: usize) {
        let Request { read, first_sector, sectors, .. } = self.requests[id];
        let page_sectors = self.parameters.page_sectors;
        let pages = first_sector / page_sectors..(first_sector + sectors).div_ceil(page_sectors);
        self.requests[id].left = pages.end - pages.start;
        for page in pages {
            let package = page as usize % self.parameters.packages;
            let logical = page as usize / self.parameters.packages;
            self.packages[package].queue.push_back(Part { request: id, logical, read });
            self.packages[package].begin(&self.parameters, self.now);
        }
    }

    fn package_done(&mut self, package: usize) {
        let part = self.packages[package].end();
        if let Some(part) = part {
            let request = &mut self.requests[part.request];
            request.left -= 1;
            if request.left == 0 {
                self.completions.push_back(part.request);
                self.use_bus();
            }
        }
        self.packages[package].begin(&self.parameters, self.now);
    }
}

/// A page of a request.
#[derive(Clone, Copy)]
struct Part {
    request: usize,
    logical: usize,
    read: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Open,
    Full,
}

struct Block {
    state: State,
    valid: usize,
    /// The logical page that each page has the valid copy of.
    pages: Vec<Option<usize>>,
}

struct Plane {
    free_blocks: usize,
    /// The open block, and how many pages of it are written.
    open: (usize, usize),
    /// Where the search for a free block goes on.
    next: usize,
}

struct Package {
    queue: VecDeque<Part>,
    busy_until: Option<f64>,
    /// What it does; nothing while it cleans.
    serving: Option<Part>,
    /// Block and page of each logical page. Block `b` lies on plane `b % planes`.
    map: Vec<(usize, usize)>,
    blocks: Vec<Block>,
    /// The planes; without copyback one for all of them.
    pools: Vec<Plane>,
    write_turn: usize,
    clean_turn: usize,
}

impl Package {
    /// Every logical page is mapped, in order, over the blocks outside the reserve.
    fn new(parameters: &Parameters) -> Self {
        let Parameters { planes, blocks, pages, .. } = *parameters;
        let exported = parameters.exported_blocks() * planes;
        let block = |at: usize| {
            let logical = |page| (at < exported && page < pages - 1).then(|| at * (pages - 1) + page);
            let state = if at < exported { State::Full } else { State::Free };
            let pages: Vec<_> = (0..pages).map(logical).collect();
            Block { state, valid: pages.iter().flatten().count(), pages }
        };
        let pools = if parameters.copyback { planes } else { 1 };
        let mut package = Self {
            queue: VecDeque::new(),
            busy_until: None,
            serving: None,
            map: (0..exported * (pages - 1)).map(|page| (page / (pages - 1), page % (pages - 1))).collect(),
            blocks: (0..blocks * planes).map(block).collect(),
            pools: Vec::new(),
            write_turn: 0,
            clean_turn: 0,
        };
        for pool in 0..pools {
            let free_blocks = (blocks * planes - exported) / pools;
            package.pools.push(Plane { free_blocks, open: (0, 0), next: 0 });
            package.open_block(pool);
        }
        package
    }

    /// Takes the next free block of a pool.
    fn open_block(&mut self, pool: usize) {
        let pools = self.pools.len();
        let count = self.blocks.len() / pools;
        let first = self.pools[pool].next;
        let at = (0..count)
            .map(|step| (first + step) % count)
            .find(|at| self.blocks[at * pools + pool].state == State::Free)
            .expect("cleaning keeps some blocks free");
        self.blocks[at * pools + pool].state = State::Open;
        let plane = &mut self.pools[pool];
        plane.next = (at + 1) % count;
        plane.free_blocks -= 1;
        plane.open = (at * pools + pool, 0);
    }

    /// Cleans, or does what is next in the queue.
    fn begin(&mut self, parameters: &Parameters, now: f64) {
        if self.busy_until.is_some() || self.queue.is_empty() {
            return;
        }
        let mut us = self.clean(parameters);
        if us == 0.0 {
            self.serving = self.queue.pop_front();
            us = self.serving.map_or(0.0, |part| {
                let array_us =
                    if part.read { parameters.read_us } else { self.write(part.logical, parameters) };
                array_us + 1e3 * parameters.transfer_ms(parameters.page_sectors)
            });
        }
        self.busy_until = Some(now + us / 1e3);
    }

    fn end(&mut self) -> Option<Part> {
        self.busy_until = None;
        self.serving.take()
    }

    /// Writes a page to the pool with the most free pages; pools that have as many take turns. What the array takes, in
    /// us.
    fn write(&mut self, logical: usize, parameters: &Parameters) -> f64 {
        let count = self.pools.len();
        let free = |pool: usize| {
            let plane = &self.pools[pool];
            (plane.free_blocks + 1) * parameters.pages - plane.open.1
        };
        let turns = (0..count).map(|step| (self.write_turn + step) % count);
        let pool = turns.reduce(|best, pool| if free(pool) > free(best) { pool } else { best }).unwrap_or(0);
        self.write_turn = (pool + 1) % count;
        self.append(logical, pool, parameters)
    }

    /// Writes a page to a pool's open block, and the block's summary behind the last.
    fn append(&mut self, logical: usize, pool: usize, parameters: &Parameters) -> f64 {
        let data_pages = parameters.pages - 1;
        if self.pools[pool].open.1 == data_pages {
            self.open_block(pool);
        }
        let (old_block, old_page) = self.map[logical];
        self.blocks[old_block].pages[old_page] = None;
        self.blocks[old_block].valid -= 1;
        let (block, page) = self.pools[pool].open;
        self.map[logical] = (block, page);
        self.blocks[block].pages[page] = Some(logical);
        self.blocks[block].valid += 1;
        self.pools[pool].open.1 += 1;
        if page + 1 < data_pages {
            return parameters.program_us;
        }
        self.blocks[block].state = State::Full;
        2.0 * parameters.program_us + 1e3 * parameters.transfer_ms(1)
    }

    /// Cleans a block of the next pool that is short of free ones, if one is: what that takes, in us.
    fn clean(&mut self, parameters: &Parameters) -> f64 {
        let count = self.pools.len();
        let low = parameters.low_percent * self.blocks.len() / count / 100;
        let mut turns = (0..count).map(|step| (self.clean_turn + step) % count);
        let Some(pool) = turns.find(|&pool| self.pools[pool].free_blocks <= low) else {
            return 0.0;
        };
        self.clean_turn = (pool + 1) % count;
        // The block with the fewest valid pages; of those with as many the last, within a plane.
        let full =
            (pool..self.blocks.len()).step_by(count).filter(|&at| self.blocks[at].state == State::Full);
        let victim = if parameters.copyback {
            full.min_by_key(|&at| (self.blocks[at].valid, usize::MAX - at))
        } else {
            full.min_by_key(|&at| self.blocks[at].valid)
        }
        .expect("a drive that is short of free blocks has full ones");
        let plane = |block: usize| block % parameters.planes;
        let mut us = parameters.erase_us;
        for page in 0..parameters.pages {
            if let Some(logical) = self.blocks[victim].pages[page] {
                us += parameters.read_us + self.append(logical, pool, parameters);
                if plane(self.map[logical].0) != plane(victim) {
                    us += 2e3 * parameters.transfer_ms(parameters.page_sectors);
                }
            }
        }
        self.blocks[victim].state = State::Free;
        self.pools[pool].free_blocks += 1;
        us
    }
}
