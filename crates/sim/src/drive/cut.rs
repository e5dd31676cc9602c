//! Power cuts: what is in the buffer and under way is gone, what is on flash stays.
//!
//! The translation layer keeps its bookkeeping, as drives rebuild it from what they wrote beside the data. A page whose
//! program was cut short keeps its new place there, although flash would still have it at the old one: in time that
//! makes no difference, and of bytes the drive knows nothing.

use super::*;
use flashlane_device::{Failure, Lane};

impl Drive {
    /// What has completed and is on no flash.
    pub(super) fn volatile(&self) -> Vec<AtRisk> {
        let page_bytes = self.geometry.page_bytes;
        let buffered = self.buffer.iter().flat_map(WriteBuffer::at_risk);
        let overtaken = self.overtaken.iter().map(|(&page, (owed, _))| (page, owed.since));
        buffered
            .chain(overtaken)
            .map(|(page, since)| {
                let offset_bytes = u64::from(page) * page_bytes;
                let length_bytes = page_bytes.min(self.profile.capacity_bytes - offset_bytes);
                AtRisk { lane: Lane(0), offset_bytes, length_bytes, since }
            })
            .collect()
    }

    /// Cuts the power and gives it back.
    pub(super) fn cut(&mut self) -> Vec<AtRisk> {
        let at_risk = self.volatile();
        let past = self.counted(FtlCounters::default());
        let parts = Powered::new(&self.config, &self.geometry, self.seed);
        // Named one by one, so that a new part has to say what becomes of it.
        let Self {
            config: _,
            seed: _,
            profile: _,
            commands_wait: _,
            completions_wait: _,
            whole_reads: _,
            takes: _,
            buffer_latency: _,
            geometry: _,
            ftl: _,
            trace_hash: _,
            // The clock goes on, and what the host does is the host's.
            now,
            host: _,
            returns: _,
            // What a read meets is drawn by lot, not remembered.
            correction: _,
            events,
            requests,
            in_flight,
            link,
            held,
            exclusion,
            readahead,
            buffer,
            flash,
            moves_in_runs: _,
            background,
            stalled,
            lost,
            flushing,
            acknowledged,
            overtaken,
            rest,
            resting,
            completed,
            counts,
            past: earlier,
            finished,
            cleaned,
            placed,
            admitted,
            flushed,
            fetched,
        } = self;
        for request in requests.in_use() {
            // It completes, too, though without having been done.
            let counts = request.operation == Operation::Write && !request.durable && !request.acknowledged;
            *acknowledged += u64::from(counts);
            completed.push(Completion {
                id: request.id,
                submitted: request.submitted,
                completed: *now,
                outcome: Err(Failure::Gone),
            });
        }
        (*requests, *in_flight) = (Slab::new(), 0);
        *events = EventQueue::default();
        (*link, *flash) = (parts.link, parts.flash);
        (*held, *exclusion, *readahead) = (parts.held, parts.exclusion, parts.readahead);
        *buffer = parts.buffer;
        if let Some(background) = background {
            background.tickets.fill(Ticket::NONE);
        }
        (rest.ticket, *resting) = (Ticket::NONE, false);
        *counts = Counts::default();
        *earlier = past;
        overtaken.clear();
        stalled.clear();
        for list in [lost, flushing, flushed, fetched] {
            list.clear();
        }
        finished.clear();
        cleaned.clear();
        placed.clear();
        admitted.clear();
        at_risk
    }
}
