//! The gain of a sweep from a second core: the ratio of the wall times of 64 sequential runs and the same 64 runs two
//! at a time. Runs of 0.1 s, as short as a user's, have a separate line beside runs of 20 ms, which mostly create
//! drives. The control is the machine's limit, without shared state: the same runs in two processes, half each,
//! sequentially and concurrently.
//!
//! All cases are measured in turn, and the fastest round of each counts: other load on the machine only slows a round
//! down. Where other load keeps the cores busy all the time the ratios are meaningless; the user CPU of both, printed
//! with them, still shows whether concurrent runs cost more than sequential ones.
//!
//! `cargo bench --bench sweep`; `cargo test --benches` runs it small.

mod process;

use flashlane_base::{Duration, Seed};
use flashlane_result::run::RunResult;
use flashlane_sim::config::DriveConfig;
use flashlane_sim::{Drive, profile};
use flashlane_sweep::{Grid, Options, Outcome, Planned, PointError, Task, run};
use flashlane_workload::Workload;
use process::user_cpu_s;
use std::ops::ControlFlow;
use std::process::Command;

const KEYS: [&str; 2] = ["buffer.size=1MiB..8MiB*2", "flash.channels=8..23+1"];

/// The option with which this program starts itself for half of the runs: `--half 0 --requests 400000`.
const HALF: &str = "--half";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.parse::<usize>().ok()
    };
    if let (Some(half), Some(requests)) = (number(HALF), number("--requests")) {
        let tasks: Vec<_> = tasks().into_iter().skip(half).step_by(2).collect();
        sweep(&tasks, &workload(requests), 1);
        return;
    }
    // Cargo passes `--bench` to a benchmark; without it this is a test.
    let quick = !arguments.iter().any(|argument| argument == "--bench");
    let (long, short, rounds) = if quick { (40, 20, 1) } else { (400_000, 100_000, 3) };
    in_one_process("sweep-two-cores", long, rounds);
    in_one_process("sweep-two-cores-short", short, rounds);
    in_two_processes("sweep-two-processes", long, rounds);
}

fn in_one_process(id: &str, requests: usize, rounds: usize) {
    let (tasks, workload) = (tasks(), workload(requests));
    let mut fastest = [Duration::from_ns(u64::MAX); 2];
    let mut least_cpu_s = [f64::INFINITY; 2];
    let mut outcomes = Vec::new();
    for _ in 0..rounds {
        for at in 0..2 {
            let before = user_cpu_s();
            // On a new thread, as in a program: a thread that has created drives keeps their memory.
            let (swept, took) = flashlane_host::timed(|| {
                std::thread::scope(|scope| scope.spawn(|| sweep(&tasks, &workload, at + 1)).join())
            });
            let swept = swept.expect("the sweep ends");
            fastest[at] = took.min(fastest[at]);
            least_cpu_s[at] = least_cpu_s[at].min(user_cpu_s() - before);
            outcomes.push(swept);
        }
    }
    assert!(outcomes.windows(2).all(|pair| pair[0] == pair[1]), "the cores changed the result");
    let [one, two] = fastest.map(Duration::as_s_f64);
    println!(
        "{id}: {:.3} times as fast as one core (64 runs of {requests} requests in {one:.2} s and {two:.2} s, with {:.2} s \
         and {:.2} s of user CPU)",
        one / two,
        least_cpu_s[0],
        least_cpu_s[1]
    );
}

/// The control: the gain of two processes that share only the machine.
fn in_two_processes(id: &str, requests: usize, rounds: usize) {
    let mut fastest = [Duration::from_ns(u64::MAX); 2];
    for _ in 0..rounds {
        for (at, together) in [false, true].into_iter().enumerate() {
            let ((), took) = flashlane_host::timed(|| halves(requests, together));
            fastest[at] = took.min(fastest[at]);
        }
    }
    let [one, two] = fastest.map(Duration::as_s_f64);
    println!(
        "{id}: {:.3} times as fast as one after the other (the control: 64 runs of {requests} requests, half in each \
         process, in {one:.2} s and {two:.2} s)",
        one / two
    );
}

/// Runs both halves, each in a separate process.
fn halves(requests: usize, together: bool) {
    let start = |half: usize| {
        let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
        command.args([HALF, &half.to_string(), "--requests", &requests.to_string()]);
        command.spawn().expect("this program can be started again")
    };
    let mut running = Vec::new();
    for half in 0..2 {
        running.push(start(half));
        if together && half == 0 {
            continue;
        }
        for mut child in running.drain(..) {
            assert!(child.wait().expect("it was started").success(), "a half of the runs failed");
        }
    }
}

fn workload(requests: usize) -> Workload {
    format!("mixed,depth=32,requests={requests}").parse().expect("the bench's own workload")
}

fn tasks() -> Vec<Planned<DriveConfig>> {
    let grid = Grid::new(KEYS.iter().map(|key| key.parse().expect("the bench's own keys")).collect());
    let grid = grid.expect("the bench's own grid");
    assert_eq!(grid.len(), 64);
    let plan = |at: usize| {
        let settings: Vec<(String, String)> =
            grid.point(at).into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let plan = profile::load("ssd-s", &settings).expect("the bench's own settings");
        Ok(Task { name: String::new(), definition: String::new(), plan })
    };
    (0..grid.len()).map(plan).collect()
}

fn sweep(tasks: &[Planned<DriveConfig>], workload: &Workload, jobs: usize) -> Vec<Outcome> {
    let options = Options { jobs, store: None, watch: &|_| ControlFlow::Continue(()) };
    let measure = |config: &DriveConfig, _: &mut dyn FnMut(Option<f64>) -> ControlFlow<()>| {
        let mut drive = Drive::new(config, Seed(1));
        let options = flashlane_measure::RunOptions { samples: 0, ..Default::default() };
        let run = flashlane_measure::run(&mut drive, workload, options);
        let run = run.map_err(|error| PointError::Failed(error.to_string()))?;
        Ok(RunResult::from(&run).into())
    };
    run(tasks, &options, measure).outcomes
}
