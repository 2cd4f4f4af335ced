//! A rank of a super-program as a pure machine: messages and finished jobs in, messages and jobs out.

use super::blocks::{Array, Arrays};
use super::granted::Granted;
use super::job::{Done, Garbage, Job, garbage};
use super::launch::{Launch, Resolved, Trouble};
use super::message::{InOrder, Message};
use super::operand::{Arg, Value};
use super::report::Tally;
use super::running::Running;
use super::store::{Slot, Store};
use crate::data::{self, Block};
use crate::dispatch::{Config, Grant, Order, Report};
use crate::execute::{Command, Copies, Event, Limits, Task};
use crate::{BlockId, Dispatch, Execute, Instruction, Node, Parts, Policy};
use aurora_core::Site;
use aurora_core::object::{Malformed, Received};
use bytes::Bytes;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// The rank that hands out instructions.
pub(super) const DISPATCHER: Node = 0;

/// An action that the caller carries out.
pub(super) enum Action {
    /// Send a message to another rank.
    Send { to: Node, message: Message, bytes: Bytes },
    /// Let a thread do this; its end is passed to [`NodeState::done`].
    Work(Job),
    /// End the super-program on all ranks.
    Fail(Trouble),
    /// End the super-program on all ranks: the operands of a grant differ here from those at the dispatcher.
    Differ { what: String, site: Site },
    /// Wake the program's thread.
    Progress,
}

/// A rank's part of a super-program.
pub(super) struct NodeState {
    me: Node,
    parts: Parts,
    limits: Limits,
    arrays: Arrays,
    owners: Arc<[Node]>,
    /// At the dispatcher, between launches.
    blocks: Vec<Block>,
    /// Between launches.
    copies: Copies,
    store: Store,
    running: Option<Running>,
    /// The number of launches that have been entered.
    entered: u64,
    /// An error has ended it, or the program has dropped it.
    is_over: bool,
    /// Ranks that wait for a block whose creator runs.
    requests: HashMap<BlockId, Vec<Node>>,
    /// Instructions that wait for a block whose creator runs.
    waiting: HashMap<BlockId, Vec<Instruction>>,
    /// The number of `Free` jobs that workers have not ended.
    freeing: u32,
    pub(super) tally: Tally,
}

impl NodeState {
    /// Rank `me` of `nodes`.
    pub(super) fn new(me: Node, nodes: u32, limits: Limits) -> Self {
        NodeState {
            me,
            parts: Parts::by_speed(&vec![1.0; nodes as usize]).expect("a job has ranks"),
            limits,
            arrays: Arrays::default(),
            owners: Arc::new([]),
            blocks: Vec::new(),
            copies: Copies::new(None, 0),
            store: Store::default(),
            running: None,
            entered: 0,
            is_over: false,
            requests: HashMap::new(),
            waiting: HashMap::new(),
            freeing: 0,
            tally: Tally::default(),
        }
    }

    /// Adds an array.
    pub(super) fn declare(&mut self, array: Arc<Array>) {
        // An array without blocks may have any number of rows.
        let matrix = if array.blocks.is_empty() { [0, 0] } else { array.matrix };
        let owners: Vec<Node> = self.parts.owners_of(matrix).collect();
        if self.me == DISPATCHER {
            self.blocks.extend(owners.iter().map(|owner| {
                let mut block = Block::new(*owner);
                block.apply(data::Event::Create).expect("a new block has no value");
                block
            }));
        }
        self.owners = self.owners.iter().copied().chain(owners).collect();
        self.arrays.push(array);
        self.copies.grow(self.arrays.blocks());
    }

    /// Creates the dispatcher of a launch. It is made outside the lock, because it takes a time in proportion to the
    /// groups.
    pub(super) fn dispatch(
        launch: Arc<Launch>,
        (parts, blocks, limits): (Parts, Vec<Block>, Limits),
    ) -> Dispatch<Granted> {
        // There is room for two grants for each running instruction, so that the next grant is there when one has
        // ended.
        let grain = (limits.in_flight / (2 * limits.running)).clamp(1, MOST_OF_A_GRANT);
        let config = Config { grain, extends: false, ..Config::new(Policy::S) };
        Dispatch::with_blocks(Granted::none(launch), parts, config, blocks)
    }

    /// The arguments of [`NodeState::dispatch`]; `None` if another rank dispatches.
    pub(super) fn take_blocks(&mut self) -> Option<(Parts, Vec<Block>, Limits)> {
        (self.me == DISPATCHER).then(|| (self.parts.clone(), std::mem::take(&mut self.blocks), self.limits))
    }

