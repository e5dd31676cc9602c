//! Sockets of a server: addresses, listeners and streams over TCP and Unix sockets, for one thread that polls them.

use crate::listen::{SocketFile, private_socket};
use mio::event::Source;
use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use mio::{Interest, Poll, Registry, Token};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::PathBuf;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A TCP port.
    Tcp(SocketAddr),
    /// A Unix socket, which only the user of the server can reach.
    Unix(PathBuf),
}

impl Address {
    /// Returns whether other machines can reach the address.
    pub fn is_remote(&self) -> bool {
        matches!(self, Self::Tcp(address) if !address.ip().to_canonical().is_loopback())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// The system refuses to listen on an address.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {error}")]
pub struct ListenError {
    /// The address; a path in quotation marks.
    pub address: String,
    /// Why.
    pub error: io::Error,
}

impl ListenError {
    fn new(address: &Address, error: io::Error) -> Self {
        let address = match address {
            Address::Tcp(address) => address.to_string(),
            Address::Unix(path) => format!("'{}'", path.display()),
        };
        Self { address, error }
    }
}

/// A listening socket. The file of a Unix socket is removed when it is dropped, unless another socket has its path by
/// then.
#[derive(Debug)]
struct Listener {
    socket: Socket,
    address: Address,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    /// The file goes first: while the socket is open, no other file has its inode.
    Unix {
        _file: SocketFile,
        socket: UnixListener,
    },
}

impl Listener {
    fn bind(address: &Address) -> Result<Self, ListenError> {
        let bound = match address {
            Address::Tcp(address) => TcpListener::bind(*address).and_then(|socket| {
                let address = Address::Tcp(socket.local_addr()?);
                Ok(Self { socket: Socket::Tcp(socket), address })
            }),
            Address::Unix(path) => private_socket(path).map(|(socket, file)| {
                let socket = Socket::Unix { _file: file, socket: UnixListener::from_std(socket) };
                Self { socket, address: address.clone() }
            }),
        };
        bound.map_err(|error| ListenError::new(address, error))
    }

    fn register(&mut self, poll: &Poll, token: Token) -> io::Result<()> {
        match &mut self.socket {
            Socket::Tcp(socket) => poll.registry().register(socket, token, Interest::READABLE),
            Socket::Unix { socket, .. } => poll.registry().register(socket, token, Interest::READABLE),
        }
    }

    fn accept(&mut self) -> io::Result<(Stream, Option<SocketAddr>)> {
        match &self.socket {
            Socket::Tcp(listener) => {
                let (stream, address) = listener.accept()?;
                stream.set_nodelay(true)?;
                Ok((Stream::Tcp(stream), Some(address)))
            }
            Socket::Unix { socket, .. } => Ok((Stream::Unix(socket.accept()?.0), None)),
        }
    }
}

/// Listening sockets of a server, with tokens in a row in its poll.
///
/// An event reports that clients wait only once, so a listener is asked until it has no client: from the beginning,
/// since clients connect before the first event is looked for, and after a failure, such as too many open files.
#[derive(Debug)]
pub struct Listeners {
    listeners: Vec<Listener>,
    first_token: Token,
    /// The listeners at which a client may wait.
    ready: BTreeSet<usize>,
}

impl Listeners {
    /// Listens on addresses, and reports events to `poll`: those of the first address with `first_token`, and so on.
    ///
    /// # Errors
    /// [`ListenError`] where one cannot be listened on.
    pub fn bind(addresses: &[Address], poll: &Poll, first_token: Token) -> Result<Self, ListenError> {
        let mut listeners = Vec::new();
        for (nth, address) in addresses.iter().enumerate() {
            let mut listener = Listener::bind(address)?;
            let registered = listener.register(poll, Token(first_token.0 + nth));
            registered.map_err(|error| ListenError::new(address, error))?;
            listeners.push(listener);
        }
        Ok(Self { ready: (0..listeners.len()).collect(), listeners, first_token })
    }

    /// Returns the addresses, with the ports that the system chose.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.listeners.iter().map(|listener| &listener.address)
    }

    /// Notes an event of the poll. Returns whether it is that of a listener.
    pub fn note(&mut self, token: Token) -> bool {
        let nth = token.0.checked_sub(self.first_token.0).filter(|nth| *nth < self.listeners.len());
        self.ready.extend(nth);
        nth.is_some()
    }

    /// Accepts a client, with its address where it has one. Returns `None` where none waits, or none can be accepted
    /// now; a server calls this again after each wait.
    pub fn accept(&mut self) -> Option<(Stream, Option<SocketAddr>)> {
        let listeners = &mut self.listeners;
        let mut accepted = None;
        self.ready.retain(|&nth| {
            while accepted.is_none() {
                match listeners[nth].accept() {
                    Ok(client) => accepted = Some(client),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                    Err(error) if is_of_one_client(&error) => {}
                    Err(_) => return true,
                }
            }
            true
        });
        accepted
    }

    /// Listens no more.
    pub fn close(&mut self) {
        self.listeners.clear();
        self.ready.clear();
    }
}

/// Returns whether an error says nothing of the next client.
fn is_of_one_client(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted)
}

