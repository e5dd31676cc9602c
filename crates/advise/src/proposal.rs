//! A setting that a program should have, with the reads that tell why.

use crate::{CostModel, Estimate, Reads, Trial};

/// Least predicted gain of a proposal: reads take this much longer without it, at the lower end of the interval.
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
    /// Its reads now and to be.
    pub trial: Trial,
}

impl Proposal {
    /// Predicts how many times longer the task takes now than it will.
    pub fn gain(&self, model: &CostModel) -> Estimate {
        let time = |reads: &[Reads]| {
            reads
                .iter()
                .map(|reads| model.time(reads))
                .reduce(Estimate::plus)
                .expect("a task reads something")
        };
        time(&self.trial.first).over(time(&self.trial.second))
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
            return self.kept.push(Kept { name: name.clone(), now: now.clone(), why });
        }
        let gain = proposal.gain(model);
        if gain.low() >= LEAST_GAIN {
            return self.proposals.push(proposal);
        }
        let why = format!(
            "{proposed} is predicted to gain {:.2} times (95% interval {:.2} to {:.2}) on {}",
            gain.mean,
            gain.low(),
            gain.high(),
            proposal.on
        );
        self.kept.push(Kept { name: name.clone(), now: now.clone(), why });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RandomCost, ScanCost};

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
            trial: Trial { first: reads(1), second: reads(2) },
        }
    }

    fn proposals(model: &CostModel, proposal: Proposal) -> usize {
        let mut advice = Advice::default();
        advice.consider(model, proposal);
        assert_eq!(advice.proposals.len() + advice.kept.len(), 1);
        advice.proposals.len()
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