    /// Enters the next launch, before other ranks begin it. Returns its number.
    pub(super) fn enter(
        &mut self,
        launch: Arc<Launch>,
        dispatch: Option<Dispatch<Granted>>,
        out: &mut Vec<Action>,
    ) -> u64 {
        let mut copies = std::mem::replace(&mut self.copies, Copies::new(None, 0));
        let mut old: Vec<Slot> = Vec::new();
        for block in launch.written().filter(|block| self.owners[*block as usize] != self.me) {
            copies.forget(block);
            old.extend(self.store.forget(block));
        }
        if !old.is_empty() {
            self.free(old, out);
        }
        let program = Granted::none(launch.clone());
        let execute = Execute::with_copies(self.me, program, &self.parts, self.owners.clone(), self.limits, copies);
        self.running = Some(Running::new(launch, execute, dispatch, self.parts.nodes()));
        self.entered += 1;
        self.entered
    }

    /// Begins the launch, which all ranks know.
    pub(super) fn begin(&mut self, out: &mut Vec<Action>) {
        let Some(running) = &mut self.running else {
            // A rank without work: the launch is complete before it begins here.
            return;
        };
        running.begin();
        self.go_on(out);
    }

    /// Returns true if the launch with this number is complete on all ranks.
    pub(super) fn is_complete(&self, launch: u64) -> bool {
        self.entered > launch || self.running.is_none()
    }

    /// The oldest instruction that runs here, in words.
    pub(super) fn at_work(&self) -> Option<String> {
        let running = self.running.as_ref()?;
        running.at_work.first().map(|instruction| running.launch.show(*instruction))
    }

    /// The value of a block, if it is here.
    pub(super) fn value(&self, block: BlockId) -> Option<&Value> {
        self.store.value(block)
    }

    pub(super) fn is_own(&self, block: BlockId) -> bool {
        self.owner(block) == self.me
    }

    pub(super) fn owner(&self, block: BlockId) -> Node {
        self.owners[block as usize]
    }

    /// Runs the creator of an own block, unless it has run.
    pub(super) fn make(&mut self, block: BlockId, out: &mut Vec<Action>) {
        if self.store.expect(block) {
            out.push(Action::Work(Job::Make { block, array: self.arrays.of(block).clone() }));
        }
    }

    /// Handles a message.
    ///
    /// # Errors
    /// The message makes no sense: another build has sent it.
    pub(super) fn message(
        &mut self,
        from: Node,
        message: Message,
        payload: Received,
        out: &mut Vec<Action>,
    ) -> Result<(), Malformed> {
        if self.is_over {
            return Ok(());
        }
        match message {
            Message::Fetch(block) => self.serve(block, from, out)?,
            Message::Block(block) => {
                if block >= self.arrays.blocks() || self.is_own(block) || !self.store.arrive(block) {
                    return Err(Malformed);
                }
                self.tally.loads += 1;
                self.tally.bytes += payload.bytes().len() as u64;
                out.push(Action::Work(Job::Decode { block, array: self.arrays.of(block).clone(), bytes: payload }));
            }
            Message::Report(report) => self.reported(from, report)?,
            Message::Order(order) => self.ordered(from, order)?,
            Message::Complete(launch) => {
                let is_idle = self.running.as_ref().is_some_and(Running::is_idle);
                if from != DISPATCHER || from == self.me || launch != self.entered || !is_idle {
                    return Err(Malformed);
                }
                self.complete(out);
            }
        }
        self.go_on(out);
        Ok(())
    }

    /// Answers a rank that asks for a block of this rank.
    fn serve(&mut self, block: BlockId, by: Node, out: &mut Vec<Action>) -> Result<(), Malformed> {
        if block >= self.arrays.blocks() || !self.is_own(block) {
            return Err(Malformed);
        }
        match self.store.get(block) {
            Some(Slot::Here(value)) => {
                let (array, value) = (self.arrays.of(block).clone(), value.clone());
                out.push(Action::Work(Job::Encode { block, array, value, to: vec![by] }));
            }
            // A block that is written is not read in the same launch.
            Some(Slot::Taken | Slot::Arrived) => return Err(Malformed),
            Some(Slot::Coming) | None => {
                self.requests.entry(block).or_default().push(by);
                self.make(block, out);
            }
        }
        Ok(())
    }

    /// Handles a report. A report of an earlier launch is late and ignored.
    fn reported(&mut self, from: Node, report: InOrder<Report>) -> Result<(), Malformed> {
        let makes_sense = self.me == DISPATCHER;
        match &mut self.running {
            Some(running) if makes_sense && report.launch == self.entered => running.reported(from, report),
            _ if makes_sense && report.launch <= self.entered => Ok(()),
            _ => Err(Malformed),
        }
    }

