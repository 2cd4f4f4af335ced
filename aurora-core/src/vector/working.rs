//! The work of a rank's block: requests and batches, and the scopes that become `settled`.

use super::check::Noted;
use super::machine::{Vector, VectorWork};
use super::message::{Request, SCOPES, Written};
use super::protocol::Piece;
use crate::Error;
use crate::ids::Epoch;
use crate::object::{Cx, Malformed};
use crate::scope::{Opening, Outcome, Rule, ScopeMessage, Scopes, Served, Work};
use aurora_net::{Payload, Rank};
use serde::Serialize;

impl Served for Vector {
    type Work = VectorWork;
    type Batch = Written;
    type Arrival = ();

    const CALLS: &'static str = super::check::ALONE;

    fn scopes(&self) -> &Scopes<Self> {
        &self.core.scopes
    }

    fn scopes_mut(&mut self) -> &mut Scopes<Self> {
        &mut self.core.scopes
    }

    fn attempt(&mut self, work: &mut Work<VectorWork>, payload: &[u8], cx: &mut Cx<'_>) -> Outcome {
        let done = self.try_work(work, payload, cx);
        // A block that is lent now was sound before.
        if !matches!(done, Ok(Outcome::Done(Ok(Payload::Lent { .. }))))
            && let Err(error) = cx.none_given_up()
        {
            return Outcome::Done(Err(*error));
        }
        done.unwrap_or_else(|error| Outcome::Done(Err(error)))
    }

    fn batch(&self, from: Rank, opening: &Opening, batch: Written) -> Result<VectorWork, Malformed> {
        let admits = |number| self.protocols.get(number).is_some_and(|of| of.admits(&self.core, from, opening));
        match batch {
            Written::Of(number) if !admits(number) => Err(Malformed),
            batch => Ok(batch.into()),
        }
    }

    fn header(message: ScopeMessage<Written>) -> impl Serialize {
        (SCOPES, message)
    }

    fn fits(&self, opening: &Opening) -> bool {
        opening.window.is_of(self.core.dist.len())
    }

    fn enter(&mut self, opening: Opening, cx: &mut Cx<'_>) -> Result<Epoch, Error> {
        // Other ranks may have opened this scope before; perhaps only their first packets are here.
        self.catch_up(cx);
        let entered = self.core.scopes.enter(opening.clone(), cx);
        self.core.refresh_permit(cx);
        let epoch = entered?;
        if let Some(protocol) = self.protocols.get_mut(opening.protocol) {
            protocol.entered(&mut self.core, epoch, &opening, cx);
        }
        Ok(epoch)
    }

    fn settled(&mut self, epoch: Epoch, rule: Rule, cx: &mut Cx<'_>) {
        let protocol = self.core.scopes.ledger.opening(epoch).map_or(0, |opening| opening.protocol);
        if rule != Rule::Announced {
            self.core.scopes.ledger.forget(epoch);
        }
        if let Some(protocol) = self.protocols.get_mut(protocol) {
            protocol.settled(&mut self.core, epoch, cx);
        }
    }

    fn is_lent(&self) -> bool {
        self.core.block.is_lent()
    }
}

impl Vector {
    /// Does a piece of work on our block, or returns that it must be parked.
    fn try_work(&mut self, work: &mut Work<VectorWork>, payload: &[u8], cx: &mut Cx<'_>) -> Result<Outcome, Error> {
        let (from, due) = (work.from, work.due);
        let (protocol, number) = match &mut work.what {
            VectorWork::Of { protocol, number } => (*protocol, number),
            VectorWork::Call(asked) => match &mut asked.request {
                Request::Of { protocol, number } => (*protocol, number),
                _ => return self.core.serve(from, asked, payload, cx),
            },
            VectorWork::Batch(op) => return self.core.apply((from, due.epoch()), *op, Noted::Scope, payload, cx),
        };
        let protocol = self.protocols.get_mut(protocol).ok_or_else(|| cx.nonsense())?;
        protocol.work(&mut self.core, Piece { from, due, number }, payload, cx)
    }
}
