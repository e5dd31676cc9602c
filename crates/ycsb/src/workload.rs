//! The six core workloads, with the proportions of YCSB's files `workloada` to `workloadf`.

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Reads a record.
    Read,
    /// Writes an existing record anew.
    Update,
    /// Writes a new record.
    Insert,
    /// Reads records in order from one on.
    Scan,
    /// Reads a record, then writes it anew.
    ReadModifyWrite,
}

impl Operation {
    /// All operations, in the order of [`Workload::shares`].
    pub const ALL: [Self; 5] = [Self::Read, Self::Update, Self::Insert, Self::Scan, Self::ReadModifyWrite];

    /// Returns the name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Update => "update",
            Self::Insert => "insert",
            Self::Scan => "scan",
            Self::ReadModifyWrite => "read-modify-write",
        }
    }
}

/// Which records are requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requests {
    /// Few often, by Zipf's law, spread over all keys.
    Zipfian,
    /// Those inserted last most often, by Zipf's law.
    Latest,
    /// All alike. No core workload; for comparison.
    Uniform,
}

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// Its letter.
    pub name: &'static str,
    /// What YCSB calls it.
    pub title: &'static str,
    /// Share of each of [`Operation::ALL`], in percent.
    pub shares: [u64; 5],
    /// Which records it requests.
    pub requests: Requests,
}

/// The core workloads.
pub const CORE: [Workload; 6] = [
    Workload { name: "a", title: "update heavy", shares: [50, 50, 0, 0, 0], requests: Requests::Zipfian },
    Workload { name: "b", title: "read mostly", shares: [95, 5, 0, 0, 0], requests: Requests::Zipfian },
    Workload { name: "c", title: "read only", shares: [100, 0, 0, 0, 0], requests: Requests::Zipfian },
    Workload { name: "d", title: "read latest", shares: [95, 0, 5, 0, 0], requests: Requests::Latest },
    Workload { name: "e", title: "short ranges", shares: [0, 0, 5, 95, 0], requests: Requests::Zipfian },
    Workload {
        name: "f",
        title: "read-modify-write",
        shares: [50, 0, 0, 0, 50],
        requests: Requests::Zipfian,
    },
];

const _: () = {
    let mut nth = 0;
    while nth < CORE.len() {
        let [read, update, insert, scan, modify] = CORE[nth].shares;
        assert!(read + update + insert + scan + modify == 100);
        nth += 1;
    }
};
