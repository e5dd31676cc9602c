//! Settings of PostgreSQL 15 to 18.
//!
//! Its planner divides the processor's time of a parallel plan among workers and the device's not at all, and prices a
//! page at random by one constant, whether an index scan reads it alone or a bitmap heap scan with many others in
//! flight, and whether it is in memory or not. A constant between these prices is too high for one and too low for
//! another; only outside of them another value is better for all. (On `ssd-s`, 6.6 times a scanned page alone and 1.3
//! times in flight, queries of the Star Schema Benchmark took 5 times as long with 1.0 as with the default of 4.)
//!
//! The defaults are those of the versions' sample files. What a version's executor keeps in flight:
//!
//! | access | 15, 16 | 17 | 18 |
//! | --- | --- | --- | --- |
//! | sequential scan | 128 KiB, kernel readahead: taken for one more in flight | `io_combine_limit`, one | `io_combine_limit`, as many as `effective_io_concurrency` and `io_workers` allow |
//! | index scan | one page | one page | one page |
//! | bitmap heap scan | `effective_io_concurrency` pages | the same | the smaller of it and `io_workers` |

mod commits;

use crate::proposal::{Advice, Kept, Proposal};
use crate::{CostModel, Reads, Trial};
use flashlane_base::units::format_bytes;

/// What is known of a PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PostgreSql {
    version: u32,
    table_bytes: u64,
    cached_share: f64,
}

/// A value that is not possible.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PostgreSqlError {
    /// A version whose executor is not known.
    #[error("version {0} is not known; allowed: 15 to 18")]
    Version(u32),
    /// A table that is smaller than a page or no larger than nothing.
    #[error("a table of {} has no page; allowed: at least {}", format_bytes(*given), format_bytes(*least))]
    Table {
        /// Bytes given.
        given: u64,
        /// Bytes of a page.
        least: u64,
    },
    /// A share outside 0 to 1.
    #[error("a share of {0} of the pages cannot be cached; allowed: 0 to less than 1")]
    Cached(f64),
}

/// Bytes of a page.
const PAGE: u64 = 8 << 10;
/// The first version that reads asynchronously.
const ASYNCHRONOUS: u32 = 18;
/// The first version that combines reads of pages.
const COMBINES: u32 = 17;
/// Upper limit of `effective_io_concurrency`.
const MOST_CONCURRENCY: u32 = 1000;
/// Upper limit of `io_workers`.
const MOST_WORKERS: u32 = 32;

impl PostgreSql {
    /// Describes a PostgreSQL: its major version, the size of the table that matters, and the largest share of index
    /// accesses whose page is found in memory.
    ///
    /// # Errors
    /// [`PostgreSqlError`] where a value is not possible.
    pub fn new(version: u32, table_bytes: u64, cached_share: f64) -> Result<Self, PostgreSqlError> {
        if !(15..=18).contains(&version) {
            return Err(PostgreSqlError::Version(version));
        }
        if table_bytes < PAGE {
            return Err(PostgreSqlError::Table { given: table_bytes, least: PAGE });
        }
        if !(0.0..1.0).contains(&cached_share) {
            return Err(PostgreSqlError::Cached(cached_share));
        }
        Ok(Self { version, table_bytes, cached_share })
    }

    fn table_pages(&self) -> f64 {
        (self.table_bytes / PAGE) as f64
    }

    /// Returns the default of `effective_io_concurrency`, and since 18 of `maintenance_io_concurrency`.
    fn concurrency(&self) -> u32 {
        if self.version >= ASYNCHRONOUS { 16 } else { 1 }
    }

    /// Returns the largest value of `io_combine_limit`.
    fn most_combined(&self) -> u64 {
        if self.version >= ASYNCHRONOUS { 1 << 20 } else { 256 << 10 }
    }

