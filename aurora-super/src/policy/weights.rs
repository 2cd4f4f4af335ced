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
/// A node of which no time is known has its known speed in the scale of the nodes of which one is known.
///
/// ```
/// use aurora_super::policy::Weights;
///
/// let mut weights = Weights::new(&[1.0, 1.0, 3.0], &[1, 1, 2]);
/// assert!((weights.share(2) - 6.0 / 8.0).abs() < 1e-9 && weights.time().is_none());
/// for time in [90_000, 12_000, 12_000] {
///     weights.learn(0, time); // ns
/// }
/// assert_eq!(weights.time().map(f64::round), Some(4000.0)); // node 2 is three times as fast as the median of node 0
/// ```
#[derive(Clone, Debug)]
pub struct Weights {
    known: Vec<f64>,
    cores: Vec<u32>,
    /// The last times of an instruction on each node, in ns.
    times: Vec<SmallVec<[u64; RECENT]>>,
    speeds: Vec<f64>,
    /// For each node, the sum of the speeds of all cores of faster nodes.
    faster: Vec<f64>,
    fastest: f64,
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

    /// Records the time of an instruction on a node, in ns. The median of the last five times counts. A time of 0 is
    /// ignored. Returns true if the speed of the node changes.
    pub fn learn(&mut self, node: Node, time: u64) -> bool {
        if time == 0 {
            return false;
        }
        let (times, before) = (&mut self.times[node as usize], self.speeds[node as usize]);
        if times.len() == RECENT {
            times.remove(0);
        }
        times.push(time);
        self.compare();
        self.speeds[node as usize] != before
    }

    /// Returns the median of the last times of an instruction on a node, in ns, or `None` if no time is known.
    pub fn time_on(&self, node: Node) -> Option<u64> {
        let mut times = self.times[node as usize].clone();
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    }

    /// Returns the expected time of an instruction on the fastest node, in ns, or `None` if no time is known.
    pub fn time(&self) -> Option<f64> {
        self.times.iter().any(|times| !times.is_empty()).then(|| 1.0 / self.fastest)
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
        // The speeds by times, in instructions per ns, and the scale of the known speeds.
        let learnt: Vec<Option<f64>> =
            (0..self.nodes()).map(|node| self.time_on(node).map(|time| 1.0 / time as f64)).collect();
        let both = learnt.iter().zip(&self.known).filter_map(|(learnt, known)| Some(((*learnt)?, *known)));
        let (by_times, by_known) = both.fold((0.0, 0.0), |(a, b), (learnt, known)| (a + learnt, b + known));
        let scale = if by_known > 0.0 { by_times / by_known } else { 1.0 };
        self.speeds = learnt.iter().zip(&self.known).map(|(learnt, known)| learnt.unwrap_or(known * scale)).collect();
        let cores = |node: usize| f64::from(self.cores[node]);
        let mut order: Vec<usize> = (0..self.speeds.len()).collect();
        order.sort_by(|one, other| self.speeds[*other].total_cmp(&self.speeds[*one]));
        self.fastest = order.first().map_or(0.0, |first| self.speeds[*first]);
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
    fn the_median_of_five_times_counts() {
        let mut weights = Weights::new(&[1.0, 1.0, 2.0], &[1, 2, 1]);
        assert!(!weights.learn(0, 0) && weights.time().is_none());
        assert!(weights.learn(0, 100));
        assert_eq!(weights.relative(), [0.5, 0.5, 1.0]);
        assert!((weights.share(1) - 0.4).abs() < 1e-9);
        for time in [100, 900, 900] {
            weights.learn(0, time);
        }
        assert_eq!(weights.time_on(0), Some(900));
        weights.learn(0, 100);
        assert_eq!((weights.time_on(0), weights.time_on(1)), (Some(100), None));
        // A node that becomes slow has another speed after three times.
        weights.learn(1, 200);
        (0..4).for_each(|_| _ = weights.learn(1, 200));
        (0..2).for_each(|_| assert!(!weights.learn(1, 4000)));
        assert!(weights.learn(1, 4000));
        assert_eq!((weights.time_on(0), weights.time_on(1)), (Some(100), Some(4000)));
    }
}
