//! The machine: what it is, and how busy it was.

use std::fs;
use std::process::Command;

/// What the cores have done since they were started, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Ticks {
    all: u64,
    idle: u64,
}

impl Ticks {
    /// Now; nothing where the system does not say.
    pub fn now() -> Option<Ticks> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        Ticks::parse(text.lines().next()?)
    }

    fn parse(line: &str) -> Option<Ticks> {
        let numbers = line.strip_prefix("cpu ")?.split_whitespace().map(|word| word.parse::<u64>().ok());
        // user nice system idle iowait irq softirq steal; what follows is contained in these.
        let numbers = numbers.take(8).collect::<Option<Vec<_>>>()?;
        Some(Ticks { all: numbers.iter().sum(), idle: numbers.get(3)? + numbers.get(4)? })
    }

    /// The share of all cores' time that has been worked since `earlier`.
    pub fn busy_since(self, earlier: Ticks) -> Option<f64> {
        let all = self.all.checked_sub(earlier.all).filter(|all| *all > 0)?;
        Some(1.0 - self.idle.saturating_sub(earlier.idle) as f64 / all as f64)
    }
}

/// How many this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// In words: processor, cores, memory, kernel.
pub fn description() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (processors, memory, kernel) =
        (read("/proc/cpuinfo"), read("/proc/meminfo"), read("/proc/sys/kernel/osrelease"));
    let after = |text: &str, word: &str| {
        let line = text.lines().find(|line| line.starts_with(word)).unwrap_or_default();
        line.split_once(':').map_or(String::from("unknown"), |(_, value)| value.trim().to_string())
    };
    let kib: f64 = after(&memory, "MemTotal").trim_end_matches(" kB").parse().unwrap_or_default();
    let gib = kib / 1024.0 / 1024.0;
    format!("{}, {} cores, {gib:.0} GiB, Linux {}", after(&processors, "model name"), cores(), kernel.trim())
}

/// The first line that a command says with `word` in it.
pub fn said(program: &str, arguments: &[&str], word: &str) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().find(|line| line.contains(word)).unwrap_or("unknown").trim().to_string()
}
