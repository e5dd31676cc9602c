//! Transactions at each point of a sweep.

use super::plan::{self, PaceName, PlanOptions};
use super::{Arguments, Recorded};
use crate::failure::{Failure, Status};
use crate::options::positive_count;
use crate::progress::ShareWatch;
use crate::sweep::{self, Settings};
use anyhow::anyhow;
use clap::ValueEnum;
use flashlane_base::Seed;
use flashlane_base::units::Quantity;
use flashlane_open::Target;
use flashlane_sweep::{PointResult, fingerprint_of};
use flashlane_transactions::Setup;

struct Experiment<'a> {
    arguments: &'a Arguments,
    recorded: Recorded,
    fingerprint: u64,
}

/// A key: its name after `transactions.`, its quantity, and a function that sets the option from its value.
struct Key {
    name: &'static str,
    quantity: Option<Quantity>,
    set: fn(&mut PlanOptions, &str) -> Result<(), String>,
}

const COUNT: Option<Quantity> = Some(Quantity::Count);

/// The options that can be swept.
const KEYS: &[Key] = &[
    Key { name: "clients", quantity: COUNT, set: |a, v| set(&mut a.clients, plan::clients(v).map(Some)) },
    Key { name: "pace", quantity: None, set: |a, v| set(&mut a.pace, PaceName::from_str(v, false)) },
    Key { name: "speed", quantity: None, set: |a, v| set(&mut a.speed, plan::factor(v).map(Some)) },
    Key { name: "pool", quantity: COUNT, set: |a, v| set(&mut a.pool, plan::pool(v)) },
    Key { name: "buffer", quantity: None, set: |a, v| set(&mut a.buffer, plan::buffer(v)) },
    Key {
        name: "readahead",
        quantity: Some(Quantity::Size),
        set: |a, v| set(&mut a.readahead, plan::readahead(v)),
    },
    Key {
        name: "processors",
        quantity: COUNT,
        set: |a, v| set(&mut a.processors, plan::clients(v).map(Some)),
    },
    Key { name: "cpu-factor", quantity: None, set: |a, v| set(&mut a.cpu_factor, plan::factor(v)) },
    Key {
        name: "lock-wait",
        quantity: Some(Quantity::Time),
        set: |a, v| set(&mut a.lock_wait, plan::lock_wait(v)),
    },
    Key { name: "warmup", quantity: None, set: |a, v| set(&mut a.warmup, plan::warmup(v)) },
    Key {
        name: "transactions",
        quantity: COUNT,
        set: |a, v| set(&mut a.transactions, positive_count(v).map(Some)),
    },
    Key {
        name: "time",
        quantity: Some(Quantity::Time),
        set: |a, v| set(&mut a.time, plan::time(v).map(Some)),
    },
];

fn set<T>(option: &mut T, value: Result<T, String>) -> Result<(), String> {
    *option = value?;
    Ok(())
}

pub(super) fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let Arguments { device, recording, sweep, safety, output, .. } = arguments;
    let recorded = Recorded::read(recording)?;
    let fingerprint = fingerprint_of(recording).map_err(|error| {
        Failure::unusable(anyhow!("cannot read the recording '{}': {error}", recording.display()))
    })?;
    sweep::call(Experiment { arguments, recorded, fingerprint }, device, sweep, safety, output)
}

impl sweep::Experiment for Experiment<'_> {
    type Plan = Setup;

    fn command(&self) -> &'static str {
        "transactions"
    }

    fn key_prefix(&self) -> &'static str {
        "transactions"
    }

    fn keys(&self) -> Vec<&'static str> {
        KEYS.iter().map(|key| key.name).collect()
    }

    fn quantity(&self, key: &str) -> Option<Quantity> {
        KEYS.iter().find(|known| known.name == key).and_then(|known| known.quantity)
    }

    fn y(&self, _: &[&Self::Plan]) -> &'static str {
        "transactions"
    }

    fn subject(&self) -> String {
        self.recorded.name.clone()
    }

    fn seed(&self) -> Seed {
        self.arguments.seed
    }

    fn plan(&self, settings: &Settings<'_>) -> Result<Setup, Failure> {
        let mut options = self.arguments.plan.clone();
        for &(name, value) in &settings.own {
            let Some(key) = KEYS.iter().find(|key| key.name == name) else {
                let known: Vec<String> =
                    KEYS.iter().map(|key| format!("transactions.{}", key.name)).collect();
                return Err(Failure::unusable(anyhow!(
                    "unknown key 'transactions.{name}'; allowed: {}",
                    known.join(", ")
                )));
            };
            (key.set)(&mut options, value)
                .map_err(|reason| Failure::unusable(anyhow!("transactions.{name}={value}: {reason}")))?;
        }
        options.setup(&self.recorded, settings.seed_or(self.arguments.seed))
    }

    /// The clients use no randomness.
    fn is_random(&self, _: &Setup) -> bool {
        false
    }

    fn writes(&self, _: &Setup) -> Option<String> {
        self.recorded.writes()
    }

    fn definition(&self, setup: &Setup) -> String {
        format!("{} {:016x}\n{setup:?}", self.recorded.path.display(), self.fingerprint)
    }

    fn measure(&self, target: &Target, setup: &Setup, watch: ShareWatch<'_>) -> Result<PointResult, Failure> {
        self.recorded.check(target, &self.arguments.safety, setup)?;
        let result = self.recorded.measure(target, &self.arguments.safety, setup, watch)?;
        Ok(result.into())
    }
}
