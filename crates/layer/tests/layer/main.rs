//! Layers over devices that lose power, over simulated drives and over files.

mod drives;
mod lanes_over_files;
mod lanes_power_cuts;
mod over_simulated;
mod power_cuts;
mod replicated_power_cuts;
mod torn_units;
