//! Zones: erase units with an explicit state, of which a device keeps a limited number open.
//!
//! After NVMe Zoned Namespaces 1.1, section 2 (the zone state machine) and section 3.4 (the commands). A zone is an
//! erase unit ([`crate::UnitStates`]) of a device whose profile has [`ZoneLimits`]; its *capacity* is the unit. Zones
//! of real drives, seen through the kernel, are erase units without these states: the kernel has no append, and
//! reports no limits of its own.

/// The state of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ZoneState {
    /// Nothing is written.
    Empty,
    /// Opened by a write or an append. The device may close it, to open another.
    ImplicitlyOpen,
    /// Opened by the host, and open until it is closed, finished, reset or full.
    ExplicitlyOpen,
    /// Partly written and not open: the next write opens it again.
    Closed,
    /// Written to its capacity, or finished.
    Full,
    /// Worn so that it cannot be written or reset any longer. Its data can be read.
    ReadOnly,
    /// Worn out: it can be neither read nor written.
    Offline,
}

impl ZoneState {
    /// Whether the zone takes one of the places for open zones.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::ImplicitlyOpen | Self::ExplicitlyOpen)
    }

    /// Whether the zone takes one of the places for active zones: open or closed.
    pub const fn is_active(self) -> bool {
        self.is_open() || matches!(self, Self::Closed)
    }

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::ImplicitlyOpen => "implicitly open",
            Self::ExplicitlyOpen => "explicitly open",
            Self::Closed => "closed",
            Self::Full => "full",
            Self::ReadOnly => "read-only",
            Self::Offline => "offline",
        }
    }
}

/// How a device limits its zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneLimits {
    /// Distance from the start of a zone to that of the next on the drive itself, which may be more than the capacity
    /// of a zone. Addresses here have no gaps.
    pub size_bytes: u64,
    /// Most open zones; `None` where there is no limit.
    pub most_open: Option<u32>,
    /// Most active zones, which are open or closed; `None` where there is no limit.
    pub most_active: Option<u32>,
}

/// A zone, as the device reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Its state. A zone is open from when the device accepts what opens it, and full, empty or closed from when what
    /// makes it so has completed.
    pub state: ZoneState,
    /// Write pointer: where the next write begins, from the zone's start, after all accepted writes and appends. That
    /// of a full zone is its capacity.
    pub write_pointer_bytes: u64,
}
