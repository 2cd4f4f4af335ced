//! The ranks of a job that share memory, and the rank of a node that receives a block for all of its node.

use aurora_net::Rank;

/// The nodes of a job: sets of ranks that share memory. The same on all ranks.
#[derive(Debug)]
pub(crate) struct Nodes {
    /// By rank.
    locations: Vec<Location>,
    /// The ranks of each node, in ascending order.
    nodes: Vec<Vec<Rank>>,
}

#[derive(Clone, Copy, Debug)]
struct Location {
    node: usize,
    /// Among the ranks of its node.
    position: usize,
}

impl Nodes {
    /// `leaders` has the leader of each rank's node.
    pub(crate) fn new(leaders: &[Rank]) -> Self {
        let mut nodes: Vec<Vec<Rank>> = Vec::new();
        let mut locations: Vec<Location> = Vec::with_capacity(leaders.len());
        for (rank, leader) in leaders.iter().enumerate() {
            // A leader is the lowest rank of its node.
            let node = if *leader == rank { nodes.len() } else { locations[leader.index()].node };
            if node == nodes.len() {
                nodes.push(Vec::new());
            }
            locations.push(Location { node, position: nodes[node].len() });
            nodes[node].push(Rank::new(rank));
        }
        Nodes { locations, nodes }
    }

    /// Each rank on a node of its own.
    pub(crate) fn apart(size: usize) -> Self {
        Nodes::new(&(0..size).map(Rank::new).collect::<Vec<_>>())
    }

    pub(crate) fn size(&self) -> usize {
        self.locations.len()
    }

    /// The ranks of a rank's node, including that rank.
    pub(crate) fn with(&self, rank: Rank) -> &[Rank] {
        &self.nodes[self.locations[rank.index()].node]
    }

    pub(crate) fn same_node(&self, one: Rank, other: Rank) -> bool {
        self.locations[one.index()].node == self.locations[other.index()].node
    }

    /// A rank's position on its node.
    pub(crate) fn position(&self, rank: Rank) -> usize {
        self.locations[rank.index()].position
    }

    /// The rank of `rank`'s node that receives the block of `owner`, which is on another node, for its whole node.
    /// The ranks of a node share the work evenly.
    pub(crate) fn receiver(&self, owner: Rank, rank: Rank) -> Rank {
        let (sharers, owner) = (self.with(rank), self.locations[owner.index()]);
        sharers[(owner.node + owner.position) % sharers.len()]
    }

    /// True if `rank` receives the block of an owner on another node.
    pub(crate) fn receives(&self, owner: Rank, rank: Rank) -> bool {
        !self.same_node(owner, rank) && self.receiver(owner, rank) == rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(leaders: &[usize]) -> Nodes {
        Nodes::new(&leaders.iter().copied().map(Rank::new).collect::<Vec<_>>())
    }

    fn received(nodes: &Nodes, size: usize) -> Vec<usize> {
        let all = || (0..size).map(Rank::new);
        all().map(|rank| all().filter(|owner| nodes.receives(*owner, rank)).count()).collect()
    }

    #[test]
    fn each_node_receives_each_block_once_and_its_ranks_share_the_work() {
        // Two and two, in turns, all alone, one and three, four of one each and one of four.
        assert_eq!(received(&nodes(&[0, 0, 2, 2]), 4), [1, 1, 1, 1]);
        assert_eq!(received(&nodes(&[0, 1, 0, 1]), 4), [1, 1, 1, 1]);
        assert_eq!(received(&Nodes::apart(3), 3), [2, 2, 2]);
        assert_eq!(received(&nodes(&[0, 1, 1, 1]), 4), [3, 1, 0, 0]);
        assert_eq!(received(&nodes(&[0, 1, 2, 3, 4, 4, 4, 4]), 8), [7, 7, 7, 7, 1, 1, 1, 1]);
        assert_eq!(received(&nodes(&[0, 0]), 2), [0, 0]);
    }

    #[test]
    fn mates_and_their_positions() {
        let nodes = nodes(&[0, 1, 0, 1, 4]);
        assert_eq!(nodes.with(Rank::new(3)), [Rank::new(1), Rank::new(3)]);
        assert!(nodes.same_node(Rank::new(0), Rank::new(2)) && !nodes.same_node(Rank::new(0), Rank::new(1)));
        assert_eq!((0..5).map(|rank| nodes.position(Rank::new(rank))).collect::<Vec<_>>(), [0, 0, 1, 1, 0]);
    }
}
