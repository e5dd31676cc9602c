//! Serves Redis clients.

use super::device::{Place, create_simulated, open_to_write};
use super::{Level, ServeOptions};
use crate::failure::{Failure, Status};
use crate::output::print;
use anyhow::{Context, anyhow};
use flashlane_base::units::exact_bytes;
use flashlane_files::{AtomicFile, Seen};
use flashlane_store::whole_backup;
use flashlane_store_server::{Address, BackupFile, BackupTarget, Limits, ListenError, Server, ServerOptions};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Port of Redis.
const PORT: u16 = 6379;
/// Longest password.
const PASSWORD_BYTES_MAX: u64 = 512;

/// Serves a store until Ctrl-C. On a simulated device, creates a store first.
pub fn serve(place: &Place, options: &ServeOptions, level: Level) -> Result<Status, Failure> {
    let password = options.password_file.as_deref().map(password).transpose().map_err(Failure::unusable)?;
    let mut addresses: Vec<Address> = options.listen.iter().copied().map(Address::Tcp).collect();
    addresses.extend(options.socket.clone().map(Address::Unix));
    if addresses.is_empty() {
        addresses.push(Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))));
    }
    if options.request_size > options.client_memory {
        return Err(Failure::unusable(anyhow!(
            "--request-size {} exceeds --client-memory {}: such a request would close its client",
            exact_bytes(options.request_size),
            exact_bytes(options.client_memory)
        )));
    }
    let limits = Limits {
        clients_max: options.clients as usize,
        memory_bytes: options.client_memory as usize,
        cache_bytes: options.cache as usize,
        request_bytes_max: options.request_size,
        ..Limits::default()
    };
    if let Some(path) = &options.backup {
        AtomicFile::create(path).map_err(|error| {
            Failure::unusable(anyhow!("cannot write backups to '{}': {error}", path.display()))
        })?;
    }
    let store = match place.device.is_simulated() {
        true => create_simulated(place, level)?,
        false => open_to_write(place, level)?,
    };
    let backups = options.backup.as_ref().map(|path| Backups::new(path, place, store.status().store));
    let backups = backups.transpose().map_err(Failure::unusable)?;
    let seed = flashlane_host::fresh_seed().map_err(Failure::failed)?;
    let server_options =
        ServerOptions { durability: level.into(), password, limits, seed, ..ServerOptions::default() };
    let unheard = |error| {
        Failure::unusable(match error {
            ListenError::NoPassword { .. } => anyhow!("{error}: set one with --password-file"),
            ListenError::Refused(_) => anyhow::Error::from(error),
        })
    };
    let mut server = Server::bind(store.into_store(), &addresses, server_options).map_err(unheard)?;
    if let Some(backups) = backups {
        server.write_backups(Box::new(backups));
    }
    let metrics =
        options.metrics.map(|address| server.serve_metrics(address)).transpose().map_err(unheard)?;
    let metrics = metrics.map(|address| format!(", metrics at http://{address}/metrics")).unwrap_or_default();
    let named: Vec<String> = server.addresses().iter().map(ToString::to_string).collect();
    print(&format!(
        "serving {} on {}, durability: {}{metrics}; Ctrl-C ends\n",
        place.device,
        named.join(", "),
        level.name()
    ))?;
    server.run(|| !flashlane_host::interrupted()).map_err(Failure::failed)?;
    let state = server.state();
    let commands: u64 = state.commands.values().map(|stats| stats.latency_us.len()).sum();
    print(&format!("served {} clients, {commands} commands\n", state.clients_total))?;
    Ok(Status::Done)
}

/// Where backups are written.
struct Backups {
    path: PathBuf,
    store: u128,
    /// The backup that this server wrote last, which need not be read again to be known.
    last: Rc<RefCell<Option<Seen>>>,
}

impl Backups {
    /// Checks that the file at `path` may be replaced by backups of a store.
    fn new(path: &Path, place: &Place, store: u128) -> anyhow::Result<Self> {
        match holds(path) {
            Holds::Nothing => {}
            // A simulated store is new, so that no earlier backup is one of it.
            Holds::Backup(of) if of == store && !place.device.is_simulated() => {}
            Holds::Backup(_) => return Err(kept(path, "is the backup of another store")),
            Holds::Other(why) => return Err(kept(path, &format!("is not a whole backup ({why})"))),
        }
        Ok(Self { path: path.to_owned(), store, last: Rc::default() })
    }
}

fn kept(path: &Path, what: &str) -> anyhow::Error {
    anyhow!(
        "'{}' {what}, and is not replaced: name another file with --backup, or move this one",
        path.display()
    )
}

impl BackupTarget for Backups {
    fn begin(&mut self) -> io::Result<Box<dyn BackupFile>> {
        let (file, last) = (AtomicFile::create(&self.path)?, Rc::clone(&self.last));
        Ok(Box::new(NewBackup { file, store: self.store, last, unsynced_bytes: 0 }))
    }
}

/// A backup that is being written.
struct NewBackup {
    file: AtomicFile,
    store: u128,
    last: Rc<RefCell<Option<Seen>>>,
    unsynced_bytes: usize,
}

/// Bytes that are written before they are synced: so that clients wait for a few at a time, and not at the end for all.
const UNSYNCED_BYTES_MAX: usize = 1 << 20;

impl Write for NewBackup {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.unsynced_bytes += written;
        if self.unsynced_bytes >= UNSYNCED_BYTES_MAX {
            self.unsynced_bytes = 0;
            self.file.sync()?;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl BackupFile for NewBackup {
    fn commit(self: Box<Self>) -> io::Result<()> {
        let (path, last) = (self.file.path().to_owned(), self.last.take());
        let is_own = |old: &Path| last.is_some_and(|last| last.is_at(old));
        let is_of_store = |old: &Path| match holds(old) {
            Holds::Nothing => true,
            Holds::Backup(of) => of == self.store,
            Holds::Other(_) => false,
        };
        self.file.commit_over(|old| is_own(old) || is_of_store(old)).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => io::Error::new(
                error.kind(),
                format!("'{}' is not a whole backup of this store, and is not replaced", path.display()),
            ),
            _ => error,
        })?;
        *self.last.borrow_mut() = Seen::at(&path);
        Ok(())
    }
}

/// Content of a file that a backup would replace.
enum Holds {
    /// No bytes, or no file.
    Nothing,
    /// A whole backup of a store, with what identifies the store.
    Backup(u128),
    /// Anything else, and why it is not a whole backup.
    Other(String),
}

fn holds(path: &Path) -> Holds {
    let read = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
    match read {
        Ok((0, _)) => Holds::Nothing,
        Ok((_, file)) => whole_backup(file).map_or_else(|why| Holds::Other(why.to_string()), Holds::Backup),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Holds::Nothing,
        Err(error) => Holds::Other(error.to_string()),
    }
}

/// Reads the password: the first line of a file.
fn password(path: &Path) -> anyhow::Result<Vec<u8>> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("cannot open '{name}'"))?;
    let mut bytes = Vec::new();
    file.take(PASSWORD_BYTES_MAX + 2)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read '{name}'"))?;
    let line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match line.len() as u64 {
        0 => Err(anyhow!("the first line of '{name}' is empty, and a password is needed")),
        1..=PASSWORD_BYTES_MAX => Ok(line.to_vec()),
        _ => Err(anyhow!("the first line of '{name}' is longer than {PASSWORD_BYTES_MAX} bytes")),
    }
}
