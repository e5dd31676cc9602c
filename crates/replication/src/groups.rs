//! Replica groups: which pages have copies, where these are, and the space for them (he14, sections 4.1 and 4.2.1).
//!
//! The replication space is a number of slots on each chip; a slot holds one copy of one page. Its states:
//!
//! ```text
//! free ── reserve ──> reserved ── written ──> readable ── forget, evicted, abandon ──> free
//!                        ├── abandon ──> free
//!                        └── forget, evicted ──> unwanted ── written, abandon ──> free
//! ```
//!
//! Invariants:
//! - a page's group has the slots reserved for it and those readable, at most one a chip;
//! - a readable copy is of the page's newest version: a write takes the group apart before anything else;
//! - the policy knows exactly the pages that have a group.

use flashlane_policy::replication::{Blocking, Replication};

/// Most copies of a page, itself included.
pub const MOST_COPIES: u32 = 8;

/// Pages, chips and the replication space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Pages that can have copies.
    pub pages: u32,
    /// Chips.
    pub chips: u32,
    /// Slots on each chip, at least one.
    pub slots_per_chip: u32,
    /// Copies of a page at most, itself included: 2 to [`MOST_COPIES`], and no more than chips.
    pub copies: u32,
}

impl Shape {
    /// Slots on all chips, which is the largest number of groups.
    pub fn slots(&self) -> u32 {
        self.chips * self.slots_per_chip
    }
}

/// The place of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    Reserved,
    Readable,
    Unwanted,
}

/// The slots of a page's copies.
#[derive(Clone, Copy, Debug)]
struct Group {
    page: u32,
    slots: [Slot; MOST_COPIES as usize - 1],
    len: u8,
}

impl Group {
    fn slots(&self) -> &[Slot] {
        &self.slots[..usize::from(self.len)]
    }
}

/// All replica groups.
pub struct Groups {
    shape: Shape,
    policy: Box<dyn Replication>,
    /// For each slot, its state and its page.
    slots: Vec<(State, u32)>,
    /// Free slots of each chip.
    free: Vec<Vec<Slot>>,
    /// For each page the number of its group + 1, 0 where it has none.
    group_of: Vec<u32>,
    groups: Vec<Group>,
    /// Numbers of groups that are not in use.
    unused: Vec<u32>,
}

impl Groups {
    /// No copies. Requires: `policy` was built for as many groups as `shape` has slots.
    pub fn new(shape: Shape, policy: Box<dyn Replication>) -> Self {
        assert!((2..=MOST_COPIES.min(shape.chips)).contains(&shape.copies), "{} copies", shape.copies);
        assert!(shape.slots_per_chip > 0, "a chip has space");
        let slots_of = |chip| (chip * shape.slots_per_chip..(chip + 1) * shape.slots_per_chip).map(Slot);
        let group = Group { page: 0, slots: [Slot(0); MOST_COPIES as usize - 1], len: 0 };
        Self {
            policy,
            slots: vec![(State::Free, 0); shape.slots() as usize],
            free: (0..shape.chips).map(|chip| slots_of(chip).rev().collect()).collect(),
            group_of: vec![0; shape.pages as usize],
            groups: vec![group; shape.slots() as usize],
            unused: (0..shape.slots()).rev().collect(),
            shape,
        }
    }

    /// The chip of a slot.
    pub fn chip_of(&self, slot: Slot) -> u32 {
        slot.0 / self.shape.slots_per_chip
    }

    /// Whether the policy replicates a page whose read was blocked; see [`Replication::replicates_read`].
    pub fn replicates_read(&self, blocking: Blocking) -> bool {
        self.policy.replicates_read(blocking)
    }

    fn group(&self, page: u32) -> Option<u32> {
        self.group_of[page as usize].checked_sub(1)
    }

    fn slots_of(&self, page: u32) -> &[Slot] {
        self.group(page).map_or(&[], |group| self.groups[group as usize].slots())
    }

    /// Whether a page has a group, whose copies may still be on their way.
    pub fn is_replicated(&self, page: u32) -> bool {
        self.group(page).is_some()
    }

    /// The copies of a page that can be read.
    pub fn readable(&self, page: u32) -> impl Iterator<Item = Slot> {
        let readable = |slot: &Slot| self.slots[slot.0 as usize].0 == State::Readable;
        self.slots_of(page).iter().copied().filter(readable)
    }

    /// Whether a chip has a copy of a page, or one reserved.
    pub fn has_copy_on(&self, page: u32, chip: u32) -> bool {
        self.slots_of(page).iter().any(|&slot| self.chip_of(slot) == chip)
    }

    /// A page with a group was accessed; `blocking` is the blocking probability of the group.
    pub fn touch(&mut self, page: u32, blocking: f64) {
        if let Some(group) = self.group(page) {
            self.policy.touch(group, blocking);
        }
    }

