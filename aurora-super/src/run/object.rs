//! The shared object: carries the messages and jobs of a [`NodeState`].

use super::job::Done;
use super::launch::Trouble;
use super::message::Message;
use super::node::{Action, NodeState};
use super::worker::Queue;
use crate::Node;
use aurora_core::object::{Awaited, Cx, How, Malformed, Payload, Reason, Received, SharedObject, Wait, decode};
use aurora_core::{Claim, Error, ObjectName, Rank, Site};
use std::sync::Arc;

/// A rank's part of a super-program, as a shared object of the kernel.
pub(super) struct Object {
    pub(super) node: NodeState,
    pub(super) queue: Arc<Queue>,
    pub(super) name: ObjectName,
    /// The call of the program that is under way, for counters.
    pub(super) call: Option<(&'static str, Site)>,
    actions: Vec<Action>,
}

impl Object {
    pub(super) fn new(node: NodeState, queue: Arc<Queue>, name: ObjectName) -> Self {
        Object { node, queue, name, call: None, actions: Vec::new() }
    }

    /// Calls a method of the machine, and carries out the actions that follow.
    pub(super) fn act<R>(&mut self, cx: &mut Cx<'_>, act: impl FnOnce(&mut NodeState, &mut Vec<Action>) -> R) -> R {
        let mut actions = std::mem::take(&mut self.actions);
        let acted = act(&mut self.node, &mut actions);
        let reason = self.call.clone().map(|(action, site)| cx.reason(action, Some(site)));
        for action in actions.drain(..) {
            self.carry_out(action, reason.as_ref(), cx);
        }
        self.actions = actions;
        acted
    }

    fn carry_out(&mut self, action: Action, reason: Option<&Reason>, cx: &mut Cx<'_>) {
        match action {
            Action::Send { to, message, bytes } => {
                let how = reason.map_or_else(How::default, |reason| How::default().on(reason));
                let payload = if bytes.is_empty() { Payload::Empty } else { Payload::Bytes(bytes) };
                cx.send(Rank::new(to as usize), &message, payload, how);
            }
            Action::Work(job) => self.queue.push(job),
            Action::Fail(trouble) => cx.fail(error(cx.me(), &self.name, trouble)),
            Action::Differ { what, site } => {
                let claim = |rank, action: &str| {
                    let action = format!("{action} {what} of {}", self.name);
                    Claim::new(rank, action, site.clone())
                };
                let first = claim(Rank::new(0), "names the operands of");
                let second = claim(cx.me(), "names other operands, because a captured value differs, for");
                cx.fail(Error::mismatch(first, second));
            }
            Action::Progress => cx.progress(),
        }
    }

    /// Handles the end of a job. If the super-program has ended, `done` stays with the caller.
    pub(super) fn done(&mut self, done: &mut Option<Done>, cx: &mut Cx<'_>) {
        if cx.is_sound()
            && let Some(done) = done.take()
        {
            self.act(cx, |node, out| node.done(done, out));
        }
    }
}

/// The error of a super-program.
pub(super) fn error(rank: Rank, object: &ObjectName, Trouble { name, cause }: Trouble) -> Error {
    Error::of_object(rank, object.clone(), name, cause)
}

impl SharedObject for Object {
    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        let message: Message = decode(header)?;
        if !cx.is_sound() {
            return Ok(());
        }
        self.act(cx, |node, out| node.message(from.index() as Node, message, payload, out))
    }

    fn failed(&mut self, _: &mut Cx<'_>) {
        self.queue.close();
    }

    /// All ranks have made the call: threads, transfers and the dispatcher do the rest, not the program of a rank.
    fn awaits(&self, _: Wait, name: &ObjectName) -> Awaited {
        let awaits = match &self.call {
            Some((call, _)) => format!("waits for the end of {call} of {name}"),
            None => format!("waits for {name}"),
        };
        let runs = self.node.at_work().map_or_else(String::new, |instruction| format!(" while it runs {instruction}"));
        Awaited { ranks: Vec::new(), doing: awaits + &runs }
    }

    fn has_workers(&self) -> bool {
        true
    }

    fn describe(&self, header: &[u8], _: bool) -> &'static str {
        match decode(header) {
            Ok(Message::Report(_)) => "report",
            Ok(Message::Order(_)) => "order",
            Ok(Message::Fetch(_)) => "fetch",
            Ok(Message::Block(_)) => "block",
            Ok(Message::Part(_)) => "part",
            Ok(Message::Merged(_)) => "merged",
            Err(Malformed) => "message",
        }
    }
}
