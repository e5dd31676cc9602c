//! The paper's real drives (section 5.3): the layer `replicated` over drives of their kinds.
//!
//! - Size. A tenth of the paper's drives, since the databases are a tenth (of TPC-C, a twentieth): blocks are left out,
//!   chips stay. Partitions are as many as in the paper.
//! - Fragmented. Written at random all over, as the paper's drives were by whatever ran on them before.
//! - Write cache. On and off. Where it is on, writes wait for room in it and not for a chip, and a copy waits as they
//!   do. Tables 3 to 5 and the interference are with it off.
//! - Rounds. The layer copies pages while that makes accesses faster, which it measures from the warm-up on. Tables 3
//!   and 4 count what the paper's algorithm does, which never stops: for them the layer always copies.
//! - Copies. A page has three places at most, its own included, as on all of the paper's real drives.
//! - Load. The recorded transactions, with ten clients without think time, and with the processor time of a present
//!   machine.

use super::method::{Measured, TM_1, TPC_B, TPC_C, WORKLOADS, Workload};
use crate::FigureError;
use crate::lab::Lab;
use flashlane_layer::replicated::Settings;
use flashlane_transactions::Setup;
use std::collections::BTreeMap;

/// A drive like one of the paper's.
pub(super) struct Ssd {
    /// Its name in the paper.
    pub(super) name: &'static str,
    /// The shared measurement of its runs.
    pub(super) runs: &'static str,
    profile: &'static str,
    /// Blocks of a plane, and the capacity.
    size: [(&'static str, &'static str); 2],
    pub(super) partitions: u32,
    is_in_table_3: bool,
    is_in_table_4: bool,
    is_in_table_5: bool,
}