    /// Handles an order. An order of an earlier launch is late and ignored.
    fn ordered(&mut self, from: Node, order: InOrder<(Order, u64)>) -> Result<(), Malformed> {
        let makes_sense = from == DISPATCHER && from != self.me;
        match &mut self.running {
            Some(running) if makes_sense && order.launch == self.entered => {
                running.ordered(order, |block| self.owners[block as usize] == self.me)
            }
            _ if makes_sense && order.launch <= self.entered => Ok(()),
            _ => Err(Malformed),
        }
    }

    /// Handles the end of a job.
    pub(super) fn done(&mut self, done: Done, out: &mut Vec<Action>) {
        if self.is_over {
            return;
        }
        match done {
            Done::Made { block, value } => self.made(block, value, out),
            Done::Encoded { block, to, bytes } => {
                let bytes = Bytes::from(bytes);
                let send = |to| Action::Send { to, message: Message::Block(block), bytes: bytes.clone() };
                out.extend(to.into_iter().map(send));
            }
            Done::Decoded { block, value } => {
                self.store.put(block, value);
                self.running.as_mut().expect("its instructions wait").handle(Event::Arrived(block));
            }
            Done::Resolved { grant, operands } => {
                let running = self.running.as_mut().expect("its instructions wait");
                running.resolving -= 1;
                running.execute.program_mut().operands.extend(operands);
                running.handle(Event::Order(Order::Grant(grant)));
            }
            Done::Differs(grant) => self.differs(&grant, out),
            Done::Digested { grant, to, digest } => self.send_grant(grant, to, digest, out),
            Done::Ran { instruction, value, took } => {
                self.tally.instructions += 1;
                self.tally.busy += took;
                let running = self.running.as_mut().expect("its instructions run");
                running.at_work.retain(|other| *other != instruction);
                self.store.put(running.launch.result(instruction.group), value);
                running.handle(Event::Ran { instruction, took: took.as_nanos() as u64 });
            }
            Done::Freed => {
                self.freeing -= 1;
                if self.freeing == 0 {
                    out.push(Action::Progress);
                }
            }
            Done::Failed(trouble) => self.fail(trouble, out),
        }
        self.go_on(out);
    }

    /// Handles the value that the creator of a block has made.
    fn made(&mut self, block: BlockId, value: Value, out: &mut Vec<Action>) {
        self.store.put(block, value.clone());
        if let Some(to) = self.requests.remove(&block) {
            let array = self.arrays.of(block).clone();
            out.push(Action::Work(Job::Encode { block, array, value, to }));
        }
        for instruction in self.waiting.remove(&block).unwrap_or_default() {
            let running = self.running.as_mut().expect("its instructions wait");
            let (_, missing) = running.incomplete.get_mut(&instruction).expect("it waits");
            *missing -= 1;
            if *missing == 0 {
                let (resolved, _) = running.incomplete.remove(&instruction).expect("it waits");
                self.start(instruction, resolved, out);
            }
        }
        out.push(Action::Progress);
    }

    /// Does all that is possible after an event.
    fn go_on(&mut self, out: &mut Vec<Action>) {
        while !self.is_over
            && let Some(running) = &mut self.running
        {
            if let Some(command) = running.commands.pop_front() {
                self.obey(command, out);
            } else if let Some((order, digest)) = running.orders.take() {
                running.resolving += 1;
                let launch = running.launch.clone();
                out.push(Action::Work(Job::Resolve { launch, grant: grant_of(order), digest: Some(digest) }));
            } else if let Some((to, order)) = running.dispatcher.as_mut().and_then(|own| own.dispatch.poll()) {
                let (launch, grant) = (running.launch.clone(), grant_of(order));
                running.resolving += u32::from(to == self.me);
                out.push(Action::Work(match to == self.me {
                    true => Job::Resolve { launch, grant, digest: None },
                    false => Job::Digest { launch, grant, to },
                }));
            } else {
                break;
            }
        }
        if !self.is_over && self.running.as_ref().is_some_and(Running::is_done) {
            let tell = |to| Action::Send { to, message: Message::Complete(self.entered), bytes: Bytes::new() };
            out.extend((0..self.parts.nodes()).filter(|to| *to != self.me).map(tell));
            self.complete(out);
        }
    }

    fn obey(&mut self, command: Command, out: &mut Vec<Action>) {
        let running = self.running.as_mut().expect("it has commands");
        match command {
            Command::Report(report) => match &mut running.dispatcher {
                Some(own) => own.dispatch.handle(self.me, report),
                None => {
                    let serial = running.reported;
                    running.reported += 1;
                    let message = Message::Report(InOrder { launch: self.entered, serial, message: report });
                    out.push(Action::Send { to: DISPATCHER, message, bytes: Bytes::new() });
                }
            },
            Command::Fetch { block, from } => {
                if self.store.expect(block) {
                    out.push(Action::Send { to: from, message: Message::Fetch(block), bytes: Bytes::new() });
                }
            }
            Command::Run(Task { instruction, .. }) => self.prepare(instruction, out),
            Command::Send { .. }
            | Command::SendPart { .. }
            | Command::Merge(_)
            | Command::DropPart(_)
            | Command::Drop(_) => unreachable!("a static launch without a budget has no {command:?}"),
        }
    }

