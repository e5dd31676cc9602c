//! The table: a row for each size of values and phase, with the median of the rounds of each store.

use crate::measured::Measured;
use crate::stores::Name;
use crate::workload::Phase;

/// Phases of the figures.
const COMPARED: [Phase; 4] = [Phase::LoadInOrder, Phase::LoadAtRandom, Phase::ReadRandom, Phase::Overwrite];
/// Values from here on are large.
const LARGE_BYTES: usize = 16 << 10;

/// Prints a table for each size of values, then the least ratios of the figures.
pub fn print(all: &[Measured]) {
    let mut least = [f64::INFINITY; 2];
    let mut sizes: Vec<usize> = all.iter().map(|measured| measured.value_bytes).collect();
    sizes.dedup();
    for size in sizes {
        println!("\nvalues of {size} bytes");
        println!(
            "{:15} {:10} {:>10} {:>9} {:>9} {:>10} {:>11} {:>9} {:>7} {:>7} {:>8}",
            "phase", "store", "1/s", "MB/s", "settle s", "CPU us", "p99 us", "max ms", "write", "space", "MB"
        );
        for phase in Phase::ALL {
            let of_phase = || all.iter().filter(move |one| one.value_bytes == size && one.phase == phase);
            let mut best: Option<(Name, f64)> = None;
            let mut own = None;
            for name in [Name::Flashlane, Name::Rocksdb, Name::Fjall] {
                let rounds: Vec<&Measured> = of_phase().filter(|one| one.store == name).collect();
                if rounds.is_empty() {
                    continue;
                }
                let median =
                    |of: &dyn Fn(&Measured) -> f64| median(rounds.iter().map(|one| of(one)).collect());
                let rate = median(&|one| one.operations as f64 / one.seconds);
                match name {
                    Name::Flashlane => own = Some(rate),
                    _ if best.is_none_or(|(_, best)| rate > best) => best = Some((name, rate)),
                    _ => {}
                }
                let write = median(&|one| one.write_amplification.unwrap_or(f64::NAN));
                println!(
                    "{:15} {:10} {rate:>10.0} {:>9.1} {:>9.2} {:>10.2} {:>11.1} {:>9.1} {:>7} {:>7.2} {:>8.0}",
                    format!("{phase:?}"),
                    format!("{name:?}"),
                    rate * (16 + size) as f64 / 1e6,
                    median(&|one| one.settle_seconds),
                    median(&|one| one.cpu_us),
                    median(&|one| one.p99_us),
                    median(&|one| one.longest_ms),
                    if write.is_nan() { "-".into() } else { format!("{write:.2}") },
                    median(&|one| one.space_amplification),
                    median(&|one| one.memory_mb),
                );
            }
            if let (Some(own), Some((name, best))) = (own, best) {
                println!("{phase:?}, values of {size}: {:.2} of {name:?}", own / best);
                if COMPARED.contains(&phase) {
                    let least = &mut least[usize::from(size >= LARGE_BYTES)];
                    *least = least.min(own / best);
                }
            }
        }
    }
    println!();
    for (what, least) in ["values of 100 B and 1 KB", "values of 16 KB and more"].iter().zip(least) {
        if least.is_finite() {
            println!("least ratio, {what}: {least:.2}");
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
