//! What a probe looks for: the names of its findings, once.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;

/// Makes the enum of all features from their names in JSON and in print.
macro_rules! features {
    ($($(#[$doc:meta])* $feature:ident: $name:literal, $title:literal;)*) => {
        /// A feature of a drive that a probe looks for. They are ordered by their names, as in JSON.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Feature {
            $($(#[$doc])* #[serde(rename = $name)] $feature,)*
        }

        impl Feature {
            /// All of them in the order in which a drive is explained, from its geometry outwards.
            pub const ALL: &[Self] = &[$(Self::$feature),*];

            /// Its name in JSON, which ends in the unit of its value.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$feature => $name,)*
                }
            }

            /// Its name in print.
            pub fn title(self) -> &'static str {
                match self {
                    $(Self::$feature => $title,)*
                }
            }
        }
    };
}

features! {
    /// Bytes that lie together on one domain.
    ChunkSize: "chunk_size_bytes", "Chunk size";
    /// Bytes that are read in one array time.
    PageSize: "page_size_bytes", "Page size";
    /// Domains that chunks lie on in turn.
    InterleavingDegree: "interleaving_degree", "Interleaving degree";
    /// Parts of a domain that work side by side.
    SubDomains: "sub_domains", "Sub-domains";
    /// What decides where a page lies.
    MappingPolicy: "mapping_policy", "Mapping policy";
    /// Sequential streams that are read ahead.
    ReadaheadStreams: "readahead_streams", "Readahead streams";
    /// Bytes of the write buffer.
    WriteBuffer: "write_buffer_bytes", "Write buffer";
    /// Bytes that garbage collection frees at a time.
    ReclaimUnit: "reclaim_unit_bytes", "Reclaim unit";
    /// Bytes a second of the link.
    LinkBandwidth: "link_bandwidth_bytes_per_s", "Link bandwidth";
    /// What each command costs the link.
    CommandCost: "command_cost_ns", "Command cost";
    /// From request to answer without the flash.
    RoundTrip: "round_trip_ns", "Round trip";
    /// By how much reads and writes side by side slow each other down.
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
