//! Operations on flash.

use flashlane_policy::scheduling::Class;

/// "No operation" in links between operations.
pub(super) const NONE: u32 = u32::MAX;

/// What is done to the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Array to register, then over the bus.
    Read,
    /// Over the bus, then register to array.
    Program,
    /// Pages moved within a plane, then blocks erased.
    Clean {
        /// Pages still to be moved.
        moves: u32,
        /// Blocks that the moved pages fill, so that their summaries are due.
        summaries: u32,
        /// Blocks to be erased.
        erases: u32,
        /// Planes of the die that do all of this at once.
        planes: u32,
    },
}

/// For whom an operation is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A page of the host request in this slot.
    Request(u32),
    /// The buffered page in this slot, on its way to flash.
    Drain(u32),
    /// The rest of a page of which the buffer's slot holds a part.
    DrainFill(u32),
    /// The rest of a page of which the request in this slot writes a part.
    RequestFill(u32),
    /// A page fetched ahead into the read cache.
    Readahead,
    /// Cleaning of an idle die, which may go on.
    Cleaning,
    /// Nobody waits.
    Nobody,
}

/// One operation on one plane.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// What is done.
    pub kind: Kind,
    /// For whom.
    pub owner: Owner,
    /// What for, which decides its rank.
    pub class: Class,
    /// On which plane.
    pub plane: u32,
    /// The logical page concerned, where there is one.
    pub page: u32,
    /// Pages of the request that this stands for: more than one of a program on all planes of a die at once; otherwise
    /// only once it is done, and of dies that serve in order.
    pub pages: u32,
    /// Bytes over the channel's bus.
    pub bus_bytes: u64,
    /// Array reads that error correction needs beyond the first.
    pub retries: u32,
    /// Whether what was read cannot be corrected.
    pub unreadable: bool,
    /// Whether a program fills its block, so that the block's summary is due.
    pub fills_block: bool,
    /// Whether it waits for others to be programmed along with it.
    pub awaits: bool,
    /// Whether it is cleaning that lets the host's operations past it.
    pub yields: bool,
    /// Whether it is a step of paced cleaning, which shares its array time with like ones on other planes of the die.
    pub paced: bool,
    /// Whether it is cleaning that a write made due, which a lazy drive puts off until it wants the die.
    pub due: bool,
    /// The next in the queue it waits in.
    pub(super) next: u32,
    /// The next of the operations that share its array time: on other planes of the die, or programs on its own plane
    /// that fill up the flash page.
    pub(super) partner: u32,
    /// Where a cleaning stands.
    pub(super) step: Step,
}

/// The step of a cleaning that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Everything at once: no step can be interrupted or needs the bus.
    Whole,
    /// A page is read, and programmed too where the flash copies back.
    Move,
    /// A page goes out over the bus and in again.
    Bus,
    /// A page is programmed.
    Program,
    /// The blocks are erased.
    Erase,
}

impl Operation {
    /// An operation that is not yet queued.
    pub fn new(kind: Kind, owner: Owner, class: Class, plane: u32, page: u32, bus_bytes: u64) -> Self {
        Self {
            kind,
            owner,
            class,
            plane,
            page,
            pages: 1,
            bus_bytes,
            retries: 0,
            unreadable: false,
            fills_block: false,
            awaits: false,
            yields: false,
            paced: false,
            due: false,
            next: NONE,
            partner: NONE,
            step: Step::Whole,
        }
    }
}

/// What the flash counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashCounters {
    /// Page reads, cleaning's not included.
    pub reads: u64,
    /// Page programs, cleaning's not included.
    pub programs: u64,
    /// Operations that shared an array time with one on another plane.
    pub multi_plane: u64,
    /// Programs and erases suspended for a read.
    pub suspends: u64,
    /// Nanoseconds that arrays were busy, summed over dies.
    pub array_busy_ns: u64,
    /// Nanoseconds that buses were busy, summed over channels.
    pub bus_busy_ns: u64,
}
