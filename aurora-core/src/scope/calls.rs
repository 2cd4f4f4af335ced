//! Calls of the program on an object with parts: requests, collective calls, and guards that show a part.

use super::check::{self, Place};
use super::scoped::{Scoped, Stamped};
use super::{Access, Opening, Part, Rule, ScopeWait, Served};
use crate::kernel::Reason;
use crate::kernel::asking::{Asking, When};
use crate::link::Asked;
use crate::object::{Cx, Guard, How, Shared};
use crate::polls::Level;
use crate::race::Origin;
use crate::{Error, Kind, Result, Site, digest};
use aurora_net::Rank;
use serde::Serialize;
use std::borrow::Cow;

impl<P: Part> Shared<Scoped<P>> {
    /// Sends a request to the part of a rank, this one or another, and waits for the answer. The part serves it after
    /// all scopes that this rank has entered before. `action` is the call of the program, as counters and errors name
    /// it.
    ///
    /// # Errors
    /// The error that the part answers; [`Error::NoSuchRank`]; `Leaked`, if a forgotten guard forbids the request; the
    /// error that ended the object or the job; `Deadlock` or a similar error, if the answer can never arrive.
    #[track_caller]
    pub fn request(
        &self,
        to: Rank,
        action: &'static str,
        request: P::Request,
        payload: impl Into<Vec<u8>>,
    ) -> Result<Vec<u8>> {
        self.request_at(to, action, request, payload.into(), &Site::here())
    }

    /// Sends requests to the parts of many ranks at the same time, one after another to each rank. `next` is called
    /// first with each rank, and later with each rank's answer. It returns the next request to that rank, or `None`.
    /// Returns when all requests are answered.
    ///
    /// # Errors
    /// The error of `next`; the errors of [`request`](Self::request). Answers that are under way are then discarded.
    #[track_caller]
    pub fn request_each(
        &self,
        action: &'static str,
        next: impl FnMut(Rank, Option<Vec<u8>>) -> Result<Option<(P::Request, Vec<u8>)>>,
    ) -> Result<()> {
        self.request_each_at(action, next, &Site::here())
    }

    /// Waits until all scopes that this rank has entered have ended on all ranks and their writes to this rank's part
    /// are applied.
    ///
    /// # Errors
    /// `Leaked`, if a forgotten guard forbids this use, for writing if `mutable`; the error that ended the object or
    /// the job.
    #[track_caller]
    pub fn await_usable(&self, mutable: bool) -> Result<()> {
        self.await_usable_at(mutable, &Site::here())
    }

    /// Collective. All earlier scopes end, all ranks meet, and each acts on its own part. Later accesses of any rank
    /// come after the actions of all ranks. `call` names the call in errors, such as `a clear`. `mutable`: the actions
    /// change the parts.
    ///
    /// # Errors
    /// `Mismatch`, with both lines, if a rank makes another call; on all ranks, `Leaked` of one of them; the errors of
    /// [`barrier`](crate::World::barrier).
    #[track_caller]
    pub fn meet<R>(
        &self,
        call: &'static str,
        mutable: bool,
        action: impl FnOnce(&mut Scoped<P>) -> Result<R>,
    ) -> Result<R> {
        let site = Site::here();
        let words = format!("{call} of {}", self.name);
        let key = digest::add(digest::of(call.as_bytes()), self.id().0);
        self.synchronize(call, &words, key, self.await_usable_at(mutable, &site).err(), &site)?;
        self.act_met(format!("was in {call} of"), &site, action)
    }

    /// Acts after all ranks have met, and before later accesses of any rank. `done` is the action in errors.
    pub(crate) fn act_met<R>(
        &self,
        done: impl Into<Cow<'static, str>>,
        site: &Site,
        action: impl FnOnce(&mut Scoped<P>) -> Result<R>,
    ) -> Result<R> {
        let opening = Opening::new(done, Kind::Barrier, Rule::Met, site);
        self.on(site, |scoped, cx| {
            let epoch = scoped.enter(opening, cx)?;
            scoped.forget_accesses();
            let acted = action(scoped);
            scoped.scopes.end_met(epoch);
            acted
        })
    }

