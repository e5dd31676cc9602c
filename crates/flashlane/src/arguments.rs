//! The commands and the help text of the program.

use crate::command::{
    advise, calibrate, completions, man, probe, profile, replay, report, run, sdf, serve, store, study,
    trace, transactions, uflip,
};
use clap::{Parser, Subcommand};

/// See inside an SSD, simulate its firmware, use its parallelism.
#[derive(Debug, Parser)]
#[command(name = "flashlane", version, arg_required_else_help = true, max_term_width = 100, after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

const AFTER_HELP: &str = "\
Devices:
  sim:ssd-s                  a simulated drive; 'flashlane profile list' names them
  sim:my.toml,channels=16    one from your own profile, with a setting replaced
  ./file, /dev/nvme0n1       a real device, only read unless --destroy-data is given

Examples:
  flashlane probe sim:ssd-s
  flashlane uflip sim:mtron-like --out mtron
  flashlane run sim:ssd-m,initial.state=full random-read,size=4k,depth=32
  flashlane replay sim:msr-32g,initial.state=full iozone.trace.xz --out iozone
  flashlane study chen11/fig3 --out fig3
  flashlane sdf bench sim:sdf
  flashlane store create 'lanes(./flash,channels=8)' --create 1GiB
  flashlane serve nbd sim:ssd-s --socket ./drive.sock
  flashlane advise postgresql sim:ssd-s
  flashlane calibrate drive.csv --out twin.toml

Exit status: 0 done, 1 failed, interrupted, or a verdict missed, 2 unusable arguments.";

#[derive(Debug, Subcommand)]
pub enum Command {
    Probe(probe::Arguments),
    Uflip(uflip::Arguments),
    Run(run::Arguments),
    Replay(replay::Arguments),
    Transactions(transactions::Arguments),
    Sdf(sdf::Arguments),
    Store(store::Arguments),
    Serve(serve::Arguments),
    Advise(advise::Arguments),
    Calibrate(calibrate::Arguments),
    Study(study::Arguments),
    Trace(trace::Arguments),
    Profile(profile::Arguments),
    Report(report::Arguments),
    #[command(hide = true)]
    Completions(completions::Arguments),
    #[command(hide = true)]
    Man(man::Arguments),
}
