//! Devices of every type by their specs, and the guards of real devices.

use flashlane_base::{Instant, Seed};
use flashlane_device::spec::Spec;
use flashlane_device::{Buffer, Completion, DataDevice, Device, DeviceInfo, Request, RequestId, SubmitError};
use flashlane_host::CreateError;
use flashlane_open::{Consent, OpenError, OpenOptions, PROFILE_BYTES_MAX, Target, create};
use flashlane_policy::Policies;
use std::fs;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;

/// A folder for the files of one test; its file system may not support direct I/O.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for tests")
}

fn file(folder: &tempfile::TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("file");
    fs::write(&path, bytes).expect("a file");
    path
}

fn options() -> OpenOptions {
    OpenOptions::new().allow_page_cache(true)
}

fn spec(path: &Path) -> String {
    path.to_str().expect("text").into()
}

fn write(device: &mut (impl Device + ?Sized), length_bytes: u64) -> Result<Vec<Completion>, SubmitError> {
    device.submit(Request::write(1, 0, length_bytes))?;
    let mut out = Vec::new();
    device.reap(Instant::FAR, &mut out);
    Ok(out)
}

#[test]
fn real_device_is_read_only_without_destroy_data() {
    let folder = folder();
    let path = file(&folder, &vec![7; MIB as usize]);
    let mut opened = options().open(&spec(&path)).expect("reading is allowed");
    assert!(opened.device.info().read_only);
    assert!(matches!(write(&mut *opened.device, 4096), Err(SubmitError::ReadOnly { .. })));
    drop(opened);
    assert_eq!(fs::read(&path).unwrap(), vec![7; MIB as usize]);
    let opened = options().consent(Consent::Destroy).open(&spec(&path)).expect("writing is allowed");
    assert!(!opened.device.info().read_only);
}

