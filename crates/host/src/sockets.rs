//! Sockets of a server: addresses, listeners and streams over TCP and Unix sockets, for one thread that polls them.

use crate::listen::{SocketFile, private_socket};
use mio::event::Source;
use mio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use mio::{Interest, Poll, Registry, Token};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
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

/// A listening socket. The file of a Unix socket is removed when it is dropped, unless another socket has its path by then.
#[derive(Debug)]
pub struct Listener {
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
    /// Listens on an address.
    ///
    /// # Errors
    /// [`ListenError`] with the error of the operating system.
    pub fn bind(address: &Address) -> Result<Self, ListenError> {
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
        bound.map_err(|error| ListenError {
            address: match address {
                Address::Tcp(address) => address.to_string(),
                Address::Unix(path) => format!("'{}'", path.display()),
            },
            error,
        })
    }

    /// Returns the address, with the port that the system chose.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Reports events of the socket to a poll under `token`.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn register(&mut self, poll: &Poll, token: Token) -> io::Result<()> {
        match &mut self.socket {
            Socket::Tcp(socket) => poll.registry().register(socket, token, Interest::READABLE),
            Socket::Unix { socket, .. } => poll.registry().register(socket, token, Interest::READABLE),
        }
    }

    /// Accepts a client, with its address where it has one.
    ///
    /// # Errors
    /// The operating system's error; `WouldBlock` where no client waits.
    pub fn accept(&mut self) -> io::Result<(Stream, Option<SocketAddr>)> {
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
        let Address::Tcp(address) = *listener.address() else { panic!("it listens on TCP") };
        let _client = std::net::TcpStream::connect(address).unwrap();
        wait_for_sockets(&sockets, Duration::from_s(60)).unwrap();
        sockets.poll(&mut events, Some(std::time::Duration::ZERO)).unwrap();
        assert_eq!(events.iter().map(|event| event.token()).collect::<Vec<_>>(), [Token(7)]);
        assert!(listener.accept().unwrap().1.is_some());
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
