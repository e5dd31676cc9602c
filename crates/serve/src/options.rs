//! Options of a served device.

use crate::nbd::PAYLOAD_BYTES_MAX;

/// Memory of clients in which the longest read fits with its reply.
pub const CLIENT_MEMORY_BYTES_MIN: usize = 2 * PAYLOAD_BYTES_MAX as usize;

/// What is served, and to how many.
#[derive(Clone, Debug)]
pub struct Options {
    /// Clients at most.
    pub clients_max: usize,
    /// Memory of commands and replies of all clients; [`CLIENT_MEMORY_BYTES_MIN`] or more for requests of any length.
    pub memory_bytes: usize,
    /// Memory for the data of a simulated device, at least [`DATA_BYTES_MIN`](crate::DATA_BYTES_MIN) to write any;
    /// `None` for a device that keeps its data elsewhere.
    pub data_bytes: Option<u64>,
    /// Refuse writes, also where the device allows them.
    pub read_only: bool,
    /// Text for clients that ask for it.
    pub description: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clients_max: 64,
            memory_bytes: 256 << 20,
            data_bytes: None,
            read_only: false,
            description: String::new(),
        }
    }
}
