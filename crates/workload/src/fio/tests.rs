//! fio's job files and options: their translations and refusals.

use super::{FioFile, whole_line};
use crate::{Arrivals, Distribution, Mix, Pattern, Skew, Workload};
use flashlane_base::{Duration, Seed};

const GIB: u64 = 1 << 30;

fn read(text: &str) -> FioFile {
    FioFile::parse(text, "job.fio", Some(GIB)).unwrap_or_else(|error| panic!("{error}"))
}

fn job(options: &str) -> crate::Job {
    read(&format!("[a]\nsize=1m\n{options}")).stages.remove(0).jobs.remove(0)
}

#[test]
fn examples_of_the_fio_manual_are_read() {
    let file = read(
        "; -- start job file --\n[global]\nrw=randread\nsize=128m\n\n[job1]\n\n[job2]\n; -- end job file --\n",
    );
    assert_eq!(file.stages.len(), 1);
    for (job, name) in file.stages[0].jobs.iter().zip(["job1", "job2"]) {
        assert_eq!((job.name.as_str(), &job.pattern, job.mix), (name, &Pattern::Permutation, Mix::READ));
        assert_eq!((job.area_length_bytes, job.accesses), (Some(128 << 20), Some(32768)));
    }
    let file = read(
        "[random-writers]\nioengine=libaio\niodepth=4\nrw=randwrite\nbs=32k\ndirect=0\nsize=64m\nnumjobs=4\n"
            .replace("direct=0", "direct=1")
            .as_str(),
    );
    let jobs = &file.stages[0].jobs;
    assert_eq!(
        jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(),
        ["random-writers-1", "random-writers-2", "random-writers-3", "random-writers-4"]
    );
    assert!(jobs.iter().all(|job| (job.depth, job.size_bytes, job.accesses) == (4, 32 << 10, Some(2048))));
}

#[test]
fn options_reach_their_fields() {
    let made = job(
        "rw=randrw\nrwmixread=70\nbs=8k,8k\nba=16k\niodepth=8\nfsync=16\nthinktime=5\nthinktime_blocks=3",
    );
    assert_eq!(
        (made.mix, made.size_bytes, made.align_bytes),
        (Mix { reads: 0.7, ..Mix::WRITE }, 8192, Some(16384))
    );
    assert_eq!(
        (made.depth, made.flush_every, made.think, made.burst),
        (8, Some(16), Duration::from_us(5), 3)
    );
    assert_eq!(job("rw=randwrite\nnorandommap").pattern, Pattern::Random);
    assert_eq!(job("iodepth=32\nioengine=psync").depth, 1);
    let rate = job("rate_iops=2k\nrate_process=poisson").rate.unwrap();
    assert_eq!((rate.per_second, rate.arrivals), (2000.0, Arrivals::Poisson));
    for (text, distribution, scattered) in [
        ("zipf:1.2", Distribution::Zipf { exponent: 1.2 }, true),
        ("pareto:0.2", Distribution::Pareto { space: 0.2 }, true),
        ("zoned:80/20:20/80", Distribution::Hotspot { space: 0.2, accesses: 0.8 }, false),
    ] {
        let made = job(&format!("rw=randread\nrandom_distribution={text}"));
        assert_eq!(made.pattern, Pattern::Skewed(Skew { distribution, scattered }));
    }
    assert_eq!(job("number_ios=9").accesses, Some(9));
    assert_eq!(job("io_size=4m").accesses, Some(1024));
    assert_eq!(job("loops=3").accesses, Some(768));
    let made = job("size=50%\noffset=25%");
    assert_eq!((made.area_offset_bytes, made.area_length_bytes), (GIB / 4, Some(GIB / 8 * 3)));
    let file =
        read("[a]\nruntime=1m\ntime_based\nrandseed=7\nverify=crc32c\nfilename=/dev/x\ngroup_reporting\n");
    let stage = &file.stages[0];
    assert_eq!((stage.stop.time, stage.jobs[0].accesses), (Some(Duration::from_s(60)), None));
    assert_eq!((stage.seed, stage.verify, file.filename.as_deref()), (Seed(7), true, Some("/dev/x")));
    assert_eq!(file.ignored, ["group_reporting"]);
    let clones = read("[a]\nsize=1m\nnumjobs=2\noffset_increment=4m\n").stages.remove(0).jobs;
    assert_eq!(clones[1].area_offset_bytes, 4 << 20);
}

