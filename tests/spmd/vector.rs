//! Vectors without any behaviour: construction, synchronous access, `fill` and `gather_to`.

use aurora_core::{GScalar, GVector, MatrixDim, Rank, Result, World};
use aurora_suite::{Body, Random, check, mix};

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(new_holds_zeros),
        Body::of(from_fn_is_seen_by_every_rank),
        Body::of(blocks_cover_everything_once),
        Body::of(rows_are_never_split),
        Body::of(placed_on_each_rank),
        Body::of(every_rank_writes_to_every_rank),
        Body::of(random_access_in_batches),
        Body::of(put_many_keeps_the_order),
        Body::of(a_put_is_seen_by_who_hears_of_it),
        Body::of(fill_sets_everything),
        Body::of(gather_on_each_root),
    ]
}

/// Lengths that must all work: none, one, fewer than ranks, not divisible, more than a packet.
const LENGTHS: [usize; 8] = [0, 1, 2, 3, 5, 16, 1001, 40_003];

fn new_holds_zeros(world: &World) -> Result<()> {
    for len in LENGTHS {
        let v = GVector::<u32>::new(world, len)?;
        assert_eq!(v.len(), len);
        assert_eq!(v.is_empty(), len == 0);
        assert_eq!(v.dim(), None);
        check::whole(&v, |_| 0)?;
    }
    Ok(())
}

fn from_fn_is_seen_by_every_rank(world: &World) -> Result<()> {
    for len in LENGTHS {
        let v = GVector::from_fn(world, len, |i| mix(i as u64))?;
        check::whole(&v, |i| mix(i as u64))?;
        for i in (0..len).step_by(1 + len / 7) {
            check::equal("element", v.at(i)?, mix(i as u64))?;
        }
    }
    Ok(())
}

fn blocks_cover_everything_once(world: &World) -> Result<()> {
    let p = world.size();
    for len in LENGTHS {
        let v = GVector::<u8>::new(world, len)?;
        assert_eq!(v.local_range(), v.range_of(world.rank()));
        let mut next = 0;
        for rank in 0..p {
            let range = v.range_of(rank);
            assert_eq!(range.start, next);
            assert_eq!(range.len(), len / p + usize::from(rank < len % p));
            range.clone().for_each(|i| assert_eq!(v.owner(i), rank));
            next = range.end;
        }
        assert_eq!(next, len);
    }
    Ok(())
}

fn rows_are_never_split(world: &World) -> Result<()> {
    for (rows, cols) in [(0, 0), (0, 5), (5, 0), (1, 7), (3, 4), (7, 3), (2, 1000)] {
        let dim = MatrixDim::new(rows, cols);
        let v = GVector::from_fn(world, dim, |i| i as i32)?;
        assert_eq!((v.len(), v.dim()), (rows * cols, Some(dim)));
        for range in (0..world.size()).map(|rank| v.range_of(rank)) {
            if cols > 0 {
                assert_eq!((range.start % cols, range.end % cols), (0, 0));
            }
        }
        check::whole(&v, |i| i as i32)?;
    }
    Ok(())
}

fn placed_on_each_rank(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for home in 0..p {
        let mut v = GVector::<u64>::on(world, home, 10 * p)?;
        assert!((0..v.len()).all(|i| v.owner(i) == home));
        let own = if me == home { 0..10 * p } else { 0..0 };
        assert_eq!(v.local_range().len(), own.len());
        let mine: Vec<_> = (0..10).map(|i| (i * p + me, mix(me as u64))).collect();
        v.put_many(&mine[1..])?;
        v.put(mine[0].0, mine[0].1)?;
        world.barrier()?;
        check::whole(&v, |i| mix((i % p) as u64))?;
        check::same(v.read_cache()?.as_slice(), 0, |i| mix((i % p) as u64))?;
        check::equal("range elsewhere", v.range_of((home + 1) % p).len(), if p == 1 { 10 } else { 0 })?;
    }
    // No elements on the only owner, and a matrix.
    assert!(GVector::<u8>::on(world, p - 1, 0)?.is_empty());
    let m = GVector::<u8>::on(world, p - 1, MatrixDim::new(3, 2))?;
    check::whole(&m, |_| 0)
}

