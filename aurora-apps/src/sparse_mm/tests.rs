//! The super-program against the sequential program, and its block loads against those of the simulator.

use super::{Matrices, Sparse, SparseMm, SparseReport, checksums, product, sequential};
use crate::implementation::Implementation;
use crate::job::{App, Job};
use crate::lines;
use crate::report::Comparison;
use aurora_core::Config;
use aurora_super::sim::{OwnSetting, own};
use aurora_super::{Instruction, Parts, Policy, Product, Program, SuperProgram};
use std::collections::HashSet;

fn on(ranks: usize, job: &Job<SparseMm>) -> Comparison<SparseReport> {
    Config::threads(ranks)
        .run(|world| SparseMm::run(world, job, &mut |_| ()))
        .unwrap_or_else(|error| panic!("{job:?} on {ranks} ranks: {error}"))
}

fn small(size: usize, block: usize, density: f64) -> Job<SparseMm> {
    let implementations = vec![Implementation::Aurora, Implementation::Sequential];
    let program = SparseMm { size, block, density, policy: None };
    Job { implementations, reps: 2, seed: Some(5), ..Job::of(program) }
}

#[test]
fn every_shape_is_verified() {
    for ranks in 1..=4 {
        for (size, block, density) in
            [(1, 1, 1.0), (5, 8, 0.5), (64, 16, 0.125), (61, 16, 0.3), (33, 32, 1.0), (17, 3, 0.0), (40, 1, 0.1)]
        {
            let report = on(ranks, &small(size, block, density));
            assert_eq!(report.results.len(), 2);
            for SparseReport { run, launch, .. } in &report.results {
                assert!(run.verified, "{run:?}");
                assert_eq!((run.ranks, run.size, run.reps, run.measures["block"]), (ranks, size, 2, block));
                assert_eq!(launch.is_some(), run.implementation == "aurora");
            }
            let launch = report.main.launch.expect("of the super-program").figures;
            assert_eq!(launch.instructions, (size.div_ceil(block) as u64).pow(3));
            assert!(launch.efficiency.max <= 1.0 && launch.busy_seconds.max > 0.0, "{launch:?}");
        }
    }
}

#[test]
fn one_changed_element_of_one_block_is_found() {
    for ranks in 1..=4 {
        let job = Job { damage: true, implementations: vec![Implementation::Aurora], ..small(61, 16, 0.125) };
        assert!(!on(ranks, &job).main.run.verified);
    }
}

#[test]
fn the_interpreter_has_the_elements_of_a_textbook_product() {
    let of = Matrices::new(&small(23, 7, 0.4).program, 3, 0);
    let (a, b) = (Sparse::new(of, |at| of.a(at)), Sparse::new(of, |at| of.b(at)));
    let dense = |block: &dyn Fn((u32, u32)) -> aurora_super::Csr<f64>| {
        let mut dense = vec![0.0; 23 * 23];
        for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
            let block = block((i, j));
            for row in 0..block.rows() {
                let (columns, values) = block.row(row);
                let start = (of.start(i) + row) * 23 + of.start(j);
                columns.iter().zip(values).for_each(|(column, value)| dense[start + *column as usize] = *value);
            }
        }
        dense
    };
    let (da, db) = (dense(&|at| of.a(at)), dense(&|at| of.b(at)));
    let mut c = vec![-1.0; 23 * 23];
    sequential(&a, &b, &mut c, 23);
    for (at, sum) in c.iter().enumerate() {
        let right: f64 = (0..23).map(|k| da[at / 23 * 23 + k] * db[k * 23 + at % 23]).sum();
        assert_eq!(*sum, right);
    }
    let sp = SuperProgram::sequential();
    let found = product(&sp, of, |launch| launch()).unwrap();
    assert_eq!(checksums(&sp, found).unwrap(), super::sequential::checksums_of(&c, of));
    assert_eq!(sp.value(found.0.at((3, 3))).unwrap()[(1, 1)], c[22 * 23 + 22]);
}

/// Distinct blocks of A and B that the owners of C's blocks read and do not own.
fn counted(nodes: usize) -> u64 {
    let program = Product::square(32).unwrap();
    let owners: Vec<u32> = Parts::by_speed(&vec![1.0; nodes]).unwrap().owners(&program).collect();
    let mut loads = HashSet::new();
    for group in 0..program.groups() {
        let node = owners[program.result(group) as usize];
        let read = (0..32).flat_map(|k| program.inputs(Instruction { group, k }));
        loads.extend(read.filter(|block| owners[*block as usize] != node).map(|block| (node, block)));
    }
    loads.len() as u64
}

#[test]
fn block_loads_are_those_of_the_simulator() {
    let mut job = small(32 * 8, 8, 0.125);
    job.implementations = vec![Implementation::Aurora];
    job.reps = 1;
    job.program.policy = Some(Policy::S);
    for ranks in 2..=5 {
        let simulated = own(&OwnSetting::new(Policy::S, vec![1.0; ranks], 0)).unwrap().common.loads;
        let report = on(ranks, &job);
        assert!(report.main.run.verified);
        let launch = report.main.launch.unwrap().figures;
        assert_eq!((launch.block_loads, counted(ranks)), (simulated, simulated), "{ranks} ranks");
        assert_eq!(launch.instructions, 32 * 32 * 32);
        assert!(launch.loaded_mib > 0.0);
        if ranks == 2 {
            assert_eq!(launch.block_loads, 1024);
        }
    }
}

#[test]
fn the_super_program_has_at_most_25_lines() {
    let lines = lines::versions().into_iter().find(|version| version.app == "sparse-mm").unwrap().lines;
    assert!(lines <= 25, "{lines}");
}
