//! A rank of a super-program as a pure machine: messages and finished jobs in, messages and jobs out.

use crate::data::Block;
use crate::dispatch::{Config, Grant, Order, Report};
use crate::execute::{Copies, Event, Limits};
use crate::policy::Weights;
use crate::run::blocks::{Array, Arrays};
use crate::run::granted::Granted;
use crate::run::job::{Done, Garbage, Job, garbage};
use crate::run::launch::{Launch, Trouble};
use crate::run::message::{InOrder, Message, Moved, ToNode};
use crate::run::operand::Value;
use crate::run::report::Tally;
use crate::run::running::Running;
use crate::run::store::{Key, Slot, Store};
use crate::{BlockId, Dispatch, Execute, Instruction, Node, Parts, Policy};
use aurora_core::Site;
use aurora_core::object::{Malformed, Received};
use bytes::Bytes;
use std::any::TypeId;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

mod commands;

/// The rank that hands out instructions.
pub(in crate::run) const DISPATCHER: Node = 0;

/// An action that the caller carries out.
pub(in crate::run) enum Action {
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

/// The settings of a rank.
#[derive(Clone, Debug)]
pub(in crate::run) struct Setup {
    pub(in crate::run) me: Node,
    pub(in crate::run) parts: Parts,
    pub(in crate::run) policy: Policy,
    pub(in crate::run) limits: Limits,
    /// Identities are checked.
    pub(in crate::run) checks: bool,
}

/// All that the dispatcher of a launch needs.
pub(in crate::run) struct Start {
    parts: Parts,
    config: Config,
    weights: Weights,
    blocks: Vec<Block>,
}

/// A rank's part of a super-program.
pub(in crate::run) struct NodeState {
    me: Node,
    parts: Parts,
    policy: Policy,
    limits: Limits,
    checks: bool,
    arrays: Arrays,
    /// The host of each block between launches. During a launch, results may have other hosts.
    hosts: Arc<[Node]>,
    /// At the dispatcher, between launches.
    blocks: Vec<Block>,
    /// At the dispatcher: the threads of each rank, and the weights of the ranks for each function.
    workers: Vec<u32>,
    learnt: HashMap<TypeId, Weights>,
    /// At the dispatcher: the weights at the end of the last launch, each as a multiple of the largest.
    weights: Vec<f64>,
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
    /// Instructions that wait for a value that is being made.
    waiting: HashMap<Key, Vec<Instruction>>,
    /// The number of `Free` jobs that workers have not ended.
    freeing: u32,
    pub(in crate::run) tally: Tally,
    #[cfg(test)]
    pub(in crate::run) logs: Vec<super::replay::Log>,
}

impl NodeState {
    pub(in crate::run) fn new(Setup { me, parts, policy, limits, checks }: Setup) -> Self {
        let workers = vec![limits.running; parts.nodes() as usize];
        NodeState {
            me,
            policy,
            limits,
            checks,
            arrays: Arrays::default(),
            hosts: Arc::new([]),
            blocks: Vec::new(),
            learnt: HashMap::new(),
            weights: if me == DISPATCHER { Weights::new(parts.speeds(), &workers).relative() } else { Vec::new() },
            workers,
            parts,
            copies: Copies::new(None, 0),
            store: Store::default(),
            running: None,
            entered: 0,
            is_over: false,
            requests: HashMap::new(),
            waiting: HashMap::new(),
            freeing: 0,
            tally: Tally { workers: limits.running, ..Tally::default() },
            #[cfg(test)]
            logs: Vec::new(),
        }
    }

    /// Sets the number of threads of each rank.
    pub(in crate::run) fn set_workers(&mut self, workers: Vec<u32>) {
        self.workers = workers;
    }

