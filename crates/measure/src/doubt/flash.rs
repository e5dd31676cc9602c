//! Doubts about simulated drives: over-provisioning, unwritten pages, no GC, flushes.

use super::Doubt;
use super::balance::gc_out_of_balance;
use flashlane_base::units::format_bytes;
use flashlane_device::{
    Counters, DeviceInfo, FreeOutOfReach, OverProvisioning, OverProvisioningChange, ProgramsInParts,
};

/// Where the requests of a measurement come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// A workload, which can go on.
    Made {
        /// Whether the drive had been written before measuring.
        after_writes: bool,
    },
    /// A recording, which has an end.
    Recorded,
}

/// Returns the doubts about a drive's flash.
pub fn about_flash(info: &DeviceInfo, counters: &Counters, load: Load) -> Vec<Doubt> {
    let cleaned = nothing_cleaned(counters, load, info.begins_written);
    [
        about_settings(info),
        info.over_provisioning.and_then(about_free_blocks),
        info.programs_in_parts.filter(|_| has_drained(counters)).map(about_drains),
        not_written(counters),
        cleaned,
        not_paced(counters),
        gc_out_of_balance(counters, load),
        flushes_drained(counters),
        left_in_buffer(counters),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Change of over-provisioning from which the cost of GC differs notably.
const OVER_PROVISIONING_MATTERS: f64 = 0.03;

/// Reports settings that changed one of the flash and the capacity.
pub fn about_settings(info: &DeviceInfo) -> Option<Doubt> {
    about_over_provisioning(info.capacity_bytes, info.over_provisioning?)
}

/// Doubts the over-provisioning of a simulated drive, where settings changed it notably from the profile's.
pub fn about_over_provisioning(capacity_bytes: u64, flash: OverProvisioning) -> Option<Doubt> {
    let change = flash.change?;
    ((flash.share - change.profile_share).abs() > OVER_PROVISIONING_MATTERS)
        .then_some(Doubt::OverProvisioningChanged { capacity_bytes, share: flash.share, change })
}

/// Reports a share of free blocks that idle GC is to reach and cannot.
pub fn about_free_blocks(flash: OverProvisioning) -> Option<Doubt> {
    let FreeOutOfReach { wanted_share, most_share } = flash.out_of_reach?;
    Some(Doubt::FreeOutOfReach { wanted_share, most_share })
}

/// Reports a write buffer that drains fewer mapping units at a time than a program takes.
pub fn about_drains(drains: ProgramsInParts) -> Doubt {
    Doubt::ProgramsInParts { drains }
}

/// Returns whether any page left the write buffer.
fn has_drained(counters: &Counters) -> bool {
    counters.get("buffer_pages_drained").is_some_and(|pages| pages > 0)
}

/// Formats what drains, what a program takes, and the setting that fills one.
pub(super) fn why_in_parts(drains: &ProgramsInParts) -> String {
    let &ProgramsInParts { drained_units, plane_units, planes } = drains;
    let needed = drains.program_units();
    let planes_of_die = if planes > 1 { format!(" on each of {planes} planes") } else { String::new() };
    let consequence = match plane_units {
        1 => "planes are left out of programs",
        _ if drained_units < plane_units => "pages are programmed in parts, and each of them several times",
        _ => "pages are programmed in parts, or planes are left out of programs",
    };
    format!(
        "buffer.drain_per_die of {drained_units} is less than the {needed} mapping units that a program of a die takes \
         ({plane_units}{planes_of_die}), so that {consequence}, and sustained writes are slower than the flash; set \
         buffer.drain_per_die to {needed} or more"
    )
}

/// Formats the change, and the settings that undo or confirm it.
pub(super) fn how_over_provisioning_changed(
    capacity_bytes: u64,
    share: f64,
    change: &OverProvisioningChange,
) -> String {
    let profile_percent = change.profile_share * 100.0;
    let capacity = format_bytes(capacity_bytes);
    let now = format!("over-provisioning is {:.0}%, not the profile's {profile_percent:.1}%", share * 100.0);
    if !change.is_of_capacity {
        return format!(
            "settings changed the flash and left the capacity of {capacity}: {now}; set \
             over_provisioning={profile_percent:.1}% to keep the profile's, or capacity to confirm this one"
        );
    }
    let confirm = match share {
        ..=1.0 => {
            // Rounded up: with less the capacity might not fit.
            let percent = (share * 1000.0).ceil() / 10.0;
            format!(", or over_provisioning={percent:.1}% in place of capacity to confirm this one")
        }
        _ => String::new(),
    };
    format!(
        "settings changed the capacity to {capacity} and left the flash: {now}; set flash.blocks in proportion to keep the \
         profile's{confirm}"
    )
}

/// Share of the moved pages from which a lack of free space matters.
const LACK_MATTERS: f64 = 0.1;

/// Reports that the reserve has no room for the free space that paced GC keeps.
fn not_paced(counters: &Counters) -> Option<Doubt> {
    let moved = counters.get(Counters::PAGES_MOVED).filter(|&pages| pages > 0)?;
    let share = counters.get("pages_moved_below_target")? as f64 / moved as f64;
    (share > LACK_MATTERS).then_some(Doubt::NotPaced { share })
}

/// Returns the share of the pages read that had never been written, 0 to 1; `None` where the device does not count
/// them, or no page was read.
pub fn never_written_share(counters: &Counters) -> Option<f64> {
    let read = counters.get("host_pages_read").filter(|&pages| pages > 0)?;
    let answered = ["flash_pages_read", "buffer_read_hits", "readahead_page_hits"];
    let answered: u64 = answered.iter().filter_map(|name| counters.get(name)).sum();
    Some(read.saturating_sub(answered) as f64 / read as f64)
}

/// Reports that most pages read had never been written.
fn not_written(counters: &Counters) -> Option<Doubt> {
    let share = never_written_share(counters)?;
    (share > 0.5).then_some(Doubt::NotWritten { share })
}

/// Share of all pages from which writes matter.
const WRITES_MATTER: f64 = 0.01;

/// Returns whether the pages that the host wrote are a notable share of all that it accessed.
pub(super) fn do_writes_matter(counters: &Counters) -> bool {
    let written = counters.get(Counters::HOST_PAGES_WRITTEN).unwrap_or(0);
    let read = counters.get("host_pages_read").unwrap_or(0);
    written as f64 >= WRITES_MATTER * (read + written) as f64
}

/// Reports that the drive wrote and erased no block.
fn nothing_cleaned(counters: &Counters, load: Load, begins_written: bool) -> Option<Doubt> {
    let written = counters.get(Counters::HOST_PAGES_WRITTEN).filter(|&pages| pages > 0)?;
    // Only drives with GC have the first counter.
    let nothing = counters.get(Counters::PAGES_MOVED)? == 0 && counters.get("blocks_erased")? == 0;
    let matters = do_writes_matter(counters);
    let is_recorded = load == Load::Recorded;
    let was_written = begins_written || load == Load::Made { after_writes: true };
    (nothing && matters).then_some(Doubt::NothingCleaned { was_written, is_recorded, written_pages: written })
}

/// Formats the consequence of a run without GC, and what to do.
pub(super) fn why_nothing_cleaned(pages: u64, was_written: bool, is_recorded: bool) -> String {
    let what_to_do = match (was_written, is_recorded) {
        (true, false) => "the writes measured were too few to use them up; measure more requests",
        (false, false) => "write more, on a drive that begins with initial.state=full or fragmented",
        (true, true) => {
            "the writes recorded are too few to use them up; begin with initial.state=fragmented, which leaves the fewest, \
             or take a recording that writes more"
        }
        (false, true) => "begin with initial.state=fragmented, or take a recording that writes more",
    };
    format!(
        "{pages} pages were written and no block was erased, so that these are the times of a drive with free blocks left{} \
         {what_to_do}",
        if was_written { ":" } else { ";" }
    )
}

/// Reports that flushes, not its policy, drained the write buffer.
fn flushes_drained(counters: &Counters) -> Option<Doubt> {
    let (drained_pages, flushed_pages) =
        (counters.get("buffer_pages_drained")?, counters.get("buffer_pages_drained_flush")?);
    let flushes = counters.get("host_flushes")?;
    (flushed_pages > drained_pages / 2).then_some(Doubt::FlushesDrainedBuffer {
        flushed_pages,
        drained_pages,
        flushes,
    })
}

/// Share of the pages written from which those left in the buffer are mentioned.
const LEFT_MATTERS: f64 = 0.05;

/// Share of the pages written from which the run was largely one of the buffer.
const LEFT_DECIDES: f64 = 0.2;

/// Formats what the pages left in the buffer mean for the times and the write amplification, and what to do.
pub(super) fn why_left_in_buffer(left_pages: u64, written_pages: u64) -> String {
    let what = format!(
        "{left_pages} of the {written_pages} pages written were still in the drive's buffer at the end: write amplification \
         leaves them out, and"
    );
    // From here on the flash takes all but the share that matters.
    let enough = (left_pages as f64 / LEFT_MATTERS).ceil() as u64;
    if left_pages as f64 >= LEFT_DECIDES * written_pages as f64 {
        format!(
            "{what} these are largely the times of the write buffer, not of the flash; write more than {enough} pages to see \
             what the flash sustains"
        )
    } else {
        let above_percent = 100.0 * left_pages as f64 / (written_pages - left_pages) as f64;
        format!(
            "{what} the write rate is up to {above_percent:.0}% above what the flash took; write more than {enough} pages, or \
             flush"
        )
    }
}

/// Returns whether a write buffer took a notable share of what the host wrote; `None` where the device does not count
/// it.
pub fn is_filling_buffer(counters: &Counters) -> Option<bool> {
    let written_pages = counters.get(Counters::HOST_PAGES_WRITTEN)?;
    counters.get(Counters::HOST_PAGES_SETTLED)?;
    Some(is_notable_in_buffer(counters.pages_left_in_buffer(), written_pages))
}

/// Returns whether this number of pages in a write buffer is a notable share of the pages that the host writes.
pub fn is_notable_in_buffer(left_pages: u64, written_pages: u64) -> bool {
    left_pages as f64 > LEFT_MATTERS * written_pages as f64
}

/// Reports that much of what was written never reached flash.
fn left_in_buffer(counters: &Counters) -> Option<Doubt> {
    let written_pages = counters.get(Counters::HOST_PAGES_WRITTEN)?;
    let left_pages = counters.pages_left_in_buffer();
    (do_writes_matter(counters) && is_filling_buffer(counters) == Some(true))
        .then_some(Doubt::LeftInBuffer { left_pages, written_pages })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_of_a_filling_buffer_is_named_so() {
        let message = |written: u64, settled: u64| {
            let counters = [(Counters::HOST_PAGES_WRITTEN, written), (Counters::HOST_PAGES_SETTLED, settled)];
            left_in_buffer(&Counters(counters.to_vec())).map(|doubt| doubt.to_string())
        };
        // A 1 GiB buffer of 8 KiB pages fills up in the first 200,000 writes, at three times the flash's rate.
        let burst = message(200_000, 124_961).unwrap();
        assert!(
            burst.contains("largely the times of the write buffer")
                && burst.contains("more than 1500780 pages"),
            "{burst}"
        );
        assert!(message(1_000, 0).unwrap().contains("largely the times of the write buffer"));
        let above = message(1_000, 900).unwrap();
        assert!(above.contains("up to 11% above") && above.contains("more than 2000 pages"), "{above}");
        // So many are enough.
        assert_eq!(message(1_500_780, 1_500_780 - 75_039), None);
    }
}
