//! The load of this machine's cores.

use std::fs;
use std::ops::{AddAssign, Sub};

/// Time of all cores together, in ticks of the system's clock: since the machine was started, or between two readings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ticks {
    /// All ticks, busy and idle.
    pub all: u64,
    /// The idle ticks among them.
    pub idle: u64,
}

impl Ticks {
    /// Returns the ticks since the machine was started, or `None` if the system does not report them.
    pub fn now() -> Option<Ticks> {
        let text = fs::read_to_string("/proc/stat").ok()?;
        Ticks::parse(text.lines().next()?)
    }

    fn parse(line: &str) -> Option<Ticks> {
        let numbers = line.strip_prefix("cpu ")?.split_whitespace().map(|word| word.parse::<u64>().ok());
        // user nice system idle iowait irq softirq steal; the later numbers are contained in these.
        let numbers = numbers.take(8).collect::<Option<Vec<_>>>()?;
        Some(Ticks { all: numbers.iter().sum(), idle: numbers.get(3)? + numbers.get(4)? })
    }

    /// Returns the busy share of all cores' time, or `None` if no time has passed.
    pub fn busy(self) -> Option<f64> {
        (self.all > 0).then(|| 1.0 - self.idle as f64 / self.all as f64)
    }

    /// Returns the busy share of the time since `earlier`.
    pub fn busy_since(self, earlier: Ticks) -> Option<f64> {
        (self - earlier).busy()
    }
}

/// The ticks between an earlier reading and this one. A core's idle time may seem to go back; it then counts as not
/// idle.
impl Sub for Ticks {
    type Output = Ticks;

    fn sub(self, earlier: Ticks) -> Ticks {
        let all = self.all.saturating_sub(earlier.all);
        Ticks { all, idle: self.idle.saturating_sub(earlier.idle).min(all) }
    }
}

impl AddAssign for Ticks {
    fn add_assign(&mut self, more: Ticks) {
        self.all += more.all;
        self.idle += more.idle;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_cores_time_what_is_not_idle_is_busy() {
        let earlier = Ticks::parse("cpu  100 0 50 800 50 0 0 0 7 7").expect("ticks");
        assert_eq!(earlier, Ticks { all: 1000, idle: 850 });
        let later = Ticks::parse("cpu  160 0 60 820 60 0 0 0 9 9").expect("ticks");
        assert_eq!(later.busy_since(earlier), Some(0.7));
        assert_eq!(earlier.busy_since(earlier), None);
        assert_eq!(earlier.busy_since(later), None);
        assert_eq!(Ticks::parse("cpu0 1 2 3 4"), None);
        assert_eq!(Ticks::parse("cpu 1 2 x 4"), None);
    }

    #[test]
    fn looks_add_up() {
        let mut sum = Ticks::default();
        sum += Ticks { all: 10, idle: 4 };
        sum += Ticks { all: 10, idle: 0 };
        assert_eq!(sum.busy(), Some(0.8));
    }
}
