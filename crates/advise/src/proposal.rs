//! A setting that a program should have, with the work that tells why.

use crate::{CostModel, Estimate, Trial};

/// Least predicted gain of a proposal: its work takes this much longer without it, at the lower end of the interval.
pub const LEAST_GAIN: f64 = 1.05;

/// A setting: its value now and the proposed one.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// Its name: `random_page_cost`.
    pub name: String,
    /// Its value now.
    pub now: String,
    /// Its value to be.
    pub proposed: String,
    /// What it holds for, and what it takes to change it: `session; no restart`.
    pub scope: &'static str,
    /// The line that sets it.
    pub apply: String,
    /// The line that undoes that.
    pub undo: String,
    /// The measurements that it follows from.
    pub measured: String,
    /// How it follows.
    pub formula: &'static str,
    /// When it does not hold.
    pub void_when: &'static str,
    /// The query or task whose time is predicted.
    pub on: String,
    /// Its work now and to be.
    pub trial: Trial,
    /// The proposal without which this one gains something else.
    pub relies_on: Option<&'static str>,
}

impl Proposal {
    /// Predicts how many times longer the task takes now than it will.
    pub fn gain(&self, model: &CostModel) -> Estimate {
        let (now, then) = self.trial.predict(model);
        now.over(then)
    }
}

/// A setting that keeps its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// Its name.
    pub name: String,
    /// Its value.
    pub now: String,
    /// Why it stays.
    pub why: String,
    /// Whether another value may gain [`LEAST_GAIN`], by an interval that reaches below it.
    pub is_undecided: bool,
}

/// A proposal that the device contradicted, or that relies on such a one.
#[derive(Clone, Debug, PartialEq)]
pub struct Withdrawn {
    /// What was proposed.
    pub proposal: Proposal,
    /// What its reads measured.
    pub measured: Estimate,
    /// Why it is withdrawn.
    pub why: String,
}

/// Proposals for a program, and what is to stay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Advice {
    /// Settings to change.
    pub proposals: Vec<Proposal>,
    /// Settings to keep.
    pub kept: Vec<Kept>,
}

impl Advice {
    /// Adds a proposal if it gains at least [`LEAST_GAIN`], otherwise keeps the setting.
    pub(crate) fn consider(&mut self, model: &CostModel, proposal: Proposal) {
        let Proposal { name, now, proposed, .. } = &proposal;
        if now == proposed {
            let why = format!("no other value is predicted to gain 5% on {}", proposal.on);
            return self.kept.push(Kept { name: name.clone(), now: now.clone(), why, is_undecided: false });
        }
        let gain = proposal.gain(model);
        if gain.low() >= LEAST_GAIN {
            return self.proposals.push(proposal);
        }
        let is_undecided = gain.mean >= LEAST_GAIN;
        // By the two digits that are shown.
        let effect = match (100.0 * gain.mean).round() {
            ..100.0 => format!("be slower, {:.2} times as fast", gain.mean),
            100.0 => "gain nothing, 1.00 times as fast".to_owned(),
            _ => format!("gain {:.2} times", gain.mean),
        };
        let why = format!(
            "{proposed} is predicted to {effect} (95% interval {:.2} to {:.2}) on {}{}",
            gain.low(),
            gain.high(),
            proposal.on,
            if is_undecided { ": the measurements differ too much to tell" } else { "" }
        );
        self.kept.push(Kept { name: name.clone(), now: now.clone(), why, is_undecided });
    }

    /// Holds the proposals to the times of their two ways, as [`crate::check`] returns them. One stays, with its
    /// measured gain, if that is [`LEAST_GAIN`] by the same rule as the predicted one, and if what it relies on stays.
    ///
    /// # Panics
    /// If there is not one pair of times for each proposal.
    pub fn checked(self, times: &[(Estimate, Estimate)]) -> Checked {
        assert_eq!(self.proposals.len(), times.len(), "each proposal was measured");
        let mut checked = Checked { kept: self.kept, ..Checked::default() };
        for (proposal, (now, then)) in self.proposals.into_iter().zip(times) {
            let measured = now.over(*then);
            let missing = proposal
                .relies_on
                .filter(|name| checked.withdrawn.iter().any(|other| other.proposal.name == *name));
            let why = if measured.low() < LEAST_GAIN {
                "the lower end of the measured gain is below 1.05".to_owned()
            } else if let Some(name) = missing {
                format!("it was measured with the proposed {name}, which is withdrawn")
            } else {
                checked.proposals.push((proposal, measured));
                continue;
            };
            checked.withdrawn.push(Withdrawn { proposal, measured, why });
        }
        checked
    }
}

