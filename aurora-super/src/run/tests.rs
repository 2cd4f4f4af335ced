//! Ranks of a super-program with messages and jobs on their way between them. Any of these may be the next.

use super::blocks::{Array, Arrays};
use super::job::{Done, Job};
use super::launch::{Context, Launch};
use super::message::{InOrder, Message, ToNode};
use super::node::{Action, NodeState, Setup};
use super::operand::{At, Merge, Place, Update};
use crate::Super;
use crate::data::Privilege;
use crate::dispatch::{Grant, Order, Part, Report, Run};
use crate::execute::Limits;
use crate::policy::{Pace, Version};
use crate::{BlockId, Node, Parts, Policy, Random};
use aurora_core::object::Received;
use aurora_core::{Config, Site};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::sync::Arc;

/// A block lists the instructions that have written it, and the lists that these instructions have read.
#[derive(Clone, Serialize, Deserialize)]
struct Log(Vec<u64>, Code);

impl Log {
    fn new(first: u32) -> Self {
        Log(vec![u64::from(first)], Code::new())
    }
}

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
    /// A panic would be caught: the free of a captured value is shielded.
    static RAN_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// A value of the program. It is made, copied and freed outside the machines, which run under a lock.
#[derive(Serialize, Deserialize)]
struct Code;

impl Code {
    fn new() -> Self {
        RAN_INSIDE.set(RAN_INSIDE.get() || IS_INSIDE.get());
        Code
    }
}

impl Clone for Code {
    fn clone(&self) -> Self {
        Code::new()
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        std::mem::forget(Code::new());
    }
}

const ARRAY: u32 = 6;

/// Ranks, and the messages and jobs on their way between them.
struct Cluster {
    nodes: Vec<NodeState>,
    messages: Vec<(Node, Node, Message, Vec<u8>)>,
    jobs: Vec<(Node, Job)>,
    random: Random,
}

impl Cluster {
    fn new(ranks: u32, workers: u32, in_flight: u32, policy: Policy, seed: u64) -> Self {
        let limits = match policy.pace {
            Pace::Steps => Limits::ONE,
            Pace::Asynchronous => Limits { running: workers, in_flight: workers.max(in_flight), budget: None },
        };
        let parts = Parts::by_speed(&vec![1.0; ranks as usize]).expect("there are ranks");
        let node = |me| NodeState::new(Setup { me, parts: parts.clone(), policy, limits, checks: me % 2 == 1 });
        let nodes = (0..ranks).map(node).collect();
        Cluster { nodes, messages: Vec::new(), jobs: Vec::new(), random: Random::new(seed) }
    }