/// Measured with fio 3.33: `--size=1m --bs=4kib` moves 262 blocks of 4000 bytes.
#[test]
fn size_suffixes_follow_fio() {
    for (options, bytes) in [
        ("bs=4k", 4096),
        ("bs=4K", 4096),
        ("bs=4kb", 4096),
        ("bs=4kib", 4000),
        ("bs=512", 512),
        ("bs=0.5k", 512),
        ("bs=1m", 1 << 20),
        ("kb_base=1000\nbs=4k", 4000),
        ("kb_base=1000\nbs=4kib", 4096),
    ] {
        assert_eq!(job(options).size_bytes, bytes, "{options}");
    }
    for (options, time) in
        [("30", 30_000), ("30s", 30_000), ("2m", 120_000), ("100ms", 100), ("1h", 3_600_000)]
    {
        let stop = read(&format!("[a]\nsize=1m\nruntime={options}\n")).stages[0].stop;
        assert_eq!(stop.time, Some(Duration::from_ms(time)), "{options}");
    }
}

#[test]
fn stonewall_begins_a_stage() {
    let file = read(
        "[global]\nsize=1m\n[fill]\nrw=write\n[a]\nstonewall\nrw=randread\n[b]\nrw=randwrite\n[c]\nwait_for_previous\n",
    );
    let names =
        file.stages.iter().map(|stage| stage.jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>());
    assert_eq!(names.collect::<Vec<_>>(), [vec!["fill"], vec!["a", "b"], vec!["c"]]);
}

