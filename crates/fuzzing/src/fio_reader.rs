//! The reader of fio job files.

use crate::Target;
use flashlane_workload::{FioFile, Limits, Workload};

pub(crate) const TARGET: Target = Target {
    name: "fio_reader",
    body,
    seeds: &[
        "; comment\n[global]\nrw=randread\nbs=4k\nioengine=libaio\niodepth=32\ndirect=1\n[a]\nsize=1g\n[b]\nstonewall\nsize=50%\n",
        "[job]\nrw=randrw\nrwmixread=70\nruntime=30\ntime_based\nnumjobs=4\noffset_increment=1g\ngroup_reporting\n",
        "[job]\nrandom_distribution=zipf:1.2\nrw=randwrite\nrate_iops=1k\nrate_process=poisson\nio_size=4m\nfsync=8\n",
        "[job]\nrandom_distribution=zoned:80/20:20/80\nkb_base=1000\nbs=0.5k,0.5k\nnumber_ios=9\nloops=2\nverify=crc32c\n",
        "rw=randread,bs=4k,iodepth=32,numjobs=4",
    ],
};

fn body(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for capacity in [None, Some(1 << 30)] {
        match FioFile::parse(text, "fuzzed.fio", capacity) {
            Ok(file) => {
                assert!(!file.stages.is_empty());
                for stage in &file.stages {
                    // The check against a device must not panic either.
                    let _ = stage.check(&Limits::of(1 << 30));
                    let ends =
                        stage.stop.time.is_some() || stage.jobs.iter().all(|job| job.accesses.is_some());
                    assert!(ends, "{stage} has no end");
                }
            }
            Err(error) => assert!(error.to_string().starts_with("fuzzed.fio:"), "{error} names no line"),
        }
    }
    // The text as a one-line workload is accepted or refused.
    if let Err(error) = Workload::parse(text) {
        assert!(!error.to_string().is_empty());
    }
}
