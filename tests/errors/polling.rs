//! Ranks that read the same value repeatedly. This is legal while another rank may change the value; a poll that no
//! rank can end gets an error like a wait.

use crate::provoke::{Job, Order, Outcomes, every_route, on_every_route};
use aurora_core::prelude::*;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_millis(600);

/// One read. True if the value has changed.
type Look = fn(&GVector<u64>, &GScalar<u64>) -> Result<bool>;

/// Ways to read values that never change, and their names in the error.
const LOOKS: [(&str, Look); 9] = [
    ("`at` of the GVector<u64>", |v, _| Ok(v.at(0)? != 0)),
    ("`at` of the GVector<u64>", |v, _| Ok(v.at(v.len() - 1)? != 0 || v.at(0)? != 0)),
    ("`at_many` of the GVector<u64>", |v, _| Ok(v.at_many(&[0, v.len() - 1])? != [0, 0])),
    ("`BatchedReads` of the GVector<u64>", |v, _| Ok(v.batched_reads()?.read(&[1, v.len() - 1])? != [0, 0])),
    ("`get` of the GScalar<u64>", |_, s| Ok(s.get()? != 5)),
    ("`compare_exchange` of the GScalar<u64>", |_, s| Ok(s.compare_exchange(&0, &1)?.is_ok())),
    ("`swap` of the GScalar<u64>", |_, s| Ok(s.swap(5)? != 5)),
    ("`fetch_max` of the GScalar<u64>", |_, s| Ok(s.fetch_max(3)? != 5)),
    // Reads now and then, and sleeps in between.
    ("`get` of the GScalar<u64>", |_, s| {
        std::thread::sleep(Duration::from_millis(1));
        Ok(s.get()? != 5)
    }),
];

/// A rank that gets no processor time during the limit gets another error. Then the test repeats with a longer limit.
fn ended(job: Job, polls: impl Fn(Job) -> Outcomes) -> Outcomes {
    let mut limit = LIMIT;
    loop {
        let begun = Instant::now();
        let outcomes = polls(job.limit(limit));
        assert!(begun.elapsed() >= limit, "ended after {:?}", begun.elapsed());
        let has_polled = outcomes.run.as_ref().is_err_and(|error| error.to_string().contains("has polled"));
        if has_polled || limit > 8 * LIMIT {
            return outcomes;
        }
        limit *= 4;
    }
}

/// `run` succeeds with one of three limits: a rank may get no processor time during a short limit.
fn succeeds(run: impl Fn(Duration) -> Result<()>) {
    let failed: Vec<_> = [1, 2, 4].into_iter().map_while(|times| run(times * LIMIT).err()).collect();
    assert!(failed.len() < 3, "{failed:?}");
}

fn polls_until_ended(job: Job, name: &str, look: Look) {
    let outcomes = ended(job, |job| {
        job.run(|world| {
            let v = GVector::<u64>::new(world, 6)?;
            let s = GScalar::new(world, 1, 5u64)?;
            while !look(&v, &s)? {}
            panic!("nobody changes it");
        })
    });
    outcomes.all_say(&[
        &format!("has polled {name}"),
        "with the same result in each of",
        "longer than AURORA_TIMEOUT allows",
    ]);
}

#[test]
fn a_poll_that_nobody_ends_lasts_as_long_as_a_wait_may() {
    on_every_route([2], |job| LOOKS.iter().for_each(|(name, look)| polls_until_ended(job, name, *look)));
}

#[test]
fn a_poll_of_a_replica_too() {
    on_every_route([3], |job| {
        let outcomes = ended(job, |job| {
            job.run(|world| {
                let stop = GScalar::new(world, 0, false)?;
                let number = GScalar::new(world, 2, 7u32)?;
                let (stop, number) = (stop.read_mostly()?, number.read_mostly()?);
                while !stop.get()? && number.get()? == 7 {}
                panic!("nobody changes it");
            })
        });
        outcomes
            .all_say(&["has polled `get` of the GScalar<", "longer than AURORA_TIMEOUT allows"])
            .all_cite(&["while !stop.get()?"]);
    });
}

/// Only one rank polls; the other ranks compute.
#[test]
fn a_poll_is_ended_while_others_compute() {
    on_every_route([3], |job| {
        let outcomes = ended(job, |job| {
            let order = Order::new();
            job.run(|world| {
                let s = GScalar::new(world, 0, 5u64)?;
                if world.rank() != 1 {
                    // The rank computes, and gets the error in its next call.
                    order.wait_for(1);
                }
                let error = loop {
                    if let Err(error) = s.get() {
                        break error;
                    }
                };
                order.advance();
                Err(error)
            })
        });
        outcomes.all_say(&["rank 1 has polled `get`", "longer than AURORA_TIMEOUT allows"]);
    });
}

/// Each change of the value ends a poll, and the next poll has the whole limit again.
#[test]
fn many_polls_that_others_end_are_many() {
    on_every_route([2], |job| {
        succeeds(|unit| {
            let outcomes = job.limit(2 * unit).run(|world| {
                let turn = GScalar::new(world, 0, 0u64)?;
                let mut v = GVector::<u64>::new(world, 2)?;
                let me = world.rank().index() as u64;
                let until = Instant::now() + 4 * unit;
                while Instant::now() < until {
                    while turn.get()? != me {}
                    v.put(1, me)?;
                    while v.at(1)? != me {}
                    std::thread::sleep(unit / 10);
                    turn.set(1 - me)?;
                }
                turn.set(1 - me)
            });
            outcomes.run
        })
    });
}

/// A loop over a vector of equal elements, a program that checks a value once in each step, and a poll between two
/// barriers are no long polls.
#[test]
fn what_gets_something_done_is_no_poll() {
    on_every_route([2], |job| {
        succeeds(|unit| {
            let outcomes = job.limit(2 * unit).run(|world| {
                let v = GVector::<u64>::new(world, 64)?;
                let stop = GScalar::new(world, 1, 0u64)?;
                let done = |begun: Instant| begun.elapsed() > 3 * unit;
                let begun = Instant::now();
                let mut sum = 0;
                while !done(begun) {
                    sum += (0..64).map(|i| v.at(i)).sum::<Result<u64>>()?;
                }
                let begun = Instant::now();
                while !done(begun) && stop.get()? == 0 {
                    let step = Instant::now();
                    while step.elapsed() < Duration::from_millis(2) {
                        sum = std::hint::black_box(sum * 3);
                    }
                }
                world.barrier()?;
                let begun = world.is_root().then(Instant::now);
                let mut left = 1;
                while left > 0 {
                    let short = Instant::now();
                    while short.elapsed() < unit / 10 && stop.get()? == 0 {}
                    if begun.is_some_and(done) {
                        stop.set(1)?;
                    }
                    world.barrier()?;
                    left = u64::from(stop.get()? == 0);
                    world.barrier()?;
                }
                assert_eq!(sum, 0);
                Ok(())
            });
            outcomes.run
        })
    });
}

#[test]
fn a_poll_that_another_ends_is_not_disturbed() {
    let outcomes = every_route([3]).run(|world| {
        let mut v = GVector::<u64>::new(world, 9)?;
        let s = GScalar::new(world, 1, 0u64)?;
        if world.is_root() {
            std::thread::sleep(5 * LIMIT);
            s.set(1)?;
            while v.at(8)? == 0 {}
        } else if world.rank() == 1 {
            while s.get()? == 0 {}
            std::thread::sleep(LIMIT);
            v.put(8, 4)?;
        }
        while v.at_many(&[8])? != [4] {}
        world.barrier()
    });
    outcomes.succeed("somebody has changed it");
}
