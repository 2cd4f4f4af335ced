//! The rows of `benches/RESULTS.md` that compare with MPI, and the choice of some of them.

use crate::figures::HEAD;
use crate::figures::row::three_digits;
use crate::markdown;

/// The number of rows on the front page.
const SHOWN: usize = 8;

/// The error of a row that does not have the form of its table.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Malformed;

/// A row of the results that has figures of Aurora and of MPI.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Comparison {
    /// The operation, in words.
    pub(super) what: String,
    /// The number of ranks or nodes.
    pub(super) place: String,
    pub(super) aurora: String,
    pub(super) mpi: String,
    /// Aurora's time divided by MPI's. Below 1 Aurora is faster.
    pub(super) ratio: f64,
}

/// All rows of the results that compare a time or a rate with MPI's, from the best to the worst.
///
/// # Errors
/// If a row of such a table cannot be read.
pub(super) fn comparisons(results: &str) -> Result<Vec<Comparison>, String> {
    let (mut rows, mut is_table) = (Vec::new(), false);
    let head = markdown::head(HEAD);
    for line in results.lines() {
        is_table = line.starts_with('|') && (is_table || head.starts_with(line));
        if is_table && !head.contains(line) {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            rows.extend(comparison(&cells).map_err(|Malformed| format!("benches/RESULTS.md: cannot be read: {line}"))?);
        }
    }
    rows.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    Ok(rows)
}

/// Reads the cells of a row. `Ok(None)`: the row compares no time or rate with MPI's. `Err`: it is no row of the table.
///
/// The medians are bold. On the cluster Aurora has one for each MPI: its slower one counts, and the faster one of MPI.
/// A ReadCache that is not read is left out: on one machine Aurora lends the memory, and MPI copies it.
fn comparison(cells: &[&str]) -> Result<Option<Comparison>, Malformed> {
    let [name, what, place, goal, aurora, _, beside, busy] = cells else { return Err(Malformed) };
    let is_bare_load = name.strip_prefix("load-").is_some_and(|rest| rest.starts_with(|of: char| of.is_ascii_digit()));
    let others: Vec<_> = beside.split("; ").collect();
    let mpis = others.iter().filter(|other| ["mpi-", "Open MPI ", "MPICH "].iter().any(|mpi| other.starts_with(mpi)));
    if mpis.clone().count() == 0 && place.ends_with("nodes") {
        // Each row of the cluster has both MPIs.
        return Err(Malformed);
    }
    let unit = aurora.rsplit(' ').next().unwrap_or_default();
    if mpis.clone().count() == 0 || is_bare_load && place.contains("ranks") || ["%", "s"].contains(&unit) {
        return Ok(None);
    }
    let (ours, theirs) = (medians(aurora)?, medians(beside)?);
    if [mpis.count(), ours.len(), theirs.len()] != [others.len(); 3] {
        return Err(Malformed);
    }
    let (ours, theirs) = (ours.into_iter().fold(0.0, f64::max), theirs.into_iter().fold(f64::INFINITY, f64::min));
    let (bound, unit) = match unit {
        "bound" => {
            goal.split_once(" x ").and_then(|(_, bound)| bound.split(',').next()?.split_once(' ')).ok_or(Malformed)?
        }
        unit if ["ns", "us", "ms"].contains(&unit) || unit.ends_with("/s") => ("1", unit),
        _ => return Err(Malformed),
    };
    let bound = number(bound)?;
    let ratio = match beside.strip_suffix(" x)").and_then(|beside| beside.rsplit_once('(')) {
        Some((_, ratio)) => number(ratio)?,
        None => ours / theirs,
    };
    let ratio = if unit.ends_with("/s") { 1.0 / ratio } else { ratio };
    let [aurora, mpi] = [ours, theirs].map(|value| match (value * bound, unit) {
        (micros, "us") if micros >= 1000.0 => format!("{} ms", three_digits(micros / 1000.0)),
        (value, unit) => format!("{} {unit}", three_digits(value)),
    });
    let full = if busy.ends_with("(full)") { ", cores full" } else { "" };
    let comparison = Comparison { what: what.to_string(), place: format!("{place}{full}"), aurora, mpi, ratio };
    if ratio.is_finite() && ratio > 0.0 { Ok(Some(comparison)) } else { Err(Malformed) }
}

/// The bold numbers of a cell.
fn medians(cell: &str) -> Result<Vec<f64>, Malformed> {
    cell.split("**").skip(1).step_by(2).map(number).collect()
}

/// The number at the beginning of a text.
fn number(text: &str) -> Result<f64, Malformed> {
    text.split([' ', ';']).next().and_then(|number| number.parse().ok()).ok_or(Malformed)
}

impl Comparison {
    /// The class of its bar. A difference of at most 5 % is `even`.
    pub(super) fn class(&self) -> &'static str {
        match self.ratio {
            ..0.95 => "faster",
            ..=1.05 => "even",
            _ => "slower",
        }
    }
}

/// The best row, the worst row, and rows at even distances between them. `rows` are in this order.
pub(super) fn shown(rows: &[Comparison]) -> impl Iterator<Item = &Comparison> {
    let last = rows.len().saturating_sub(1);
    let places = (0..SHOWN).map(move |k| (k * last + (SHOWN - 1) / 2) / (SHOWN - 1));
    places.filter_map(|place| rows.get(place))
}

/// The minimum of Aurora's modelled speed-ups over the best MPI's, for a program of the paper on emulated nodes.
pub(super) fn least_speedup(results: &str, program: &str) -> Result<f64, String> {
    let head = format!("| {program}, modelled speed-up");
    let row = results.lines().find(|line| line.starts_with(&head)).unwrap_or_default();
    let speedups = row.split(" nodes: ").skip(1).filter_map(|rest| number(rest).ok());
    speedups.min_by(f64::total_cmp).ok_or_else(|| format!("benches/RESULTS.md has no row {head:?} with figures"))
}
