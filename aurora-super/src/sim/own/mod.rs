//! Own mode: nodes that fetch ahead, links that take time, a dispatcher that takes one message after the other, nodes
//! that become slow or are lost. With other settings it is the machine of S0 (see [`Case`](super::Case)).

mod cores;
mod outcome;
mod setting;
mod site;

pub use outcome::OwnOutcome;
pub use setting::{Loss, OwnSetting, SlowDown};

use super::event_queue::EventQueue;
use super::link::Ports;
use super::setting::SettingError;
use crate::dispatch::{Order, Part, Report};
use crate::execute::{Command, Event, Task, owners};
use crate::{BlockId, Dispatch, Node, Parts, Product, Program};
use outcome::Tally;
use site::Site;
use std::sync::Arc;

/// Simulates one run in own mode: with links, prefetching and a dispatcher that takes time.
///
/// # Errors
/// [`SettingError`] if the setting cannot be simulated.
///
/// ```
/// use aurora_super::Policy;
/// use aurora_super::sim::{Loss, OwnSetting, own};
///
/// let mut setting = OwnSetting::new(Policy::TAIL, vec![1.0; 8], 1);
/// let whole = own(&setting)?;
/// setting.losses.push(Loss { node: 3, at: whole.common.makespan / 2.0, noticed_after: 10_000.0 });
/// let broken = own(&setting)?;
/// // Compare makespans, not efficiencies: instructions that run again count as computed.
/// assert!(broken.repeated > 0 && broken.common.makespan > whole.common.makespan);
/// # Ok::<(), aurora_super::sim::SettingError>(())
/// ```
pub fn own(setting: &OwnSetting) -> Result<OwnOutcome, SettingError> {
    setting.check()?;
    let mut machine = Machine::new(setting);
    machine.begin();
    while let Some((now, event)) = machine.queue.take() {
        machine.now = now;
        machine.process(event);
    }
    Ok(machine.outcome())
}

struct Machine<'a> {
    setting: &'a OwnSetting,
    now: f64,
    queue: EventQueue<SimEvent>,
    dispatch: Dispatch<Product>,
    /// The time at which the dispatcher has handled all that has reached it.
    dispatcher: f64,
    sites: Vec<Site>,
    ports: Ports,
    tally: Tally,
    wanted: Vec<Command>,
    /// The initial owner of each block.
    owners: Arc<[Node]>,
}

enum SimEvent {
    /// A report reaches the dispatcher.
    Report(Node, Report),
    /// An order reaches a node.
    Order(Node, Order),
    /// A request for a block reaches its host.
    Request { block: BlockId, by: Node, host: Node },
    /// The first packet of a transfer reaches the port to its receiver.
    Head(Transfer),
    /// All of the transfer has arrived.
    Whole(Transfer),
    /// An instruction has left its core.
    Ran(Node, Task),
    /// The modifier of an instruction is merged on another node.
    Confirmed(Node, Task),
    /// A node is lost.
    Lost(Node),
    /// The dispatcher learns of the loss of a node.
    Noticed(Node),
}

struct Transfer {
    from: Node,
    to: Node,
    /// The time at which all of it has left its sender.
    left: f64,
    content: Content,
}

#[derive(Clone, Copy)]
enum Content {
    Block(BlockId),
    Part(Part),
    /// The contribution of an instruction to a result on another node.
    Modifier(Task),
}

impl<'a> Machine<'a> {
    fn new(setting: &'a OwnSetting) -> Self {
        let parts = Parts::by_speed(&setting.speeds).expect("it was checked");
        let owners = owners(&setting.program, &parts);
        let site = |node| Site::new(node, setting, &parts, owners.clone());
        Machine {
            setting,
            now: 0.0,
            queue: EventQueue::new(),
            sites: (0..parts.nodes()).map(site).collect(),
            ports: Ports::new(setting.link, parts.nodes()),
            dispatch: Dispatch::new(setting.program, parts, setting.dispatch),
            dispatcher: 0.0,
            tally: Tally::default(),
            wanted: Vec::new(),
            owners,
        }
    }

