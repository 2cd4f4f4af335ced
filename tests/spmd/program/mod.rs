//! Random programs: any scope after any other, ranks at different speeds, checked against a plain vector.
//!
//! Every rank draws the same program from the seed and computes what all of them write, so that each knows the outcome.

use aurora_core::{
    Accumulate, Add, Error, GVector, GlobalRead, Halo, MatrixDim, Op, OwnerComputes, OwnerComputesMut, ReadCache,
    ReadCacheReleaseC, ReleaseAlone, ReleaseC, Result, SliceMut, World, distmemcpy,
};
use aurora_suite::body::Body;
use aurora_suite::check;
use aurora_suite::random::{Random, mix};
use std::ops::Range;
use std::time::Duration;

pub fn bodies() -> Vec<Body> {
    vec![Body::of(random_programs)]
}

const PROGRAMS: u64 = 12;
const STEPS: usize = 30;

fn random_programs(world: &World) -> Result<()> {
    (0..PROGRAMS).try_for_each(|seed| {
        Program::new(world, seed)?.run().map_err(|error| match error {
            Error::User { message, site, source } => {
                let message = format!("program {seed}: {message}");
                Error::User { message, site, source }
            }
            error => error,
        })
    })
}

/// Who may write what without further ado.
#[derive(Clone, Copy, PartialEq)]
enum Writers {
    /// All writes are ordered before what follows.
    None,
    /// Rank `r` has written elements `i` with `i % p == r`.
    Classes,
    /// Each rank has written its own block.
    Owners,
}

