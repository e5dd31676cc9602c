//! Laws of every pacing policy.

use super::*;
use flashlane_base::Seed;

#[test]
fn moves_are_between_one_and_the_remaining_pages() {
    let mut random = Seed(7).source();
    for entry in REGISTRY {
        let policy = FAMILY.build(entry.name, &Options::default()).unwrap();
        for _ in 0..2000 {
            let mut draw = |most| random.below(most) as u32;
            let view = View {
                written: 1 + draw(64),
                to_move: 1 + draw(30_000),
                free: draw(130_000),
                target: draw(100_000),
                floor: draw(10_000),
            };
            assert!((1..=view.to_move).contains(&policy.moves(view)), "{}: {view:?}", entry.name);
        }
    }
}

#[test]
fn moves_do_not_fall_as_free_space_shrinks() {
    let mut random = Seed(8).source();
    for entry in REGISTRY {
        let policy = FAMILY.build(entry.name, &Options::default()).unwrap();
        for _ in 0..2000 {
            let to_move = 1 + random.below(3000) as u32;
            let moves =
                |free: u32| policy.moves(View { written: 4, to_move, free, target: 9000, floor: 6000 });
            let free = random.below(12_000) as u32;
            assert!(moves(free) >= moves(free + 1 + random.below(500) as u32), "{} at {free}", entry.name);
        }
    }
}

#[test]
fn option_out_of_range_is_refused() {
    for (policy, option) in [("proportional", "most"), ("fixed", "moves")] {
        let options = Options::new([(option.into(), "0".into())]);
        let error = FAMILY.build(policy, &options).err().unwrap().to_string();
        assert!(error.contains("1 to 1000"), "{error}");
    }
    let options = Options::new([("moves".into(), "3".into())]);
    assert!(FAMILY.build("watermark", &options).is_err());
}
