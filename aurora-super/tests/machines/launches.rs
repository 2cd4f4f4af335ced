//! Programs one after the other over the same blocks: any number of inputs, groups of any length, results in a part of
//! an array.

use super::run;
use super::world::{AtOnce, Left, World};
use aurora_super::data::{self, Block, State};
use aurora_super::dispatch::Config;
use aurora_super::execute::{Command, Event, Limits, Task};
use aurora_super::{BlockId, Dispatch, Execute, Group, Instruction, Node, Parts, Policy, Program, Random, Updates};
use proptest::prelude::*;
use std::sync::Arc;

/// Two arrays of the same shape, of which a launch reads one and writes a part of the other.
#[derive(Clone, Copy, Hash, Debug)]
struct Arrays {
    shape: [u32; 2],
}

impl Arrays {
    fn len(self) -> u32 {
        self.shape[0] * self.shape[1]
    }

    /// The first array has values, and the second has none.
    fn blocks(self, parts: &Parts) -> Vec<Block> {
        let mut blocks: Vec<Block> =
            [(); 2].iter().flat_map(|()| parts.owners_of(self.shape)).map(Block::new).collect();
        for block in &mut blocks[..self.len() as usize] {
            block.apply(data::Event::Create).unwrap();
        }
        blocks
    }
}

/// Each group writes one block of a rectangle of an array. A question about an empty group is an error.
#[derive(Clone, Hash, Debug)]
struct Launch {
    arrays: Arrays,
    grid: [u32; 2],
    lengths: Vec<u32>,
    results: Vec<BlockId>,
    inputs: Vec<Vec<Vec<BlockId>>>,
    updates: Updates,
}

impl Launch {
    /// Reads the blocks of one array that have a value, and writes a part of the other.
    fn random(arrays: Arrays, writes: u32, blocks: &[Block], random: &mut Random) -> Self {
        let grid = arrays.shape.map(|lines| 1 + random.below(lines));
        let corner = [0, 1].map(|at| random.below(arrays.shape[at] - grid[at] + 1));
        let first = |array: u32| array * arrays.len();
        let readable: Vec<BlockId> = (first(1 - writes)..first(1 - writes) + arrays.len())
            .filter(|block| blocks[*block as usize].state() == State::Readable)
            .collect();
        let block = |group| {
            let (row, column) = (corner[0] + group / grid[1], corner[1] + group % grid[1]);
            first(writes) + row * arrays.shape[1] + column
        };
        let groups = 0..grid[0] * grid[1];
        let lengths: Vec<u32> = groups.clone().map(|_| random.below(5)).collect();
        let mut read = |_| {
            let count = if readable.is_empty() { 0 } else { random.below(4) };
            (0..count).map(|_| readable[random.below(readable.len())]).collect()
        };
        let inputs = lengths.iter().map(|len| (0..*len).map(&mut read).collect()).collect();
        let updates = [Updates::InOrder, Updates::InTurns, Updates::Together][random.below(3) as usize];
        Launch { arrays, grid, lengths, results: groups.map(block).collect(), inputs, updates }
    }
}

impl Program for Launch {
    type Inputs = Vec<BlockId>;

    fn grid(&self) -> (u32, u32) {
        self.grid.into()
    }

    fn len(&self, group: Group) -> u32 {
        self.lengths[group as usize]
    }

    fn result(&self, group: Group) -> BlockId {
        assert!(self.len(group) > 0, "group {group} is empty");
        self.results[group as usize]
    }

    fn inputs(&self, Instruction { group, k }: Instruction) -> Vec<BlockId> {
        self.inputs[group as usize][k as usize].clone()
    }

    fn updates(&self) -> Updates {
        self.updates
    }

    fn blocks(&self) -> u32 {
        2 * self.arrays.len()
    }

