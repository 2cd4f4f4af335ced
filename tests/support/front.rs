//! Aurora compared with MPI on the front page: eight rows of `benches/RESULTS.md`, as a table and as a chart.
//!
//! The rows are chosen by rank: the best, the worst, and six at even distances between them.

use crate::figures::row::three_digits;
use crate::results;
use maud::{Markup, PreEscaped, html};
use std::collections::BTreeSet;
use std::fs;

/// The section of the README that [`section`] writes.
pub const HEADING: &str = "## Performance";

/// The chart, as a path from the root.
pub const CHART: &str = "docs/src/images/performance.svg";

/// As many rows as the front page shows.
const SHOWN: usize = 8;

/// The heads of the tables that compare with MPI, and how a row of each is read.
const TABLES: [(&str, ReadRow); 2] =
    [("| row | what | ranks |", on_a_machine), ("| what | N | bound |", on_the_cluster)];

/// Reads the cells of a row: `Ok(None)` compares no time or rate with MPI's, `Err` is no row of the table.
type ReadRow = fn(&[&str]) -> Result<Option<Comparison>, Malformed>;

/// A row that is not as its table has them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Malformed;

/// A row of the results that has figures of Aurora and of MPI.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// The operation, in words.
    what: String,
    /// On how many ranks or nodes.
    place: String,
    aurora: String,
    mpi: String,
    /// Aurora's time by MPI's: below 1 Aurora is faster.
    ratio: f64,
}

/// Writes the chart and the README's section, from the results as they are.
///
/// # Errors
/// The system's, with the file; a row that cannot be read.
pub fn update() -> Result<(), String> {
    let results = results::read(results::FILE)?;
    fs::write(results::path(CHART), chart(&results)?).map_err(|error| format!("{CHART}: {error}"))?;
    results::write(&results::path("README.md"), HEADING, &section(&results)?)
}

/// All rows of the results that compare a time or a rate with MPI's, from the best to the worst.
///
/// # Errors
/// A row of such a table that cannot be read.
pub fn comparisons(results: &str) -> Result<Vec<Comparison>, String> {
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
/// A ReadCache that is not read is left out: between ranks of a machine Aurora lends memory there, and MPI copies it.
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

/// The middle one of three figures, and their unit.
fn median(cell: &str) -> Result<(&str, &str), Malformed> {
    let (_, rest) = cell.split_once("**").ok_or(Malformed)?;
    let (median, rest) = rest.split_once("**").ok_or(Malformed)?;
    Ok((median, rest.rsplit(' ').next().unwrap_or_default()))
}

/// `what | nodes | bound | goal | a / b unit | reached | Open MPI x (..); MPICH y (..) | busy`: Aurora's figures are of
/// the jobs with Open MPI and with MPICH. The slower one counts, and the best figure of any MPI.
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

/// The number that a text begins with.
fn number(text: &str) -> Result<f64, Malformed> {
    text.split([' ', ';']).next().and_then(|number| number.parse().ok()).ok_or(Malformed)
}

impl Comparison {
    fn checked(self) -> Result<Self, Malformed> {
        if self.ratio.is_finite() && self.ratio > 0.0 { Ok(self) } else { Err(Malformed) }
    }

    /// The class of its bar: one of both is faster, if by more than 5 %.
    fn class(&self) -> &'static str {
        match self.ratio {
            ..0.95 => "faster",
            ..=1.05 => "even",
            _ => "slower",
        }
    }
}

/// The best row, the worst, and others at even distances between them, of rows in this order.
fn shown(rows: &[Comparison]) -> impl Iterator<Item = &Comparison> {
    let last = rows.len().saturating_sub(1);
    let places = (0..SHOWN).map(move |k| (k * last + (SHOWN - 1) / 2) / (SHOWN - 1));
    places.filter_map(|place| rows.get(place))
}

