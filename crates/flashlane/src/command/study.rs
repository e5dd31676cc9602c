//! `flashlane study PAPER`: a paper again.

use crate::failure::{Failure, Status};
use anyhow::anyhow;

/// Run a paper again
#[derive(Debug, clap::Args)]
pub struct Arguments {}

pub fn call(_: &Arguments) -> Result<Status, Failure> {
    Err(Failure::failed(anyhow!("this build has no studies")))
}
