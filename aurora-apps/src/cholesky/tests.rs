//! The super-program against plain loops without tiles, and verification.

use super::{Cholesky, CholeskyReport, Matrix, Tiles, checksums, factorise};
use crate::implementation::Implementation;
use crate::job::{App, Job};
use crate::report::Comparison;
use aurora_core::Config;
use aurora_super::{Policy, SuperProgram};

fn on(ranks: usize, job: &Job<Cholesky>) -> Comparison<CholeskyReport> {
    Config::threads(ranks)
        .run(|world| Cholesky::run(world, job, &mut |_| ()))
        .unwrap_or_else(|error| panic!("{job:?} on {ranks} ranks: {error}"))
}

fn small(size: usize, tile: usize) -> Job<Cholesky> {
    let implementations = vec![Implementation::Aurora, Implementation::Sequential];
    Job { implementations, reps: 2, seed: Some(5), ..Job::of(Cholesky { size, tile, policy: None }) }
}

#[test]
fn every_shape_is_verified_by_every_policy() {
    let policies = Policy::ALL.map(|(_, policy)| Some(policy)).into_iter().chain([None]);
    for (ranks, policy) in [1, 2, 3, 5].into_iter().cycle().zip(policies.cycle().take(16)) {
        for (size, tile) in [(1, 1), (5, 8), (64, 16), (61, 16), (17, 3)] {
            let report = on(ranks, &Job { program: Cholesky { size, tile, policy }, ..small(size, tile) });
            for CholeskyReport { run, residual, launches } in &report.results {
                assert!(run.verified && *residual <= size as f64, "{run:?}: {residual}");
                assert_eq!((run.ranks, run.size, run.measures["tile"]), (ranks, size, tile));
                assert_eq!(launches.is_some(), run.implementation == "aurora");
            }
            let tiles = size.div_ceil(tile) as u64;
            let launches = report.main.launches.expect("of the super-program");
            assert_eq!(launches.instructions, tiles * (tiles + 1) * (tiles + 2) / 6);
            assert_eq!(launches.by_rank.len(), ranks);
        }
    }
}

#[test]
fn one_changed_element_is_found() {
    for ranks in 1..=3 {
        assert!(!on(ranks, &Job { damage: true, ..small(61, 16) }).main.run.verified);
    }
}

/// The textbook's program, column by column, on a whole matrix.
fn textbook(of: Matrix) -> Vec<Vec<f64>> {
    let n = of.size();
    let mut l: Vec<Vec<f64>> = (0..n).map(|i| (0..=i).map(|j| of.element(i, j)).collect()).collect();
    for k in 0..n {
        l[k][k] = l[k][k].sqrt();
        (k + 1..n).for_each(|i| l[i][k] /= l[k][k]);
        for (i, j) in (k + 1..n).flat_map(|i| (k + 1..=i).map(move |j| (i, j))) {
            l[i][j] -= l[i][k] * l[j][k];
        }
    }
    l
}

#[test]
fn tiles_have_the_bits_of_the_textbook() {
    for (size, tile) in [(23, 7), (20, 5), (9, 20)] {
        let of = Matrix::new(&small(size, tile).program, 3, 0);
        let (sp, l) = (SuperProgram::sequential(), textbook(of));
        let found = factorise(&sp, of, |launches| launches()).unwrap();
        for (i, j) in (0..size).flat_map(|i| (0..size).map(move |j| (i, j))) {
            let at = |place: usize| ((place / tile) as u32, place % tile);
            let ((row, r), (column, c)) = (at(i), at(j));
            if column <= row {
                let right = if j <= i { l[i][j] } else { 0.0 };
                assert_eq!(sp.value(found.at((row, column))).unwrap()[(r, c)].to_bits(), right.to_bits(), "{i}, {j}");
            }
        }
        let mut tiles = Tiles::new(of);
        assert!(tiles.residual() > 1e6, "A is not L");
        tiles.factorise();
        assert_eq!(tiles.checksums(), checksums(&sp, found).unwrap());
        assert!(tiles.residual() < size as f64, "{}", tiles.residual());
    }
}