/// The section of the README below [`HEADING`].
///
/// # Errors
/// A row that cannot be read, or that is missing.
pub fn section(results: &str) -> Result<String, String> {
    let rows = comparisons(results)?;
    let table: String = shown(&rows)
        .map(|Comparison { what, place, aurora, mpi, ratio }| {
            format!("| {what} | {place} | {aurora} | {mpi} | {} |\n", three_digits(*ratio))
        })
        .collect();
    let slower = rows.iter().rev().filter(|row| row.class() == "slower");
    let slower: Vec<_> = slower.map(|row| format!("{}, {} ({:.2})", row.what, row.place, row.ratio)).collect();
    let dates = results.lines().filter(|line| line.starts_with("- Commit ")).filter_map(|line| line.split(", ").nth(1));
    let dates: BTreeSet<&str> = dates.filter_map(|date| date.split(';').next()).collect();
    let machines = results.lines().filter_map(|line| line.strip_prefix("- Machine: ")?.split(", Linux").next());
    let machines: BTreeSet<&str> = machines.collect();
    let [mm2, psrs] = ["mm2", "psrs"].map(|program| least_speedup(results, program));
    Ok(format!(
        "![Aurora's time divided by the time of MPI, for the eight rows of the table]({CHART})\n\n\
         [RESULTS.md](benches/RESULTS.md) compares {} times and rates with MPI. This table has the best, the worst, \
         and six at even distances between them. Caches that no loop reads are left out: within a machine Aurora does \
         not copy them.\n\n\
         | operation | on | Aurora | MPI | ratio of times |\n|---|---|---|---|---|\n{table}\n\
         MPI is faster by more than 5 % at: {}.\n\n\
         The paper's programs were measured on 1 to 16 nodes. Speed-ups computed from these measurements are at least \
         {:.2} (mm2) and {:.2} (psrs) of the best speed-up by MPI.\n\n\
         All figures are medians of interleaved runs on {}, {} to {}. *Ranks* share this machine, and MPI is Open MPI \
         with its default settings. *Nodes* are emulated on it, and MPI is the faster of Open MPI and MPICH with the \
         best settings that we know. Where the cores are *full*, they limit both.\n",
        rows.len(),
        slower.join("; "),
        mm2?,
        psrs?,
        Vec::from_iter(machines).join(" and "),
        dates.first().unwrap_or(&"-"),
        dates.last().unwrap_or(&"-"),
    ))
}

/// The least of Aurora's modelled speed-ups over the best MPI's, of a program of the paper on emulated nodes.
fn least_speedup(results: &str, program: &str) -> Result<f64, String> {
    let head = format!("| {program}, modelled speed-up");
    let row = results.lines().find(|line| line.starts_with(&head)).unwrap_or_default();
    let speedups = row.split(" nodes: ").skip(1).filter_map(|rest| number(rest).ok());
    speedups.min_by(f64::total_cmp).ok_or_else(|| format!("benches/RESULTS.md has no row {head:?} with figures"))
}

/// The colours of the chart: by day, and by night.
const STYLE: &str = "\
    text { font: 15px system-ui, sans-serif; fill: #1f2328 } .quiet, .even { fill: #59636e } .paper { fill: #ffffff } \
    .line { stroke: #d1d9e0 } .one { stroke: #59636e } .faster { fill: #0072b2 } .slower { fill: #b34700 } \
    @media (prefers-color-scheme: dark) { text { fill: #f0f6fc } .quiet, .even { fill: #9198a1 } \
    .paper { fill: #0d1117 } .line { stroke: #3d444d } .one { stroke: #9198a1 } .faster { fill: #56b4e9 } \
    .slower { fill: #e69f00 } }";

/// The width of the chart, the room beside the axis, and the heights of the head, of a row and of its bar.
const WIDTH: f64 = 800.0;
const MARGIN: f64 = 60.0;
const HEAD: f64 = 44.0;
const ROW: f64 = 46.0;
const BAR: f64 = 16.0;

