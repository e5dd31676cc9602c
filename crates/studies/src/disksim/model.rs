//! A simple step-by-step model of DiskSim's SSD extension, for configurations of the drive without published numbers.
//! It shares no code with the drive that is compared with it.
//!
//! Times are in ms, as there. A package does one operation at a time, in the order in which pages arrive; before each
//! it cleans a block if one of its planes is short of free blocks.

use flashlane_base::Operation;
use flashlane_trace::Record;
use std::collections::VecDeque;

pub(super) const SECTOR_BYTES: u64 = 512;
/// Bytes of a sector on a package's bus, including its spare bytes.
const SECTOR_ON_BUS_BYTES: u64 = SECTOR_BYTES + SPARE_BYTES;
pub(super) const SPARE_BYTES: u64 = 16;
const HOST_BUS_MS: f64 = 0.000_238_4;
/// Maximum number of requests in the drive.
const DEPTH: usize = 20;

/// A drive of that simulator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters {
    pub(super) packages: usize,
    /// Planes of a package.
    pub(super) planes: usize,
    /// Blocks of a plane.
    pub(super) blocks: usize,
    /// Pages per block, of which the last holds its summary.
    pub(super) pages: usize,
    pub(super) page_sectors: u64,
    /// Blocks of a plane that are not exported, in percent.
    pub(super) reserve_percent: usize,
    /// Percentage of free blocks at which cleaning begins.
    pub(super) low_percent: usize,
    pub(super) read_us: f64,
    pub(super) program_us: f64,
    pub(super) erase_us: f64,
    /// A package's bus.
    pub(super) bus_mb_per_s: f64,
    /// Whether pages are moved within their plane, and each plane has its own open block.
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

/// Returns the mean response time of requests in ms, from their acceptance by the drive.
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
    /// Time of acceptance by the drive.
    taken: f64,
    /// Number of incomplete pages.
    left: u64,
}

struct Model {
    parameters: Parameters,
    packages: Vec<Package>,
    now: f64,
    requests: Vec<Request>,
    /// Numbers of completed requests, for reuse.
    done: Vec<usize>,
    at_host: VecDeque<usize>,
    /// Requests in the drive that have not been processed.
    commands: VecDeque<usize>,
    completions: VecDeque<usize>,
    /// End and owner of the current transfer on the host's bus.
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

    /// Accepts requests while the drive has room.
    fn take(&mut self) {
        while self.in_drive < DEPTH
            && let Some(id) = self.at_host.pop_front()
        {
            self.in_drive += 1;
            self.requests[id].taken = self.now;
            self.commands.push_back(id);
        }
    }

    /// Begins the next transfer on the host's bus, if it is free: completions, with data for reads, before commands,
    /// with data for writes.
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

    /// Queues a request's pages at their packages.
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
    /// For each page the logical page whose valid copy it holds.
    pages: Vec<Option<usize>>,
}

struct Plane {
    free_blocks: usize,
    /// The open block, and its number of written pages.
    open: (usize, usize),
    /// Position of the search for a free block.
    next: usize,
}

struct Package {
    queue: VecDeque<Part>,
    busy_until: Option<f64>,
    /// The current operation; `None` during cleaning.
    serving: Option<Part>,
    /// Block and page of each logical page. Block `b` is on plane `b % planes`.
    map: Vec<(usize, usize)>,
    blocks: Vec<Block>,
    /// One pool per plane; without copyback one for all planes.
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

    /// Begins cleaning, or the next operation of the queue.
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

    /// Writes a page to the pool with the most free pages; equal pools take turns. Returns the array time in us.
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

    /// Writes a page to a pool's open block, and the block's summary after the last.
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

    /// Cleans a block of the next pool that is short of free blocks, if any. Returns the time in us.
    fn clean(&mut self, parameters: &Parameters) -> f64 {
        let count = self.pools.len();
        let low = parameters.low_percent * self.blocks.len() / count / 100;
        let mut turns = (0..count).map(|step| (self.clean_turn + step) % count);
        let Some(pool) = turns.find(|&pool| self.pools[pool].free_blocks <= low) else {
            return 0.0;
        };
        self.clean_turn = (pool + 1) % count;
        // The block with the fewest valid pages; the last of equal ones within a plane.
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
