//! Reads that are under way when something fails.

use crate::provoke::{Order, Quiet, caught, every_route, on_every_route};
use aurora_core::prelude::*;
use std::panic::panic_any;

/// The rank that panics.
const CULPRIT: usize = 1;

/// Panics while its block is lent, after another rank has begun to read.
fn break_off(v: &mut GVector<u64>, order: &Order) {
    caught(|| {
        let mut own = v.owner_computes_mut().unwrap();
        own.local_mut()[0] = 666;
        order.advance();
        order.wait_for(2);
        panic_any(Quiet)
    });
}

#[test]
fn every_way_of_reading_hears_of_a_panic() {
    type Read = fn(&BatchedReads<'_, u64>, &[usize]) -> Result<()>;
    let ways: [(&str, Read); 4] = [
        ("read", |gather, indices| gather.read(indices).map(drop)),
        ("iter", |gather, indices| {
            let mut values = gather.iter(indices.iter().copied());
            let error = values.find_map(Result::err).expect("an error");
            assert!(values.next().is_none(), "an error is the last item");
            Err(error)
        }),
        ("queue", |gather, indices| {
            let mut queue = gather.queue();
            indices.iter().try_for_each(|index| queue.push(*index))?;
            let error = loop {
                match queue.pop() {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("no error"),
                    Err(error) => break error,
                }
            };
            for again in [queue.pop().map(drop), queue.push(0), queue.send(), queue.pop().map(drop)] {
                assert!(matches!(again, Err(Error::Poisoned { .. })), "{again:?}");
            }
            Err(error)
        }),
        ("at", |gather, indices| indices.iter().try_for_each(|index| gather.at(*index).map(drop))),
    ];
    on_every_route([2, 3], |job| {
        for (name, read) in ways {
            let order = Order::new();
            let outcomes = job.run(|world| {
                let mut v = GVector::<u64>::new(world, 1000 * world.size())?;
                let outcome = match world.rank().index() {
                    CULPRIT => {
                        break_off(&mut v, &order);
                        v.batched_reads().map(drop)
                    }
                    0 => {
                        order.wait_for(1);
                        let gather = v.batched_reads()?;
                        order.advance();
                        read(&gather, &(0..v.len()).collect::<Vec<_>>())
                    }
                    _ => {
                        order.wait_for(2);
                        v.batched_reads().and_then(|gather| gather.read(&[1000]).map(drop))
                    }
                };
                assert!(matches!(outcome, Err(Error::Poisoned { .. })), "{name}: {outcome:?}");
                outcome
            });
            outcomes.all_say(&["is poisoned", "rank 1 panicked inside the OwnerComputes"]);
        }
    });
}

#[test]
fn a_panic_inside_is_told_to_all() {
    let outcomes = every_route([2, 3]).run(|world| {
        let v = GVector::<u64>::new(world, 10)?;
        if world.rank() == CULPRIT {
            caught(|| {
                let gather = v.batched_reads().unwrap();
                let mut values = gather.iter(0..10);
                assert!(values.next().is_some());
                panic_any(Quiet)
            });
        }
        world.barrier()?;
        v.at(0).map(drop)
    });
    outcomes.all_say(&["is poisoned", "rank 1 panicked inside the BatchedReads that it opened at"]);
    outcomes.all_cite(&["let gather = v.batched_reads()"]);
}

#[test]
fn one_that_is_forgotten_is_found_at_the_next_write() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut v = GVector::<u64>::new(world, 10)?;
        if world.rank() == CULPRIT {
            std::mem::forget(v.batched_reads()?);
            // The forgotten guard does not prevent reads.
            assert_eq!(v.at_many(&[0, 9])?, [0, 0]);
            let found = v.put(0, 1);
            assert!(matches!(found, Err(Error::Leaked { .. })), "{found:?}");
        }
        world.barrier()?;
        v.at(0).map(drop)
    });
    outcomes.all_say(&["rank 1 has not closed the BatchedReads of the GVector<u64> of 10 elements"]);
    outcomes.all_cite(&["forget(v.batched_reads()?)"]);
}

#[test]
fn a_job_that_fails_ends_it() {
    on_every_route([2, 3], |job| {
        let order = Order::new();
        let outcomes = job.run_freely(|world| {
            let mut v = GVector::<u64>::new(world, 1000 * world.size())?;
            if world.rank() == CULPRIT {
                let mut own = v.owner_computes_mut()?;
                own.local_mut()[0] = 1;
                order.advance();
                order.wait_for(2);
                return Err(Error::user("rank 1 has had enough"));
            }
            if world.rank() != 0 {
                return world.barrier();
            }
            order.wait_for(1);
            let gather = v.batched_reads()?;
            order.advance();
            loop {
                for value in gather.iter(0..v.len()) {
                    value?;
                }
            }
        });
        outcomes.says(0, &["rank 1 failed: rank 1 has had enough"]);
    });
}

/// Two ranks read from each other the blocks that both hold in guards.
#[test]
fn a_circle_is_told_with_the_line_of_the_guard() {
    let outcomes = every_route([2]).run(|world| {
        let mut v = GVector::<u64>::new(world, 10)?;
        let mut w = GVector::<u64>::new(world, 10)?;
        let (mine, theirs) = if world.is_root() { (&mut v, &w) } else { (&mut w, &v) };
        let mut own = mine.owner_computes_mut()?;
        own.local_mut()[0] = 1;
        world.barrier()?;
        let gather = theirs.batched_reads()?;
        gather.iter([0, 9]).try_for_each(|value| value.map(drop))
    });
    outcomes.all_say(&["`BatchedReads`"]);
}