    /// Sends a grant of the dispatcher.
    fn send_grant(&mut self, grant: Grant, to: Node, digest: u64, out: &mut Vec<Action>) {
        let launch = self.entered;
        let dispatcher = self.running.as_mut().and_then(|running| running.dispatcher.as_mut()).expect("it grants");
        let ordered = &mut dispatcher.ordered[to as usize];
        let message = Message::Order(InOrder { launch, serial: *ordered, message: (Order::Grant(grant), digest) });
        *ordered += 1;
        out.push(Action::Send { to, message, bytes: Bytes::new() });
    }

    fn differs(&mut self, Grant { what, .. }: &Grant, out: &mut Vec<Action>) {
        let launch = &self.running.as_ref().expect("its instructions wait").launch;
        let first = launch.show(Instruction { group: what.group, k: what.run.start });
        let what = match what.run.len() {
            1 => first,
            count => format!("{count} instructions, the first of them {first},"),
        };
        out.push(Action::Differ { what, site: launch.site.clone() });
        self.is_over = true;
    }

    /// Prepares an instruction: all copies that it reads are here. Own blocks may not have been made yet.
    fn prepare(&mut self, instruction: Instruction, out: &mut Vec<Action>) {
        let running = self.running.as_mut().expect("it has commands");
        let resolved = running.execute.program_mut().operands.remove(&instruction).expect("it was granted");
        let blocks = resolved.args.iter().filter_map(|arg| match arg {
            Arg::Block(place) if self.store.value(place.block).is_none() => Some(place.block),
            _ => None,
        });
        let missing: SmallVec<[BlockId; 4]> = blocks.collect();
        if missing.is_empty() {
            return self.start(instruction, resolved, out);
        }
        running.incomplete.insert(instruction, (resolved, missing.len()));
        for block in missing {
            assert!(self.is_own(block), "an instruction runs when its copies are here");
            self.waiting.entry(block).or_default().push(instruction);
            self.make(block, out);
        }
    }

    /// Runs an instruction, all of whose operands are here.
    fn start(&mut self, instruction: Instruction, Resolved { args, result }: Resolved, out: &mut Vec<Action>) {
        let cells = args.into_iter().enumerate().map(|(at, arg)| match arg {
            Arg::Block(place) if at == result => self.store.take(place.block),
            Arg::Block(place) => self.store.value(place.block).cloned(),
            Arg::Absent => None,
            Arg::Plain(value) => Some(value),
        });
        let cells = cells.collect();
        let running = self.running.as_mut().expect("its instructions are to run");
        running.at_work.push(instruction);
        out.push(Action::Work(Job::Run { launch: running.launch.clone(), instruction, cells, result }));
    }

    fn complete(&mut self, out: &mut Vec<Action>) {
        if let Some(running) = self.running.take() {
            self.free(vec![running.launch], out);
            self.copies = running.execute.into_copies();
            self.blocks = running.dispatcher.map_or_else(Vec::new, |own| own.dispatch.into_blocks());
            self.tally.launches += 1;
        }
        out.push(Action::Progress);
    }

    fn fail(&mut self, trouble: Trouble, out: &mut Vec<Action>) {
        if !std::mem::replace(&mut self.is_over, true) {
            out.push(Action::Fail(trouble));
        }
    }

    /// Lets a worker free values of the program, because their `Drop` is code of the program.
    fn free<V: Send + 'static>(&mut self, values: Vec<V>, out: &mut Vec<Action>) {
        self.freeing += 1;
        out.push(Action::Work(Job::Free(garbage(values))));
    }

    /// Returns true if workers have ended all `Free` jobs.
    pub(super) fn has_freed(&self) -> bool {
        self.freeing == 0
    }

    /// Ends the machine, and returns all values and closures of the program. The caller frees them outside the lock.
    pub(super) fn end(&mut self) -> [Garbage; 3] {
        self.is_over = true;
        let running = Vec::from_iter(self.running.take());
        [garbage(running), garbage(self.store.take_all()), garbage(std::mem::take(&mut self.arrays).into_vec())]
    }
}

fn grant_of(order: Order) -> Grant {
    match order {
        Order::Grant(grant) => grant,
        other => unreachable!("a static launch has no {other:?}"),
    }
}

/// The maximum number of instructions of a grant: the operands of all of them are found before the first one runs.
const MOST_OF_A_GRANT: u32 = 64;
