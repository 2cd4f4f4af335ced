//! The race detector on maps: programs with two accesses in no order, and the same programs with a barrier.

use crate::provoke::{Job, Outcomes, on_every_route};
use crate::races::{Step, pairs, step, turns};
use aurora_core::ops::{Max, Sum};
use aurora_core::prelude::*;
use aurora_core::{MapReleaseC, Raced};

type Map = GMap<String, u64>;

type Act = fn(&mut Map, &str) -> Result<()>;

const STEPS: [Step<Act>; 9] = [
    step("m.insert(key.into(), 1)", true, false, |m, key| m.insert(key.into(), 1).map(drop)),
    step("m.remove(key)", true, false, |m, key| m.remove(key).map(drop)),
    step("m.update(key, Sum, 2)", true, false, |m, key| m.update(key, Sum, 2)),
    step("m.update(key, Max, 3)", true, false, |m, key| m.update(key, Max, 3)),
    step("let mut own = m.owner_computes_mut()?; // changes", true, true, |m, key| {
        let mut own = m.owner_computes_mut()?; // changes
        *own.get_mut(key).expect("it is there at first") += 4;
        Ok(())
    }),
    step("let mut own = m.owner_computes_mut()?; // removes", true, true, |m, key| {
        let mut own = m.owner_computes_mut()?; // removes
        own.retain(|there, _| there != key);
        Ok(())
    }),
    step("m.get(key)", false, false, |m, key| m.get(key).map(drop)),
    step("m.contains(key)", false, false, |m, key| m.contains(key).map(drop)),
    step("m.get_many([\"none\", key])", false, false, |m, key| m.get_many(["none", key]).map(drop)),
];

/// The first of some words that rank 0 owns.
fn key_of_root(m: &Map) -> String {
    let mut words = (0..).map(|number| format!("word {number}"));
    words.find(|word| m.owner(word.as_str()) == Rank::new(0)).expect("it owns some")
}

/// A program with a map that has a key of rank 0. Every rank gets the result, whichever rank finds a race.
fn program(job: Job, body: impl Fn(&World, &mut Map, &str) -> Result<()> + Sync) -> Outcomes {
    job.checking().run(|world| {
        let mut m = Map::new(world)?;
        let key = key_of_root(&m);
        if world.is_root() {
            m.insert(key.clone(), 10)?;
        }
        world.barrier()?;
        let outcome = body(world, &mut m, &key);
        // After the barrier all ranks know the race.
        world.barrier()?;
        outcome?;
        m.get(&key).map(drop)
    })
}

fn both(job: Job, steps: [Step<Act>; 2], ordered: bool) -> Outcomes {
    program(job, |world, m, key| turns(world, steps, ordered, |act| act(m, key)))
}

/// Checks that all ranks get a race for the key, with the lines of both accesses.
fn is_race(outcomes: &Outcomes, lines: &[&str]) {
    for outcome in &outcomes.ranks {
        let Some(Err(Error::Race { what: Raced::Entry(key), .. })) = outcome else {
            panic!("{outcome:?} is no race, of {lines:?}");
        };
        assert!(key.starts_with("\"word "), "{key}");
    }
    let words = [
        "a race on entry \"word",
        "rank 0 ",
        "rank 1 ",
        "of the GMap<String, u64> (made at",
        "nothing orders these accesses: ",
    ];
    outcomes.all_say(&words).all_cite(lines);
}

#[test]
fn a_missing_barrier_is_found() {
    on_every_route([2], |job| {
        pairs(&STEPS)
            .filter(|pair| !pair[0].own)
            .for_each(|pair| is_race(&both(job, pair, false), &pair.map(|step| step.line)));
    });
}

/// The owner changes an entry in place, before or after another rank's access.
#[test]
fn a_missing_barrier_beside_owner_computes() {
    on_every_route([2], |job| {
        for pair in pairs(&STEPS).filter(|pair| pair[0].own && !pair[1].line.contains("remove")) {
            is_race(&both(job, pair, false), &pair.map(|step| step.line));
        }
    });
}