    /// Returns a scan of the table in requests of `request_bytes`, by `processes` at once.
    fn scan(&self, request_bytes: u64, processes: u32, workers: u32) -> Vec<Reads> {
        let each = match self.version {
            ..COMBINES => 2,
            COMBINES => 1,
            _ => self.concurrency(),
        };
        let depth =
            if self.version >= ASYNCHRONOUS { (each * processes).min(workers) } else { each * processes };
        vec![Reads::Scan { pages: self.table_pages(), request_bytes, depth }]
    }

    fn bitmap(&self, depth: u32) -> Vec<Reads> {
        // One page of a hundred, as many as pages lie far apart and an index still pays.
        vec![Reads::Random {
            pages: (self.table_pages() / 100.0).ceil(),
            band_pages: self.table_pages(),
            depth,
        }]
    }
}

/// Default of `io_combine_limit`, and the window of the kernel's readahead.
const COMBINED: u64 = 128 << 10;
/// Default of `io_workers`.
const WORKERS: u32 = 3;
const WORKERS_NAME: &str = "io_workers";
const CONCURRENCY_NAME: &str = "effective_io_concurrency";
const PAGE_COST_NAME: &str = "random_page_cost";
/// Default of `random_page_cost`.
const PAGE_COST: f64 = 4.0;
/// Default of `max_parallel_workers_per_gather`.
const PARALLEL: u32 = 2;
/// Default of `max_parallel_workers`, which limits all queries together.
const MOST_PARALLEL: u32 = 8;

/// Returns settings of this PostgreSQL for the device of `model`.
///
/// # Panics
/// If the model's pages are not those of PostgreSQL, 8 KiB.
pub fn postgresql(model: &CostModel, database: &PostgreSql) -> Advice {
    assert_eq!(model.page_bytes(), PAGE, "a model of PostgreSQL has its pages");
    let mut advice = Advice::default();
    let deepest = model.depth_of_random(database.table_pages());
    // First the limit of all asynchronous reads, which the proposals after it rely on.
    let workers = if database.version >= ASYNCHRONOUS {
        let proposed = deepest.clamp(WORKERS, MOST_WORKERS);
        advice.consider(model, database.io_workers(model, proposed));
        if advice.proposals.is_empty() { WORKERS } else { proposed }
    } else {
        u32::MAX
    };
    let relies_on = (!advice.proposals.is_empty()).then_some(WORKERS_NAME);
    let with = |proposal| Proposal { relies_on, ..proposal };
    let concurrency = database.io_concurrency(model, workers, deepest);
    let (now, proposed) = (database.concurrency(), database.proposed_concurrency(workers, deepest));
    advice.consider(model, with(concurrency));
    let is_proposed = advice.proposals.iter().any(|proposal| proposal.name == CONCURRENCY_NAME);
    let in_flight = if is_proposed { proposed } else { now }.min(workers);
    if database.version >= COMBINES {
        advice.consider(model, with(database.combine_limit(model, workers)));
    }
    advice.consider(model, with(database.parallel_workers(model, workers)));
    match database.page_cost(model, workers, in_flight) {
        Ok(proposal) => advice.consider(model, with(proposal)),
        Err(kept) => advice.kept.push(kept),
    }
    match commits::delay(model) {
        Ok(proposal) => advice.consider(model, proposal),
        Err(kept) => advice.kept.push(kept),
    }
    advice
}

fn us(ns: f64) -> String {
    format!("{:.1} µs", ns / 1e3)
}

/// Returns the times of a page at random with which the gain of a trial is predicted.
fn at_random(model: &CostModel, first: &[Reads], second: &[Reads]) -> String {
    let page = |reads: &[Reads]| match reads {
        [Reads::Random { band_pages, depth, .. }] => {
            (model.random_page(*band_pages, *depth).mean / 1e3, *depth)
        }
        _ => unreachable!("a bitmap heap scan is one pattern"),
    };
    let ((first_us, first), (second_us, second)) = (page(first), page(second));
    format!(
        "a page at random takes {first_us:.1} µs with {first} in flight and {second_us:.1} µs with {second}"
    )
}

/// Returns the depth of a single pattern.
fn depth_of(reads: &[Reads]) -> u32 {
    match reads {
        [Reads::Scan { depth, .. } | Reads::Random { depth, .. }] => *depth,
        _ => unreachable!("a scan is one pattern"),
    }
}

