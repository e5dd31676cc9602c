//! What each patch says of the whole store, so that a block that is not there at all is missed.
//!
//! A patch that is written records how many patches the store has and a sum over their blocks ([`Census`]), and what is
//! about to change that. Opening takes the newest statement, applies what may have happened since, and compares: see
//! [`missing_patches`].
//!
//! # Why that is right
//! Let `P` be the patch with the newest statement that is there. Patches that were *open* when it was made, containers
//! on their way to the device and outputs of merges that ran, and those that began later are *late*. Since the
//! statement
//! - a late container may have become a patch: late patches are not counted;
//! - a merge that ran may have completed: then its outputs are late, and its inputs, which they name, were there. No
//!   output can be gone: what merged it further would have a newer statement than `P`;
//! - a merge that began later has no output here, which would have a newer statement;
//! - a useless patch may have been deleted without a merge. It is *dropped* from the census first, and deleted when a
//!   patch with a statement of later is durable in the store. Until the erase is confirmed all statements name it, and
//!   an opening that finds it deletes it.
//!
//! So the patches that count now, without late ones and with the inputs of completed merges that ran, are those of the
//! census. The newest patch itself is in no statement: it is missed while the log's ring still has its writes
//! (`recovery`).
//!
//! A store with a damaged unit goes on. What it lacks by then stays in its statements, so that it is still missed when
//! the unit has been discarded. A salvage states the loss elsewhere (`salvage`), and later statements do not count it.
//!
//! A patch has no statement where it would not fit ([`Statement::bytes_max`]), or an older version wrote it. Where such
//! a patch may be newer than `P`, nothing is compared.

use crate::bytes::{Reader, put_varint};
use crate::error::OpenError;
use crate::footer::{Origin, PatchFooter};
use flashlane_base::random::splitmix64;
use std::collections::{BTreeMap, BTreeSet};

/// How many blocks there are, and which, but for a chance of 2⁻⁶⁴.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub(crate) blocks: u64,
    sum: u64,
}

impl Census {
    pub(crate) fn add(&mut self, id: u64) {
        self.blocks += 1;
        self.sum = self.sum.wrapping_add(splitmix64(id));
    }

    pub(crate) fn remove(&mut self, id: u64) {
        assert!(self.blocks > 0, "block {id} is removed from no blocks");
        self.blocks -= 1;
        self.sum = self.sum.wrapping_sub(splitmix64(id));
    }

    /// Returns that of these blocks and others.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { blocks: self.blocks + other.blocks, sum: self.sum.wrapping_add(other.sum) }
    }

    /// Returns what has to be added to `found` for these blocks, where there are more of them.
    fn without(self, found: Self) -> Self {
        Self { blocks: self.blocks.saturating_sub(found.blocks), sum: self.sum.wrapping_sub(found.sum) }
    }

    /// Returns that of these blocks and `count` others, of which only their number is known.
    pub(crate) fn and_unknown(self, count: u64) -> Self {
        Self { blocks: self.blocks + count, ..self }
    }
}

impl FromIterator<u64> for Census {
    fn from_iter<T: IntoIterator<Item = u64>>(ids: T) -> Self {
        let mut census = Self::default();
        ids.into_iter().for_each(|id| census.add(id));
        census
    }
}

/// The patches of a store at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// Grows with every change of the census.
    pub(crate) generation: u64,
    /// Number of the next patch or merge.
    pub(crate) next_number: u64,
    pub(crate) census: Census,
    /// Creation numbers of the containers that are not patches yet.
    pub(crate) containers: Vec<u64>,
    /// Numbers of the merges that run.
    pub(crate) merges: Vec<u64>,
    /// Patches that were dropped, and may come back.
    pub(crate) dropped: Vec<u64>,
}

impl Statement {
    /// Most bytes that a statement takes.
    pub(crate) fn bytes_max(block_bytes: u64) -> u64 {
        (block_bytes / 16).min(512)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        for number in [self.generation, self.next_number, self.census.blocks] {
            put_varint(out, number);
        }
        out.extend_from_slice(&self.census.sum.to_le_bytes());
        for numbers in [&self.containers, &self.merges] {
            put_varint(out, numbers.len() as u64);
            numbers.iter().for_each(|number| put_varint(out, self.next_number - number));
        }
        put_varint(out, self.dropped.len() as u64);
        self.dropped.iter().for_each(|&id| put_varint(out, id));
    }

    /// Returns whether a patch in a block of this size has room for it.
    pub(crate) fn fits(&self, block_bytes: u64) -> bool {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        bytes.len() as u64 <= Self::bytes_max(block_bytes)
    }

