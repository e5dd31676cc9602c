//! A device used with one blocking request at a time, to open and to format lanes.

use super::constants::SECTOR_BYTES;
use super::error::LanesError;
use flashlane_base::Instant;
use flashlane_device::{Buffer, Completion, DataDevice, Failure, Request, RequestId};

/// Length of the longest transfer.
pub(super) const PORTION_BYTES: u64 = 1 << 20;

/// A device used with one blocking request at a time. Requests get ids from `next` on.
pub(super) struct Blocking<'a, D> {
    pub device: &'a mut D,
    pub next: &'a mut u64,
}

impl<D: DataDevice> Blocking<'_, D> {
    fn run(&mut self, action: &'static str, request: Request, buffer: Buffer) -> Result<Buffer, LanesError> {
        let id = RequestId(*self.next);
        *self.next += 1;
        let refused = |(error, _)| LanesError::Refused { action, error };
        self.device.submit_with(Request { id, ..request }, buffer).map_err(refused)?;
        let mut out: Vec<Completion> = Vec::new();
        while out.is_empty() {
            self.device.reap(Instant::FAR, &mut out);
        }
        let buffer = self.device.take_buffer(id);
        out[0].outcome.map_err(|failure| LanesError::Failed { action, failure })?;
        Ok(buffer.expect("a completed request gives its buffer back"))
    }

    /// Reads a range; `None` where the device cannot read it, but still exists.
    pub(super) fn read(
        &mut self,
        action: &'static str,
        at: u64,
        length: u64,
    ) -> Result<Option<Buffer>, LanesError> {
        match self.run(action, Request::read(0, at, length), Buffer::zeroed(length as usize)) {
            Err(LanesError::Failed { failure, .. }) if failure != Failure::DeviceLost => Ok(None),
            result => result.map(Some),
        }
    }

    /// Reads consecutive sectors; `None` for those that cannot be read.
    pub(super) fn read_sectors(
        &mut self,
        action: &'static str,
        at: u64,
        count: u64,
    ) -> Result<Vec<Option<Vec<u8>>>, LanesError> {
        if let Some(all) = self.read(action, at, count * SECTOR_BYTES)? {
            return Ok(all
                .as_slice()
                .chunks(SECTOR_BYTES as usize)
                .map(|sector| Some(sector.to_vec()))
                .collect());
        }
        // Read the sectors one by one, so that an unreadable one does not affect the others.
        let one = |nth| {
            let sector = self.read(action, at + nth * SECTOR_BYTES, SECTOR_BYTES)?;
            Ok(sector.map(|sector| sector.as_slice().to_vec()))
        };
        (0..count).map(one).collect()
    }

    pub(super) fn write(
        &mut self,
        action: &'static str,
        at: u64,
        buffer: Buffer,
    ) -> Result<Buffer, LanesError> {
        self.run(action, Request::write(0, at, buffer.len() as u64).durable(), buffer)
    }
}