    /// Opens a guard of this rank alone that shows or takes its part: waits until all earlier scopes have ended and
    /// `take` returns `Some`. It orders no other ranks. `mutable`: the handle of the object has to be borrowed mutably
    /// while the guard lives. The closure of [`Guard::end`] gives the part back.
    ///
    /// ```
    /// use aurora_core::object::{Guard, Plan, Shared};
    /// use aurora_core::prelude::*;
    /// use aurora_core::scope::{Outcome, Part, Scoped, Turn};
    ///
    /// /// A list of each rank; `None`: a guard has it.
    /// struct Lists(Option<Vec<u8>>);
    ///
    /// impl Part for Lists {
    ///     type Request = ();
    ///     type Batch = ();
    ///
    ///     fn is_write((): &()) -> bool {
    ///         false
    ///     }
    ///
    ///     fn serve(&mut self, (): &mut (), _: &[u8], _: &mut Turn<'_, '_>) -> Outcome {
    ///         self.0.clone().map_or(Outcome::Park, |list| Outcome::Done(Ok(list.into())))
    ///     }
    ///
    ///     fn apply(&mut self, (): &mut (), _: &[u8], _: &mut Turn<'_, '_>) -> Outcome {
    ///         Outcome::applied(Ok(()))
    ///     }
    ///
    ///     fn is_lent(&self) -> bool {
    ///         self.0.is_none()
    ///     }
    /// }
    ///
    /// /// The list of this rank, for writing.
    /// struct Mine<'l> {
    ///     list: Vec<u8>,
    ///     guard: Option<Guard<'l, Scoped<Lists>>>,
    /// }
    ///
    /// impl<'l> Mine<'l> {
    ///     fn open(lists: &'l mut Shared<Scoped<Lists>>) -> Result<Self> {
    ///         let (list, guard) = lists.lend("Mine", true, |lists| lists.0.take())?;
    ///         Ok(Mine { list, guard: Some(guard) })
    ///     }
    /// }
    ///
    /// impl Drop for Mine<'_> {
    ///     fn drop(&mut self) {
    ///         let list = std::mem::take(&mut self.list);
    ///         if let Some(guard) = self.guard.take() {
    ///             guard.end(move |lists, _| lists.part_mut().0 = Some(list));
    ///         }
    ///     }
    /// }
    ///
    /// Config::threads(2).run(|world| {
    ///     let mut lists = world.share_part(Plan::new("lists", &()), |_| Ok(Lists(Some(Vec::new()))))?;
    ///     let me = world.rank().index() as u8;
    ///     Mine::open(&mut lists)?.list.push(10 * me);
    ///     world.barrier()?;
    ///     assert_eq!(lists.request(Rank::new(1), "list", (), [])?, [10]);
    ///     Ok(())
    /// })?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// The race detector does not see the program's accesses to the shown data: [`accessed`](Self::accessed) notes
    /// them.
    ///
    /// # Errors
    /// The errors of [`await_usable`](Self::await_usable).
    #[track_caller]
    pub fn lend<R>(
        &self,
        behaviour: &'static str,
        mutable: bool,
        mut take: impl FnMut(&mut P) -> Option<R>,
    ) -> Result<(R, Guard<'_, Scoped<P>>)> {
        let site = Site::here();
        let taken = self.wait_on(ScopeWait::Settle, &site, |scoped, cx| match scoped.poll_usable(mutable, cx)? {
            Ok(()) => take(&mut scoped.part).map(Ok),
            Err(error) => Some(Err(error)),
        })?;
        Ok((taken, self.open_guard((behaviour, &site), mutable)))
    }

    /// Checking mode: this rank's program has accessed a key of its own part, inside a guard that shows the part.
    ///
    /// # Errors
    /// [`Error::Race`], which is the fault of the object; the error that ended the object or the job.
    #[track_caller]
    pub fn accessed(&self, access: Access, key: &(impl Serialize + ?Sized)) -> Result<()> {
        let site = Site::here();
        if !self.modes.check {
            return Ok(());
        }
        let place = Place::of(key);
        self.on(&site, |scoped, cx| {
            let (origin, by) = (Origin::here(&site, cx.order()), (cx.me(), scoped.scopes.ledger.epoch));
            let how = check::How::bare(access.into());
            let check = scoped.check.as_mut();
            check.map_or(Ok(()), |check| check.note(by, &origin, how, place.into_iter().collect(), cx))
        })
    }

