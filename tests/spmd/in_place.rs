//! `distmemcpy` where ranks share memory: blocks are copied from their place. The programs are legal over every route.

use crate::copy::{PIECE, want};
use crate::counters::accounted;
use aurora_core::{Element, GScalar, GVector, Rank, Result, World, distmemcpy};
use aurora_suite::{Body, check};
use std::time::Duration;

pub fn bodies() -> Vec<Body> {
    vec![
        Body::of(a_range_of_a_node_peer_takes_no_message).from_ranks(2),
        Body::of(a_block_lent_for_writing_is_read_when_its_guard_is_over).from_ranks(2),
        Body::of(a_block_that_has_moved_away).from_ranks(2),
        Body::of(writes_are_in_every_copy).from_ranks(2),
        Body::of(elements_that_are_written_meanwhile_are_whole).from_ranks(2),
    ]
}

/// Ranges of node-local ranks are copied from their place. Elsewhere a range takes one request to read it, and one for
/// each piece to write it. Elements that do not fit into a word are written by request, so that none is read half-done.
fn a_range_of_a_node_peer_takes_no_message(world: &World) -> Result<()> {
    fn check_one<T: Element + PartialEq + std::fmt::Debug>(
        world: &World,
        is_word: bool,
        value: fn(usize) -> T,
    ) -> Result<()> {
        let each = (600 << 10) / size_of::<T>();
        let mut v = GVector::from_fn(world, each * world.size(), value)?;
        let theirs = v.range_of(world.size() - 1);
        let is_here = world.about().shared && world.about().node_ranks.contains(&Rank::new(world.size() - 1));
        let mut memory = vec![T::zeroed(); each];
        for writes in [false, true] {
            world.barrier()?;
            let mut exact = Vec::new();
            for _ in 0..if world.is_root() { 3 } else { 0 } {
                let before = accounted(world);
                if writes {
                    distmemcpy(v.range_mut(theirs.clone()), &memory[..])?;
                } else {
                    distmemcpy(&mut memory[..], v.range(theirs.clone()))?;
                }
                exact.push(accounted(world).0 - before.0);
            }
            let requests = match (is_here && (is_word || !writes), writes) {
                (true, _) => 0,
                (false, false) => 1,
                (false, true) => 3,
            };
            if world.is_root() {
                check::same(&memory, theirs.start, value)?;
                assert!(exact.iter().all(|messages| *messages == requests), "{exact:?} messages, not {requests}");
            }
        }
        // A rank that reads its own block lets no other rank write meanwhile: such a write would need a request.
        world.barrier()?;
        check::whole(&v, value)
    }
    check_one(world, true, |i| i as u64)?;
    check_one(world, true, |i| i as u8)?;
    check_one(world, false, |i| [i as u32; 3])
}

/// Rank 1 announces its guard and then writes. The other ranks copy the elements as they are after the guard.
fn a_block_lent_for_writing_is_read_when_its_guard_is_over(world: &World) -> Result<()> {
    let each = 2 * PIECE / size_of::<u32>() + 3;
    let mut v = GVector::from_fn(world, each * world.size(), want)?;
    let lent = GScalar::new(world, 0, 0_u64)?;
    let theirs = v.range_of(1);
    for round in 1..4 {
        if world.rank() == 1 {
            let mut own = v.owner_computes_mut()?;
            let mine = own.local_mut();
            lent.set(round)?;
            std::thread::sleep(Duration::from_millis(5));
            mine.iter_mut().enumerate().for_each(|(i, x)| *x = want(i) ^ round as u32);
            own.finish()?;
        } else {
            while lent.get()? < round {
                std::thread::yield_now();
            }
            let mut memory = vec![0; theirs.len()];
            distmemcpy(&mut memory[..], v.range(theirs.clone()))?;
            check::same(&memory, 0, |i| want(i) ^ round as u32)?;
        }
        world.barrier()?;
    }
    Ok(())
}

/// Rank 0 shows a copy while the other ranks write to their blocks, which therefore move to another place. Copies from
/// and to these blocks use the new place. So do copies to the block of rank 0, which was not written before. The shown
/// copy does not change.
fn a_block_that_has_moved_away(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::from_fn(world, (2 * PIECE / size_of::<u32>() + 3) * p, want)?;
    let mut memory = vec![0; v.len()];
    let cache = v.read_cache()?;
    let [first, theirs] = [0, 1].map(|rank| v.range_of(rank));
    if me == 0 {
        world.barrier()?;
        // The writes of the other ranks.
        distmemcpy(&mut memory[..], v.range(..))?;
        check::same(&memory, 0, |i| if first.contains(&i) { want(i) } else { !want(i) })?;
        world.barrier()?;
        world.barrier()?;
        check::same(cache.as_slice(), 0, want)?;
        drop(cache);
    } else {
        drop(cache);
        let mut own = v.owner_computes_mut()?;
        own.local_mut().iter_mut().for_each(|x| *x = !*x);
        own.finish()?;
        world.barrier()?;
        world.barrier()?;
        let next = v.range_of((me + 1) % p);
        let values: Vec<_> = next.clone().map(|i| want(i + 1)).collect();
        distmemcpy(v.range_mut(next), &values[..])?;
        world.barrier()?;
    }
    world.barrier()?;
    check::whole(&v, |i| if theirs.contains(&i) { !want(i) } else { want(i + 1) })?;
    world.barrier()?;
    // The next copy moves the blocks back to their places.
    drop(v.read_cache()?);
    v.owner_computes_mut()?.local_mut().fill(7);
    world.barrier()?;
    check::whole(&v, |_| 7)
}

/// The owner of a block learns of other ranks' writes to it, and sends the block again to other nodes.
fn writes_are_in_every_copy(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::from_fn(world, 1000 * p, want)?;
    for round in 1..4 {
        drop(v.read_cache()?);
        let next = v.range_of((me + 1) % p);
        let values: Vec<_> = next.clone().map(|i| want(i + round)).collect();
        distmemcpy(v.range_mut(next), &values[..])?;
        check::same(v.read_cache()?.as_slice(), 0, |i| want(i + round))?;
    }
    Ok(())
}

/// Elements of every size stay whole, also while their owner in a guard or another rank writes them.
fn elements_that_are_written_meanwhile_are_whole(world: &World) -> Result<()> {
    fn check_one<T: Element>(world: &World, value: fn(u8) -> T, is_whole: fn(&T) -> bool) -> Result<()> {
        let (p, me) = (world.size(), world.rank().index());
        let each = PIECE / size_of::<T>() + 5;
        let mut v = GVector::<T>::new(world, p * each)?;
        let mut memory = vec![T::zeroed(); v.len()];
        for round in 1..20 {
            let elements = vec![value(round); each];
            match (round as usize + me) % 3 {
                0 => v.owner_computes_mut()?.local_mut().copy_from_slice(&elements),
                1 => {
                    let next = v.range_of((me + 1) % p);
                    distmemcpy(v.range_mut(next), &elements[..])?;
                }
                _ => distmemcpy(&mut memory[..], v.range(..))?,
            }
            assert!(memory.iter().all(is_whole), "a torn element");
        }
        world.barrier()
    }
    check_one(world, |byte| u64::from(byte) * 0x0101_0101_0101_0101, |x| x % 0x0101_0101_0101_0101 == 0)?;
    check_one(world, |byte| [u32::from(byte); 3], |x| x[0] == x[1] && x[0] == x[2])
}
