//! `flashlane probe DEVICE`: what is inside a drive.

use crate::failure::{Failure, Status};
use anyhow::anyhow;

/// Find out what is inside a drive, from its timing alone
#[derive(Debug, clap::Args)]
pub struct Arguments {}

pub fn call(_: &Arguments) -> Result<Status, Failure> {
    Err(Failure::failed(anyhow!("this build has no probe")))
}
