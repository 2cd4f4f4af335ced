//! Paper mode: the machine of S2 section 4.
//!
//! A node that becomes free asks, gets one instruction, loads the operands that it lacks, computes, and asks again.
//! Dispatching takes no time, and nothing is fetched ahead. A node that sends a block pays for it before its own next
//! instruction.

use super::setting::{Outcome, Setting, SettingError, Transfers, shares};
use crate::dispatch::{Config, Order};
use crate::execute::{Command, Event, Limits, Task, owners};
use crate::{BlockId, Dispatch, Execute, Node, Parts, Product, Program};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Simulates one run in paper mode, on the machine of S2 section 4.
///
/// # Errors
/// [`SettingError`] if the setting cannot be simulated.
pub fn paper(setting: &Setting) -> Result<Outcome, SettingError> {
    setting.check()?;
    let mut machine = Machine::new(setting);
    for node in 0..machine.nodes.len() as Node {
        machine.nodes[node as usize].begin(&mut machine.wanted);
        machine.note(node);
        machine.act(node);
    }
    while let Some(Reverse((_, node))) = machine.free_at.pop() {
        machine.finish(node);
    }
    Ok(machine.outcome())
}

struct Machine<'a> {
    setting: &'a Setting,
    parts: Parts,
    dispatch: Dispatch<Product>,
    nodes: Vec<Execute<Product>>,
    clocks: Vec<Clock>,
    /// The times at which running instructions end, and their nodes. Times are not negative, so the order of their bits
    /// is their order.
    free_at: BinaryHeap<Reverse<(u64, Node)>>,
    wanted: Vec<Command>,
    to_do: VecDeque<(Node, Command)>,
    loads: u64,
    instructions: u64,
}

/// A node's time, in units of speed 1.
#[derive(Clone, Debug, Default)]
struct Clock {
    now: f64,
    computed: f64,
    communicated: f64,
    /// The cost of blocks that it has sent and not paid for yet.
    owed: f64,
    runs: Option<Task>,
}

impl Clock {
    fn communicate(&mut self, time: f64) {
        self.now += time;
        self.communicated += time;
    }

    fn pay(&mut self) {
        let owed = std::mem::take(&mut self.owed);
        self.communicate(owed);
    }
}

impl<'a> Machine<'a> {
    fn new(setting: &'a Setting) -> Self {
        let parts = Parts::by_speed(&setting.speeds).expect("it was checked");
        let owners = owners(&setting.program, &parts);
        let config = Config { seed: setting.seed, ..Config::new(setting.policy) };
        let node = |node| Execute::new(node, setting.program, &parts, owners.clone(), Limits::ONE);
        let nodes: Vec<_> = (0..parts.nodes()).map(node).collect();
        Machine {
            setting,
            clocks: vec![Clock::default(); nodes.len()],
            dispatch: Dispatch::new(setting.program, parts.clone(), config),
            parts,
            nodes,
            free_at: BinaryHeap::new(),
            wanted: Vec::new(),
            to_do: VecDeque::new(),
            loads: 0,
            instructions: 0,
        }
    }

    /// Ends the instruction that a node runs. The node goes on.
    fn finish(&mut self, node: Node) {
        let clock = &mut self.clocks[node as usize];
        clock.pay();
        let task = clock.runs.take().expect("it ran something");
        self.instructions += 1;
        self.deliver(node, Event::Ran { instruction: task.instruction, took: 0 });
        self.act(node);
    }

    /// Passes an event to a node, and notes its commands.
    fn deliver(&mut self, node: Node, event: Event) {
        self.nodes[node as usize].handle(event, &mut self.wanted);
        self.note(node);
    }

    fn note(&mut self, node: Node) {
        self.to_do.extend(self.wanted.drain(..).map(|command| (node, command)));
    }

