//! The machine on which something ran, in one line.

use std::fs;

/// How many cores this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// In words: processor, cores, memory, kernel.
pub fn description() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (processors, memory, kernel) =
        (read("/proc/cpuinfo"), read("/proc/meminfo"), read("/proc/sys/kernel/osrelease"));
    // Not every architecture names its processors.
    let processor = after(&processors, "model name").unwrap_or(std::env::consts::ARCH);
    let kib = after(&memory, "MemTotal").and_then(|value| value.trim_end_matches(" kB").parse::<f64>().ok());
    let gib = kib.unwrap_or_default() / 1024.0 / 1024.0;
    format!("{processor}, {} cores, {gib:.0} GiB, Linux {}", cores(), kernel.trim())
}

/// What a [`description`] says of the cores.
pub fn cores_of(description: &str) -> Option<usize> {
    description.split(", ").find_map(|part| part.strip_suffix(" cores")?.parse().ok())
}

fn after<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let line = text.lines().find(|line| line.starts_with(word))?;
    Some(line.split_once(':')?.1.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_one_line_that_tells_the_cores() {
        let here = description();
        assert_eq!(here.lines().count(), 1, "{here}");
        assert_eq!(cores_of(&here), Some(cores()), "{here}");
        assert_eq!(cores_of("a cluster of six cores"), None);
    }
}