    fn begin(&mut self) {
        for loss in &self.setting.losses {
            self.queue.schedule(loss.at, SimEvent::Lost(loss.node));
        }
        for node in 0..self.sites.len() as Node {
            let mut wanted = std::mem::take(&mut self.wanted);
            self.sites[node as usize].execute.begin(&mut wanted);
            self.perform(node, wanted);
        }
    }

    fn process(&mut self, event: SimEvent) {
        match event {
            SimEvent::Report(node, report) => self.report(node, report),
            SimEvent::Order(node, order) => self.order(node, order),
            SimEvent::Request { host, .. } if self.is_lost(host) => {}
            SimEvent::Request { block, by, host } => self.deliver(host, Event::Wanted { block, by }),
            SimEvent::Head(transfer) => {
                let end = self.ports.enter(self.now, transfer.to, self.bytes(transfer.content));
                self.queue.schedule(end, SimEvent::Whole(transfer));
            }
            SimEvent::Whole(transfer) => self.arrive(transfer),
            SimEvent::Ran(node, _) | SimEvent::Confirmed(node, _) if self.is_lost(node) => {}
            SimEvent::Ran(node, task) => self.ran(node, task),
            SimEvent::Confirmed(node, task) => self.deliver(node, Event::Confirmed(task)),
            SimEvent::Lost(node) => self.lose(node),
            SimEvent::Noticed(node) => self.dispatch(|dispatch| dispatch.lose(node)),
        }
    }

    /// The dispatcher does something, in its turn, and gives its orders.
    fn dispatch(&mut self, act: impl FnOnce(&mut Dispatch<Product>)) {
        self.dispatcher = self.dispatcher.max(self.now) + self.setting.dispatcher;
        act(&mut self.dispatch);
        while let Some((node, order)) = self.dispatch.poll() {
            self.tally.messages += 1;
            self.dispatcher += self.setting.dispatcher;
            if let Order::Merge { part, .. } = order {
                self.tally.begin_merge(self.dispatcher, part.group);
            }
            self.queue.schedule(self.dispatcher + self.setting.link.message, SimEvent::Order(node, order));
        }
    }

    fn report(&mut self, node: Node, report: Report) {
        self.tally.messages += 1;
        let changes = report != Report::Ask;
        self.dispatch(|dispatch| dispatch.handle(node, report));
        if changes {
            self.tally.end = self.tally.end.max(self.dispatcher);
        }
    }

    fn order(&mut self, node: Node, mut order: Order) {
        if self.is_lost(node) {
            return;
        }
        if let Order::Grant(grant) = &mut order
            && self.setting.results_stay
        {
            grant.result_at = self.owners[self.setting.program.result(grant.what.group) as usize];
        }
        self.deliver(node, Event::Order(order));
    }

    /// Passes an event to a node, and carries out its commands.
    fn deliver(&mut self, node: Node, event: Event) {
        let mut wanted = std::mem::take(&mut self.wanted);
        let execute = &mut self.sites[node as usize].execute;
        let before = execute.in_flight();
        execute.handle(event, &mut wanted);
        self.tally.live(self.now, before, execute.in_flight());
        self.sites[node as usize].wait(self.now);
        self.perform(node, wanted);
    }

    fn perform(&mut self, node: Node, mut wanted: Vec<Command>) {
        let message = self.now + self.setting.link.message;
        for command in wanted.drain(..) {
            match command {
                Command::Report(report) => self.queue.schedule(message, SimEvent::Report(node, report)),
                Command::Fetch { block, from } => {
                    self.tally.loads += 1;
                    self.sites[node as usize].ask(self.now, block);
                    self.queue.schedule(message, SimEvent::Request { block, by: node, host: from });
                }
                Command::Run(task) => self.sites[node as usize].cores.push(task),
                Command::Send { block, to } => self.send(node, to, Content::Block(block)),
                Command::SendPart { part, to } => self.send(node, to, Content::Part(part)),
                Command::Merge(part) => self.merge(node, part),
                Command::SendModifier { task, to } => {
                    self.tally.modifiers += 1;
                    self.send(node, to, Content::Modifier(task));
                }
                // That of its own instruction costs a node nothing.
                Command::MergeModifier { by, .. } if by == node => {}
                Command::MergeModifier { .. } => self.charge(node, self.setting.merging),
                Command::Confirm { task, to } => self.queue.schedule(message, SimEvent::Confirmed(to, task)),
                Command::DropPart(_) | Command::Drop(_) => {}
            }
        }
        self.wanted = wanted;
        self.compute(node);
    }

