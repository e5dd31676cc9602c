//! Firmware policies: one folder a family, one policy a file, a registry line each.
