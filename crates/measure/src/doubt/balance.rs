//! The balance of GC: whether it gave back as many erased pages as the writes of a run took.
//!
//! With M pages moved, P programmed (without parity) and E pages of emptied blocks, the reserve of erased pages changed
//! by E - P. Each page that GC gains takes M / (E - M) moves. Where the reserve neither shrinks nor grows, P = E: of
//! the pages programmed the share M / E is moves, not M / P, and write amplification is that of the run times
//! (1 - M / P) / (1 - M / E), if victims hold as many valid pages as in the run.
//!
//! What is folded from an SLC cache goes through two blocks, and takes from one as much as it gives back in the other:
//! those pages count in none of the three, and their programs are added to the write amplification.

use super::flash::do_writes_matter;
use super::{Doubt, Load};
use flashlane_device::Counters;

/// Change of write amplification, as a share, from which a run is not taken for one in balance.
const IMBALANCE_MATTERS: f64 = 0.1;

/// Reports that GC gave back fewer or more pages than the writes took, where that changed the write amplification.
pub(super) fn gc_out_of_balance(counters: &Counters, load: Load) -> Option<Doubt> {
    let collected_pages = counters.get(Counters::PAGES_COLLECTED)?;
    let folded_pages = counters.get(Counters::SLC_PAGES_FOLDED).unwrap_or(0);
    let without_folded = |pages: u64| pages.checked_sub(folded_pages);
    let collected_pages = without_folded(collected_pages)?;
    let moved_pages = without_folded(counters.get(Counters::PAGES_MOVED)?).filter(|&pages| pages > 0)?;
    let parity_pages = counters.get(Counters::PARITY_PAGES_PROGRAMMED).unwrap_or(0);
    let taken_pages = counters.get(Counters::FLASH_PAGES_PROGRAMMED)?.checked_sub(parity_pages);
    let taken_pages = without_folded(taken_pages?)?;
    let measured = counters.write_amplification()?;
    let [moved, collected, taken] = [moved_pages, collected_pages, taken_pages].map(|pages| pages as f64);
    // Victims that gave back nothing have no write amplification.
    let host = taken - moved;
    let folded = folded_pages as f64 / host;
    let balanced = (collected > moved)
        .then(|| measured * (folded + 1.0 / (1.0 - moved / collected)) / (folded + taken / host));
    let matters = balanced.is_none_or(|balanced| (balanced / measured - 1.0).abs() > IMBALANCE_MATTERS);
    let is_recorded = load == Load::Recorded;
    (matters && taken > moved && do_writes_matter(counters)).then_some(Doubt::GcOutOfBalance {
        taken_pages,
        collected_pages,
        measured,
        balanced,
        is_recorded,
    })
}

/// Formats what the imbalance means for the numbers, and what to do.
pub(super) fn why_out_of_balance(
    taken_pages: u64,
    collected_pages: u64,
    measured: f64,
    balanced: Option<f64>,
    is_recorded: bool,
) -> String {
    let change = if collected_pages < taken_pages {
        "the reserve of erased pages shrank, and write amplification, rates and latencies are those of the time while it \
         lasts"
    } else {
        "the reserve of erased pages grew, and write amplification, rates and latencies include moves for later writes"
    };
    let amplification = |value: f64| if value < 10.0 { format!("{value:.2}") } else { format!("{value:.1}") };
    let balanced = balanced.map_or(String::new(), |balanced| {
        format!(" and about {} with GC in balance and victims like these", amplification(balanced))
    });
    let measured = amplification(measured);
    let what_to_do = match is_recorded {
        false => "measure more requests, or begin with precondition=steady",
        true => "take a recording that writes more",
    };
    format!(
        "the writes took {taken_pages} pages of flash, and GC gave back {collected_pages}: {change}; write amplification is \
         {measured}{balanced}; {what_to_do}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(programmed: u64, moved: u64, collected: u64) -> Counters {
        Counters(vec![
            ("host_pages_read", 0),
            (Counters::HOST_PAGES_WRITTEN, programmed - moved),
            (Counters::HOST_BYTES_WRITTEN, (programmed - moved) * 4096),
            (Counters::FLASH_BYTES_PROGRAMMED, programmed * 4096),
            (Counters::FLASH_PAGES_PROGRAMMED, programmed),
            (Counters::PAGES_MOVED, moved),
            (Counters::PAGES_COLLECTED, collected),
        ])
    }

    fn doubt(programmed: u64, moved: u64, collected: u64, load: Load) -> Option<Doubt> {
        gc_out_of_balance(&counted(programmed, moved, collected), load)
    }

    const MADE: Load = Load::Made { after_writes: false };

    #[test]
    fn write_amplification_with_the_owed_moves_is_stated() {
        // Victims are nine tenths valid, so that GC in balance moves nine pages for each that the host writes.
        let Some(Doubt::GcOutOfBalance { measured, balanced, .. }) = doubt(550, 450, 500, MADE) else {
            panic!("50 of 100 pages were taken from the reserve");
        };
        assert!((measured - 5.5).abs() < 1e-9 && (balanced.unwrap() - 10.0).abs() < 1e-9, "{balanced:?}");
        let said = doubt(550, 450, 500, MADE).unwrap().to_string();
        assert!(
            said.contains("is 5.50 and about 10.0 with") && said.contains("precondition=steady"),
            "{said}"
        );
        assert!(!doubt(550, 450, 500, Load::Recorded).unwrap().to_string().contains("precondition"));
    }

    #[test]
    fn balance_is_doubted_in_both_directions() {
        assert_eq!(doubt(1000, 900, 1000, MADE), None);
        assert_eq!(doubt(1000, 900, 991, MADE), None, "9% of what the host wrote was taken from the reserve");
        assert!(doubt(1000, 900, 985, MADE).is_some());
        let grown = doubt(1000, 900, 1020, MADE).unwrap().to_string();
        assert!(grown.contains("grew") && grown.contains("about 8.50"), "{grown}");
        let nothing_gained = doubt(1000, 900, 900, MADE).unwrap();
        assert!(matches!(nothing_gained, Doubt::GcOutOfBalance { balanced: None, .. }), "{nothing_gained:?}");
        assert_eq!(doubt(1000, 0, 0, MADE), None, "without moves none is owed");
    }

    #[test]
    fn folding_owes_nothing() {
        let folding = |(programmed, moved, collected), folded: u64| {
            let mut counters = counted(programmed + folded, moved + folded, collected + folded);
            counters.0.push((Counters::SLC_PAGES_FOLDED, folded));
            gc_out_of_balance(&counters, MADE)
        };
        assert_eq!(folding((1000, 0, 0), 1000), None, "all that was written was folded");
        assert_eq!(folding((1000, 0, 0), 1), None);
        assert_eq!(folding((1000, 900, 1000), 100), None);
        // 10 in balance, and the page that folding programs for each of the host.
        let Some(Doubt::GcOutOfBalance { balanced, .. }) = folding((550, 450, 500), 100) else {
            panic!("50 of 100 pages were taken from the reserve");
        };
        assert!((balanced.unwrap() - 11.0).abs() < 1e-9, "{balanced:?}");
    }
}
