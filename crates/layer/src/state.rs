//! Options and settings for the state that a layer stores on a device.

/// Selects the damaged records of a stored state that a repair writes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Records whose locations hold no foreign data.
    Ours,
    /// All records. Foreign data in their locations is lost.
    Overwrite,
}

/// Selects whether a new state is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Never: the existing state is used.
    Never,
    /// Where the device below has no state.
    IfAbsent,
    /// Always: all data on the device below is lost.
    Always,
}

/// A caller's options for the state that layers store. A setting in the spec takes precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateOptions {
    /// Whether to write a new state. Default: only on a simulated device without one, which has nothing to lose.
    pub format: Option<Format>,
    /// Whether and how to repair an existing state.
    pub repair: Option<Repair>,
    /// Whether to treat an erased unit as written where it holds foreign data.
    pub check_erased: bool,
    /// Whether a layer above divides its units into the units of this layer, so that these begin with any bytes.
    pub units_are_parts: bool,
}

/// The settings of a layer that concern its stored state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateSettings {
    /// Whether to write a new state, where given.
    pub format: Option<Format>,
    /// Whether and how to repair the state, where given.
    pub repair: Option<Repair>,
    /// Whether the settings give the shape of a new state.
    pub has_shape: bool,
}