impl PostgreSql {
    fn on_bitmap(&self) -> String {
        format!("a bitmap heap scan of 1% of the pages of a table of {}", format_bytes(self.table_bytes))
    }

    fn on_scan(&self) -> String {
        format!("a sequential scan of a table of {}", format_bytes(self.table_bytes))
    }

    fn io_workers(&self, model: &CostModel, proposed: u32) -> Proposal {
        let in_flight = proposed.min(self.concurrency());
        let (first, second) = (self.bitmap(WORKERS), self.bitmap(in_flight));
        Proposal {
            name: WORKERS_NAME.into(),
            now: WORKERS.to_string(),
            proposed: proposed.to_string(),
            scope: "server; reload",
            apply: format!("ALTER SYSTEM SET io_workers = {proposed}; SELECT pg_reload_conf();"),
            undo: "ALTER SYSTEM RESET io_workers; SELECT pg_reload_conf();".into(),
            measured: format!(
                "{}, of which effective_io_concurrency allows {} at first",
                at_random(model, &first, &second),
                self.concurrency()
            ),
            formula: "fewest in flight whose time of a page is within 5% of the best; with io_method = worker each \
                      worker has one read in flight",
            void_when: "io_method is io_uring or sync",
            on: self.on_bitmap(),
            trial: Trial::reads(first, second),
            relies_on: None,
        }
    }

    /// Returns the value of `effective_io_concurrency` to propose. More than the workers would wait for them.
    fn proposed_concurrency(&self, workers: u32, deepest: u32) -> u32 {
        if deepest >= workers { workers.max(self.concurrency()) } else { deepest.min(MOST_CONCURRENCY) }
    }

    fn io_concurrency(&self, model: &CostModel, workers: u32, deepest: u32) -> Proposal {
        let now = self.concurrency();
        let proposed = self.proposed_concurrency(workers, deepest);
        let (first, second) = (self.bitmap(now.min(workers)), self.bitmap(proposed.min(workers)));
        let is_asynchronous = self.version >= ASYNCHRONOUS;
        Proposal {
            name: CONCURRENCY_NAME.into(),
            now: now.to_string(),
            proposed: proposed.to_string(),
            scope: "session, tablespace or server; no restart",
            apply: format!(
                "ALTER SYSTEM SET effective_io_concurrency = {proposed}; SELECT pg_reload_conf();"
            ),
            undo: "ALTER SYSTEM RESET effective_io_concurrency; SELECT pg_reload_conf();".into(),
            measured: at_random(model, &first, &second),
            formula: if is_asynchronous {
                "fewest in flight whose time of a page is within 5% of the best; no more than io_workers"
            } else {
                "fewest in flight whose time of a page is within 5% of the best"
            },
            void_when: if is_asynchronous {
                "io_workers is smaller with io_method = worker, other sessions keep the device busy, or most pages are \
                 found in memory"
            } else {
                "other sessions keep the device busy, or most pages are found in memory"
            },
            on: self.on_bitmap(),
            trial: Trial::reads(first, second),
            relies_on: None,
        }
    }

