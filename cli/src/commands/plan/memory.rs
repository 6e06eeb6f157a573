//! How much memory this process has, where the system tells.

use std::fs;

/// Forgets the highest amount so far. Without effect where the system cannot.
pub(super) fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The highest amount since that was last forgotten, in bytes.
pub(super) fn peak_bytes() -> Option<u64> {
    of_status("VmHWM:")
}

/// What it has now, in bytes.
pub(super) fn present_bytes() -> Option<u64> {
    of_status("VmRSS:")
}

fn of_status(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}
