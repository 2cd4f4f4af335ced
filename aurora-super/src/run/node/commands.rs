//! The commands of a launch: orders, instructions, merges, the end.

use super::{Action, DISPATCHER, NodeState};
use crate::Node;
use crate::dispatch::Order;
use crate::execute::{Command, Event, Task};
use crate::run::job::Job;
use crate::run::launch::Resolved;
use crate::run::message::{InOrder, Message, Moved, ToNode};
use crate::run::operand::Arg;
use crate::run::running::{Dispatcher, Running};
use crate::run::store::{Key, Slot};
use bytes::Bytes;
use smallvec::SmallVec;

impl NodeState {
    /// Does all that is possible after an event.
    pub(super) fn go_on(&mut self, out: &mut Vec<Action>) {
        while !self.is_over
            && let Some(running) = &mut self.running
        {
            if let Some(command) = running.commands.pop_front() {
                self.perform(command, out);
            } else if let Some((message, moved)) = running.inbox.take() {
                match message {
                    ToNode::Order(order, digest) => self.take_order(order, Some(digest), out),
                    ToNode::Complete => running.moved = Some(moved),
                }
            } else if let Some((to, order)) = running.dispatcher.as_mut().and_then(Dispatcher::poll) {
                match order {
                    order if to == self.me => self.take_order(order, None, out),
                    Order::Grant(grant) => {
                        let launch = running.launch.clone();
                        out.push(Action::Work(Job::Digest { launch, grant, to }));
                    }
                    order => self.send_to_node(to, ToNode::Order(order, 0), Bytes::new(), out),
                }
            } else if running.is_done() && running.moved.is_none() {
                self.tell_the_end(out);
            } else {
                break;
            }
        }
        let is_complete = |running: &Running| running.moved.is_some() && running.is_idle();
        if !self.is_over && self.running.as_ref().is_some_and(is_complete) {
            self.complete(out);
        }
    }

    /// Handles an order for this rank. With a grant of another rank comes a digest.
    fn take_order(&mut self, order: Order, digest: Option<u64>, out: &mut Vec<Action>) {
        let running = self.running.as_mut().expect("there are orders");
        match order {
            Order::Grant(grant) => {
                running.resolving += 1;
                let launch = running.launch.clone();
                out.push(Action::Work(Job::Resolve { launch, grant, digest }));
            }
            order => running.handle(Event::Order(order)),
        }
    }

    /// At the dispatcher: the launch is complete. Tells all ranks the blocks that have another host than before.
    fn tell_the_end(&mut self, out: &mut Vec<Action>) {
        let running = self.running.as_mut().expect("it is complete");
        let dispatch = &running.dispatcher.as_ref().expect("it is complete here").dispatch;
        let hosts = running.launch.written().map(|block| (block, dispatch.block(block).host()));
        let moved: Moved = hosts.filter(|(block, host)| self.hosts[*block as usize] != *host).collect();
        let bytes = Bytes::from(postcard::to_allocvec(&moved).expect("numbers can be encoded"));
        running.moved = Some(moved);
        let me = self.me;
        for to in (0..self.parts.nodes()).filter(|to| *to != me) {
            self.send_to_node(to, ToNode::Complete, bytes.clone(), out);
        }
    }

    fn perform(&mut self, command: Command, out: &mut Vec<Action>) {
        let running = self.running.as_mut().expect("it has commands");
        match command {
            Command::Report(report) => match &mut running.dispatcher {
                Some(own) => own.handle(self.me, report),
                None => {
                    let serial = running.reported;
                    running.reported += 1;
                    let message = Message::Report(InOrder { launch: self.entered, serial, message: report });
                    out.push(Action::Send { to: DISPATCHER, message, bytes: Bytes::new() });
                }
            },
            Command::Fetch { block, from } => {
                if self.store.expect(Key::Block(block)) {
                    out.push(Action::Send { to: from, message: Message::Fetch(block), bytes: Bytes::new() });
                }
            }
            Command::Run(task) => self.prepare(task, out),
            Command::SendPart { part, to } => {
                let (launch, checks) = (running.launch.clone(), self.checks);
                let value = self.store.value(Key::Part(part.group)).expect("its instructions have run").clone();
                out.push(Action::Work(Job::EncodePart { launch, part, value, to, checks }));
            }
            Command::Merge(part) => {
                running.to_merge.push(part);
                self.merge(out);
            }
            Command::DropPart(group) => {
                if let Some(part) = self.store.forget(Key::Part(group)) {
                    self.free(vec![part], out);
                }
            }
            Command::Send { .. } | Command::Drop(_) => unreachable!("copies without a budget have no {command:?}"),
            Command::SendModifier { .. } | Command::MergeModifier { .. } | Command::Confirm { .. } => {
                unreachable!("the version Remote is refused: {command:?}")
            }
        }
    }

