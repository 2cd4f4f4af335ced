//! The program's lines at which writes are made, for checking mode.

use crate::Site;
use serde::{Deserialize, Serialize};

/// The lines of the writes in a batch; they travel behind its places.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Lines {
    sites: Vec<Site>,
    /// Number of values, and the number of their line in `sites`.
    runs: Vec<(u32, u32)>,
}

impl Lines {
    /// The next values were written at this line.
    pub(crate) fn note(&mut self, values: usize, line: &Site) {
        let line = line.clone().clipped();
        let number = self.sites.iter().rposition(|site| *site == line).unwrap_or_else(|| {
            self.sites.push(line);
            self.sites.len() - 1
        }) as u32;
        match self.runs.last_mut() {
            Some((len, last)) if *last == number => *len += values as u32,
            _ => self.runs.push((values as u32, number)),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.sites.clear();
        self.runs.clear();
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("lines are plain data")
    }

    /// Empty if the sender does not check.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        postcard::from_bytes(bytes).unwrap_or_default()
    }

    /// The line of each value, in order; `None` for those of which it is not known.
    pub(super) fn of_values(&self) -> impl Iterator<Item = Option<&Site>> {
        let known = self.runs.iter();
        known
            .flat_map(|(len, line)| std::iter::repeat_n(self.sites.get(*line as usize), *len as usize))
            .chain(std::iter::repeat(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_the_wire() {
        let (a, b) = (Site::here(), Site::here());
        let mut lines = Lines::default();
        [(2, &a), (1, &a), (1, &b), (1, &a)].into_iter().for_each(|(values, line)| lines.note(values, line));
        assert_eq!(lines.runs, [(3, 0), (1, 1), (1, 0)]);
        let lines = Lines::decode(&lines.encode());
        let of_values: Vec<_> = lines.of_values().take(6).collect();
        assert_eq!(of_values, [Some(&a), Some(&a), Some(&a), Some(&b), Some(&a), None]);
        assert!(Lines::decode(&[7; 3]).of_values().next() == Some(None));
    }
}
