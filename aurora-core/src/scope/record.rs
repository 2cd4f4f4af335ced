//! The record of one epoch: this rank's opening, and the messages that have arrived from other ranks.

use super::Opening;
use aurora_net::Rank;

/// The messages that have arrived from one rank for one epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arrival<A> {
    pub(crate) opening: Option<Opening>,
    /// The rank has announced or ended its part.
    pub(crate) complete: bool,
    /// Batches that the rank says it has sent to this rank.
    pub(crate) batches: u64,
    /// Batches of the rank that this rank has applied.
    pub(crate) applied: u64,
    /// The data of the object's protocols.
    pub(crate) kept: A,
}

#[derive(Clone, Debug)]
pub(crate) struct Record<A> {
    pub(crate) mine: Option<Opening>,
    /// This rank has announced or ended its part.
    pub(crate) mine_complete: bool,
    pub(crate) from: Vec<Arrival<A>>,
}

impl<A: Clone + Default> Record<A> {
    pub(super) fn new(ranks: usize) -> Self {
        Record { mine: None, mine_complete: false, from: vec![Arrival::default(); ranks] }
    }
}

impl<A> Record<A> {
    /// Fails with the first rank whose opening differs.
    pub(super) fn all_agree_with(&self, opening: &Opening) -> Result<(), super::Disagreement> {
        let openings =
            self.from.iter().enumerate().filter_map(|(rank, arrival)| Some((rank, arrival.opening.as_ref()?)));
        let other = openings.into_iter().find(|(_, theirs)| !theirs.agrees_with(opening));
        other.map_or(Ok(()), |(rank, theirs)| Err((Rank::new(rank), Box::new(theirs.clone()))))
    }

    pub(super) fn is_in_order(&self) -> bool {
        self.mine.as_ref().is_some_and(|mine| mine.rule == super::Rule::EndedInOrder)
    }
}
