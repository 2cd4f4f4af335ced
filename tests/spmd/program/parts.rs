//! Two parts, each with a scope of its own. A dropped load of the whole vector may still be arriving meanwhile.

use super::sums::Twist;
use super::{Program, Writers};
use aurora_core::ops::Sum;
use aurora_core::{
    Accumulate, BatchedReads, Op, OwnerComputes, OwnerComputesMut, ReadCache, ReadCacheReleaseC, ReleaseAlone,
    ReleaseC, Result, SliceMut,
};
use aurora_suite::{check, mix};
use std::ops::Range;

/// The scope of a part.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Cache,
    Own,
    OwnMut,
    Release,
    Both,
    Alone,
    Sum,
    InOrder,
    BatchedReads,
}

impl Kind {
    const ALL: [Kind; 9] = [
        Kind::Cache,
        Kind::Own,
        Kind::OwnMut,
        Kind::Release,
        Kind::Both,
        Kind::Alone,
        Kind::Sum,
        Kind::InOrder,
        Kind::BatchedReads,
    ];
}

/// The values before and after, and the data that determine the writes of each rank.
struct Plan {
    before: Vec<u64>,
    after: Vec<u64>,
    key: u64,
    ranks: usize,
    me: usize,
}

impl Plan {
    /// Plans the scopes of both parts; the left part ends at `at`.
    fn new(before: &[u64], key: u64, (ranks, me): (usize, usize), (at, kinds): (usize, [Kind; 2])) -> Self {
        let mut plan = Plan { before: before.to_vec(), after: before.to_vec(), key, ranks, me };
        for i in 0..before.len() {
            plan.after[i] = plan.outcome(kinds[usize::from(i >= at)], i);
        }
        plan
    }

    fn outcome(&self, kind: Kind, i: usize) -> u64 {
        let (x, drawn) = (self.before[i], mix(self.key.wrapping_add(i as u64)));
        let operands = || (0..self.ranks).map(|rank| self.operand(rank, i));
        match kind {
            Kind::Cache | Kind::Own | Kind::BatchedReads => x,
            Kind::OwnMut => x.wrapping_mul(3) ^ drawn,
            _ if !self.is_written(i) => x,
            Kind::Release | Kind::Both | Kind::Alone => drawn,
            Kind::Sum => operands().fold(x, <Sum as Op<u64>>::apply),
            Kind::InOrder => operands().fold(x, Twist::apply),
        }
    }

    fn is_written(&self, i: usize) -> bool {
        mix(self.key ^ i as u64).is_multiple_of(3)
    }

    fn operand(&self, rank: usize, i: usize) -> u64 {
        mix(self.key.wrapping_mul(rank as u64 + 2) ^ i as u64)
    }

    /// The elements that this rank writes, where each element has one writer.
    fn mine(&self, part: Range<usize>) -> impl Iterator<Item = usize> {
        part.filter(|i| self.is_mine(*i))
    }

    fn is_mine(&self, i: usize) -> bool {
        i % self.ranks == self.me && self.is_written(i)
    }
}

