//! Errors of maps: ranks that disagree, panics of the user's types, forgotten guards, deadlocks, invalid types.

use crate::provoke::{Order, Quiet, caught, every_route, on_every_route};
use aurora_core::ops::{Min, Sum};
use aurora_core::prelude::*;
use serde::{Deserialize, Deserializer, Serialize};
use std::hash::{Hash, Hasher};
use std::mem::forget;
use std::panic::panic_any;

/// The rank that makes the error.
const CULPRIT: usize = 1;

type Map = GMap<u64, u64>;
type Step = fn(&mut Map) -> Result<()>;

/// The collective calls of a map, and their words in an error.
const CALLS: [(Step, &str); 6] = [
    (|m| m.release_c()?.finish(), "opened a ReleaseC of the GMap<u64, u64>"),
    (|m| m.release_c_with(Sum)?.finish(), "opened a ReleaseC with operation Sum of the GMap<u64, u64>"),
    (|m| m.release_c_with(Min)?.finish(), "opened a ReleaseC with operation Min of the GMap<u64, u64>"),
    (|m| m.global_len().map(drop), "is in the count of the GMap<u64, u64>"),
    (|m| m.gather_to(0).map(drop), "is in the gathering of the GMap<u64, u64>"),
    (|m| m.clear(), "is in the clearing of the GMap<u64, u64>"),
];

/// All calls of a map.
const USES: [Step; 13] = [
    |m| m.get(&0).map(drop),
    |m| m.contains(&0).map(drop),
    |m| m.get_many(&[0, 1, 2, 3]).map(drop),
    |m| m.insert(0, 1).map(drop),
    |m| m.remove(&0).map(drop),
    |m| m.update(&0, Sum, 1),
    |m| m.owner_computes().map(drop),
    |m| m.owner_computes_mut().map(drop),
    |m| m.release_c().map(drop),
    |m| m.release_c_with(Sum).map(drop),
    |m| m.global_len().map(drop),
    |m| m.gather_to(0).map(drop),
    |m| m.clear(),
];

#[test]
fn different_calls() {
    for (at, (usual, first)) in CALLS.iter().enumerate() {
        for (odd, second) in &CALLS[at + 1..] {
            let outcomes = every_route([2, 3]).run(|world| {
                let mut map = Map::new(world)?;
                if world.rank() == CULPRIT { odd(&mut map) } else { usual(&mut map) }
            });
            outcomes.all_say(&["ranks disagree"]);
            if at < 3 && second.starts_with("opened") {
                outcomes.all_say(&[first, second, "rank 1 opened"]);
            }
        }
    }
}

#[test]
fn different_maps() {
    let outcomes = every_route([2, 3]).run(|world| match world.rank() == CULPRIT {
        true => GMap::<u64, u32>::new(world).map(drop),
        false => GMap::<u64, u64>::new(world).map(drop),
    });
    outcomes.all_say(&["ranks disagree", "construction of a GMap<u64, u64>", "construction of a GMap<u64, u32>"]);
}

#[test]
fn a_scope_that_one_rank_does_not_open() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut map = Map::new(world)?;
        if world.rank() != CULPRIT {
            map.release_c()?.insert(1, 2)?;
        }
        world.barrier()
    });
    outcomes.all_say(&["ranks disagree", "opened a ReleaseC of the GMap<u64, u64>"]);
    let outcomes = every_route([2, 3]).run(|world| {
        let mut map = Map::new(world)?;
        if world.rank() != CULPRIT {
            map.release_c()?.finish()?;
        }
        world.barrier()
    });
    outcomes.all_say(&["GMap<u64, u64>"]).all_cite(&["map.release_c()?"]);
}

#[test]
fn a_panic_in_a_scope() {
    type Open = fn(&mut Map);
    let opened: [(&str, Open); 3] = [
        ("ReleaseC", |m| {
            let mut scope = m.release_c().unwrap();
            (0..100).for_each(|key| scope.insert(key, 666).unwrap());
            panic_any(Quiet)
        }),
        ("OwnerComputes", |m| {
            let mut own = m.owner_computes_mut().unwrap();
            own.iter_mut().for_each(|(_, value)| *value = 666);
            panic_any(Quiet)
        }),
        ("OwnerComputes", |m| {
            let _own = m.owner_computes().unwrap();
            panic_any(Quiet)
        }),
    ];
    for (name, open) in opened {
        let outcomes = every_route([2, 3]).run(|world| {
            let mut map = Map::new(world)?;
            if world.rank() == CULPRIT {
                caught(|| open(&mut map));
            }
            // The error may reach a rank before it opens the scope.
            world.barrier()?;
            let mut found = None;
            for next_use in USES {
                match next_use(&mut map) {
                    Err(error @ Error::Poisoned { .. }) => found = Some(error),
                    other => panic!("{name}: {other:?}"),
                }
            }
            found.map_or(Ok(()), Err)
        });
        let words = format!("rank 1 panicked inside the {name} that it opened at");
        outcomes.all_say(&["the GMap<u64, u64>", "is poisoned", &words]);
    }
}

