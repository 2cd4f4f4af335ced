//! A rank that polls: the time of the notice to its user, and the time of the error. See [`polls`](crate::polls).
//!
//! From time to time, at a *tick*, the kernel starts watching its rank's looks. If a rank has polled for the time
//! after which a wait is noticed, and every other rank waits, polls too, or has left, the kernel reports it once. To
//! find out, it asks all ranks three times, one round after the other. A rank that is in the same wait each time has
//! waited from its first answer to its second. A rank that has looked again after its second answer has polled in
//! that time. So at the moment when all ranks had answered once and none twice, no rank did anything else.

use super::Kernel;
use super::watch::NOTICE;
use crate::ids::ObjectId;
use crate::kernel::message::Message;
use crate::polls::{Level, Poll, Polls};
use crate::{Claim, Error, Site};
use aurora_net::{Outbox, Payload, Rank};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Ticks in the time after which polling is noticed, or ends.
const TICKS: u32 = 16;

/// A rank that has not looked for more ticks than this polls no longer. A busy machine may pause it for less.
const SILENT: u32 = TICKS / 2;

/// Numbers of polling's looks at other ranks start here; those of the watch are smaller.
const LOOKS: u64 = 1 << 63;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Idle {
    /// The rank is in its wait of this number.
    Waits(u64),
    /// The rank is in its poll of this number, in which it has looked this often.
    Polls(u64, u64),
    Left,
}

impl Idle {
    /// True if the rank has done nothing else since it answered `before`, as far as can be known.
    fn goes_on(self, before: Idle) -> bool {
        match (before, self) {
            (Idle::Polls(before, looked), Idle::Polls(now, looks)) => before == now && looked < looks,
            (before, now) => before == now,
        }
    }
}

/// The polling of this rank, and the states of the other ranks meanwhile.
#[derive(Debug)]
pub(crate) struct Polling {
    pub(crate) polls: Arc<Polls>,
    limit: Option<Duration>,
    notice: Duration,
    /// The start of this rank.
    pub(crate) began: Instant,
    next: Instant,
    /// `ticks`: ticks so far. `number`: the number of the present or next poll.
    ticks: u64,
    number: u64,
    /// The number of looks at the last tick.
    looks: u64,
    /// Consecutive ticks without looks.
    silent: u32,
    /// The polls that were reported: their object and line.
    noticed: BTreeSet<(ObjectId, Site)>,
    /// `look`: the current look at the other ranks. `heard`, `before`: their answers in this look and in the look
    /// before. `steady`: the number of looks that have found all answers unchanged.
    look: u64,
    heard: BTreeMap<Rank, Idle>,
    before: BTreeMap<Rank, Idle>,
    steady: u32,
}

#[derive(Debug)]
enum Tick {
    Nothing,
    /// Ask the other ranks for their state.
    Ask(Poll),
    /// The rank has polled for longer than the limit.
    GiveUp(Poll, Duration),
}

impl Polling {
    pub(crate) fn new(limit: Option<Duration>, began: Instant) -> Self {
        let mut polling = Polling {
            polls: Arc::default(),
            limit,
            notice: NOTICE,
            began,
            next: began,
            ticks: 0,
            number: 0,
            looks: 0,
            silent: 0,
            noticed: BTreeSet::new(),
            look: LOOKS,
            heard: BTreeMap::new(),
            before: BTreeMap::new(),
            steady: 0,
        };
        polling.next += polling.period();
        polling
    }

    #[cfg(test)]
    fn notice_after(&mut self, notice: Duration) {
        self.notice = notice;
        self.next = self.began;
    }

    fn period(&self) -> Duration {
        self.limit.map_or(self.notice, |limit| limit.min(self.notice)) / TICKS
    }

    /// The current poll.
    pub(crate) fn poll(&self) -> Option<Poll> {
        self.polls.find().filter(|poll| poll.number == self.number)
    }

    fn is_noticed(&self, poll: &Poll) -> bool {
        self.noticed.iter().any(|(object, site)| *object == poll.object && *site == poll.site)
    }