/// A bar for each row that is shown, from the line where both are as fast to the left if Aurora is faster.
///
/// # Errors
/// A row that cannot be read.
pub fn chart(results: &str) -> Result<String, String> {
    let rows = comparisons(results)?;
    let rows: Vec<_> = shown(&rows).collect();
    let decades = rows.iter().map(|row| row.ratio.log10());
    let (from, to) = decades.fold((0.0_f64, 0.0_f64), |(from, to), of| (from.min(of.floor()), to.max(of.ceil())));
    let x = |ratio: f64| MARGIN + (WIDTH - 2.0 * MARGIN) * (ratio.log10() - from) / (to - from).max(1.0);
    let bottom = HEAD + ROW * rows.len() as f64;
    let height = bottom + 36.0;
    let axis = html! {
        @for decade in from as i32..=to as i32 {
            @let (ratio, class) = (10_f64.powi(decade), if decade == 0 { "one" } else { "line" });
            line class=(class) x1=(at(x(ratio))) x2=(at(x(ratio))) y1=(HEAD) y2=(bottom) {}
            text.quiet x=(at(x(ratio))) y=(bottom + 22.0) text-anchor="middle" { (ratio) }
        }
    };
    let picture: Markup = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(WIDTH) height=(height) viewBox={ "0 0 " (WIDTH) " " (height) }
            role="img" {
            title { "Aurora's time divided by the time of MPI, for eight operations, on a logarithmic scale" }
            style { (PreEscaped(STYLE)) }
            rect.paper width=(WIDTH) height=(height) rx="6" {}
            text x="16" y="26" { "time of Aurora / time of MPI, logarithmic: " tspan.faster { "Aurora is faster" } ", "
                tspan.slower { "MPI is faster" } }
            (axis)
            @for (row, top) in rows.iter().zip((0..).map(|row| HEAD + ROW * f64::from(row))) {
                @let (is_faster, end) = (row.ratio < 1.0, x(row.ratio));
                @let (left, right) = if is_faster { (end, x(1.0)) } else { (x(1.0), end) };
                text x="16" y=(top + 17.0) { (row.what.replace('`', "")) ", " (row.place) }
                rect class=(row.class()) x=(at(left)) y=(top + 24.0) width=(at((right - left).max(2.0))) height=(BAR) {}
                text x=(at(if is_faster { left - 6.0 } else { right + 6.0 })) y=(top + 37.0)
                    text-anchor=(if is_faster { "end" } else { "start" }) { (three_digits(row.ratio)) }
            }
        }
    };
    Ok(picture.into_string() + "\n")
}

