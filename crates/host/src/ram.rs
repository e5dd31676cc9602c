//! Memory size of the machine.

/// Returns the bytes of physical memory. Larger allocations are better refused than killed by the system later.
pub fn machine_memory_bytes() -> u64 {
    let system = rustix::system::sysinfo();
    (system.totalram as u64).saturating_mul(system.mem_unit.into())
}
