//! The machine on which something ran, in one line.

use std::fs;

/// Returns the number of cores of the machine, including cores that this process may not use.
pub fn cores() -> usize {
    listed(&read("/proc/cpuinfo")).unwrap_or_else(allowed_cores)
}

/// Returns the number of entries in the kernel's list: each entry begins with a line `processor`.
fn listed(cpuinfo: &str) -> Option<usize> {
    Some(cpuinfo.lines().filter(|line| line.starts_with("processor")).count()).filter(|cores| *cores > 0)
}

/// Returns the number of cores that this process may use: a launcher may have bound it to some cores, or a container
/// may have fewer.
pub fn allowed_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns a description in words: processor, cores, memory, kernel.
pub fn description() -> String {
    let (processors, memory) = (read("/proc/cpuinfo"), read("/proc/meminfo"));
    let kernel = read("/proc/sys/kernel/osrelease");
    // Not every architecture names its processors.
    let processor = after(&processors, "model name").unwrap_or(std::env::consts::ARCH);
    let kib = after(&memory, "MemTotal").and_then(|value| value.trim_end_matches(" kB").parse::<f64>().ok());
    let gib = kib.unwrap_or_default() / 1024.0 / 1024.0;
    format!("{processor}, {}, {gib:.0} GiB, Linux {}", counted(cores()), kernel.trim())
}

fn counted(cores: usize) -> String {
    if cores == 1 { "1 core".into() } else { format!("{cores} cores") }
}

/// Returns the number of cores in a [`description`].
pub fn cores_of(description: &str) -> Option<usize> {
    let cores = |part: &str| part.strip_suffix(" cores").or(part.strip_suffix(" core"))?.parse().ok();
    description.split(", ").find_map(cores)
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
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
        let two = "processor\t: 0\nmodel name\t: one\n\nprocessor\t: 1\nmodel name\t: one\n";
        assert_eq!((listed(two), listed(""), cores() >= allowed_cores()), (Some(2), None, true));
        assert_eq!(cores_of("a cluster of six cores"), None);
        assert_eq!([1, 2].map(|cores| cores_of(&format!("one, {}, 1 GiB", counted(cores)))), [Some(1), Some(2)]);
    }
}
