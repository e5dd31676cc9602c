//! Doubts about verification: mismatches, or no data checked.

use super::Doubt;
use crate::{Misread, Run};
use flashlane_base::units::exact_bytes;
use flashlane_workload::Job;

impl Run {
    /// Reports mismatches, or that no data was checked.
    pub(super) fn doubt_about_verify(&self) -> Option<Doubt> {
        let verified = self.verified.as_ref()?;
        if verified.mismatches > 0 {
            return Some(Doubt::Mismatches {
                units: verified.mismatches,
                unit_bytes: verified.unit_bytes,
                first: verified.first_mismatches.clone(),
            });
        }
        let has_writes = self.workload.jobs.iter().any(|job: &Job| job.mix.changes().is_some());
        verified.checked_nothing().then_some(Doubt::NothingVerified { has_writes })
    }
}

pub(super) fn mismatches(units: u64, unit_bytes: u64, first: &[Misread]) -> String {
    let unit = exact_bytes(unit_bytes);
    let misreads: Vec<String> = first.iter().map(ToString::to_string).collect();
    let (what, misreads) = match units {
        1 => (format!("a unit of {unit} does"), misreads.join("; ")),
        _ if first.len() as u64 == units => (format!("{units} units of {unit} do"), misreads.join("; ")),
        _ => (
            format!("{units} units of {unit} do"),
            format!("the first {}: {}", misreads.len(), misreads.join("; ")),
        ),
    };
    format!("verification failed: {what} not hold what the run wrote there: {misreads}")
}

pub(super) fn why_nothing(has_writes: bool) -> &'static str {
    if has_writes {
        "no write of the run completed"
    } else {
        "the workload only reads, and only what the same run has written is checked; add writes to it"
    }
}