thread_local! {
    static IS_ASKER: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

struct Fails;

impl Op<u64> for Fails {
    fn apply(_: u64, _: u64) -> u64 {
        panic!("cannot compute")
    }

    fn combine(first: u64, _: u64) -> u64 {
        first
    }
}

/// A key whose hash differs between the ranks.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Fickle(u64);

impl Hash for Fickle {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.0 + u64::from(IS_ASKER.get())).hash(hasher);
    }
}

#[test]
fn hashes_that_differ() {
    let outcomes = every_route([2]).run(|world| {
        IS_ASKER.set(world.is_root());
        let map = GMap::<Fickle, u64>::new(world)?;
        world.barrier()?;
        if world.is_root() {
            (0..100).try_for_each(|number| map.get(&Fickle(number)).map(drop))
        } else {
            Err(Error::user("only one is told"))
        }
    });
    outcomes.says(0, &["a value of type Fickle cannot be sent to other ranks: its bytes decode to another value"]);
}

#[test]
fn forgotten_guards() {
    let forgotten: [(&str, &str, Step); 3] = [
        ("ReleaseC", "map.release_c()", |map| {
            let mut scope = map.release_c()?;
            scope.insert(1, 2)?;
            forget(scope);
            Ok(())
        }),
        ("OwnerComputes", "map.owner_computes()", |map| {
            let own = map.owner_computes()?;
            forget(own);
            Ok(())
        }),
        ("OwnerComputes", "map.owner_computes_mut()", |map| {
            let own = map.owner_computes_mut()?;
            forget(own);
            Ok(())
        }),
    ];
    for (behaviour, line, forget_one) in forgotten {
        let outcomes = every_route([2, 3]).run(|world| {
            let mut map = Map::new(world)?;
            if world.rank() == CULPRIT {
                forget_one(&mut map)?;
            } else if behaviour == "ReleaseC" {
                drop(map.release_c()?);
            }
            world.barrier()?;
            map.clear()
        });
        let words = format!("rank 1 has not closed the {behaviour} of the GMap<u64, u64>");
        outcomes.all_say(&[&words]).all_cite(&[line]);
    }
}

#[test]
fn a_circle_through_lent_entries() {
    on_every_route([2, 3], |job| {
        let order = Order::new();
        let outcomes = job.run(|world| {
            let (me, size) = (world.rank().index(), world.size());
            let mut mine = Map::new(world)?;
            let mut theirs = Map::new(world)?;
            if me % 2 == 1 {
                std::mem::swap(&mut mine, &mut theirs);
            }
            let odd_lend = mine.owner_computes_mut()?;
            order.advance();
            order.wait_for(size);
            let next = (0..).find(|key| theirs.owner(key).index() == (me + 1) % 2).expect("every rank owns keys");
            let asked = theirs.get(&next);
            asked?;
            drop(odd_lend);
            world.barrier()
        });
        outcomes
            .all_say(&["ranks wait for each other and none can go on"])
            .all_say(&["rank 0 waits for the answer to `get` on", "rank 1 waits for the answer to `get` on"])
            .all_say(&["held back by the OwnerComputes that rank 1 opened at"])
            .all_cite(&["let asked = theirs.get(&next)", "let odd_lend"]);
    });
}

#[test]
fn a_write_held_back_and_a_barrier() {
    on_every_route([2, 3], |job| {
        let order = Order::new();
        let outcomes = job.run(|world| {
            let mut map = Map::new(world)?;
            if world.rank() == CULPRIT {
                let own = map.owner_computes()?;
                assert!(own.is_empty());
                order.advance();
                return world.barrier();
            }
            order.wait_for(1);
            let theirs = (0..).find(|key| map.owner(key).index() == CULPRIT).expect("every rank owns keys");
            map.insert(theirs, 1)?;
            world.barrier()
        });
        outcomes.all_say(&["rank 1 has not closed the OwnerComputes"]).all_cite(&["let own = map.owner_computes()"]);
    });
}

#[test]
fn an_operation_that_the_owner_does_not_know() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut map = Map::new(world)?;
        (0..100).try_for_each(|key| map.update(&key, Fails, 1))
    });
    outcomes.all_say(&["does not know operation Fails"]).all_cite(&["map.update(&key, Fails, 1)"]);
}