const fn ssd(
    name: &'static str,
    runs: &'static str,
    profile: &'static str,
    [blocks, capacity]: [&'static str; 2],
    partitions: u32,
) -> Ssd {
    let size = [("flash.blocks", blocks), ("capacity", capacity)];
    Ssd {
        name,
        runs,
        profile,
        size,
        partitions,
        is_in_table_3: false,
        is_in_table_4: false,
        is_in_table_5: false,
    }
}

pub(super) const MTRON: Ssd =
    Ssd { is_in_table_3: true, ..ssd("Mtron", "runs-mtron", "mtron-like", ["3141", "6144MiB"], 8) };
pub(super) const X25_M: Ssd = ssd("X25-M", "runs-x25-m", "ssd-m", ["825", "7680MiB"], 16);
pub(super) const X25_E: Ssd =
    Ssd { is_in_table_4: true, ..ssd("X25-E", "runs-x25-e", "ssd-s", ["1649", "6144MiB"], 16) };
pub(super) const VECTOR: Ssd = Ssd {
    is_in_table_4: true,
    is_in_table_5: true,
    ..ssd("Vector", "runs-vector", "vector-like", ["206", "24576MiB"], 16)
};
pub(super) const I335: Ssd = ssd("335", "runs-335", "intel-335-like", ["206", "23040MiB"], 16);
/// In the paper's order.
pub(super) const SSDS: [&Ssd; 5] = [&MTRON, &X25_M, &X25_E, &VECTOR, &I335];

/// Places of a page at most (section 5.3).
const PLACES: u32 = 3;

/// The write cache, as in the profiles, and without.
pub(super) const ON: &str = "on";
pub(super) const OFF: &str = "off";

pub(super) const PLAIN: &str = "plain";
pub(super) const LAYER: &str = "layer";
pub(super) const ALWAYS: &str = "layer that always copies";
pub(super) const ALWAYS_LRU: &str = "layer that always copies, by lru";
pub(super) const CFLRU_E: &str = "CFLRU/E";
pub(super) const LAYER_CFLRU_E: &str = "CFLRU/E and layer";

/// A run of a workload: the write cache, the form, the policy of its copies, and the pool.
type Form = (&'static str, &'static str, Option<&'static str>, &'static str);

/// Runs of all drives and workloads.
const FORMS: [Form; 4] = [
    (ON, PLAIN, None, "lru"),
    (ON, LAYER, Some("pblru"), "lru"),
    (OFF, PLAIN, None, "lru"),
    (OFF, LAYER, Some("pblru"), "lru"),
];
/// Those of tables 3 and 4, and the other of table 4.
const BY_PBLRU: Form = (OFF, ALWAYS, Some("pblru"), "lru");
const BY_LRU: Form = (OFF, ALWAYS_LRU, Some("lru"), "lru");
/// Those of table 5, which is of TPC-C.
const BY_CFLRU_E: [Form; 2] =
    [(OFF, CFLRU_E, None, "cflru-e"), (OFF, LAYER_CFLRU_E, Some("pblru"), "cflru-e")];

impl Ssd {
    /// The weight of its runs among a study's measurements: their number.
    pub(super) const fn weight(&self) -> u32 {
        let counted = self.is_in_table_3 || self.is_in_table_4;
        let runs = FORMS.len() + if counted { 1 } else { 0 } + if self.is_in_table_4 { 1 } else { 0 };
        (runs * WORKLOADS.len() + if self.is_in_table_5 { BY_CFLRU_E.len() } else { 0 }) as u32
    }

    fn forms(&self, workload: &Workload) -> Vec<Form> {
        let mut forms = FORMS.to_vec();
        if self.is_in_table_3 || self.is_in_table_4 {
            forms.push(BY_PBLRU);
        }
        if self.is_in_table_4 {
            forms.push(BY_LRU);
        }
        if self.is_in_table_5 && workload.name == TPC_C.name {
            forms.extend(BY_CFLRU_E);
        }
        forms
    }

    fn settings(&self, cache: &str) -> Vec<(&'static str, &'static str)> {
        let mut settings = self.size.to_vec();
        settings.push(("initial.state", "fragmented"));
        // The layer gains most where chips stand still for whole victims; the profiles of recent drives pace their GC.
        settings.push(("cleaning.pacing", "watermark"));
        if cache == OFF {
            settings.push(("buffer.policy", "none"));
        }
        settings
    }
}

/// Transactions that are measured, and those before: as many as use up the free blocks of the largest drive.
fn transactions(workload: &Workload) -> (u64, u64) {
    match workload.name {
        name if name == TPC_C.name => (1_500, 1_500),
        name if name == TPC_B.name => (20_000, 20_000),
        name if name == TM_1.name => (50_000, 50_000),
        name => unreachable!("there is no workload {name}"),
    }
}

fn key(workload: &str, cache: &str, form: &str) -> String {
    format!("{workload}, cache {cache}, {form}")
}

/// The runs of a drive.
pub(super) struct Runs(BTreeMap<String, Measured>);

impl Runs {
    pub(super) fn of(lab: &Lab<'_>, ssd: &Ssd) -> Self {
        Self(lab.shared(ssd.runs))
    }

    pub(super) fn get(&self, workload: &Workload, cache: &str, form: &str) -> &Measured {
        &self.0[&key(workload.name, cache, form)]
    }
}

/// Copies in percent of the pages that the pool wrote: both are database pages.
pub(super) fn extra_percent(of: &Measured) -> f64 {
    100.0 * of.counted("copies_written") / of.pool_writes as f64
}

/// Time in which copies were accessed while other accesses were in flight, in percent of the partitions' time.
pub(super) fn interference_percent(of: &Measured, ssd: &Ssd) -> f64 {
    100.0 * of.counted("copies_interference_ns") / (f64::from(ssd.partitions) * of.elapsed_ns)
}

/// Runs all workloads on a drive.
pub(super) fn all(lab: &mut Lab<'_>, ssd: &Ssd) -> Result<serde_json::Value, FigureError> {
    let mut runs = BTreeMap::new();
    for workload in WORKLOADS {
        for form in ssd.forms(workload) {
            let lab = lab.part(1);
            let (cache, name, ..) = form;
            runs.insert(key(workload.name, cache, name), one(lab, ssd, workload, form)?);
            lab.advance(1.0)?;
        }
    }
    Ok(serde_json::to_value(runs).expect("numbers with names are a value"))
}

fn one(
    lab: &mut Lab<'_>,
    ssd: &Ssd,
    workload: &Workload,
    (cache, name, policy, pool): Form,
) -> Result<Measured, FigureError> {
    let (transactions, warmup) = transactions(workload);
    let share = lab.either(1, 20);
    let setup = Setup {
        buffer: pool.into(),
        transactions: Some(transactions / share),
        warmup: warmup / share,
        ..Setup::default()
    };
    let layer = policy.map(|policy| Settings {
        partitions: ssd.partitions,
        copies: Some(PLACES),
        policy: policy.into(),
        always: [ALWAYS, ALWAYS_LRU].contains(&name),
        ..Settings::default()
    });
    let mut recording = workload.recording(lab)?;
    let settings = ssd.settings(cache);
    Ok(Measured::of(&lab.transactions(ssd.profile, &settings, layer, &mut recording, &setup)?))
}
