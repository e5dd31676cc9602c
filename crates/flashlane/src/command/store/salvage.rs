//! Ends the damage of a store: shows what cannot be read, gives it up where the user agrees, and ends the statement of
//! the loss once the user knows of it.

use super::damage::{range_named, told};
use super::device::{Place, open, open_to_salvage, to_move};
use crate::command::sdf::counted;
use crate::failure::{Failure, Status};
use crate::output::print;
use crate::progress::Meter;
use anyhow::anyhow;
use flashlane_base::units::exact_bytes;
use flashlane_store::{Damage, LogOverwritten, SalvageError};

/// What of a salvage is done.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct SalvageOptions {
    /// Give up what cannot be read, and keep the rest
    #[arg(long, help_heading = "Real drives")]
    destroy_data: bool,
    /// End the statement of what earlier salvages gave up
    #[arg(long, conflicts_with = "destroy_data")]
    acknowledge: bool,
}

/// Shows what cannot be read of a store, or gives it up.
pub fn salvage(place: &Place, options: SalvageOptions) -> Result<Status, Failure> {
    if options.acknowledge {
        return acknowledge(place);
    }
    let mut store = if options.destroy_data { open_to_salvage(place)? } else { open(place)? };
    let meter = Meter::new(format!("reading the blocks of {}", place.device));
    let damage = store.store().scrub();
    drop(meter);
    if damage.is_none() {
        print("Verdict: everything can be read\n")?;
        return Ok(Status::Done);
    }
    // The verdict names it.
    place.take_loss();
    let device = place.named();
    let told = match damage.lost.is_empty() {
        true if damage.is_none_of_blocks() => "Nothing of the store is lost\n".to_owned(),
        true => "Nothing is lost: what cannot be read was replaced since\n".to_owned(),
        false => {
            format!("Each command says what it lost until 'flashlane store salvage {device} --acknowledge'\n")
        }
    };
    if let (false, Err(error)) = (options.destroy_data, store.store().check_salvage()) {
        print(&format!(
            "Verdict: damaged\n{}Nothing was changed: {error}. {}\n",
            found(&damage),
            to_move(place)
        ))?;
        return Ok(Status::Failed);
    }
    if !options.destroy_data && damage.is_none_of_blocks() {
        print(&format!(
            "Verdict: no key is lost, but other data in the log keeps the store from writing\n{}Nothing was changed. Copy that data \
             if it is needed; 'flashlane store salvage {device} --destroy-data' erases it, and the store takes writes\n",
            found(&damage)
        ))?;
        return Ok(Status::Failed);
    }
    if !options.destroy_data {
        print(&format!(
            "Verdict: damaged\n{}Nothing was changed. Go back to a copy of device and log; if there is none, 'flashlane store \
             salvage {device} --destroy-data' gives up what is lost and keeps the rest\n",
            found(&damage)
        ))?;
        return Ok(Status::Failed);
    }
    store.store().salvage(&damage).map_err(|error| not_salvaged(place, error))?;
    print(&format!("Verdict: salvaged\n{}The store takes writes. {told}", found(&damage)))?;
    Ok(Status::Done)
}

/// Ends the statement of a loss.
fn acknowledge(place: &Place) -> Result<Status, Failure> {
    let mut store = open_to_salvage(place)?;
    match place.take_loss() {
        Some(loss) if loss.is_open() => {
            return Err(Failure::failed(anyhow!(
                "something is damaged that was not given up, and nothing was acknowledged: {}",
                told(place, &loss)
            )));
        }
        Some(_) => {}
        None => {
            print("Nothing is stated to be lost\n")?;
            return Ok(Status::Done);
        }
    }
    store.store().acknowledge_loss().map_err(|error| not_salvaged(place, error))?;
    print("Acknowledged: what is left counts as the whole\n")?;
    Ok(Status::Done)
}

fn not_salvaged(place: &Place, error: SalvageError) -> Failure {
    let remedy = match error {
        SalvageError::ReadOnly
        | SalvageError::Header { .. }
        | SalvageError::Foreign { .. }
        | SalvageError::Units(_) => String::new(),
        SalvageError::Log(_)
        | SalvageError::OldLog
        | SalvageError::NoRoom { .. }
        | SalvageError::HeaderOverwritten => format!(". {}", to_move(place)),
    };
    Failure::failed(anyhow!("{error}{remedy}"))
}

/// Lists what is lost, a line each.
fn found(damage: &Damage) -> String {
    let Damage { lost, blocks, pieces, missing, log, .. } = damage;
    let damaged = blocks.len() + pieces.len();
    let ranges = lost.ranges.iter().map(|range| format!("Lost: the keys {}\n", range_named(&range.keys)));
    let mut text: String = ranges.collect();
    if damaged > 0 {
        text = format!(
            "{} parts that cannot be read\n{text}",
            counted(damaged as u64, "block has", "blocks have")
        );
    }
    if lost.blocks > 0 {
        text += &format!(
            "Lost: {} whose keys are not known, so that any key may be missing or have an older value\n",
            counted(lost.blocks, "block", "blocks")
        );
    }
    missing.iter().for_each(|missing| text += &format!("{missing}\n"));
    if let Some(LogOverwritten { offset_bytes, bytes }) = log {
        text += &format!(
            "Other data: {} in the log, the first at byte {offset_bytes}; a salvage erases it\n",
            exact_bytes(*bytes)
        );
    }
    text
}
