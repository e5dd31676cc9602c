//! A connection as its commands see it.

use flashlane_base::Instant;
use std::net::SocketAddr;

/// Number of a client, never used again.
pub type ClientId = u64;

/// Where a reply goes: a client, and the number of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotId {
    /// The client.
    pub client: ClientId,
    /// Number of the request.
    pub number: u64,
}

/// State of a connection.
#[derive(Debug, Default)]
pub struct Session {
    /// Number of the client.
    pub id: ClientId,
    /// Address of the client.
    pub address: Option<SocketAddr>,
    /// The client has given the password, or none is needed.
    pub is_authenticated: bool,
    /// Replies have the form of RESP3.
    pub is_resp3: bool,
    /// Name by CLIENT SETNAME.
    pub name: Vec<u8>,
    /// Library and its version, by CLIENT SETINFO.
    pub library: [Vec<u8>; 2],
    /// Whether the client asked not to be closed for lack of memory, which is only noted.
    pub is_no_evict: bool,
    /// The connection ends after the replies so far.
    pub is_closing: bool,
    /// Name of the last command.
    pub last_command: &'static str,
    /// When the client connected, and when its last request came.
    pub connected: Instant,
    pub active: Instant,
}

impl Session {
    /// Returns the client's line in CLIENT LIST; `collected` is the number of commands since MULTI.
    pub fn line(&self, now: Instant, collected: Option<usize>) -> String {
        let seconds = |since: Instant| now.since(since).as_ns() / 1_000_000_000;
        let address = self.address.map_or_else(|| "unix:0".to_owned(), |address| address.to_string());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        format!(
            "id={} addr={address} name={} age={} idle={} flags=N db=0 multi={} cmd={} user=default lib-name={} lib-ver={} resp={}",
            self.id,
            text(&self.name),
            seconds(self.connected),
            seconds(self.active),
            collected.map_or(-1, |commands| commands as i64),
            self.last_command,
            text(&self.library[0]),
            text(&self.library[1]),
            if self.is_resp3 { 3 } else { 2 }
        )
    }
}