    fn take(&mut self, node: Node, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send { to, message, bytes } => self.messages.push((node, to, message, bytes.to_vec())),
                Action::Work(job) => self.jobs.push((node, job)),
                Action::Progress => {}
                Action::Fail(trouble) => panic!("{trouble:?}"),
                Action::Differ { what, .. } => panic!("{what} differs"),
            }
        }
    }

    fn act(&mut self, node: Node, act: impl FnOnce(&mut NodeState, &mut Vec<Action>)) {
        let mut actions = Vec::new();
        IS_INSIDE.set(true);
        act(&mut self.nodes[node as usize], &mut actions);
        IS_INSIDE.set(false);
        assert!(!RAN_INSIDE.take(), "code of the program runs inside a machine");
        self.take(node, actions);
    }

    /// Delivers one message or runs one job. False: there is none.
    fn step(&mut self) -> bool {
        let count = self.messages.len() + self.jobs.len();
        if count == 0 {
            return false;
        }
        let next = self.random.below(count);
        match next.checked_sub(self.messages.len()) {
            None => {
                let (from, to, message, bytes) = self.messages.swap_remove(next);
                let bytes = Received::Bytes(bytes);
                self.act(to, |node, out| node.message(from, message, bytes, out).expect("it makes sense"));
            }
            Some(job) => {
                let (node, job) = self.jobs.swap_remove(job);
                let done = job.run();
                assert!(!matches!(done, Done::Failed(_)));
                self.act(node, |node, out| node.done(done, out));
            }
        }
        true
    }

    /// Calls a function for all ranks in any order, with some steps between the calls.
    fn in_any_order(&mut self, mut act: impl FnMut(&mut Self, Node)) {
        let mut ranks: Vec<Node> = (0..self.nodes.len() as Node).collect();
        while !ranks.is_empty() {
            let next = self.random.below(ranks.len());
            let node = ranks.swap_remove(next);
            act(self, node);
            for _ in 0..self.random.below(5) {
                self.step();
            }
        }
    }

    /// Runs a launch. Messages of the last launch may still be on their way, and some of this launch are at the end.
    fn launch(&mut self, launch: impl Fn() -> Launch) {
        let mut numbers = vec![0; self.nodes.len()];
        self.in_any_order(|cluster, node| {
            let (launch, of) = (Arc::new(launch()), &mut cluster.nodes[node as usize]);
            let dispatch = of.start_of(&launch).map(|start| NodeState::dispatch(launch.clone(), start));
            cluster.act(node, |of, out| numbers[node as usize] = of.enter(launch, dispatch, out));
        });
        self.in_any_order(|cluster, node| cluster.act(node, NodeState::begin));
        while !self.nodes.iter().zip(&numbers).all(|(node, number)| node.is_complete(*number)) {
            assert!(self.step(), "nothing is under way, and the launch is not complete");
            let is_over = self.nodes.iter().zip(&numbers).any(|(node, number)| node.is_complete(*number));
            assert!(!is_over || !self.nodes.iter().any(NodeState::is_merging), "a result is not whole yet");
        }
    }
}

/// All policies with all versions that ranks know.
fn policies() -> Vec<Policy> {
    let versions = [Version::Simple, Version::Distributed, Version::Mixture];
    let schedules = versions.into_iter().flat_map(|version| {
        let tail = Policy { version, ..Policy::ECT };
        [Policy::schedule(false, version), Policy::schedule(true, version), tail]
    });
    Policy::ALL.iter().map(|(_, policy)| *policy).chain(schedules).collect()
}

/// A random launch: the blocks of one array that groups write, and the blocks of the other that they read.
#[derive(Clone, Debug)]
struct Chance {
    updates: bool,
    steps: Vec<u32>,
    writes: Vec<u32>,
    reads: Vec<u32>,
}

fn chances() -> impl Strategy<Value = Vec<Chance>> {
    let chance = (1_usize..8).prop_flat_map(|groups| {
        let lines = |most| prop::collection::vec(0..most, groups);
        (any::<bool>(), prop_oneof![lines(4_u32), lines(1)], lines(ARRAY), lines(ARRAY))
            .prop_map(|(updates, steps, writes, reads)| Chance { updates, steps, writes, reads })
    });
    prop::collection::vec(chance, 1..5)
}

fn at(array: u32, block: u32) -> At<Log> {
    At::new(Place { block: array * ARRAY + block, array, program: 0 })
}

fn prepared(chance: &Chance, turn: u32, arrays: &Arrays) -> Launch {
    let (one, other) = (chance.clone(), chance.clone());
    let (captured, also_captured) = (Code, Code);
    let operands = move |group: u32, step: u32| {
        let read = at(turn % 2, (one.reads[group as usize] + step) % ARRAY);
        let me = u64::from(turn * 1000 + group * 10 + step);
        (read, super::Val((me, captured.clone())), at(1 - turn % 2, one.writes[group as usize]))
    };
    let function = move |read: &Log, super::Val((me, _)): super::Val<(u64, Code)>, write: &mut Log| {
        let _captured = &also_captured;
        let seen = all_seen(me, &read.0, &write.0);
        write.0.push(seen);
    };
    let update = |read: &Log, super::Val((me, _)): super::Val<(u64, Code)>, write: &mut Update<Log, All>| {
        write.0.push(all_seen(me, &read.0, &[]));
    };
    let groups = chance.steps.len() as u32;
    let steps = move |group: u32| other.steps[group as usize];
    let context = Context { arrays: arrays.clone(), program: 0 };
    let launch = match chance.updates {
        true => Launch::new(context, (groups, steps), update, operands, Site::here()),
        false => Launch::new(context, (groups, steps), function, operands, Site::here()),
    };
    launch.expect("a launch without fault")
}

