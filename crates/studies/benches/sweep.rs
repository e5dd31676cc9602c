//! What a second core is worth to a sweep: the wall time of 64 runs one after the other, as a multiple of that of the
//! same 64 runs two at a time. Runs of 0.1 s, as a user's shortest, have a line of their own beside runs of 20 ms,
//! which mostly make drives. The control is the machine's limit, with nothing of ours in common: the same runs in two
//! processes, half each, one after the other and both at once.
//!
//! Everything is measured in turn and counts with its fastest round: other work on the machine only ever slows a round
//! down. Where something else keeps the cores busy all the time the ratios mean nothing; the user CPU of both, printed
//! beside them, then tells at least whether two at a time cost more than one after the other.
//!
//! `cargo bench --bench sweep`; `cargo test` runs it small, so that it cannot rot.

mod process;

use flashlane_base::{Duration, Seed};
use flashlane_result::run::RunResult;
use flashlane_sim::config::DriveConfig;
use flashlane_sim::{Drive, profile};
use flashlane_sweep::{Grid, Halt, Options, Outcome, Planned, Task, run};
use flashlane_workload::Workload;
use process::user_cpu_s;
use std::ops::ControlFlow;
use std::process::Command;

const KEYS: [&str; 2] = ["buffer.size=1MiB..8MiB*2", "flash.channels=8..23+1"];

/// How this program calls itself to do half of the runs: `--half 0 --requests 400000`.
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
    // Cargo says so when it benchmarks; without it this is a test.
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
            // On a thread that has made no drives yet, as a program's is: one that has keeps their memory.
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

/// The control: what two processes gain that share the machine and nothing else.
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

/// Has both halves of the runs done, each by a process of its own.
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
        let options = flashlane_measure::Options { samples: 0, watch: None };
        let run = flashlane_measure::run(&mut drive, workload, options);
        let run = run.map_err(|error| Halt::Failed(error.to_string()))?;
        serde_json::to_value(RunResult::from(&run)).map_err(|error| Halt::Failed(error.to_string()))
    };
    run(tasks, &options, measure).outcomes
}
