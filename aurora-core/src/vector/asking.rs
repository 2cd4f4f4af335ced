//! Requests of this rank to owners.

use super::core::VectorCore;
use super::message::{Asked, Request};
use crate::ids::CallId;
use crate::kernel::Reason;
use crate::kernel::asking::{Asking, When};
use crate::object::{Cx, How, Until, Wait};
use crate::scope::ScopeWait;
use aurora_net::{Payload, Rank, Token};

/// The wait until no transfer reads this rank's block, or until the block has left its readers.
pub(crate) const GATE: Wait = Wait { number: ScopeWait::own(0, 0), until: Until::Acted };

impl VectorCore {
    /// Sends a request, which the owner serves after the scopes that this rank has entered before.
    pub(crate) fn ask(
        &self,
        (to, reason, when): (Rank, &Reason, When),
        request: Request,
        payload: impl Into<Payload>,
        cx: &mut Cx<'_>,
    ) -> CallId {
        self.ask_into((to, reason, when), request, payload, None, cx)
    }

    /// As [`ask`](Self::ask). The answer goes to the memory of `landing`.
    pub(crate) fn ask_into(
        &self,
        (to, reason, when): (Rank, &Reason, When),
        request: Request,
        payload: impl Into<Payload>,
        landing: Option<Token>,
        cx: &mut Cx<'_>,
    ) -> CallId {
        let epoch = self.comes_after(request.window());
        let site = reason.site.as_ref().unwrap_or(cx.made_at());
        let stamp = self.stamp(to, site, cx).map(Box::new);
        self.ask_stamped((to, reason, when), Asked { epoch, request, stamp }, payload, landing, cx)
    }

    /// As [`ask`](Self::ask), with a stamp of the caller.
    pub(crate) fn ask_stamped(
        &self,
        (to, reason, when): (Rank, &Reason, When),
        asked: Asked,
        payload: impl Into<Payload>,
        landing: Option<Token>,
        cx: &mut Cx<'_>,
    ) -> CallId {
        let how = How::default().on(reason);
        let shown = asked.request.writes();
        let asking = Asking { to, how, landing, when, shown, forgotten: false };
        cx.ask_as(asking, &asked, payload).expect("headers of vectors are short")
    }
}