/// A number that depends on all values that were read and written before. Updates may have any order in a list.
fn all_seen(me: u64, read: &[u64], write: &[u64]) -> u64 {
    let mut all = [read, write].concat();
    all.sort_unstable();
    all.iter().fold(me, |seen, more| seen.wrapping_mul(31).wrapping_add(*more))
}

/// Lists, one after the other.
struct All;

impl Merge<Log> for All {
    fn identity(_: &Log) -> Log {
        Log(Vec::new(), Code::new())
    }

    fn merge(into: &mut Log, part: Log) {
        into.0.extend(&part.0);
    }
}

/// All blocks after these launches, on one rank.
fn sequential(chances: &[Chance], arrays: &Arrays) -> Vec<Vec<u64>> {
    let mut blocks: Vec<Vec<u64>> = (0..2 * ARRAY).map(|block| vec![u64::from(block)]).collect();
    for (turn, chance) in (0..).zip(chances) {
        let launch = prepared(chance, turn, arrays);
        for group in 0..chance.steps.len() as u32 {
            for step in 0..chance.steps[group as usize] {
                let read = &blocks[((turn % 2) * ARRAY + (chance.reads[group as usize] + step) % ARRAY) as usize];
                let write = ((1 - turn % 2) * ARRAY + chance.writes[group as usize]) as usize;
                let me = u64::from(turn * 1000 + group * 10 + step);
                let before = if chance.updates { &[] } else { &blocks[write][..] };
                let seen = all_seen(me, read, before);
                blocks[write].push(seen);
                assert!(launch.writes(write as BlockId));
            }
        }
    }
    blocks
}

proptest! {
    // The lists are short.
    #![proptest_config(ProptestConfig::with_cases(4000))]
    #[test]
    fn any_order_of_messages_and_jobs_gives_the_sequential_result(
        chances in chances(),
        (ranks, workers, in_flight) in (1_u32..6, 1_u32..4, 1_u32..20),
        policy in prop::sample::select(policies()),
        seed in any::<u64>(),
    ) {
        let mut job = Cluster::new(ranks, workers, in_flight, policy, seed);
        let mut arrays = Arrays::default();
        for first in [0, ARRAY] {
            let make = move |number: u32| Log::new(first + number);
            let array = Arc::new(Array::new(ARRAY, first, ARRAY, make, Site::here()));
            arrays.push(array.clone());
            job.nodes.iter_mut().for_each(|node| node.declare(array.clone()));
        }
        for (turn, chance) in (0..).zip(&chances) {
            job.launch(|| prepared(chance, turn, &arrays));
        }
        let wanted = sequential(&chances, &arrays);
        for node in 0..ranks {
            for block in (0..2 * ARRAY).filter(|block| job.nodes[node as usize].is_own(*block)).collect::<Vec<_>>() {
                job.act(node, |node, out| node.make(block, out));
                while job.step() {}
                let value = job.nodes[node as usize].value(block).expect("it is made").clone();
                let sorted = |list: &[u64]| {
                    let mut list = list.to_vec();
                    list.sort_unstable();
                    list
                };
                let found = &value.downcast_ref::<Log>().expect("a log").0;
                prop_assert_eq!(sorted(found), sorted(&wanted[block as usize]));
            }
        }
        for log in job.nodes[0].logs.drain(..) {
            let [recorded, replayed] = log.replay();
            prop_assert_eq!(recorded, replayed);
        }
        let run: u64 = job.nodes.iter().map(|node| node.tally.instructions).sum();
        let wanted = chances.iter().flat_map(|chance| &chance.steps).map(|steps| u64::from(*steps));
        prop_assert_eq!(run, wanted.sum::<u64>());
    }
}

