//! Both machines against a sequential model: in any order of messages, each result has each instruction once.

mod hostile;
mod launches;
mod transfer;
mod world;

use aurora_super::data::{Block, Event};
use aurora_super::dispatch::Config;
use aurora_super::execute::Limits;
use aurora_super::policy::{Choice, Policy, Then, Version};
use aurora_super::{Parts, Product, Program, Random};
use proptest::prelude::*;
use rustc_hash::FxHasher;
use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use world::{AtOnce, Left, Step, World};

fn policies() -> Vec<Policy> {
    let versions = [Version::Simple, Version::Remote, Version::Distributed, Version::Mixture];
    let schedules = versions.iter().flat_map(|version| [false, true].map(|smart| Policy::schedule(smart, *version)));
    Policy::ALL.iter().map(|(_, policy)| *policy).chain(schedules).collect()
}

/// Runs to the end in random steps; up to `losses` nodes are lost on the way.
fn run<P: Program + Clone + Hash + Debug>(mut world: World<P>, losses: usize, random: &mut Random) -> World<P> {
    let mut happened = 0;
    loop {
        let steps = world.steps();
        if world.lost() < losses && random.below(40) == 0 {
            world.lose(random.below(world.nodes.len() as u32));
            continue;
        }
        let Some(step) = steps.get(random.below(steps.len().max(1))) else {
            world.check_end();
            return world;
        };
        world.take(*step);
        happened += 1;
        assert!(happened < 100_000, "no end: {world:#?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn each_result_has_each_instruction_once(
        policy in prop::sample::select(policies()),
        [rows, inner, columns] in [1u32..5, 1u32..6, 1u32..5],
        speeds in prop::collection::vec(1u32..4, 1..6),
        (grain, extends, guided) in (1u32..5, any::<bool>(), any::<bool>()),
        (running, ahead, budget) in (1u32..4, 0u32..4, prop::option::of(2u32..9)),
        losses in 0usize..4,
        seed: u64,
    ) {
        let program = Product::new(rows, inner, columns).unwrap();
        let speeds: Vec<f64> = speeds.into_iter().map(f64::from).collect();
        let parts = Parts::by_speed(&speeds).unwrap();
        let limits = Limits { running, in_flight: running + ahead, budget };
        let config = Config { policy, grain, extends, guided, seed };
        let world = World::new(program, parts, config, limits, AtOnce::Nothing);
        let losses = losses.min(speeds.len() - 1);
        let world = run(world, losses, &mut Random::new(seed));
        if losses == 0 {
            prop_assert_eq!(u64::from(world.executed), program.instructions());
        }
    }
}

fn digest(world: &World<Product>) -> u64 {
    let mut into = FxHasher::default();
    world.hash(&mut into);
    into.finish()
}

/// Visits all states that can be reached, and returns their number.
fn explore(world: World<Product>, limit: usize) -> usize {
    let mut seen = HashSet::from([digest(&world)]);
    let mut open = vec![world];
    while let Some(world) = open.pop() {
        let steps = world.steps();
        if steps.is_empty() {
            world.check_end();
        }
        for step in steps {
            let mut next = world.clone();
            next.take(step);
            if seen.insert(digest(&next)) {
                open.push(next);
            }
        }
        assert!(seen.len() < limit, "more than {limit} states");
    }
    seen.len()
}

/// 2 x 2 x 2 blocks on 3 nodes where messages or transfers take no time, 1 x 2 x 2 blocks where both do. Nodes that
/// share groups have too many states for messages of the larger program to take time.
#[test]
fn every_state_of_a_small_program() {
    let (large, small) = (Product::square(2).unwrap(), Product::new(1, 2, 2).unwrap());
    // Where groups are shared, smart schedules have the states of the other schedules.
    let is_another = |policy: &Policy| policy.version == Version::Simple || policy.next != Choice::Smart;
    for policy in policies().into_iter().filter(is_another) {
        let with_messages = if policy.then == Then::Stop { large } else { small };
        for (program, at_once) in
            [(large, AtOnce::Messages), (with_messages, AtOnce::Transfers), (small, AtOnce::Nothing)]
        {
            let parts = Parts::by_speed(&[1.0; 3]).unwrap();
            let (config, limits) = (Config::new(policy), Limits::ONE);
            let states = explore(World::new(program, parts.clone(), config, limits, at_once), 2_000_000);
            assert!(states > 40, "{policy:?}, {at_once:?} at once: {states} states");
            if program != small || at_once == AtOnce::Nothing && policy.then != Then::Stop {
                continue;
            }
            // The same, if all results have values.
            let mut blocks: Vec<Block> = parts.owners(&program).map(Block::new).collect();
            blocks.iter_mut().for_each(|block| _ = block.apply(Event::Create).unwrap());
            let valued = World::after(Left::by_none(blocks, 3, None), program, parts, config, limits, at_once);
            let with_values = explore(valued, 2_000_000);
            assert!(with_values >= states, "{policy:?}, {at_once:?} at once: {with_values} states with values");
        }
    }
}

fn without_addresses(text: &str) -> String {
    let parts = text.split("data: 0x");
    parts.map(|part| part.trim_start_matches(|letter: char| letter.is_ascii_hexdigit())).collect()
}

#[test]
fn equal_inputs_give_equal_commands() {
    for policy in policies() {
        let world = || {
            let parts = Parts::by_speed(&[1.0, 3.0, 1.0, 3.0]).unwrap();
            let limits = Limits { running: 2, in_flight: 4, budget: Some(6) };
            World::new(
                Product::square(4).unwrap(),
                parts,
                Config { grain: 3, ..Config::new(policy) },
                limits,
                AtOnce::Nothing,
            )
        };
        let mut worlds = [world(), world()];
        let mut random = Random::new(7);
        loop {
            let steps: Vec<Step> = worlds[0].steps();
            if steps.is_empty() {
                break;
            }
            let step = steps[random.below(steps.len())];
            worlds.iter_mut().for_each(|world| world.take(step));
            // The text has all but the elements of bit sets, and the addresses of these sets.
            let [one, other] = worlds.each_ref().map(|world| without_addresses(&format!("{world:?}")));
            assert_eq!((one, digest(&worlds[0])), (other, digest(&worlds[1])));
        }
    }
}