/// A scope of a part.
enum Open<'v> {
    Cache(ReadCache<'v, u64>),
    Own(OwnerComputes<'v, u64>),
    OwnMut(OwnerComputesMut<'v, u64>, bool),
    Release(ReleaseC<'v, u64>),
    Both(ReadCacheReleaseC<'v, u64>, bool),
    Alone(ReleaseAlone<'v, u64>),
}

impl<'v> Open<'v> {
    fn new(kind: usize, part: SliceMut<'v, u64>) -> Result<Self> {
        Ok(match kind {
            0 => Open::Cache(part.read_cache()?),
            1 => Open::Own(part.owner_computes()?),
            2 => Open::OwnMut(part.owner_computes_mut()?, false),
            3 => Open::Release(part.release_c()?),
            4 => Open::Both(part.read_cache_release_c()?, false),
            _ => Open::Alone(part.release_alone()?),
        })
    }

    /// Reads what it shows, which was `before`, and writes its share of what comes `after`.
    fn use_it(
        &mut self,
        part: Range<usize>,
        before: &[u64],
        after: &[u64],
        is_mine: &impl Fn(&usize) -> bool,
    ) -> Result<()> {
        match self {
            Open::Cache(cache) => check::same(cache, part.start, |i| before[i]),
            Open::Own(own) => check::same(own.local(), own.indices().start, |i| before[i]),
            Open::OwnMut(own, written) => {
                let shown = if std::mem::replace(written, true) { after } else { before };
                check::same(own.local(), own.indices().start, |i| shown[i])?;
                own.indices().for_each(|i| own[i] = after[i]);
                Ok(())
            }
            Open::Release(scope) => part.filter(is_mine).try_for_each(|i| scope.put(i, after[i])),
            Open::Both(scope, written) => {
                let seen = std::mem::replace(written, true);
                check::same(scope, part.start, |i| if seen && is_mine(&i) { after[i] } else { before[i] })?;
                part.filter(is_mine).for_each(|i| scope[i] = after[i]);
                Ok(())
            }
            Open::Alone(scope) => part.filter(is_mine).try_for_each(|i| scope.put(i, after[i])),
        }
    }
}

struct Program<'w> {
    world: &'w World,
    /// The same on all ranks.
    shared: Random,
    /// This rank's own.
    speed: Random,
    v: GVector<u64>,
    model: Vec<u64>,
    unordered: Writers,
}

fn accumulate<O: Op<u64>>(
    mut scope: Accumulate<'_, u64, O>,
    updates: &[(usize, Vec<u64>)],
    checked: bool,
) -> Result<()> {
    for (start, operands) in updates {
        match operands[..] {
            [operand] => scope.update(*start, operand)?,
            _ => scope.update_slice(*start, operands)?,
        }
    }
    if checked { scope.finish() } else { Ok(()) }
}

/// Associative, but not commutative: the upper half is a factor, the lower one a summand.
struct Twist;

impl Op<u64> for Twist {
    fn apply(current: u64, operand: u64) -> u64 {
        let halves = |x: u64| ((x >> 32) as u32, x as u32);
        let ((a, b), (c, d)) = (halves(current), halves(operand));
        u64::from(a.wrapping_mul(c)) << 32 | u64::from(b.wrapping_mul(c).wrapping_add(d))
    }
}

impl<'w> Program<'w> {
    fn new(world: &'w World, seed: u64) -> Result<Self> {
        let mut shared = Random::new(seed);
        let (p, me) = (world.size(), world.rank().index());
        let len = [1, p, 3 * p + 1, 200, 20_011][shared.below(5)];
        let v = match shared.below(4) {
            0 => GVector::on(world, shared.below(p), len)?,
            1 => GVector::new(world, MatrixDim::new(len, 1 + shared.below(5)))?,
            _ => GVector::new(world, len)?,
        };
        Ok(Program {
            world,
            shared,
            speed: Random::new(seed * 100 + me as u64),
            model: vec![0; v.len()],
            v,
            unordered: Writers::None,
        })
    }

    fn run(mut self) -> Result<()> {
        for _ in 0..STEPS {
            if self.speed.below(6) == 0 {
                std::thread::sleep(Duration::from_micros(self.speed.below(1500) as u64));
            }
            match self.shared.below(12) {
                0 | 1 => self.one_sided()?,
                2 | 3 => self.release()?,
                4 => self.owners()?,
                5 => self.fill()?,
                6 => self.combined()?,
                7 => self.accumulate()?,
                8 => self.halo()?,
                9 | 10 => self.parts()?,
                _ => self.look()?,
            }
        }
        self.look()
    }

    /// Writes of every rank to its class of elements, some of them; the model has them all, each with `more`.
    fn writes(&mut self, more: u64) -> Vec<(usize, u64)> {
        let (p, me) = (self.world.size(), self.world.rank().index());
        let (key, every) = (self.shared.draw(), 1 + self.shared.below(9));
        let mut mine = Vec::new();
        for i in (0..self.model.len()).filter(|i| mix(key ^ *i as u64).is_multiple_of(every as u64)) {
            let x = mix(key.wrapping_add(i as u64));
            self.model[i] = x.wrapping_add(more);
            if i % p == me {
                mine.push((i, x));
            }
        }
        mine
    }

    fn one_sided(&mut self) -> Result<()> {
        if self.unordered == Writers::Owners {
            self.order()?;
        }
        let means = self.shared.below(4);
        let mut mine = self.writes(0);
        match means {
            0 => {
                // One at a time is slow: some, and the rest together.
                let rest = mine.split_off(mine.len().min(20));
                mine.iter().try_for_each(|(i, x)| self.v.put(*i, *x))?;
                self.v.put_many(&rest)?;
            }
            1 => self.v.put_many(&mine)?,
            2 => {
                let rest = mine.split_off(mine.len().min(20));
                for (i, x) in mine {
                    distmemcpy(self.v.range_mut(i..=i), &[x][..])?;
                }
                self.v.put_many(&rest)?;
            }
            _ => {
                let mut scope = self.v.release_alone()?;
                mine.iter().try_for_each(|(i, x)| scope.put(*i, *x))?;
            }
        }
        self.unordered = Writers::Classes;
        Ok(())
    }

    fn release(&mut self) -> Result<()> {
        let add = self.shared.below(2) == 0;
        let mine = self.writes(if add { 3 } else { 0 });
        let checked = self.shared.below(2) == 0;
        if add {
            let mut scope = self.v.release_c_with::<Add>()?;
            mine.iter().try_for_each(|(i, x)| scope.put(*i, *x))?;
            // By the one rank that also puts there, so that the order is known.
            mine.iter().try_for_each(|(i, _)| scope.update(*i, 3))?;
            if checked {
                scope.finish()?;
            }
        } else {
            let mut scope = self.v.release_c()?;
            mine.iter().try_for_each(|(i, x)| scope.put(*i, *x))?;
            if checked {
                scope.finish()?;
            }
        }
        self.unordered = Writers::None;
        Ok(())
    }

    /// Everything is seen as it was, but for what this rank has written since.
    fn combined(&mut self) -> Result<()> {
        let before = self.model.clone();
        let mine = self.writes(0);
        let mut all = self.v.read_cache_release_c()?;
        check::same(&all, 0, |i| before[i])?;
        let mut seen = before;
        for (i, x) in mine {
            all[i] = all[i].wrapping_add(x.wrapping_sub(seen[i]));
            seen[i] = x;
        }
        check::same(&all, 0, |i| seen[i])?;
        if self.shared.below(2) == 0 {
            all.finish()?;
        }
        self.unordered = Writers::None;
        Ok(())
    }

    /// All ranks update the same elements, few or many, one by one or in slices; in order with an operation for which that matters.
    fn accumulate(&mut self) -> Result<()> {
        if self.unordered == Writers::Classes {
            self.order()?;
        }
        let (p, me) = (self.world.size(), self.world.rank().index());
        let (in_order, checked) = (self.shared.below(2) == 0, self.shared.below(2) == 0);
        let few = self.shared.below(2) == 0;
        let mut mine = Vec::new();
        for rank in 0..p {
            let updates = self.shared.below(if few { 9 } else { 200 });
            for _ in 0..updates {
                let start = self.shared.below(self.model.len() + 1);
                let len = [1, self.shared.below(100)][self.shared.below(2)].min(self.model.len() - start);
                let operands: Vec<u64> = (0..len as u64).map(|i| mix(i ^ self.shared.draw())).collect();
                for (x, operand) in self.model[start..].iter_mut().zip(&operands) {
                    *x = if in_order { Twist::apply(*x, *operand) } else { x.wrapping_add(*operand) };
                }
                if rank == me {
                    mine.push((start, operands));
                }
            }
        }
        if in_order {
            accumulate(self.v.accumulate_in_order::<Twist>()?, &mine, checked)?;
        } else {
            accumulate(self.v.accumulate::<Add>()?, &mine, checked)?;
        }
        self.unordered = Writers::None;
        Ok(())
    }

    /// Two parts, each with a scope of its own, which are open at the same time.
    fn parts(&mut self) -> Result<()> {
        if self.unordered != Writers::None {
            self.order()?;
        }
        let (p, me) = (self.world.size(), self.world.rank().index());
        let (at, key) = (self.shared.below(self.model.len() + 1), self.shared.draw());
        let kinds: [usize; 2] = std::array::from_fn(|_| self.shared.below(6));
        let (right_first, ends_first) = (self.shared.below(2) == 0, self.shared.below(2) == 0);
        let before = self.model.clone();
        let mut after = before.clone();
        for (i, x) in after.iter_mut().enumerate() {
            match kinds[usize::from(i >= at)] {
                0 | 1 => {}
                2 => *x = x.wrapping_mul(3) ^ mix(key.wrapping_add(i as u64)),
                _ => *x = if mix(key ^ i as u64).is_multiple_of(3) { mix(key.wrapping_add(i as u64)) } else { *x },
            }
        }
        let is_mine = |i: &usize| i % p == me && mix(key ^ *i as u64).is_multiple_of(3);
        let (mut left, mut right) = self.v.split_at_mut(at);
        let open = |(first, kind): (&mut SliceMut<'_, u64>, usize),
                    (second, next): (&mut SliceMut<'_, u64>, usize)|
         -> Result<()> {
            let (mine, others) = (first.range(), second.range());
            let mut one = Open::new(kind, first.slice_mut(..))?;
            one.use_it(mine.clone(), &before, &after, &is_mine)?;
            let mut other = Open::new(next, second.slice_mut(..))?;
            other.use_it(others, &before, &after, &is_mine)?;
            one.use_it(mine, &before, &after, &is_mine)?;
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
        if right_first {
            open(right, left)?
        } else {
            open(left, right)?
        }
        self.model = after;
        self.world.barrier()
    }

    fn owners(&mut self) -> Result<()> {
        if self.unordered == Writers::Classes {
            self.order()?;
        }
        let key = self.shared.draw();
        for (i, x) in self.model.iter_mut().enumerate() {
            *x = x.wrapping_mul(3) ^ mix(key.wrapping_add(i as u64));
        }
        let mut own = self.v.owner_computes_mut()?;
        for i in own.indices() {
            own[i] = own[i].wrapping_mul(3) ^ mix(key.wrapping_add(i as u64));
        }
        drop(own);
        self.unordered = Writers::Owners;
        Ok(())
    }

    /// Steps in which each rank changes its own part, and sees what lies around it change.
    fn halo(&mut self) -> Result<()> {
        if self.unordered == Writers::Classes {
            self.order()?;
        }
        if self.shared.below(3) == 0 {
            return self.halos_for_reading();
        }
        let mut scope = self.v.halo_cache_mut(draw_halo(&mut self.shared))?;
        for _ in 0..self.shared.below(3) {
            let key = self.shared.draw();
            for (i, x) in self.model.iter_mut().enumerate() {
                *x = x.wrapping_mul(5) ^ mix(key.wrapping_add(i as u64));
            }
            let own = scope.indices();
            scope.local_mut().copy_from_slice(&self.model[own]);
            scope.refresh()?;
            for (i, want) in self.model.iter().enumerate() {
                if let Ok(x) = scope.at(i) {
                    check::equal("shown", x, *want)?;
                }
            }
        }
        drop(scope);
        self.unordered = Writers::Owners;
        Ok(())
    }

    /// Two beside each other, refreshed in any order.
    fn halos_for_reading(&mut self) -> Result<()> {
        let mut older = self.v.halo_cache(draw_halo(&mut self.shared))?;
        let mut newer = self.v.halo_cache(draw_halo(&mut self.shared))?;
        for _ in 0..self.shared.below(5) {
            if self.shared.below(2) == 0 { older.refresh()? } else { newer.refresh()? }
        }
        for scope in [&older, &newer] {
            for (i, want) in self.model.iter().enumerate() {
                if let Ok(x) = scope.at(i) {
                    check::equal("shown to be read", x, *want)?;
                }
            }
        }
        // Who is through may not write to the others' parts yet: these were shown as they are.
        self.unordered = Writers::Owners;
        Ok(())
    }

    fn fill(&mut self) -> Result<()> {
        let value = self.shared.draw();
        self.v.fill(value)?;
        self.model.fill(value);
        self.unordered = Writers::None;
        Ok(())
    }

    fn order(&mut self) -> Result<()> {
        self.unordered = Writers::None;
        if self.shared.below(2) == 0 {
            return self.world.barrier();
        }
        self.v.read_cache()?.finish()
    }

    /// Each rank as it likes: streaming, to the end or not, or whole.
    fn look_as_it_comes(&mut self) -> Result<()> {
        let (model, pieces) = (&self.model, self.speed.below(4));
        if pieces == 3 {
            return check::same(&self.v.read_cache()?, 0, |i| model[i]);
        }
        let stream = self.v.read_cache_blocks()?;
        for block in stream.blocks().take(if pieces == 2 { usize::MAX } else { pieces }) {
            let (range, elements) = block?;
            check::same(elements, range.start, |i| model[i])?;
        }
        match self.speed.below(2) {
            0 => Ok(()),
            _ => check::same(stream.whole()?, 0, |i| model[i]),
        }
    }

    fn look(&mut self) -> Result<()> {
        let model = &self.model;
        let how = self.shared.below(6);
        if how == 5 {
            self.look_as_it_comes()?;
        } else if how < 2 {
            let all = self.v.read_cache()?;
            check::same(&all, 0, |i| model[i])?;
            if how == 1 {
                let again = self.v.read_cache()?;
                drop(all);
                check::same(&again, 0, |i| model[i])?;
            }
        } else {
            if self.unordered != Writers::None {
                self.world.barrier()?;
            }
            if how == 2 {
                check::whole(&self.v, |i| model[i])?;
                self.world.barrier()?;
            } else if how == 4 {
                self.gather()?;
                self.world.barrier()?;
            } else {
                let root = self.shared.below(self.world.size());
                if let Some(all) = self.v.gather(root)? {
                    check::same(&all, 0, |i| model[i])?;
                }
            }
        }
        self.unordered = Writers::None;
        Ok(())
    }

    /// Elements that this rank alone picks, more or fewer than go into a batch, all or some of them taken.
    fn gather(&mut self) -> Result<()> {
        let (model, speed) = (&self.model, &mut self.speed);
        let count = [0, 3, 500, 20_000][speed.below(4)] * usize::from(!model.is_empty());
        let indices: Vec<usize> = (0..count).map(|_| speed.below(model.len())).collect();
        let taken = if speed.below(2) == 0 { count } else { count / 2 };
        let gather = self.v.gatherer()?;
        match speed.below(3) {
            0 => check::same(&gather.read(&indices)?, 0, |k| model[indices[k]]),
            1 => {
                let values = gather.iter(indices.iter().copied()).take(taken).collect::<Result<Vec<_>>>()?;
                check::equal("number of values", values.len(), taken)?;
                check::same(&values, 0, |k| model[indices[k]])
            }
            _ => {
                let mut queue = gather.keyed_queue();
                for (k, index) in indices.iter().enumerate() {
                    queue.push_with(k, *index)?;
                    if speed.below(3) == 0 {
                        let popped = queue.pop_with()?;
                        assert!(popped.is_some_and(|(k, value)| value == model[indices[k]]), "{popped:?}");
                    }
                }
                while let Some((k, value)) = queue.pop_with()? {
                    check::equal("value", value, model[indices[k]])?;
                }
                Ok(())
            }
        }
    }
}

/// Often wider than a block, seldom than the whole.
fn draw_halo(shared: &mut Random) -> Halo {
    let width = [0, 1, 2, 3, 60, 300][shared.below(6)];
    if shared.below(2) == 0 { Halo::fixed(width) } else { Halo::periodic(width) }
}
