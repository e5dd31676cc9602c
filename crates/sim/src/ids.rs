//! Numbers of parts and units, a type for each kind, so that a die cannot be taken for a plane.

/// What a [`crate::slab::Slab`] numbers its items with.
pub(crate) trait Slot: Copy {
    fn of(number: u32) -> Self;
    fn number(self) -> u32;
}

macro_rules! ids {
    ($($(#[$meta:meta])* $name:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $crate::ids::Slot for $name {
            #[inline]
            fn of(number: u32) -> Self {
                Self(number)
            }
            #[inline]
            fn number(self) -> u32 {
                self.0
            }
        }
    )*};
}

macro_rules! indices {
    ($($name:ident)*) => {$(
        impl $name {
            /// The number as the index of a list.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

impl PlaneId {
    /// The package of the plane.
    #[inline]
    pub(crate) fn package(self, planes_per_package: u32) -> PackageId {
        PackageId(self.0 / planes_per_package)
    }
}

indices! { ChannelId PackageId DieId PlaneId PlaneOfDie PlaneOfLane LaneUnit BlockId Lpn Ppn BufferSlot }

ids! {
    /// A channel of the flash array.
    ChannelId;
    /// A package, counted over all channels.
    PackageId;
    /// A die, counted over all channels.
    DieId;
    /// A plane, counted over all dies.
    PlaneId;
    /// A plane, counted on its die.
    PlaneOfDie;
    /// A plane, counted on its lane: over all dies of a channel.
    PlaneOfLane;
    /// A unit of software-defined flash, counted on its lane.
    LaneUnit;
    /// A logical page number: of a mapping unit as the host addresses it.
    Lpn;
    /// A physical number: of a mapping unit as the flash array stores it,
    /// `(plane * blocks + block) * block_units + unit`.
    Ppn;
    /// A flash page of the array, as translation numbers it: [`Ppn`] divided by the mapping units of a flash page.
    FlashPage;
    /// Pages that are programmed at once, as translation numbers them, by the [`Ppn`] of the first mapping unit: those
    /// of a word line, or on drives with placement handles the pages of one number on all planes of a superblock.
    ProgramGroup;
    /// An erase block, counted on its plane.
    BlockId;
    /// A host request in flight.
    RequestSlot;
    /// A mapping unit in the write buffer.
    BufferSlot;
}

pub(crate) use ids;

/// A kind of a drive's own tasks, such as programs of copies or reads of the map: operations of the flash array and
/// timers of the event queue, which know by this only what they belong to. A mechanism may have several kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskKind(u8);

impl TaskKind {
    /// The last number with a kind of event of its own. Those above share this kind, and differ by bits of the event's
    /// number (`event::EventNumber`).
    pub(crate) const LAST_OWN: u8 = 6;

    /// The number of kinds that an event can have.
    pub(crate) const COUNT: u8 = Self::LAST_OWN + 16;

    /// The kind with this number.
    ///
    /// # Panics
    /// From 22 on: while compiling, as kinds are constants.
    pub const fn numbered(number: u8) -> Self {
        assert!(number < Self::COUNT, "the next kind needs more bits in the event queue and the trace hash");
        Self(number)
    }

    /// Its number.
    #[inline]
    pub fn number(self) -> u8 {
        self.0
    }
}

impl Lpn {
    /// Of an operation without a mapping unit of its own: the program of a row's parity, and the moves of GC, for which
    /// translation has already updated its tables.
    pub const NONE: Self = Self(u32::MAX);
}

impl ProgramGroup {
    /// Of a program that no other completes.
    pub const NONE: Self = Self(u32::MAX);
}

impl FlashPage {
    /// Of a read that shares no sense: another unit of its flash page is not known to be in the same place, or there is
    /// none.
    pub const ALONE: Self = Self(u32::MAX);
}
