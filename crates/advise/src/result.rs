//! Conversion to the type of results.

use crate::figures::figures;
use crate::{Advice, CostModel, Estimate, Kept, Plan, Proposal, compare};
use flashlane_result::advice::{
    ADVICE_SCHEMA, AdviceResult, CostRow, Effect, KeptRow, PlanRow, ScanRow, SettingRow, WithdrawnRow,
};

/// Largest difference of a measured gain from the predicted one, where their intervals do not meet, that still counts
/// as held.
const TOLERANCE: f64 = 0.10;

/// Intervals that meet show that a prediction held where they exclude that the values differ by this factor.
const FACTOR: f64 = 2.0;

/// Returns the result for a program's settings. `times` has those of each proposal's two ways, if they were measured;
/// proposals that they contradict are withdrawn.
pub fn result_of(
    model: &CostModel,
    program: &str,
    advice: Advice,
    times: Option<&[(Estimate, Estimate)]>,
) -> AdviceResult {
    let result = of_model(model, program);
    let Some(times) = times else {
        let settings = advice.proposals.iter().map(|proposal| setting_row(model, proposal, None));
        return AdviceResult { settings: settings.collect(), kept: kept_rows(&advice.kept), ..result };
    };
    let checked = advice.checked(times);
    let settings = checked.proposals.iter().map(|(proposal, gain)| setting_row(model, proposal, Some(*gain)));
    let withdrawn = checked.withdrawn.iter().map(|withdrawn| WithdrawnRow {
        name: withdrawn.proposal.name.clone(),
        now: withdrawn.proposal.now.clone(),
        proposed: withdrawn.proposal.proposed.clone(),
        why: withdrawn.why.clone(),
        effect: effect(model, &withdrawn.proposal, Some(withdrawn.measured)),
    });
    AdviceResult {
        settings: settings.collect(),
        withdrawn: withdrawn.collect(),
        kept: kept_rows(&checked.kept),
        ..result
    }
}

fn setting_row(model: &CostModel, proposal: &Proposal, measured: Option<Estimate>) -> SettingRow {
    SettingRow {
        name: proposal.name.clone(),
        now: proposal.now.clone(),
        proposed: proposal.proposed.clone(),
        scope: proposal.scope.into(),
        apply: proposal.apply.clone(),
        undo: proposal.undo.clone(),
        measured: proposal.measured.clone(),
        formula: proposal.formula.into(),
        void_when: proposal.void_when.into(),
        effect: effect(model, proposal, measured),
    }
}

fn effect(model: &CostModel, proposal: &Proposal, measured: Option<Estimate>) -> Effect {
    let predicted = proposal.gain(model);
    Effect {
        on: proposal.on.clone(),
        predicted: predicted.to_interval(),
        measured: measured.map(Estimate::to_interval),
        holds: measured.and_then(|measured| holds(predicted, measured)),
    }
}

fn kept_rows(kept: &[Kept]) -> Vec<KeptRow> {
    let row = |kept: &Kept| KeptRow {
        name: kept.name.clone(),
        now: kept.now.clone(),
        why: kept.why.clone(),
        undecided: kept.is_undecided,
    };
    kept.iter().map(row).collect()
}

/// Returns the result for plans, fastest first: by their measured times if all were measured, otherwise by prediction.
/// `measured` has these by the plan's name.
pub fn plan_result(model: &CostModel, plans: &[Plan], measured: &[(String, Estimate)]) -> AdviceResult {
    let rows = compare(model, plans).into_iter().map(|(plan, predicted)| {
        let measured = measured.iter().find(|(name, _)| *name == plan.name).map(|(_, time)| *time);
        PlanRow {
            name: plan.name.clone(),
            predicted_ns: predicted.to_interval(),
            measured_ns: measured.map(Estimate::to_interval),
            holds: measured.and_then(|measured| holds(predicted, measured)),
        }
    });
    let mut plans: Vec<PlanRow> = rows.collect();
    if plans.iter().all(|plan| plan.measured_ns.is_some()) {
        let time = |plan: &PlanRow| plan.measured_ns.map_or(f64::INFINITY, |time| time.value);
        plans.sort_by(|a, b| time(a).total_cmp(&time(b)));
    }
    AdviceResult { plans, ..of_model(model, "plan") }
}

/// Returns whether a measured value is what was predicted: the values differ by at most 10%, or the intervals meet.
/// `None` where these meet only since they are wide: the values may differ by a factor of two.
fn holds(predicted: Estimate, measured: Estimate) -> Option<bool> {
    let ratio = measured.over(predicted);
    if (ratio.mean - 1.0).abs() <= TOLERANCE {
        return Some(true);
    }
    let meet = predicted.low() <= measured.high() && measured.low() <= predicted.high();
    let is_precise = ratio.low() > 1.0 / FACTOR && ratio.high() < FACTOR;
    if meet && !is_precise { None } else { Some(meet) }
}

fn of_model(model: &CostModel, program: &str) -> AdviceResult {
    let page_bytes = model.page_bytes();
    AdviceResult {
        schema: ADVICE_SCHEMA.into(),
        program: program.into(),
        page_bytes,
        random: model
            .random()
            .iter()
            .map(|cost| CostRow {
                band_bytes: cost.band_pages * page_bytes,
                in_flight: cost.depth,
                page_ns: cost.page_ns.to_interval(),
            })
            .collect(),
        scans: model
            .scans()
            .iter()
            .map(|cost| ScanRow {
                request_bytes: cost.request_bytes,
                in_flight: cost.depth,
                page_ns: cost.page_ns.to_interval(),
            })
            .collect(),
        commit_ns: model.commit().map(Estimate::to_interval),
        figures: figures(model),
        ..AdviceResult::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prediction_holds_where_intervals_meet_or_values_are_near() {
        let estimate = |mean, half_width| Estimate { mean, half_width };
        assert_eq!(holds(estimate(2.0, 0.5), estimate(2.8, 0.4)), Some(true));
        assert_eq!(holds(estimate(2.0, 0.0), estimate(2.19, 0.0)), Some(true));
        assert_eq!(holds(estimate(2.0, 0.0), estimate(2.21, 0.0)), Some(false));
        assert_eq!(holds(estimate(2.0, 0.1), estimate(1.7, 0.1)), Some(false));
    }

    #[test]
    fn intervals_that_meet_only_since_they_are_wide_decide_nothing() {
        let estimate = |mean, half_width| Estimate { mean, half_width };
        assert_eq!(holds(estimate(8.7, 4.0), estimate(4.26, 3.0)), None);
        assert_eq!(holds(estimate(2.0, f64::INFINITY), estimate(2.5, 0.1)), None);
        assert_eq!(holds(estimate(8.7, 0.4), estimate(4.26, 0.3)), Some(false));
    }
}