/// Advice after its check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// Settings to change, with the gain that was measured.
    pub proposals: Vec<(Proposal, Estimate)>,
    /// Settings that were to be changed.
    pub withdrawn: Vec<Withdrawn>,
    /// Settings to keep.
    pub kept: Vec<Kept>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RandomCost, Reads, ScanCost};

    /// A model in which a page at depth 2 takes `deep` of the 100 ns that it takes alone.
    fn model(deep: f64, half_width: f64) -> CostModel {
        let cost =
            |depth, mean| RandomCost { band_pages: 1000, depth, page_ns: Estimate { mean, half_width } };
        let scan = ScanCost { request_bytes: 8192, depth: 1, page_ns: Estimate { mean: 10.0, half_width } };
        CostModel::new(8192, 1000, vec![cost(1, 100.0), cost(2, deep)], vec![scan])
    }

    fn proposal(proposed: &str) -> Proposal {
        let reads = |depth| vec![Reads::Random { pages: 10.0, band_pages: 1000.0, depth }];
        Proposal {
            name: "depth".into(),
            now: "1".into(),
            proposed: proposed.into(),
            scope: "session",
            apply: "SET depth = 2;".into(),
            undo: "RESET depth;".into(),
            measured: "100 ns alone".into(),
            formula: "",
            void_when: "",
            on: "ten pages".into(),
            trial: Trial::reads(reads(1), reads(2)),
            relies_on: None,
        }
    }

    fn proposals(model: &CostModel, proposal: Proposal) -> usize {
        let mut advice = Advice::default();
        advice.consider(model, proposal);
        assert_eq!(advice.proposals.len() + advice.kept.len(), 1);
        advice.proposals.len()
    }

    #[test]
    fn proposal_is_withdrawn_where_its_check_measures_no_gain() {
        let (model, exact) = (model(50.0, 1.0), |mean| Estimate { mean, half_width: 0.01 * mean });
        let checked = |second: &[f64]| {
            let mut advice = Advice::default();
            advice.consider(&model, proposal("2"));
            advice.consider(
                &model,
                Proposal { name: "size".into(), relies_on: Some("depth"), ..proposal("4") },
            );
            let times: Vec<_> = second.iter().map(|second| (exact(100.0), exact(*second))).collect();
            let checked = advice.checked(&times);
            (checked.proposals.len(), checked.withdrawn.len())
        };
        assert_eq!(checked(&[50.0, 60.0]), (2, 0));
        // Less than predicted, but a gain.
        assert_eq!(checked(&[80.0, 60.0]), (2, 0));
        assert_eq!(checked(&[50.0, 100.0]), (1, 1));
        assert_eq!(checked(&[50.0, 130.0]), (1, 1));
        // The second one was measured with what the first one proposed.
        assert_eq!(checked(&[100.0, 60.0]), (0, 2));
        // 1.06, give or take 0.015.
        assert_eq!(checked(&[94.34, 60.0]), (0, 2));
    }

    #[test]
    fn gain_within_its_error_is_undecided() {
        for (deep, half_width, undecided) in [(50.0, 40.0, true), (98.0, 0.1, false), (98.0, 40.0, false)] {
            let mut advice = Advice::default();
            advice.consider(&model(deep, half_width), proposal("2"));
            assert_eq!(advice.kept[0].is_undecided, undecided, "{deep} ± {half_width}");
            assert_eq!(advice.kept[0].why.contains("too much to tell"), undecided);
        }
    }

    #[test]
    fn predicted_loss_is_called_one() {
        // The time of a page at which both take equally long.
        let even = 100.0 * proposal("2").gain(&model(100.0, 0.1)).mean;
        for (times, expected) in [
            (0.98, "2 is predicted to gain 1.02 times (95%"),
            (1.001, "2 is predicted to gain nothing, 1.00 times as fast (95%"),
            (1.01, "2 is predicted to be slower, 0.99 times as fast (95%"),
        ] {
            let mut advice = Advice::default();
            advice.consider(&model(times * even, 0.1), proposal("2"));
            assert!(advice.kept[0].why.starts_with(expected), "{}", advice.kept[0].why);
        }
    }

    #[test]
    fn setting_is_kept_where_the_interval_reaches_no_gain() {
        assert_eq!(proposals(&model(50.0, 1.0), proposal("2")), 1);
        // Twice as fast, give or take all of it.
        assert_eq!(proposals(&model(50.0, 40.0), proposal("2")), 0);
        // Surely 2% faster.
        assert_eq!(proposals(&model(98.0, 0.1), proposal("2")), 0);
        assert_eq!(proposals(&model(130.0, 0.1), proposal("2")), 0);
        assert_eq!(proposals(&model(50.0, 1.0), proposal("1")), 0);
    }
}