    /// Merges partial results whose result is not being merged.
    pub(super) fn merge(&mut self, out: &mut Vec<Action>) {
        let running = self.running.as_mut().expect("it has partial results");
        let store = &mut self.store;
        running.to_merge.retain(|part| {
            let Some(into) = store.take(Key::Block(running.launch.result(part.group))) else {
                return true;
            };
            let Some(Slot::Here(brought)) = store.forget(Key::Brought(*part)) else {
                unreachable!("it is merged when it has been brought");
            };
            running.merging += 1;
            let (launch, group) = (running.launch.clone(), part.group);
            out.push(Action::Work(Job::Merge { launch, group, into, part: brought }));
            false
        });
    }

    /// Sends a message of the dispatcher.
    pub(super) fn send_to_node(&mut self, to: Node, message: ToNode, bytes: Bytes, out: &mut Vec<Action>) {
        let launch = self.entered;
        let dispatcher =
            self.running.as_mut().and_then(|running| running.dispatcher.as_mut()).expect("it is the dispatcher");
        let sent = &mut dispatcher.sent[to as usize];
        let message = Message::Order(InOrder { launch, serial: *sent, message });
        *sent += 1;
        out.push(Action::Send { to, message, bytes });
    }

    /// Prepares an instruction: all copies that it reads are here, and its result if that has been written before.
    /// Other blocks, and partial results, may not have been made yet.
    fn prepare(&mut self, task: Task, out: &mut Vec<Action>) {
        let running = self.running.as_mut().expect("it has commands");
        let instruction = task.instruction;
        let resolved = running.execute.program_mut().operands.remove(&instruction).expect("it was granted");
        let result = running.result_of(self.me, &task);
        let keys = resolved.args.iter().enumerate().filter_map(|(at, arg)| match arg {
            Arg::Block(_) if at == resolved.result => Some(result),
            Arg::Block(place) => Some(Key::Block(place.block)),
            _ => None,
        });
        let missing: SmallVec<[Key; 4]> = keys.filter(|key| self.store.value(*key).is_none()).collect();
        if missing.is_empty() {
            return self.start(&task, resolved, out);
        }
        let launch = running.launch.clone();
        running.incomplete.insert(instruction, (task, resolved, missing.len()));
        for key in missing {
            self.waiting.entry(key).or_default().push(instruction);
            match key {
                Key::Block(block) => {
                    assert!(self.is_own(block) || key == result, "an instruction runs when its copies are here");
                    self.make(block, out);
                }
                Key::Part(group) if self.store.expect(key) => {
                    out.push(Action::Work(Job::Identity { launch: launch.clone(), group }));
                }
                Key::Part(_) | Key::Brought(_) => {}
            }
        }
    }

    /// Runs an instruction, all of whose operands are here.
    pub(super) fn start(&mut self, task: &Task, Resolved { args, result }: Resolved, out: &mut Vec<Action>) {
        let running = self.running.as_mut().expect("its instructions are to run");
        let (key, instruction) = (running.result_of(self.me, task), task.instruction);
        let cells = args.into_iter().enumerate().map(|(at, arg)| match arg {
            Arg::Block(_) if at == result => self.store.take(key),
            Arg::Block(place) => self.store.value(Key::Block(place.block)).cloned(),
            Arg::Absent => None,
            Arg::Plain(value) => Some(value),
        });
        let cells = cells.collect();
        running.at_work.push(instruction);
        out.push(Action::Work(Job::Run { launch: running.launch.clone(), instruction, cells, result, key }));
    }
}
