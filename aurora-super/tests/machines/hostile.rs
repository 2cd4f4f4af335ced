//! Hostile conditions: any combination of choices, nodes that are lost in silence, reports that arrive twice.

use super::world::{AtOnce, Step, World};
use super::{digest, policies};
use aurora_super::data::{Privilege, State};
use aurora_super::dispatch::{Config, Order, Part, Report, Run};
use aurora_super::execute::{Command, Event, Limits, owners};
use aurora_super::policy::{Choice, Pace, Policy, Then, Version};
use aurora_super::{Dispatch, Execute, Node, Parts, Product, Program, Random};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::HashSet;

/// All policies, also those that no paper has.
fn any_policy() -> impl Strategy<Value = Policy> {
    let choice = || select(vec![Choice::Own, Choice::Random, Choice::Smart, Choice::InOrder]);
    let then = select(vec![Then::Stop, Then::Join, Then::JoinBest]);
    let pace = select(vec![Pace::Asynchronous, Pace::Steps]);
    let version = select(vec![Version::Simple, Version::Remote, Version::Distributed, Version::Mixture]);
    let of = |(first, next, then, pace, version)| Policy { first, next, then, pace, version };
    (choice(), choice(), then, pace, version).prop_map(of)
}

/// Checks the end: no instruction uses a block, each block can be read, and no block is recorded on a lost node.
fn check_blocks(world: &World<Product>, program: Product) {
    if world.lost() == world.nodes.len() {
        return;
    }
    for block in (0..program.blocks()).map(|block| world.dispatch.block(block)) {
        assert_eq!(block.state(), State::Readable, "{block:?}");
        assert!(block.admits(Privilege::Write) && !world.is_lost(block.host()), "{block:?}");
    }
}

/// Runs to the end in random steps. Up to `losses` nodes are lost, one in `often` steps. The dispatcher learns of a
/// loss later.
fn run(
    mut world: World<Product>,
    losses: usize,
    often: u32,
    asks_anytime: bool,
    random: &mut Random,
) -> World<Product> {
    let mut unnoticed: Vec<Node> = Vec::new();
    for _ in 0..200_000 {
        let steps = world.steps();
        if world.lost() < losses && random.below(often) == 0 {
            let node = random.below(world.nodes.len() as u32);
            if !world.is_lost(node) {
                world.die(node);
                unnoticed.push(node);
            }
        } else if !unnoticed.is_empty() && (steps.is_empty() || random.below(10) == 0) {
            let node = unnoticed.swap_remove(random.below(unnoticed.len()));
            world.notice(node);
            world.notice(node);
        } else if let Some(step) = steps.get(random.below(steps.len().max(1))) {
            if let Step::Report(node) = step
                && random.below(20) == 0
            {
                world.repeat(*node);
            }
            world.take(*step);
        } else {
            world.check_end();
            return world;
        }
        if asks_anytime {
            world.check_waiting();
        }
    }
    panic!("no end: {world:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn any_choices_and_silent_losses(
        policy in any_policy(),
        [rows, inner, columns] in [1u32..5, 1u32..6, 1u32..5],
        speeds in prop::collection::vec(select(vec![1e-6, 0.5, 1.0, 3.0, 1e6]), 1..6),
        (grain, extends, guided) in (select(vec![1, 2, 3, 5, u32::MAX]), any::<bool>(), any::<bool>()),
        (running, ahead) in (select(vec![1, 2, 3, u32::MAX / 2]), select(vec![0, 1, 3, u32::MAX / 2])),
        budget in select(vec![None, Some(2), Some(3), Some(4), Some(7), Some(u32::MAX)]),
        (losses, often) in (0usize..6, 3u32..60),
        seed: u64,
    ) {
        let program = Product::new(rows, inner, columns).unwrap();
        let parts = Parts::by_speed(&speeds).unwrap();
        let limits = Limits { running, in_flight: running + ahead, budget };
        let config = Config { policy, grain, extends, guided, seed };
        let world = World::new(program, parts, config, limits, AtOnce::Nothing);
        let asks_anytime = policy.pace == Pace::Asynchronous;
        check_blocks(&run(world, losses, often, asks_anytime, &mut Random::new(seed)), program);
    }
}

