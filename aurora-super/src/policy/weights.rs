//! The speeds of nodes: known ones, and those that are learnt from the times of instructions.

use crate::Node;
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// The part of the time for the remaining instructions that counts as waiting for a faster node. Of the values from 0.3
/// to 2, this one is the best on mixed clusters of 16 to 1024 nodes.
const WAITING: f64 = 0.5;

/// The number of times of a node that count.
const RECENT: usize = 5;

/// The nodes of a cluster, compared: their speeds and their cores.
///
/// Instructions may differ in length. So a node keeps its known speed, in the scale of all times, as long as its last
/// five times allow for that speed. Otherwise its speed is that of the median of these times.
///
/// ```
/// use aurora_super::policy::Weights;
///
/// let mut weights = Weights::new(&[1.0, 1.0, 3.0], &[1, 1, 2]);
/// assert!((weights.share(2) - 6.0 / 8.0).abs() < 1e-9 && weights.expected(2).is_none());
/// for time in [90_000, 12_000, 12_000] {
///     weights.learn(0, time); // ns
/// }
/// assert_eq!(weights.expected(2).map(f64::round), Some(4000.0)); // three times as fast as the median of node 0
/// ```
#[derive(Clone, Debug)]
pub struct Weights {
    known: Vec<f64>,
    cores: Vec<u32>,
    /// The last times of an instruction on each node, in ns.
    times: Vec<SmallVec<[u64; RECENT]>>,
    /// In instructions per ns, if a time is known.
    speeds: Vec<f64>,
    /// For each node, the sum of the speeds of all cores of faster nodes.
    faster: Vec<f64>,
    fastest: f64,
    slowest: f64,
    /// The sum of the speeds of all cores.
    all: f64,
}

impl Hash for Weights {
    fn hash<H: Hasher>(&self, into: &mut H) {
        self.speeds.iter().for_each(|speed| speed.to_bits().hash(into));
        self.times.hash(into);
    }
}

