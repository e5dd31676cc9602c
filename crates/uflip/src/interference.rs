//! The pause between runs: reads, a batch of random writes, and reads again show how long the writes disturb later
//! reads (uflip09, section 4.3).

use flashlane_result::uflip::Interference;

/// Reads that are averaged, since one slow read is not a disturbance.
const WINDOW: usize = 16;
/// The disturbance has ended after this number of undisturbed windows in a row.
const QUIET_WINDOWS: usize = 16;
/// A window is disturbed where its mean exceeds the slowest one before the writes by this factor.
const DISTURBED: f64 = 1.05;
/// Ratio of the pause to the disturbance (uflip09, section 5.1: 5 s for 2.5 s).
const MARGIN: u64 = 2;

/// Computes the pause, at least `least_pause_ns`, from the response times of reads before and after a batch of
/// `writes`.
pub(crate) fn of(before_ns: &[u64], after_ns: &[u64], writes: u64, least_pause_ns: u64) -> Interference {
    let mean = |window: &[u64]| window.iter().map(|&ns| ns as f64).sum::<f64>() / window.len() as f64;
    let limit = DISTURBED * before_ns.chunks_exact(WINDOW).map(mean).fold(0.0, f64::max);
    let (mut affected, mut quiet) = (0, 0);
    for (window, reads) in after_ns.chunks_exact(WINDOW).enumerate() {
        if mean(reads) > limit {
            affected = (window + 1) * WINDOW;
            quiet = 0;
        } else {
            quiet += 1;
            if quiet == QUIET_WINDOWS {
                break;
            }
        }
    }
    let affected_ns = after_ns[..affected].iter().sum::<u64>();
    Interference {
        writes,
        reads_before: before_ns.len() as u64,
        reads_after: after_ns.len() as u64,
        affected_reads: affected as u64,
        affected_ns,
        ended: affected == 0 || quiet == QUIET_WINDOWS,
        pause_ns: (affected_ns * MARGIN).max(least_pause_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(count: usize, ns: u64) -> Vec<u64> {
        // A tenth of the reads always take 1.5 times as long.
        (0..count).map(|at| if at % 10 == 0 { ns * 3 / 2 } else { ns }).collect()
    }

    #[test]
    fn undisturbed_reads_need_the_least_pause() {
        let found = of(&reads(512, 1000), &reads(2048, 1000), 64, 77);
        assert_eq!((found.affected_reads, found.pause_ns, found.ended), (0, 77, true));
    }

    #[test]
    fn disturbed_reads_are_counted() {
        let mut after = reads(3000, 1400);
        after.extend(reads(2000, 1000));
        let found = of(&reads(512, 1000), &after, 64, 77);
        assert!((2976..=3024).contains(&found.affected_reads), "{found:?}");
        assert_eq!((found.pause_ns, found.ended), (2 * found.affected_ns, true));
    }

    #[test]
    fn endless_disturbance_is_reported() {
        let found = of(&reads(512, 1000), &reads(2000, 1400), 64, 77);
        assert_eq!((found.affected_reads, found.ended), (2000, false));
    }

    #[test]
    fn late_slow_reads_are_not_attributed_to_the_writes() {
        let mut after = reads(1600, 1000);
        after.extend(reads(100, 9000));
        assert_eq!(of(&reads(512, 1000), &after, 64, 77).affected_reads, 0);
    }
}