#[test]
fn what_cannot_be_said_does_not_count() {
    let (program, parts) = (Product::square(2).unwrap(), Parts::by_speed(&[1.0; 2]).unwrap());
    let mut dispatch = Dispatch::new(program, parts, Config { grain: 2, ..Config::new(Policy::TAIL) });
    dispatch.handle(0, Report::Ask);
    assert!(dispatch.poll().is_some());
    let before = format!("{dispatch:?}");
    for (node, group) in [0, 1, 2, u32::MAX].iter().flat_map(|node| [1, 4, u32::MAX].map(|group| (*node, group))) {
        let commit = |group, run, attempt| Report::Committed { run: Run { group, run, attempt }, took: 0 };
        dispatch.handle(node, Report::Brought(Part { group, from: node, serial: 1 }));
        dispatch.handle(node, commit(group, 0..2, 0));
        dispatch.handle(node, commit(0, 0..3, 0));
        dispatch.handle(node, commit(0, 0..0, 0));
        dispatch.handle(node, commit(0, std::ops::Range { start: 2, end: 0 }, 0));
        dispatch.handle(node, commit(0, 0..2, 1));
    }
    dispatch.handle(7, Report::Ask);
    dispatch.lose(7);
    assert_eq!((dispatch.poll(), format!("{dispatch:?}")), (None, before));
}

#[test]
fn what_was_decoded_from_anything_does_not_count() {
    let (program, parts) = (Product::square(2).unwrap(), Parts::by_speed(&[1.0; 2]).unwrap());
    let owners = owners(&program, &parts);
    let mut node = Execute::new(0, program, &parts, owners, Limits::ONE);
    let mut dispatch = Dispatch::new(program, parts, Config { grain: 2, ..Config::new(Policy::TAIL) });
    dispatch.handle(0, Report::Ask);
    let (to, order) = dispatch.poll().expect("there is something for it");
    let encoded = serde_json::to_string(&order).unwrap();
    assert_eq!((to, serde_json::from_str::<Order>(&encoded).unwrap()), (0, order));
    let before = format!("{dispatch:?}");
    for group in ["0", "3", "4", "4294967295"] {
        for run in [r#"{"start":2,"end":0}"#, r#"{"start":4294967295,"end":0}"#, r#"{"start":0,"end":4294967295}"#] {
            for attempt in ["0", "4294967295"] {
                let what = format!(r#"{{"group":{group},"run":{run},"attempt":{attempt}}}"#);
                dispatch
                    .handle(0, serde_json::from_str(&format!(r#"{{"Committed":{{"run":{what},"took":7}}}}"#)).unwrap());
                let grant =
                    format!(r#"{{"what":{what},"privilege":"Write","result_at":0,"value_at":null,"joins":false}}"#);
                let order = serde_json::from_str(&format!(r#"{{"Grant":{grant}}}"#)).unwrap();
                let mut out = Vec::new();
                node.handle(Event::Order(order), &mut out);
                assert_eq!((&out[..], node.is_idle()), (&[Command::Report(Report::Ask)][..], true));
            }
        }
        let part = format!(r#"{{"Brought":{{"group":{group},"from":4294967295,"serial":1}}}}"#);
        dispatch.handle(0, serde_json::from_str(&part).unwrap());
    }
    assert_eq!((dispatch.poll(), format!("{dispatch:?}")), (None, before));
}

/// Visits all states that can be reached if a node is lost at any time, and the dispatcher learns of it at any later
/// time. Returns the number of states.
fn explore(world: World<Product>, program: Product) -> usize {
    let mut seen = HashSet::from([(digest(&world), None)]);
    let mut open: Vec<(World<Product>, Option<Node>)> = vec![(world, None)];
    while let Some((world, unnoticed)) = open.pop() {
        let steps = world.steps();
        if steps.is_empty() && unnoticed.is_none() {
            world.check_end();
            check_blocks(&world, program);
        }
        let mut follow = |change: &dyn Fn(&mut World<Product>), unnoticed| {
            let mut next = world.clone();
            change(&mut next);
            if seen.insert((digest(&next), unnoticed)) {
                open.push((next, unnoticed));
            }
        };
        steps.into_iter().for_each(|step| follow(&|world| world.take(step), unnoticed));
        if world.lost() == 0 {
            (0..world.nodes.len() as Node).for_each(|node| follow(&|world| world.die(node), Some(node)));
        }
        if let Some(lost) = unnoticed {
            follow(&|world| world.notice(lost), None);
        }
        assert!(seen.len() < 1_000_000, "too many states");
    }
    seen.len()
}

#[test]
fn every_state_with_a_loss_at_any_time() {
    let mut versions = HashSet::new();
    for policy in policies() {
        // The program has one group, so the policies of a version that shares groups have the same states.
        let is_another = policy.version == Version::Simple || versions.insert(policy.version);
        let on_3 = is_another.then_some((3, 3, 1, AtOnce::Messages));
        for (inner, nodes, grain, at_once) in
            [(2, 2, 1, AtOnce::Nothing), (4, 2, 2, AtOnce::Messages)].into_iter().chain(on_3)
        {
            let program = Product::new(1, inner, 1).unwrap();
            let parts = Parts::by_speed(&vec![1.0; nodes]).unwrap();
            let config = Config { grain, ..Config::new(policy) };
            let states = explore(World::new(program, parts, config, Limits::ONE, at_once), program);
            assert!(states > 40, "{policy:?}, {at_once:?} at once: {states} states");
        }
    }
}