    /// Lets free cores begin waiting instructions.
    fn compute(&mut self, node: Node) {
        let (now, setting) = (self.now, self.setting);
        let work = |task: Task| setting.cost.of(&setting.program, task.instruction);
        while let Some(running) = self.sites[node as usize].cores.begin(now, work) {
            self.queue.schedule(running.end, SimEvent::Ran(node, running.task));
        }
    }

    fn ran(&mut self, node: Node, task: Task) {
        let running = self.sites[node as usize].cores.end(self.now, task);
        self.tally.executed += 1;
        self.tally.computed += running.work;
        self.tally.time += running.time();
        // A unit is 1 us.
        let took = (running.time() * 1000.0) as u64;
        self.deliver(node, Event::Ran { instruction: task.instruction, took });
    }

    fn send(&mut self, from: Node, to: Node, content: Content) {
        self.charge(from, self.setting.link.sending);
        let leaving = self.ports.leave(self.now, from, self.bytes(content));
        self.queue.schedule(leaving.head, SimEvent::Head(Transfer { from, to, left: leaving.left, content }));
    }

    fn bytes(&self, content: Content) -> u32 {
        if let Content::Block(_) = content { self.setting.bytes } else { self.setting.result_bytes }
    }

    fn arrive(&mut self, Transfer { from, to, left, content }: Transfer) {
        if self.is_lost(to) {
            return;
        }
        if self.sites[from as usize].lost_at.is_some_and(|lost_at| lost_at < left) {
            return;
        }
        self.charge(to, self.setting.link.receiving);
        match content {
            Content::Block(block) => {
                if let Some(asked_at) = self.sites[to as usize].answer(block) {
                    self.tally.arrived += 1;
                    self.tally.load_time += self.now - asked_at;
                }
                self.deliver(to, Event::Arrived(block));
            }
            Content::Part(part) => self.deliver(to, Event::Brought(part)),
            Content::Modifier(task) => self.deliver(to, Event::Modifier { task, by: from }),
        }
    }

    fn merge(&mut self, node: Node, part: Part) {
        self.charge(node, self.setting.merging);
        let merged = self.sites[node as usize].cores.paid_at(self.now);
        self.tally.end = self.tally.end.max(merged);
        self.tally.merge(merged, part.group);
    }

    /// Charges a node the work of a block.
    fn charge(&mut self, node: Node, units: f64) {
        self.tally.communicated += units;
        self.sites[node as usize].cores.charge(self.now, units);
    }

    fn lose(&mut self, node: Node) {
        if self.dispatch.is_done() {
            return;
        }
        let loss = self.setting.losses.iter().find(|loss| loss.node == node).expect("it is to be lost");
        self.queue.schedule(self.now + loss.noticed_after, SimEvent::Noticed(node));
        let site = &mut self.sites[node as usize];
        site.lost_at = Some(self.now);
        let broken = site.cores.lose(self.now);
        self.tally.computed += broken.computed;
        self.tally.communicated -= broken.unpaid;
        self.tally.live(self.now, site.execute.in_flight(), 0);
    }

    fn is_lost(&self, node: Node) -> bool {
        self.sites[node as usize].lost_at.is_some()
    }

    fn outcome(mut self) -> OwnOutcome {
        assert!(self.dispatch.is_done(), "nothing happens any more when all is done");
        let paid = self.sites.iter().map(|site| site.cores.rest());
        self.tally.end = paid.fold(self.tally.end, f64::max);
        let end = self.tally.end;
        let capacity = self.sites.iter().map(|site| site.cores.capacity(site.lost_at.unwrap_or(end))).sum();
        self.tally.waited = self.sites.iter().map(|site| site.cores.waited()).sum();
        self.tally.outcome(self.sites.len(), capacity, self.setting.program.instructions())
    }
}

#[cfg(test)]
mod tests;
