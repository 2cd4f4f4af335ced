//! Checking mode: two ranks that write one element in one scope, and reading what another rank has not flushed.

use crate::provoke::{Job, Order, Told, cited, on_every_route};
use aurora_core::prelude::*;

/// Ranks write to one vector in one scope, and use it afterwards.
fn written(job: Job, write: impl Fn(&World, &mut GVector<u64>) -> Result<()> + Sync) -> Told {
    job.checking().run(|world| {
        let mut v = GVector::<u64>::new(world, 12)?;
        let outcome = write(world, &mut v);
        // Behind it all ranks know, also those whose scopes ended before.
        world.barrier()?;
        outcome?;
        v.at(0).map(drop)
    })
}

/// All ranks hear of two writes to an element, at these lines.
fn conflict(told: &Told, index: usize, lines: &[&str]) {
    for told in &told.ranks {
        let Some(Err(Error::Conflict { index: found, .. })) = told else {
            panic!("{told:?} is no conflict");
        };
        assert_eq!(*found, index);
    }
    told.all_say(&["two ranks write element", "rank 0 ", "rank 1 ", "of the GVector<u64> of 12 elements (made at"])
        .all_cite(lines);
}

#[test]
fn two_puts() {
    on_every_route([2, 3], |job| {
        // Each of the ranks as the owner.
        for index in [0, 5, 11] {
            let told = written(job, |world, v| {
                let mut together = v.release_c()?;
                match world.rank().index() {
                    0 => together.put(index, 1)?, // the lower rank's
                    1 => together.put(index, 2)?, // the other's
                    _ => {}
                }
                together.finish()
            });
            let lines = ["let mut together = v.release_c()", "the lower rank's", "the other's"];
            conflict(&told, index, &lines);
        }
    });
}

#[test]
fn a_put_and_an_update() {
    on_every_route([2, 3], |job| {
        let told = written(job, |world, v| {
            let mut scope = v.release_c_with::<Add>()?;
            match world.rank().index() {
                0 => scope.update(7, 1)?,
                1 => scope.put(7, 2)?,
                _ => {}
            }
            scope.finish()
        });
        conflict(&told, 7, &["scope.update(7, 1)", "scope.put(7, 2)"]);
    });
}

#[test]
fn slices_that_overlap() {
    on_every_route([2, 3], |job| {
        let told = written(job, |world, v| {
            let mut scope = v.release_c()?;
            match world.rank().index() {
                0 => scope.put_slice(0, &[1; 6])?,
                1 => scope.put_slice(5, &[2; 7])?,
                _ => {}
            }
            scope.finish()
        });
        conflict(&told, 5, &["scope.put_slice(0", "scope.put_slice(5"]);
    });
}

#[test]
fn what_two_ranks_add_to_in_a_combined_scope() {
    on_every_route([2, 3], |job| {
        let told = written(job, |world, v| {
            let mut all = v.read_cache_release_c()?;
            if world.rank().index() < 2 {
                all[3] += 1;
            }
            all.finish()
        });
        // The lines of the scopes.
        conflict(&told, 3, &["let mut all = v.read_cache_release_c()"]);
    });
}

#[test]
fn one_among_many_batches() {
    const LEN: usize = 100_000;
    on_every_route([2], |job| {
        let told = job.checking().run(|world| {
            let (me, size) = (world.rank().index(), world.size());
            let mut v = GVector::<u64>::new(world, LEN)?;
            let mut scope = v.release_c()?;
            let written = (0..LEN).filter(|i| i % size == me).try_for_each(|i| {
                if i == 77_776 {
                    scope.put(77_777, 2)?; // not its own
                }
                scope.put(i, 1) // each its own
            });
            let outcome = written.and(scope.finish());
            world.barrier()?;
            outcome?;
            v.at(0).map(drop)
        });
        told.all_say(&["two ranks write element 77777 of"]).all_cite(&["each its own", "not its own"]);
    });
}

#[test]
fn a_scope_that_is_dropped_and_a_vector_that_is_not_used_again() {
    on_every_route([2, 3], |job| {
        let told = job.checking().run_freely(|world| {
            let mut v = GVector::<u64>::new(world, 12)?;
            let mut scope = v.release_c()?;
            scope.put(4, 1)?;
            drop(scope);
            Ok(())
        });
        let text = told.run.expect_err("it is not silent").to_string();
        assert!(text.contains("two ranks write element 4"), "{text}");
    });
}

#[test]
fn without_it_one_of_them_wins() {
    on_every_route([2], |job| {
        let told = job.run(|world| {
            let mut v = GVector::<u64>::new(world, 12)?;
            let mut scope = v.release_c()?;
            scope.put(4, 1 + world.rank().index() as u64)?;
            scope.finish()?;
            assert!([1, 2].contains(&v.at(4)?));
            Ok(())
        });
        told.run.expect("nobody has asked");
    });
}

/// Rank 1 has written elements, and has not ended its scope; `read` is what the others do meanwhile.
fn read_too_early(job: Job, owner: usize, read: impl Fn(&GVector<u64>, usize) -> Result<Vec<u64>> + Sync) -> Told {
    let order = Order::new();
    job.checking().run(|world| {
        let mut v = GVector::<u64>::new(world, 12)?;
        let (me, size) = (world.rank().index(), world.size());
        let index = v.range_of(owner).start + 1;
        let mut outcome = Ok(());
        if me == 1 {
            let mut alone = v.release_alone()?;
            alone.put(index, 5)?; // waits in a buffer
            order.advance();
            order.wait_for(size);
            alone.finish()?;
        } else {
            order.wait_for(1);
            // Beside it is nothing to be afraid of.
            assert_eq!(read(&v, index - 1)?, [0]);
            outcome = read(&v, index).map(drop);
            order.advance();
        }
        world.barrier()?;
        assert_eq!(read(&v, index)?, [5]);
        if me == 1 {
            order.advance();
        }
        order.wait_for(size + 1);
        outcome
    })
}