    /// A tick, if it is time for one.
    fn tick(&mut self, now: Instant) -> Option<Tick> {
        if now < self.next {
            return None;
        }
        // At irregular times, because the program may have a rhythm of its own.
        self.ticks += 1;
        let apart = 50 + (crate::digest::add(self.number, self.ticks) % 100) as u32;
        self.next = now + self.period() * apart / 100;
        let looks = self.polls.looks();
        let has_looked = looks != std::mem::replace(&mut self.looks, looks);
        self.silent = if has_looked { 0 } else { self.silent + 1 };
        if self.polls.level() == Level::Nothing || self.silent > SILENT {
            // The rank does something else.
            self.number += 1;
            (self.looks, self.silent) = (0, 0);
            self.polls.begin(self.number);
            return Some(Tick::Nothing);
        }
        self.polls.watch_again(self.number);
        Some(self.poll().filter(|_| has_looked).map_or(Tick::Nothing, |poll| self.judge(now, poll)))
    }

    fn judge(&mut self, now: Instant, poll: Poll) -> Tick {
        let polled = now.saturating_duration_since(poll.since);
        match self.limit.filter(|limit| polled >= *limit) {
            Some(limit) => Tick::GiveUp(poll, limit),
            // The third look decides if there is something to notice.
            None if polled + 2 * self.period() < self.notice || self.is_noticed(&poll) => Tick::Nothing,
            None => {
                self.begin_look();
                Tick::Ask(poll)
            }
        }
    }

    /// Another rank asks if this rank polls. It will ask again, so the next tick is due now.
    pub(crate) fn is_asked(&mut self, look: u64, now: Instant) {
        if look >= LOOKS && self.poll().is_some() {
            self.next = now;
        }
    }

    fn begin_look(&mut self) {
        self.look += 1;
        self.before = std::mem::take(&mut self.heard);
    }

    /// Another rank has answered. Returns true if it is now certain that all `others` only wait and poll.
    fn hear(&mut self, from: Rank, look: u64, idle: Option<Idle>, others: usize) -> bool {
        /// The second and the third look have to find the answers of the look before.
        const ENOUGH: u32 = 2;
        if look != self.look {
            return false;
        }
        let goes_on = idle.zip(self.before.get(&from)).is_some_and(|(idle, before)| idle.goes_on(*before));
        if !goes_on {
            // This look is the first.
            (self.before, self.steady) = (BTreeMap::new(), 0);
        }
        self.heard.extend(idle.map(|idle| (from, idle)));
        if self.heard.len() < others || self.before.len() < others {
            return false;
        }
        self.steady += 1;
        self.steady >= ENOUGH
    }
}

impl Kernel {
    pub(crate) fn next_tick(&self) -> Option<Instant> {
        (!self.core.ended && !self.core.leaving && self.core.fault.is_none()).then_some(self.core.polling.next)
    }

    pub(crate) fn tick(&mut self, now: Instant, out: &mut Outbox) {
        if self.next_tick().is_none() {
            return;
        }
        let Some(tick) = self.core.polling.tick(now) else {
            return;
        };
        if self.core.polling.polls.level() == Level::All {
            self.objects.values().for_each(|entry| entry.machine.watch_looks());
        }
        match tick {
            Tick::Nothing => {}
            Tick::Ask(poll) if self.core.size == 1 && poll.since.elapsed() >= self.core.polling.notice => {
                self.notice_poll(&poll)
            }
            Tick::Ask(_) => {
                let look = self.core.polling.look;
                for rank in self.core.others() {
                    self.core.mail.say(out, rank, &Message::Ask { look }, Payload::Empty);
                }
            }
            Tick::GiveUp(poll, limit) => {
                let waiting = self.claim_of_poll(&poll);
                self.fail_job(Error::Timeout { waiting, missing: Vec::new(), limit }, out);
            }
        }
    }

    /// Another rank has sent its state. Returns true if polling, not the watch, has asked it.
    pub(crate) fn heard_of_idle(&mut self, from: Rank, look: u64, idle: Option<Idle>) -> bool {
        if look < LOOKS {
            return false;
        }
        let others = self.core.size - 1;
        if self.core.polling.hear(from, look, idle, others)
            && let Some(poll) = self.core.polling.poll().filter(|poll| !self.core.polling.is_noticed(poll))
        {
            self.notice_poll(&poll);
        }
        true
    }

    /// The activity of this rank, if it is idle.
    pub(crate) fn idle(&self) -> Option<Idle> {
        if self.core.leaving {
            return Some(Idle::Left);
        }
        // A look may contain a short wait, so polling comes first.
        let looks = self.core.polling.polls.looks();
        let polls = self.core.polling.poll().map(|poll| Idle::Polls(poll.number, looks));
        polls.or_else(|| self.core.watch.waiting().map(|waiting| Idle::Waits(waiting.id)))
    }

