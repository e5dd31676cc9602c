//! Static wear leveling: like dynamic; and once an erased block is `spread` erases ahead of the least worn one, it takes the
//! data of a block that is at least half of that behind, which becomes free.
//!
//! Of these blocks it is the one whose data will last longest, if units go on being overwritten as fast as they were since
//! the block was closed. Data that never changes thus comes to rest on the most worn blocks, and the host writes to the
//! least worn. The least worn block alone would not do: where its data is hot, the worn block is soon erased again.
//!
//! Option `spread`, 1 to 1,000,000 erases, default 64. Cost: one comparison per erase, and one pass over the plane's blocks
//! per move.

use super::dynamic::Dynamic;
use super::{View, Wear};
use crate::{OptionError, Options};

struct Static {
    spread: u32,
}

impl Wear for Static {
    fn next_free(&self, free: &[u32], erases: &[u32]) -> usize {
        Dynamic.next_free(free, erases)
    }

    fn migrate(&self, view: View<'_>) -> Option<usize> {
        let erases = view.erases[view.erased];
        if erases.saturating_sub(view.least) < self.spread {
            return None;
        }
        let most = erases - self.spread.div_ceil(2);
        (0..view.erases.len())
            .filter(|&block| view.erases[block] <= most && view.is_closed(block))
            .max_by_key(|&block| time_left(view, block))
    }
}

/// An estimate of how long a block's data will stay valid: its units over the rate at which others became invalid.
fn time_left(view: View<'_>, block: usize) -> u64 {
    let (valid, pages) = (u64::from(view.blocks.valid[block]), u64::from(view.blocks.pages));
    let age = u64::from(view.blocks.now.saturating_sub(view.blocks.closed_at[block])) + 1;
    valid * age / (pages.saturating_sub(valid) + 1)
}

pub(super) fn build(options: &Options) -> Result<Box<dyn Wear>, OptionError> {
    let spread =
        options.get("spread", 64, "erases from 1 to 1000000", |spread| (1..=1_000_000).contains(&spread))?;
    Ok(Box::new(Static { spread }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cleaning;

    /// The choice after the erase of block 0, of blocks with these erase counts, valid pages of 64, and times of closing.
    fn choice(erases: &[u32], valid: &[u16], closed_at: &[u32]) -> Option<usize> {
        let blocks = cleaning::View { valid, closed_at, now: 100, pages: 64 };
        let least = *erases.iter().min().unwrap();
        Static { spread: 8 }.migrate(View { erased: 0, erases, least, blocks })
    }

    const FREE: u16 = cleaning::View::NOT_CLOSED;

    #[test]
    fn cold_data_moves_once_wear_differs_by_the_spread() {
        assert_eq!(choice(&[8, 1, 3], &[FREE, 64, 64], &[0; 3]), None);
        assert_eq!(choice(&[9, 1, 3], &[FREE, 64, FREE], &[0; 3]), Some(1));
        assert_eq!(
            choice(&[9, 1, 6], &[FREE, FREE, 64], &[0; 3]),
            None,
            "no data moves to a block hardly more worn"
        );
    }

    #[test]
    fn data_that_lasts_longest_moves() {
        assert_eq!(choice(&[9, 1, 3], &[FREE, 64, 64], &[0, 90, 10]), Some(2), "the older of two");
        assert_eq!(
            choice(&[9, 1, 3], &[FREE, 60, 20], &[0, 10, 10]),
            Some(1),
            "the one overwritten more slowly"
        );
    }
}
