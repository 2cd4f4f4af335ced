//! The rows of `benches/RESULTS.md` that compare with MPI, and the choice of some of them.

use crate::figures::row::three_digits;

/// The number of rows on the front page.
const SHOWN: usize = 8;

/// The heads of the tables that compare with MPI, and the function that reads a row of each table.
const TABLES: [(&str, ReadRow); 2] =
    [("| row | what | ranks |", on_a_machine), ("| what | N | bound |", on_the_cluster)];

/// Reads the cells of a row. `Ok(None)`: the row compares no time or rate with MPI's. `Err`: it is no row of the table.
type ReadRow = fn(&[&str]) -> Result<Option<Comparison>, Malformed>;

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
    let (mut rows, mut table) = (Vec::new(), None);
    for line in results.lines() {
        let begun = TABLES.iter().find(|(head, _)| line.starts_with(head));
        match (begun, table) {
            (Some((_, read)), _) => table = Some(read),
            (None, Some(read)) if line.starts_with("| ") => {
                let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
                rows.extend(read(&cells).map_err(|Malformed| format!("benches/RESULTS.md: cannot be read: {line}"))?);
            }
            (None, _) if line.starts_with("|---") => {}
            (None, _) => table = None,
        }
    }
    rows.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    Ok(rows)
}

/// `name | what | ranks | goal | 1 / **2** / 3 unit | reached | mpi-.. 1 / **2** / 3 unit (r x) | ..`: minimum, median
/// and maximum.
///
/// A ReadCache that is not read is left out: on one machine Aurora lends the memory, and MPI copies it.
fn on_a_machine(cells: &[&str]) -> Result<Option<Comparison>, Malformed> {
    let [name, what, ranks, _, aurora, _, beside, _] = cells else { return Err(Malformed) };
    let is_bare_load = name.strip_prefix("load-").is_some_and(|rest| rest.starts_with(|of: char| of.is_ascii_digit()));
    let (aurora, unit) = median(aurora)?;
    if !beside.starts_with("mpi-") || is_bare_load || unit == "%" {
        return Ok(None);
    }
    let (beside, ratio) = beside.rsplit_once(" (").ok_or(Malformed)?;
    let (mpi, _) = median(beside)?;
    let ratio = number(ratio)?;
    let ratio = if unit.ends_with("/s") { 1.0 / ratio } else { ratio };
    let (count, crowd) = ranks.split_once(' ').map_or((*ranks, String::new()), |(count, on)| (count, format!(" {on}")));
    let [aurora, mpi] = [aurora, mpi].map(|value| format!("{value} {unit}"));
    Comparison { what: what.to_string(), place: format!("{count} ranks{crowd}"), aurora, mpi, ratio }
        .checked()
        .map(Some)
}

/// The median of a cell with three figures, and their unit.
fn median(cell: &str) -> Result<(&str, &str), Malformed> {
    let (_, rest) = cell.split_once("**").ok_or(Malformed)?;
    let (median, rest) = rest.split_once("**").ok_or(Malformed)?;
    Ok((median, rest.rsplit(' ').next().unwrap_or_default()))
}

/// `what | nodes | bound | goal | a / b unit | reached | Open MPI x (..); MPICH y (..) | busy`: Aurora's figures are of
/// the jobs with Open MPI and with MPICH. The slower of Aurora's figures counts, and the best figure of any MPI.
fn on_the_cluster(cells: &[&str]) -> Result<Option<Comparison>, Malformed> {
    let [what, nodes, bound, _, aurora, _, beside, busy] = cells else { return Err(Malformed) };
    let Some(mpis) = beside.strip_prefix("Open MPI ").and_then(|rest| rest.split_once("; MPICH ")) else {
        return if beside.starts_with("tcp ") { Ok(None) } else { Err(Malformed) };
    };
    let (open, rest) = aurora.split_once(" / ").ok_or(Malformed)?;
    let (mpich, unit) = rest.split_once(' ').ok_or(Malformed)?;
    let (aurora, mpi) = (number(open)?.max(number(mpich)?), number(mpis.0)?.min(number(mpis.1)?));
    let (bound, unit) = match unit {
        "x bound" => (number(bound)?, bound.split(' ').nth(1).ok_or(Malformed)?),
        "us" => (1.0, unit),
        "CPU s" => return Ok(None),
        _ => return Err(Malformed),
    };
    let full = if busy.ends_with("(full)") { ", cores full" } else { "" };
    let [ours, theirs] = [aurora, mpi].map(|value| match (value * bound, unit) {
        (micros, "us") if micros >= 1000.0 => format!("{} ms", three_digits(micros / 1000.0)),
        (value, unit) => format!("{} {unit}", three_digits(value)),
    });
    let place = format!("{nodes} nodes{full}");
    Comparison { what: what.to_string(), place, aurora: ours, mpi: theirs, ratio: aurora / mpi }.checked().map(Some)
}

/// The number at the beginning of a text.
fn number(text: &str) -> Result<f64, Malformed> {
    text.split([' ', ';']).next().and_then(|number| number.parse().ok()).ok_or(Malformed)
}

impl Comparison {
    fn checked(self) -> Result<Self, Malformed> {
        if self.ratio.is_finite() && self.ratio > 0.0 { Ok(self) } else { Err(Malformed) }
    }

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
