//! `flashlane trace excerpt`: cuts a run of transactions out of a recording of page accesses.

use super::out;
use crate::failure::{Failure, Status};
use anyhow::anyhow;
use flashlane_base::units::parse_count;
use flashlane_host::interrupted;
use flashlane_trace::{WriteError, output_name};
use flashlane_transactions::recording::{self, Writer};
use flashlane_transactions::{Header, LeftOut, Recording, Transaction};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub struct Arguments {
    /// Recording of transactions, compressed (gz, xz, zstd) or not; - for standard input
    recording: PathBuf,
    /// New file to write, compressed if it ends in .gz, .xz, .zst or .zstd; - for standard output
    out: PathBuf,
    /// Number of transactions to write
    #[arg(long, value_name = "N", value_parser = parse_count)]
    transactions: u64,
    /// Number of transactions to leave out before them
    #[arg(long, value_name = "N", default_value = "0", value_parser = parse_count)]
    skip: u64,
    /// Overwrite OUT, or the target of a link, if it begins as a recording or a trace, whatever follows, or is empty
    #[arg(long)]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  flashlane trace excerpt tpcc.pages.zst tpcc-short.pages.xz --transactions 10k
  flashlane trace excerpt tpcc.pages.zst later.pages.xz --skip 100k \\
      --transactions 10k

The database, its pages and the times of the transactions stay as they are.";

pub fn call(arguments: &Arguments) -> Result<Status, Failure> {
    let Arguments { recording: recording_path, out, transactions: most, skip, force } = arguments;
    if *most == 0 {
        return Err(Failure::unusable(anyhow!("--transactions 0: at least 1 is required")));
    }
    let mut recording = Recording::open(recording_path, interrupted).map_err(Failure::unusable)?;
    let name = recording.name().to_owned();
    out::check_not_input(out, std::slice::from_ref(recording_path))?;
    let file = out::create(out, *force)?;
    let mut header: Header = recording.header().clone();
    let note = format!("; an excerpt: {most} transactions after the first {skip}");
    if header.source.len() + note.len() <= recording::TEXT_BYTES_MOST {
        header.source += &note;
    }
    let failed = |error: recording::WriteError| match error {
        recording::WriteError::Io(source) => WriteError::File { name: output_name(out), source },
        error => WriteError::File { name: output_name(out), source: std::io::Error::other(error) },
    };
    let Some(mut writer) = out::ignore_closed_pipe(Writer::new(file, header).map_err(failed))? else {
        return Ok(Status::Done);
    };
    let mut transaction = Transaction::default();
    let mut read = 0;
    while read < skip.saturating_add(*most) {
        let more = recording.read(&mut transaction);
        if !more.map_err(|error| Failure::failed(anyhow!("the recording '{name}': {error}")))? {
            return Err(Failure::unusable(anyhow!(
                "--skip {skip} --transactions {most}: '{name}' has {read} transactions"
            )));
        }
        read += 1;
        if read > *skip && out::ignore_closed_pipe(writer.push(&transaction).map_err(failed))?.is_none() {
            return Ok(Status::Done);
        }
    }
    let written = writer.finish(LeftOut::default()).map_err(failed).and_then(|(file, totals)| {
        out::close(file, out)?;
        Ok(totals)
    });
    if let Some(totals) = out::ignore_closed_pipe(written)? {
        let text = format!("{} transactions with {} page accesses", totals.transactions, totals.accesses);
        out::print_summary(out, &text)?;
    }
    Ok(Status::Done)
}
