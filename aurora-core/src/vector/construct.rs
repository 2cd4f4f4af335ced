//! Collective construction: every rank makes its part, and all check that they mean the same object.

use crate::collective::Proposal;
use crate::distribution::{Distribution, Partition, Refusal, Shape};
use crate::error::{Result, clip};
use crate::kernel::nodes::Nodes;
use crate::link::Link;
use crate::memory::node::home::{Home, Place};
use crate::memory::{Array, Demand, Limits, SharedCopy, Sharing, offset_in_page};
use crate::object::{Plan, Shared};
use crate::operation::{TypeKey, short};
use crate::vector::block::Block;
use crate::vector::core::VectorCore;
use crate::vector::machine::Vector;
use crate::vector::protocol::Protocols;
use crate::{Element, Error, Site, World};
use aurora_net::Rank;
use std::any::type_name;
use std::sync::Arc;

pub(crate) struct VectorPlan {
    pub(crate) plan: Plan,
    pub(crate) dist: Distribution,
}

impl VectorPlan {
    /// Does the checks that this rank can do alone. A refusal is kept, because the other ranks must get it, too.
    pub(crate) fn new<T: Element>(world: &World, partition: Partition<'_>, on: Option<Rank>, site: Site) -> Self {
        let dist = distribute::<T>(world, partition, on, &site);
        let placed = on.map_or(String::new(), |rank| format!(" on {rank}"));
        let what = format!("GVector<{}> of {partition}{placed}", short::<T>());
        let alike = dist.as_ref().ok().map(|dist| (dist.shape(), dist.ends()));
        let mut plan = Plan::at(what, &("GVector", TypeKey::of::<T>(), alike, on), site);
        let dist = dist.unwrap_or_else(|refusal| {
            plan.refuse(refusal);
            Distribution::block(Shape::Vector(0), world.size())
        });
        VectorPlan { plan, dist }
    }

    /// Collective. Checks, before large blocks are made, that the blocks of each node fit into its memory together.
    /// True once all ranks have agreed on that; false for a small vector, which is not checked here.
    pub(crate) fn admit<T: Element>(&self, link: &Link) -> Result<bool> {
        /// Bytes of the whole vector, so that all ranks decide alike. Smaller blocks are checked by each rank alone.
        const LARGE: usize = 2 << 20;
        // A rank that refuses has planned a vector of no elements. It skips this, and reports its refusal in the next
        // collective call.
        if self.dist.len() * size_of::<T>() < LARGE {
            return Ok(false);
        }
        let own = self.dist.range(link.me).len() * size_of::<T>();
        let demand = Demand::new(link.me, own, Limits::find().pools());
        let action = self.plan.action();
        let proposal =
            Proposal { demand, ..Proposal::new("the begin of a construction", &action, self.plan.key_of(link.id())) };
        match link.propose(proposal, &self.plan.site)? {
            None => Ok(true),
            Some((rank, shortage)) => Err(shortage.error(rank, "its block", self.plan.name(), &self.plan.site)),
        }
    }

    /// Collective. The place in the node's shared memory of a vector on which all ranks have agreed, if it has one, and
    /// this rank's partial copy there.
    pub(crate) fn place<T: Element>(&self, link: &Link) -> Result<Placed<T>> {
        let (dist, me, id) = (&self.dist, link.me, link.id());
        let Some(node) = link.node().filter(|_| self.is_shared::<T>()) else {
            return Ok((None, None));
        };
        let (nodes, sharers) = (&link.nodes, node.ranks().len());
        let bytes = dist.len() * size_of::<T>();
        let offset = offset_in_page::<T>(id, bytes);
        let segment = node.share(id.0, Sharing::segment_len(sharers, bytes, offset).unwrap_or(usize::MAX));
        let segment = segment.map_err(|error| link.why(Error::Start(error.to_string()), &self.plan.site))?;
        let sharing =
            Sharing::new(segment, (bytes, offset), node.clone(), nodes.position(me), link.holder_timeout.clone());
        let abroad = (0..link.size).map(Rank::new).filter(|owner| nodes.receives(*owner, me));
        let abroad = abroad.map(|owner| (owner, dist.range(owner)));
        let (place, copy) = Place::new(sharing, dist.range(me), dist.len(), (link.size, abroad));
        Ok((Some(place), copy))
    }