/// A client's socket, which does not block.
#[derive(Debug)]
pub enum Stream {
    /// Over TCP.
    Tcp(TcpStream),
    /// Over a Unix socket.
    Unix(UnixStream),
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(bytes),
            Self::Unix(stream) => stream.read(bytes),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Source for Stream {
    fn register(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.register(registry, token, interests),
            Self::Unix(stream) => stream.register(registry, token, interests),
        }
    }

    fn reregister(&mut self, registry: &Registry, token: Token, interests: Interest) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.reregister(registry, token, interests),
            Self::Unix(stream) => stream.reregister(registry, token, interests),
        }
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.deregister(registry),
            Self::Unix(stream) => stream.deregister(registry),
        }
    }
}

/// Waits until a socket of `sockets` has an event, which the next call of its `poll` returns, or for `longest`. Unlike
/// `poll` itself, whose timeouts are whole milliseconds, it waits for nanoseconds.
///
/// # Errors
/// The operating system's error. An interrupted wait is not one.
pub fn wait_for_sockets(sockets: &Poll, longest: flashlane_base::Duration) -> io::Result<()> {
    let (s, ns) = (longest.as_ns() / 1_000_000_000, longest.as_ns() % 1_000_000_000);
    let longest = Timespec { tv_sec: s as i64, tv_nsec: ns as i64 };
    // SAFETY: `sockets` owns the descriptor and outlives the call.
    let descriptor = unsafe { BorrowedFd::borrow_raw(sockets.as_raw_fd()) };
    match poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&longest)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Duration;

    #[test]
    fn dropped_listener_removes_its_socket() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let listener = Listener::bind(&Address::Unix(path.clone())).unwrap();
        assert!(path.exists());
        let error = Listener::bind(&Address::Unix(path.clone())).unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot listen on '{}': ", path.display())), "{error}");
        drop(listener);
        assert!(!path.exists());
    }

    #[test]
    fn wait_ends_with_an_event_of_a_socket() {
        let mut sockets = Poll::new().unwrap();
        let mut listener = Listener::bind(&Address::Tcp("127.0.0.1:0".parse().unwrap())).unwrap();
        listener.register(&sockets, Token(7)).unwrap();
        wait_for_sockets(&sockets, Duration::from_us(1)).unwrap();
        let mut events = mio::Events::with_capacity(4);
        sockets.poll(&mut events, Some(std::time::Duration::ZERO)).unwrap();
        assert!(events.is_empty());
        let Address::Tcp(address) = listener.address else { panic!("it listens on TCP") };
        let _client = std::net::TcpStream::connect(address).unwrap();
        wait_for_sockets(&sockets, Duration::from_s(60)).unwrap();
        sockets.poll(&mut events, Some(std::time::Duration::ZERO)).unwrap();
        assert_eq!(events.iter().map(|event| event.token()).collect::<Vec<_>>(), [Token(7)]);
        assert!(listener.accept().unwrap().1.is_some());
    }

    #[test]
    fn client_is_accepted_whose_event_was_not_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let mut sockets = Poll::new().unwrap();
        let mut listeners = Listeners::bind(&[Address::Unix(path.clone())], &sockets, Token(3)).unwrap();
        let mut events = mio::Events::with_capacity(4);
        let _first = std::os::unix::net::UnixStream::connect(&path).unwrap();
        // What a server that looks away makes of the event.
        sockets.poll(&mut events, Some(std::time::Duration::ZERO)).unwrap();
        assert!(listeners.accept().is_some() && listeners.accept().is_none());
        let _second = std::os::unix::net::UnixStream::connect(&path).unwrap();
        sockets.poll(&mut events, Some(std::time::Duration::ZERO)).unwrap();
        let tokens: Vec<Token> = events.iter().map(|event| event.token()).collect();
        assert_eq!(tokens, [Token(3)]);
        assert!(listeners.note(tokens[0]) && !listeners.note(Token(2)) && !listeners.note(Token(4)));
        assert!(listeners.accept().is_some() && listeners.accept().is_none());
    }

    #[test]
    fn addresses_of_this_machine_are_not_remote() {
        let is_remote = |address: &str| Address::Tcp(address.parse().unwrap()).is_remote();
        for own in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            assert!(!is_remote(own), "{own}");
        }
        for other in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "[::ffff:10.0.0.1]:1"] {
            assert!(is_remote(other), "{other}");
        }
        assert!(!Address::Unix("socket".into()).is_remote());
    }
}
