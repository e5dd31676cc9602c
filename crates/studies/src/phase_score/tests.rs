//! The score on a few drives: enough to notice a broken detection or a wrong truth.

use super::{PhaseTally, score};
use flashlane_base::Seed;

#[test]
fn most_phases_are_found_and_none_invented() {
    let score = score(24, Seed(1), &|_| true);
    for tally in &score.features {
        assert_eq!(tally.present + tally.absent, 24);
        assert!(tally.present >= 6 && tally.absent >= 3, "{tally:?}");
        assert!(
            tally.found * 10 >= tally.present * 8 && tally.invented == 0,
            "{tally:?} {:#?}",
            score.mistakes
        );
    }
}

#[test]
fn tally_counts_each_answer_once() {
    let mut tally = PhaseTally::default();
    let marks =
        [(100, 109), (100, 111), (100, 0), (0, 0), (0, 1)].map(|(known, answer)| tally.mark(known, answer));
    assert_eq!(marks, [true, false, false, true, false]);
    let PhaseTally { present, found, missed, wrong, absent, invented, .. } = tally;
    assert_eq!((present, found, missed, wrong, absent, invented), (3, 1, 1, 1, 2, 1));
}
