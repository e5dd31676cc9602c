//! The page of metrics over HTTP/1.1: one request a connection, of which only the head is read.
//!
//! At most [`CONNECTIONS_MAX`] connections are open; a further one takes the place of the oldest, so that connections
//! on which nothing comes keep nobody from the page.

use crate::password;
use flashlane_host::Stream;
use mio::{Interest, Registry, Token};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

/// Most connections at a time.
pub const CONNECTIONS_MAX: usize = 16;
/// Longest head of a request.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// Where the page is.
const PATH: &[u8] = b"/metrics";

/// A connection: its head is read, then its reply is written.
struct Connection {
    stream: Stream,
    head: Vec<u8>,
    reply: Option<Vec<u8>>,
    taken: usize,
}

/// Connections that ask for the page, with the tokens from `first_token` on.
pub struct Pages {
    first_token: usize,
    /// By their number, which grows: the first is the oldest. Numbers apart by less than `CONNECTIONS_MAX` have
    /// different tokens.
    connections: BTreeMap<usize, Connection>,
    next: usize,
}

impl Pages {
    /// Returns the connections of a server that begins.
    pub fn new(first_token: usize) -> Self {
        Self { first_token, connections: BTreeMap::new(), next: 0 }
    }

    /// Takes a connection.
    pub fn connect(&mut self, mut stream: Stream, registry: &Registry) {
        let token = Token(self.first_token + self.next % CONNECTIONS_MAX);
        // Its token is that of the oldest connection where there are too many.
        self.connections.retain(|nth, _| nth + CONNECTIONS_MAX > self.next);
        if registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE).is_ok() {
            let connection = Connection { stream, head: Vec::new(), reply: None, taken: 0 };
            self.connections.insert(self.next, connection);
            self.next += 1;
        }
        assert!(self.connections.len() <= CONNECTIONS_MAX, "a connection has a token of its own");
    }

    /// Reads and writes where an event tells that a connection may go on. Returns whether it is one of these. `page`
    /// writes the page.
    pub fn note(&mut self, token: Token, password: Option<&[u8]>, page: impl Fn() -> String) -> bool {
        let Some(slot) = token.0.checked_sub(self.first_token).filter(|slot| *slot < CONNECTIONS_MAX) else {
            return false;
        };
        let of_token = self.connections.iter_mut().find(|(nth, _)| **nth % CONNECTIONS_MAX == slot);
        if let Some((&nth, connection)) = of_token {
            match connection.go_on(password, page) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(()) | Err(_) => {
                    self.connections.remove(&nth);
                }
            }
        }
        true
    }
}

impl Connection {
    /// Reads the head and writes the reply, as far as the socket goes. Returns `Ok` once all is written.
    fn go_on(&mut self, password: Option<&[u8]>, page: impl Fn() -> String) -> io::Result<()> {
        let mut buffer = [0; 1024];
        while self.reply.is_none() {
            let bytes = uninterrupted(|| self.stream.read(&mut buffer))?;
            self.head.extend_from_slice(&buffer[..bytes]);
            let is_complete = self.head.windows(4).any(|end| end == b"\r\n\r\n");
            if bytes == 0 && !is_complete {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if is_complete || self.head.len() > HEAD_BYTES_MAX {
                self.reply = Some(reply(&self.head, is_complete, password, &page));
            }
        }
        let reply = self.reply.as_deref().unwrap_or_default();
        while self.taken < reply.len() {
            self.taken += uninterrupted(|| self.stream.write(&reply[self.taken..]))?;
        }
        Ok(())
    }
}

fn uninterrupted(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Returns the reply to the head of a request.
fn reply(head: &[u8], is_complete: bool, password: Option<&[u8]>, page: impl Fn() -> String) -> Vec<u8> {
    let mut lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let mut words = lines.next().unwrap_or_default().split(|&byte| byte == b' ');
    let [method, target, version] = [(); 3].map(|()| words.next().unwrap_or_default());
    let path = target.split(|&byte| byte == b'?').next().unwrap_or_default();
    let is_allowed = password.is_none_or(|password| {
        let credentials = lines.filter_map(credentials).next().unwrap_or_default();
        password::is_equal(&password::basic_credentials(password), credentials)
    });
    let (status, header, body) = match method {
        _ if !is_complete => ("431 Request Header Fields Too Large", "", "the head is too long\n".into()),
        _ if !version.starts_with(b"HTTP/1.") => ("400 Bad Request", "", "this is no HTTP/1.1\n".into()),
        _ if !is_allowed => {
            let header = "WWW-Authenticate: Basic realm=\"flashlane\"\r\n";
            ("401 Unauthorized", header, "the user is 'default', the password that of the server\n".into())
        }
        b"GET" | b"HEAD" if path == PATH => ("200 OK", "", page()),
        b"GET" | b"HEAD" => ("404 Not Found", "", "metrics are at /metrics\n".into()),
        _ => ("405 Method Not Allowed", "Allow: GET, HEAD\r\n", "metrics are only read\n".into()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {}\r\n{header}Connection: close\r\n\r\n",
        body.len()
    );
    let body = if method == b"HEAD" { "" } else { &body };
    [head.as_bytes(), body.as_bytes()].concat()
}

/// Returns the credentials of a header line that has some.
fn credentials(line: &[u8]) -> Option<&[u8]> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
    let (scheme, credentials) = value.split_at_checked(b"Basic ".len())?;
    let is_basic = name.eq_ignore_ascii_case(b"Authorization") && scheme.eq_ignore_ascii_case(b"Basic ");
    is_basic.then(|| credentials.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(head: &str, password: Option<&[u8]>) -> String {
        String::from_utf8(reply(head.as_bytes(), true, password, || "page\n".into())).unwrap()
    }

    #[test]
    fn page_is_only_at_its_path_and_only_read() {
        let ok = answered("GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n", None);
        assert!(ok.starts_with("HTTP/1.1 200 OK\r\n") && ok.ends_with("\r\n\r\npage\n"), "{ok}");
        assert!(ok.contains("Content-Length: 5\r\n"));
        let head = answered("HEAD /metrics HTTP/1.1\r\n\r\n", None);
        assert!(head.contains("Content-Length: 5\r\n") && head.ends_with("\r\n\r\n"), "{head}");
        for (line, status) in [
            ("GET / HTTP/1.1", "404"),
            ("POST /metrics HTTP/1.1", "405"),
            ("PING", "400"),
            ("GET /metrics HTTP/2", "400"),
            ("", "400"),
        ] {
            let reply = answered(&format!("{line}\r\n\r\n"), None);
            assert!(reply.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {reply}");
        }
    }

    #[test]
    fn page_requires_the_password_where_there_is_one() {
        let with =
            |header: &str| answered(&format!("GET /metrics HTTP/1.1\r\n{header}\r\n\r\n"), Some(b"secret"));
        assert!(with("authorization:  basic ZGVmYXVsdDpzZWNyZXQ= ").starts_with("HTTP/1.1 200 "));
        for wrong in ["Host: a", "Authorization: Basic ZGVmYXVsdDpzZWNyZXI=", "Authorization: Basic", "x"] {
            assert!(with(wrong).starts_with("HTTP/1.1 401 "), "{wrong}");
        }
    }
}