    /// The weights at the end of the last launch; empty if another rank dispatches.
    pub(in crate::run) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Adds an array.
    pub(in crate::run) fn declare(&mut self, array: Arc<Array>) {
        // An array without blocks may have any number of rows.
        let matrix = if array.blocks.is_empty() { [0, 0] } else { array.matrix };
        let hosts: Vec<Node> = self.parts.owners_of(matrix).collect();
        if self.me == DISPATCHER {
            // A block has no value for the dispatcher until a launch writes it: any rank can make it.
            self.blocks.extend(hosts.iter().copied().map(Block::new));
        }
        self.hosts = self.hosts.iter().copied().chain(hosts).collect();
        self.arrays.push(array);
        self.copies.grow(self.arrays.blocks());
    }

    /// Creates the dispatcher of a launch. It is made outside the lock, because it takes a time in proportion to the
    /// groups.
    pub(in crate::run) fn dispatch(
        launch: Arc<Launch>,
        Start { parts, config, weights, blocks }: Start,
    ) -> Dispatch<Granted> {
        let mut dispatch = Dispatch::with_blocks(Granted::none(launch), parts, config, blocks);
        dispatch.set_weights(weights);
        dispatch
    }

    /// The start of a launch's dispatcher; `None` if another rank dispatches.
    pub(in crate::run) fn start_of(&mut self, launch: &Launch) -> Option<Start> {
        let Limits { running, in_flight, .. } = self.limits;
        let config = Config { seed: self.entered, ..Config::on_ranks(self.policy, running, in_flight) };
        let new = || Weights::new(self.parts.speeds(), &self.workers);
        (self.me == DISPATCHER).then(|| Start {
            parts: self.parts.clone(),
            config,
            weights: self.learnt.remove(&launch.function).unwrap_or_else(new),
            blocks: std::mem::take(&mut self.blocks),
        })
    }

    /// Enters the next launch, before other ranks begin it. Returns its number.
    pub(in crate::run) fn enter(
        &mut self,
        launch: Arc<Launch>,
        dispatch: Option<Dispatch<Granted>>,
        out: &mut Vec<Action>,
    ) -> u64 {
        launch.checks_next.store(self.checks, Ordering::Relaxed);
        let mut copies = std::mem::replace(&mut self.copies, Copies::new(None, 0));
        let mut old: Vec<Slot> = Vec::new();
        for block in launch.written().filter(|block| self.hosts[*block as usize] != self.me) {
            copies.forget(block);
            old.extend(self.store.forget(Key::Block(block)));
        }
        if !old.is_empty() {
            self.free(old, out);
        }
        let program = Granted::none(launch.clone());
        let execute = Execute::with_copies(self.me, program, &self.parts, self.hosts.clone(), self.limits, copies);
        self.running = Some(Running::new(launch, execute, dispatch, self.parts.nodes()));
        self.entered += 1;
        self.entered
    }

    /// Begins the launch, which all ranks know.
    pub(in crate::run) fn begin(&mut self, out: &mut Vec<Action>) {
        let Some(running) = &mut self.running else {
            // A rank without work: the launch is complete before it begins here.
            return;
        };
        running.begin();
        self.go_on(out);
    }

    /// Returns true if the launch with this number is complete on all ranks.
    pub(in crate::run) fn is_complete(&self, launch: u64) -> bool {
        self.entered > launch || self.running.is_none()
    }

    #[cfg(test)]
    pub(in crate::run) fn is_merging(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.merging > 0 || !running.to_merge.is_empty())
    }

    /// The oldest instruction that runs here, in words.
    pub(in crate::run) fn at_work(&self) -> Option<String> {
        let running = self.running.as_ref()?;
        running.at_work.first().map(|instruction| running.launch.show(*instruction))
    }

    /// The value of a block, if it is here.
    pub(in crate::run) fn value(&self, block: BlockId) -> Option<&Value> {
        self.store.value(Key::Block(block))
    }

    pub(in crate::run) fn is_own(&self, block: BlockId) -> bool {
        self.host(block) == self.me
    }

    pub(in crate::run) fn host(&self, block: BlockId) -> Node {
        self.hosts[block as usize]
    }

