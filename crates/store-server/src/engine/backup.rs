//! Carries out BGSAVE: a backup is read among the operations of clients, one read at a time.

use super::Engine;
use crate::backups::{BackupFile, BackupTarget};
use crate::session::SlotId;
use flashlane_device::DataDevice;
use flashlane_store::{Backup, BackupError, Finished};

/// Where backups go, and the one that is being written.
#[derive(Default)]
pub(super) struct Backups {
    target: Option<Box<dyn BackupTarget>>,
    running: Option<Backup<Box<dyn BackupFile>>>,
}

impl<D: DataDevice, L: DataDevice> Engine<D, L> {
    /// Lets clients order backups (BGSAVE).
    pub fn write_backups(&mut self, target: Box<dyn BackupTarget>) {
        self.backups.target = Some(target);
    }

    /// Begins a backup. No command is in flight, so that it has all changes of each command, or none.
    pub(super) fn begin_backup(&mut self, slot: SlotId) {
        match self.start_backup() {
            Ok(()) => self.answer(slot, |reply| reply.simple("Background saving started")),
            Err(refusal) => self.answer(slot, |reply| reply.error(refusal)),
        }
    }

    fn start_backup(&mut self) -> Result<(), String> {
        if self.backups.running.is_some() {
            return Err("ERR Background save already in progress".into());
        }
        let Some(target) = &mut self.backups.target else {
            return Err("ERR no file for backups: 'flashlane store serve --backup FILE' names it".into());
        };
        let file = target.begin().map_err(|error| format!("ERR cannot create the backup: {error}"))?;
        let backup = Backup::begin(&mut self.store, file).map_err(|error| format!("ERR {error}"))?;
        self.backups.running = Some(backup);
        self.server.backups.is_running = true;
        Ok(())
    }

    /// Takes an operation of the store that has completed. Returns it where it is none of a backup.
    pub(super) fn backup_ended(&mut self, finished: Finished) -> Option<Finished> {
        let Some(mut backup) = self.backups.running.take() else { return Some(finished) };
        let ended = match backup.offer(&mut self.store, finished) {
            Ok(other) if !backup.is_done() => {
                self.backups.running = Some(backup);
                return other;
            }
            Ok(_) => {
                backup.finish(&mut self.store).and_then(|(file, _)| file.commit().map_err(BackupError::Write))
            }
            Err(error) => {
                backup.abandon(&mut self.store);
                Err(error)
            }
        };
        let state = &mut self.server.backups;
        state.is_running = false;
        match ended {
            Ok(()) => (state.last_ms, state.failure) = (Some(self.server.now_ms), None),
            Err(error) => state.failure = Some(error.to_string()),
        }
        None
    }
}
