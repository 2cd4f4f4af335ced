//! Properties of runs in own mode.

use super::*;
use crate::Instruction;
use crate::Policy;
use crate::dispatch::Config;
use crate::execute::Limits;
use crate::policy::Version;
use crate::sim::{Case, Cost, Link, Setting, Speeds, SuperProgram, Work, paper};
use proptest::prelude::*;

/// The paper's machine in this simulator: a block costs both sides work, and only work takes time.
fn as_paper(setting: &Setting) -> OwnSetting {
    OwnSetting {
        program: setting.program,
        dispatch: Config { seed: setting.seed, ..Config::new(setting.policy) },
        limits: Limits::ONE,
        cost: setting.cost,
        link: Link { sending: setting.load, receiving: setting.load, ..Link::FREE },
        dispatcher: 0.0,
        ..OwnSetting::new(setting.policy, setting.speeds.clone(), setting.seed)
    }
}

fn small(policy: Policy, nodes: usize, seed: u64) -> OwnSetting {
    OwnSetting { program: Product::square(8).unwrap(), ..OwnSetting::new(policy, vec![1.0; nodes], seed) }
}

#[test]
fn without_links_it_is_the_paper_s_machine() {
    for (name, policy) in [("S", Policy::S), ("R", Policy::R), ("SR", Policy::SR), ("SS", Policy::SS)] {
        for speeds in [Speeds::Homogeneous, Speeds::Mixed] {
            for nodes in [1, 2, 8, 16] {
                let setting = Setting::new(policy, speeds.of(nodes), 5);
                let (theirs, ours) = (paper(&setting).unwrap(), own(&as_paper(&setting)).unwrap().common);
                let what = format!("{name} on {nodes} {speeds:?}: {theirs:?} {ours:?}");
                assert_eq!((ours.loads, ours.instructions), (theirs.loads, theirs.instructions), "{what}");
                assert!((ours.makespan / theirs.makespan - 1.0).abs() < 1e-9, "{what}");
                assert!((ours.efficiency - theirs.efficiency).abs() < 1e-9, "{what}");
                assert!((ours.communication - theirs.communication).abs() < 1e-9, "{what}");
            }
        }
    }
}

#[test]
fn a_node_alone_computes_all_the_time() {
    let setting = OwnSetting { dispatcher: 0.0, link: Link::FREE, ..small(Policy::S, 1, 3) };
    let outcome = own(&setting).unwrap();
    let work: f64 = (0..64)
        .flat_map(|group| (0..8).map(move |k| Instruction { group, k }))
        .map(|instruction| setting.cost.of(&setting.program, instruction))
        .sum();
    assert!((outcome.common.makespan / work - 1.0).abs() < 1e-12);
    assert!((outcome.common.efficiency - 1.0).abs() < 1e-12);
    assert_eq!((outcome.miss_ratio, outcome.critical, outcome.merges), (0.0, 0.0, 0));
}

#[test]
fn a_run_that_takes_no_time_wastes_none() {
    let program = Product::square(1).unwrap();
    // The first instruction of seed 0 has no work.
    let theirs = paper(&Setting { program, ..Setting::new(Policy::S, vec![1.0], 0) }).unwrap();
    let free =
        OwnSetting { program, cost: Cost::Fixed(0.0), dispatcher: 0.0, link: Link::FREE, ..small(Policy::S, 3, 0) };
    for outcome in [theirs, own(&free).unwrap().common] {
        assert_eq!(
            (outcome.makespan, outcome.imbalance, outcome.communication, outcome.efficiency),
            (0.0, 0.0, 0.0, 1.0)
        );
    }
}

#[test]
fn of_equal_instructions_only_random_policies_depend_on_the_seed() {
    let versions = SuperProgram::ALL.map(|version| (version.name, version.policy()));
    for (name, policy) in Policy::ALL.into_iter().chain(versions) {
        let theirs = |seed| paper(&Setting { cost: Cost::Fixed(700.0), ..Setting::new(policy, vec![1.0; 8], seed) });
        let ours = |seed| own(&OwnSetting { cost: Cost::Fixed(700.0), ..small(policy, 8, seed) });
        let varies = [2, 3, 4].iter().any(|seed| theirs(*seed) != theirs(1) || ours(*seed) != ours(1));
        assert_eq!(varies, policy.is_random(), "{name}");
    }
}