#[test]
fn a_root_that_does_not_exist() {
    let outcomes = every_route([2, 3]).run(|world| Map::new(world)?.gather_to(7).map(drop));
    outcomes.all_say(&["rank 7 does not exist"]).all_cite(&["gather_to(7)"]);
}

/// Panics in `hash` if `BAD_HASH` is set and in decoding if `BAD_READ` is set, on all ranks but rank 0.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
struct Touchy(u64);

const BAD_HASH: u64 = 1 << 40;
const BAD_READ: u64 = 1 << 41;
const REFUSED: u64 = 1 << 42;

impl Hash for Touchy {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        assert!(self.0 & BAD_HASH == 0 || IS_ASKER.get(), "this cannot be hashed");
        self.0.hash(hasher);
    }
}

impl<'de> Deserialize<'de> for Touchy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        assert!(number & BAD_READ == 0 || IS_ASKER.get(), "this cannot be read");
        match number & REFUSED {
            0 => Ok(Touchy(number)),
            _ => Err(serde::de::Error::custom("a number that I do not like")),
        }
    }
}

/// A key with these bits that `owner` owns.
fn key_of(map: &GMap<Touchy, u64>, bits: u64, owner: usize) -> Touchy {
    let mut keys = (0..).map(|number| Touchy(number | bits));
    keys.find(|key| map.owner(key).index() == owner).expect("every rank owns keys")
}

#[test]
fn types_that_panic_poison_the_map() {
    type Use = fn(&mut GMap<Touchy, u64>, Touchy) -> Result<()>;
    let uses: [(u64, Use); 5] = [
        (BAD_HASH, |map, key| map.get(&key).map(drop)),
        (BAD_READ, |map, key| map.get(&key).map(drop)),
        (BAD_READ, |map, key| map.insert(key, 1).map(drop)),
        (0, |map, key| {
            map.insert(key.clone(), 1)?;
            map.update(&key, Fails, 1)
        }),
        (BAD_HASH, |map, key| map.get_many([&key]).map(drop)),
    ];
    for (number, (bits, next_use)) in uses.into_iter().enumerate() {
        let outcomes = every_route([2, 3]).run(|world| {
            IS_ASKER.set(world.is_root());
            let mut map = GMap::<Touchy, u64>::new(world)?;
            map.release_c_with(Fails)?.finish()?;
            world.barrier()?;
            if world.is_root() {
                let key = key_of(&map, bits, CULPRIT);
                let asked = next_use(&mut map, key);
                assert!(matches!(asked, Err(Error::Poisoned { .. })), "use {number}: {asked:?}");
            }
            world.barrier()?;
            IS_ASKER.set(true);
            map.get(&Touchy(3)).map(drop)
        });
        outcomes.all_say(&["the GMap<Touchy, u64>", "is poisoned: rank 1 panicked"]);
    }
}

#[test]
fn types_that_panic_in_a_batch() {
    for bits in [BAD_HASH, BAD_READ, 0] {
        let outcomes = every_route([2, 3]).run(|world| {
            IS_ASKER.set(world.is_root());
            let mut map = GMap::<Touchy, u64>::new(world)?;
            let key = world.is_root().then(|| key_of(&map, bits, CULPRIT));
            for _ in 0..2 {
                let mut scope = map.release_c_with(Fails)?;
                // All ranks have opened the scope before one of them can poison the map.
                world.barrier()?;
                if let Some(key) = &key {
                    scope.update(key, 1)?;
                }
                let ended = scope.finish();
                // A rank that has applied its own part may not know yet that another rank's part failed.
                world.barrier()?;
                ended?;
            }
            map.get(&Touchy(3)).map(drop)
        });
        outcomes.all_say(&["the GMap<Touchy, u64>", "is poisoned: rank 1 panicked inside the ReleaseC"]);
    }
}

#[test]
fn types_that_refuse() {
    let outcomes = every_route([2, 3]).run(|world| {
        let mut map = GMap::<Touchy, u64>::new(world)?;
        if world.is_root() {
            let key = key_of(&map, REFUSED, CULPRIT);
            let refused = map.get(&key).expect_err("it cannot be decoded").to_string();
            assert!(refused.contains("a value of type Touchy cannot be sent to other ranks"), "{refused}");
            assert_eq!(map.get(&key_of(&map, 0, CULPRIT))?, None);
        }
        let key = key_of(&map, REFUSED, CULPRIT);
        let mut scope = map.release_c()?;
        // All ranks have opened the scope before one of them can poison the map.
        world.barrier()?;
        let ended = if world.is_root() { scope.insert(key, 1) } else { Ok(()) }.and(scope.finish());
        world.barrier()?;
        ended?;
        map.get(&Touchy(3)).map(drop)
    });
    outcomes.all_say(&["cannot be sent to other ranks"]);
}