    fn place(&self, block: BlockId) -> ([u32; 2], [u32; 2]) {
        let (block, [_, columns]) = (block % self.arrays.len(), self.arrays.shape);
        ([block / columns, block % columns], self.arrays.shape)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn launches_one_after_the_other(
        policy in prop::sample::select(super::policies()),
        shape in [1u32..6, 1u32..6],
        speeds in prop::collection::vec(1u32..4, 1..6),
        (grain, extends, guided) in (1u32..5, any::<bool>(), any::<bool>()),
        (running, ahead, budget) in (1u32..4, 0u32..4, prop::option::of(3u32..9)),
        has_losses: bool,
        seed: u64,
    ) {
        let speeds: Vec<f64> = speeds.into_iter().map(f64::from).collect();
        let (arrays, parts) = (Arrays { shape }, Parts::by_speed(&speeds).unwrap());
        let config = Config { policy, grain, extends, guided, seed };
        let limits = Limits { running, in_flight: running + ahead, budget };
        let (mut random, nodes) = (Random::new(seed), parts.nodes());
        let mut left = Left::by_none(arrays.blocks(&parts), nodes, budget);
        // The second launch reads the blocks that the first wrote, and writes those that the first read; and so on.
        for turn in 0..4 {
            let launch = Arc::new(Launch::random(arrays, (turn + 1) % 2, &left.blocks, &mut random));
            let groups = (0..launch.groups()).filter(|group| launch.len(*group) > 0);
            let written: Vec<BlockId> = groups.map(|group| launch.result(group)).collect();
            left.forget(&written);
            let before: Vec<u32> = left.blocks.iter().map(Block::version).collect();
            // A lost node would be lost for the next launch too.
            let losses = if has_losses && turn == 3 { nodes as usize - 1 } else { 0 };
            let world = World::after(left, launch.clone(), parts.clone(), config, limits, AtOnce::Nothing);
            let world = run(world, losses, &mut random);
            if losses == 0 {
                prop_assert_eq!(world.executed, launch.lengths.iter().sum::<u32>());
            }
            left = world.leave();
            for (block, before) in (0..).zip(before) {
                let now = &left.blocks[block as usize];
                prop_assert_eq!(now.version() > before, written.contains(&block), "block {}", block);
                prop_assert!(!written.contains(&block) || now.state() == State::Readable);
            }
        }
    }
}

/// The results are the lower right quarter of a matrix of 4 x 4 blocks on 4 nodes: node 3 hosts all of it.
fn quarter(length: u32) -> (Arc<Launch>, Parts, Vec<Block>) {
    let (arrays, parts) = (Arrays { shape: [4, 4] }, Parts::by_speed(&[1.0; 4]).unwrap());
    let results = vec![16 + 10, 16 + 11, 16 + 14, 16 + 15];
    let launch = Launch {
        arrays,
        grid: [2, 2],
        lengths: vec![length; 4],
        results,
        inputs: vec![vec![vec![0, 5, 15]; length as usize]; 4],
        updates: Updates::Together,
    };
    let blocks = arrays.blocks(&parts);
    (Arc::new(launch), parts, blocks)
}

/// The groups that are granted to nodes that ask in turn and do not commit.
fn granted(dispatch: &mut Dispatch<Arc<Launch>>, asks: impl IntoIterator<Item = Node>) -> Vec<(Node, Group)> {
    asks.into_iter().for_each(|node| dispatch.handle(node, aurora_super::dispatch::Report::Ask));
    let orders = std::iter::from_fn(|| dispatch.poll());
    let grants = orders.filter_map(|(node, order)| match order {
        aurora_super::dispatch::Order::Grant(grant) => Some((node, grant.what.group)),
        _ => None,
    });
    grants.collect()
}

#[test]
fn a_node_s_own_part_is_the_results_that_it_hosts() {
    let (launch, parts, mut blocks) = quarter(1);
    let config = Config::new(Policy::S);
    let mut dispatch = Dispatch::with_blocks(launch.clone(), parts.clone(), config, blocks.clone());
    assert_eq!(granted(&mut dispatch, [0, 3, 1, 3, 2, 3, 3, 3]), [(3, 0), (3, 1), (3, 2), (3, 3)]);
    // One result has moved, and there are more blocks than the launch knows.
    blocks[16 + 11].float(1);
    blocks.extend([Block::new(2); 3]);
    let mut dispatch = Dispatch::with_blocks(launch, parts, config, blocks);
    assert_eq!(granted(&mut dispatch, [0, 3, 1, 3, 1, 3, 3]), [(3, 0), (1, 1), (3, 2), (3, 3)]);
    dispatch.lose(3);
    assert_eq!(granted(&mut dispatch, [0, 1, 2]).len(), 3);
}

fn grant(launch: &Launch, group: Group) -> Event {
    let what = aurora_super::dispatch::Run { group, run: 0..launch.len(group), attempt: 0 };
    let privilege = aurora_super::data::Privilege::Write;
    let grant = aurora_super::dispatch::Grant { what, privilege, result_at: 1, value_at: None, joins: false };
    Event::Order(aurora_super::dispatch::Order::Grant(grant))
}

#[test]
fn copies_stay_for_the_next_launch_until_they_are_forgotten() {
    for budget in [None, Some(3)] {
        let (launch, parts, blocks) = quarter(1);
        let owners: Arc<[Node]> = blocks.iter().map(Block::host).collect();
        let limits = Limits { budget, ..Limits::ONE };
        let mut node = Execute::new(1, launch.clone(), &parts, owners.clone(), limits);
        let mut out = Vec::new();
        node.handle(grant(&launch, 0), &mut out);
        let fetched = |out: &[Command]| -> Vec<BlockId> {
            let block =
                |command: &Command| if let Command::Fetch { block, .. } = command { Some(*block) } else { None };
            out.iter().filter_map(block).collect()
        };
        assert_eq!((fetched(&out), node.is_idle()), (vec![0, 5, 15], false));
        for block in [0, 5, 15] {
            node.handle(Event::Arrived(block), &mut out);
        }
        let instruction = Instruction { group: 0, k: 0 };
        assert!(
            out.iter()
                .any(|command| matches!(command, Command::Run(Task { instruction: it, .. }) if *it == instruction))
        );
        node.handle(Event::Ran { instruction, took: 0 }, &mut out);
        assert!(node.is_idle());
        let mut copies = node.into_copies();
        copies.grow(100);
        assert!([0, 5, 15].iter().all(|block| copies.has(*block)) && !copies.has(99));
        assert!(copies.forget(5) && !copies.forget(5) && !copies.forget(99) && !copies.has(5));
        let mut node = Execute::with_copies(1, launch.clone(), &parts, owners, limits, copies);
        out.clear();
        node.handle(grant(&launch, 1), &mut out);
        assert_eq!(fetched(&out), [5]);
        // After a launch that is broken off, copies that have not arrived are not there, and no copy is in use.
        let mut copies = node.into_copies();
        assert_eq!([0, 5, 15].map(|block| copies.has(block)), [true, false, true]);
        assert!(copies.put(7) && [0, 7, 15].iter().all(|block| copies.forget(*block)));
    }
}

#[test]
#[should_panic(expected = "an instruction reads 3 blocks, beyond a budget of 2 copies")]
fn an_instruction_beyond_the_budget_does_not_wait_in_silence() {
    let (launch, parts, blocks) = quarter(1);
    let owners: Arc<[Node]> = blocks.iter().map(Block::host).collect();
    let limits = Limits { budget: Some(2), ..Limits::ONE };
    Execute::new(1, launch.clone(), &parts, owners, limits).handle(grant(&launch, 0), &mut Vec::new());
}