#[test]
fn waiting_for_operands_is_a_part_of_the_imbalance() {
    // Each node has a column of A, B and C, and needs the other column of A: two instructions of four wait for a block.
    let setting = OwnSetting {
        program: Product::square(2).unwrap(),
        cost: Cost::Fixed(1_000.0),
        limits: Limits::ONE,
        link: Link::delay(30_000.0),
        dispatcher: 0.0,
        ..OwnSetting::new(Policy::S, vec![1.0; 2], 0)
    };
    let outcome = own(&setting).unwrap();
    assert_eq!((outcome.common.makespan, outcome.waiting, outcome.common.imbalance), (64_000.0, 0.9375, 0.9375));
    // A third node has nothing to do, and waits for nothing.
    let third = own(&OwnSetting { speeds: vec![1.0, 1.0, 1e-9], ..setting.clone() }).unwrap();
    assert!(third.waiting < third.common.imbalance, "{third:?}");
    let alone = own(&OwnSetting { speeds: vec![1.0], dispatcher: 500.0, ..setting }).unwrap();
    assert!(alone.waiting == 0.0 && alone.common.imbalance > 0.4, "{alone:?}");
}

#[test]
fn fetching_ahead_hides_latency() {
    let with = |ahead: u32| {
        let limits = Limits { running: 1, in_flight: 1 + ahead, budget: None };
        own(&OwnSetting { limits, link: Link::delay(30_000.0), ..small(Policy::S, 4, 1) }).unwrap()
    };
    let (none, three) = (with(0), with(3));
    assert!(three.common.makespan < 0.9 * none.common.makespan, "{none:?} {three:?}");
    assert!((none.load_time - 30_000.0).abs() < 1e-6);
    assert!(none.parallelism < 1.0 && three.parallelism > 2.0, "{none:?} {three:?}");
}

#[test]
fn less_memory_means_more_loads() {
    let with = |budget| {
        let limits = Limits { running: 1, in_flight: 4, budget };
        own(&OwnSetting { limits, ..small(Policy::S, 4, 1) }).unwrap().common.loads
    };
    // 4 nodes of half of the rows and columns: each lacks a half of 8 x 8 blocks.
    assert_eq!(with(None), 4 * 32);
    assert_eq!(with(Some(64)), 4 * 32);
    assert!(with(Some(8)) > 4 * 32);
}

#[test]
fn a_busy_dispatcher_is_waited_for() {
    let with = |dispatcher, grain| {
        let setting = small(Policy::S, 16, 1);
        let dispatch = Config { grain, ..setting.dispatch };
        own(&OwnSetting { dispatcher, dispatch, cost: Cost::Fixed(100.0), link: Link::FREE, ..setting }).unwrap()
    };
    let (one, eight) = (with(50.0, 1), with(50.0, 8));
    // Two messages from the node and one to it, for each grant; and the first answers to all nodes.
    assert!(one.messages >= 3 * 512 && eight.messages < one.messages / 4, "{one:?} {eight:?}");
    assert!(one.common.makespan >= 3.0 * 512.0 * 50.0);
    assert!(eight.common.makespan < one.common.makespan / 3.0);
}

#[test]
fn tail_makes_up_for_a_slow_down_that_static_parts_do_not() {
    let with = |policy, slow_downs| own(&OwnSetting { slow_downs, ..small(policy, 4, 2) }).unwrap().common.makespan;
    let slow = || vec![SlowDown { node: 2, at: 300_000.0, factor: 0.25 }];
    let lost = |policy| with(policy, slow()) / with(policy, vec![]);
    let (s, tail) = (lost(Policy::S), lost(Policy::TAIL));
    assert!(s > 2.0 && tail < 1.6, "{s} {tail}");
}

#[test]
fn what_lost_nodes_had_runs_again() {
    for (name, policy) in Policy::ALL {
        let whole = own(&small(policy, 5, 2)).unwrap();
        assert_eq!(whole.repeated, 0);
        let at = whole.common.makespan / 2.0;
        let loss = |node, at| Loss { node, at, noticed_after: 20_000.0 };
        let losses = vec![loss(3, at), loss(1, at), loss(4, at * 1.2)];
        let broken = own(&OwnSetting { losses, ..small(policy, 5, 2) }).unwrap();
        assert!(broken.repeated > 0 && broken.repeated < 512, "{name}: {broken:?}");
        assert!(broken.common.makespan > whole.common.makespan, "{name}: {broken:?}");
    }
}

#[test]
fn losses_at_any_time_are_made_good() {
    for policy in policies() {
        for (blocks, step) in
            [[3, 7, 2], [4, 5, 4], [1, 6, 4]].iter().flat_map(|blocks| (0..50).map(move |step| (blocks, step)))
        {
            let losses = vec![
                Loss { node: 1, at: f64::from(step) * 4_000.0, noticed_after: 0.0 },
                Loss { node: 2, at: f64::from(step % 7) * 20_000.0, noticed_after: 40_000.0 },
            ];
            let setting = OwnSetting {
                program: Product::new(blocks[0], blocks[1], blocks[2]).unwrap(),
                dispatch: Config::new(policy),
                limits: Limits { running: 3, in_flight: 3, budget: None },
                link: Link { message: 300.0, ..Link::delay(17_000.0) },
                losses,
                ..OwnSetting::new(policy, vec![3.4, 1.4, 1.6, 2.8], 1)
            };
            let outcome = own(&setting).unwrap();
            assert_eq!(outcome.common.instructions, setting.program.instructions() + outcome.repeated);
        }
    }
}

