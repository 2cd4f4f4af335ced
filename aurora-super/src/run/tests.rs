//! Ranks of a super-program with messages and jobs on their way between them. Any of these may be the next.

use super::blocks::{Array, Arrays};
use super::job::{Done, Job};
use super::launch::{Context, Launch};
use super::message::{InOrder, Message};
use super::node::{Action, NodeState};
use super::operand::{At, Place};
use crate::data::Privilege;
use crate::dispatch::{Grant, Order, Report, Run};
use crate::execute::Limits;
use crate::{BlockId, Node, Random};
use aurora_core::Site;
use aurora_core::object::Received;
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
    fn new(ranks: u32, workers: u32, in_flight: u32, seed: u64) -> Self {
        let limits = Limits { running: workers, in_flight: workers.max(in_flight), budget: None };
        let nodes = (0..ranks).map(|me| NodeState::new(me, ranks, limits)).collect();
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
        let next = self.random.below(count as u32) as usize;
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
            let next = self.random.below(ranks.len() as u32) as usize;
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
            let dispatch = of.take_blocks().map(|blocks| NodeState::dispatch(launch.clone(), blocks));
            cluster.act(node, |of, out| numbers[node as usize] = of.enter(launch, dispatch, out));
        });
        self.in_any_order(|cluster, node| cluster.act(node, NodeState::begin));
        while !self.nodes.iter().zip(&numbers).all(|(node, number)| node.is_complete(*number)) {
            assert!(self.step(), "nothing is under way, and the launch is not complete");
        }
    }
}

/// A random launch: the blocks of one array that groups write, and the blocks of the other that they read.
#[derive(Clone, Debug)]
struct Chance {
    steps: Vec<u32>,
    writes: Vec<u32>,
    reads: Vec<u32>,
}

fn chances() -> impl Strategy<Value = Vec<Chance>> {
    let chance =
        (1_usize..8).prop_flat_map(|groups| {
            let lines = |most| prop::collection::vec(0..most, groups);
            (prop_oneof![lines(4_u32), lines(1)], lines(ARRAY), lines(ARRAY))
                .prop_map(|(steps, writes, reads)| Chance { steps, writes, reads })
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
        let seen = read.0.iter().chain(&write.0).fold(me, |seen, more| seen.wrapping_mul(31).wrapping_add(*more));
        write.0.push(seen);
    };
    let groups = chance.steps.len() as u32;
    let steps = move |group: u32| other.steps[group as usize];
    let context = Context { arrays: arrays.clone(), program: 0 };
    Launch::new(context, (groups, steps), function, operands, Site::here()).expect("a launch without fault")
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
                let seen = read.iter().chain(&blocks[write]);
                let seen = seen.fold(me, |seen, more| seen.wrapping_mul(31).wrapping_add(*more));
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
        seed in any::<u64>(),
    ) {
        let mut job = Cluster::new(ranks, workers, in_flight, seed);
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
                prop_assert_eq!(&value.downcast_ref::<Log>().expect("a log").0, &wanted[block as usize]);
            }
        }
        let run: u64 = job.nodes.iter().map(|node| node.tally.instructions).sum();
        let wanted = chances.iter().flat_map(|chance| &chance.steps).map(|steps| u64::from(*steps));
        prop_assert_eq!(run, wanted.sum::<u64>());
    }
}

/// A cluster of 2 ranks in a launch of two groups, whose results are on rank 0 and rank 1.
fn begun() -> Cluster {
    let mut cluster = Cluster::new(2, 1, 1, 1);
    let array = Arc::new(Array::new(2, 0, 2, Log::new, Site::here()));
    let mut arrays = Arrays::default();
    arrays.push(array.clone());
    for node in &mut cluster.nodes {
        node.declare(array.clone());
        let context = Context { arrays: arrays.clone(), program: 0 };
        let operands = |group, _| (At::new(Place { block: group, array: 0, program: 0 }),);
        let launch = Launch::new(context, (2, 3), |log: &mut Log| log.0.push(1), operands, Site::here());
        let launch = Arc::new(launch.expect("a launch without fault"));
        let dispatch = node.take_blocks().map(|blocks| NodeState::dispatch(launch.clone(), blocks));
        node.enter(launch, dispatch, &mut Vec::new());
    }
    cluster
}

#[test]
fn messages_that_make_no_sense_are_refused() {
    let order = |group, run: std::ops::Range<u32>, launch, serial| {
        let what = Run { group, run, attempt: 0 };
        let grant = Grant { what, privilege: Privilege::Write, result_at: 1, value_at: None, joins: false };
        Message::Order(InOrder { launch, serial, message: (Order::Grant(grant), 0) })
    };
    let report = |launch, serial| Message::Report(InOrder { launch, serial, message: Report::Ask });
    let drop = Message::Order(InOrder { launch: 1, serial: 0, message: (Order::Drop(0), 0) });
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
        (0, 1, order(0, 0..1, 1, 0)),
        (0, 1, drop),
        (0, 1, Message::Complete(2)),
        (0, 1, Message::Complete(0)),
        (1, 0, Message::Complete(1)),
    ];
    for (from, to, message) in bad {
        let mut cluster = begun();
        let said = format!("{message:?}");
        let taken = cluster.nodes[to].message(from, message, Received::Bytes(Vec::new()), &mut Vec::new());
        assert!(taken.is_err(), "{said}");
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
    assert!(say(Message::Complete(1)).is_err(), "an order is under way");
    let mut node = begun().nodes.remove(1);
    let say = |node: &mut NodeState, message| {
        let mut actions = Vec::new();
        node.message(0, message, Received::Bytes(Vec::new()), &mut actions).map(|()| actions.pop())
    };
    let Ok(Some(Action::Work(Job::Resolve { launch, grant, .. }))) = say(&mut node, order(1, 0..1, 1, 0)) else {
        panic!("it is resolved by a job")
    };
    assert!(say(&mut node, Message::Complete(1)).is_err(), "a grant is being resolved");
    node.done(Job::Resolve { launch, grant, digest: None }.run(), &mut Vec::new());
    assert!(say(&mut node, Message::Complete(1)).is_err(), "an instruction has not run");
}

#[test]
fn a_grant_of_other_operands_is_found() {
    let mut cluster = begun();
    let what = Run { group: 1, run: 0..1, attempt: 0 };
    let grant = Grant { what, privilege: Privilege::Write, result_at: 1, value_at: None, joins: false };
    let message = Message::Order(InOrder { launch: 1, serial: 0, message: (Order::Grant(grant), 7) });
    let mut actions = Vec::new();
    cluster.nodes[1].message(0, message, Received::Bytes(Vec::new()), &mut actions).expect("it makes sense");
    let Some(Action::Work(job)) = actions.pop() else { panic!("the operands of a grant are resolved by a job") };
    cluster.nodes[1].done(job.run(), &mut actions);
    assert!(matches!(&actions[..], [Action::Differ { what, .. }] if what.contains("step 0 of group 1")));
}
