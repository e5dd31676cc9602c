//! Fuzz targets: a body for each reader of outside data.
//!
//! A body takes any bytes and panics when the reader breaks a contract: it MUST NOT panic, accepted input MUST be the
//! same after writing and reading it, and a refusal MUST say where and why. cargo-fuzz runs the bodies with coverage
//! feedback (`fuzz/`); the smoke test here runs them over a fixed budget of seeded mutations, on any toolchain, with
//! every `cargo test`.

mod block_headers;
mod fio_reader;
mod lanes_table;
mod mutate;
mod nbd_session;
mod page_recording;
mod plan_text;
mod profile_reader;
mod result_file;
mod server_requests;
mod spec_grammar;
mod store_pairs;
mod table_csv;
mod trace_container;
mod trace_reader;
mod workload_form;

/// A body and its seeds.
pub struct Target {
    /// Name, also of the stub in `fuzz/fuzz_targets/`.
    pub name: &'static str,
    /// Panics where a contract is broken.
    pub body: fn(&[u8]),
    /// Inputs that reach far into the reader, from which mutations are made.
    pub seeds: &'static [&'static str],
}

/// All targets.
pub const TARGETS: &[Target] = &[
    profile_reader::TARGET,
    spec_grammar::TARGET,
    workload_form::TARGET,
    fio_reader::TARGET,
    plan_text::TARGET,
    trace_reader::TARGET,
    trace_container::TARGET,
    page_recording::TARGET,
    lanes_table::TARGET,
    block_headers::TARGET,
    result_file::TARGET,
    server_requests::TARGET,
    nbd_session::TARGET,
    table_csv::TARGET,
    store_pairs::TARGET,
];

/// Returns target `name`. Panics where there is none, which only a stub with a wrong name can cause.
pub fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("no fuzz target '{name}'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlane_base::Seed;
    use rayon::prelude::*;
    use std::panic::catch_unwind;

    /// Inputs per target; about ten microseconds each.
    const BUDGET: u64 = 35_000;

    #[test]
    fn bodies_pass_the_smoke_budget() {
        for target in TARGETS {
            for seed in target.seeds {
                (target.body)(seed.as_bytes());
            }
            (0..BUDGET).into_par_iter().for_each(|nth| {
                let mut random = Seed(1).derive_nth(target.name, nth).source();
                let input = mutate::input(target.seeds, &mut random);
                if catch_unwind(|| (target.body)(&input)).is_err() {
                    panic!("{} breaks on input {nth}: {:?}", target.name, String::from_utf8_lossy(&input));
                }
            });
        }
    }

    #[test]
    fn every_target_has_a_stub() {
        for target in TARGETS {
            let stub = format!("{}/../../fuzz/fuzz_targets/{}.rs", env!("CARGO_MANIFEST_DIR"), target.name);
            let text = std::fs::read_to_string(&stub).unwrap_or_else(|error| panic!("{stub}: {error}"));
            assert!(text.contains(&format!("\"{}\"", target.name)), "{stub} calls another target");
        }
    }
}
