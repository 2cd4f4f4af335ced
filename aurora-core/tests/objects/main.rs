//! Shared objects of a program's own, by the public seam alone: one test for each guarantee of the contract.

use aurora_core::object::{Awaited, Call, CallId, Cx, Holds, How, Malformed, Obstacle, Payload, Plan, Received};
use aurora_core::object::{Shared, SharedObject, Until, Wait, decode};
use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use aurora_core::{ObjectName, Route};
use std::time::Duration;

mod counting;
mod hostile;
mod memory;
mod parts;
mod sources;
mod waits;
mod words;

type Read<T> = std::result::Result<T, Malformed>;

/// A wait at any object for a message.
const ONE: Wait = Wait { number: 1, until: Until::Acted };

fn routes() -> [Route; 3] {
    [Route::Local, Route::Shm, Route::Udp]
}

fn on_all_routes(ranks: usize, body: impl Fn(&World) -> Result<()> + Sync) {
    for route in routes() {
        Config::threads(ranks).route(route).run(&body).unwrap_or_else(|error| panic!("{route:?}: {error}"));
    }
}

/// The errors of the ranks, on each route.
fn fails_on_all_routes(ranks: usize, body: impl Fn(&World) -> Result<()> + Sync) -> Vec<String> {
    let run = |route| {
        let config = Config::threads(ranks).route(route).timeout(Duration::from_secs(60));
        config.run(&body).expect_err("it cannot end well").to_string()
    };
    routes().map(run).to_vec()
}

fn next(cx: &Cx<'_>) -> Rank {
    Rank::new((cx.me().index() + 1) % cx.size())
}

/// Passes numbers on to the next rank, until they are 0. Counts received numbers.
#[derive(Default)]
struct Ring {
    arrived: u64,
    ended: bool,
    depth: u32,
}

impl SharedObject for Ring {
    fn deliver(&mut self, _: Rank, header: &[u8], _: Received, cx: &mut Cx<'_>) -> Read<()> {
        self.depth += 1;
        assert_eq!(self.depth, 1, "a call is never made from inside another");
        let left: u64 = decode(header)?;
        self.arrived += 1;
        match left {
            0 => self.ended = true,
            left => cx.send(next(cx), &(left - 1), Payload::Empty, How::default()),
        }
        cx.progress();
        self.depth -= 1;
        Ok(())
    }

    fn awaits(&self, _: Wait, name: &ObjectName) -> Awaited {
        // Transfers are under way all the time.
        Awaited { ranks: Vec::new(), doing: format!("waits for the last number of {name}") }
    }
}

fn ring(world: &World, hops: u64) -> Result<()> {
    let ring = world.share(Plan::new("Ring", &0), |_| Ok(Ring::default()))?;
    let last = Rank::new((hops % world.size() as u64) as usize);
    if world.is_root() {
        ring.act(|_, cx| {
            cx.send(next(cx), &(hops - 1), Payload::Empty, How::default());
            Ok(())
        })?;
    }
    if world.rank() == last {
        ring.wait(ONE, |ring, _| ring.ended.then_some(Ok(())))?;
    }
    // Other objects have turns meanwhile.
    let all = world.all_reduce(Sum, ring.act(|ring, _| Ok(ring.arrived))?)?;
    world.barrier()?;
    let arrived = ring.act(|ring, _| Ok(ring.arrived))?;
    assert!(all <= hops && world.all_reduce(Sum, arrived)? == hops);
    Ok(())
}

#[test]
fn deliveries_that_send_do_not_recurse() {
    for route in routes() {
        let hops = if route == Route::Local { 1_000_000 } else { 50_000 };
        Config::threads(3).route(route).run(|world| ring(world, hops)).expect("it goes round");
    }
}

#[test]
fn what_a_rank_sends_to_itself_is_delivered_later() {
    on_all_routes(1, |world| ring(world, 10_000));
}

/// Holds back all requests, for ever or until a message makes it answer.
#[derive(Default)]
struct Keeper {
    kept: Vec<Call>,
    answers: bool,
}

impl SharedObject for Keeper {
    fn deliver(&mut self, _: Rank, _: &[u8], _: Received, _: &mut Cx<'_>) -> Read<()> {
        panic!("a bug of the object's");
    }

    fn request(&mut self, call: Call, _: &[u8], _: Received, _: &mut Cx<'_>) -> Read<()> {
        self.kept.push(call);
        Ok(())
    }

    fn advance(&mut self, cx: &mut Cx<'_>) {
        let fault = cx.sound().err();
        if self.answers || fault.is_some() {
            let answer = |call| cx.answer(call, fault.clone().map_or(Ok(vec![7].into_payload()), Err));
            self.kept.drain(..).for_each(answer);
        }
    }

