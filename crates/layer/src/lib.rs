//! Devices over devices: bytes behind a simulated drive, and faults.