    fn combine_limit(&self, model: &CostModel, workers: u32) -> Proposal {
        let in_flight = depth_of(&self.scan(COMBINED, 1, workers));
        // Smaller requests than the default would be no gain.
        let proposed = model.size_of_scan(in_flight, self.most_combined()).max(COMBINED);
        let value = |bytes: u64| format!("{}kB", bytes >> 10);
        let (scope, apply, undo) = if self.version >= ASYNCHRONOUS {
            let value = value(proposed);
            (
                "session or server; above io_max_combine_limit, that too, with a restart",
                format!(
                    "ALTER SYSTEM SET io_max_combine_limit = '{value}'; ALTER SYSTEM SET io_combine_limit = '{value}'; then restart"
                ),
                "ALTER SYSTEM RESET io_max_combine_limit; ALTER SYSTEM RESET io_combine_limit; then restart",
            )
        } else {
            (
                "session or server; no restart",
                format!(
                    "ALTER SYSTEM SET io_combine_limit = '{}'; SELECT pg_reload_conf();",
                    value(proposed)
                ),
                "ALTER SYSTEM RESET io_combine_limit; SELECT pg_reload_conf();",
            )
        };
        let page = |bytes| us(model.scanned_page(bytes, in_flight).mean);
        Proposal {
            name: "io_combine_limit".into(),
            now: value(COMBINED),
            proposed: value(proposed),
            scope,
            apply,
            undo: undo.into(),
            measured: format!(
                "a page of a scan takes {} in requests of {} and {} in requests of {}",
                page(COMBINED),
                format_bytes(COMBINED),
                page(proposed),
                format_bytes(proposed)
            ),
            formula: "smallest request whose time of a page is within 5% of the best",
            void_when: "the table is in the page cache",
            on: self.on_scan(),
            trial: Trial::reads(self.scan(COMBINED, 1, workers), self.scan(proposed, 1, workers)),
            relies_on: None,
        }
    }

    fn parallel_workers(&self, model: &CostModel, workers: u32) -> Proposal {
        let processes = |parallel: u32| depth_of(&self.scan(COMBINED, parallel + 1, workers));
        let time = |parallel: u32| model.scanned_page(COMBINED, processes(parallel)).mean;
        let best = (0..=MOST_PARALLEL).map(time).fold(f64::INFINITY, f64::min);
        let enough =
            (0..=MOST_PARALLEL).find(|parallel| time(*parallel) <= best * 1.05).unwrap_or(MOST_PARALLEL);
        // Workers share the processor's work too, of which this knows nothing: no fewer than the default.
        let proposed = enough.max(PARALLEL);
        Proposal {
            name: "max_parallel_workers_per_gather".into(),
            now: PARALLEL.to_string(),
            proposed: proposed.to_string(),
            scope: "session or server; no restart",
            apply: format!(
                "ALTER SYSTEM SET max_parallel_workers_per_gather = {proposed}; SELECT pg_reload_conf();"
            ),
            undo: "ALTER SYSTEM RESET max_parallel_workers_per_gather; SELECT pg_reload_conf();".into(),
            measured: format!(
                "a page of a scan takes {} with {} requests in flight and {} with {}",
                us(time(PARALLEL)),
                processes(PARALLEL),
                us(time(proposed)),
                processes(proposed)
            ),
            formula: "fewest workers whose time of a page is within 5% of the best; no fewer than the default",
            void_when: "the query is bound by the processor, or there are fewer cores than workers",
            on: self.on_scan(),
            trial: Trial::reads(
                self.scan(COMBINED, PARALLEL + 1, workers),
                self.scan(COMBINED, proposed + 1, workers),
            ),
            relies_on: None,
        }
    }

