//! Refuses what cannot fit before p ranks have begun to allocate it.

/// An argument that decides how much memory a job takes.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Its name.
    pub argument: &'static str,
    /// Its value.
    pub value: u64,
    /// Bytes that a value needs on this machine.
    pub bytes: fn(value: u64, ranks: u64) -> u128,
}

/// A matrix multiplication: four shared matrices; rank 0's sequential ones and what is on its way; and in each rank
/// the caches of two.
pub fn matrices(size: u64, ranks: u64) -> u128 {
    (4 + 4 + 2 * u128::from(ranks)) * 4 * u128::from(size) * u128::from(size)
}

/// A sort: two shared vectors, twice two buffers at the most uneven, rank 0's sorted copy and what is on its way.
pub fn keys(count: u64, _ranks: u64) -> u128 {
    (2 + 4 + 2) * 4 * u128::from(count)
}

impl Demand {
    /// What is wrong with the argument if `ranks` ranks share this machine and `available` bytes.
    pub fn check(&self, ranks: u64, available: u64) -> Result<(), String> {
        let needed = (self.bytes)(self.value, ranks);
        if needed <= u128::from(available) {
            return Ok(());
        }
        Err(format!(
            "invalid value '{}' for '{} <N>': {} ranks need {} for it, {} are available; at most {} fits",
            self.value,
            self.argument,
            ranks,
            binary(needed),
            binary(u128::from(available)),
            self.most(ranks, available),
        ))
    }

    /// The largest value that fits.
    fn most(&self, ranks: u64, available: u64) -> u64 {
        let fits = |value: u64| (self.bytes)(value, ranks) <= u128::from(available);
        let (mut low, mut high) = (0, self.value);
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if fits(middle) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// Bytes that new programs could have, if the system tells.
pub fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// `bytes` in the largest unit that leaves a whole number of at least one.
fn binary(bytes: u128) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut rest = bytes;
    let mut unit = 0;
    while rest >= 1024 && unit + 1 < units.len() {
        rest /= 1024;
        unit += 1;
    }
    format!("{rest} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_argument_value_and_the_most_that_fits() {
        let demand = Demand {
            argument: "--size",
            value: 4_000_000_000,
            bytes: matrices,
        };
        let message = demand.check(2, 48 << 20).unwrap_err();
        assert!(
            message.contains("'4000000000' for '--size <N>'"),
            "{message}"
        );
        assert!(
            message.contains("at most 1023 fits") || message.contains("at most 1024 fits"),
            "{message}"
        );
        assert!(
            Demand {
                value: 700,
                ..demand
            }
            .check(2, 48 << 20)
            .is_ok()
        );
    }

    #[test]
    fn no_number_overflows() {
        let demand = Demand {
            argument: "--keys",
            value: u64::MAX,
            bytes: keys,
        };
        assert!(demand.check(1, 1 << 40).unwrap_err().contains("EiB"));
    }
}