    fn holds(&self, held: &mut Holds<'_>) {
        for call in &self.kept {
            held.call(call.from, Obstacle { by_itself: true, behind: Vec::new() });
        }
    }
}

trait IntoPayload {
    fn into_payload(self) -> Payload;
}

impl IntoPayload for Vec<u8> {
    fn into_payload(self) -> Payload {
        Payload::Bytes(self.into())
    }
}

fn keeper(world: &World) -> Result<Shared<Keeper>> {
    world.share(Plan::new("Keeper", &1), |_| Ok(Keeper::default()))
}

#[test]
fn an_answer_that_can_never_come_is_an_error() {
    for error in fails_on_all_routes(2, |world| {
        let keeper = keeper(world)?;
        if !world.is_root() {
            keeper.ask(Rank::new(0), "knock", &(), Payload::Empty)?;
        }
        world.barrier()
    }) {
        assert!(error.contains("`knock` on the Keeper") && error.contains("barrier"), "{error}");
    }
}

#[test]
fn an_answer_that_is_late_is_waited_for() {
    on_all_routes(2, |world| {
        let keeper = keeper(world)?;
        if world.is_root() {
            std::thread::sleep(Duration::from_millis(300));
            keeper.act(|keeper, _| {
                keeper.answers = true;
                Ok(())
            })?;
        } else {
            assert_eq!(keeper.ask(Rank::new(0), "knock", &(), Payload::Empty)?, [7]);
        }
        world.barrier()
    });
}

#[test]
fn a_panic_in_what_has_come_poisons_that_object_alone() {
    on_all_routes(3, |world| {
        let (broken, sound) = (keeper(world)?, keeper(world)?);
        world.barrier()?;
        if world.rank() == 1 {
            broken.act(|_, cx| {
                cx.send(Rank::new(0), &(), Payload::Empty, How::default());
                Ok(())
            })?;
        }
        // All ranks get the error, also a waiting one.
        let asked = broken.ask(Rank::new(0), "knock", &(), Payload::Empty);
        assert!(matches!(asked, Err(Error::Poisoned { rank, .. }) if rank == 0), "{asked:?}");
        if world.is_root() {
            sound.act(|keeper, _| {
                keeper.answers = true;
                Ok(())
            })?;
        }
        assert_eq!(sound.ask(Rank::new(0), "knock", &(), Payload::Empty)?, [7], "the other one goes on");
        world.barrier()
    });
}

#[test]
fn a_panic_in_a_call_of_the_program_poisons_and_goes_on() {
    on_all_routes(2, |world| {
        let keeper = keeper(world)?;
        world.barrier()?;
        if world.is_root() {
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                keeper.act(|_, _| -> Result<()> { panic!("a bug of the program's") })
            }));
            assert!(panicked.is_err());
        }
        let asked = keeper.ask(Rank::new(0), "knock", &(), Payload::Empty);
        assert!(matches!(asked, Err(Error::Poisoned { .. })), "{asked:?}");
        world.barrier()
    });
}

/// Panics in `failed`.
struct Brittle;

impl SharedObject for Brittle {
    fn deliver(&mut self, _: Rank, _: &[u8], _: Received, _: &mut Cx<'_>) -> Read<()> {
        Ok(())
    }

    fn failed(&mut self, _: &mut Cx<'_>) {
        panic!("a bug of the object's, where it should tidy up");
    }
}

#[test]
fn a_panic_in_failed_ends_the_job() {
    for error in fails_on_all_routes(2, |world| {
        let brittle = world.share(Plan::new("Brittle", &2), |_| Ok(Brittle))?;
        if world.is_root() {
            let _ = brittle.act(|_, cx| {
                cx.fail(cx.error("it is broken"));
                Ok(())
            });
        }
        world.barrier()?;
        world.barrier()
    }) {
        assert!(error.contains("where it should tidy up"), "{error}");
    }
}

#[test]
fn a_header_that_makes_no_sense_ends_the_job() {
    for error in fails_on_all_routes(2, |world| {
        let ring = world.share(Plan::new("Ring", &0), |_| Ok(Ring::default()))?;
        if world.is_root() {
            ring.act(|_, cx| {
                cx.send(Rank::new(1), &[0xffu8; 12], Payload::Empty, How::default());
                Ok(())
            })?;
        }
        (0..1000).try_for_each(|_| world.barrier())
    }) {
        assert!(error.contains("makes no sense"), "{error}");
    }
}

