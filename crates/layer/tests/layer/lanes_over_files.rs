//! Lanes over files: conformance with either engine, and reopening after a drop.

use flashlane_base::{Instant, Seed};
use flashlane_device::{Buffer, DataDevice, Device, Lane, Request, RequestId, UnitState};
use flashlane_device_testing::conformance;
use flashlane_host::{EngineChoice, FileDevice, OpenError, OpenOptions, OwnData, PageCache};
use flashlane_layer::lanes::{Damage, Lanes, LanesError, Shape};
use std::path::{Path, PathBuf};

const SHAPE: Shape = Shape { lanes: 3, unit_bytes: 65536, read_unit_bytes: 4096, write_unit_bytes: 16384 };

/// Creates an empty file in a temporary folder.
fn scratch(length_bytes: u64) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("lanes");
    std::fs::File::create(&path).and_then(|file| file.set_len(length_bytes)).expect("a file");
    (folder, path)
}

/// Options that allow the lanes on the file, which the tests keep or may overwrite.
fn options(path: &Path, engine: EngineChoice) -> OpenOptions {
    let own_data = OwnData::Preserved(Vec::new());
    OpenOptions { engine, page_cache: PageCache::Tolerate, own_data, ..OpenOptions::read_write(path) }
}

fn file(path: &Path, engine: EngineChoice) -> FileDevice {
    options(path, engine).open().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn lanes_over_a_file_conform_with_either_engine() {
    for engine in [EngineChoice::Automatic, EngineChoice::Threads] {
        let (_folder, path) = scratch(8 << 20);
        conformance::check_data(&mut || {
            let lanes = Lanes::format(file(&path, engine), SHAPE, Seed(1));
            Box::new(lanes.unwrap_or_else(|error| panic!("{error}")))
        });
    }
}

#[test]
fn acknowledged_changes_survive_reopening_a_file() {
    for engine in [EngineChoice::Automatic, EngineChoice::Threads] {
        let (_folder, path) = scratch(8 << 20);
        let blank = Lanes::open(file(&path, engine)).err().expect("it has no lanes");
        assert!(matches!(blank, LanesError::NotFormatted { .. }), "{blank}");
        let mut lanes = Lanes::format(file(&path, engine), SHAPE, Seed(1)).expect("it has room");
        let bytes: Vec<u8> = (0..65536_u32).map(|at| (at / 7) as u8).collect();
        for round in 1..=3 {
            lanes.submit(Request::erase(1, 65536, 65536).on(Lane(2))).expect("nothing is in flight");
            wait(&mut lanes);
            let write = Request::write(2, 65536, 65536).on(Lane(2));
            lanes.submit_with(write, Buffer::from_slice(&bytes)).expect("it is erased");
            wait(&mut lanes);
            // The drop waits for the background write of the table's other slot.
            drop(lanes);
            lanes = Lanes::open(file(&path, engine)).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(lanes.damage(), Damage::default());
            let unit = lanes.unit(Lane(2), 1).expect("it is there");
            assert_eq!((unit.state, unit.erases), (UnitState::Written { bytes: 65536 }, Some(round)));
            lanes
                .submit_with(Request::read(3, 65536 + 4096, 8192).on(Lane(2)), Buffer::zeroed(8192))
                .expect("written");
            wait(&mut lanes);
            assert!(lanes.take_buffer(RequestId(3)).expect("its bytes").as_slice() == &bytes[4096..12288]);
        }
        let locked = options(&path, engine).open();
        assert!(matches!(locked, Err(OpenError::Locked { .. })), "the file is locked");
    }
}

fn wait<D: DataDevice>(lanes: &mut Lanes<D>) {
    let mut out = Vec::new();
    while out.is_empty() {
        lanes.reap(Instant::FAR, &mut out);
    }
    assert!(out.iter().all(|completion| completion.outcome.is_ok()), "{out:?}");
}
