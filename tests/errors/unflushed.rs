//! Checking mode: reading, or showing, what another rank has written and not flushed.

use crate::provoke::{Job, Order, Told, cited, on_every_route};
use aurora_core::prelude::*;
use std::thread::sleep;
use std::time::Duration;

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
    let reads: [(&str, &str, Read); 6] = [
        ("at", "v.at(i)", |v, i| Ok(vec![v.at(i)?])),
        ("at_many", "v.at_many(&[i])", |v, i| v.at_many(&[i])),
        ("Gather", "v.gatherer()?.read(&[i])", |v, i| v.gatherer()?.read(&[i])),
        ("Gather", "v.gatherer()?.iter([i])", |v, i| v.gatherer()?.iter([i]).collect()),
        ("Gather", "v.slice(i..=i).gatherer()", |v, i| v.slice(i..=i).gatherer()?.read(&[i])),
        ("distmemcpy", "distmemcpy(&mut copy[..], v.range(i..=i))", |v, i| {
            let mut copy = [0];
            distmemcpy(&mut copy[..], v.range(i..=i))?;
            Ok(copy.to_vec())
        }),
    ];
    on_every_route([2, 3], |job| {
        for owner in 0..job.ranks {
            for (action, line, read) in reads {
                let told = read_too_early(job, owner, read);
                for rank in (0..job.ranks).filter(|rank| *rank != 1) {
                    let Some(Err(error @ Error::Unflushed { index, reader, writer, .. })) = &told.ranks[rank] else {
                        panic!("rank {rank} has read it: {told:#?}");
                    };
                    assert_eq!((reader.rank.index(), writer.rank.index()), (rank, 1));
                    let text = error.to_string();
                    assert!(text.contains(&format!("element {index} of the GVector<u64> of 12")), "{text}");
                    assert!(text.contains("rank 1 put it inside the ReleaseC alone opened at"), "{text}");
                    assert!(text.contains(&format!("rank {rank} reads it by `{action}` at")), "{text}");
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

/// A guard that shows this rank's own part shows whatever lies there: who opens it is told.
#[test]
fn showing_what_a_scope_alone_has_not_flushed() {
    type Open = fn(&mut GVector<u64>) -> Result<()>;
    let opens: [(&str, Open); 4] = [
        ("v.owner_computes()", |v| v.owner_computes().map(drop)),
        ("v.owner_computes_mut()", |v| v.owner_computes_mut().map(drop)),
        ("v.slice(1..3).owner_computes()", |v| v.slice(1..3).owner_computes().map(drop)),
        ("v.slice_mut(1..).owner_computes_mut()", |v| v.slice_mut(1..).owner_computes_mut().map(drop)),
    ];
    const INDEX: usize = 2;
    on_every_route([2, 3], |job| {
        for (line, open) in opens {
            let order = Order::new();
            let told = job.checking().run(|world| {
                let mut v = GVector::<u64>::new(world, 12)?;
                let mut outcome = Ok(());
                match world.rank().index() {
                    0 => {
                        order.wait_for(1);
                        outcome = open(&mut v);
                        // What lies beside it is nobody's business.
                        assert_eq!(v.slice(..INDEX).owner_computes()?.local(), [0; INDEX]);
                        v.slice_mut(INDEX + 1..).owner_computes_mut()?.local_mut().fill(1);
                        order.advance();
                    }
                    1 => {
                        let mut alone = v.release_alone()?;
                        alone.put(INDEX, 5)?; // waits in a buffer
                        order.advance();
                        order.wait_for(2);
                        alone.finish()?;
                    }
                    _ => {}
                }
                world.barrier()?;
                let seen = v.owner_computes()?;
                assert!(!seen.indices().contains(&INDEX) || seen[INDEX] == 5);
                outcome
            });
            let Some(Err(Error::Unflushed { index, reader, writer, .. })) = &told.ranks[0] else {
                panic!("it is shown by {line}: {told:#?}");
            };
            assert_eq!((*index, reader.rank.index(), writer.rank.index()), (INDEX, 0, 1));
            let text = told.text(0);
            assert!(text.contains("rank 0 reads it by `OwnerComputes` at"), "{text}");
            for line in [line, "waits in a buffer", "let mut alone = v.release_alone()"] {
                assert!(cited(&text).iter().any(|cited| cited.contains(line)), "no `{line}` in {text}");
            }
            assert!(told.ranks[1..].iter().all(|told| matches!(told, Some(Ok(())))), "{told:#?}");
        }
    });
}

/// A HaloCache sends its edges to others, so all are told.
#[test]
fn entering_a_halo_with_what_is_not_flushed() {
    type Open = fn(&mut GVector<u64>) -> Result<()>;
    let opens: [(&str, Open); 2] = [
        ("v.halo_cache(1)", |v| v.halo_cache(1).map(drop)),
        ("v.halo_cache_mut(1)", |v| v.halo_cache_mut(1).map(drop)),
    ];
    on_every_route([2, 3], |job| {
        for (line, open) in opens {
            let order = Order::new();
            let told = job.checking().run(|world| {
                let mut v = GVector::<u64>::new(world, 12)?;
                // All have it before one of them can spoil it.
                world.barrier()?;
                match world.rank().index() {
                    0 => {
                        order.wait_for(1);
                        let outcome = open(&mut v);
                        order.advance();
                        outcome
                    }
                    1 => {
                        let mut alone = v.release_alone()?;
                        alone.put(0, 5)?; // waits in a buffer
                        order.advance();
                        order.wait_for(2);
                        // Which may know already that nobody will see it.
                        drop(alone);
                        open(&mut v)
                    }
                    _ => open(&mut v),
                }
            });
            told.all_say(&["element 0 of the GVector<u64> of 12", "is read before", "rank 0 reads it by `HaloCache`"])
                .all_cite(&[line, "waits in a buffer", "let mut alone"]);
        }
    });
}

#[test]
fn refreshing_a_halo_with_what_is_not_flushed() {
    on_every_route([3], |job| {
        let order = Order::new();
        let told = job.checking().run(|world| {
            let mut v = GVector::<u64>::new(world, 12)?;
            let mut halo = v.halo_cache(1)?;
            halo.refresh()?;
            // Rank 0 is through with that one too.
            world.barrier()?;
            match world.rank().index() {
                // Not ordered behind rank 0, of which it is no neighbour.
                2 => {
                    drop(halo);
                    let mut alone = v.release_alone()?;
                    alone.put(1, 5)?; // waits in a buffer
                    order.advance();
                    order.wait_for(2);
                    drop(alone);
                    v.at(0).map(drop)
                }
                0 => {
                    order.wait_for(1);
                    let outcome = halo.refresh(); // too early
                    order.advance();
                    outcome
                }
                _ => halo.refresh(),
            }
        });
        told.all_say(&["element 1 of the GVector<u64> of 12", "is read before", "rank 0 reads it by `HaloCache`"])
            .all_cite(&["too early", "waits in a buffer", "let mut alone"]);
    });
}

/// A scope in which all ranks meet needs no look: who has written alone has come there, and flushed before.
#[test]
fn where_all_ranks_meet_everything_is_flushed() {
    type Read = fn(&mut GVector<u64>) -> Result<Vec<u64>>;
    let reads: [Read; 5] = [
        |v| Ok(v.read_cache()?.to_vec()),
        |v| Ok(v.slice(..).read_cache()?.to_vec()),
        |v| {
            let stream = v.read_cache_blocks()?;
            let pieces = stream.blocks().map(|piece| piece.map(|(at, part)| (at.start, part.to_vec())));
            let mut pieces = pieces.collect::<Result<Vec<_>>>()?;
            pieces.sort();
            Ok(pieces.into_iter().flat_map(|(_, part)| part).collect())
        },
        |v| {
            let both = v.read_cache_release_c()?;
            Ok((0..12).map(|i| both[i]).collect())
        },
        |v| {
            let all = v.gather(0)?;
            // The others see it afterwards.
            all.map_or_else(|| v.at_many(&Vec::from_iter(0..12)), Ok)
        },
    ];
    on_every_route([2, 3], |job| {
        for read in reads {
            let order = Order::new();
            let told = job.checking().run(|world| {
                let mut v = GVector::<u64>::new(world, 12)?;
                if world.rank() == 1 {
                    let mut alone = v.release_alone()?;
                    alone.put_slice(0, &[5; 12])?;
                    order.advance();
                    // The others wait there.
                    sleep(Duration::from_millis(20));
                    alone.finish()?;
                } else {
                    order.wait_for(1);
                }
                assert_eq!(read(&mut v)?, [5; 12]);
                Ok(())
            });
            told.run.expect("nothing is read before it is flushed");
        }
    });
}
