//! The conformance body over both engines, on a file; over a loop device in `blocks`.

use crate::files::{ENGINES, scratch};
use flashlane_device::conformance;
use flashlane_host::{EngineChoice, OpenOptions};

#[test]
fn a_file_keeps_every_law_with_either_engine() {
    for engine in ENGINES {
        let file = scratch(4 << 20);
        let options = OpenOptions { engine, ..OpenOptions::destroy(file.path()) };
        conformance::check_data(&mut || Box::new(options.open().unwrap_or_else(|e| panic!("{e}"))));
    }
}

#[test]
fn a_shallow_file_keeps_them_too() {
    let file = scratch(1 << 20);
    let options = OpenOptions { depth: 1, ..OpenOptions::destroy(file.path()) };
    conformance::check_data(&mut || Box::new(options.open().unwrap_or_else(|e| panic!("{e}"))));
}

#[test]
fn a_file_opened_for_reading_keeps_the_laws_of_reading() {
    for engine in ENGINES {
        let file = scratch(4 << 20);
        let before = std::fs::read(file.path()).unwrap();
        let options = OpenOptions { engine, ..OpenOptions::read_only(file.path()) };
        conformance::check(&mut || Box::new(options.open().unwrap_or_else(|e| panic!("{e}"))));
        assert!(std::fs::read(file.path()).unwrap() == before, "reading changed the file");
    }
}

#[test]
fn the_engine_is_the_one_asked_for_and_the_fallback_is_a_doubt() {
    let file = scratch(1 << 20);
    let threads = OpenOptions { engine: EngineChoice::Threads, ..OpenOptions::read_only(file.path()) };
    let device = threads.open().unwrap();
    assert_eq!(device.engine_name(), "threads");
    let words: Vec<String> = device.warnings().iter().map(ToString::to_string).collect();
    assert!(words.iter().any(|w| w.contains("instead of io_uring, as asked")), "{words:?}");
}
