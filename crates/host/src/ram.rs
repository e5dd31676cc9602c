//! The machine's memory.

/// Bytes of physical memory. What would take more is better refused than ended by the system in its midst.
pub fn machine_memory_bytes() -> u64 {
    let system = rustix::system::sysinfo();
    (system.totalram as u64).saturating_mul(system.mem_unit.into())
}