    /// Carries out the commands of a node, and the commands that follow at other nodes.
    fn act(&mut self, node: Node) {
        let now = self.clocks[node as usize].now;
        loop {
            while let Some((node, command)) = self.to_do.pop_front() {
                self.perform(node, command);
            }
            // One order after the other: a block that a node loads for one order may save the next node a load.
            let Some((to, order)) = self.dispatch.poll() else {
                return;
            };
            if matches!(order, Order::Grant(_)) {
                // It may have waited for this moment.
                let clock = &mut self.clocks[to as usize];
                clock.now = clock.now.max(now);
            }
            self.deliver(to, Event::Order(order));
        }
    }

    fn perform(&mut self, node: Node, command: Command) {
        match command {
            Command::Report(report) => self.dispatch.handle(node, report),
            Command::Fetch { block, from } => {
                self.load(node, block, from);
                self.deliver(node, Event::Arrived(block));
            }
            Command::Run(task) => self.run(node, task),
            Command::SendPart { part, to } => {
                // It was paid for when its node joined.
                self.deliver(to, Event::Brought(part));
            }
            // A modifier costs nothing.
            Command::SendModifier { task, to } => self.deliver(to, Event::Modifier { task, by: node }),
            Command::Confirm { task, to } => self.deliver(to, Event::Confirmed(task)),
            Command::Send { .. } | Command::Merge(_) | Command::MergeModifier { .. } => {}
            Command::DropPart(_) | Command::Drop(_) => {}
        }
    }

    fn load(&mut self, node: Node, block: BlockId, from: Node) {
        self.loads += 1;
        self.pay_both(node, from);
        if self.setting.transfers == Transfers::Multicast {
            for other in self.sharers(node, block).filter(|other| *other != node) {
                if !self.nodes[other as usize].has(block) {
                    self.clocks[other as usize].owed += self.cost(other);
                    self.deliver(other, Event::Arrived(block));
                }
            }
        }
    }

    /// Charges the transfer of a block: `node` receives it and pays at once, `from` sends it and pays later.
    fn pay_both(&mut self, node: Node, from: Node) {
        let (receiving, sending) = (self.cost(node), self.cost(from));
        self.clocks[node as usize].communicate(receiving);
        self.clocks[from as usize].owed += sending;
    }

    /// Returns the time that a block costs a node.
    fn cost(&self, node: Node) -> f64 {
        self.setting.load / self.speed(node)
    }

    /// Returns the nodes that need this block under a static map if `node` does: its grid row for a block of A, its
    /// grid column for a block of B, in the grid of nodes that cuts the results.
    fn sharers(&self, node: Node, block: BlockId) -> impl Iterator<Item = Node> + use<> {
        let (rows, columns) = self.setting.program.grid();
        let (rows, columns) = self.parts.grid_for([rows, columns]);
        let (row, column) = (node / columns, node % columns);
        let of_rows = block < self.setting.program.shared_by_columns();
        let count = if of_rows { columns } else { rows };
        (0..count).map(move |at| if of_rows { row * columns + at } else { at * columns + column })
    }

    fn run(&mut self, node: Node, task: Task) {
        if task.joins {
            self.pay_both(node, task.result_at);
        }
        let time = self.setting.cost.of(&self.setting.program, task.instruction) / self.speed(node);
        let clock = &mut self.clocks[node as usize];
        clock.now += time;
        clock.computed += time;
        clock.runs = Some(task);
        self.free_at.push(Reverse((clock.now.to_bits(), node)));
    }

    fn speed(&self, node: Node) -> f64 {
        self.setting.speeds[node as usize]
    }

    fn outcome(mut self) -> Outcome {
        self.clocks.iter_mut().for_each(Clock::pay);
        let makespan = self.clocks.iter().map(|clock| clock.now).fold(0.0, f64::max);
        let all = self.setting.speeds.iter().sum::<f64>() * makespan;
        let sum = |of: fn(&Clock) -> f64| -> f64 {
            self.setting.speeds.iter().zip(&self.clocks).map(|(speed, clock)| speed * of(clock)).sum()
        };
        let [imbalance, communication, efficiency] =
            shares(all, sum(|clock| clock.communicated), sum(|clock| clock.computed));
        let (loads, instructions) = (self.loads, self.instructions);
        assert!(self.dispatch.is_done(), "nodes stop when all is done");
        Outcome { makespan, imbalance, communication, efficiency, loads, instructions }
    }
}
