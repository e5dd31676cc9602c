//! The recurrence of the pauses of writes, each of which is a block that fills.
//!
//! *Count.* Over a whole period of the pauses the number of writes by that of pauses is the number of pages in a block,
//! whichever dies and planes the writes reached, as long as every pause is seen. Where some are missed, it is mostly no
//! whole number, or differs between dies.
//!
//! *Period.* The pauses of the writes to a die have to recur exactly. Where the order of writes places pages, planes
//! that fill their blocks in turn pause after equal numbers of writes, for as long as their turn lasts. So the caller
//! MUST write more than one turn of the planes; where the dies are not known, more than the drive holds.

/// Distribution of consecutive pages over dies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageStripe {
    /// Pages until the same die recurs.
    pub(crate) stripe_pages: usize,
    /// Consecutive pages on one die.
    pub(crate) chunk_pages: usize,
}

/// The recurrence of pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recurrence {
    /// Writes after which all pauses recur.
    pub(crate) writes: usize,
    /// Writes per pause: the pages of a block.
    pub(crate) unit: usize,
}

/// Maximum number of pauses in a period, and least number of periods.
const IN_PERIOD_MAX: usize = 4096;
const PERIODS_MIN: usize = 3;
/// Fewer pages are no block.
const UNIT_PAGES_MIN: usize = 8;
/// Share of dies that must show the unit.
const AGREE: f64 = 0.9;

/// Returns the recurrence that nearly all dies show, where no die shows another unit.
pub(crate) fn of_each_die(pauses: &[bool], stripe: PageStripe) -> Option<Recurrence> {
    let PageStripe { stripe_pages, chunk_pages } = stripe;
    let dies = stripe_pages / chunk_pages;
    // The first write may be any of a chunk: then each of these sequences has parts of two dies, and recurs all the
    // same.
    let of_die = |die: usize| {
        pauses
            .chunks(stripe_pages)
            .flat_map(move |row| row.iter().skip(die * chunk_pages).take(chunk_pages))
            .copied()
    };
    let seen: Vec<Recurrence> = (0..dies).filter_map(|die| recurrence(of_die(die))).collect();
    let unit = seen.first()?.unit;
    let all_agree = seen.iter().all(|one| one.unit == unit);
    let writes = dies * seen.iter().map(|one| one.writes).max()?;
    (all_agree && seen.len() as f64 >= AGREE * dies as f64).then_some(Recurrence { writes, unit })
}

/// Returns the recurrence of all writes.
pub(crate) fn every_write(pauses: &[bool]) -> Option<Recurrence> {
    recurrence(pauses.iter().copied())
}

/// Returns the recurrence of pauses, exact over several periods from the first write to the last.
fn recurrence(pauses: impl Iterator<Item = bool>) -> Option<Recurrence> {
    let mut writes = 0;
    let mut places = Vec::new();
    for (place, is_pause) in pauses.enumerate() {
        writes = place + 1;
        if is_pause {
            places.push(place);
        }
    }
    let gaps: Vec<usize> = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let recurs = |group: &usize| gaps.iter().zip(&gaps[*group..]).all(|(a, b)| a == b);
    let group = (1..=IN_PERIOD_MAX.min(gaps.len() / PERIODS_MIN)).find(recurs)?;
    // Else the pauses begin or end within, as those of planes that fill their blocks in turn.
    let longest = *gaps.iter().max()?;
    let covers_all = places[0] <= longest && writes - places[places.len() - 1] <= longest;
    let period: usize = gaps[..group].iter().sum();
    let is_block = period.is_multiple_of(group) && period / group >= UNIT_PAGES_MIN;
    (covers_all && is_block).then_some(Recurrence { writes: period, unit: period / group })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six dies in chunks of two pages; each erases when it has taken `unit` writes, out of step with the others by
    /// `step`.
    const STRIPE: PageStripe = PageStripe { stripe_pages: 12, chunk_pages: 2 };

    fn pauses(writes: usize, unit: usize, step: usize) -> Vec<bool> {
        (0..writes)
            .map(|write| {
                let (die, turn) = (write % 12 / 2, write / 12 * 2 + write % 2);
                (turn + step * die).is_multiple_of(unit)
            })
            .collect()
    }

    #[test]
    fn writes_by_pauses_are_the_unit() {
        let pauses = pauses(12 * 200, 64, 7);
        assert_eq!(of_each_die(&pauses, STRIPE), Some(Recurrence { writes: 6 * 64, unit: 64 }));
        assert_eq!(every_write(&pauses), Some(Recurrence { writes: 6 * 64, unit: 64 }));
    }

    #[test]
    fn several_dies_that_pass_for_one_show_the_unit() {
        // Where a period is that of the channels, each sequence has the pauses of several dies.
        let fewer = PageStripe { stripe_pages: 4, chunk_pages: 2 };
        assert_eq!(of_each_die(&pauses(12 * 200, 64, 7), fewer).unwrap().unit, 64);
        // Chunks that do not divide the unit.
        assert_eq!(of_each_die(&pauses(12 * 200, 21, 5), STRIPE).unwrap().unit, 21);
    }

    #[test]
    fn period_with_an_exception_is_rejected() {
        let mut pauses = pauses(12 * 200, 64, 7);
        let pause = (800..pauses.len()).find(|&write| pauses[write]).unwrap();
        pauses[pause] = false;
        assert_eq!(every_write(&pauses), None);
        assert_eq!(every_write(&[false; 2400]), None);
    }

    #[test]
    fn pauses_of_planes_in_turn_are_no_period() {
        // Dies in step pause one after the other, every two writes, and then not for long.
        let in_step: Vec<bool> = (0..24 * 1000).map(|write| write % 2 == 0 && write % 6400 < 400).collect();
        for (from, to) in [(0, 300), (0, 6000), (100, 6500)] {
            assert_eq!(every_write(&in_step[from..to]), None, "{from} {to}");
        }
    }

    #[test]
    fn missed_pauses_leave_the_unit_open() {
        // Of four units of 32 pages one pause is missed.
        let pauses: Vec<bool> = (0..3200).map(|write| write % 32 == 0 && write % 128 != 0).collect();
        assert_eq!(every_write(&pauses), None);
    }
}
