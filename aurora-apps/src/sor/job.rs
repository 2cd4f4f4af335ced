//! A run, and published sizes.

use super::Start;
use crate::implementation::Implementation;
use crate::job::Job;
use crate::random::Stream;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use thiserror::Error;

/// The numbers of a matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    /// `f32`.
    Single,
    /// `f64`.
    Double,
}

/// A matrix, and the work on it.
#[derive(Clone, PartialEq, Debug)]
pub struct Problem {
    /// Its name in reports.
    pub name: &'static str,
    /// Rows of the matrix.
    pub rows: usize,
    /// Elements of a row.
    pub cols: usize,
    /// The number of half-sweeps. The first, the third and so on update red elements, the others black ones.
    pub half_sweeps: usize,
    /// The numbers.
    pub precision: Precision,
    /// The sum of the interior at the end, if somebody has published it. It is for the input of Java Grande.
    pub published: Option<f64>,
}

impl Problem {
    /// Size A of Java Grande.
    pub const A: Problem = java_grande("a", 1000, 0.498574406322512);
    /// Size B.
    pub const B: Problem = java_grande("b", 1500, 1.1234778980135105);
    /// Size C.
    pub const C: Problem = java_grande("c", 2000, 1.9954895063582696);
    /// The matrix of the comparison of TreadMarks with PVM.
    pub const PAPER: Problem = Problem {
        name: "paper",
        rows: 1024,
        cols: 3072,
        half_sweeps: 101,
        precision: Precision::Single,
        published: None,
    };
    /// A small matrix.
    pub const S: Problem =
        Problem { name: "s", rows: 50, cols: 70, half_sweeps: 20, precision: Precision::Double, published: None };

    /// The elements of repetition `rep` of a run with `seed`. Java Grande has one input for all.
    pub fn start(&self, seed: u64, rep: usize) -> Start {
        match self.published {
            Some(_) => Start::Java(JAVA_GRANDE_SEED),
            None => Start::Random(Stream::new(seed, rep as u64)),
        }
    }

    /// The elements of a row that have one colour.
    pub fn half_cols(&self) -> usize {
        self.cols.div_ceil(2)
    }
}

/// The seed of Java Grande's input.
pub(super) const JAVA_GRANDE_SEED: u64 = 10_101_010;

const fn java_grande(name: &'static str, size: usize, sum: f64) -> Problem {
    let precision = Precision::Double;
    Problem { name, rows: size, cols: size, half_sweeps: 200, precision, published: Some(sum) }
}

/// The parameters of a run.
#[derive(Args, Clone, Debug)]
pub struct Sor {
    /// The matrix.
    #[arg(long = "size", value_name = "SIZE", default_value = Problem::A.name, value_parser = problem())]
    pub problem: Problem,
}

/// Returns the parser of the name of a matrix.
fn problem() -> impl TypedValueParser<Value = Problem> {
    let named = [
        (Problem::A, "1000 x 1000 of 64 bits, 100 iterations: size A of Java Grande, with its published sum"),
        (Problem::B, "1500 x 1500: size B"),
        (Problem::C, "2000 x 2000: size C"),
        (Problem::PAPER, "1024 x 3072 of 32 bits, 101 half-sweeps: the comparison of TreadMarks with PVM"),
        (Problem::S, "50 x 70 of 64 bits, 10 iterations: also element by element"),
    ];
    let shown = named.each_ref().map(|(problem, help)| PossibleValue::new(problem.name).help(*help));
    let of = move |name: String| named.iter().find(|(problem, _)| problem.name == name).map(|(of, _)| of.clone());
    PossibleValuesParser::new(shown).map(move |name| of(name).expect("one of those that are shown"))
}

/// A matrix that would take an implementation too long.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "element by element it runs the size `s` of {} x {} elements, and size `{name}` has {rows} x {cols}: add \
     `--size s`, or leave it out",
    Problem::S.rows, Problem::S.cols
)]
pub struct TooLarge {
    /// The matrix.
    pub name: &'static str,
    /// Its rows.
    pub rows: usize,
    /// The elements of its rows.
    pub cols: usize,
}

impl Job<Sor> {
    /// Checks that the run is possible: element by element, only a small matrix is allowed.
    ///
    /// # Errors
    /// The matrix that is too large.
    pub fn check(&self) -> Result<(), TooLarge> {
        let Problem { name, rows, cols, .. } = self.program.problem;
        let is_small = rows.saturating_mul(cols) <= Problem::S.rows * Problem::S.cols;
        if is_small || !self.implementations.contains(&Implementation::Naive) {
            return Ok(());
        }
        Err(TooLarge { name, rows, cols })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn element_by_element_only_the_small_matrix_is_possible() {
        let implementations = vec![Implementation::Aurora, Implementation::Naive];
        let job = |problem| Job { implementations: implementations.clone(), ..Job::of(Sor { problem }) };
        assert_eq!(job(Problem::S).check(), Ok(()));
        let text = job(Problem::B).check().expect_err("too large").to_string();
        assert!(text.contains("`s` of 50 x 70 elements, and size `b` has 1500 x 1500: add `--size s`"), "{text}");
        assert_eq!(Job::of(Sor { problem: Problem::C }).check(), Ok(()));
    }
}
