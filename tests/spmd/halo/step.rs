//! The cost of a step, and the ranks for which it waits.

use super::look::look_mut;
use super::{accounted, far_neighbours, neighbours, want};
use aurora_core::{GVector, Halo, MatrixDim, Result, Route, World};
use aurora_suite::{Random, check, mix};
use std::time::Duration;

/// One message to each neighbour of another node. A neighbour in shared memory needs no message.
pub fn a_step_is_a_message_to_each_neighbour(world: &World) -> Result<()> {
    const STEPS: u64 = 20;
    let (p, cols) = (world.size(), 50);
    for halo in [Halo::fixed(1), Halo::fixed(3), Halo::periodic(1), Halo::periodic(4)] {
        let mut v = GVector::<u32>::new(world, MatrixDim::new(4 * p, cols))?;
        let before = accounted(world);
        let mut h = v.halo_cache_mut(halo)?;
        let entered = accounted(world);
        check::equal("messages of the entry", entered.0 - before.0, neighbours(world, halo))?;
        let far = far_neighbours(world, halo);
        for step in 1..=STEPS {
            h.local_mut().fill(step as u32);
            h.refresh()?;
            assert!(h.before().iter().chain(h.behind()).all(|x| *x == step as u32));
        }
        let all = accounted(world);
        check::equal("messages", all.0 - entered.0, STEPS * far)?;
        let both = if p == 1 { 0 } else { (h.before().len() + h.behind().len()) as u64 };
        let edges = neighbours(world, halo).max(1);
        check::equal("bytes", all.1 - entered.1, STEPS * both * 4 * far / edges)?;
        h.finish()?;
        // No further message, and none at the end, in at least one round: the deadlock detection sends messages too.
        let mut h = v.halo_cache_mut(halo)?;
        let mut least = u64::MAX;
        for _ in 0..STEPS {
            let before = world.traffic();
            h.refresh()?;
            least = least.min((world.traffic() - before).transfers_out);
        }
        check::equal("transfers of a step", least, far)?;
    }
    Ok(())
}

pub fn entries_alone_refresh_too(world: &World) -> Result<()> {
    let mut v = GVector::<u64>::new(world, 5 * world.size())?;
    for round in 1..30 {
        let mut own = v.owner_computes_mut()?;
        own.local_mut().fill(round);
        own.finish()?;
        let h = v.halo_cache(2)?;
        assert!(h.before().iter().chain(h.local()).chain(h.behind()).all(|x| *x == round));
        h.finish()?;
    }
    Ok(())
}

/// Each rank keeps its guard over a barrier after a refresh. A neighbour reads and writes its part meanwhile.
pub fn after_a_refresh_others_are_served_until_the_next_slice(world: &World) -> Result<()> {
    let (p, me) = (world.size(), world.rank().index());
    let mut v = GVector::<u64>::new(world, 5 * p)?;
    for keeper in 0..p {
        let (round, neighbour) = (keeper as u64, if keeper + 1 < p { keeper + 1 } else { p.saturating_sub(2) });
        let mut h = v.halo_cache_mut(1)?;
        h.local_mut().fill(round);
        h.refresh()?;
        if me == neighbour && p > 1 {
            drop(h);
            assert_eq!(v.at(5 * keeper)?, round);
            world.barrier()?;
        } else {
            world.barrier()?;
            assert!(h.local().iter().all(|x| *x == round));
            drop(h);
        }
        world.barrier()?;
        let mut h = v.halo_cache(1)?;
        assert!(h.local().iter().all(|x| *x == round));
        h.refresh()?;
        if me == neighbour && p > 1 {
            drop(h);
            v.put(5 * keeper, 7 * round)?;
            world.barrier()?;
        } else {
            world.barrier()?;
            assert_eq!(h.local()[0], if me == keeper && p > 1 { 7 * round } else { round });
            drop(h);
        }
        world.barrier()?;
    }
    Ok(())
}

/// Ranks of very different speeds: a fast rank keeps its new edge back until the slow rank has shown the old edge.
pub fn a_halo_is_what_its_owner_had_at_that_step(world: &World) -> Result<()> {
    let me = world.rank().index();
    let mut speed = Random::new(me as u64);
    let mut v = GVector::<u64>::new(world, world.size())?;
    let mut h = v.halo_cache_mut(Halo::periodic(1))?;
    for step in 1..200 {
        h.local_mut()[0] = step;
        h.refresh()?;
        check::equal("before and behind", [h.before()[0], h.behind()[0]], [step; 2])?;
        // Own writes are visible at once; the neighbours' elements do not change.
        h[me] = 1000 + step;
        if speed.below(20) == me {
            std::thread::sleep(Duration::from_millis(1));
        }
        check::equal("before and behind, later", [h.before()[0], h.behind()[0]], [step; 2])?;
        check::equal("mine", h[me], 1000 + step)?;
    }
    Ok(())
}

