//! How far apart runs have to stand: reads, a batch of random writes, and reads again; how many of the later reads the
//! writes still disturb (uflip09, section 4.3).

use flashlane_result::uflip::Interference;

/// Reads that are looked at together: one slow read is no disturbance.
const WINDOW: usize = 16;
/// The disturbance has ended where so many windows in a row are as before.
const QUIET_WINDOWS: usize = 16;
/// A window is disturbed where its mean is this much above the slowest before the writes.
const DISTURBED: f64 = 1.05;
/// How much longer than the disturbance the pause is (uflip09, section 5.1: 5 s for 2.5 s).
const MARGIN: u64 = 2;

/// The finding from the response times of reads before and behind a batch of `writes`. A pause is at least
/// `least_pause_ns`.
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
        // A tenth of the reads take half as long again, all the time.
        (0..count).map(|at| if at % 10 == 0 { ns * 3 / 2 } else { ns }).collect()
    }

    #[test]
    fn reads_that_are_as_before_need_the_least_pause() {
        let found = of(&reads(512, 1000), &reads(2048, 1000), 64, 77);
        assert_eq!((found.affected_reads, found.pause_ns, found.ended), (0, 77, true));
    }

    #[test]
    fn disturbed_reads_are_counted_to_their_end() {
        let mut after = reads(3000, 1400);
        after.extend(reads(2000, 1000));
        let found = of(&reads(512, 1000), &after, 64, 77);
        assert!((2976..=3024).contains(&found.affected_reads), "{found:?}");
        assert_eq!((found.pause_ns, found.ended), (2 * found.affected_ns, true));
    }

    #[test]
    fn a_disturbance_without_end_is_said_to_have_none() {
        let found = of(&reads(512, 1000), &reads(2000, 1400), 64, 77);
        assert_eq!((found.affected_reads, found.ended), (2000, false));
    }

    #[test]
    fn a_late_slow_stretch_is_not_the_writes_doing() {
        let mut after = reads(1600, 1000);
        after.extend(reads(100, 9000));
        assert_eq!(of(&reads(512, 1000), &after, 64, 77).affected_reads, 0);
    }
}
