//! Operations on flash: kind, plane and owner.

use super::cells::PageType;
use crate::ids::{BufferSlot, FlashPage, Lpn, PlaneId, ProgramGroup, RequestSlot, TaskKind};
use flashlane_policy::scheduling::Class;

/// Who waits for an operation, if anyone, and what it is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The host request in this slot.
    Request(RequestSlot),
    /// The buffered mapping unit in this slot, on its way to flash.
    Drain(BufferSlot),
    /// The rest of a mapping unit of which the buffer's slot holds a part.
    DrainRmw(BufferSlot),
    /// The rest of a mapping unit of which the request in this slot writes a part.
    RequestRmw(RequestSlot),
    /// A mapping unit that is read ahead, into the read cache.
    Readahead,
    /// One of the drive's own tasks, of this kind and number.
    Task(TaskKind, u32),
    /// Garbage collection of an idle die, which may be resumed.
    IdleGc,
    /// Other garbage collection, for which no request waits.
    Gc,
    /// No request waits for it.
    None,
}

const _: () = assert!(size_of::<Owner>() == 8, "queues copy operations");

impl Owner {
    /// The owner of the read that completes a mapping unit before this owner programs it (read, modify, write).
    pub(crate) fn rmw_read(self) -> Self {
        match self {
            Self::Drain(slot) => Self::DrainRmw(slot),
            Self::Request(slot) => Self::RequestRmw(slot),
            owner => unreachable!("{owner:?} programs no unit that the host writes in part"),
        }
    }

    /// Whether it is a task, whose kind knows what follows from the end of the operation.
    #[inline]
    pub(crate) fn is_task(self) -> bool {
        matches!(self, Self::Task(..))
    }

    /// Whether anything waits for the end of the operation.
    #[inline]
    pub(crate) fn waits(self) -> bool {
        !matches!(self, Self::Gc | Self::None)
    }
}

/// Array to register, then over the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The mapping unit that is read, or [`Lpn::NONE`].
    pub lpn: Lpn,
    /// Single reads that this stands for, those for the host of a mapping unit each: one, but for GC on several planes
    /// at once, and for operations that [`super::FlashArray`] reports as one.
    pub reads: u32,
    /// Bytes over the channel's bus.
    pub bus_bytes: u64,
    /// The type of its page.
    pub page_type: PageType,
    /// The flash page that is sensed: reads of one page on one plane share a sense.
    pub page: FlashPage,
    /// Array reads that error correction needs beyond the first.
    pub retries: u16,
    /// Whether what was read cannot be corrected.
    pub unreadable: bool,
}

impl Read {
    /// The read of a mapping unit that can be corrected at once, and shares a sense with none.
    pub fn of(lpn: Lpn, bus_bytes: u64) -> Self {
        Self {
            lpn,
            reads: 1,
            bus_bytes,
            page_type: PageType::MEAN,
            page: FlashPage::ALONE,
            retries: 0,
            unreadable: false,
        }
    }

    /// Whether the two share a sense where they are on one plane.
    #[inline]
    pub fn is_beside(&self, other: &Self) -> bool {
        self.page == other.page && self.page != FlashPage::ALONE
    }
}

/// Over the bus, then register to array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// The mapping unit that is programmed, or [`Lpn::NONE`].
    pub lpn: Lpn,
    /// Single programs that this stands for, as for [`Read`]; also those of a program on all planes of a die at once.
    pub programs: u32,
    /// Bytes over the channel's bus.
    pub bus_bytes: u64,
    /// Whether it fills its block, so that the block's summary is written.
    pub fills_block: bool,
    /// Whether it waits for others that are programmed along with it.
    pub waits_for_others: bool,
    /// The type of its page.
    pub page_type: PageType,
    /// The pages with which it must be programmed at once; [`ProgramGroup::NONE`] where there are none.
    pub program_group: ProgramGroup,
}