/// A barrier between the read and the write does not make them one step. `update` does.
#[test]
fn a_read_and_a_later_write_are_advised_to_be_an_update() {
    let step = |line| STEPS.into_iter().find(|step| step.line.contains(line)).expect("there is one");
    on_every_route([2], |job| {
        let outcomes = both(job, [step("m.get(key)"), step("m.insert(")], false);
        outcomes.all_say(&["such as a barrier", "all `update` it with one operation"]);
        let outcomes = program(job, |_, m, key| {
            let before = m.get(key)?.unwrap_or_default();
            m.insert(key.into(), before + 1).map(drop)
        });
        outcomes.all_say(&["all `update` it with one operation"]);
        assert!(!outcomes.text(0).contains("release_c_with"), "a map has `update` of its own: {}", outcomes.text(0));
    });
}

#[test]
fn a_barrier_orders() {
    on_every_route([2, 3], |job| {
        for pair in pairs(&STEPS) {
            both(job, pair, true).run.unwrap_or_else(|error| panic!("{:?}: {error}", pair.map(|step| step.line)));
        }
    });
}

#[test]
fn updates_by_one_operation_and_other_keys_are_no_race() {
    on_every_route([2, 3], |job| {
        for update in STEPS.into_iter().filter(|step| step.line.contains("update")) {
            both(job, [update; 2], false).run.expect("they commute");
        }
        let outcomes = program(job, |world, m, _| {
            let mine = format!("of {}", world.rank());
            m.insert(mine.clone(), 1)?;
            m.update(&mine, Max, 2)?;
            assert_eq!(m.remove(&mine)?, Some(2));
            Ok(())
        });
        outcomes.run.expect("each has its own");
    });
}

