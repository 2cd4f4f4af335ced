//! Errors of the program itself, and errors that no call could return.

use crate::provoke::{cited, every_route, on_every_route};
use aurora_core::prelude::*;
use std::error::Error as _;
use std::fmt;

#[derive(Debug)]
struct Spoilt {
    inner: std::num::ParseIntError,
}

impl fmt::Display for Spoilt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the milk is spoilt")
    }
}

impl std::error::Error for Spoilt {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.inner)
    }
}

fn spoilt() -> Spoilt {
    let inner = "x".parse::<u8>().unwrap_err();
    Spoilt { inner }
}

fn milk() -> std::result::Result<(), Spoilt> {
    Err(spoilt())
}

#[test]
fn it_comes_back_from_run_with_its_source() {
    on_every_route([1, 2, 3], |job| {
        for failing in 0..job.ranks {
            let outcomes = job.run_freely(|world| {
                if world.rank() == failing {
                    return Err(Error::user(spoilt()));
                }
                world.barrier()
            });
            let error = outcomes.run.as_ref().expect_err("spoilt");
            let Error::User { message, source: Some(source), .. } = error else {
                panic!("{error:?}");
            };
            assert_eq!(message, "the milk is spoilt");
            let parse = source.source().expect("its own source");
            assert!(parse.is::<std::num::ParseIntError>());
            assert!(error.source().expect("a chain").source().is_some());
            assert!(cited(&error.to_string()).iter().any(|line| line.contains("Error::user(spoilt())")));
            for rank in (0..job.ranks).filter(|rank| *rank != failing) {
                let words = format!("rank {failing} failed: the milk is spoilt");
                outcomes.says(rank, &[&words, "tests/errors/user.rs:"]);
            }
        }
    });
}

#[test]
fn the_line_is_the_programs_or_none() {
    on_every_route([1, 2], |job| {
        let outcomes = job.run_freely(|world| match world.is_root() {
            true => milk().map_err(|error| Error::user(error)),
            false => world.barrier(),
        });
        let text = outcomes.run.expect_err("spoilt").to_string();
        assert!(cited(&text).iter().any(|line| line.contains("milk().map_err(|error|")), "{text}");
        // The standard library calls the conversion.
        let outcomes = job.run_freely(|world| match world.is_root() {
            true => milk().map_err(Error::user),
            false => world.barrier(),
        });
        let text = outcomes.run.expect_err("spoilt").to_string();
        assert_eq!(text, "the milk is spoilt");
    });
}

#[test]
fn what_the_others_were_doing_does_not_matter() {
    // The failing rank drops its vector before the other ranks open their scope.
    for _ in 0..10 {
        let outcomes = every_route([2, 3]).run_freely(|world| {
            let v = GVector::<i32>::new(world, 10)?;
            if world.rank() == 1 {
                return Err(Error::user(spoilt()));
            }
            v.read_cache().map(drop)
        });
        outcomes.run_says(&["the milk is spoilt"]);
    }
}

#[test]
fn question_marks_note_their_line() {
    let outcomes = every_route([2]).run_freely(|world| {
        if world.rank() == 1 {
            std::fs::read("/no/such/file")?;
        }
        world.barrier()
    });
    outcomes.run_says(&["No such file"]).run_cites(&["std::fs::read"]);
    outcomes.says(0, &["rank 1 failed: No such file"]);
}

#[test]
fn a_panic_on_one_rank_ends_all() {
    on_every_route([1, 2, 3], |job| {
        for failing in 0..job.ranks {
            let outcomes = job.run_freely(|world| {
                let v = GVector::<i32>::new(world, 10)?;
                assert!(world.rank() != failing, "no more cheese");
                v.read_cache().map(drop)
            });
            let words = format!("rank {failing} failed: panicked: no more cheese");
            outcomes.run_says(&[&words]).run_cites(&["no more cheese"]).others_say(failing, &[&words]);
        }
    });
}

#[test]
fn the_error_of_a_failing_drop_comes_back_from_run() {
    let outcomes = every_route([2, 3]).run_freely(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        if world.rank() == 1 {
            let mut released = v.release_c()?;
            released.put(0, 1)?;
            // The other ranks have opened something else by now, so only the drop finds the mismatch.
            std::thread::sleep(std::time::Duration::from_millis(100));
            drop(released);
            return Ok(());
        }
        let _ = v.read_cache();
        Ok(())
    });
    outcomes.run_says(&["ranks disagree", "opened a ReleaseC"]);
}

struct Stumbles;

impl Op<i32> for Stumbles {
    fn apply(current: i32, operand: i32) -> i32 {
        assert!(operand != 13, "thirteen is bad luck");
        current + operand
    }
}

#[test]
fn an_operation_that_panics_at_the_owner() {
    on_every_route([1, 2, 3], |job| {
        for unlucky in 0..job.ranks {
            let outcomes = job.run_freely(|world| {
                let mut v = GVector::<i32>::new(world, 10)?;
                let mut scope = v.release_c_with(Stumbles)?;
                scope.update(0, if world.rank() == unlucky { 13 } else { 1 })?;
                scope.finish()?;
                world.barrier()?;
                v.at(0).map(drop)
            });
            let error = outcomes.run.as_ref().expect_err("a panic");
            let text = error.to_string();
            if unlucky == 0 {
                // The panic is inside the rank's own call.
                assert!(text.contains("rank 0 failed: panicked: thirteen is bad luck"), "{text}");
                assert!(cited(&text).iter().any(|line| line.contains("thirteen")), "{text}");
            } else {
                // The panic is in another rank's write, so the error belongs to the object, not to the rank's call.
                assert!(matches!(error, Error::Poisoned { .. }), "{text}");
                assert!(text.contains("rank 0 panicked inside the ReleaseC that it opened at"), "{text}");
            }
        }
    });
}

#[test]
fn an_operation_that_panics_at_the_owner_who_has_opened_nothing() {
    let outcomes = every_route([2, 3]).run_freely(|world| {
        let mut v = GVector::<i32>::new(world, 10)?;
        v.release_c_with(Stumbles)?.finish()?;
        world.barrier()?;
        let alone = match world.rank().index() {
            1 => v.release_alone_with(Stumbles).and_then(|mut scope| {
                scope.update(0, 13)?;
                scope.finish()
            }),
            _ => Ok(()),
        };
        world.barrier().and(alone)
    });
    let words = "is poisoned: rank 0 panicked in an operation of another rank's ReleaseC alone";
    outcomes.says(1, &[words]);
    outcomes.run_says(&[words]);
}
