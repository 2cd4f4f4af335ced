use crate::ids::CallId;
use crate::kernel::watch::Blocked;
use crate::link::Link;
use crate::{Kind, Result, Site};
use aurora_net::Received;

/// A request whose answer a thread waits for. Dropping it gives the request up: its answer is discarded.
#[must_use = "a request that is not kept is given up"]
#[derive(Debug)]
pub(crate) struct Asked<'l> {
    link: &'l Link,
    call: Option<CallId>,
}

impl<'l> Asked<'l> {
    pub(crate) fn new(link: &'l Link, call: CallId) -> Self {
        Asked { link, call: Some(call) }
    }

    /// Waits for the answer. `action`: the call of the program, and its kind.
    pub(crate) fn answer(self, action: (&'static str, Kind), site: &Site) -> Result<Vec<u8>> {
        let link = self.link;
        link.answer(self.hand_over(), action, site).map_err(|error| error.at_line(site))
    }

    /// Hands the request over to another waiter.
    pub(crate) fn hand_over(mut self) -> CallId {
        self.call.take().expect("there until it is handed over")
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            self.link.let_go_of(move |kernel, _| kernel.core.give_up(call));
        }
    }
}

impl Link {
    /// Waits for the answer to a request about this link's object. `action`: the call of the program, and its kind.
    pub(crate) fn answer(&self, call: CallId, action: (&'static str, Kind), site: &Site) -> Result<Vec<u8>> {
        self.received(call, action, site).map(Received::into_vec)
    }

    /// As [`answer`](Self::answer), without copying the answer.
    pub(crate) fn received(&self, call: CallId, (action, kind): (&'static str, Kind), site: &Site) -> Result<Received> {
        let object = self.id();
        let received = self.wait_kernel(Blocked::Calls { object, action, kind }, site, |kernel, out| {
            match kernel.core.await_received(call, out) {
                // A rank on which the object has failed may not answer a parked request.
                None => kernel.sound(object).err().map(Err),
                received => received,
            }
        });
        received.inspect_err(|_| self.tidy_kernel(|kernel, _| kernel.core.give_up(call)))
    }
}

#[cfg(test)]
mod tests {
    use crate::kernel::Kernel;
    use crate::prelude::*;
    use crate::{Rank, Route};
    use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

    /// A use of a vector fails because rank 1 panics while its block is lent and rank 0's request waits there.
    /// Returns the number of requests that rank 0 then has under way.
    fn left_after(next_use: fn(&mut GVector<u64>, &GVector<u64>) -> Result<()>) -> usize {
        let left = Config::threads(3).route(Route::Local).run(|world| {
            let other = GVector::<u64>::new(world, 9)?;
            let mut v = GVector::<u64>::new(world, 9)?;
            if world.rank() == Rank::new(1) {
                let broken_off = catch_unwind(AssertUnwindSafe(|| {
                    let mut own = v.owner_computes_mut().expect("usable");
                    own.local_mut()[0] = 1;
                    world.barrier().expect("nothing has failed yet");
                    let is_asked = |kernel: &mut Kernel| !kernel.state().parked.is_empty();
                    while !other.shared.tidy_kernel(|kernel, _| is_asked(kernel)) {
                        std::thread::yield_now();
                    }
                    panic_any("half a phase")
                }));
                assert!(broken_off.is_err());
                return Ok(0);
            }
            world.barrier()?;
            if !world.is_root() {
                return Ok(0);
            }
            let outcome = next_use(&mut v, &other);
            assert!(matches!(outcome, Err(Error::Poisoned { .. })), "{outcome:?}");
            Ok(v.shared.tidy_kernel(|kernel, _| kernel.core.calls.len()))
        });
        left.expect("only one vector is broken")
    }

    #[test]
    fn nothing_is_left_of_a_call_that_fails() {
        type Use = fn(&mut GVector<u64>, &GVector<u64>) -> Result<()>;
        let uses: [(&str, Use); 5] = [
            ("at", |v, _| v.at(4).map(drop)),
            ("at_many", |v, _| v.at_many(&[4, 7, 8]).map(drop)),
            ("put_many", |v, _| v.put_many(&[(4, 1), (7, 1), (8, 1)])),
            ("copy out", |v, other| {
                let (mut a, mut b) = ([0; 9], [0; 9]);
                distmemcpy_many([(&mut a[..], v.range(..)), (&mut b[..], other.range(..))])
            }),
            ("copy in", |v, _| distmemcpy(v.range_mut(..), &[1; 9][..])),
        ];
        for (name, next_use) in uses {
            assert_eq!(left_after(next_use), 0, "after {name}");
        }
    }
}