impl Weights {
    /// Compares nodes with these known speeds and numbers of cores.
    ///
    /// # Panics
    /// If there are not as many speeds as numbers.
    pub fn new(speeds: &[f64], cores: &[u32]) -> Self {
        assert_eq!(speeds.len(), cores.len(), "each node has a speed and cores");
        let mut weights = Weights {
            known: speeds.to_vec(),
            cores: cores.to_vec(),
            times: vec![SmallVec::new(); speeds.len()],
            speeds: Vec::new(),
            faster: vec![0.0; speeds.len()],
            fastest: 0.0,
            slowest: 0.0,
            all: 0.0,
        };
        weights.compare();
        weights
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> u32 {
        self.known.len() as u32
    }

    /// Returns the number of cores of a node.
    pub fn cores(&self, node: Node) -> u32 {
        self.cores[node as usize]
    }

    /// Records the time of an instruction on a node, in ns. The last five times count. A time of 0 is ignored.
    pub fn learn(&mut self, node: Node, time: u64) {
        if time == 0 {
            return;
        }
        let times = &mut self.times[node as usize];
        let before = range(times);
        if times.len() == RECENT {
            times.remove(0);
        }
        times.push(time);
        // A small change is noise, and no reason to compare all nodes.
        if range(times).map(coarse) != before.map(coarse) {
            self.compare();
        }
    }

    /// Returns the median of the last times of an instruction on a node, in ns, or `None` if no time is known.
    pub fn time_on(&self, node: Node) -> Option<u64> {
        let times = &self.times[node as usize];
        (!times.is_empty()).then(|| range(times)[1])
    }

    /// Returns the expected time of an instruction on a node, in ns, or `None` if no time of any node is known.
    pub fn expected(&self, node: Node) -> Option<f64> {
        self.is_known().then(|| 1.0 / self.speeds[node as usize])
    }

    /// Returns the expected time of an instruction on the slowest node, in ns, or `None` if no time is known.
    pub fn longest(&self) -> Option<f64> {
        self.is_known().then(|| 1.0 / self.slowest)
    }

    fn is_known(&self) -> bool {
        self.times.iter().any(|times| !times.is_empty())
    }

    /// Forgets the oldest time of a node: the node has executed nothing for some time, and its speed may be another one
    /// now.
    pub fn forget(&mut self, node: Node) {
        if !self.times[node as usize].is_empty() {
            self.times[node as usize].remove(0);
            self.compare();
        }
    }

    /// Returns the part of all work that a node does if no node is ever idle.
    pub fn share(&self, node: Node) -> f64 {
        self.speeds[node as usize] * f64::from(self.cores(node)) / self.all
    }

    /// Returns the speeds of the nodes, each as a multiple of the fastest: 0 for a lost node.
    pub fn relative(&self) -> Vec<f64> {
        self.speeds.iter().map(|speed| speed / self.fastest).collect()
    }

    /// Removes a lost node.
    pub fn lose(&mut self, node: Node) {
        self.known[node as usize] = 0.0;
        self.times[node as usize].clear();
        self.compare();
    }

    /// Returns true if the `left` remaining instructions are completed earlier when a node takes none of them: a faster
    /// node would complete the next `run` of them, which one node has to execute, sooner than this node.
    pub fn should_leave(&self, node: Node, left: u64, run: u32) -> bool {
        let (own, faster, run) = (self.speeds[node as usize], self.faster[node as usize], f64::from(run));
        faster > 0.0 && run / own > WAITING * left as f64 / faster + run / self.fastest
    }

    fn compare(&mut self) {
        let medians: Vec<Option<f64>> =
            (0..self.nodes()).map(|node| self.time_on(node).map(|time| time as f64)).collect();
        // The work of an instruction, if the known speeds of most nodes are right: a median.
        let works = medians.iter().zip(&self.known).filter_map(|(median, known)| Some((*median)? * known));
        let mut works: Vec<f64> = works.collect();
        works.sort_by(f64::total_cmp);
        let work = works.get(works.len() / 2).copied().unwrap_or(1.0);
        let speed = |((times, median), known): ((&SmallVec<_>, &Option<f64>), &f64)| match median {
            Some(median) if !allow(times, work / known) => 1.0 / median,
            _ => known / work,
        };
        self.speeds = self.times.iter().zip(&medians).zip(&self.known).map(speed).collect();
        let cores = |node: usize| f64::from(self.cores[node]);
        let mut order: Vec<usize> = (0..self.speeds.len()).collect();
        order.sort_by(|one, other| self.speeds[*other].total_cmp(&self.speeds[*one]));
        self.fastest = order.first().map_or(0.0, |first| self.speeds[*first]);
        // A lost node has no speed.
        self.slowest = order.iter().rev().map(|node| self.speeds[*node]).find(|speed| *speed > 0.0).unwrap_or(0.0);
        let (mut faster, mut as_fast, mut last) = (0.0, 0.0, f64::INFINITY);
        for node in order {
            let speed = self.speeds[node];
            if speed < last {
                faster += as_fast;
                (as_fast, last) = (0.0, speed);
            }
            as_fast += speed * cores(node);
            self.faster[node] = faster;
        }
        self.all = faster + as_fast;
    }
}

/// Returns the first four bits of a time, and zeros for the others.
fn coarse(time: u64) -> u64 {
    let shift = (u64::BITS - time.leading_zeros()).saturating_sub(4);
    time >> shift << shift
}

/// Returns true if the times of a node allow for an expected time: it is among them, if the largest and the smallest of
/// four or more do not count, or close to them.
fn allow(times: &SmallVec<[u64; RECENT]>, expected: f64) -> bool {
    let [least, _, most] = range(times);
    let close = 1.0 + 0.5 / times.len() as f64;
    least as f64 / close <= expected && expected <= most as f64 * close
}

/// Returns the smallest time, the median and the largest time. Of four times or more, the extremes do not count.
fn range(times: &SmallVec<[u64; RECENT]>) -> [u64; 3] {
    let mut times = times.clone();
    times.sort_unstable();
    let outer = usize::from(times.len() >= 4);
    let [least, most] = [outer, (times.len() - outer).saturating_sub(1)];
    [least, times.len() / 2, most].map(|at| times.get(at).copied().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_never_leave_anything() {
        let mut weights = Weights::new(&[1.0, 3.0, 1.0, 3.0, 2.0], &[1; 5]);
        assert_eq!(weights.faster, [8.0, 0.0, 8.0, 0.0, 6.0]);
        assert!((0..100).all(|left| !weights.should_leave(1, left, 1)));
        assert!(weights.should_leave(0, 1, 1) && !weights.should_leave(0, 100, 1));
        assert!(weights.should_leave(0, 100, 20), "a long run that one node has to execute");
        weights.lose(1);
        weights.lose(3);
        assert_eq!((weights.faster[0], weights.faster[4]), (2.0, 0.0));
        weights.lose(4);
        assert!((0..100).all(|left| !weights.should_leave(0, left, 1)));
    }

    #[test]
    fn equal_nodes_never_wait_for_each_other() {
        let weights = Weights::new(&[2.0; 7], &[1; 7]);
        assert!((0..7).all(|node| !weights.should_leave(node, 1, 1)));
    }

    #[test]
    fn times_that_a_speed_does_not_explain_change_it() {
        let mut weights = Weights::new(&[1.0, 1.0, 2.0], &[1, 2, 1]);
        weights.learn(0, 0);
        assert!(weights.longest().is_none());
        weights.learn(0, 100);
        assert_eq!(weights.relative(), [0.5, 0.5, 1.0]);
        assert!((weights.share(1) - 0.4).abs() < 1e-9);
        // Instructions of any length, between which all nodes are as fast as known.
        for (at, time) in [20, 180, 100, 60, 140, 90, 30, 170].into_iter().enumerate() {
            weights.learn(at as Node % 2, time);
            weights.learn(2, time / 2);
        }
        assert_eq!(weights.relative(), [0.5, 0.5, 1.0]);
        // One node becomes slow.
        (0..5).for_each(|_| weights.learn(1, 4000));
        let now = weights.relative();
        assert!(now[1] < 0.05 && now[0] > 0.3, "{now:?}");
        assert_eq!((weights.time_on(1), weights.longest().map(f64::round)), (Some(4000), Some(4000.0)));
        // It does not stay slow for ever, if it executes nothing.
        (0..5).for_each(|_| weights.forget(1));
        assert_eq!((weights.time_on(1), weights.relative()), (None, vec![0.5, 0.5, 1.0]));
    }

    #[test]
    fn the_first_times_of_nodes_show_their_speeds() {
        let mut weights = Weights::new(&[1.0; 12], &[1; 12]);
        let times = [780, 780, 780, 780, 780, 780, 2243, 2243, 2243, 737, 737, 737];
        (0..).zip(times).for_each(|(node, time)| weights.learn(node, time));
        assert!((6..9).all(|node| weights.should_leave(node, 3, 1)));
        assert!((0..6).chain(9..12).all(|node| !weights.should_leave(node, 3, 1)));
    }
}