    pub(crate) fn decode(reader: &mut Reader<'_>) -> Option<Self> {
        let (generation, next_number) = (reader.varint()?, reader.varint()?);
        let census = Census { blocks: reader.varint()?, sum: reader.u64()? };
        let mut list = |base: Option<u64>| {
            let number = |number: u64| base.map_or(Some(number), |base| base.checked_sub(number));
            let count = reader.varint()?;
            (0..count).map(|_| number(reader.varint()?)).collect::<Option<Vec<u64>>>()
        };
        let (containers, merges) = (list(Some(next_number))?, list(Some(next_number))?);
        let dropped = list(None)?;
        Some(Self { generation, next_number, census, containers, merges, dropped })
    }

    /// Returns whether a patch was open when this was stated.
    fn is_open(&self, patch: &PatchFooter) -> bool {
        match &patch.fields.origin {
            Origin::Container => self.containers.contains(&patch.fields.creation),
            Origin::Merge { number, .. } => self.merges.contains(number),
        }
    }
}

/// Returns the newest statement, and the block that has it.
pub(crate) fn newest(patches: &BTreeMap<u64, PatchFooter>) -> Option<(u64, &Statement)> {
    let all = patches.iter().filter_map(|(&id, patch)| Some((id, patch.statement.as_ref()?)));
    all.max_by_key(|(_, statement)| (statement.generation, statement.next_number))
}

/// Returns the blocks that some statement says were dropped.
pub(crate) fn dropped(patches: &BTreeMap<u64, PatchFooter>) -> BTreeSet<u64> {
    let all = patches.values().filter_map(|patch| patch.statement.as_ref());
    let named: BTreeSet<u64> = all.flat_map(|statement| statement.dropped.iter().copied()).collect();
    named.into_iter().filter(|id| patches.contains_key(id)).collect()
}

/// Compares the patches that are there with what the newest statement says: see the header of this file. `dead` are
/// those that do not count. Statements from before the salvage with number `salvaged` count what it gave up. Returns
/// the census of those that are missing, and the error that says so, where there are any.
pub(crate) fn missing_patches(
    patches: &BTreeMap<u64, PatchFooter>,
    dead: &BTreeSet<u64>,
    salvaged: u64,
) -> (Census, Option<OpenError>) {
    let Some((block, statement)) = newest(patches) else { return Default::default() };
    if statement.next_number <= salvaged {
        return Default::default();
    }
    if patches.values().any(|patch| patch.fields.creation >= statement.next_number) {
        return Default::default();
    }
    let live = || patches.iter().filter(|(id, _)| !dead.contains(id));
    let mut counted: BTreeSet<u64> =
        live().filter(|(_, patch)| !statement.is_open(patch)).map(|(&id, _)| id).collect();
    // Merges that ran and completed: their inputs count, and none of their outputs may be missing.
    let mut outputs: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
    for (_, patch) in live().filter(|(_, patch)| statement.is_open(patch)) {
        if let Origin::Merge { number, output, is_last, inputs } = &patch.fields.origin {
            counted.extend(inputs);
            let (found, all) = outputs.entry(*number).or_default();
            *found += 1;
            *all = (*all).max(output + if *is_last { 1 } else { 2 });
        }
    }
    let outputs_missing: u64 = outputs.values().map(|&(found, all)| u64::from(all - found)).sum();
    let found: Census = counted.into_iter().collect();
    let missing = statement.census.without(found).and_unknown(outputs_missing);
    if missing == Census::default() {
        return Default::default();
    }
    let error = OpenError::PatchesMissing {
        block,
        stated: statement.census.blocks + outputs.values().map(|&(_, all)| u64::from(all)).sum::<u64>(),
        found: found.blocks + outputs.values().map(|&(found, _)| u64::from(found)).sum::<u64>(),
    };
    (missing, Some(error))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn statement() -> Statement {
        Statement {
            generation: 40,
            next_number: 1000,
            census: [7, 9, u64::MAX].into_iter().collect(),
            containers: vec![990, 999],
            merges: vec![12],
            dropped: vec![5, 1 << 40],
        }
    }

    #[test]
    fn statements_are_read_back() {
        let own = statement();
        let mut bytes = Vec::new();
        own.encode(&mut bytes);
        assert_eq!(Statement::decode(&mut Reader::new(&bytes)), Some(own.clone()));
        for cut in 0..bytes.len() {
            assert_eq!(Statement::decode(&mut Reader::new(&bytes[..cut])), None, "{cut} bytes");
        }
        let many = Statement { containers: (0..600).collect(), ..own.clone() };
        assert!(own.fits(1 << 20) && !many.fits(1 << 20));
    }

    #[test]
    fn a_census_knows_its_blocks() {
        let mut census: Census = (0..100).collect();
        (0..99).for_each(|id| census.remove(id));
        assert_eq!(census, [99].into_iter().collect());
        assert_ne!(census, [98].into_iter().collect());
    }
}
