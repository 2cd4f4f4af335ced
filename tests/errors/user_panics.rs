//! Types and closures of the user that panic on the rank that makes a request: the object is poisoned on all ranks, and
//! no call is matched with another call.

use crate::provoke::{Quiet, caught, every_route};
use aurora_core::prelude::*;
use serde::{Deserialize, Deserializer, Serialize};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

/// The rank that makes the error.
const CULPRIT: usize = 1;

thread_local! {
    /// True while values cannot be decoded on this thread.
    static IS_ARMED: Cell<bool> = const { Cell::new(false) };
}

/// Panics in decoding while the thread is armed.
#[derive(PartialEq, Eq, Hash, Clone, Serialize, Debug)]
struct Touchy(u64);

impl<'d> Deserialize<'d> for Touchy {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        if IS_ARMED.get() {
            panic_any(Quiet);
        }
        u64::deserialize(deserializer).map(Touchy)
    }
}

/// Runs an action in which a value cannot be decoded. True if the action panicked.
fn armed<R>(action: impl FnOnce() -> R) -> bool {
    IS_ARMED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(action));
    IS_ARMED.set(false);
    outcome.is_err()
}

/// The rank that made the request decodes the answer.
#[test]
fn an_answer_that_panics_poisons_the_map() {
    type Map = GMap<Touchy, Touchy>;
    type Use = fn(&mut Map, Touchy) -> Result<()>;
    let uses: [(&str, Use); 5] = [
        ("get", |map, key| map.get(&key).map(drop)),
        ("get_many", |map, key| map.get_many([&key]).map(drop)),
        ("insert", |map, key| map.insert(key, Touchy(2)).map(drop)),
        ("remove", |map, key| map.remove(&key).map(drop)),
        ("gather_to", |map, _| map.gather_to(0).map(drop)),
    ];
    for (name, next_use) in uses {
        let outcomes = every_route([1, 2, 3]).run(|world| {
            let mut map = Map::new(world)?;
            let last = world.size() - 1;
            let mut keys = (0..).map(Touchy);
            let key = keys.find(|key| map.owner(key).index() == last).expect("every rank owns keys");
            if world.is_root() {
                map.insert(key.clone(), Touchy(1))?;
            }
            world.barrier()?;
            match (name, world.is_root()) {
                (_, true) => assert!(armed(|| next_use(&mut map, key)), "{name}"),
                // The call ends on the other ranks too.
                ("gather_to", false) => {
                    let ended = map.gather_to(0);
                    assert!(matches!(ended, Err(Error::Poisoned { .. })), "{ended:?}");
                }
                _ => {}
            }
            world.barrier()?;
            for again in 0..2 {
                let collected = map.gather_to(0);
                assert!(matches!(collected, Err(Error::Poisoned { .. })), "{name}, {again}: {collected:?}");
            }
            map.get(&Touchy(3)).map(drop)
        });
        outcomes.all_say(&["the GMap<Touchy, Touchy>", "is poisoned: rank 0 panicked"]);
    }
}

/// The home has already changed the value, and no rank has the old value.
#[test]
fn an_answer_that_panics_poisons_the_scalar() {
    type Use = fn(&GScalar<Touchy>) -> Result<()>;
    let uses: [(&str, Use); 4] = [
        ("get", |s| s.get().map(drop)),
        ("swap", |s| s.swap(Touchy(2)).map(drop)),
        ("compare_exchange", |s| s.compare_exchange(&Touchy(1), &Touchy(2)).map(drop)),
        ("fetch_update", |s| s.fetch_update(|old| old).map(drop)),
    ];
    for (name, next_use) in uses {
        let outcomes = every_route([1, 2, 3]).run(|world| {
            let scalar = GScalar::new(world, world.size() - 1, Touchy(1))?;
            if world.is_root() {
                assert!(armed(|| next_use(&scalar)), "{name}");
            }
            world.barrier()?;
            scalar.get().map(drop)
        });
        outcomes.all_say(&["the GScalar<Touchy>", "is poisoned: rank 0 panicked"]);
    }
}

/// A closure panics on one rank, which tries again: its second call must not match the second step of the other ranks'
/// call.
#[test]
fn a_construction_that_panics_and_is_tried_again() {
    /// The large vector is checked in two steps.
    const LENGTHS: [usize; 2] = [100, 3 << 20];
    for len in LENGTHS {
        let outcomes = every_route([2, 3]).run(|world| {
            let make = |fails: bool| {
                GVector::<u64>::from_fn(world, len, |index| match fails {
                    true => panic_any(Quiet),
                    false => index as u64,
                })
            };
            if world.rank() == CULPRIT {
                caught(|| make(true));
            }
            let vector = make(false)?;
            world.barrier()?;
            vector.gather_to(0).map(drop)
        });
        outcomes.all_say(&["ranks disagree", "construction of a GVector<u64>"]);
    }
}

/// The replica is locked while it is read, and the rank's daemon needs the replica's lock and the kernel.
#[test]
fn a_replica_that_cannot_be_read_while_others_set_it() {
    let outcomes = every_route([2, 3]).run(|world| {
        let scalar = GScalar::new(world, world.size() - 1, Slow(1))?;
        let mostly = scalar.read_mostly()?;
        // All ranks have opened the scope before one of them poisons the scalar.
        world.barrier()?;
        if world.is_root() {
            assert!(armed(|| mostly.get()));
        } else {
            while mostly.set(Slow(2)).is_ok() {}
        }
        world.barrier()?;
        mostly.get().map(drop)
    });
    outcomes.all_say(&["the GScalar<Slow>", "is poisoned: rank 0 panicked inside the ReadMostly"]);
}

/// Takes some time before it panics.
#[derive(Serialize)]
struct Slow(u64);

impl<'d> Deserialize<'d> for Slow {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        if IS_ARMED.get() {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Touchy::deserialize(deserializer).map(|number| Slow(number.0))
    }
}
