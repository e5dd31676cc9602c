//! The simulated drive: flash, channels, translation layer and host interface in virtual time.
