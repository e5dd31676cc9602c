//! The place of each page of a database on a drive: its relations one after another, in the order of their creation,
//! each with the room into which it grew while it was recorded.

use flashlane_host::{Accessed, PageAccess, Relation};
use flashlane_transactions::recording::PAGES_MOST;
use flashlane_transactions::{self as transactions, RecordedAccess};
use std::collections::BTreeMap;

/// Relations in their places.
pub(super) struct Layout {
    pub(super) relations: Vec<transactions::Relation>,
    pub(super) pages: u32,
    /// First page of each fork of a file.
    first: BTreeMap<(u32, u8), u32>,
}

/// The database has more pages than a recording can number.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge(pub(super) u64);

impl Layout {
    /// Lays out the relations that were there `before` and those that came until `after`, with the files that were
    /// `accessed` and belong to neither, such as those of tables that are gone.
    pub(super) fn new(
        before: &[Relation],
        after: &[Relation],
        accessed: &[Accessed],
    ) -> Result<Self, TooLarge> {
        let mut order: Vec<((u32, u8), String)> = Vec::new();
        let mut lengths: BTreeMap<(u32, u8), u32> = BTreeMap::new();
        let unknown = accessed.iter().map(|fork| {
            let name = format!("file {}{}", fork.file, if fork.fork == 0 { "" } else { " (another fork)" });
            (fork.file, fork.fork, fork.pages, name)
        });
        let known = before.iter().chain(after);
        let known =
            known.map(|relation| (relation.file, relation.fork, relation.pages, relation.name.clone()));
        for (file, fork, pages, name) in known.chain(unknown) {
            let length = lengths.entry((file, fork)).or_insert_with(|| {
                order.push(((file, fork), name));
                0
            });
            *length = pages.max(*length);
        }
        let mut layout = Self { relations: Vec::new(), pages: 0, first: BTreeMap::new() };
        let mut end = 0_u64;
        for (key, name) in order {
            let pages = lengths[&key];
            if pages == 0 {
                continue;
            }
            let first_page = end as u32;
            end += u64::from(pages);
            if end > PAGES_MOST.into() {
                return Err(TooLarge(lengths.values().map(|&pages| u64::from(pages)).sum()));
            }
            layout.first.insert(key, first_page);
            layout.relations.push(transactions::Relation { name, first_page, pages });
        }
        layout.pages = end as u32;
        Ok(layout)
    }

    /// Numbers the page of an access. Requires: its fork was given as accessed, with this length.
    pub(super) fn place(&self, access: &PageAccess) -> RecordedAccess {
        let page = self.first[&(access.page.file, access.page.fork)] + access.page.block;
        if access.is_write { RecordedAccess::write(page) } else { RecordedAccess::read(page) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_host::PageName;

    fn relation(name: &str, file: u32, fork: u8, pages: u32) -> Relation {
        Relation { name: name.into(), file, fork, pages }
    }

    #[test]
    fn relations_follow_each_other_with_room_for_their_growth() {
        let before = [relation("a", 7, 0, 10), relation("a (map)", 7, 1, 0), relation("b", 5, 0, 4)];
        let after = [relation("a", 7, 0, 10), relation("a (map)", 7, 1, 3), relation("new", 9, 0, 2)];
        let accessed = [
            Accessed { file: 5, fork: 0, pages: 6 },
            Accessed { file: 8, fork: 0, pages: 1 },
            Accessed { file: 7, fork: 0, pages: 2 },
        ];
        let layout = Layout::new(&before, &after, &accessed).unwrap();
        let places: Vec<_> = layout
            .relations
            .iter()
            .map(|relation| (relation.name.as_str(), relation.first_page, relation.pages))
            .collect();
        assert_eq!(
            places,
            [("a", 0, 10), ("a (map)", 10, 3), ("b", 13, 6), ("new", 19, 2), ("file 8", 21, 1)]
        );
        assert_eq!(layout.pages, 22);
        let access = |file, block, is_write| PageAccess { page: PageName { file, fork: 0, block }, is_write };
        assert_eq!(layout.place(&access(5, 5, true)), RecordedAccess::write(18));
        assert_eq!(layout.place(&access(8, 0, false)), RecordedAccess::read(21));
    }

    #[test]
    fn database_with_too_many_pages_is_refused_with_their_number() {
        let before = [relation("a", 1, 0, PAGES_MOST), relation("b", 2, 0, 1)];
        assert_eq!(Layout::new(&before, &[], &[]).err(), Some(TooLarge(u64::from(PAGES_MOST) + 1)));
    }
}