#[test]
fn known_signature_is_refused_despite_destroy_data() {
    let folder = folder();
    let mut bytes = vec![0; MIB as usize];
    bytes[4086..4096].copy_from_slice(b"SWAPSPACE2");
    let path = file(&folder, &bytes);
    for spec in [spec(&path), format!("lanes({},format=yes)", spec(&path))] {
        let refused = options().consent(Consent::Destroy).open(&spec).expect_err("it looks like swap space");
        assert!(
            matches!(&refused, OpenError::Real { error: flashlane_host::OpenError::Refused { .. }, .. }),
            "{refused}"
        );
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    let opened = options().consent(Consent::DestroyUsed(path.clone())).open(&spec(&path));
    assert!(opened.is_ok(), "its path was repeated");
}

#[test]
fn simulated_drive_keeps_its_bytes_in_a_file_that_may_be_emptied() {
    let folder = folder();
    let path = folder.path().join("bytes");
    let spec = format!("backed((sim:ssd-s,capacity=1GiB,flash.blocks=275),file={})", path.display());
    let mut opened = options().open_data(&spec).expect("a new file");
    let bytes = Buffer::from_slice(&[7; 4096]);
    opened.device.submit_with(Request::write(1, 8192, 4096), bytes).expect("it fits");
    opened.device.reap(Instant::FAR, &mut Vec::new());
    assert_eq!(opened.device.info().name, spec);
    let again = options().consent(Consent::Destroy).open_data(&spec).expect_err("it is in use");
    assert!(again.to_string().contains("in use"), "{again}");
    drop(opened);
    let before = fs::read(&path).unwrap();
    assert_eq!((before.len() as u64, before[8192], before[12288]), (1024 * MIB, 7, 0));

    let refused = options().consent(Consent::NewFile).open_data(&spec).expect_err("it exists");
    assert!(matches!(refused, OpenError::BytesFileExists { .. }), "{refused}");
    assert!(fs::read(&path).unwrap() == before, "the file was changed");
    fs::write(&path, [&[0; 1080][..], &[0x53, 0xef], &[0; 8192]].concat()).unwrap();
    let refused = options().consent(Consent::Destroy).open_data(&spec).expect_err("it looks like ext4");
    assert!(matches!(refused, OpenError::Real { .. }), "{refused}");
    options().consent(Consent::DestroyUsed(path.clone())).open_data(&spec).expect("its path was repeated");
    // Whatever its length.
    for length in [0, 14] {
        fs::write(&path, vec![b'x'; length]).unwrap();
        options()
            .consent(Consent::Destroy)
            .open_data(&spec)
            .unwrap_or_else(|e| panic!("{length} bytes: {e}"));
    }
    let refused = options().open_data(&spec.replace(&*path.to_string_lossy(), "/dev/null"));
    assert!(matches!(refused.expect_err("no file"), OpenError::BytesFileIsNone { .. }));
}

#[test]
fn create_makes_a_new_file_and_replaces_none() {
    let folder = folder();
    let path = folder.path().join("new");
    let spec = format!("lanes({},channels=4,unit=1MiB)", path.display());
    let opened = options().create(16 * MIB).open_data(&spec).expect("a new file with lanes");
    assert_eq!(opened.device.info().lanes, 4);
    drop(opened);
    let before = fs::read(&path).unwrap();
    let refused = options().create(16 * MIB).open_data(&spec).expect_err("it exists");
    assert!(matches!(refused, OpenError::Create(CreateError::Exists { .. })), "{refused}");
    assert!(fs::read(&path).unwrap() == before, "the file was changed");
    // The lanes are found again without giving their shape.
    let opened = options().open_data(&format!("lanes({})", path.display())).expect("lanes");
    assert_eq!(opened.device.info().lanes, 4);
}

#[test]
fn created_file_is_removed_when_opening_fails() {
    let folder = folder();
    let path = folder.path().join("new");
    let spec = format!("lanes({},channels=none)", path.display());
    let refused = options().create(16 * MIB).open_data(&spec).expect_err("no number of channels");
    assert!(matches!(refused, OpenError::Layer(_)), "{refused}");
    assert!(!path.exists());
    let refused = options().create(MIB).open("sim:ssd-s").expect_err("no file in it");
    assert!(matches!(refused, OpenError::CreateSimulated { .. }), "{refused}");
}

#[test]
fn refusing_the_planned_lanes_writes_nothing() {
    let folder = folder();
    let bytes = vec![7; 16 * MIB as usize];
    let path = file(&folder, &bytes);
    let spec = format!("lanes({},channels=4,unit=1MiB,format=yes)", path.display());
    let refuse = |lanes: &DeviceInfo| {
        assert_eq!(lanes.lanes, 4);
        Err(OpenError::CreateSimulated { spec: "refused".into() })
    };
    let refused = options().consent(Consent::Destroy).open_data_if(&spec, &refuse).expect_err("not accepted");
    assert!(refused.to_string().contains("refused"), "{refused}");
    assert!(fs::read(&path).unwrap() == bytes, "the file was changed");
}

#[test]
fn open_data_keeps_the_bytes_of_a_simulated_device() {
    let mut device = OpenOptions::new().open_data("sim:ssd-s").expect("a drive").device;
    let unit = device.info().write_unit_bytes;
    let mut buffer = Buffer::zeroed(unit as usize);
    buffer.as_mut_slice().fill(9);
    device.submit_with(Request::write(1, 0, unit), buffer).expect("it is written");
    let mut out = Vec::new();
    device.reap(Instant::FAR, &mut out);
    let buffer = Buffer::zeroed(unit as usize);
    device.submit_with(Request::read(2, 0, unit), buffer).expect("it is read");
    device.reap(Instant::FAR, &mut out);
    let read = device.take_buffer(RequestId(2)).expect("its bytes");
    assert!(read.as_slice().iter().all(|&byte| byte == 9));
}

#[test]
fn equal_seeds_give_equal_drives() {
    let ended = |seed| {
        let spec = "sim:ssd-s,flash.noise=10%,capacity=256MiB,flash.blocks=64";
        let mut device = OpenOptions::new().seed(Seed(seed)).open(spec).expect("a drive").device;
        write(&mut *device, 1 << 20).expect("it is written");
        device.submit(Request::read(2, 0, 1 << 20)).expect("it is read");
        let mut out = Vec::new();
        device.reap(Instant::FAR, &mut out);
        device.now()
    };
    assert_eq!(ended(1), ended(1));
    assert_ne!(ended(1), ended(2));
}

#[test]
fn lanes_of_a_drive_are_interleaved_or_opened_alone() {
    let whole = OpenOptions::new().open("sim:sdf").expect("a drive").device;
    let lane = OpenOptions::new().open("sim:sdf#7").expect("a lane").device;
    assert_eq!((whole.info().lanes, lane.info().lanes), (1, 1));
    assert_eq!(whole.info().capacity_bytes, lane.info().capacity_bytes * 44);
    assert_eq!(OpenOptions::new().open_data("sim:sdf").expect("a drive").device.info().lanes, 44);
}

#[test]
fn errors_are_typed_and_name_the_given_value() {
    let folder = folder();
    let large = folder.path().join("large.toml");
    fs::write(&large, vec![b'#'; PROFILE_BYTES_MAX as usize + 1]).expect("a file");
    let refusal = |spec: &str| OpenOptions::new().open(spec).expect_err(spec);
    assert!(matches!(refusal("sim:"), OpenError::Spec(_)));
    assert!(matches!(refusal("sim:floppy"), OpenError::Profile { profile, .. } if profile == "floppy"));
    assert!(matches!(refusal("sim:ssd-s#1"), OpenError::ConventionalLane { lane: 1, .. }));
    assert!(matches!(refusal("sim:sdf#44"), OpenError::Lane { error: SubmitError::NoSuchLane { .. }, .. }));
    assert!(matches!(refusal("sim:none.toml"), OpenError::ProfileFile { .. }));
    let too_large = refusal(&format!("sim:{}", large.display()));
    assert!(too_large.to_string().contains("larger than 1 MiB"), "{too_large}");
    assert!(matches!(refusal("bakced(sim:ssd-s)"), OpenError::Layer(_)));
    assert!(matches!(refusal("striped(striped(sim:sdf,lanes=2),lanes=2)"), OpenError::StripedTwice { .. }));
    assert!(matches!(refusal("striped(faulty(striped(sim:sdf)))"), OpenError::StripedTwice { .. }));
    assert!(matches!(refusal("zoned(sim:ssd-s)"), OpenError::ZonedOver { .. }));
    assert!(matches!(refusal("zoned(./file,size=1)"), OpenError::ZonedSetting { key, .. } if key == "size"));
    assert!(matches!(refusal("./none"), OpenError::Real { .. }));
}

/// Returns for each of 200 reads of `spec` whether it fails.
fn failed_reads(spec: &str) -> Vec<bool> {
    let mut device = options().seed(Seed(7)).open(spec).expect("reading is allowed").device;
    let mut out = Vec::new();
    for id in 0..200 {
        device.submit(Request::read(id, 0, 4096)).expect("it has room");
        device.reap(Instant::FAR, &mut out);
    }
    out.iter().map(|completion| completion.outcome.is_err()).collect()
}

/// Faults depend on the seed and the settings, not on the path of a file, nor on another layer.
#[test]
fn faults_depend_on_the_seed_and_differ_between_layers() {
    let (one, other) = (folder(), folder());
    let over = |folder| format!("faulty({},read-errors=30%)", spec(&file(folder, &vec![7; MIB as usize])));
    let failed = failed_reads(&over(&one));
    assert!(failed.contains(&true) && failed.contains(&false));
    assert_eq!(failed, failed_reads(&over(&other)));
    let twice = failed_reads(&format!("faulty({},read-errors=30%)", over(&one)));
    let count = |failed: &[bool]| failed.iter().filter(|&&failed| failed).count();
    // The layers must fail independently: half of the reads fail then, else 30%.
    assert!(count(&twice) > count(&failed) + 20, "{} of 200, {} of 200", count(&twice), count(&failed));
}

#[test]
fn file_that_takes_the_name_of_a_new_one_is_kept() {
    let folder = folder();
    let (path, own) = (folder.path().join("new"), vec![7; MIB as usize]);
    let replace = || {
        fs::write(folder.path().join("own"), &own).unwrap();
        fs::rename(folder.path().join("own"), &path).unwrap();
    };
    let target = Target::resolve(&Spec::Path(path.clone()), &Policies::default()).unwrap();
    create(&target, MIB, |_| true).expect("a new file");
    replace();
    let refused = options().consent(Consent::NewFile).open(&target).expect_err("it is another file");
    assert!(refused.to_string().contains("replaced"), "{refused}");
    target.remove_created();
    assert!(fs::read(&path).unwrap() == own, "the file was changed");

    // The creation ends early, and removes its own file only.
    fs::remove_file(&path).unwrap();
    let target = Target::resolve(&Spec::Path(path.clone()), &Policies::default()).unwrap();
    let go_on = |_| {
        replace();
        false
    };
    let stopped = create(&target, MIB, go_on).expect_err("it is to stop");
    assert!(matches!(stopped, OpenError::Create(CreateError::Stopped { .. })), "{stopped}");
    assert!(fs::read(&path).unwrap() == own, "the file was changed");
}

#[test]
fn profile_that_is_a_pipe_is_refused() {
    let folder = folder();
    let pipe = folder.path().join("pipe.toml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let error =
        Target::resolve(&format!("sim:{}", spec(&pipe)).parse::<Spec>().unwrap(), &Policies::default());
    let words = error.map(drop).unwrap_err().to_string();
    assert!(words.contains("it is not a regular file"), "{words}");
}
