//! Whether the places at which a write of two sectors takes two programs are ends of pages.
//!
//! Ends of chunks are no such places, and garbage collection makes a write anywhere take as long. So not every end has
//! to be seen, but a place that does not belong must not divide the page.

/// Returns whether places among `count`, in sectors and all of them multiples of `sectors`, are the ends of pages of
/// that size: most multiples are, and so are most of those that are no multiples of two or three pages.
pub(crate) fn are_of_pages(ends: &[usize], sectors: usize, count: usize) -> bool {
    // Of the ends of pages at most half are ends of chunks, too.
    let is_usual = |among: usize, ends: usize| 2 * ends + 1 >= among;
    let own = |factor: usize| {
        let is_own = |end: &usize| !(end / sectors).is_multiple_of(factor);
        let among = (1..=count / sectors).filter(|nth| !nth.is_multiple_of(factor)).count();
        is_usual(among, ends.iter().copied().filter(is_own).count())
    };
    ends.len() >= 2 && is_usual(count / sectors, ends.len()) && [2, 3].into_iter().all(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_between_pages_does_not_divide_them() {
        assert!(are_of_pages(&[8, 16, 24, 32], 8, 32));
        assert!(!are_of_pages(&[8, 16, 20, 24, 32], 4, 32), "a single write between two ends was slow");
        // Every second, and every third, is the end of a chunk, too.
        assert!(are_of_pages(&[8, 24, 40, 56], 8, 64));
        assert!(are_of_pages(&[8, 16, 32, 40, 56, 64], 8, 72));
        assert!(!are_of_pages(&[8], 8, 64));
    }
}