    /// Reserves a slot for one more copy of a page, on the first of `chips` that has one free; where none has, other
    /// groups give way, and their readable copies are appended to `evicted`. `None` where the page has all its copies
    /// or no space can be had. Requires: the page itself is on none of `chips`.
    pub fn reserve(
        &mut self,
        page: u32,
        chips: &[u32],
        blocking: f64,
        evicted: &mut Vec<Slot>,
    ) -> Option<Slot> {
        if self.slots_of(page).len() as u32 + 1 >= self.shape.copies {
            return None;
        }
        let fits = |groups: &Self, chip: &&u32| {
            !groups.free[**chip as usize].is_empty() && !groups.has_copy_on(page, **chip)
        };
        // The slots of a victim may be on other chips, or still on their way: a few victims do.
        for _ in 0..=2 * self.shape.chips {
            if let Some(&chip) = chips.iter().find(|chip| fits(self, chip)) {
                let slot = self.free[chip as usize].pop().expect("it has a free slot");
                self.add(page, slot);
                self.touch(page, blocking);
                return Some(slot);
            }
            let victim = self.policy.victim()?;
            if self.groups[victim as usize].page == page {
                self.policy.touch(victim, blocking);
                return None;
            }
            self.take_apart(victim, evicted);
        }
        None
    }

    /// Adds a free slot to the group of a page, which is formed where there is none.
    fn add(&mut self, page: u32, slot: Slot) {
        debug_assert_eq!(self.slots[slot.0 as usize].0, State::Free);
        self.slots[slot.0 as usize] = (State::Reserved, page);
        let group = self.group(page).unwrap_or_else(|| {
            let group = self.unused.pop().expect("there are as many groups as slots");
            self.groups[group as usize].page = page;
            self.group_of[page as usize] = group + 1;
            group
        });
        let group = &mut self.groups[group as usize];
        group.slots[usize::from(group.len)] = slot;
        group.len += 1;
    }

    /// Ends a group that the policy has forgotten. The slots of its readable copies are free, and appended to `freed`.
    fn take_apart(&mut self, group: u32, freed: &mut Vec<Slot>) {
        let Group { page, slots, len } = self.groups[group as usize];
        for &slot in &slots[..usize::from(len)] {
            match self.slots[slot.0 as usize].0 {
                State::Reserved => self.slots[slot.0 as usize].0 = State::Unwanted,
                State::Readable => {
                    self.give_back(slot);
                    freed.push(slot);
                }
                state => unreachable!("{state:?} belongs to no group"),
            }
        }
        self.groups[group as usize].len = 0;
        self.group_of[page as usize] = 0;
        self.unused.push(group);
    }

    fn give_back(&mut self, slot: Slot) {
        self.slots[slot.0 as usize].0 = State::Free;
        let chip = self.chip_of(slot);
        self.free[chip as usize].push(slot);
    }

    /// Whether the copy that a slot was reserved for is still wanted.
    pub fn is_wanted(&self, slot: Slot) -> bool {
        self.slots[slot.0 as usize].0 == State::Reserved
    }

    /// The page whose copy a slot holds, or is reserved for.
    pub fn page_of(&self, slot: Slot) -> u32 {
        debug_assert_ne!(self.slots[slot.0 as usize].0, State::Free);
        self.slots[slot.0 as usize].1
    }

    /// The copy in a reserved slot is on its chip. Returns whether it can be read; otherwise the slot is free again.
    pub fn written(&mut self, slot: Slot) -> bool {
        match self.slots[slot.0 as usize].0 {
            State::Reserved => {
                self.slots[slot.0 as usize].0 = State::Readable;
                true
            }
            State::Unwanted => {
                self.give_back(slot);
                false
            }
            state => unreachable!("{state:?} was not reserved"),
        }
    }

    /// The copy that a slot was reserved for will not be written, or is no longer on its chip.
    pub fn abandon(&mut self, slot: Slot) {
        let (state, page) = self.slots[slot.0 as usize];
        if matches!(state, State::Reserved | State::Readable) {
            let number = self.group(page).expect("the slot belongs to a group");
            let group = &mut self.groups[number as usize];
            let at = group.slots().iter().position(|&other| other == slot).expect("it has its slot");
            group.slots.copy_within(at + 1..usize::from(group.len), at);
            group.len -= 1;
            if group.len == 0 {
                self.policy.remove(number);
                self.take_apart(number, &mut Vec::new());
            }
        } else {
            debug_assert_eq!(state, State::Unwanted);
        }
        self.give_back(slot);
    }

    /// A page is being written: it has no copies any more. The slots of those that could be read are free, and appended
    /// to `freed`.
    pub fn forget(&mut self, page: u32, freed: &mut Vec<Slot>) {
        if let Some(group) = self.group(page) {
            self.policy.remove(group);
            self.take_apart(group, freed);
        }
    }