/// A place in the chart: tenths are exact enough.
fn at(place: f64) -> String {
    format!("{place:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: &str = "\
- Machine: AMD EPYC, 2 cores, 24 GiB, Linux 6.18.
- Commit 89b2b43, 2026-11-21; 65 jobs in 13.0 minutes.

| what | N | bound | to be reached | Aurora, beside Open MPI / MPICH | reached | the others' best | cores busy |
|---|---|---|---|---|---|---|---|
| a load | 8 | 200.0 ms | <= 1.05 | 1.020 / 1.500 x bound | yes | Open MPI 2.000 (tuned); MPICH 1.250 (tuned) | 74 % |
| CPU seconds | 16 | - | - | 0.1362 / 0.1321 CPU s | yes | Open MPI 0.1 (tuned); MPICH 0.2 (tuned) | 98 % |
| a get | 2 | - | <= 25 us | 20.0 / 40.0 us | yes | Open MPI 2000.0 (defaults); MPICH 2015.3 (tuned) | 98 % (full) |
| a stream | 2 | - | >= TCP | 2.473 GB/s | **no** | tcp 3.345 | 53 % |

| row | what | ranks | to be reached | Aurora: min / median / max | reached | beside: min / median / max | cores busy |
|---|---|---|---|---|---|---|---|
| load-4 | bare | 2 | - | 1 / **2** / 3 us | **no** | mpi-collective 2 / **4** / 8 us (0.50 x) | 39 % |
| adds | `add` | 4 on 2 cores | - | 1 / **50** / 60 G/s | no | mpi-isend 1 / **100** / 9 G/s (0.50 x) | 9 % |
| psrs | a sort | 2 | - | 1 / **2** / 3 ms | yes | rayon 2 / **4** / 8 ms (0.50 x) | 39 % |
| mm2 | a part | 2 | - | 1 / **2** / 3 % | yes | mpi-isend 2 / **4** / 8 % (0.50 x) | 39 % |

| psrs, modelled speed-up / MPI | >= 1.00 | no | slow, psrs, 16 nodes: 0.500 |
| mm2, modelled speed-up / MPI | >= 1.00 | no | slow, mm2, 16 nodes: 0.894; fast, mm2, 2 nodes: 0.750 |
";

    #[test]
    fn times_and_rates_are_compared_with_the_best_of_mpi() {
        let rows = comparisons(RESULTS).expect("each row can be read");
        let rows: Vec<_> =
            rows.iter().map(|row| (&*row.what, &*row.place, &*row.aurora, &*row.mpi, row.ratio)).collect();
        let wanted = [
            ("a get", "2 nodes, cores full", "40.0 us", "2.00 ms", 0.02),
            ("a load", "8 nodes", "300 ms", "250 ms", 1.2),
            ("`add`", "4 ranks on 2 cores", "50 G/s", "100 G/s", 2.0),
        ];
        assert_eq!(rows, wanted);
    }

    #[test]
    fn the_best_and_the_worst_row_are_shown_and_the_others_by_rank() {
        let row = |number: u32| Comparison {
            what: String::new(),
            place: String::new(),
            aurora: String::new(),
            mpi: String::new(),
            ratio: number.into(),
        };
        for (rows, wanted) in [(43, [0, 6, 12, 18, 24, 30, 36, 42]), (11, [0, 1, 3, 4, 6, 7, 9, 10])] {
            let rows: Vec<_> = (0..rows).map(row).collect();
            assert_eq!(shown(&rows).map(|row| row.ratio as u32).collect::<Vec<_>>(), wanted);
        }
    }

    #[test]
    fn a_bar_goes_to_the_left_where_aurora_is_faster() {
        let chart = chart(RESULTS).expect("each row can be read");
        // From 0.02 to 1, on two decades and one.
        assert!(chart.contains(r#"<rect class="faster" x="128.2" y="68" width="385.1""#), "{chart}");
        assert!(chart.contains(r#"<rect class="slower" x="513.3""#), "{chart}");
        let slower = "faster by more than 5 % at: `add`, 4 ranks on 2 cores (2.00); a load, 8 nodes (1.20).";
        assert!(section(RESULTS).expect("each row can be read").contains(slower));
    }

    #[test]
    fn the_least_speed_up_of_all_networks_is_told() {
        assert_eq!(["mm2", "psrs"].map(|program| least_speedup(RESULTS, program)), [Ok(0.75), Ok(0.5)]);
        assert!(least_speedup(RESULTS, "sor").is_err());
    }

    #[test]
    fn a_row_that_cannot_be_read_is_an_error() {
        for (whole, damaged) in [
            (" | 39 % |", " | 39 % | more |"),
            ("20.0 / 40.0 us", "20.0 / 40.0 miles"),
            ("(0.50 x)", "(0.00 x)"),
            ("1.020 / 1.500 x", "1.020 x"),
            ("; MPICH 1.250", "; 1.250"),
        ] {
            assert!(RESULTS.contains(whole) && comparisons(&RESULTS.replace(whole, damaged)).is_err(), "{damaged}");
        }
    }

    /// `UPDATE=1` writes them anew.
    #[test]
    fn the_front_page_shows_the_results_as_they_are() {
        if std::env::var_os("UPDATE").is_some() {
            update().expect("the front page can be written");
        }
        let read = |file: &str| results::read(results::path(file)).expect("it is there");
        let results = results::read(results::FILE).expect("they are there");
        let advice = "`UPDATE=1 cargo test --lib front` writes it";
        let readme = read("README.md");
        let (_, rest) = readme.split_once(&format!("\n{HEADING}\n\n")).expect("it has the section");
        let shown = rest.split("\n## ").next().unwrap_or_default();
        assert_eq!(shown, section(&results).expect("each row can be read"), "README.md: {advice}");
        assert_eq!(read(CHART), chart(&results).expect("each row can be read"), "{CHART}: {advice}");
    }
}