/// So many steps that an edge arrives at every point of its receiver's program.
pub fn thousands_of_steps(world: &World) -> Result<()> {
    let steps = if world.about().routes.contains(&Route::Udp) { 300 } else { 10_000 };
    let mut v = GVector::<u64>::new(world, 2 * world.size())?;
    let mut h = v.halo_cache_mut(1)?;
    for step in 1..=steps {
        h.local_mut().fill(step);
        h.refresh()?;
        let around = h.before().iter().chain(h.behind());
        check::equal("of another step", around.copied().find(|x| *x != step), None)?;
    }
    Ok(())
}

/// The rank owns nothing and has no neighbours to wait for. So no rank may queue anything for its scopes.
pub fn who_owns_nothing_runs_ahead_and_says_nothing(world: &World) -> Result<()> {
    let mut v = GVector::<u64>::new(world, 1)?;
    let steps = GVector::<u64>::new(world, world.size())?;
    let last = world.size() - 1;
    if world.rank() == 0 {
        // The other ranks have gone through all their scopes before this rank opens the first.
        while steps.at(last)? == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let before = accounted(world);
    for _ in 0..500 {
        let mut h = v.halo_cache_mut(1)?;
        h.local_mut().iter_mut().for_each(|x| *x += 1);
        h.refresh()?;
    }
    check::equal("messages", accounted(world), before)?;
    let mut steps = steps;
    if world.rank() == last {
        steps.put(last, 1)?;
    }
    world.barrier()?;
    check::whole(&v, |_| 500)?;
    check::same(v.read_cache()?.as_slice(), 0, |_| 500)
}

pub fn nothing_around(world: &World) -> Result<()> {
    let before = accounted(world);
    let v = GVector::from_fn(world, 7 * world.size(), want)?;
    for halo in [Halo::fixed(0), Halo::periodic(0)] {
        let mut h = v.halo_cache(halo)?;
        h.refresh()?;
        assert!(h.before().is_empty() && h.behind().is_empty());
        check::same(h.local(), h.indices().start, want)?;
    }
    // One rank owns the whole vector.
    let placed = GVector::<u64>::on(world, world.size() - 1, 3)?;
    let mut h = placed.halo_cache(Halo::periodic(2))?;
    h.refresh()?;
    assert_eq!(h.before().len(), if world.rank() == world.size() - 1 { 2 } else { 0 });
    drop(h);
    let none = GVector::<u64>::new(world, 0)?;
    let mut h = none.halo_cache(Halo::periodic(9))?;
    h.refresh()?;
    assert!(h.local().is_empty() && h.before().is_empty() && h.behind().is_empty() && h.rows().is_empty());
    check::equal("messages", accounted(world).0 - before.0, 0)
}

pub fn more_ranks_than_rows(world: &World) -> Result<()> {
    for rows in 1..=world.size() {
        let mut v = GVector::from_fn(world, MatrixDim::new(rows, 3), want)?;
        for width in [1, 2, 7] {
            let mut model: Vec<u64> = (0..3 * rows).map(want).collect();
            for halo in [Halo::fixed(width), Halo::periodic(width)] {
                let mut h = v.halo_cache_mut(halo)?;
                for step in 0..5 {
                    look_mut(&h, &model, 3)?;
                    model.iter_mut().for_each(|x| *x = mix(*x ^ step));
                    h.local_mut().iter_mut().for_each(|x| *x = mix(*x ^ step));
                    h.refresh()?;
                }
            }
            let mut own = v.owner_computes_mut()?;
            let start = own.indices().start;
            own.local_mut().iter_mut().enumerate().for_each(|(i, x)| *x = want(start + i));
        }
    }
    Ok(())
}

/// Ranks 0 and 1 go through all their steps before the last rank opens the scope.
pub fn a_rank_waits_for_its_neighbours_alone(world: &World) -> Result<()> {
    let (me, last) = (world.rank().index(), world.size() - 1);
    // A rank between the first and the last owns nothing that the first needs, and the vector ends before the last.
    let mut v = GVector::<u64>::new(world, MatrixDim::new(2, 5))?;
    let done = GVector::<u64>::new(world, world.size())?;
    if me == last {
        // The last rank owns nothing, and opens the scope after the first two ranks have ended it.
        let mut waited = Duration::ZERO;
        while done.at(0)? + done.at(1)? < 2 {
            std::thread::sleep(Duration::from_millis(1));
            waited += Duration::from_millis(1);
            assert!(waited < Duration::from_secs(20), "the first two wait for the last");
        }
    }
    let mut h = v.halo_cache_mut(1)?;
    for _ in 0..50 {
        h.local_mut().iter_mut().for_each(|x| *x += 1);
        h.refresh()?;
    }
    drop(h);
    if me < 2 {
        let mut done = done;
        done.put(me, 1)?;
        return world.barrier();
    }
    world.barrier()
}
