//! Locks against a model of plain vectors, and deadlocks against all paths of the wait-for graph.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const CLIENTS: u32 = 70;
const PAGES: u32 = 6;

/// Holders and queues by page.
#[derive(Default)]
struct Model {
    pages: BTreeMap<u32, Page>,
}

#[derive(Default)]
struct Page {
    holders: Vec<(u32, Mode)>,
    queue: Vec<(u32, Mode)>,
}

impl Page {
    fn holds(&self, client: u32) -> Option<Mode> {
        self.holders.iter().find(|holder| holder.0 == client).map(|holder| holder.1)
    }

    fn fits(&self, client: u32, mode: Mode) -> bool {
        let others: Vec<_> = self.holders.iter().filter(|holder| holder.0 != client).collect();
        match mode {
            Mode::Shared => others.iter().all(|other| other.1 == Mode::Shared),
            Mode::Exclusive => others.is_empty(),
        }
    }

    fn hold(&mut self, client: u32, mode: Mode) {
        self.holders.retain(|holder| holder.0 != client);
        self.holders.push((client, mode));
    }

    fn grant(&mut self, granted: &mut Vec<u32>) {
        while let Some(&(client, mode)) = self.queue.first() {
            if !self.fits(client, mode) {
                return;
            }
            self.queue.remove(0);
            self.hold(client, mode);
            granted.push(client);
        }
    }
}

impl Model {
    fn acquire(&mut self, client: u32, page: u32, mode: Mode) -> bool {
        let page = self.pages.entry(page).or_default();
        let held = page.holds(client);
        if held.is_some() && (mode == Mode::Shared || held == Some(Mode::Exclusive)) {
            return true;
        }
        // Only a client that holds the page already passes the queue.
        if page.fits(client, mode) && (page.queue.is_empty() || held.is_some()) {
            page.hold(client, mode);
            return true;
        }
        let at = if held.is_some() { 0 } else { page.queue.len() };
        page.queue.insert(at, (client, mode));
        false
    }

    fn release(&mut self, client: u32) -> Vec<u32> {
        let mut granted = Vec::new();
        for page in self.pages.values_mut() {
            page.holders.retain(|holder| holder.0 != client);
            page.queue.retain(|waiting| waiting.0 != client);
            page.grant(&mut granted);
        }
        granted.sort_unstable();
        granted
    }

    /// The clients for which one waits.
    fn blockers(&self, client: u32) -> Vec<u32> {
        let conflict = |a: Mode, b: Mode| a == Mode::Exclusive || b == Mode::Exclusive;
        let mut found = Vec::new();
        for page in self.pages.values() {
            let Some(at) = page.queue.iter().position(|waiting| waiting.0 == client) else { continue };
            let mode = page.queue[at].1;
            let others = page.holders.iter().chain(&page.queue[..at]);
            found.extend(
                others.filter(|other| other.0 != client && conflict(mode, other.1)).map(|other| other.0),
            );
        }
        found
    }

    fn reaches(&self, from: u32, to: u32) -> bool {
        let mut seen = Vec::new();
        let mut next = self.blockers(from);
        while let Some(at) = next.pop() {
            if at == to {
                return true;
            }
            if !seen.contains(&at) {
                seen.push(at);
                next.extend(self.blockers(at));
            }
        }
        false
    }
}

/// What a client does: locks a page, or ends.
#[derive(Clone, Copy, Debug)]
enum Step {
    Lock(u32, u32, Mode),
    End(u32),
}

fn step() -> impl Strategy<Value = Step> {
    // Few clients, two of them in the second word of bits.
    let client = prop_oneof![0_u32..6, 68_u32..CLIENTS];
    let mode = prop_oneof![Just(Mode::Shared), Just(Mode::Exclusive)];
    prop_oneof![
        5 => (client.clone(), 0..PAGES, mode).prop_map(|(client, page, mode)| Step::Lock(client, page, mode)),
        1 => client.prop_map(Step::End),
    ]
}

proptest! {
    #[test]
    fn locks_behave_as_their_model(steps in proptest::collection::vec(step(), 0..300)) {
        let mut locks = Locks::new(PAGES, CLIENTS);
        let mut model = Model::default();
        let age = |client: u32| u64::from(client * 37 % 100);
        let end = |locks: &mut Locks, model: &mut Model, client: u32| {
            let mut granted = Vec::new();
            locks.release(client, &mut granted);
            granted.sort_unstable();
            prop_assert_eq!(granted, model.release(client));
            Ok(())
        };
        for step in steps {
            let client = match step {
                Step::End(client) => {
                    end(&mut locks, &mut model, client)?;
                    continue;
                }
                Step::Lock(client, ..) if locks.waits(client) => continue,
                Step::Lock(client, page, mode) => {
                    let granted = locks.acquire(client, page, mode);
                    prop_assert_eq!(granted, model.acquire(client, page, mode));
                    if granted {
                        continue;
                    }
                    client
                }
            };
            while let Some(victim) = locks.waits(client).then(|| locks.deadlock(client, age)).flatten() {
                prop_assert!(victim == client || model.reaches(victim, client) && model.reaches(client, victim));
                prop_assert!(victim != client || model.reaches(client, client));
                end(&mut locks, &mut model, victim)?;
            }
            prop_assert!(!locks.waits(client) || !model.reaches(client, client), "a deadlock remains");
        }
        (0..CLIENTS).try_for_each(|client| end(&mut locks, &mut model, client))?;
        prop_assert!(locks.table.iter().all(|entry| *entry == 0), "a lock remains");
        prop_assert_eq!(locks.free.len(), locks.locks.len());
    }
}

#[test]
fn youngest_of_a_cycle_is_chosen() {
    let mut locks = Locks::new(4, 4);
    for client in 0..3 {
        assert!(locks.acquire(client, client, Mode::Exclusive));
    }
    assert!(!locks.acquire(0, 1, Mode::Shared));
    assert_eq!(locks.deadlock(0, u64::from), None);
    assert!(!locks.acquire(1, 2, Mode::Shared));
    assert!(!locks.acquire(2, 0, Mode::Shared));
    for (ages, youngest) in [([5, 9, 7], 1), ([9, 5, 7], 0), ([1, 2, 3], 2)] {
        assert_eq!(locks.deadlock(2, |client| ages[client as usize]), Some(youngest));
    }
}

#[test]
fn two_upgrades_of_a_page_are_a_deadlock() {
    let mut locks = Locks::new(1, 2);
    assert!(locks.acquire(0, 0, Mode::Shared) && locks.acquire(1, 0, Mode::Shared));
    assert!(!locks.acquire(0, 0, Mode::Exclusive));
    assert_eq!(locks.deadlock(0, u64::from), None);
    assert!(!locks.acquire(1, 0, Mode::Exclusive));
    assert_eq!(locks.deadlock(1, u64::from), Some(1));
    let mut granted = Vec::new();
    locks.release(1, &mut granted);
    assert_eq!(granted, [0]);
}