impl Program {
    /// The program of a mapping unit for which nothing waits, and which waits for nothing.
    pub fn of(lpn: Lpn, bus_bytes: u64) -> Self {
        let (page_type, program_group) = (PageType::MEAN, ProgramGroup::NONE);
        Self {
            lpn,
            programs: 1,
            bus_bytes,
            fills_block: false,
            waits_for_others: false,
            page_type,
            program_group,
        }
    }
}

/// Garbage collection: mapping units moved within a plane, then blocks erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gc {
    /// Mapping units still to be moved.
    pub moves: u32,
    /// Flash pages that are sensed for these.
    pub pages_read: u32,
    /// Blocks that the moved units fill, so that their summaries are written.
    pub summaries: u32,
    /// Blocks to be erased.
    pub erases: u32,
    /// The type of the pages that the units are moved off.
    pub moved_from: PageType,
    /// Planes of the die that do all of this at once.
    pub planes: u32,
    /// Whether it is one step of paced GC, which shares its array time with like ones on other planes of the die.
    pub is_paced_step: bool,
}

/// Erases, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Erase {
    /// Their number on each plane.
    pub times: u32,
    /// Planes of the die that are erased at once.
    pub planes: u32,
}

/// The kind of an operation, with its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A read.
    Read(Read),
    /// A program.
    Program(Program),
    /// Garbage collection.
    Gc(Gc),
    /// Erases.
    Erase(Erase),
}

/// How long an operation lets others pass. Only GC does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defer {
    /// Not at all.
    No,
    /// Until another operation of the die is queued, which then waits for it.
    UntilNextOperation,
    /// While operations of the host wait, until it is promoted.
    BehindHost,
}

/// One operation on one plane, or on several of a die from this one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashOperation {
    /// Its kind.
    pub work: Work,
    /// Who waits for it.
    pub owner: Owner,
    /// Its class, which decides its rank.
    pub class: Class,
    /// How long it lets others pass.
    pub defer: Defer,
    /// On which plane.
    pub plane: PlaneId,
}

impl FlashOperation {
    /// An operation that lets none pass.
    #[inline]
    pub fn new(work: Work, owner: Owner, class: Class, plane: PlaneId) -> Self {
        Self { work, owner, class, defer: Defer::No, plane }
    }

    /// A read of one or several planes' units.
    #[inline]
    pub fn read(owner: Owner, class: Class, plane: PlaneId, read: Read) -> Self {
        Self::new(Work::Read(read), owner, class, plane)
    }

    /// The program of a mapping unit for the host.
    pub fn program(owner: Owner, plane: PlaneId, lpn: Lpn, bus_bytes: u64) -> Self {
        Self::new(Work::Program(Program::of(lpn, bus_bytes)), owner, Class::Write, plane)
    }

    /// Whether the operation is a read.
    #[inline]
    pub fn is_read(&self) -> bool {
        matches!(self.work, Work::Read(_))
    }

    /// Whether the operation is a program.
    #[inline]
    pub fn is_program(&self) -> bool {
        matches!(self.work, Work::Program(_))
    }

    /// Whether the operation is part of garbage collection or an erase, so that the host's operations behind it are
    /// blocked: also a read or a program that moves a mapping unit.
    #[inline]
    pub fn is_gc(&self) -> bool {
        matches!(self.owner, Owner::Gc | Owner::IdleGc) || matches!(self.work, Work::Gc(_) | Work::Erase(_))
    }

    /// Whether this and another are reads of one flash page, which share a sense.
    #[inline]
    pub fn shares_sense(&self, other: &Self) -> bool {
        match (self.work, other.work) {
            (Work::Read(this), Work::Read(other_read)) => {
                self.plane == other.plane && this.is_beside(&other_read)
            }
            _ => false,
        }
    }

    /// Planes that are busy with this at once, for a drive that queues operations: each has one of the single reads or
    /// programs.
    #[inline]
    pub fn planes(&self) -> u32 {
        match self.work {
            Work::Read(Read { reads: planes, .. }) | Work::Program(Program { programs: planes, .. }) => {
                planes
            }
            Work::Gc(Gc { planes, .. }) | Work::Erase(Erase { planes, .. }) => planes,
        }
    }
}
