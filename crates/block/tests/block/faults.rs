//! Faults that a device does not admit: writes that never arrive, arrive elsewhere or in part, bits that flip, reads
//! from the wrong place. A block may be lost to them, and is then reported as unreadable or missing; wrong bytes are
//! never returned.

use flashlane_base::Seed;
use flashlane_block::{BlockOptions, Blocks, Outcome};
use flashlane_block_trial::payload_of;
use flashlane_device::spec::Spec;
use flashlane_device_testing::MemoryLanes;
use flashlane_layer::{Stack, layer};
use std::collections::BTreeMap;

/// Lanes in memory under the faults that `settings` name.
fn faulty(settings: &str, seed: u64) -> Box<dyn flashlane_device::DataDevice> {
    let device = Box::new(MemoryLanes::new(4, 12, 4096, 512, Seed(seed)));
    let Ok(Spec::Layer { name, options, .. }) = format!("faulty(x,{settings})").parse() else {
        panic!("'{settings}' are no settings");
    };
    match layer(&name, &options).and_then(|layer| layer.build(Stack::Data(device), Seed(seed))) {
        Ok(Stack::Data(device)) => device,
        _ => panic!("'{settings}' cannot be"),
    }
}

struct Seen {
    got: u64,
    unreadable: u64,
}

/// Puts, gets and deletes under faults; the content of each get is compared.
fn try_out(settings: &str, seed: u64) -> Seen {
    let mut blocks = match Blocks::format(faulty(settings, seed), 1, BlockOptions::default()) {
        Ok(blocks) => blocks,
        Err(_) => return Seen { got: 0, unreadable: 0 },
    };
    let mut random = Seed(seed).derive("wishes").source();
    let mut put: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let mut seen = Seen { got: 0, unreadable: 0 };
    for _ in 0..200 {
        let known = put.keys().copied().nth(random.below(put.len().max(1) as u64) as usize);
        match (random.below(4), known) {
            (0 | 1, _) => {
                let id = blocks.next_id();
                let bytes = vec![random.bits() as u8; 1 + random.below(3000) as usize];
                let payload = payload_of(&blocks, &bytes);
                let Ok(ticket) = blocks.put(id, payload) else { continue };
                if let Some(Outcome::Put(Ok(()), _)) = blocks.wait(ticket).map(|finished| finished.outcome) {
                    put.insert(id, bytes);
                }
            }
            (2, Some(id)) => {
                let bytes = &put[&id];
                let ticket = blocks.get(id, 0, bytes.len() as u64).expect("it was put");
                match blocks.wait(ticket).map(|finished| finished.outcome) {
                    Some(Outcome::Get(Ok(data))) => {
                        assert!(data.as_slice() == bytes, "block {id} has other bytes");
                        seen.got += 1;
                    }
                    Some(Outcome::Get(Err(failure))) => {
                        assert!(
                            failure.to_string().contains(&format!("block {id} is unreadable")),
                            "{failure}"
                        );
                        seen.unreadable += 1;
                    }
                    other => panic!("{other:?}"),
                }
            }
            (3, Some(id)) if put.len() > 20 => {
                let ticket = blocks.delete(id).expect("it was put");
                blocks.wait(ticket).expect("a delete ends");
                put.remove(&id);
            }
            _ => {}
        }
    }
    seen
}

#[test]
fn wrong_bytes_are_never_returned() {
    for settings in [
        "bit-flips=5%",
        "misdirected-reads=5%",
        "lost-writes=5%",
        "misdirected-writes=5%",
        "read-errors=5%",
        "write-errors=5%",
        "bit-flips=1%,misdirected-reads=1%,lost-writes=1%,misdirected-writes=1%,read-errors=1%,write-errors=1%",
    ] {
        let (mut got, mut unreadable) = (0, 0);
        for seed in 0..8 {
            let seen = try_out(settings, seed);
            got += seen.got;
            unreadable += seen.unreadable;
        }
        assert!(got > 100, "{settings}: {got} got, {unreadable} unreadable");
        // What strikes reads alone passes: they are read once more.
        let lasting = settings.contains("writes=") && !settings.starts_with("write-errors");
        assert!(!lasting || unreadable > 0, "{settings}: nothing was struck");
    }
}

#[test]
fn stuck_lane_delays_only_its_own_blocks() {
    let mut blocks = Blocks::format(faulty("stuck-lane=2", 1), 1, BlockOptions::default()).unwrap();
    let begun = blocks.now();
    let mut out = Vec::new();
    let (mut asked, mut done) = (0, 0);
    // Eight at a time: a few hang, the others go where nothing waits.
    while done < 20 {
        while asked - done < 8 {
            let id = blocks.next_id();
            let payload = payload_of(&blocks, &[1; 100]);
            blocks.put(id, payload).map_err(|(error, _)| error).unwrap();
            asked += 1;
        }
        blocks.reap(flashlane_base::Instant::FAR, &mut out);
        done += out.len();
        out.clear();
    }
    let elapsed = blocks.now().since(begun);
    assert!(
        elapsed < flashlane_base::Duration::from_ms(10),
        "{elapsed} for what a stuck lane does not concern"
    );
}

#[test]
fn late_completions_change_only_the_time() {
    let seen = try_out("delays=10%,delay=50ms", 3);
    assert!(seen.got > 20 && seen.unreadable == 0);
}