    /// Proposes `random_page_cost`, where the default is outside the prices of a page at random: from one that is read
    /// with `in_flight` others by a bitmap heap scan, and is in memory as often as `cached_share` says, to one that an
    /// index scan reads alone, and that never is. The proposed value is the nearest price, so that no access is priced
    /// worse than now.
    ///
    /// # Errors
    /// Why the default stays, where it is one of these prices.
    fn page_cost(&self, model: &CostModel, workers: u32, in_flight: u32) -> Result<Proposal, Kept> {
        let scan = self.scan(COMBINED, 1, workers);
        let scanned = model.scanned_page(COMBINED, depth_of(&scan));
        let price = |depth| model.random_page(self.table_pages(), depth).over(scanned).mean;
        let missed = 1.0 - self.cached_share;
        let (alone, deep) = (price(1), price(in_flight));
        let percent = (100.0 * self.cached_share).round();
        let cached =
            if percent > 0.0 { format!("; up to {percent}% are found in memory") } else { String::new() };
        let measured = format!(
            "a page at random takes {alone:.1} times as long as a scanned one if it is read alone, and {deep:.1} times with \
             {in_flight} in flight{cached}"
        );
        let tenths = |price: f64| price * 10.0;
        // To the inside of the prices, so that rounding does not pass the outermost one.
        let proposed = if alone < PAGE_COST {
            (tenths(alone).ceil() / 10.0).max(1.0)
        } else {
            (tenths(deep * missed).floor() / 10.0).max(PAGE_COST)
        };
        if proposed == PAGE_COST {
            let why = format!("{measured}: any other value suits one of these less");
            return Err(Kept {
                name: PAGE_COST_NAME.into(),
                now: format!("{PAGE_COST:.1}"),
                why,
                is_undecided: false,
            });
        }
        // The query for which the two values disagree most: its random pages cost as much as the scan at the geometric
        // mean of both values. One of the two plans is chosen now, the other one is with the proposed value. Of the
        // accesses the one that gains least is predicted.
        let priced = self.table_pages() / (PAGE_COST * proposed).sqrt();
        let is_lower = proposed < PAGE_COST;
        let (pages, depth) = if is_lower { (priced, 1) } else { (priced * missed, in_flight) };
        let random = vec![Reads::Random { pages, band_pages: self.table_pages(), depth }];
        let (plan, trial) = match is_lower {
            true => ("index", Trial::reads(scan, random)),
            false => ("bitmap", Trial::reads(random, scan)),
        };
        Ok(Proposal {
            name: PAGE_COST_NAME.into(),
            now: format!("{PAGE_COST:.1}"),
            proposed: format!("{proposed:.1}"),
            scope: "session, tablespace or server; no restart",
            apply: format!("ALTER SYSTEM SET random_page_cost = {proposed:.1}; SELECT pg_reload_conf();"),
            undo: "ALTER SYSTEM RESET random_page_cost; SELECT pg_reload_conf();".into(),
            measured,
            formula: "nearest of the times of a random page over that of a scanned one: from those in flight, times the share not \
                      found in memory, to one read alone; at least 1",
            void_when: "more pages are found in memory (--cached), or many sessions read at once",
            on: format!(
                "a query whose {plan} scan reads {priced:.0} pages of a table of {}, where the two values choose different \
                 plans",
                format_bytes(self.table_bytes)
            ),
            trial,
            relies_on: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Estimate, RandomCost, ScanCost};

    /// A device on which twice as many reads in flight take half the time each, up to `deepest`.
    fn model(deepest: u32) -> CostModel {
        let sure = |mean: f64| Estimate { mean, half_width: mean * 0.001 };
        let depths = || (0..7).map(|power| 1_u32 << power);
        let time = |depth: u32| sure(64_000.0 / f64::from(depth.min(deepest)));
        let random = depths().map(|depth| RandomCost { band_pages: 1 << 17, depth, page_ns: time(depth) });
        let scan = |depth| ScanCost { request_bytes: COMBINED, depth, page_ns: sure(1000.0) };
        CostModel::new(PAGE, 1 << 17, random.collect(), depths().map(scan).collect())
    }

    fn proposal(version: u32, deepest: u32, name: &str) -> Option<Proposal> {
        let database = PostgreSql::new(version, 1 << 30, 0.9).expect("possible values");
        postgresql(&model(deepest), &database).proposals.into_iter().find(|proposal| proposal.name == name)
    }

    #[test]
    fn evidence_gives_the_predicted_gain() {
        // 64 reads in flight are best, but no more than 32 workers read. 1311 pages are read, and at the end half the
        // time of a read more, that of all in flight but one.
        let pages = |depth: f64| 1311.0 + (depth - 1.0) / 2.0;
        for (name, proposed, evidence, gain) in [
            (
                "io_workers",
                "32",
                "21.3 µs with 3 in flight and 4.0 µs with 16",
                16.0 / 3.0 * pages(3.0) / pages(16.0),
            ),
            (
                "effective_io_concurrency",
                "32",
                "4.0 µs with 16 in flight and 2.0 µs with 32",
                2.0 * pages(16.0) / pages(32.0),
            ),
        ] {
            let proposal = proposal(18, 64, name).expect("it gains");
            assert_eq!(proposal.proposed, proposed, "{name}");
            assert!(proposal.measured.contains(evidence), "{}", proposal.measured);
            assert!((proposal.gain(&model(64)).mean / gain - 1.0).abs() < 1e-9, "{name}");
        }
        let concurrency = proposal(18, 64, "effective_io_concurrency").expect("it gains");
        assert!(concurrency.void_when.contains("io_workers"), "{}", concurrency.void_when);
    }

    /// A device on which a page alone takes `alone` times as long as a scanned one, and with others in flight `deep`
    /// times.
    fn priced(alone: f64, deep: f64) -> CostModel {
        let sure = |mean: f64| Estimate { mean, half_width: mean * 0.001 };
        let cost = |depth, mean| RandomCost { band_pages: 1 << 17, depth, page_ns: sure(mean) };
        let scan = ScanCost { request_bytes: COMBINED, depth: 2, page_ns: sure(1000.0) };
        CostModel::new(PAGE, 1 << 17, vec![cost(1, alone * 1e3), cost(8, deep * 1e3)], vec![scan])
    }

    #[test]
    fn page_cost_moves_only_to_the_nearest_of_the_prices() {
        // Alone, in flight, share found in memory: the value, and the gain of the access that gains least.
        for (alone, deep, cached, expected) in [
            // ssd-s and nvme-tlc: cheaper in flight and dearer alone than the default.
            (6.6, 1.3, 0.9, None),
            (37.0, 1.3, 0.9, None),
            // A flash card: 4 is above all.
            (1.48, 1.1, 0.9, Some(("1.5", (4.0_f64 * 1.5).sqrt() / 1.48))),
            (0.5, 0.5, 0.0, Some(("1.0", 4.0))),
            // A disk, of which little is in memory: 4 is below all, unless more is.
            (120.0, 60.0, 0.75, Some(("15.0", (15.0_f64 / 4.0).sqrt()))),
            (120.0, 60.0, 0.95, None),
        ] {
            let database = PostgreSql::new(15, 1 << 30, cached).expect("possible values");
            let model = priced(alone, deep);
            let advice = postgresql(&model, &database);
            let found = advice.proposals.iter().find(|proposal| proposal.name == PAGE_COST_NAME);
            assert_eq!(
                found.map(|found| found.proposed.as_str()),
                expected.map(|(value, _)| value),
                "{alone} {deep}"
            );
            if let (Some(found), Some((_, gain))) = (found, expected) {
                assert!((found.gain(&model).mean / gain - 1.0).abs() < 1e-3, "{:?}", found.gain(&model));
            } else {
                let kept = advice.kept.iter().find(|kept| kept.name == PAGE_COST_NAME).expect("it stays");
                assert!(kept.why.contains("suits one of these less"), "{}", kept.why);
            }
        }
    }

    #[test]
    fn share_found_in_memory_is_named_unless_it_is_zero() {
        for (cached, expected) in
            [(0.9, "8 in flight; up to 90% are found in memory: any"), (0.0, "8 in flight: any")]
        {
            let database = PostgreSql::new(15, 1 << 30, cached).expect("possible values");
            let advice = postgresql(&priced(37.0, 1.3), &database);
            let kept = advice.kept.iter().find(|kept| kept.name == PAGE_COST_NAME).expect("it stays");
            assert!(kept.why.contains(expected), "{}", kept.why);
        }
    }

    #[test]
    fn concurrency_is_limited_by_no_workers_before_version_18() {
        let proposal = proposal(17, 64, "effective_io_concurrency").expect("it gains");
        assert_eq!(proposal.proposed, "64");
        assert!(!proposal.void_when.contains("io_workers"), "{}", proposal.void_when);
    }

    #[test]
    fn concurrency_above_the_workers_is_kept() {
        assert!(proposal(18, 2, "io_workers").is_none());
        assert!(proposal(18, 2, "effective_io_concurrency").is_none());
        assert!(proposal(18, 16, "effective_io_concurrency").is_none());
    }
}
