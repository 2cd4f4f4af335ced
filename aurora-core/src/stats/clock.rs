//! The time of the thread that runs the program.

use std::cell::Cell;
use std::time::{Duration, Instant};
use tracing::span::EnteredSpan;

/// The parts of the time since the start. Never read on a local access.
#[derive(Debug)]
pub(crate) struct Clock {
    started: Instant,
    /// True if calls are timed. Until the first reading they are not, and count as computing.
    timed: Cell<bool>,
    /// Nested calls under way.
    depth: Cell<u32>,
    /// The start of the outermost call.
    began: Cell<Instant>,
    /// The time in calls, waiting included.
    inside: Cell<Duration>,
    waiting: Cell<Duration>,
}

/// The sum of the three is the time that has passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Times {
    pub(crate) computing: Duration,
    pub(crate) sharing: Duration,
    pub(crate) waiting: Duration,
}

impl Clock {
    pub(crate) fn start(timed: bool) -> Self {
        let started = Instant::now();
        Clock {
            started,
            timed: Cell::new(timed),
            depth: Cell::new(0),
            began: Cell::new(started),
            inside: Cell::default(),
            waiting: Cell::default(),
        }
    }

    pub(crate) fn time_calls(&self) {
        self.timed.set(true);
    }

    /// The time, if calls are timed.
    #[inline]
    pub(crate) fn now(&self) -> Option<Instant> {
        self.timed.get().then(Instant::now)
    }

    /// Begins a call that needs other ranks, perhaps inside another call.
    #[inline]
    pub(crate) fn call(&self, name: &'static str) -> InCall<'_> {
        if !self.timed.get() {
            return Clock::short_call(name);
        }
        if self.depth.get() == 0 {
            self.began.set(Instant::now());
        }
        self.depth.set(self.depth.get() + 1);
        InCall { _span: crate::trace::call(name), clock: Some(self) }
    }

    /// Begins a call that, apart from waits, takes less time than reading the clock. It appears only in traces.
    pub(crate) fn short_call(name: &'static str) -> InCall<'static> {
        InCall { _span: crate::trace::call(name), clock: None }
    }

    /// The thread was blocked for `waited`, until now.
    pub(crate) fn waited(&self, waited: Duration) {
        self.waiting.set(self.waiting.get() + waited);
        if self.depth.get() == 0 {
            self.inside.set(self.inside.get() + waited);
        }
    }

    pub(crate) fn times(&self) -> Times {
        self.times_at(Instant::now())
    }

    fn times_at(&self, now: Instant) -> Times {
        let under_way = if self.depth.get() > 0 { now - self.began.get() } else { Duration::ZERO };
        let (inside, waiting) = (self.inside.get() + under_way, self.waiting.get());
        // A wait is timed inside its call, so none of these is negative.
        let computing = (now - self.started).saturating_sub(inside);
        Times { computing, sharing: inside.saturating_sub(waiting), waiting }
    }
}

#[derive(Debug)]
pub(crate) struct InCall<'a> {
    _span: Option<EnteredSpan>,
    /// `None`: the call is not timed.
    clock: Option<&'a Clock>,
}

impl Drop for InCall<'_> {
    fn drop(&mut self) {
        let Some(clock) = self.clock else {
            return;
        };
        clock.depth.set(clock.depth.get() - 1);
        if clock.depth.get() == 0 {
            clock.inside.set(clock.inside.get() + clock.began.get().elapsed());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    const STEP: Duration = Duration::from_millis(2);

    fn wait(clock: &Clock) {
        let since = Instant::now();
        sleep(STEP);
        clock.waited(since.elapsed());
    }

    #[test]
    fn the_three_times_are_all_the_time() {
        let clock = Clock::start(true);
        sleep(STEP);
        wait(&clock);
        let bare = clock.times();
        // A wait outside any call counts as a call.
        assert!(bare.waiting >= STEP && bare.sharing.is_zero() && bare.computing >= STEP, "{bare:?}");
        let outer = clock.call("a call");
        sleep(STEP);
        let inner = clock.call("a call");
        wait(&clock);
        drop(inner);
        let now = Instant::now();
        let amid = clock.times_at(now);
        assert_eq!(amid.computing + amid.sharing + amid.waiting, now - clock.started);
        drop(outer);
        let after = clock.times();
        assert!(after.waiting >= 2 * STEP && after.sharing >= STEP && after.sharing >= amid.sharing, "{after:?}");
        assert!(clock.times().computing >= after.computing);
        assert_eq!(clock.depth.get(), 0);
    }

    #[test]
    fn calls_are_computing_until_somebody_wants_to_know() {
        let clock = Clock::start(false);
        let early = clock.call("a call");
        sleep(STEP);
        assert_eq!(clock.times().sharing, Duration::ZERO);
        wait(&clock);
        clock.time_calls();
        let timed = clock.call("another in it");
        sleep(STEP);
        drop(timed);
        drop(early);
        let times = clock.times();
        assert!(times.waiting >= STEP && times.sharing >= STEP, "{times:?}");
        assert_eq!(clock.depth.get(), 0);
    }
}
