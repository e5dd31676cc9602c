//! The result of a point: that of the command which is swept.

use flashlane_result::replay::{REPLAY_SCHEMA, ReplayResult};
use flashlane_result::run::{RUN_SCHEMA, RunResult};
use flashlane_result::transactions::{TRANSACTIONS_SCHEMA, TransactionsResult};
use flashlane_result::uflip::{UFLIP_SCHEMA, UflipResult};
use flashlane_result::{Common, Kind};
use serde::Serialize;
use serde_json::Value;

/// The result of a point.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum PointResult {
    /// Of `run`.
    Run(Box<RunResult>),
    /// Of `replay`.
    Replay(Box<ReplayResult>),
    /// Of `transactions`.
    Transactions(Box<TransactionsResult>),
    /// Of `uflip`.
    Uflip(Box<UflipResult>),
}

impl PointResult {
    /// Reads a stored result.
    ///
    /// # Errors
    /// Why it is none: its schema, or the first field that contradicts it.
    pub(crate) fn read(json: &Value) -> Result<Self, String> {
        fn of<T: Kind>(json: &Value) -> Result<Box<T>, String> {
            flashlane_result::read(json).map(Box::new).map_err(|error| error.to_string())
        }
        match json["schema"].as_str() {
            Some(RUN_SCHEMA) => of(json).map(Self::Run),
            Some(REPLAY_SCHEMA) => of(json).map(Self::Replay),
            Some(TRANSACTIONS_SCHEMA) => of(json).map(Self::Transactions),
            Some(UFLIP_SCHEMA) => of(json).map(Self::Uflip),
            _ => Err(format!("its schema is {}, which is not of a command that is swept", json["schema"])),
        }
    }

    /// Returns the fields that all kinds have.
    pub(crate) fn common(&self) -> Common<'_> {
        match self {
            Self::Run(result) => result.common(),
            Self::Replay(result) => result.common(),
            Self::Transactions(result) => result.common(),
            Self::Uflip(result) => result.common(),
        }
    }
}

impl From<RunResult> for PointResult {
    fn from(result: RunResult) -> Self {
        Self::Run(Box::new(result))
    }
}

impl From<ReplayResult> for PointResult {
    fn from(result: ReplayResult) -> Self {
        Self::Replay(Box::new(result))
    }
}

impl From<TransactionsResult> for PointResult {
    fn from(result: TransactionsResult) -> Self {
        Self::Transactions(Box::new(result))
    }
}

impl From<UflipResult> for PointResult {
    fn from(result: UflipResult) -> Self {
        Self::Uflip(Box::new(result))
    }
}