#[test]
fn refusal_names_line_and_option() {
    for (text, line, parts) in [
        ("", 1, &["no job is given"][..]),
        ("bs=4k\n[a]\n", 1, &["before the first section"]),
        ("[a\n", 1, &["not a section"]),
        ("[a]\nsize=1m\ninclude other.fio\n", 3, &["'include' is not supported"]),
        ("[a]\nsize=${SIZE}\n", 2, &["variables", "${SIZE}"]),
        (
            "[a]\nsize=1m\niodpeth=4\n",
            3,
            &["iodpeth: this option has no equivalent here (did you mean 'iodepth'?)"],
        ),
        ("[a]\nsize=1m\nramp_time=5\n", 3, &["ramp_time", "warmup"]),
        ("[a]\nsize=1m\nbssplit=4k/50:8k/50\n", 3, &["bssplit", "one size"]),
        ("[a]\nsize=1m\nbs=4k,8k\n", 3, &["bs:", "reads and writes"]),
        ("[a]\nsize=1m\nbs=4x\n", 3, &["'4x' is not a size"]),
        ("[a]\nsize=1m\ndirect=0\n", 3, &["direct=1"]),
        ("[a]\nsize=1m\nioengine=mmap\n", 3, &["'mmap' has no equivalent", "io_uring"]),
        ("[a]\nsize=1m\nrw=rw\n", 3, &["rw: 'rw'", "a job that reads"]),
        ("[a]\nsize=1m\nrandom_distribution=normal:5\n", 3, &["'normal:5'", "zipf:T"]),
        ("[a]\nsize=1m\ntime_based\n", 3, &["needs a runtime"]),
        ("[a]\nsize=1m\nruntime=5\n[b]\nsize=1m\n", 4, &["job 'b' has another runtime", "stonewall"]),
        ("[a]\nsize=1m\nfilename=x\n[b]\nsize=1m\nfilename=y\n", 6, &["'y' here and 'x' before"]),
        ("[a]\nsize=1m\n[a]\nsize=1m\n", 3, &["job 'a' is there already"]),
        ("[a]\nsize=0\n", 1, &["less than one block"]),
        ("[a]\nsize=101%\n", 2, &["above 0% to 100%"]),
    ] {
        let error = FioFile::parse(text, "job.fio", Some(GIB)).expect_err(text).to_string();
        assert!(error.starts_with(&format!("job.fio:{line}: ")), "{error}");
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
    let unknown = FioFile::parse("[a]\nsize=50%\n", "f", None).unwrap_err().to_string();
    assert!(unknown.contains("percentage"), "{unknown}");
    assert!(FioFile::parse("[a]\n", "f", None).unwrap_err().to_string().contains("no end"));
}

#[test]
fn fio_options_are_answered_with_equivalents() {
    for (text, parts) in [
        ("rw=randread,bs=4k,iodepth=32", &["'random-read,size=4k,depth=32'"][..]),
        ("randread,bs=4k", &["'random-read,size=4k'"]),
        ("randread,bs=4kb", &["'random-read,size=4KiB'"]),
        ("randread,bs=1.5kb", &["'random-read,size=1.5KiB'"]),
        ("randread,bs=4kib", &["'random-read,size=4kib'"]),
        ("randread,bs=4096", &["'random-read,size=4KiB'"]),
        ("random-read,iodepth=32", &["iodepth=32 is 'depth=32' here", "'random-read,depth=32'"]),
        ("random-read,bs=4096", &["'size=4KiB'"]),
        ("random-read,bs=8k,size=1GiB,numjobs=4", &["'random-read,size=8k,area=1GiB,jobs=4,shared'"]),
        (
            "rw=randrw,rwmixread=70,runtime=30",
            &["fio's rw=randrw is 'mixed,reads=70%' here", "'mixed,reads=70%,time=30s'"],
        ),
        ("rw=randwrite,bs=4k,random_distribution=zipf:1.2", &["'random-write,size=4k,zipf=1.2'"]),
        ("random-read,direct=1", &["'direct' is not needed", "direct I/O"]),
        ("random-read,filename=/dev/x", &["the device stands before"]),
        ("random-read,ramp_time=10", &["warmup=10k"]),
        ("random-read,blocksize", &["'size'"]),
        (
            "rw=randwrite,bs=16k,fsync=1,ramp_time=5",
            &["'random-write,size=16k,fsync=1', without 'ramp_time'", "warmup=10k"],
        ),
        ("random-read + randwrite", &["rw=randwrite is 'random-write' here"]),
    ] {
        let error = Workload::parse(text).expect_err(text).to_string();
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
    assert_eq!(whole_line("random-read,size=4k"), None);
    let error =
        Workload::parse_toml("[[job]]\npattern = \"randread\"\niodepth = 4\n", "f").unwrap_err().to_string();
    assert!(error.contains("f:") && error.contains("fio's"), "{error}");
}

#[test]
fn placement_handle_is_read_and_lists_are_refused() {
    assert_eq!(job("rw=randwrite\nfdp=1\nfdp_pli=3\n").placement, 3);
    assert_eq!(job("rw=randwrite\ndataplacement=streams\nplids=2\n").placement, 2);
    assert_eq!(job("rw=randwrite\nfdp=0\n").placement, 0);
    for (options, word) in [
        ("fdp=1\n", "needs fdp_pli"),
        ("fdp=1\nfdp_pli=1,2\n", "write a job for each"),
        ("fdp_pli=1\n", "has no effect without"),
        ("dataplacement=zones\n", "allowed: none, fdp, streams"),
        ("fdp=1\nfdp_pli_select=random\n", "one placement handle"),
    ] {
        let text = format!("[a]\nsize=1m\nrw=randwrite\n{options}");
        let error = FioFile::parse(&text, "job.fio", Some(GIB)).unwrap_err().to_string();
        assert!(error.contains(word), "{options}: {error}");
    }
}
