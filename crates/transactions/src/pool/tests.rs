//! The pool against a model: the pages in it by last use, those being read and those being written.

use super::*;
use flashlane_policy::Options;
use flashlane_policy::pool::{FAMILY, Shape};
use proptest::prelude::*;

const FRAMES: u32 = 5;
const PAGES: u32 = 12;
/// Clients, as many as there are frames.
const CLIENTS: u32 = FRAMES;

fn pool(policy: &str) -> Pool {
    let shape = Shape { frames: FRAMES, pages: PAGES };
    Pool::new(FRAMES, PAGES, FAMILY.build(policy, shape, &Options::default()).unwrap())
}

/// State of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Doing {
    Nothing,
    /// It writes a page from a frame, to read another.
    Writing {
        frame: u32,
        old: u32,
        page: u32,
        write: bool,
    },
    Reading {
        frame: u32,
        page: u32,
        write: bool,
    },
}

/// Pages in the pool.
#[derive(Default)]
struct Model {
    /// Those not being written, by last use, oldest first, with whether they are dirty.
    order: Vec<(u32, bool)>,
    /// Those being written: whether they became dirty again, and whether they were used.
    writing: Vec<(u32, bool, bool)>,
}

impl Model {
    fn access(&mut self, page: u32, write: bool, doing: &[Doing]) -> Place {
        let reads = |doing: &Doing| match *doing {
            Doing::Nothing => false,
            Doing::Writing { page: other, .. } | Doing::Reading { page: other, .. } => other == page,
        };
        if let Some(client) = doing.iter().position(reads) {
            return Place::ReadBy(client as u32);
        }
        if let Some(entry) = self.writing.iter_mut().find(|entry| entry.0 == page) {
            *entry = (page, entry.1 | write, true);
            return Place::Here;
        }
        let Some(at) = self.order.iter().position(|entry| entry.0 == page) else { return Place::Away };
        let (_, dirty) = self.order.remove(at);
        self.order.push((page, dirty | write));
        Place::Here
    }
}

/// Continues a client whose frame is or is not to be had. Returns the page that must be written, if any.
fn go_on(pool: &mut Pool, model: &mut Model, page: u32, write: bool) -> Result<Doing, TestCaseError> {
    let full = model.order.len() + model.writing.len();
    match pool.room() {
        Room::Free { frame } => {
            // With a free frame nothing is replaced.
            if let Some(&(old, dirty)) = model
                .order
                .first()
                .filter(|_| pool.table.iter().filter(|e| **e != 0 && **e & READING == 0).count() < full)
            {
                prop_assert!(!dirty, "page {} was dropped without being written", old);
                model.order.remove(0);
            }
            Ok(Doing::Reading { frame, page, write })
        }
        Room::Dirty { frame, page: old } => {
            prop_assert_eq!(model.order.remove(0), (old, true));
            model.writing.push((old, false, false));
            Ok(Doing::Writing { frame, old, page, write })
        }
    }
}

proptest! {
    #[test]
    fn pool_with_lru_behaves_as_its_model(
        steps in proptest::collection::vec((0..CLIENTS, 0..PAGES, any::<bool>()), 0..400),
    ) {
        let mut pool = pool("lru");
        let mut model = Model::default();
        let mut doing = [Doing::Nothing; CLIENTS as usize];
        for (client, page, write) in steps {
            let next = match doing[client as usize] {
                Doing::Nothing => {
                    let place = pool.access(page, write);
                    prop_assert_eq!(place, model.access(page, write, &doing));
                    if place != Place::Away {
                        continue;
                    }
                    pool.begin(page, client);
                    go_on(&mut pool, &mut model, page, write)?
                }
                Doing::Writing { frame, old, page, write } => {
                    let at = model.writing.iter().position(|entry| entry.0 == old).unwrap();
                    let (_, dirty, used) = model.writing.remove(at);
                    prop_assert_eq!(pool.written(frame), !used);
                    if used {
                        model.order.push((old, dirty));
                        go_on(&mut pool, &mut model, page, write)?
                    } else {
                        Doing::Reading { frame, page, write }
                    }
                }
                Doing::Reading { frame, page, write } => {
                    pool.read(page, frame, write);
                    model.order.push((page, write));
                    Doing::Nothing
                }
            };
            doing[client as usize] = next;
            // No two pages are in a frame.
            let mut frames: Vec<u32> = pool.table.iter().filter(|e| **e != 0 && **e & READING == 0).copied().collect();
            let pages = frames.len();
            frames.sort_unstable();
            frames.dedup();
            prop_assert_eq!(frames.len(), pages);
            prop_assert_eq!(pages, model.order.len() + model.writing.len());
        }
    }
}

#[test]
fn page_used_while_it_is_written_stays() {
    let mut pool = pool("lru");
    for page in 0..FRAMES {
        assert_eq!(pool.access(page, true), Place::Away);
        pool.begin(page, 0);
        let Room::Free { frame } = pool.room() else { panic!("the pool is empty") };
        pool.read(page, frame, true);
    }
    pool.begin(9, 0);
    assert_eq!(pool.access(9, false), Place::ReadBy(0));
    let Room::Dirty { frame, page: 0 } = pool.room() else { panic!("the oldest page is dirty") };
    assert_eq!(pool.access(0, false), Place::Here);
    assert!(!pool.written(frame));
    // Page 0 is clean now, and the youngest.
    let Room::Dirty { frame, page: 1 } = pool.room() else { panic!("the next page is dirty") };
    assert!(pool.written(frame));
    pool.read(9, frame, false);
    assert_eq!((pool.access(9, false), pool.access(0, false)), (Place::Here, Place::Here));
    assert_eq!(pool.access(1, false), Place::Away);
}
