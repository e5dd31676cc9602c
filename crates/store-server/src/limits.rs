//! Limits: what clients may take of the server.

/// Limits of a server. Where a client meets its own, it is not read from until its replies leave; where all clients
/// together exceed `memory_bytes`, the one that takes most is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most clients at a time.
    pub clients_max: usize,
    /// Most bytes of requests and replies of all clients.
    pub memory_bytes: usize,
    /// Most bytes of values that are kept to be read again.
    pub cache_bytes: usize,
    /// Most bytes of the arguments of a request.
    pub request_bytes_max: u64,
    /// Most requests of a client that are not answered.
    pub requests_max: usize,
    /// Bytes of replies from which on a client is not read from.
    pub output_bytes_max: usize,
}

/// Longest value, whatever the longest request is.
pub const VALUE_BYTES_MAX: usize = 512 << 20;

impl Limits {
    /// Returns the length of the longest string that a command may build: that of the longest request, so that the
    /// engine serves no client longer than for a request.
    pub fn string_bytes_max(&self) -> usize {
        usize::try_from(self.request_bytes_max).unwrap_or(usize::MAX).min(VALUE_BYTES_MAX)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            clients_max: 10_000,
            memory_bytes: 256 << 20,
            cache_bytes: 256 << 20,
            request_bytes_max: 64 << 20,
            requests_max: 1024,
            output_bytes_max: 1 << 20,
        }
    }
}
