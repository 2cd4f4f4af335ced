//! How much memory this machine can still give.

use std::fs;

/// Bytes of memory that this machine can still give, as the kernel and the control group say; `None` where they do not.
pub fn available() -> Option<usize> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| mem_available(&text));
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<usize>().ok();
    let group = number("/sys/fs/cgroup/memory.max")
        .map(|max| max.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    machine.into_iter().chain(group).min()
}

fn mem_available(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_how_much_is_left() {
        assert_eq!(mem_available("MemTotal: 5 kB\nMemAvailable:    24 kB\n"), Some(24 * 1024));
        assert_eq!(mem_available("nothing"), None);
        assert!(available().is_some_and(|bytes| bytes > 1 << 20));
    }
}
