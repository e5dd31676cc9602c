//! What a second core is worth to a sweep: the wall time of 64 runs one after the other, as a multiple of that of the same
//! 64 runs two at a time. Both are measured in turn, and each counts with its fastest round: other work on the machine
//! only ever slows a round down. Where something else keeps the cores busy all the time the ratio means nothing; the user CPU
//! of both, printed beside it, then tells at least whether two at a time cost more than one after the other.
//!
//! `cargo bench --bench sweep`; `cargo test` runs it small, so that it cannot rot.

mod process;

use flashlane_base::{Duration, Seed};
use flashlane_measure::schema::RunResult;
use flashlane_sim::config::DriveConfig;
use flashlane_sim::{Drive, config};
use flashlane_studies::sweep::{Grid, Halt, Options, Outcome, Planned, Task, run};
use flashlane_workload::Workload;
use process::user_cpu_s;
use std::ops::ControlFlow;

const KEYS: [&str; 2] = ["buffer.size=1MiB..8MiB*2", "flash.channels=8..23+1"];
const ROUNDS: usize = 5;

fn main() {
    // Cargo says so when it benchmarks; without it this is a test.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    let (requests, rounds) = if quick { (20, 1) } else { (100_000, ROUNDS) };
    let grid = Grid::new(KEYS.iter().map(|key| key.parse().expect("the bench's own keys")).collect());
    let grid = grid.expect("the bench's own grid");
    assert_eq!(grid.len(), 64);
    let plan = |at: usize| {
        let settings: Vec<(String, String)> =
            grid.point(at).into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let plan = config::load("ssd-s", &settings).expect("the bench's own settings");
        Ok(Task { name: String::new(), definition: String::new(), plan })
    };
    let tasks: Vec<Planned<DriveConfig>> = (0..grid.len()).map(plan).collect();
    let workload = format!("mixed,depth=32,requests={requests}").parse().expect("the bench's own workload");

    let mut fastest = [Duration::from_ns(u64::MAX); 2];
    let mut least_cpu_s = [f64::INFINITY; 2];
    let mut outcomes = Vec::new();
    for _ in 0..rounds {
        for at in 0..2 {
            let before = user_cpu_s();
            let (swept, took) = flashlane_host::timed(|| sweep(&tasks, &workload, at + 1));
            fastest[at] = took.min(fastest[at]);
            least_cpu_s[at] = least_cpu_s[at].min(user_cpu_s() - before);
            outcomes.push(swept);
        }
    }
    assert!(outcomes.windows(2).all(|pair| pair[0] == pair[1]), "the cores changed the result");
    let [one, two] = fastest.map(Duration::as_s_f64);
    println!(
        "sweep-two-cores: {:.3} times as fast as one core (64 runs in {one:.2} s and {two:.2} s, with {:.2} s and {:.2} s \
         of user CPU)",
        one / two,
        least_cpu_s[0],
        least_cpu_s[1]
    );
}

fn sweep(tasks: &[Planned<DriveConfig>], workload: &Workload, jobs: usize) -> Vec<Outcome> {
    let options = Options { jobs, store: None, watch: &|_| ControlFlow::Continue(()) };
    let measure = |config: &DriveConfig, _: &mut dyn FnMut(Option<f64>) -> ControlFlow<()>| {
        let mut drive = Drive::new(config, Seed(1));
        let options = flashlane_measure::Options { samples: 0, watch: None };
        let run = flashlane_measure::run(&mut drive, workload, options);
        let run = run.map_err(|error| Halt::Failed(error.to_string()))?;
        serde_json::to_value(RunResult::from(&run)).map_err(|error| Halt::Failed(error.to_string()))
    };
    run(tasks, &options, measure).outcomes
}
