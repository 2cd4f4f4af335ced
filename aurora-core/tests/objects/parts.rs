//! Objects with collective scopes: the order of batches, work in steps, guards that lend the part, node words.

use super::on_all_routes;
use aurora_core::object::{Payload, Plan, Shared};
use aurora_core::prelude::*;
use aurora_core::scope::{Opening, Outcome, Part, Scoped, SendBatch, Turn, Writes};
use aurora_core::{Error, Route};
use std::mem;

/// A log of the batches of all ranks. A request is answered by the log, after some interruptions.
#[derive(Default)]
struct Log {
    /// The rank, the number and the length of each batch.
    batches: Vec<(usize, u32, usize)>,
    /// A guard has the log.
    taken: bool,
}

impl Part for Log {
    /// The number of interruptions, also of each batch.
    type Request = u32;
    /// The number of the batch, and of its interruptions.
    type Batch = (u32, u32);

    const IN_STEPS: bool = true;

    fn is_write(_: &u32) -> bool {
        false
    }

    fn serve(&mut self, left: &mut u32, _: &[u8], _: &mut Turn<'_, '_>) -> Outcome {
        if self.taken {
            return Outcome::Park;
        }
        if *left > 0 {
            *left -= 1;
            return Outcome::Interrupted;
        }
        Outcome::Done(Ok(postcard::to_allocvec(&self.batches).expect("plain data").into()))
    }

    fn apply(&mut self, (number, left): &mut (u32, u32), payload: &[u8], turn: &mut Turn<'_, '_>) -> Outcome {
        if self.taken {
            return Outcome::Park;
        }
        if *left > 0 {
            *left -= 1;
            return Outcome::Interrupted;
        }
        self.batches.push((turn.from().index(), *number, payload.len()));
        Outcome::applied(Ok(()))
    }

    fn is_lent(&self) -> bool {
        self.taken
    }
}

/// Batches for owners that are not sent yet: the owner, the length and the interruptions.
#[derive(Default)]
struct Unsent {
    next: u32,
    batches: Vec<(usize, usize, u32)>,
}

impl Writes<Log> for Unsent {
    fn flush(&mut self, send: SendBatch<'_, Log>) -> Result<()> {
        for (owner, len, interruptions) in mem::take(&mut self.batches) {
            send(Rank::new(owner), (self.next, interruptions), vec![0; len].into())?;
            self.next += 1;
        }
        Ok(())
    }
}

fn log(world: &World) -> Result<Shared<Scoped<Log>>> {
    world.share_part(Plan::new("log", &()), |_| Ok(Log::default()))
}

fn read(log: &Shared<Scoped<Log>>, from: Rank, interruptions: u32) -> Result<Vec<(usize, u32, usize)>> {
    let answer = log.request(from, "read", interruptions, Vec::new())?;
    Ok(postcard::from_bytes(&answer).expect("log"))
}

/// Random batches to random owners: of any length, with flushes between them, in steps.
fn scopes(world: &World, in_order: bool, seed: u64) -> Result<()> {
    let (log, me, size) = (log(world)?, world.rank().index(), world.size());
    let mut random: Vec<_> = (0..size).map(|rank| fastrand::Rng::with_seed(seed + rank as u64)).collect();
    for _ in 0..3 {
        let mut opening = Opening::writes("Record");
        if in_order {
            opening = opening.in_order();
        }
        let mut scope = log.open_scope(opening, Unsent::default())?;
        let mut want: Vec<Vec<_>> = vec![Vec::new(); size];
        for (rank, random) in random.iter_mut().enumerate() {
            for number in 0..random.u32(..25) {
                let len = [0, 1, random.usize(..5000), (64 << 10) - 1, 64 << 10, 70_000][random.usize(..6)];
                let (owner, interruptions) = (random.usize(..size), if random.u8(..4) == 0 { 3 } else { 0 });
                let flushes = random.u8(..5) == 0;
                want[owner].push((rank, number, len));
                if rank == me {
                    scope.writes.batches.push((owner, len, interruptions));
                    if flushes {
                        scope.flush()?;
                    }
                }
            }
        }
        if random[0].bool() {
            scope.finish()?
        } else {
            drop(scope)
        }
        for (owner, want) in want.into_iter().enumerate() {
            let found = read(&log, Rank::new(owner), 2)?;
            let new = &found[found.len() - want.len()..];
            if in_order {
                assert_eq!(new, want, "of {owner}");
            }
            for rank in 0..size {
                let of = |all: &[(usize, u32, usize)]| all.iter().filter(|b| b.0 == rank).copied().collect::<Vec<_>>();
                assert_eq!(of(new), of(&want), "rank {rank} to {owner}");
            }
        }
        world.barrier()?;
    }
    Ok(())
}

