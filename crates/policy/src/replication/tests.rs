use super::*;
use flashlane_base::Seed;

/// The groups from the one accessed longest ago to the last, with their blocking probabilities: what the paper calls
/// the queue.
struct Model {
    queue: Vec<(u32, f64)>,
    /// Groups at the young end that PBLRU keeps; `None` for LRU.
    most_recent: Option<usize>,
}

impl Model {
    fn touch(&mut self, group: u32, blocking: f64) {
        self.queue.retain(|(other, _)| *other != group);
        self.queue.push((group, blocking));
    }

    fn victim(&mut self) -> Option<u32> {
        let outside = self.queue.len().saturating_sub(self.most_recent.unwrap_or(usize::MAX));
        let lowest = (0..outside).reduce(|a, b| if self.queue[b].1 < self.queue[a].1 { b } else { a });
        (!self.queue.is_empty()).then(|| self.queue.remove(lowest.unwrap_or(0)).0)
    }
}

#[test]
fn policies_choose_the_victim_of_the_plain_queue() {
    const GROUPS: u32 = 20;
    for (name, options, most_recent) in [
        ("lru", Options::default(), None),
        ("pblru", Options::new([("recency".into(), "0.3".into())]), Some(6)),
    ] {
        let mut random = Seed(7).derive(name).source();
        let mut policy = FAMILY.build(name, GROUPS, &options).unwrap();
        let mut model = Model { queue: Vec::new(), most_recent };
        for step in 0..20_000 {
            let group = random.below(u64::from(GROUPS)) as u32;
            let present = model.queue.iter().any(|(other, _)| *other == group);
            match random.below(8) {
                0 => assert_eq!(policy.victim(), model.victim(), "{name}, step {step}"),
                1 if present => {
                    policy.remove(group);
                    model.queue.retain(|(other, _)| *other != group);
                }
                _ => {
                    let blocking = random.below(5) as f64 / 4.0;
                    policy.touch(group, blocking);
                    model.touch(group, blocking);
                }
            }
        }
    }
}

#[test]
fn pblru_replicates_a_read_only_above_its_threshold() {
    let build = |threshold: &str| {
        let options = Options::new([("threshold".into(), threshold.into())]);
        FAMILY.build("pblru", 10, &options).unwrap()
    };
    let replicates =
        |policy: &dyn Replication, blocked, accesses| policy.replicates_read(Blocking { blocked, accesses });
    let policy = build("0.2");
    assert!([(1, 100), (19, 100), (20, 100)].iter().all(|&(blocked, of)| !replicates(&*policy, blocked, of)));
    assert!(replicates(&*policy, 21, 100) && replicates(&*policy, 2, 9));
    // One blocked access of less than five does not tell whether a fifth are.
    assert!((1..5).all(|accesses| !replicates(&*policy, 1, accesses)));
    assert!((2..5).all(|accesses| replicates(&*policy, 2, accesses)));
    assert!(replicates(&*build("0"), 1, 100), "any share is above 0");
    let lru = FAMILY.build("lru", 10, &Options::default()).unwrap();
    assert!(replicates(&*lru, 1, 100));
}

#[test]
fn regions_of_nothing_and_of_all_are_refused() {
    for recency in ["0", "1", "-0.5", "half"] {
        let options = Options::new([("recency".into(), recency.into())]);
        let error = FAMILY.build("pblru", 10, &options).err().unwrap().to_string();
        assert!(error.contains("between 0 and 1"), "{error}");
    }
}
