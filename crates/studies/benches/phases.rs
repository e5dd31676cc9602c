//! The score of detecting start-up and period on random drives: one line per figure.
//!
//! `cargo bench --bench phases`, and `-- N` for another number of drives than 200, `-- N SEED` for other drives;
//! `cargo test --benches` runs it small.

mod process;

use flashlane_base::Seed;
use flashlane_studies::phase_score::score;
use process::user_cpu_s;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    // Cargo passes `--bench` to a benchmark; without it this is a test.
    let small = !arguments.iter().any(|argument| argument == "--bench");
    let mut numbers = arguments.iter().filter_map(|argument| argument.parse::<u64>().ok());
    let drives = numbers.next().unwrap_or(if small { 4 } else { 200 });
    let seed = Seed(numbers.next().unwrap_or(0));
    let before = user_cpu_s();
    let score = score(drives, seed, &|_| true);
    for tally in &score.features {
        let share = |count: u64, of: u64| 100.0 * count as f64 / of.max(1) as f64;
        let (name, present, absent) = (tally.feature, tally.present, tally.absent);
        println!("phases-{name}-found: {:.1} % of the {present} that have one", share(tally.found, present));
        println!("phases-{name}-missed: {} and wrong: {}", tally.missed, tally.wrong);
        println!("phases-{name}-invented: {} of the {absent} that have none", tally.invented);
    }
    for mistake in &score.mistakes {
        let (feature, truth) = (mistake.feature, mistake.truth);
        println!("drive {}: {feature} {} of {truth:?} {:?}", mistake.drive, mistake.answer, mistake.doubts);
    }
    println!("phases-score-time: {:.1} s of user CPU for {drives} drives", user_cpu_s() - before);
}