    /// True if ranks of a node share such a vector. Equal on all ranks, also on a rank that is alone on its node.
    fn is_shared<T: Element>(&self) -> bool {
        !self.dist.is_empty() && Sharing::suits::<T>()
    }

    /// This rank's block, in its place if it has one: of zeros, or of the values given. Refuses without memory for it.
    pub(crate) fn block<T: Element>(
        &mut self,
        world: &World,
        place: Option<Array<T>>,
        value: Option<&mut dyn FnMut(usize) -> T>,
    ) -> Array<T> {
        if self.plan.refusal.is_some() {
            return Array::default();
        }
        let range = self.dist.range(world.rank());
        let taken = match place {
            Some(mut place) => place.take_all().map(|()| place),
            None => Array::zeroed(range.len()),
        };
        let mut block = taken.unwrap_or_else(|shortage| {
            self.plan.refuse(shortage.error(world.rank(), "its block", self.plan.name(), &self.plan.site));
            Array::default()
        });
        if let Some(value) = value {
            block.iter_mut().zip(range).for_each(|(element, index)| *element = value(index));
        }
        block
    }

    /// Collective. Registers the vector and returns once all ranks have agreed on it.
    pub(crate) fn agree<T: Element>(
        &mut self,
        link: Link,
        block: Array<T>,
        home: Option<Home>,
        protocols: Protocols,
    ) -> Result<Shared<Vector>> {
        let block = Block::new(Arc::new(block), size_of::<T>().max(1), home);
        let nodes = if self.is_shared::<T>() { link.nodes.clone() } else { Arc::new(Nodes::apart(link.size)) };
        let dist = self.dist.clone();
        Shared::construct(link, &mut self.plan, |core| {
            Vector::new(core, VectorCore::new::<T>(core, dist, block, nodes), protocols)
        })
    }
}

/// A vector's place in the node's shared memory, and this rank's partial copy there.
type Placed<T> = (Option<Place<T>>, Option<SharedCopy<T>>);

fn distribute<T: Element>(
    world: &World,
    partition: Partition<'_>,
    on: Option<Rank>,
    site: &Site,
) -> Result<Distribution> {
    let (size, site) = (world.size(), site.clone());
    if size_of::<T>() == 0 {
        return Err(Error::ZeroSized { element: type_name::<T>().into(), site });
    }
    let is_too_large =
        |dist: &Distribution| dist.len().checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize);
    let dist = match partition.distribute(size) {
        Ok(dist) if is_too_large(&dist) => Err(Refusal::TooLarge),
        dist => dist,
    };
    let dist = dist.map_err(|refusal| match refusal {
        Refusal::TooLarge => {
            let (rank, shape, element) = (world.rank(), clip(&partition.to_string()).into_owned(), short::<T>().into());
            Error::TooLarge { rank, shape, element, site: site.clone() }
        }
        Refusal::TooManyRows => {
            Error::TooManyRows { shape: clip(&partition.to_string()).into_owned(), site: site.clone() }
        }
        Refusal::Count(what, given) => Error::OneForEachRank { what: what.into(), given, size, site: site.clone() },
        Refusal::Weight(rank, weight) => Error::BadWeight { rank, weight, site: site.clone() },
        Refusal::NoWeight => Error::NoWeight { size, site: site.clone() },
    })?;
    match on {
        Some(rank) if rank.index() >= size => Err(Error::NoSuchRank { rank, size, site }),
        Some(rank) => Ok(Distribution::on(rank, dist.shape())),
        None => Ok(dist),
    }
}