    pub(crate) fn request_at(
        &self,
        to: Rank,
        action: &'static str,
        mut request: P::Request,
        payload: Vec<u8>,
        site: &Site,
    ) -> Result<Vec<u8>> {
        if P::is_write(&request) {
            self.no_look();
            return self.request_once(to, action, &mut request, payload, site);
        }
        let asked = (self.watched() != Level::Nothing).then(|| {
            let header = postcard::to_allocvec(&request).unwrap_or_default();
            digest::add(digest::of(&header), digest::add(digest::of(&payload), to.index() as u64))
        });
        let look = || self.request_once(to, action, &mut request, payload, site);
        let found = |answer: &Vec<u8>| Some(digest::of(answer));
        self.look_at((self.id(), action, site), || asked.unwrap_or_default(), look, found)
    }

    fn request_once(
        &self,
        to: Rank,
        action: &'static str,
        request: &mut P::Request,
        payload: Vec<u8>,
        site: &Site,
    ) -> Result<Vec<u8>> {
        if to == self.me {
            let serve = |scoped: &mut Scoped<P>, cx: &mut Cx<'_>| scoped.serve_own(request, &payload, site, cx);
            return self.wait_on(ScopeWait::Settle, site, serve).map_err(|error| error.at_line(site));
        }
        let _call = self.call(action);
        self.send_stamped(to, action, request, payload, site)?.answer((action, Kind::Access), site)
    }

    fn send_stamped(
        &self,
        to: Rank,
        action: &'static str,
        request: &P::Request,
        payload: Vec<u8>,
        site: &Site,
    ) -> Result<Asked<'_>> {
        let mutable = P::is_write(request);
        if self.modes.check {
            // As the part does: the next accesses of this rank are ordered after earlier scopes.
            self.await_usable_at(mutable, site)?;
        }
        let reason = Reason::new(action, Kind::Access, site);
        let call = self.on(site, |scoped, cx| {
            if to.index() >= cx.size() {
                return Err(Error::NoSuchRank { rank: to, size: cx.size(), site: site.clone() });
            }
            cx.usable(mutable)?;
            let how = How::default().on(&reason);
            let asking = Asking { to, how, landing: None, when: When::Now, shown: false, forgotten: false };
            let origin = scoped.check.is_some().then(|| Box::new(Origin::here(site, cx.order())));
            cx.ask_as(asking, &Stamped { epoch: scoped.scopes.ledger.epoch, request, origin }, payload)
        })?;
        Ok(Asked::new(self, call))
    }

    pub(crate) fn request_each_at(
        &self,
        action: &'static str,
        mut next: impl FnMut(Rank, Option<Vec<u8>>) -> Result<Option<(P::Request, Vec<u8>)>>,
        site: &Site,
    ) -> Result<()> {
        self.no_look();
        let _call = self.bulk_call(action);
        let send = |to, request: Option<(P::Request, Vec<u8>)>| -> Result<_> {
            let asked = request.map(|(request, payload)| self.send_stamped(to, action, &request, payload, site));
            Ok(asked.transpose()?.map(|asked| (to, asked)))
        };
        let mut under_way = Vec::new();
        for to in self.me.others(self.size) {
            under_way.extend(send(to, next(to, None)?)?);
        }
        let mut answer = None;
        while let Some((mut request, payload)) = next(self.me, answer)? {
            answer = Some(self.request_once(self.me, action, &mut request, payload, site)?);
        }
        while !under_way.is_empty() {
            for (to, asked) in std::mem::take(&mut under_way) {
                let answer = asked.answer((action, Kind::Access), site)?;
                under_way.extend(send(to, next(to, Some(answer))?)?);
            }
        }
        Ok(())
    }

    pub(crate) fn await_usable_at(&self, mutable: bool, site: &Site) -> Result<()> {
        self.wait_on(ScopeWait::Settle, site, |scoped, cx| scoped.poll_usable(mutable, cx))
    }
}
