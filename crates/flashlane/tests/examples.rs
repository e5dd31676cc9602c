//! Runs the examples, which check their own output. Those that take a path are given none: here the first argument is a
//! filter.
#![allow(dead_code)]

#[path = "../examples/files.rs"]
mod files;
#[path = "../examples/simulate_drive.rs"]
mod simulate_drive;
#[path = "../examples/store.rs"]
mod store;
#[path = "../examples/store_blocks.rs"]
mod store_blocks;
#[path = "../examples/tables.rs"]
mod tables;
#[path = "../examples/write_policy.rs"]
mod write_policy;

#[test]
fn blocks_are_stored_and_read() {
    store_blocks::run(None).unwrap();
}

#[test]
fn pairs_are_stored_and_read() {
    store::run(None).unwrap();
}

#[test]
fn files_are_stored_and_read() {
    files::run(None).unwrap();
}

#[test]
fn rows_are_stored_and_read() {
    tables::run(None).unwrap();
}

#[test]
fn drive_is_simulated() {
    simulate_drive::main().unwrap();
}

#[test]
fn policy_is_compared_with_others() {
    write_policy::main().unwrap();
    let of = |policy| write_policy::write_amplification(policy).unwrap();
    let (oldest, greedy) = (of("oldest"), of("greedy"));
    assert!(oldest > greedy && greedy > 1.0, "oldest {oldest}, greedy {greedy}");
    assert_eq!(oldest, of("oldest"), "a run repeats");
}