#[test]
fn reading_what_a_scope_alone_has_not_flushed() {
    type Read = fn(&GVector<u64>, usize) -> Result<Vec<u64>>;
    let reads: [(&str, Read); 3] = [
        ("v.at(i)", |v, i| Ok(vec![v.at(i)?])),
        ("v.at_many(&[i])", |v, i| v.at_many(&[i])),
        ("distmemcpy(&mut copy[..], v.range(i..=i))", |v, i| {
            let mut copy = [0];
            distmemcpy(&mut copy[..], v.range(i..=i))?;
            Ok(copy.to_vec())
        }),
    ];
    on_every_route([2, 3], |job| {
        for owner in 0..job.ranks {
            for (line, read) in reads {
                let told = read_too_early(job, owner, read);
                for rank in (0..job.ranks).filter(|rank| *rank != 1) {
                    let Some(Err(error @ Error::Unflushed { index, reader, writer, .. })) = &told.ranks[rank] else {
                        panic!("rank {rank} has read it: {told:#?}");
                    };
                    assert_eq!((reader.rank.index(), writer.rank.index()), (rank, 1));
                    let text = error.to_string();
                    assert!(text.contains(&format!("element {index} of the GVector<u64> of 12")), "{text}");
                    assert!(text.contains("rank 1 put it inside the ReleaseC alone opened at"), "{text}");
                    for line in [line, "waits in a buffer", "let mut alone = v.release_alone()"] {
                        assert!(cited(&text).iter().any(|cited| cited.contains(line)), "no `{line}` in {text}");
                    }
                }
            }
        }
    });
}

#[test]
fn reading_before_a_collective_scope_what_others_write_in_it() {
    const LEN: usize = 60_000;
    for checking in [false, true] {
        on_every_route([3], |job| {
            let order = Order::new();
            let job = if checking { job.checking() } else { job };
            let told = job.run(|world| {
                let mut v = GVector::<[u64; 2]>::new(world, LEN)?;
                let first = v.range_of(0);
                match world.rank().index() {
                    0 => {
                        // It is in the scope, and applies what comes.
                        let scope = v.release_c()?;
                        order.wait_for(2);
                        drop(scope);
                    }
                    1 => {
                        let mut scope = v.release_c()?;
                        first.clone().try_for_each(|i| scope.put(i, [i as u64; 2]))?;
                        order.advance();
                        order.wait_for(2);
                        drop(scope);
                    }
                    _ => {
                        order.wait_for(1);
                        for i in first.clone().step_by(500) {
                            match v.at(i) {
                                // As it was or as it will be, and never half of it.
                                Ok(seen) => assert!([[0; 2], [i as u64; 2]].contains(&seen), "{seen:?}"),
                                Err(Error::Unflushed { writer, .. }) if checking => assert_eq!(writer.rank, 1),
                                Err(error) => return Err(error),
                            }
                        }
                        order.advance();
                        drop(v.release_c()?);
                    }
                }
                // Behind it there is only what will be.
                for i in first.step_by(500) {
                    assert_eq!(v.at(i)?, [i as u64; 2]);
                }
                Ok(())
            });
            told.run.expect("a value of some moment");
        });
    }
}

#[test]
fn a_program_without_misuse_is_left_in_peace() {
    on_every_route([1, 2, 3], |job| {
        let told = job.checking().run(|world| {
            let (me, size) = (world.rank().index(), world.size());
            let mut v = GVector::<u64>::new(world, 30)?;
            for round in 1..4 {
                let mut scope = v.release_c_with::<Add>()?;
                for i in (0..30).filter(|i| i % size == me) {
                    scope.put(i, round)?;
                    // Its own order.
                    scope.update(i, 1)?;
                    scope.put(i, round)?;
                }
                scope.finish()?;
                let mut scope = v.release_c_with::<Add>()?;
                (0..30).try_for_each(|i| scope.update(i, 1))?;
                scope.finish()?;
                assert!(v.read_cache()?.iter().all(|x| *x == round + size as u64));
                // Read where it was written, as soon as that scope has ended here.
                let mut scope = v.release_c()?;
                (0..30).filter(|i| i % size == me).try_for_each(|i| scope.put(i, round + size as u64))?;
                drop(scope);
                for i in (0..30).step_by(7) {
                    assert_eq!(v.at(i)?, round + size as u64);
                }
                let mut all = v.read_cache_release_c()?;
                for i in (0..30).filter(|i| i % size == me) {
                    all[i] += all[(i + 1) % 30];
                }
                all.finish()?;
                world.barrier()?;
                if me == 0 {
                    let mut alone = v.release_alone()?;
                    alone.put_slice(0, &[7; 30])?;
                    alone.finish()?;
                }
                world.barrier()?;
                assert_eq!(v.at_many(&[0, 10, 29])?, [7; 3]);
                world.barrier()?;
            }
            Ok(())
        });
        told.run.expect("nothing is wrong");
    });
}
