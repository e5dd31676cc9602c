//! The block layer over devices that fail, lose power or are damaged.

mod damaged;
mod damaged_regions;
mod failed_discard;
mod faults;
mod lost_table;
mod no_space;
mod over_sdf;
mod over_striped;
mod over_zoned_drive;
mod over_zones;
mod retired;
mod spread;
mod trials;
mod unplaced_superblock;
