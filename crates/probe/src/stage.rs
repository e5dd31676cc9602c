//! The stages of a probe, in the order in which they run.

/// A stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    State,
    SlcCache,
    Fill,
    Noise,
    Chunk,
    Interleaving,
    Readahead,
    Reads,
    Mapping,
    Link,
    WriteBuffer,
    Interference,
    ReclaimUnit,
    MappingCache,
    Writes,
    Done,
}

impl Stage {
    /// Name in results and on the terminal, the share of the probe that is done when it begins, and whether the budget
    /// of a stage limits its time; the others limit their own.
    fn row(self) -> (&'static str, f64, bool) {
        match self {
            Self::State => ("state of the drive", 0.0, true),
            Self::SlcCache => ("SLC cache", 0.0, false),
            Self::Fill => ("filling the area", 0.0, true),
            Self::Noise => ("noise", 0.05, true),
            Self::Chunk => ("chunk and page size", 0.1, true),
            Self::Interleaving => ("interleaving", 0.2, true),
            Self::Readahead => ("readahead", 0.4, true),
            Self::Reads => ("reads in parallel", 0.5, false),
            Self::Mapping => ("mapping", 0.6, true),
            Self::Link => ("link", 0.7, true),
            Self::WriteBuffer => ("write buffer", 0.75, true),
            Self::Interference => ("interference", 0.85, true),
            Self::ReclaimUnit => ("reclaim unit", 0.9, false),
            Self::MappingCache => ("mapping cache", 0.93, false),
            Self::Writes => ("writes in parallel", 0.95, false),
            Self::Done => ("done", 1.0, true),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        self.row().0
    }

    pub(crate) fn share(self) -> f64 {
        self.row().1
    }

    pub(crate) fn is_timed(self) -> bool {
        self.row().2
    }
}