    /// Runs the creator of a block, unless it has run.
    pub(in crate::run) fn make(&mut self, block: BlockId, out: &mut Vec<Action>) {
        if self.store.expect(Key::Block(block)) {
            out.push(Action::Work(Job::Make { block, array: self.arrays.of(block).clone() }));
        }
    }

    /// Handles a message.
    ///
    /// # Errors
    /// The message makes no sense: another build has sent it.
    pub(in crate::run) fn message(
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
                if block >= self.arrays.blocks() || self.is_own(block) || !self.store.arrive(Key::Block(block)) {
                    return Err(Malformed);
                }
                self.decode(Key::Block(block), block, payload, out);
            }
            Message::Part(part) => {
                let launch = self.running.as_ref().map(|running| &running.launch);
                let is_of = |launch: &&Arc<Launch>| part.group < launch.groups() && launch.len(part.group) > 0;
                let launch = launch.filter(is_of).ok_or(Malformed)?;
                let (key, block) = (Key::Brought(part), launch.result(part.group));
                if from != part.from || !(self.store.expect(key) && self.store.arrive(key)) {
                    return Err(Malformed);
                }
                self.decode(key, block, payload, out);
            }
            Message::Merged(launch) => {
                let dispatcher = self.running.as_mut().and_then(|running| running.dispatcher.as_mut());
                let dispatcher = dispatcher.filter(|own| launch == self.entered && own.unmerged > 0);
                dispatcher.ok_or(Malformed)?.unmerged -= 1;
            }
            Message::Report(report) => self.reported(from, report)?,
            Message::Order(order) => self.receive_order(from, order, &payload)?,
        }
        self.go_on(out);
        Ok(())
    }

    /// Decodes a value of a block that has arrived.
    fn decode(&mut self, key: Key, block: BlockId, bytes: Received, out: &mut Vec<Action>) {
        self.tally.loads += 1;
        self.tally.bytes += bytes.bytes().len() as u64;
        out.push(Action::Work(Job::Decode { key, block, array: self.arrays.of(block).clone(), bytes }));
    }

    /// Answers a rank that asks for a block of this rank. A rank that asks for a result of the launch becomes its host.
    fn serve(&mut self, block: BlockId, by: Node, out: &mut Vec<Action>) -> Result<(), Malformed> {
        if block >= self.arrays.blocks() || !self.is_own(block) {
            return Err(Malformed);
        }
        let floats = self.running.as_ref().is_some_and(|running| running.launch.writes(block));
        match self.store.get(Key::Block(block)) {
            Some(Slot::Here(value)) => {
                let (array, value) = (self.arrays.of(block).clone(), value.clone());
                if floats {
                    self.store.take(Key::Block(block));
                }
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

    /// Handles a message of the dispatcher. One of an earlier launch is late and ignored.
    fn receive_order(&mut self, from: Node, order: InOrder<ToNode>, payload: &Received) -> Result<(), Malformed> {
        let makes_sense = from == DISPATCHER && from != self.me;
        let moved: Moved = match &order.message {
            ToNode::Complete => postcard::from_bytes(payload.bytes()).map_err(|_| Malformed)?,
            ToNode::Order(..) => Moved::new(),
        };
        let exists = |(block, node): &(BlockId, Node)| *block < self.arrays.blocks() && *node < self.parts.nodes();
        if !moved.iter().all(exists) {
            return Err(Malformed);
        }
        match &mut self.running {
            Some(running) if makes_sense && order.launch == self.entered => running.put(self.me, order, moved),
            _ if makes_sense && order.launch < self.entered => Ok(()),
            _ => Err(Malformed),
        }
    }

    /// Handles the end of a job.
    pub(in crate::run) fn done(&mut self, done: Done, out: &mut Vec<Action>) {
        if self.is_over {
            return;
        }
        match done {
            Done::Made { key, value } => self.made(key, value, out),
            Done::Encoded { message, to, bytes } => {
                let bytes = Bytes::from(bytes);
                let send = |to| Action::Send { to, message: message.clone(), bytes: bytes.clone() };
                out.extend(to.into_iter().map(send));
            }
            Done::Decoded { key, value } => {
                self.store.put(key, value);
                self.running.as_mut().expect("it waits for the value").handle(match key {
                    Key::Block(block) => Event::Arrived(block),
                    Key::Brought(part) => Event::Brought(part),
                    Key::Part(_) => unreachable!("a partial result arrives as a brought one"),
                });
            }
            Done::Merged { group, value } => {
                self.tally.merges += 1;
                let running = self.running.as_mut().expect("it waits for the merge");
                running.merging -= 1;
                match &mut running.dispatcher {
                    Some(own) => own.unmerged -= 1,
                    None => {
                        let message = Message::Merged(self.entered);
                        out.push(Action::Send { to: DISPATCHER, message, bytes: Bytes::new() });
                    }
                }
                self.store.put(Key::Block(running.launch.result(group)), value);
                self.merge(out);
            }
            Done::Resolved { grant, operands } => {
                let running = self.running.as_mut().expect("its instructions wait");
                running.resolving -= 1;
                running.execute.program_mut().operands.extend(operands);
                running.handle(Event::Order(Order::Grant(grant)));
            }
            Done::Differs(grant) => self.differs(&grant, out),
            Done::Digested { grant, to, digest } => {
                self.send_to_node(to, ToNode::Order(Order::Grant(grant), digest), Bytes::new(), out);
            }
            Done::Ran { instruction, key, value, took } => {
                self.tally.instructions += 1;
                self.tally.busy += took;
                let running = self.running.as_mut().expect("its instructions run");
                running.at_work.retain(|other| *other != instruction);
                self.store.put(key, value);
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

    /// Handles a value that has been made.
    fn made(&mut self, key: Key, value: Value, out: &mut Vec<Action>) {
        self.store.put(key, value.clone());
        if let Key::Block(block) = key
            && let Some(to) = self.requests.remove(&block)
        {
            let array = self.arrays.of(block).clone();
            out.push(Action::Work(Job::Encode { block, array, value, to }));
        }
        for instruction in self.waiting.remove(&key).unwrap_or_default() {
            let running = self.running.as_mut().expect("its instructions wait");
            let (.., missing) = running.incomplete.get_mut(&instruction).expect("it waits");
            *missing -= 1;
            if *missing == 0 {
                let (task, resolved, _) = running.incomplete.remove(&instruction).expect("it waits");
                self.start(&task, resolved, out);
            }
        }
        out.push(Action::Progress);
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

    fn complete(&mut self, out: &mut Vec<Action>) {
        if let Some(running) = self.running.take() {
            self.copies = running.execute.into_copies();
            let mut old: Vec<Slot> = Vec::new();
            for (block, host) in running.moved.unwrap_or_default() {
                if self.is_own(block) {
                    old.extend(self.store.forget(Key::Block(block)));
                }
                Arc::make_mut(&mut self.hosts)[block as usize] = host;
            }
            if !old.is_empty() {
                self.free(old, out);
            }
            if let Some(own) = running.dispatcher {
                self.weights = own.dispatch.weights().relative();
                self.learnt.insert(running.launch.function, own.dispatch.weights_for_the_next());
                #[cfg(test)]
                self.logs.push(own.log);
                self.blocks = own.dispatch.into_blocks();
            }
            self.free(vec![running.launch], out);
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
    pub(in crate::run) fn has_freed(&self) -> bool {
        self.freeing == 0
    }

    /// Ends the machine, and returns all values and closures of the program. The caller frees them outside the lock.
    pub(in crate::run) fn end(&mut self) -> [Garbage; 3] {
        self.is_over = true;
        let running = Vec::from_iter(self.running.take());
        [garbage(running), garbage(self.store.take_all()), garbage(std::mem::take(&mut self.arrays).into_vec())]
    }
}