#[test]
fn updates_elsewhere_are_sent() {
    let with = |name: &str| {
        let case: Case = "256r2".parse().unwrap();
        let setting = case.setting(name.parse().unwrap(), 8, 6).unwrap();
        let stay = OwnSetting { results_stay: true, ..setting.clone() };
        [own(&setting).unwrap(), own(&stay).unwrap()]
    };
    let [[s, _], [r, r_stay], [d, _]] = ["S", "R", "D"].map(with);
    // With that many nodes, which share 16 results, half of the instructions run where their result is.
    assert!(r_stay.modifiers > 400 && r_stay.common.makespan > r.common.makespan, "{r_stay:?}");
    assert_eq!((s.modifiers, s.merges, d.modifiers, r.merges), (0, 0, 0, 0));
    assert!(d.common.makespan < s.common.makespan && r.common.instructions == 1024);
}

#[test]
fn a_large_run_takes_a_moment() {
    let outcome = own(&OwnSetting::new(Policy::S, vec![1.0; 64], 1)).unwrap();
    assert_eq!((outcome.common.instructions, outcome.common.loads), (32 * 32 * 32, 14_336));
}

fn policies() -> Vec<Policy> {
    let versions = SuperProgram::ALL.map(|version| version.policy());
    Policy::ALL.iter().map(|(_, policy)| *policy).chain(versions).collect()
}

prop_compose! {
    fn settings()(
        policy in prop::sample::select(policies()),
        [rows, inner, columns] in [1u32..6, 1u32..8, 1u32..6],
        speeds in prop::collection::vec(0.2..4.0f64, 1..7),
        (grain, extends, seed) in (1u32..5, any::<bool>(), any::<u64>()),
        (running, ahead, budget, cores) in (1u32..4, 0u32..4, prop::option::of(2u32..9), 1u32..4),
        (latency, message, mbit, load) in (0.0..30_000.0f64, 0.0..500.0f64, 1.0..10_000.0f64, 0.0..500.0f64),
        (dispatcher, merging, bytes, results_stay) in (0.0..200.0f64, 0.0..500.0f64, 1u32..100_000, any::<bool>()),
        slow_downs in prop::collection::vec((0u32..7, 0.0..200_000.0f64, 0.05..2.0f64), 0..3),
        losses in prop::collection::btree_map(1u32..7, (0.0..300_000.0f64, 0.0..50_000.0f64), 0..4),
    ) -> OwnSetting {
        let nodes = speeds.len() as Node;
        let loss = |(node, (at, noticed_after))| Loss { node, at, noticed_after };
        OwnSetting {
            program: Product::new(rows, inner, columns).unwrap(),
            dispatch: Config { policy, grain, extends, guided: false, seed },
            limits: Limits { running, in_flight: running + ahead, budget },
            cores,
            cost: Cost::Drawn(Work { below: 20_000, seed }),
            link: Link { latency, message, sending: load, receiving: load, ..Link::ethernet(mbit) },
            bytes,
            dispatcher,
            merging,
            results_stay,
            slow_downs: slow_downs.into_iter().map(|(node, at, factor)| SlowDown { node: node % nodes, at, factor }).collect(),
            losses: losses.into_iter().filter(|(node, _)| *node < nodes).map(loss).collect(),
            ..OwnSetting::new(policy, speeds, seed)
        }
    }
}

#[test]
fn a_modifier_on_its_way_to_a_lost_node_holds_nobody_up() {
    let policy = Policy::schedule(false, Version::Remote);
    let setting = OwnSetting {
        program: Product::new(1, 8, 2).unwrap(),
        dispatch: Config::new(policy),
        limits: Limits::ONE,
        cost: Cost::Fixed(1_000.0),
        // A modifier is on its way for a million units.
        link: Link { rate: 1.0, ..Link::FREE },
        bytes: 1,
        result_bytes: 1_000_000,
        dispatcher: 0.0,
        // Node 0 has run all of its own group when node 1 is lost, and sends modifiers to node 1.
        losses: vec![Loss { node: 1, at: 3_000.0, noticed_after: 0.0 }],
        ..OwnSetting::new(policy, vec![10.0, 1.0], 0)
    };
    let outcome = own(&setting).unwrap();
    assert!(outcome.modifiers > 0 && outcome.common.makespan < 10_000.0, "{outcome:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn every_run_completes_and_adds_up(setting in settings()) {
        let outcome = own(&setting).unwrap();
        let common = outcome.common;
        prop_assert_eq!(common.instructions, setting.program.instructions() + outcome.repeated);
        prop_assert!(!setting.losses.is_empty() || outcome.repeated == 0);
        for share in [common.imbalance, common.communication, common.efficiency] {
            prop_assert!((-1e-9..=1.0 + 1e-9).contains(&share), "{:?}", outcome);
        }
        prop_assert!((common.imbalance + common.communication + common.efficiency - 1.0).abs() < 1e-9);
        prop_assert!(outcome.parallelism <= f64::from(setting.limits.in_flight));
        prop_assert_eq!(outcome, own(&setting).unwrap());
    }
}