/// Sends requests of its own, and no rank waits for the answers.
#[derive(Default)]
struct Asker {
    answered: u32,
}

impl SharedObject for Asker {
    fn request(&mut self, call: Call, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Read<()> {
        let refuses: bool = decode(header)?;
        let answer = if refuses { Err(cx.error("no")) } else { Ok(payload.into_vec().into_payload()) };
        cx.answer(call, answer);
        Ok(())
    }

    fn reply(
        &mut self,
        _: CallId,
        from: Rank,
        answer: std::result::Result<&[u8], &Error>,
        cx: &mut Cx<'_>,
    ) -> Read<()> {
        match answer {
            Ok(bytes) => assert_eq!(bytes, [from.index() as u8]),
            Err(error) => assert!(matches!(error, Error::Object { rank, .. } if *rank == from), "{error}"),
        }
        self.answered += 1;
        cx.progress();
        Ok(())
    }
}

#[test]
fn replies_come_to_the_object_also_of_this_rank() {
    on_all_routes(3, |world| {
        let asker = world.share(Plan::new("Asker", &6), |_| Ok(Asker::default()))?;
        asker.act(|_, cx| {
            for rank in (0..cx.size()).map(Rank::new) {
                for refuses in [false, true] {
                    cx.ask(rank, &refuses, vec![rank.index() as u8].into_payload(), How::default());
                }
            }
            Ok(())
        })?;
        let all = 2 * world.size() as u32;
        asker.wait(ONE, |asker, _| (asker.answered == all).then_some(Ok(())))?;
        world.barrier()
    });
}

#[test]
fn what_one_rank_cannot_make_no_rank_gets() {
    let errors = fails_on_all_routes(3, |world| {
        world
            .share(Plan::new("Picky", &8), |making| match making.rank.index() {
                1 => Err(Error::user("there is no disk")),
                _ => Ok(Keeper::default()),
            })
            .map(drop)
    });
    assert!(errors.iter().all(|error| error.contains("there is no disk")), "{errors:?}");
    let errors = fails_on_all_routes(2, |world| {
        world.share(Plan::new("Shape", &world.rank().index()), |_| Ok(Keeper::default())).map(drop)
    });
    assert!(errors.iter().all(|error| error.contains("is in the construction of a Shape")), "{errors:?}");
}

#[test]
fn ranks_that_share_different_objects_disagree() {
    let errors = fails_on_all_routes(2, |world| match world.is_root() {
        true => world.share(Plan::new("thing", &1), |_| Ok(Ring::default())).map(drop),
        false => world.share(Plan::new("thing", &1), |_| Ok(Keeper::default())).map(drop),
    });
    let words = ["ranks disagree", "construction of a thing, of type objects::Ring", "objects::Keeper"];
    assert!(errors.iter().all(|error| words.iter().all(|word| error.contains(word))), "{errors:?}");
    let errors = fails_on_all_routes(2, |world| {
        world.share(Plan::new(format!("thing {}", world.rank()), &1), |_| Ok(Keeper::default())).map(drop)
    });
    let words = ["ranks disagree", "construction of a thing rank 0", "construction of a thing rank 1"];
    assert!(errors.iter().all(|error| words.iter().all(|word| error.contains(word))), "{errors:?}");
    // Objects of equal names and types.
    let errors = fails_on_all_routes(2, |world| {
        world.share(Plan::new("thing", &world.is_root()), |_| Ok(Keeper::default())).map(drop)
    });
    assert!(errors.iter().all(|error| error.contains("values that a plan requires to be equal")), "{errors:?}");
}

/// The rank that has panicked makes its second object, while other ranks are in the construction of their first.
#[test]
fn an_object_whose_making_panics_is_tried_again() {
    let errors = fails_on_all_routes(2, |world| {
        let make = |fails: bool| {
            world.share(Plan::new("Keeper", &1), |_| match fails {
                true => std::panic::panic_any("quietly"),
                false => Ok(Keeper::default()),
            })
        };
        if !world.is_root() {
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| make(true))).is_err());
        }
        make(false)?;
        world.barrier()
    });
    assert!(errors.iter().all(|error| error.contains("ranks disagree")), "{errors:?}");
}

#[test]
fn an_object_may_be_dropped_amid_messages() {
    on_all_routes(3, |world| {
        for _ in 0..20 {
            let ring = world.share(Plan::new("Ring", &0), |_| Ok(Ring::default()))?;
            ring.act(|_, cx| {
                cx.send(next(cx), &40u64, vec![1; 1000].into_payload(), How::default());
                Ok(())
            })?;
            drop(ring);
        }
        world.barrier()
    });
}
