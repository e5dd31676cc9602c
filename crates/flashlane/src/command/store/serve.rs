//! Serves Redis clients.

use super::device::{Place, create_simulated, open_to_write};
use super::{Level, ServeOptions};
use crate::failure::{Failure, Status};
use crate::output::print;
use anyhow::{Context, anyhow};
use flashlane_base::units::exact_bytes;
use flashlane_files::AtomicFile;
use flashlane_store::is_backup;
use flashlane_store_server::{Address, BackupFile, BackupTarget, Limits, ListenError, Server, ServerOptions};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

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
        check_backup(path).map_err(Failure::unusable)?;
    }
    let store = match place.device.is_simulated() {
        true => create_simulated(place, level)?,
        false => open_to_write(place, level)?,
    };
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
    if let Some(path) = &options.backup {
        server.write_backups(Box::new(BackupPath(path.clone())));
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
struct BackupPath(PathBuf);

impl BackupTarget for BackupPath {
    fn begin(&mut self) -> io::Result<Box<dyn BackupFile>> {
        Ok(Box::new(NewBackup { file: AtomicFile::create(&self.0)?, unsynced_bytes: 0 }))
    }
}

/// A backup that is being written.
struct NewBackup {
    file: AtomicFile,
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
        self.file.commit_over(may_replace)
    }
}

/// Returns whether a file may be replaced by a backup: it is one, or empty.
fn may_replace(path: &Path) -> bool {
    let mut first = Vec::new();
    let read = File::open(path).and_then(|file| file.take(64).read_to_end(&mut first));
    read.is_ok() && (first.is_empty() || is_backup(&first))
}

/// Checks that backups can be written to a path.
fn check_backup(path: &Path) -> anyhow::Result<()> {
    let name = path.display();
    AtomicFile::create(path).with_context(|| format!("cannot write backups to '{name}'"))?;
    match !path.exists() || may_replace(path) {
        true => Ok(()),
        false => Err(anyhow!("'{name}' holds something other than a backup, and is not replaced")),
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