#[test]
#[allow(clippy::print_stderr)]
fn batches_arrive_whole_and_in_order() {
    let seed = fastrand::u64(..1 << 60);
    eprintln!("seed {seed}");
    for in_order in [false, true] {
        on_all_routes(3, |world| scopes(world, in_order, seed));
    }
}

#[test]
fn work_waits_for_a_guard_and_goes_on_after_it() {
    on_all_routes(2, |world| {
        let log = log(world)?;
        let mut scope = log.open_scope(Opening::writes("Record"), Unsent::default())?;
        scope.writes.batches.push((1, 10, 0));
        scope.finish()?;
        if world.rank() == 1 {
            let take = |log: &mut Log| {
                log.taken = true;
                Some(mem::take(&mut log.batches))
            };
            let (batches, guard) = log.lend("Taken", true, take)?;
            world.barrier()?;
            assert_eq!(batches.len(), 2);
            // The request of rank 0 arrives and is parked, unless the machine is busy.
            std::thread::sleep(std::time::Duration::from_millis(50));
            guard.end(|log, _| log.part_mut().taken = false);
        } else {
            world.barrier()?;
            assert_eq!(read(&log, Rank::new(1), 0)?.len(), 0);
        }
        world.barrier()
    });
}

#[test]
fn a_request_that_a_guard_holds_up_for_ever_is_an_error() {
    for error in super::fails_on_all_routes(2, |world| {
        let log = log(world)?;
        if world.rank() == 1 {
            let take = |log: &mut Log| {
                log.taken = true;
                Some(())
            };
            let ((), guard) = log.lend("Taken", true, take)?;
            world.barrier()?;
            world.barrier()?;
            guard.end(|log, _| log.part_mut().taken = false);
        } else {
            world.barrier()?;
            read(&log, Rank::new(1), 0)?;
            world.barrier()?;
        }
        Ok(())
    }) {
        assert!(error.contains("rank 1 has not closed the Taken") && error.contains("rank 0"), "{error}");
    }
}

#[test]
fn a_flush_that_fails_is_the_error_of_all_ranks() {
    struct Bad;
    impl Writes<Log> for Bad {
        fn flush(&mut self, send: SendBatch<'_, Log>) -> Result<()> {
            send(Rank::new(7), (0, 0), Payload::Empty)
        }
    }
    for error in super::fails_on_all_routes(3, |world| {
        let log = log(world)?;
        let opening = Opening::writes("Record");
        match world.rank().index() {
            1 => drop(log.open_scope(opening, Bad)?),
            _ => drop(log.open_scope(opening, Unsent::default())?),
        }
        read(&log, world.rank(), 0).map(drop)
    }) {
        assert!(error.contains("rank 7"), "{error}");
    }
}

#[test]
fn different_numbers_of_node_words_are_a_mismatch() {
    struct Empty;
    impl aurora_core::object::SharedObject for Empty {}
    for (route, least) in [(Route::Local, 0), (Route::Local, 1), (Route::Shm, 0), (Route::Shm, 1)] {
        let ran = Config::threads(3).route(route).run(|world| {
            let plan = Plan::new("words", &()).with_node_words(least + world.rank().index() / 2);
            world.share(plan, |_| Ok(Empty)).map(drop)
        });
        assert!(matches!(ran, Err(Error::Mismatch { .. })), "{ran:?}");
    }
    let ran = Config::threads(2).run(|world| {
        let plan = Plan::new("words", &()).with_node_words(usize::MAX);
        world.share(plan, |_| Ok(Empty)).map(drop)
    });
    assert!(matches!(ran, Err(Error::OutOfMemory { .. })), "{ran:?}");
}