    /// Forgets all copies: every slot is free.
    pub fn clear(&mut self) {
        while let Some(group) = self.policy.victim() {
            self.take_apart(group, &mut Vec::new());
        }
        for slot in (0..self.shape.slots()).map(Slot) {
            if self.slots[slot.0 as usize].0 != State::Free {
                self.give_back(slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;
    use flashlane_policy::{Options, replication::FAMILY};
    use std::collections::BTreeMap;

    const SHAPE: Shape = Shape { pages: 30, chips: 4, slots_per_chip: 5, copies: 3 };

    /// What each slot in use is for, kept apart.
    type Model = BTreeMap<Slot, (State, u32)>;

    /// Every table agrees with every other, and with the model.
    fn check(groups: &Groups, model: &Model) {
        for slot in (0..SHAPE.slots()).map(Slot) {
            let expected = model.get(&slot).copied().unwrap_or((State::Free, 0));
            let found = groups.slots[slot.0 as usize];
            assert_eq!(found.0, expected.0, "{slot:?}");
            let is_free = groups.free[groups.chip_of(slot) as usize].contains(&slot);
            assert_eq!(is_free, found.0 == State::Free);
            let in_group = groups.slots_of(expected.1).contains(&slot);
            assert_eq!(in_group, matches!(found.0, State::Reserved | State::Readable), "{slot:?}: {found:?}");
        }
        for page in 0..SHAPE.pages {
            let slots = groups.slots_of(page);
            assert!(slots.len() < SHAPE.copies as usize);
            let chips: std::collections::BTreeSet<u32> =
                slots.iter().map(|&slot| groups.chip_of(slot)).collect();
            assert_eq!(chips.len(), slots.len(), "one copy a chip");
            assert_eq!(groups.is_replicated(page), !slots.is_empty());
        }
    }

    #[test]
    fn groups_agree_with_a_plain_model_of_their_slots() {
        for policy in ["lru", "pblru"] {
            let mut random = Seed(3).derive(policy).source();
            let built = FAMILY.build(policy, SHAPE.slots(), &Options::default()).unwrap();
            let (mut groups, mut model) = (Groups::new(SHAPE, built), Model::new());
            let mut reserved = 0;
            for _ in 0..20_000 {
                let page = random.below(u64::from(SHAPE.pages)) as u32;
                let pick = |model: &Model, wanted: &[State]| {
                    let all: Vec<Slot> = model
                        .iter()
                        .filter(|(_, (s, _))| wanted.contains(s))
                        .map(|(&slot, _)| slot)
                        .collect();
                    all.get(page as usize % all.len().max(1)).copied()
                };
                match random.below(5) {
                    0 | 1 => {
                        let mut evicted = Vec::new();
                        let chips: Vec<u32> = (0..SHAPE.chips).filter(|chip| *chip != page % 4).collect();
                        let pages_before: BTreeMap<Slot, u32> =
                            model.iter().map(|(&s, &(_, p))| (s, p)).collect();
                        let slot = groups.reserve(page, &chips, random.unit(), &mut evicted);
                        for slot in evicted {
                            assert_eq!(model.remove(&slot).unwrap().0, State::Readable);
                            let gone = pages_before[&slot];
                            model
                                .values_mut()
                                .filter(|(s, p)| *p == gone && *s == State::Reserved)
                                .for_each(|(s, _)| *s = State::Unwanted);
                        }
                        // Groups of reserved slots alone give way, too, without a readable copy to report.
                        for (slot, (state, _)) in &mut model {
                            if *state == State::Reserved && !groups.is_wanted(*slot) {
                                *state = State::Unwanted;
                            }
                        }
                        if let Some(slot) = slot {
                            assert_ne!(groups.chip_of(slot), page % 4);
                            assert_eq!(model.insert(slot, (State::Reserved, page)), None);
                            reserved += 1;
                        }
                    }
                    2 => {
                        let Some(slot) = pick(&model, &[State::Reserved, State::Unwanted]) else { continue };
                        let readable = groups.written(slot);
                        assert_eq!(readable, model[&slot].0 == State::Reserved);
                        match readable {
                            true => model.get_mut(&slot).unwrap().0 = State::Readable,
                            false => drop(model.remove(&slot)),
                        }
                    }
                    3 => {
                        let Some(slot) = pick(&model, &[State::Reserved, State::Readable, State::Unwanted])
                        else {
                            continue;
                        };
                        groups.abandon(slot);
                        model.remove(&slot);
                    }
                    _ => {
                        let mut freed = Vec::new();
                        groups.forget(page, &mut freed);
                        model.retain(|slot, (state, of)| {
                            if *of == page && *state == State::Reserved {
                                *state = State::Unwanted;
                            }
                            let is_freed = *of == page && *state == State::Readable;
                            assert_eq!(freed.contains(slot), is_freed);
                            !is_freed
                        });
                        assert_eq!(groups.readable(page).count(), 0);
                    }
                }
                check(&groups, &model);
            }
            assert!(reserved > 1000, "{reserved}");
        }
    }
}
