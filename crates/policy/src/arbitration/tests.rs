//! Laws of every arbitration policy, and what each promises.

use super::*;
use flashlane_base::{Random, Seed};
use std::collections::VecDeque;

fn policy(name: &str, queues: u32, options: &[(&str, &str)]) -> Box<dyn Arbitration> {
    let options = Options::new(options.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())));
    FAMILY.build(name, queues, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// Queues, each with its commands' bytes and arrivals.
struct Queues(Vec<VecDeque<(u64, u64)>>, u64);

impl Queues {
    fn put(&mut self, queue: usize, bytes: u64) {
        self.1 += 1;
        self.0[queue].push_back((bytes, self.1));
    }

    /// Takes a command as `policy` chooses; returns its queue, bytes and arrival.
    fn take(&mut self, policy: &mut dyn Arbitration) -> Option<(usize, u64, u64)> {
        let heads = self.0.iter().enumerate().filter_map(|(queue, commands)| {
            let &(bytes, arrival) = commands.front()?;
            Some(Waiting { queue: queue as u32, bytes, arrival })
        });
        let waiting: Vec<Waiting> = heads.collect();
        if waiting.is_empty() {
            return None;
        }
        let at = policy.choose(&waiting);
        assert!(at < waiting.len(), "a queue that waits");
        let queue = waiting[at].queue as usize;
        let (bytes, arrival) = self.0[queue].pop_front().expect("it waits");
        Some((queue, bytes, arrival))
    }
}

fn draw_bytes(random: &mut Random) -> u64 {
    [0, 512, 4096, 65536, 1 << 20][random.below(5) as usize]
}

#[test]
fn every_command_is_taken_once_and_a_copy_chooses_alike() {
    for entry in REGISTRY {
        let mut random = Seed(3).source();
        let mut first = policy(entry.name, 5, &[]);
        let mut queues = Queues(vec![VecDeque::new(); 5], 0);
        let (mut put, mut taken) = (0, 0);
        for _ in 0..3000 {
            if random.chance(0.5) {
                queues.put(random.below(5) as usize, draw_bytes(&mut random));
                put += 1;
            }
            let mut second = first.boxed_clone();
            let copy = Queues(queues.0.clone(), queues.1).take(&mut *second);
            let chosen = queues.take(&mut *first);
            assert_eq!(chosen, copy, "{}", entry.name);
            taken += u64::from(chosen.is_some());
        }
        while queues.take(&mut *first).is_some() {
            taken += 1;
        }
        assert_eq!(taken, put, "{}", entry.name);
    }
}

/// Commands and bytes of each queue in `rounds` choices while every queue always waits, with commands of these sizes.
fn shares(policy: &mut dyn Arbitration, bytes: &[u64], rounds: u32) -> Vec<(u32, u64)> {
    let mut queues = Queues(vec![VecDeque::new(); bytes.len()], 0);
    for (queue, &bytes) in bytes.iter().enumerate() {
        queues.put(queue, bytes);
        queues.put(queue, bytes);
    }
    let mut shares = vec![(0, 0); bytes.len()];
    for _ in 0..rounds {
        let (queue, taken, _) = queues.take(policy).expect("all wait");
        shares[queue].0 += 1;
        shares[queue].1 += taken;
        queues.put(queue, bytes[queue]);
    }
    shares
}

#[test]
fn full_queues_share_as_their_policy_says() {
    let sizes = [4096, 131_072, 512];
    let commands = |shares: Vec<(u32, u64)>| shares.iter().map(|share| share.0).collect::<Vec<_>>();
    assert_eq!(commands(shares(&mut *policy("round-robin", 3, &[]), &sizes, 300)), [100, 100, 100]);
    assert_eq!(
        commands(shares(&mut *policy("round-robin", 3, &[("burst", "10")]), &sizes, 300)),
        [100, 100, 100]
    );
    let weights = [("weights", "8:1:1")];
    assert_eq!(commands(shares(&mut *policy("weighted", 3, &weights), &sizes, 300)), [240, 30, 30]);
    let urgent = [("weights", "1:urgent:3")];
    assert_eq!(commands(shares(&mut *policy("weighted", 3, &urgent), &sizes, 300)), [0, 300, 0]);
    let shared = shares(&mut *policy("deficit", 3, &[("weights", "1:2:1")]), &sizes, 400_000);
    let bytes: Vec<f64> = shared.iter().map(|share| share.1 as f64).collect();
    assert!(
        (bytes[1] / bytes[0] - 2.0).abs() < 0.01 && (bytes[2] / bytes[0] - 1.0).abs() < 0.01,
        "{bytes:?}"
    );
}

#[test]
fn arrival_is_one_queue() {
    let mut random = Seed(5).source();
    let mut queues = Queues(vec![VecDeque::new(); 4], 0);
    for _ in 0..200 {
        queues.put(random.below(4) as usize, draw_bytes(&mut random));
    }
    let mut policy = policy("arrival", 4, &[]);
    let order: Vec<u64> = std::iter::from_fn(|| queues.take(&mut *policy)).map(|taken| taken.2).collect();
    assert_eq!(order, (1..=200).collect::<Vec<_>>());
}

#[test]
fn an_idle_queue_saves_nothing() {
    let mut policy = policy("deficit", 2, &[("quantum", "4KiB")]);
    let mut queues = Queues(vec![VecDeque::new(); 2], 0);
    for _ in 0..1000 {
        queues.put(0, 4096);
        assert_eq!(queues.take(&mut *policy).map(|taken| taken.0), Some(0));
    }
    for queue in [0, 1] {
        (0..20).for_each(|_| queues.put(queue, 4096));
    }
    let taken: Vec<usize> = std::iter::from_fn(|| queues.take(&mut *policy)).map(|taken| taken.0).collect();
    assert!(taken.windows(2).all(|pair| pair[0] != pair[1]), "they alternate: {taken:?}");
}

#[test]
fn weights_of_other_queues_are_refused() {
    for (name, given) in [
        ("weighted", "1:2"),
        ("weighted", "1:2:0"),
        ("weighted", "1:2:x"),
        ("deficit", "urgent:1:1"),
        ("deficit", ""),
    ] {
        let options = Options::new([("weights".into(), given.into())]);
        let error = FAMILY.build(name, 3, &options).err().expect(given).to_string();
        assert!(error.contains("a weight for each of 3 queues"), "{error}");
    }
    let options = Options::new([("quantum".into(), "1".into())]);
    assert!(FAMILY.build("deficit", 3, &options).err().unwrap().to_string().contains("512 B to 16 MiB"));
}
