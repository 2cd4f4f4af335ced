//! Shared objects of a program's own, by the public seam alone: what the contract promises, each promise once.

use aurora_core::object::{Awaited, Call, Cx, Holds, How, Loan, Malformed, Obstacle, Payload, Place, Plan, Received};
use aurora_core::object::{Shared, SharedObject, Source, Until, Wait, decode};
use aurora_core::prelude::*;
use aurora_core::{ObjectName, Route};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

type Read<T> = std::result::Result<T, Malformed>;

/// Any object, for its loans and waits.
const ONE: Wait = Wait { number: 1, until: Until::Came };

fn routes() -> [Route; 3] {
    [Route::Local, Route::Shm, Route::Udp]
}

fn on_all_routes(ranks: usize, body: impl Fn(&World) -> Result<()> + Sync) {
    for route in routes() {
        Config::threads(ranks).route(route).run(&body).unwrap_or_else(|error| panic!("{route:?}: {error}"));
    }
}

/// What went wrong on the ranks, on each route.
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

/// Passes numbers on to the next rank, until they are 0. Counts what has come.
#[derive(Default)]
struct Ring {
    came: u64,
    ended: bool,
    depth: u32,
}

impl SharedObject for Ring {
    fn deliver(&mut self, _: Rank, header: &[u8], _: Received, cx: &mut Cx<'_>) -> Read<()> {
        self.depth += 1;
        assert_eq!(self.depth, 1, "a call is never made from inside another");
        let left: u64 = decode(header)?;
        self.came += 1;
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
    // Others have turns meanwhile.
    let all = world.all_reduce(Add, ring.act(|ring, _| Ok(ring.came))?)?;
    world.barrier()?;
    let came = ring.act(|ring, _| Ok(ring.came))?;
    assert!(all <= hops && world.all_reduce(Add, came)? == hops);
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

/// Keeps all requests, for ever or until it is told to answer.
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
    for said in fails_on_all_routes(2, |world| {
        let keeper = keeper(world)?;
        if !world.is_root() {
            keeper.ask(Rank::new(0), "knock", &(), Payload::Empty)?;
        }
        world.barrier()
    }) {
        assert!(said.contains("`knock` on the Keeper") && said.contains("barrier"), "{said}");
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
        // All hear of it, also who waits.
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

/// Panics when it is told that it is faulty.
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
    for said in fails_on_all_routes(2, |world| {
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
        assert!(said.contains("where it should tidy up"), "{said}");
    }
}

#[test]
fn a_header_that_makes_no_sense_ends_the_job() {
    for said in fails_on_all_routes(2, |world| {
        let ring = world.share(Plan::new("Ring", &0), |_| Ok(Ring::default()))?;
        if world.is_root() {
            ring.act(|_, cx| {
                cx.send(Rank::new(1), &[0xffu8; 12], Payload::Empty, How::default());
                Ok(())
            })?;
        }
        (0..1000).try_for_each(|_| world.barrier())
    }) {
        assert!(said.contains("makes no sense"), "{said}");
    }
}

/// Memory of its own: what has come lies where it was placed, what it lends is read again.
struct Memory {
    bytes: Vec<u8>,
    came: bool,
    released: bool,
}

#[derive(Serialize, Deserialize)]
enum About {
    Placed,
    Discarded,
    Stale,
}

const MINE: u64 = 3;

impl SharedObject for Memory {
    fn place(&mut self, _: Rank, header: &[u8], len: usize, _: &Cx<'_>) -> Place {
        match decode(header) {
            Ok(About::Placed) if len == self.bytes.len() => Place::At(Loan::new(MINE)),
            Ok(About::Stale) => Place::At(Loan::new(MINE + 1)),
            _ => Place::Discard,
        }
    }

    fn write(&mut self, loan: Loan, offset: usize, bytes: &[u8]) {
        if loan == Loan::new(MINE) {
            self.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
    }

    fn read(&mut self, loan: Loan, offset: usize, into: &mut [u8]) -> bool {
        let bytes = self.bytes.get(offset..offset + into.len()).filter(|_| loan == Loan::new(MINE));
        bytes.map(|bytes| into.copy_from_slice(bytes)).is_some()
    }

    fn released(&mut self, loan: Loan, cx: &mut Cx<'_>) {
        self.released |= loan == Loan::new(MINE);
        cx.progress();
    }

    fn deliver(&mut self, _: Rank, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Read<()> {
        let Received::Placed(token) = payload else {
            return Err(Malformed);
        };
        if let About::Placed = decode(header)? {
            assert_eq!(Loan::of(token), Loan::new(MINE));
            self.came = true;
        }
        cx.progress();
        Ok(())
    }

    fn awaits(&self, _: Wait, name: &ObjectName) -> Awaited {
        Awaited { ranks: Vec::new(), doing: format!("waits for bytes of {name}") }
    }
}

#[test]
fn payloads_go_where_they_are_placed() {
    const LEN: usize = 300_000;
    on_all_routes(2, |world| {
        let mine = world.rank().index() as u8 + 1;
        let memory = Memory { bytes: vec![mine; LEN], came: false, released: false };
        let memory = world.share(Plan::new("Memory", &3), |_| Ok(memory))?;
        if world.is_root() {
            memory.act(|_, cx| {
                for about in [About::Discarded, About::Stale, About::Placed] {
                    let payload = cx.lent(Loan::new(MINE), LEN);
                    cx.send(Rank::new(1), &about, payload, How::default());
                }
                // A loan that is not there is given up, and what has come of it is never delivered.
                let payload = cx.lent(Loan::new(MINE + 9), LEN);
                cx.send(Rank::new(1), &About::Placed, payload, How::default());
                Ok(())
            })?;
            memory.wait(ONE, |memory, _| memory.released.then_some(Ok(())))?;
        } else {
            memory.wait(ONE, |memory, _| memory.came.then_some(Ok(())))?;
            memory.act(|memory, _| {
                assert!(memory.bytes.iter().all(|byte| *byte == 1));
                Ok(())
            })?;
        }
        world.barrier()
    });
}

/// Says that each wait is for the rank of its number.
#[derive(Default)]
struct Stubborn;

impl SharedObject for Stubborn {
    fn deliver(&mut self, _: Rank, _: &[u8], _: Received, _: &mut Cx<'_>) -> Read<()> {
        Ok(())
    }

    fn awaits(&self, wait: Wait, name: &ObjectName) -> Awaited {
        Awaited { ranks: vec![Rank::new(wait.number as usize)], doing: format!("waits at {name}") }
    }
}

#[test]
fn waits_at_two_objects_in_a_circle_are_an_error() {
    for said in fails_on_all_routes(2, |world| {
        let first = world.share(Plan::new("First", &4), |_| Ok(Stubborn))?;
        let second = world.share(Plan::new("Second", &5), |_| Ok(Stubborn))?;
        let other = 1 - world.rank().index();
        let at = if world.is_root() { &first } else { &second };
        at.wait(Wait { number: other as u64, until: Until::Came }, |_, _| None)
    }) {
        assert!(said.contains("First") || said.contains("Second"), "{said}");
    }
}

/// Requests of its own, whose answers nobody waits for.
#[derive(Default)]
struct Asker {
    answered: u32,
}

impl SharedObject for Asker {
    fn deliver(&mut self, _: Rank, _: &[u8], _: Received, _: &mut Cx<'_>) -> Read<()> {
        Err(Malformed)
    }

    fn request(&mut self, call: Call, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Read<()> {
        let refuses: bool = decode(header)?;
        let answer = if refuses { Err(cx.error("no")) } else { Ok(payload.into_vec().into_payload()) };
        cx.answer(call, answer);
        Ok(())
    }

    fn reply(
        &mut self,
        _: aurora_core::object::CallId,
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

/// Adds up what all ranks say, at barriers that name it.
#[derive(Default)]
struct Sum {
    mine: u64,
    all: Vec<u64>,
}

impl SharedObject for Sum {
    fn deliver(&mut self, _: Rank, _: &[u8], _: Received, _: &mut Cx<'_>) -> Read<()> {
        Err(Malformed)
    }

    fn arrive(&mut self, _: &mut Cx<'_>) -> Vec<u8> {
        self.mine.to_le_bytes().to_vec()
    }

    fn merge(&self, all: &mut Vec<u8>, more: &[u8]) {
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
        *all = (number(all) + number(more)).to_le_bytes().to_vec();
    }

    fn depart(&mut self, all: &[u8], _: &mut Cx<'_>) {
        self.all.push(u64::from_le_bytes(all.try_into().expect("8 bytes")));
    }
}

#[test]
fn words_of_named_objects_are_merged_once_each() {
    for ranks in [1, 2, 3, 5, 7, 8] {
        on_all_routes(ranks, |world| {
            let make = |name: &str| world.share(Plan::new(name, &name), |_| Ok(Sum::default()));
            let (first, second) = (make("first")?, make("second")?);
            let said = 10 + world.rank().index() as u64;
            first.act(|sum, _| Ok(sum.mine = said))?;
            second.act(|sum, _| Ok(sum.mine = 100 * said))?;
            world.sync(&[&first, &second])?;
            world.sync(&[&second])?;
            world.barrier()?;
            let all = (0..world.size() as u64).map(|rank| 10 + rank).sum::<u64>();
            first.act(|sum, _| Ok(assert_eq!(sum.all, [all])))?;
            second.act(|sum, _| Ok(assert_eq!(sum.all, [100 * all, 100 * all])))
        });
    }
    for said in fails_on_all_routes(3, |world| {
        let make = |name: &str| world.share(Plan::new(name, &name), |_| Ok(Sum::default()));
        let (first, second) = (make("first")?, make("second")?);
        world.sync(&[if world.is_root() { &first } else { &second }])
    }) {
        assert!(said.contains("a barrier that names objects"), "{said}");
    }
}

/// Wants to be called after a while.
struct Alarm {
    at: Option<Instant>,
    rung: bool,
}

impl SharedObject for Alarm {
    fn deliver(&mut self, _: Rank, _: &[u8], _: Received, _: &mut Cx<'_>) -> Read<()> {
        Err(Malformed)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.at
    }

    fn handle_timeout(&mut self, now: Instant, cx: &mut Cx<'_>) {
        self.rung = self.at.take().is_some_and(|at| at <= now);
        cx.progress();
    }
}

#[test]
fn timeouts_come_when_they_are_due() {
    on_all_routes(2, |world| {
        let at = Instant::now() + Duration::from_millis(30);
        let alarm = world.share(Plan::new("Alarm", &7), |_| Ok(Alarm { at: Some(at), rung: false }))?;
        alarm.wait(ONE, |alarm, _| alarm.rung.then_some(Ok(())))?;
        assert!(Instant::now() >= at);
        world.barrier()
    });
}

#[test]
fn what_one_rank_cannot_make_no_rank_gets() {
    let said = fails_on_all_routes(3, |world| {
        world
            .share(Plan::new("Picky", &8), |making| match making.rank.index() {
                1 => Err(Error::user("there is no disk")),
                _ => Ok(Keeper::default()),
            })
            .map(drop)
    });
    assert!(said.iter().all(|said| said.contains("there is no disk")), "{said:?}");
    let said = fails_on_all_routes(2, |world| {
        world.share(Plan::new("Shape", &world.rank().index()), |_| Ok(Keeper::default())).map(drop)
    });
    assert!(said.iter().all(|said| said.contains("is in the construction of a Shape")), "{said:?}");
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

/// A worker thread counts; the object takes what it has counted when the worker rings.
#[derive(Default)]
struct Worker {
    bell: Option<Source>,
    rings: u32,
}

impl SharedObject for Worker {
    fn deliver(&mut self, _: Rank, _: &[u8], _: Received, _: &mut Cx<'_>) -> Read<()> {
        Err(Malformed)
    }

    fn ready(&mut self, source: Source, cx: &mut Cx<'_>) {
        assert_eq!(Some(source), self.bell);
        self.rings += 1;
        cx.progress();
    }
}

#[test]
fn a_thread_of_the_objects_own_rings() {
    on_all_routes(2, |world| {
        let worker = world.share(Plan::new("Worker", &9), |_| Ok(Worker::default()))?;
        let bell = worker.act(|worker, cx| {
            let (source, bell) = cx.doorbell()?;
            worker.bell = Some(source);
            Ok(bell)
        })?;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                bell.ring();
            });
            worker.wait(ONE, |worker, _| (worker.rings > 0).then_some(Ok(())))
        })?;
        // While nobody waits the daemon is woken.
        bell.ring();
        let until = Instant::now() + Duration::from_secs(30);
        while worker.act(|worker, _| Ok(worker.rings))? < 2 {
            assert!(Instant::now() < until, "the daemon sleeps on");
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(worker);
        world.barrier()?;
        bell.ring();
        world.barrier()
    });
}
