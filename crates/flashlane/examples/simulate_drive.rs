//! Drives a simulated drive: request by request, then with a workload at several queue depths.
//!
//! ```sh
//! cargo run --release --example simulate_drive
//! cargo run --release --example simulate_drive -- sim:nvme-tlc
//! ```

use flashlane::{Device, Instant, OpenOptions, Request, RunOptions, Seed, Workload};
use std::error::Error;

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let given = std::env::args().nth(1).filter(|argument| argument.starts_with("sim:"));
    let spec = given.as_deref().unwrap_or("sim:ssd-s");
    let options = OpenOptions::new().seed(Seed(1));

    // One write and one read of 4 KiB. The device owns the clock: reap returns once a request completes, and a
    // simulated drive advances virtual time to that point.
    let mut drive = options.open(spec)?.device;
    let mut completions = Vec::new();
    for request in [Request::write(0, 0, 4096), Request::read(1, 0, 4096)] {
        drive.submit(request)?;
        while completions.is_empty() {
            drive.reap(Instant::FAR, &mut completions);
        }
        for completion in completions.drain(..) {
            completion.outcome?;
            println!("{:?} took {}", request.operation, completion.latency());
        }
    }

    // The same workload at several queue depths, each on a new drive. Results depend only on profile, workload and
    // seed, and are the same on every machine.
    println!("{:>6} {:>10} {:>12}", "depth", "IOPS", "p99");
    let mut iops = Vec::new();
    for depth in [1, 4, 16] {
        let mut drive = options.open(spec)?.device;
        let workload = Workload::parse(&format!("random-read,size=4k,depth={depth},requests=2k"))?;
        let run = flashlane::run(&mut *drive, &workload, RunOptions::default())?;
        let reads = run.jobs[0].reads.as_ref().ok_or("nothing was read")?;
        iops.push(run.requests as f64 / run.elapsed.as_s_f64());
        println!(
            "{depth:>6} {:>10.0} {:>12}",
            iops[iops.len() - 1],
            format!("{:.0} µs", reads.latency().p99 / 1e3)
        );
    }
    assert!(iops[2] > iops[0], "more requests in flight use more of the drive");
    Ok(())
}
