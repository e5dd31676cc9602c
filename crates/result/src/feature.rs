//! Features that a probe looks for, with their names.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// Defines the enum of all features, with their names in JSON and in print.
macro_rules! features {
    ($($(#[$doc:meta])* $feature:ident: $name:literal, $title:literal;)*) => {
        /// A feature of a drive that a probe looks for. Features are ordered by name, as in JSON.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Feature {
            $($(#[$doc])* #[serde(rename = $name)] $feature,)*
        }

        impl Feature {
            /// All features in the order of explanation, from the geometry outwards.
            pub const ALL: &[Self] = &[$(Self::$feature),*];

            /// Returns its name in JSON, which ends in the unit of its value.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$feature => $name,)*
                }
            }

            /// Returns its name in print.
            pub fn title(self) -> &'static str {
                match self {
                    $(Self::$feature => $title,)*
                }
            }
        }
    };
}

features! {
    /// Consecutive bytes on one plane.
    ChunkSize: "chunk_size_bytes", "Chunk size";
    /// Bytes read in one array time.
    PageSize: "page_size_bytes", "Page/mapping unit";
    /// Number of domains, mostly channels, across which chunks are interleaved.
    InterleavingDegree: "interleaving_degree", "Interleaving degree";
    /// Parts of a domain that work in parallel.
    SubDomains: "sub_domains", "Sub-domains";
    /// How pages are mapped to domains.
    MappingPolicy: "mapping_policy", "Mapping policy";
    /// Number of sequential streams with readahead.
    ReadaheadStreams: "readahead_streams", "Readahead streams";
    /// Size of the write buffer.
    WriteBuffer: "write_buffer_bytes", "Write buffer";
    /// Bytes that garbage collection frees per step.
    ReclaimUnit: "reclaim_unit_bytes", "Reclaim unit";
    /// Bytes that an erased drive takes fast, before it writes cells of several bits.
    SlcCache: "slc_cache_bytes", "SLC cache";
    /// Bytes of the drive whose map fits in its memory.
    MappingCacheReach: "mapping_cache_reach_bytes", "Mapping cache reach";
    /// Bandwidth of the link.
    LinkBandwidth: "link_bandwidth_bytes_per_s", "Link bandwidth";
    /// Time that each command takes on the link.
    CommandCost: "command_cost_ns", "Command cost";
    /// Latency of a request without the flash.
    RoundTrip: "round_trip_ns", "Round trip";
    /// Factor by which concurrent reads and writes slow each other down.
    ReadWriteSlowdown: "read_write_slowdown", "Read/write slowdown";
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Ord for Feature {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name().cmp(other.name())
    }
}

impl PartialOrd for Feature {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
