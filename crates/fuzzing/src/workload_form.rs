//! The forms of a workload: the one-line form and the job file.

use crate::Target;
use flashlane_workload::Workload;

pub(crate) const TARGET: Target = Target {
    name: "workload_form",
    body,
    seeds: &[
        "random-read,size=4k,depth=32,requests=1M,area=1GiB",
        "permutation-trim, size=8k ,depth=2,jobs=3,area=1MiB,offset=64k,align=16k,think=5us,reads=12.5%",
        "ordered-read,stride=-1MiB,time=2s,confidence=0.5%,warmup=1k,seed=7",
        "ordered-write,size=32k,incr=-1,shift=512B,think=100ms,burst=10",
        "partitioned-write,partitions=8,area=1GiB",
        "mixed,jobs=4,shared",
        "mixed,zipf=0.99,scatter=false,rate=20k/s,arrivals=poisson,fsync=8,fua,accesses=7",
        "random-read,size=8k,precondition=mixed:1GiB",
        "random-read,pareto=20%,precondition=steady,verify + random-write,hotspot=20%:80%,scatter",
        "sequential-read,size=32k,turns=4,seed=3 + random-write,size=32k,turns=1,requests=5",
        "requests = 1_000\ntime = \"30s\"\nseed = 7\n\n[[job]]\npattern = \"random-read\"\nsize = \"4k\"\ndepth = 8\n",
        "[[job]]\nname = \"log\"\npattern = \"sequential-write\"\narea = \"1GiB\"\nthink = \"5us\"\n\n[[job]]\n",
    ],
};

fn body(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Workload::parse(text) {
        Ok(workload) => {
            let written = workload.to_string();
            let again =
                Workload::parse(&written).unwrap_or_else(|e| panic!("'{text}' is written '{written}': {e}"));
            assert_eq!(nameless(again), nameless(workload), "'{text}' is written as '{written}'");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Err(error) = Workload::parse_toml(text, "fuzzed.toml") {
        assert!(error.to_string().contains("fuzzed.toml"), "{error} does not name the file");
    }
}

/// Removes names, which depend on the spelling of the text.
fn nameless(mut workload: Workload) -> Workload {
    workload.jobs.iter_mut().for_each(|job| job.name.clear());
    workload
}
