//! All families together.

use crate::registry::Family;
use crate::{
    allocation, arbitration, buffer, cleaning, map_cache, mapping, pacing, readahead, replication,
    scheduling, wear,
};

/// The policies that a profile can choose by name: the built-in ones, and those that a program adds to a family.
///
/// ```
/// use flashlane_policy::cleaning::{Cleaning, View};
/// use flashlane_policy::{Policies, registry::Entry};
///
/// /// The block that was closed first.
/// struct Oldest;
///
/// impl Cleaning for Oldest {
///     fn choose(&mut self, view: View<'_>) -> Option<usize> {
///         (0..view.valid.len()).filter(|&block| view.is_candidate(block)).min_by_key(|&block| view.closed_at[block])
///     }
/// }
///
/// let mut policies = Policies::default(); let build = |_seed, _options: &_| Ok(Box::new(Oldest) as _);
/// policies.cleaning.add(Entry { name: "oldest", summary: "the block that was closed first", is_random: false, build
/// })?;
/// # Ok::<(), flashlane_policy::registry::NameTaken>(())
/// ```
///
/// A policy is built at every power-on of a drive, from the seed and options of its profile. Its choices MUST depend on
/// these and its inputs only, so that results repeat.
#[derive(Clone, Debug)]
pub struct Policies {
    /// Which plane a stripe position lies on.
    pub allocation: Family<allocation::Build>,
    /// From which submission queue a drive takes its next command.
    pub arbitration: Family<arbitration::Build>,
    /// Which buffered pages go to flash next.
    pub buffer: Family<buffer::Build>,
    /// Which block to empty and erase next.
    pub cleaning: Family<cleaning::Build>,
    /// Which cached part of the map gives up its room.
    pub map_cache: Family<map_cache::Build>,
    /// Which number a written page has in the order that is striped over the flash.
    pub mapping: Family<mapping::Build>,
    /// How the moves of cleaning are spread over the host's writes.
    pub pacing: Family<pacing::Build>,
    /// Which pages to prefetch.
    pub readahead: Family<readahead::Build>,
    /// Which pages keep copies.
    pub replication: Family<replication::Build>,
    /// Which of the operations waiting for a die goes first.
    pub scheduling: Family<scheduling::Build>,
    /// Which free block to write next.
    pub wear: Family<wear::Build>,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            allocation: allocation::FAMILY,
            arbitration: arbitration::FAMILY,
            buffer: buffer::FAMILY,
            cleaning: cleaning::FAMILY,
            map_cache: map_cache::FAMILY,
            mapping: mapping::FAMILY,
            pacing: pacing::FAMILY,
            readahead: readahead::FAMILY,
            replication: replication::FAMILY,
            scheduling: scheduling::FAMILY,
            wear: wear::FAMILY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Entry;
    use crate::{OptionError, Options};
    use flashlane_base::Seed;

    struct First;

    impl cleaning::Cleaning for First {
        fn choose(&mut self, view: cleaning::View<'_>) -> Option<usize> {
            (0..view.valid.len()).find(|&block| view.is_candidate(block))
        }
    }

    fn first(_: Seed, options: &Options) -> Result<Box<dyn cleaning::Cleaning>, OptionError> {
        options.get("step", 1, "1 or 2", |step| (1..=2).contains(&step))?;
        Ok(Box::new(First))
    }

    #[test]
    fn added_policy_is_built_by_name_with_its_options() {
        let mut policies = Policies::default();
        let entry = Entry {
            name: "first",
            summary: "the first block",
            is_random: false,
            build: first as cleaning::Build,
        };
        policies.cleaning.add(entry).unwrap();
        let build = |options: &[(&str, &str)]| {
            let options = Options::new(options.iter().map(|&(k, v)| (k.into(), v.into())));
            policies.cleaning.build("first", Seed(1), &options).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(build(&[("step", "2")]), Ok(()));
        assert!(build(&[("step", "3")]).unwrap_err().contains("1 or 2"));
        assert!(build(&[("stride", "1")]).unwrap_err().contains("it knows: step"));
        // Other instances do not have it.
        assert!(Policies::default().cleaning.build("first", Seed(1), &Options::default()).is_err());
    }

    #[test]
    fn taken_and_reserved_names_are_refused() {
        let mut policies = Policies::default();
        let greedy = Entry { name: "greedy", summary: "", is_random: false, build: first as cleaning::Build };
        let error = policies.cleaning.add(greedy).unwrap_err();
        assert!(error.to_string().contains("greedy, cost-benefit, d-choice"), "{error}");
        let none = Entry { name: "none", ..policies.buffer.entries()[0] };
        assert_eq!(policies.buffer.add(none).unwrap_err().name, "none");
    }
}