/// Batches that are applied in steps when the program ends, without a call that waits for them.
#[test]
fn work_in_steps_is_done_before_the_job_ends() {
    /// Fails after a hundred steps.
    struct Late;
    impl Part for Late {
        type Request = ();
        type Batch = u32;
        const IN_STEPS: bool = true;

        fn is_write((): &()) -> bool {
            false
        }

        fn serve(&mut self, (): &mut (), _: &[u8], _: &mut Turn<'_, '_>) -> Outcome {
            Outcome::Done(Ok(Payload::Empty))
        }

        fn apply(&mut self, steps: &mut u32, _: &[u8], turn: &mut Turn<'_, '_>) -> Outcome {
            *steps += 1;
            if *steps < 100 { Outcome::Interrupted } else { Outcome::applied(Err(turn.error("too late"))) }
        }
    }
    struct Some;
    impl Writes<Late> for Some {
        fn flush(&mut self, send: SendBatch<'_, Late>) -> Result<()> {
            send(Rank::new(0), 0, Payload::Empty)
        }
    }
    for error in super::fails_on_all_routes(3, |world| {
        let late = world.share_part(Plan::new("late", &()), |_| Ok(Late))?;
        drop(late.open_scope(Opening::writes("Record"), Some)?);
        Ok(())
    }) {
        assert!(error.contains("too late"), "{error}");
    }
}

#[test]
fn a_request_to_the_own_rank_that_its_own_guard_holds_up_is_an_error() {
    for error in super::fails_on_all_routes(2, |world| {
        let log = log(world)?;
        let take = |log: &mut Log| {
            log.taken = true;
            Some(())
        };
        let ((), guard) = log.lend("Taken", false, take)?;
        read(&log, world.rank(), 0)?;
        guard.end(|log, _| log.part_mut().taken = false);
        world.barrier()
    }) {
        assert!(error.contains("a rank waits for itself"), "{error}");
    }
}

/// A queue: a request is parked until another rank's request changes the part.
#[test]
fn a_request_that_other_requests_hold_up_is_no_error_unless_all_ranks_wait() {
    #[derive(Default)]
    struct Tokens(u32);
    impl Part for Tokens {
        /// True: adds a token. False: takes one, and waits for it.
        type Request = bool;
        type Batch = ();

        fn is_write(_: &bool) -> bool {
            true
        }

        fn serve(&mut self, adds: &mut bool, _: &[u8], _: &mut Turn<'_, '_>) -> Outcome {
            match (*adds, self.0) {
                (false, 0) => return Outcome::Park,
                (false, _) => self.0 -= 1,
                (true, _) => self.0 += 1,
            }
            Outcome::Done(Ok(Payload::Empty))
        }

        fn apply(&mut self, (): &mut (), _: &[u8], _: &mut Turn<'_, '_>) -> Outcome {
            Outcome::applied(Ok(()))
        }
    }
    let run = |world: &World, adds: u32| {
        let tokens = world.share_part(Plan::new("tokens", &()), |_| Ok(Tokens::default()))?;
        match world.rank().index() {
            1 => tokens.request(Rank::new(0), "take", false, [])?,
            _ if adds > 0 && world.rank() == 2 => {
                std::thread::sleep(std::time::Duration::from_millis(150));
                tokens.request(Rank::new(0), "add", true, [])?
            }
            _ => Vec::new(),
        };
        world.barrier()
    };
    on_all_routes(3, |world| run(world, 1));
    for error in super::fails_on_all_routes(3, |world| run(world, 0)) {
        assert!(error.contains("none can go on"), "{error}");
    }
}

#[test]
fn a_part_lends_no_memory() {
    struct Lender;
    impl Part for Lender {
        type Request = ();
        type Batch = ();

        fn is_write((): &()) -> bool {
            false
        }

        fn serve(&mut self, (): &mut (), _: &[u8], turn: &mut Turn<'_, '_>) -> Outcome {
            Outcome::Done(Ok(turn.lent(aurora_core::object::Loan::new(1), 10)))
        }

        fn apply(&mut self, (): &mut (), _: &[u8], _: &mut Turn<'_, '_>) -> Outcome {
            Outcome::applied(Ok(()))
        }
    }
    on_all_routes(2, |world| {
        let lender = world.share_part(Plan::new("lender", &()), |_| Ok(Lender))?;
        for rank in 0..2 {
            let answer = lender.request(Rank::new(rank), "get", (), []);
            assert!(answer.is_err_and(|error| error.to_string().contains("cannot lend memory")));
        }
        world.barrier()
    });
}

#[test]
fn an_order_of_one_rank_is_a_mismatch() {
    for error in super::fails_on_all_routes(2, |world| {
        let log = log(world)?;
        let mut opening = Opening::writes("Record");
        if world.is_root() {
            opening = opening.in_order();
        }
        log.open_scope(opening, Unsent::default())?.finish()
    }) {
        assert!(error.contains("in the order of the ranks"), "{error}");
    }
}