prop_compose! {
    /// Numbers at the ends of the accepted ranges.
    fn extremes()(
        policy in prop::sample::select(policies()),
        blocks in prop::sample::select(vec![[1u32, 1, 1], [1, 7, 1], [3, 1, 3], [4, 4, 4]]),
        speeds in prop::collection::vec(prop::sample::select(vec![1e-6, 1.0, 1000.0, 1e6]), 1..30),
        (grain, running, ahead) in (prop::sample::select(vec![1, 3, u32::MAX]), 1u32..3, prop::sample::select(vec![0u32, 1, 65_536])),
        budget in prop::sample::select(vec![None, Some(2u32), Some(3), Some(u32::MAX)]),
        (latency, message, dispatcher) in prop::array::uniform3(prop::sample::select(vec![0.0, 25.0, 1e9])).prop_map(|[a, b, c]| (a, b, c)),
        rate in prop::sample::select(vec![1e-9, 1.0, f64::INFINITY]),
        (work, load) in (prop::sample::select(vec![0.0, 1.0, 1e9]), prop::sample::select(vec![0.0, 250.0, 1e9])),
        slow_downs in prop::collection::vec((0u32..30, prop::sample::select(vec![0.0, 1.0, 1e6]), prop::sample::select(vec![1e-9, 1e-3, 1e6])), 0..4),
        losses in prop::collection::btree_map(1u32..30, prop::sample::select(vec![(0.0, 0.0), (0.0, 1e9), (1.0, 0.0), (1e9, 1.0)]), 0..30),
        seed: u64,
    ) -> OwnSetting {
        let nodes = speeds.len() as Node;
        OwnSetting {
            program: Product::new(blocks[0], blocks[1], blocks[2]).unwrap(),
            dispatch: Config { policy, grain, extends: seed.is_multiple_of(2), guided: false, seed },
            limits: Limits { running, in_flight: running + ahead, budget },
            cost: Cost::Fixed(work),
            link: Link { latency, message, rate, sending: load, receiving: load, ..Link::ethernet(155.0) },
            dispatcher,
            slow_downs: slow_downs.into_iter().map(|(node, at, factor)| SlowDown { node: node % nodes, at, factor }).collect(),
            losses: losses.into_iter().filter(|(node, _)| *node < nodes).map(|(node, (at, noticed_after))| Loss { node, at, noticed_after }).collect(),
            ..OwnSetting::new(policy, speeds, seed)
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn extremes_complete_and_add_up(setting in extremes()) {
        let outcome = own(&setting).unwrap();
        let common = outcome.common;
        prop_assert_eq!(common.instructions, setting.program.instructions() + outcome.repeated);
        for share in [common.imbalance, common.communication, common.efficiency] {
            prop_assert!((-1e-6..=1.0 + 1e-6).contains(&share), "{:?}", outcome);
        }
        prop_assert!((common.imbalance + common.communication + common.efficiency - 1.0).abs() < 1e-9, "{:?}", outcome);
        prop_assert_eq!(outcome, own(&setting).unwrap());
    }

    #[test]
    fn extremes_of_the_paper_s_machine(setting in extremes(), multicast: bool) {
        let transfers = if multicast { crate::sim::Transfers::Multicast } else { crate::sim::Transfers::Unicast };
        let below = if let Cost::Fixed(work) = setting.cost { work as u32 } else { 0 };
        let seed = setting.dispatch.seed;
        let setting = Setting {
            program: setting.program,
            transfers,
            cost: Cost::Drawn(Work { below, seed }),
            load: setting.link.sending,
            ..Setting::new(setting.dispatch.policy, setting.speeds.clone(), seed)
        };
        let outcome = paper(&setting).unwrap();
        prop_assert_eq!(outcome.instructions, setting.program.instructions());
        for share in [outcome.imbalance, outcome.communication, outcome.efficiency] {
            prop_assert!((-1e-6..=1.0 + 1e-6).contains(&share), "{:?}", outcome);
        }
        prop_assert!((outcome.imbalance + outcome.communication + outcome.efficiency - 1.0).abs() < 1e-9, "{:?}", outcome);
    }
}
