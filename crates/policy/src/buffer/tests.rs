use super::*;
use std::collections::BTreeSet;

const SHAPE: Shape = Shape { slots: 16, packages: Some(4) };

/// A page whose package is its number's remainder.
fn page(number: u32) -> Page {
    Page { number, package: number % 4 }
}

fn make(name: &str) -> Box<dyn Replacement> {
    build(name, SHAPE, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Everything that is left, one at a time.
fn rest(policy: &mut dyn Replacement) -> Vec<u32> {
    std::iter::from_fn(|| policy.victim()).collect()
}

#[test]
fn every_policy_gives_back_each_slot_once() {
    for entry in REGISTRY {
        let mut policy = make(entry.name);
        (0..16).for_each(|slot| policy.insert(slot, page(slot)));
        policy.touch(3);
        policy.remove(5);
        let mut out = Vec::new();
        policy.batch(4, &mut out);
        assert!(!out.is_empty() && out.len() <= 4, "{}: {out:?}", entry.name);
        out.extend(rest(policy.as_mut()));
        assert_eq!(out.len(), 15, "{}: {out:?}", entry.name);
        let out: BTreeSet<u32> = out.into_iter().collect();
        assert_eq!(out, (0..16).filter(|&slot| slot != 5).collect(), "{}", entry.name);
        // And takes them again.
        policy.insert(5, page(9));
        assert_eq!(rest(policy.as_mut()), [5], "{}", entry.name);
    }
}

#[test]
fn a_rewrite_makes_a_page_young_again_but_with_fifo() {
    for (name, oldest) in [("fifo", 0), ("lru", 1), ("parallel", 1)] {
        let mut policy = make(name);
        (0..3).for_each(|slot| policy.insert(slot, Page { number: slot, package: 0 }));
        policy.touch(0);
        assert_eq!(policy.victim(), Some(oldest), "{name}");
    }
}

#[test]
fn a_parallel_batch_takes_as_many_from_each_list() {
    let mut policy = make("parallel");
    // Five pages of package 0, two of package 1, one of package 3.
    for (slot, package) in [0, 0, 0, 1, 3, 0, 1, 0].into_iter().enumerate() {
        policy.insert(slot as u32, Page { number: slot as u32, package });
    }
    let mut out = Vec::new();
    policy.batch(8, &mut out);
    assert_eq!(out, [0, 3, 4, 1, 6], "two of each list that has them, one of each in turn");
    assert_eq!(rest(policy.as_mut()), [2, 5, 7]);
}

#[test]
fn lists_of_packages_need_packages() {
    let unknown = Shape { packages: None, ..SHAPE };
    let error = build("parallel", unknown, &Options::default()).err().unwrap();
    assert!(matches!(error, OptionError::Unsuited { policy: "parallel", .. }), "{error}");
}