/// A cluster of 2 ranks in a launch of two groups, whose results are on rank 0 and rank 1.
fn begun() -> Cluster {
    let mut cluster = Cluster::new(2, 1, 1, Policy::S, 1);
    let array = Arc::new(Array::new(2, 0, 2, Log::new, Site::here()));
    let mut arrays = Arrays::default();
    arrays.push(array.clone());
    for node in &mut cluster.nodes {
        node.declare(array.clone());
        let context = Context { arrays: arrays.clone(), program: 0 };
        let operands = |group, _| (At::new(Place { block: group, array: 0, program: 0 }),);
        let launch = Launch::new(context, (2, 3), |log: &mut Log| log.0.push(1), operands, Site::here());
        let launch = Arc::new(launch.expect("a launch without fault"));
        let dispatch = node.start_of(&launch).map(|start| NodeState::dispatch(launch.clone(), start));
        node.enter(launch, dispatch, &mut Vec::new());
    }
    cluster
}

#[test]
fn messages_that_make_no_sense_are_refused() {
    let order = |group, run: std::ops::Range<u32>, launch, serial| {
        let what = Run { group, run, attempt: 0 };
        let grant = Grant { what, privilege: Privilege::Write, result_at: 1, value_at: None, joins: false };
        Message::Order(InOrder { launch, serial, message: ToNode::Order(Order::Grant(grant), 0) })
    };
    let report = |launch, serial| Message::Report(InOrder { launch, serial, message: Report::Ask });
    let drop = Message::Order(InOrder { launch: 1, serial: 0, message: ToNode::Order(Order::Drop(3), 0) });
    let ordered = |order| Message::Order(InOrder { launch: 1, serial: 0, message: ToNode::Order(order, 0) });
    let complete = |launch| Message::Order(InOrder { launch, serial: 0, message: ToNode::Complete });
    let bad = [
        (0, 1, Message::Fetch(2)),
        (0, 1, Message::Fetch(0)),
        (0, 1, Message::Block(0)),
        (0, 1, Message::Block(1)),
        (0, 1, Message::Block(2)),
        (0, 1, report(1, 0)),
        (1, 0, report(2, 0)),
        (1, 0, order(1, 0..1, 1, 0)),
        (0, 1, order(2, 0..1, 1, 0)),
        (0, 1, order(1, 0..4, 1, 0)),
        (0, 1, order(1, 1..1, 1, 0)),
        (0, 1, order(1, 0..1, 2, 0)),
        (0, 1, drop),
        (0, 1, complete(2)),
        (1, 0, complete(1)),
        (1, 0, Message::Merged(1)),
        (0, 1, Message::Merged(1)),
        (1, 0, Message::Part(Part { group: 1, from: 0, serial: 1 })),
        (1, 0, Message::Part(Part { group: 2, from: 1, serial: 1 })),
        (0, 1, ordered(Order::Lost(0))),
        (0, 1, ordered(Order::Merge { part: Part { group: 1, from: 0, serial: 1 }, into: 0 })),
        (0, 1, ordered(Order::Merge { part: Part { group: 1, from: 1, serial: 1 }, into: 1 })),
        (0, 1, ordered(Order::Accept(Part { group: 1, from: 1, serial: 1 }))),
    ];
    for (from, to, message) in bad {
        let mut cluster = begun();
        let text = format!("{message:?}");
        let taken = cluster.nodes[to].message(from, message, Received::Bytes(vec![0]), &mut Vec::new());
        assert!(taken.is_err(), "{text}");
    }
    let mut cluster = begun();
    let mut say = |message| cluster.nodes[0].message(1, message, Received::Bytes(Vec::new()), &mut Vec::new());
    assert!(say(report(1, 0)).is_ok() && say(report(1, 0)).is_err(), "a report comes once");
    assert!(say(report(0, 0)).is_ok(), "a report of an earlier launch is late");
    let mut say = |message| cluster.nodes[1].message(0, message, Received::Bytes(Vec::new()), &mut Vec::new());
    assert!(say(order(1, 0..2, 1, 1)).is_ok(), "orders come in any order");
    for run in [0..2, 1..3] {
        assert!(say(order(1, run.clone(), 1, 0)).is_err(), "instructions {run:?} are granted again");
    }
    assert!(say(order(1, 2..3, 1, 1)).is_err(), "an order comes once");
    let mut node = begun().nodes.remove(1);
    let say = |node: &mut NodeState, message| {
        let mut actions = Vec::new();
        node.message(0, message, Received::Bytes(Vec::new()), &mut actions).map(|()| actions.pop())
    };
    let Ok(Some(Action::Work(Job::Resolve { launch, grant, .. }))) = say(&mut node, order(1, 0..1, 1, 0)) else {
        panic!("it is resolved by a job")
    };
    node.done(Job::Resolve { launch, grant, digest: None }.run(), &mut Vec::new());
    let moved = |bytes: Vec<u8>| {
        let message = Message::Order(InOrder { launch: 1, serial: 7, message: ToNode::Complete });
        begun().nodes[1].message(0, message, Received::Bytes(bytes), &mut Vec::new())
    };
    assert!(moved(vec![0]).is_ok() && moved(vec![1, 1, 0]).is_ok());
    assert!([vec![], vec![1], vec![1, 2, 0], vec![1, 0, 2]].into_iter().all(|bytes| moved(bytes).is_err()));
}