/// An open scope of a part. For some kinds with true if it has been used.
enum Open<'v> {
    Cache(ReadCache<'v, u64>),
    Own(OwnerComputes<'v, u64>),
    OwnMut(OwnerComputesMut<'v, u64>, bool),
    Release(ReleaseC<'v, u64>),
    Both(ReadCacheReleaseC<'v, u64>, bool),
    Alone(ReleaseAlone<'v, u64>),
    Sum(Accumulate<'v, u64, Sum>, bool),
    InOrder(Accumulate<'v, u64, Twist>, bool),
    BatchedReads(BatchedReads<'v, u64>),
}

impl<'v> Open<'v> {
    fn new(kind: Kind, part: SliceMut<'v, u64>) -> Result<Self> {
        Ok(match kind {
            Kind::Cache => Open::Cache(part.read_cache()?),
            Kind::Own => Open::Own(part.owner_computes()?),
            Kind::OwnMut => Open::OwnMut(part.owner_computes_mut()?, false),
            Kind::Release => Open::Release(part.release_c()?),
            Kind::Both => Open::Both(part.read_cache_release_c()?, false),
            Kind::Alone => Open::Alone(part.release_alone()?),
            Kind::Sum => Open::Sum(part.accumulate(Sum)?, false),
            Kind::InOrder => Open::InOrder(part.accumulate_in_order(Twist)?, false),
            Kind::BatchedReads => Open::BatchedReads(part.batched_reads()?),
        })
    }

    /// Reads the shown elements, and writes this rank's share.
    fn use_it(&mut self, part: Range<usize>, plan: &Plan) -> Result<()> {
        let Plan { before, after, .. } = plan;
        match self {
            Open::Cache(cache) => check::same(cache.as_slice(), part.start, |i| before[i]),
            Open::Own(own) => check::same(own.local(), own.indices().start, |i| before[i]),
            Open::OwnMut(own, used) => {
                let shown = if std::mem::replace(used, true) { after } else { before };
                check::same(own.local(), own.indices().start, |i| shown[i])?;
                own.indices().for_each(|i| own[i] = after[i]);
                Ok(())
            }
            Open::Release(scope) => plan.mine(part).try_for_each(|i| scope.put(i, after[i])),
            Open::Both(scope, used) => {
                let used = std::mem::replace(used, true);
                check::same(
                    scope.as_slice(),
                    part.start,
                    |i| if used && plan.is_mine(i) { after[i] } else { before[i] },
                )?;
                plan.mine(part).for_each(|i| scope[i] = after[i]);
                Ok(())
            }
            Open::Alone(scope) => plan.mine(part).try_for_each(|i| scope.put(i, after[i])),
            Open::Sum(scope, used) => update(scope, used, part, plan),
            Open::InOrder(scope, used) => update(scope, used, part, plan),
            Open::BatchedReads(gather) => {
                // All over the part, and not in order.
                let len = part.len();
                let indices: Vec<usize> = (0..len.min(300)).map(|k| part.start + k * 7919 % len).collect();
                check::same(&gather.read(&indices)?, 0, |k| before[indices[k]])
            }
        }
    }
}

/// Every rank updates every written element once.
fn update<O: Op<u64>>(
    scope: &mut Accumulate<'_, u64, O>,
    used: &mut bool,
    part: Range<usize>,
    plan: &Plan,
) -> Result<()> {
    if std::mem::replace(used, true) {
        return Ok(());
    }
    let mut written = part.filter(|i| plan.is_written(*i));
    written.try_for_each(|i| scope.update(i, plan.operand(plan.me, i)))
}

impl Program<'_> {
    /// Two parts, each with a scope of its own, which are open at the same time.
    pub fn parts(&mut self) -> Result<()> {
        if self.unordered != Writers::None {
            self.order()?;
        }
        let job = (self.world.size(), self.world.rank().index());
        let (at, key) = (self.shared.below(self.model.len() + 1), self.shared.bits());
        let kinds: [Kind; 2] = std::array::from_fn(|_| Kind::ALL[self.shared.below(Kind::ALL.len())]);
        let (right_first, ends_first) = (self.shared.below(2) == 0, self.shared.below(2) == 0);
        let plan = Plan::new(&self.model, key, job, (at, kinds));
        if self.shared.below(3) == 0 {
            self.glance()?;
        }
        let (mut left, mut right) = self.v.split_at_mut(at);
        let open = |(first, kind): (&mut SliceMut<'_, u64>, Kind), (second, next): (&mut SliceMut<'_, u64>, Kind)| {
            let (mine, others) = (first.range(), second.range());
            let mut one = Open::new(kind, first.slice_mut(..))?;
            one.use_it(mine.clone(), &plan)?;
            let mut other = Open::new(next, second.slice_mut(..))?;
            other.use_it(others, &plan)?;
            one.use_it(mine, &plan)?;
            if ends_first {
                drop(one);
                drop(other);
            } else {
                drop(other);
                drop(one);
            }
            Ok(())
        };
        let (left, right) = ((&mut left, kinds[0]), (&mut right, kinds[1]));
        let outcome: Result<()> = if right_first { open(right, left) } else { open(left, right) };
        outcome.map_err(|error| check::amid(format!("{kinds:?}, cut at {at}"), error))?;
        self.model = plan.after;
        self.world.barrier()
    }

    /// Begins to load the whole and drops the guard after the first pieces, or before.
    fn glance(&mut self) -> Result<()> {
        let (model, pieces) = (&self.model, self.speed.below(3));
        let stream = self.v.read_cache_blocks()?;
        for block in stream.blocks().take(pieces) {
            let (range, elements) = block?;
            check::same(elements, range.start, |i| model[i])?;
        }
        Ok(())
    }
}
