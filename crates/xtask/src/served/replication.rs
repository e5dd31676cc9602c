//! The table of transactions with the layer `replicated` and without (he14, figure 7).

use super::benchmark::{Measured, Transactions, distinct, median};
use std::fmt::Write;

/// Returns a table for each device, with the changes by the layer.
pub fn replication_table(measured: &Measured) -> String {
    let all = measured.transactions();
    let mut text = String::new();
    for device in distinct(all.iter().map(|run| run.device.as_str())) {
        let _ = writeln!(text, "{device}");
        text += "           transactions/s      mean, ms                slowest hundredth, ms\n";
        text += "           plain    layer      plain    layer  change    plain    layer  change\n";
        let of_device = |run: &&Transactions| run.device == device;
        for benchmark in distinct(all.iter().filter(of_device).map(|run| run.benchmark.as_str())) {
            let both = |of: fn(&Transactions) -> f64| {
                ["plain", "layer"].map(|form| {
                    let runs = all.iter().filter(of_device).filter(|run| run.benchmark == benchmark);
                    let values: Vec<_> = runs.filter(|run| run.form == form).map(of).collect();
                    if values.is_empty() { f64::NAN } else { median(values) }
                })
            };
            let [plain, layer] = both(|run| run.per_s);
            let _ = write!(text, "{benchmark:<7}{plain:>9.0}{layer:>9.0}  ");
            for [plain, layer] in [both(|run| run.mean_ms), both(|run| run.slowest_ms)] {
                let change = (layer / plain - 1.0) * 100.0;
                let _ = write!(text, "{plain:>9.2}{layer:>9.2}  {change:>+5.0}%");
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text + &measured.verdicts()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_those_of_the_layer() {
        let rows = "transactions\tsim:a\ttpc-b\tplain\t100\t10\t200\ntransactions\tsim:a\ttpc-b\tlayer\t125\t8\t100\n\
            lateness\tsim:a, tpc-b, plain\t\n";
        let table = replication_table(&Measured::read(rows).unwrap());
        let row = table.lines().find(|line| line.starts_with("tpc-b")).unwrap();
        let words: Vec<_> = row.split_whitespace().collect();
        assert_eq!(words, ["tpc-b", "100", "125", "10.00", "8.00", "-20%", "200.00", "100.00", "-50%"]);
        assert!(table.contains("sim:a, tpc-b, plain: valid"), "{table}");
    }
}