#[test]
fn a_grant_of_other_operands_is_found() {
    let mut cluster = begun();
    let what = Run { group: 1, run: 0..1, attempt: 0 };
    let grant = Grant { what, privilege: Privilege::Write, result_at: 1, value_at: None, joins: false };
    let message = Message::Order(InOrder { launch: 1, serial: 0, message: ToNode::Order(Order::Grant(grant), 7) });
    let mut actions = Vec::new();
    cluster.nodes[1].message(0, message, Received::Bytes(Vec::new()), &mut actions).expect("it makes sense");
    let Some(Action::Work(job)) = actions.pop() else { panic!("the operands of a grant are resolved by a job") };
    cluster.nodes[1].done(job.run(), &mut actions);
    assert!(matches!(&actions[..], [Action::Differ { what, .. }] if what.contains("step 0 of group 1")));
}

/// In jobs of threads, whose messages and times are real.
#[test]
fn a_fresh_dispatcher_gives_the_orders_of_a_real_one() {
    fn update(a: &u64, b: &mut Update<u64, aurora_core::ops::Sum>) {
        **b += a;
    }
    for (ranks, policy) in (1..=5).flat_map(|ranks| policies().into_iter().map(move |policy| (ranks, policy))) {
        let run = Config::threads(ranks).run(move |world| {
            let sp = Super::default().policy(policy).workers(2).start(world)?;
            let (a, b) = (sp.blocks(9, u64::from)?, sp.blocks((3, 3), |_| 0_u64)?);
            for _ in 0..3 {
                sp.launch(
                    (3, 3),
                    |(i, j): (u32, u32)| i * 4 + j,
                    update,
                    move |(i, j), k| (a.at((3 * i + j + k) % 9), b.at((i, j))),
                )?;
                sp.launch(9, 2, |b: &u64, a: &mut u64| *a += b, move |i, k| (b.at((i % 3, k)), a.at(i)))?;
            }
            let logs = sp.logs();
            assert_eq!(logs.len(), if world.is_root() { 6 } else { 0 });
            for log in logs {
                let [recorded, replayed] = log.replay();
                assert!(!recorded.is_empty() && recorded == replayed);
            }
            Ok(())
        });
        run.unwrap_or_else(|error| panic!("{policy:?} on {ranks} ranks: {error}"));
    }
}
