//! Waits that can never end, and waits that seem so.

use super::{Read, fails_on_all_routes, keeper, on_all_routes};
use aurora_core::ObjectName;
use aurora_core::object::{Awaited, Call, Cx, Holds, How, Obstacle, Payload, Plan, Received};
use aurora_core::object::{SharedObject, Until, Wait};
use aurora_core::prelude::*;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Each wait is for the rank with the number of the wait.
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
    for error in fails_on_all_routes(2, |world| {
        let first = world.share(Plan::new("First", &4), |_| Ok(Stubborn))?;
        let second = world.share(Plan::new("Second", &5), |_| Ok(Stubborn))?;
        let other = 1 - world.rank().index();
        let at = if world.is_root() { &first } else { &second };
        at.wait(Wait { number: other as u64, until: Until::Acted }, |_, _| None)
    }) {
        assert!(error.contains("First") || error.contains("Second"), "{error}");
    }
}

/// A lock on rank 0, which a rank may take twice.
#[derive(Default)]
struct Lock {
    holder: Option<Rank>,
    waiting: Vec<Call>,
    /// True if the holder is named as one of several ranks that may release the lock.
    any: bool,
}

impl SharedObject for Lock {
    fn request(&mut self, call: Call, _: &[u8], _: Received, cx: &mut Cx<'_>) -> Read<()> {
        match self.holder {
            None => {
                self.holder = Some(call.from);
                cx.answer(call, Ok(Payload::Empty));
            }
            Some(_) => self.waiting.push(call),
        }
        Ok(())
    }

    fn holds(&self, held: &mut Holds<'_>) {
        for (call, holder) in self.waiting.iter().zip(self.holder.into_iter().cycle()) {
            match (self.any, holder == 0) {
                (true, _) => held.call_any(call.from, [holder]),
                (_, true) => held.call(call.from, Obstacle { by_itself: true, behind: Vec::new() }),
                (_, false) => held.call(call.from, Obstacle { by_itself: false, behind: vec![holder] }),
            }
        }
    }
}

#[test]
fn a_lock_that_a_rank_takes_twice_is_an_error() {
    for (ranks, culprit, any, others_wait) in [
        (1, 0, false, false),
        (1, 0, true, false),
        (2, 0, false, true),
        (2, 0, true, false),
        (3, 0, true, true),
        (2, 1, false, false),
        (3, 2, true, true),
    ] {
        for error in fails_on_all_routes(ranks, |world| {
            let lock = world.share(Plan::new("Lock", &any), |_| Ok(Lock { any, ..Lock::default() }))?;
            if world.rank() == culprit {
                lock.ask(Rank::new(0), "lock", &(), Payload::Empty)?;
                lock.ask(Rank::new(0), "lock", &(), Payload::Empty)?;
            }
            if others_wait { world.barrier() } else { Ok(()) }
        }) {
            let words = ["`lock` on the Lock", "objects/waits.rs:"];
            assert!(
                words.iter().all(|word| error.contains(word)) && !error.contains("in time"),
                "{ranks}, {culprit}, {any}: {error}"
            );
        }
    }
}

/// Rank 0 has taken the lock of rank 1, and leaves. Then rank 1 asks itself for the lock.
#[test]
fn a_request_to_oneself_that_another_rank_holds_up_is_an_error() {
    for any in [false, true] {
        for error in fails_on_all_routes(2, |world| {
            let lock = world.share(Plan::new("Lock", &any), |_| Ok(Lock { any, ..Lock::default() }))?;
            if world.is_root() {
                lock.ask(Rank::new(1), "lock", &(), Payload::Empty)?;
                return world.barrier();
            }
            world.barrier()?;
            lock.ask(Rank::new(1), "lock", &(), Payload::Empty).map(drop)
        }) {
            assert!(error.contains("`lock` on the Lock") && !error.contains("in time"), "{any}: {error}");
        }
    }
}

/// Answers each request after half a second.
#[derive(Default)]
struct Timer {
    due: VecDeque<(Instant, Call)>,
}

impl SharedObject for Timer {
    fn request(&mut self, call: Call, _: &[u8], _: Received, cx: &mut Cx<'_>) -> Read<()> {
        self.due.push_back((cx.now() + Duration::from_millis(500), call));
        Ok(())
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due.front().map(|(at, _)| *at)
    }

    fn handle_timeout(&mut self, _: Instant, cx: &mut Cx<'_>) {
        self.due.pop_front().into_iter().for_each(|(_, call)| cx.answer(call, Ok(Payload::Empty)));
    }

    /// It holds back its requests, but no program has to act.
    fn holds(&self, held: &mut Holds<'_>) {
        self.due.iter().for_each(|(_, call)| held.call(call.from, Obstacle::default()));
    }
}

/// A rank's request to one object is held back until its program acts, but the program waits for another object.
#[test]
fn a_request_that_another_object_holds_back_is_no_reason() {
    for home in [0, 1] {
        on_all_routes(2, |world| {
            let timer = world.share(Plan::new("Timer", &10), |_| Ok(Timer::default()))?;
            let keeper = keeper(world)?;
            if world.is_root() {
                keeper.act(|_, cx| {
                    cx.ask(Rank::new(home), &(), Payload::Empty, How::default());
                    Ok(())
                })?;
                timer.ask(Rank::new(home), "set", &(), Payload::Empty)?;
            }
            world.barrier()?;
            keeper.act(|keeper, _| {
                keeper.answers = true;
                Ok(())
            })?;
            world.barrier()
        });
    }
}

/// Each rank waits, at an object of its own, for its own program.
#[test]
fn a_wait_for_oneself_is_an_error() {
    for ranks in [1, 2] {
        for until in [Until::Acted, Until::Ended] {
            for error in fails_on_all_routes(ranks, |world| {
                let own = world.share(Plan::new("Own", &4), |_| Ok(Stubborn))?;
                let me = world.rank().index() as u64;
                own.wait(Wait { number: me, until }, |_, _| None::<Result<()>>)
            }) {
                assert!(
                    error.contains("waits at the Own") && !error.contains("in time"),
                    "{ranks}, {until:?}: {error}"
                );
            }
        }
    }
}
