//! Requests of the program, and their answers.

use super::{How, Shared, SharedObject};
use crate::kernel::asking::{Asking, When};
use crate::{Error, Kind, Result, Site, link};
use aurora_net::{Payload, Rank};
use serde::Serialize;

/// A request under way: [`Shared::send_request`]. Dropping it gives the request up: its answer is discarded.
#[must_use = "a request that is not kept is given up"]
#[derive(Debug)]
pub struct Asked<'s> {
    asked: link::Asked<'s>,
    action: &'static str,
    site: Site,
}

impl Asked<'_> {
    /// Waits for the answer.
    ///
    /// # Errors
    /// As [`Shared::ask`].
    pub fn answer(self) -> Result<Vec<u8>> {
        self.asked.answer((self.action, Kind::Object), &self.site)
    }
}

impl<O: SharedObject> Shared<O> {
    /// Sends a request to the object on a rank, this one or another, and waits for the answer. `action` is the call
    /// of the program, as counters and errors name it.
    ///
    /// # Errors
    /// The error that the other rank answers; the error that ended the object or the job; `Deadlock` or a similar
    /// error, if the answer can never arrive ([`SharedObject::holds`]).
    #[track_caller]
    pub fn ask(
        &self,
        to: Rank,
        action: &'static str,
        header: &impl Serialize,
        payload: impl Into<Payload>,
    ) -> Result<Vec<u8>> {
        let _call = self.call(action);
        self.send_request(to, action, header, payload)?.answer()
    }

    /// Sends a request as [`ask`](Shared::ask) does, but does not wait for the answer: several requests may be under
    /// way.
    ///
    /// ```
    /// # use aurora_core::object::{Call, Cx, Malformed, Payload, Plan, Received, SharedObject};
    /// # use aurora_core::prelude::*;
    /// struct Echo;
    ///
    /// impl SharedObject for Echo {
    ///     fn request(&mut self, call: Call, _: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
    ///         cx.answer(call, Ok(payload.into_vec().into()));
    ///         Ok(())
    ///     }
    /// }
    /// # type Result<T, E = Error> = std::result::Result<T, E>;
    /// # Config::threads(3).run(|world| {
    /// let echo = world.share(Plan::new("echo", &()), |_| Ok(Echo))?;
    /// let ask = |rank| echo.send_request(Rank::new(rank), "call", &(), vec![rank as u8]);
    /// let asked = (0..3).map(ask).collect::<Result<Vec<_>>>()?;
    /// for (rank, asked) in asked.into_iter().enumerate() {
    ///     assert_eq!(asked.answer()?, [rank as u8]);
    /// }
    /// # Ok(())
    /// # })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`ask`](Shared::ask).
    #[track_caller]
    pub fn send_request(
        &self,
        to: Rank,
        action: &'static str,
        header: &impl Serialize,
        payload: impl Into<Payload>,
    ) -> Result<Asked<'_>> {
        let site = Site::here();
        let call = self.on(&site, |_, cx| {
            cx.sound()?;
            if to.index() >= cx.size() {
                return Err(Error::NoSuchRank { rank: to, size: cx.size(), site: site.clone() });
            }
            let reason = cx.reason(action, Some(site.clone()));
            let how = How::default().on(&reason);
            let asking = Asking { to, how, landing: None, when: When::Now, shown: false, forgotten: false };
            cx.ask_as(asking, header, payload)
        })?;
        Ok(Asked { asked: link::Asked::new(self, call), action, site })
    }
}
