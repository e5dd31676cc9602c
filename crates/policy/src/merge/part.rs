//! Parts of merges, for where free blocks are too few for the whole.
//!
//! A merge of an upper run with a lower one is divided by keys: one patch of the upper run, its *upper patch*, is
//! merged with as many patches of the lower run as the blocks allow, up to the first key of the next one. The rest of
//! the upper patch is written anew in its run. So each part is a merge like any other: nothing has to be remembered
//! between parts, a power cut loses one of them at most, and the policy, asked again, chooses what is left of the
//! merge. Every part moves entries to an older run or makes a patch out of several, so that parts end.
//!
//! The result of a part rarely fills its last patch. The next part begins behind it and takes it up again where it is
//! less than half full, so that parts leave no more unfilled patches than a whole merge.
//!
//! The least part has an upper and a lower patch and writes at most four; a reader of the whole merge sees the same
//! entries before, between and after its parts.

use super::{Choice, Patch, View};
use std::cmp::Reverse;

/// Most patches of a run that are merged because they are not full.
const UNFILLED_MAX: usize = 16;
/// Share of the bytes of their patches that merged entries fill with certainty, but for the last patch.
const FILL: f64 = 0.75;

impl View<'_> {
    /// Returns the most blocks that a merge writes: as many as it reads, one that the result does not fill, and one for
    /// each input of which entries stay.
    pub fn blocks_written_max(&self, choice: &Choice) -> u64 {
        let stays =
            |nth: &&usize| choice.until.as_ref().is_some_and(|until| self.patches[**nth].last >= &until[..]);
        (choice.inputs.len() + 1 + choice.inputs.iter().filter(stays).count()) as u64
    }

    /// Returns this merge, or where it may write more than `blocks` a part of it, or a part of a merge of the two
    /// oldest runs. `None` where even that may write more. Requires: the choice is legal.
    pub fn within(&self, choice: Choice, blocks: u64) -> Option<Choice> {
        if self.blocks_written_max(&choice) <= blocks {
            return Some(choice);
        }
        self.part(&choice, blocks).or_else(|| {
            let mut ages: Vec<_> = self.patches.iter().map(Patch::age).collect();
            ages.dedup();
            let [.., upper, lower] = ages[..] else { return None };
            let inputs = (0..self.patches.len()).filter(|&nth| self.patches[nth].age() >= upper).collect();
            self.part(&Choice::whole(inputs, lower.0, Some(lower.1.0)), blocks)
        })
    }

    /// Returns the part of a merge that has the most inputs with which it may not write more than `blocks`.
    fn part(&self, choice: &Choice, blocks: u64) -> Option<Choice> {
        let age = |nth: usize| self.patches[nth].age();
        let (newest, oldest) = (age(*choice.inputs.first()?), age(*choice.inputs.last()?));
        // A result that forms a separate run joins the oldest run of its inputs instead, as long as there are two.
        let lower_run = match choice.run {
            Some(run) => (choice.level, Reverse(run)),
            None if newest != oldest => oldest,
            None => {
                let first = Choice::whole(vec![choice.inputs[0]], choice.level, None);
                return self.checked(first, blocks);
            }
        };
        // Where there is no upper run, patches of one run become fewer, which a part of them would not.
        let upper_run = choice.inputs.iter().map(|&nth| age(nth)).filter(|&age| age < lower_run).max()?;
        let mut upper: Vec<usize> =
            choice.inputs.iter().copied().filter(|&nth| age(nth) == upper_run).collect();
        // The first patch, with those that hold versions of its last key.
        let count = upper.windows(2).take_while(|pair| self.is_split(pair[0], pair[1])).count() + 1;
        upper.truncate(count);
        let (first, last) = self.hull(&upper);
        let lower: Vec<usize> = (0..self.patches.len()).filter(|&nth| age(nth) == lower_run).collect();
        let from = lower.partition_point(|&nth| self.patches[nth].last < first);
        let to = lower.partition_point(|&nth| self.patches[nth].first <= last);
        let is_unfilled = |nth: usize| 2 * self.patches[nth].bytes <= self.patch_bytes;
        let before = from.checked_sub(1).filter(|&nth| is_unfilled(lower[nth]));
        let ends = (from..=to).rev().filter(|&end| {
            let is_cut = from < end && end < to;
            end == to || (is_cut && !self.is_split(lower[end - 1], lower[end]))
        });
        let until = |end: usize| (end < to).then(|| self.patches[lower[end]].first.to_vec());
        let starts = [before, Some(from)].into_iter().flatten();
        ends.flat_map(|end| starts.clone().map(move |start| (start, end))).find_map(|(start, end)| {
            let mut inputs = upper.clone();
            inputs.extend(&lower[start..end]);
            let part = Choice { inputs, level: lower_run.0, run: Some(lower_run.1.0), until: until(end) };
            self.checked(part, blocks)
        })
    }

    /// Returns a merge that is legal and may not write more than `blocks`.
    fn checked(&self, choice: Choice, blocks: u64) -> Option<Choice> {
        (self.blocks_written_max(&choice) <= blocks && self.legality(&choice).is_ok()).then_some(choice)
    }

    /// Returns whether versions of one key end a patch and begin the next of its run.
    fn is_split(&self, nth: usize, next: usize) -> bool {
        self.patches[nth].last == self.patches[next].first
    }

    /// Returns the merge of the fewest adjacent patches of the newest run of a level that makes them fewer.
    pub(super) fn merge_unfilled(&self, level: u8) -> Option<Choice> {
        let run = self.runs(level).into_iter().next()?;
        let fewest = |start: usize| {
            let mut bytes = 0;
            (1..).zip(run[start..].iter().take(UNFILLED_MAX)).find_map(|(count, &nth)| {
                bytes += self.patches[nth].bytes;
                let fewer = self.patch_bytes as f64 * FILL * (count - 1) as f64;
                (bytes as f64 <= fewer).then(|| run[start..start + count].to_vec())
            })
        };
        let merges = (0..run.len()).filter_map(fewest);
        let merges = merges.map(|inputs| Choice::whole(inputs, level, Some(self.patches[run[0]].run)));
        merges.filter(|choice| self.legality(choice).is_ok()).min_by_key(|choice| choice.inputs.len())
    }
}
