//! Sequential: each access begins at the end of the previous one.

use super::{Named, Pattern};

pub(super) const NAMED: Named = Named {
    name: "sequential",
    meaning: "one after the other, around the area",
    keys: &[],
    make: |_| Ok(Pattern::Sequential),
};
