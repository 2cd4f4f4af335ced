//! The program's lines at which writes are made, and their times, for checking mode.

use crate::Site;
use crate::race::{Moment, Origin, Time};
use serde::{Deserialize, Serialize};

/// The lines of the writes in a batch; they travel behind its places.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Lines {
    writes: Vec<Origin>,
    /// Number of values, and the number of their line in `writes`.
    runs: Vec<(u32, u32)>,
}

impl Lines {
    /// Notes that the next `values` values were written at `line` and at moment `at`, after `time`.
    pub(crate) fn note(&mut self, values: usize, line: &Site, at: Moment, time: &Time) {
        let write = Origin { line: line.clone().clipped(), at, time: time.clone() };
        let number = self.writes.iter().rposition(|other| *other == write).unwrap_or_else(|| {
            self.writes.push(write);
            self.writes.len() - 1
        }) as u32;
        match self.runs.last_mut() {
            Some((len, last)) if *last == number => *len += values as u32,
            _ => self.runs.push((values as u32, number)),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.writes.clear();
        self.runs.clear();
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("lines are plain data")
    }

    /// Empty if the sender does not check.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        postcard::from_bytes(bytes).unwrap_or_default()
    }

    /// For consecutive values, of `values` in all, their number and their origin; `None`: their line is not known.
    pub(super) fn of_runs(&self, values: usize) -> Vec<(usize, Option<&Origin>)> {
        let mut left = values;
        let mut known = Vec::new();
        for (len, number) in &self.runs {
            let len = left.min(*len as usize);
            left -= len;
            known.push((len, self.writes.get(*number as usize)));
        }
        known.push((left, None));
        known.retain(|(len, _)| *len > 0);
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_the_wire() {
        let (a, b, at, time) = (Site::here(), Site::here(), Moment::default(), Time::default());
        let mut lines = Lines::default();
        for (values, line) in [(2, &a), (1, &a), (1, &b), (1, &a)] {
            lines.note(values, line, at, &time);
        }
        assert_eq!(lines.runs, [(3, 0), (1, 1), (1, 0)]);
        let lines = Lines::decode(&lines.encode());
        let of_runs = lines.of_runs(7).into_iter().map(|(len, write)| (len, write.map(|write| &write.line)));
        let of_runs: Vec<_> = of_runs.collect();
        assert_eq!(of_runs, [(3, Some(&a)), (1, Some(&b)), (1, Some(&a)), (2, None)]);
        assert_eq!(lines.of_runs(2).len(), 1);
        assert_eq!(Lines::decode(&[7; 3]).of_runs(1).len(), 1);
    }
}