#[test]
fn two_writes_in_one_scope() {
    type Write = fn(&mut MapReleaseC<'_, String, u64, Sum>, &str) -> Result<()>;
    let insert: (&str, Write) = ("scope.insert(key.into(), 5)", |scope, key| scope.insert(key.into(), 5));
    let update: (&str, Write) = ("scope.update(key, 6)", |scope, key| scope.update(key, 6));
    on_every_route([2, 3], |job| {
        for writes in [[insert; 2], [insert, update], [update, insert], [update; 2]] {
            for finished in [true, false] {
                let outcomes = program(job, |world, m, key| {
                    let mut scope = m.release_c_with(Sum)?; // opened
                    if let Some((_, write)) = writes.get(world.rank().index()) {
                        write(&mut scope, key)?;
                    }
                    if finished { scope.finish() } else { Ok(()) }
                });
                match writes.iter().all(|(line, _)| line.contains("update")) {
                    true => outcomes.run.expect("they commute"),
                    false => {
                        is_race(&outcomes, &[writes[0].0, writes[1].0, "// opened"]);
                        outcomes
                            .all_say(&["inside the ReleaseC opened at", "let one rank write it, or all `update` it"]);
                    }
                }
            }
        }
    });
}

#[test]
fn an_access_before_the_scope_in_which_others_write() {
    on_every_route([2, 3], |job| {
        for (read, ordered) in [(true, false), (false, false), (true, true), (false, true)] {
            let outcomes = program(job, |world, m, key| {
                match world.rank().index() {
                    1 if read => drop(m.get(key)?), // too early
                    1 => m.update(key, Sum, 1)?,    // too early
                    _ => {}
                }
                if ordered {
                    world.barrier()?;
                }
                let mut scope = m.release_c()?;
                if world.is_root() {
                    scope.insert(key.into(), 2)?; // in the scope
                }
                scope.finish()
            });
            match ordered {
                true => outcomes.run.expect("it is ordered"),
                false => {
                    is_race(&outcomes, &["// too early", "// in the scope", "let mut scope = m.release_c()"]);
                    outcomes.all_say(&["let both ranks end that scope before the other access"]);
                }
            }
        }
    });
}

/// An owner applies the other ranks' writes of a scope after it has opened the scope.
#[test]
fn an_owner_before_a_scope_that_it_enters() {
    on_every_route([2, 3], |job| {
        let outcomes = program(job, |world, m, key| {
            if world.is_root() {
                m.insert(key.into(), 20)?;
            }
            let mut scope = m.release_c_with(Sum)?;
            if world.rank() == 1 {
                scope.update(key, 1)?;
            }
            scope.finish()?;
            assert_eq!(m.get(key)?, Some(21));
            world.barrier()
        });
        outcomes.run.expect("the owner comes first");
    });
}

/// A scope orders without a barrier: afterwards each rank sees all writes of the scope, and all earlier writes to other
/// objects.
#[test]
fn a_scope_orders() {
    on_every_route([2, 3], |job| {
        for finished in [true, false] {
            let outcomes = program(job, |world, m, key| {
                let mut w = GVector::<u64>::new(world, 12)?;
                if world.is_root() {
                    w.put(2, 1)?;
                }
                let mut scope = m.release_c_with(Sum)?;
                scope.update(key, 1)?;
                if finished {
                    scope.finish()?;
                } else {
                    drop(scope);
                }
                assert_eq!(m.get(key)?, Some(10 + world.size() as u64));
                if world.rank() == 1 {
                    assert_eq!(w.at(2)?, 1);
                }
                world.barrier()
            });
            outcomes.run.expect("the scope orders");
        }
    });
}

#[test]
fn what_all_ranks_do_with_the_whole_map_orders() {
    type Order = fn(&mut Map) -> Result<()>;
    let orders: [(&str, Order); 3] =
        [("len", |m| m.global_len().map(drop)), ("gather_to", |m| m.gather_to(1).map(drop)), ("clear", |m| m.clear())];
    on_every_route([2, 3], |job| {
        for (what, order) in orders {
            let outcomes = program(job, |world, m, key| {
                if world.is_root() {
                    m.insert(key.into(), 1)?;
                }
                order(m)?;
                if world.rank() == 1 {
                    m.insert(key.into(), 2)?;
                }
                order(m)?;
                let own = m.owner_computes()?;
                assert_eq!(own.iter().count(), own.len());
                Ok(())
            });
            outcomes.run.unwrap_or_else(|error| panic!("{what}: {error}"));
        }
    });
}

/// A guard that holds own entries for reading is no proof of a race: the program continues.
#[test]
fn what_rests_on_own_entries_is_no_error() {
    on_every_route([2, 3], |job| {
        let outcomes = program(job, |world, m, key| {
            if world.is_root() {
                let mut own = m.owner_computes_mut()?;
                own.iter_mut().for_each(|(_, value)| *value += 0);
            } else if world.rank() == 1 {
                m.insert(key.into(), 1)?;
            }
            world.barrier()?;
            // Changed before the barrier, and held across the barrier.
            let mut own = m.owner_computes_mut()?;
            own.iter_mut().for_each(|(_, value)| *value += 1);
            world.barrier()?;
            drop(own);
            assert_eq!(m.get(key)?, Some(2));
            Ok(())
        });
        outcomes.run.expect("it may be right");
    });
}

/// Strict checking mode reports such a possible race as an error.
#[test]
fn what_rests_on_own_entries_is_an_error_if_it_is_asked_for() {
    on_every_route([2, 3], |job| {
        let outcomes = job.checking_strictly().run(|world| {
            let mut m = Map::new(world)?;
            let key = key_of_root(&m);
            let outcome = match world.rank().index() {
                0 => m.owner_computes().map(drop), // holds
                1 => m.insert(key, 1).map(drop),   // writes
                _ => Ok(()),
            };
            // After the barrier all ranks know the race.
            world.barrier()?;
            outcome?;
            m.get("word 0").map(drop)
        });
        for outcome in &outcomes.ranks {
            assert!(matches!(outcome, Some(Err(Error::Race { is_possible: true, .. }))), "{outcome:?}");
        }
        outcomes.all_say(&["a possible race (none if", "holds it for reading, among its own entries,"]);
        outcomes.all_cite(&["// holds", "// writes"]);
    });
}

/// Keys are compared by their values, not by their hashes.
#[test]
fn keys_of_one_hash() {
    #[derive(Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
    struct Alike(u64);

    impl std::hash::Hash for Alike {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            7u8.hash(state);
        }
    }

    on_every_route([2, 3], |job| {
        for shared in [false, true] {
            let outcomes = job.checking().run(|world| {
                let mut m = GMap::<Alike, (u8, String)>::new(world)?;
                let me = world.rank().index() as u64;
                let outcome = m.insert(Alike(if shared { 3 } else { me }), (1, "value".into()));
                world.barrier()?;
                outcome?;
                m.get(&Alike(9)).map(drop)
            });
            match shared {
                true => drop(outcomes.all_say(&["a race on entry 3 of the GMap<Alike, (u8, "])),
                false => outcomes.run.expect("each rank has its own key"),
            }
        }
    });
}
