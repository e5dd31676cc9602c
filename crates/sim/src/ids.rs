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

indices! { ChannelId DieId PlaneId PlaneOfDie PlaneOfLane LaneUnit BlockId Lpn Ppn BufferSlot }

ids! {
    /// A channel of the flash array.
    ChannelId;
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

/// A mechanism of the drive above flash array and event queue, which know it by this only: each kind of its operations
/// and timers has one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mechanism(u8);

impl Mechanism {
    /// Mechanisms with a kind of event of their own, in the event queue and the trace hash. All from the last of these
    /// on share its kind, and are told apart by bits of the event's number (`kernel::run::timer_in_hash`).
    pub const WITH_OWN_BITS: u8 = 7;

    /// The number of mechanisms that can be told apart.
    const MOST: u8 = Self::WITH_OWN_BITS + 16;

    /// The mechanism with this number.
    ///
    /// # Panics
    /// From [`Self::MOST`] on: while compiling, as mechanisms are constants.
    pub const fn numbered(number: u8) -> Self {
        assert!(number < Self::MOST, "the next kind needs more bits in the event queue and the trace hash");
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