    fn notice_poll(&mut self, poll: &Poll) {
        self.core.polling.noticed.insert((poll.object, poll.site.clone()));
        crate::notice::polls(&self.claim_of_poll(poll), self.core.size == 1);
    }

    fn claim_of_poll(&self, poll: &Poll) -> Claim {
        let Poll { object, action, site, since, .. } = poll;
        let name = self.name_of(*object).unwrap_or("a dropped object".into());
        let looks = self.core.polling.polls.looks();
        let action = format!(
            "has polled `{action}` of {name} for {:.1} s, with the same result in each of {looks} checks,",
            since.elapsed().as_secs_f64()
        );
        Claim { rank: self.core.me, action, site: site.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;
    use crate::{Rank, Route};

    const NOTICE: Duration = Duration::from_millis(160);

    fn shorten(scalar: &GScalar<u64>) {
        scalar.shared.tidy_kernel(|kernel, _| kernel.core.polling.notice_after(NOTICE));
    }

    fn is_noticed(scalar: &GScalar<u64>) -> bool {
        scalar.shared.read(|kernel| !kernel.core.polling.noticed.is_empty()).0
    }

    fn on_every_route(ranks: usize, test: impl Fn(&World) -> Result<()> + Sync) {
        for route in [Route::Local, Route::Shm, Route::Udp] {
            Config::threads(ranks).route(route).run(&test).unwrap();
        }
    }

    #[test]
    fn a_rank_that_polls_while_nobody_else_does_anything_is_noticed_once() {
        on_every_route(4, |world| {
            let flag = GScalar::new(world, 1, 0u64)?;
            let other = GScalar::new(world, 3, 0u64)?;
            world.barrier()?;
            match world.rank().index() {
                0 => {
                    shorten(&flag);
                    while !is_noticed(&flag) {
                        assert_eq!(flag.get()?, 0);
                    }
                    other.set(1)?;
                    world.barrier()
                }
                3 => {
                    shorten(&other);
                    while other.get()? == 0 {}
                    world.barrier()
                }
                _ => world.barrier(),
            }
        });
    }

    #[test]
    fn who_polls_while_another_computes_is_left_alone() {
        on_every_route(3, |world| {
            let flag = GScalar::new(world, 1, 0u64)?;
            world.barrier()?;
            match world.rank().index() {
                0 => {
                    shorten(&flag);
                    while flag.get()? == 0 {}
                    assert!(!is_noticed(&flag), "another rank was at work");
                }
                2 => {
                    std::thread::sleep(8 * NOTICE);
                    flag.set(1)?;
                }
                _ => {}
            }
            world.barrier()
        });
    }

    #[test]
    fn a_rank_that_is_alone_is_noticed() {
        Config::threads(1)
            .run(|world| {
                let flag = GScalar::new(world, 0, 0u64)?;
                shorten(&flag);
                while !is_noticed(&flag) {
                    assert_eq!(flag.get()?, 0);
                }
                Ok(())
            })
            .unwrap();
    }

    #[test]
    fn only_what_goes_on_for_three_looks_counts() {
        let mut polling = Polling::new(None, Instant::now());
        let mut look = |idle: [Option<Idle>; 2]| {
            polling.begin_look();
            let of = polling.look;
            let first = polling.hear(Rank::new(1), of, idle[0], 2);
            assert!(!first && !polling.hear(Rank::new(2), of - 1, idle[1], 2), "an answer to an earlier look");
            polling.hear(Rank::new(2), of, idle[1], 2)
        };
        let (waits, left) = (|id| Some(Idle::Waits(id)), Some(Idle::Left));
        let polls = |number, looks| Some(Idle::Polls(number, looks));
        assert_eq!([(); 4].map(|()| look([waits(1), left])), [false, false, true, true]);
        assert_eq!([2, 2, 2].map(|id| look([waits(id), left])), [false, false, true], "another wait");
        assert_eq!([5, 6, 7].map(|looks| look([polls(1, looks), left])), [false, false, true]);
        assert_eq!([8, 9, 9, 10].map(|looks| look([polls(2, looks), left])), [false; 4], "it may have stopped");
        assert!(!look([polls(2, 11), None]) && !look([polls(2, 12), left]), "the other one computes");
        assert_eq!([13, 14].map(|looks| look([polls(2, looks), left])), [false, true]);
    }
}