fn every_rank_writes_to_every_rank(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, 12 * p + 1)?;
    for i in (0..v.len()).filter(|i| i % p == me) {
        v.put(i, mix(i as u64))?;
        check::equal("what I have just put", v.at(i)?, mix(i as u64))?;
    }
    world.barrier()?;
    for i in 0..v.len() {
        check::equal("element", v.at(i)?, mix(i as u64))?;
    }
    Ok(())
}

fn random_access_in_batches(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let len = 5003;
    let mut v = GVector::<u32>::new(world, len)?;
    let want = |i: usize| mix(i as u64) as u32;
    let mine: Vec<_> = (0..len).filter(|i| i % p == me).map(|i| (i, want(i))).collect();
    let mut random = Random::new(me as u64);
    let mut shuffled = mine;
    for i in (1..shuffled.len()).rev() {
        shuffled.swap(i, random.below(i + 1));
    }
    for part in shuffled.chunks(400) {
        v.put_many(part)?;
    }
    v.put_many(&[])?;
    world.barrier()?;
    let indices: Vec<_> = (0..3000).map(|_| random.below(len)).collect();
    let found = v.at_many(&indices)?;
    check::same(&found, 0, |k| want(indices[k]))?;
    check::equal("nothing asked for", v.at_many(&[])?.len(), 0)?;
    check::whole(&v, want)
}

fn put_many_keeps_the_order(world: &World) -> Result<()> {
    let p = world.size();
    let mut v = GVector::<u32>::new(world, 4 * p)?;
    if world.is_root() {
        // Forwards, backwards, and every element several times: the last write counts.
        let mut writes: Vec<_> = (0..4 * p).map(|i| (i, 1)).collect();
        writes.extend((0..4 * p).rev().map(|i| (i, 2)));
        writes.extend((0..4 * p).map(|i| (i, 3 + i as u32)));
        v.put_many(&writes)?;
        check::whole(&v, |i| 3 + i as u32)?;
    }
    world.barrier()?;
    check::whole(&v, |i| 3 + i as u32)
}

fn a_put_is_seen_by_who_hears_of_it(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, p)?;
    let turn = GScalar::new(world, p - 1, 0u64)?;
    for round in 0..3 * p as u64 {
        if round as usize % p == me {
            for i in 0..p {
                v.put(i, round + 1)?;
            }
            turn.set(round + 1)?;
        } else {
            while turn.get()? <= round {
                std::thread::yield_now();
            }
            // Another rank may be in the next round already, but no value is old.
            for i in 0..p {
                assert!(v.at(i)? > round);
            }
        }
    }
    Ok(())
}

fn fill_sets_everything(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    for len in [0, 1, p, 3 * p + 1, 20_000] {
        let mut v = GVector::<u16>::new(world, len)?;
        for round in 1..4 {
            for i in (0..len.min(2 * p)).filter(|i| i % p == me) {
                v.put(i, 999)?;
            }
            v.fill(round)?;
            check::whole(&v, |_| round)?;
            // The next round's writes must not be visible in this round.
            world.barrier()?;
        }
        v.fill(7)?;
        v.fill(8)?;
        check::same(v.read_cache()?.as_slice(), 0, |_| 8)?;
        v.fill(9)?;
        check::same(v.read_cache()?.as_slice(), 0, |_| 9)?;
    }
    Ok(())
}

fn gather_on_each_root(world: &World) -> Result<()> {
    for len in [0, 1, 7, 30_000] {
        let mut v = GVector::from_fn(world, len, |i| (mix(i as u64) % 1000) as f64)?;
        for root in 0..world.size() {
            let all = v.gather_to(root)?;
            assert_eq!(all.is_some(), world.rank() == root);
            if let Some(all) = all {
                assert_eq!(all.len(), len);
                check::same(&all, 0, |i| (mix(i as u64) % 1000) as f64 + root as f64)?;
            }
            // Ordered after `gather_to` on every rank, so it may be written at once.
            let mut mine = v.owner_computes_mut()?;
            mine.local_mut().iter_mut().for_each(|x| *x += 1.0);
            mine.finish()?;
        }
        let _: Option<Vec<f64>> = v.gather_to(Rank::new(0))?;
    }
    Ok(())
}
