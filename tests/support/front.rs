//! Aurora compared with MPI on the front page: eight rows of `benches/RESULTS.md`, as a table and as a chart.
//!
//! The rows are chosen by rank: the best, the worst, and six at even distances between them.

use crate::results;
use maud::{Markup, PreEscaped, html};
use std::fs;

/// The section of the README that [`section`] writes.
pub const HEADING: &str = "## Performance";

/// The chart, as a path from the root.
pub const CHART: &str = "docs/src/images/performance.svg";

/// As many rows as the front page shows.
const SHOWN: usize = 8;

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
/// The system's, with the file; results without rows.
pub fn update() -> Result<(), String> {
    let results = results::read(results::FILE)?;
    fs::write(results::path(CHART), chart(&results)).map_err(|error| format!("{CHART}: {error}"))?;
    results::write(&results::path("README.md"), HEADING, &section(&results))
}

/// All rows of the results that compare a time or a rate with MPI's, from the best to the worst.
///
/// A ReadCache that is not read is left out: between ranks of a machine Aurora lends memory there, and MPI copies it.
pub fn comparisons(results: &str) -> Vec<Comparison> {
    let cells = |line: &str| -> Vec<String> { line.split('|').map(|cell| cell.trim().to_string()).collect() };
    let rows = results.lines().filter(|line| line.starts_with('|')).map(cells);
    let mut rows: Vec<_> = rows.filter_map(|cells| on_a_machine(&cells).or_else(|| on_the_cluster(&cells))).collect();
    rows.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    rows
}

/// `| name | what | ranks | goal | 1 / **2** / 3 unit | reached | mpi-.. 1 / **2** / 3 unit (r x) | .. |`: minimum,
/// median and maximum
fn on_a_machine(cells: &[String]) -> Option<Comparison> {
    let [_, name, what, ranks, _, aurora, _, mpi, _, _] = cells else { return None };
    let is_bare_load = name.starts_with("load");
    let (aurora, unit) = median(aurora)?;
    let (beside, ratio) = mpi.rsplit_once(" (")?;
    let (theirs, _) = median(beside)?;
    if !mpi.starts_with("mpi") || is_bare_load || unit == "%" {
        return None;
    }
    let ratio: f64 = ratio.strip_suffix(" x)")?.parse().ok()?;
    let ratio = if unit.ends_with("/s") { 1.0 / ratio } else { ratio };
    let with_unit = |value| format!("{value} {unit}");
    let ranks = if ranks.contains(' ') { ranks.replacen(' ', " ranks ", 1) } else { format!("{ranks} ranks") };
    Some(Comparison { what: what.clone(), place: ranks, aurora: with_unit(aurora), mpi: with_unit(theirs), ratio })
}

/// The middle one of three figures, and their unit.
fn median(cell: &str) -> Option<(&str, &str)> {
    let (_, rest) = cell.split_once("**")?;
    let (median, rest) = rest.split_once("**")?;
    Some((median, rest.rsplit(' ').next()?))
}

/// `| what | nodes | bound | goal | a / b unit | reached | Open MPI x (..); MPICH y (..) | .. |`: Aurora's figures are
/// of the jobs with Open MPI and with MPICH. The slower one counts, and the best figure of any MPI.
fn on_the_cluster(cells: &[String]) -> Option<Comparison> {
    let [_, what, nodes, bound, _, aurora, _, best, _, _] = cells else { return None };
    let (open, rest) = aurora.split_once(" / ")?;
    let (mpich, unit) = rest.split_once(' ')?;
    let aurora = number(open)?.max(number(mpich)?);
    let mpis = best.split("; ").filter_map(|of| number(of.strip_prefix("Open MPI ").or(of.strip_prefix("MPICH "))?));
    let mpi = mpis.min_by(f64::total_cmp)?;
    let (bound, unit) = match unit {
        "x bound" => bound.split_once(' ').and_then(|(bound, unit)| Some((number(bound)?, unit)))?,
        "us" => (1.0, unit),
        _ => return None,
    };
    let of = |multiple: f64| format!("{} {unit}", digits(multiple * bound));
    Some(Comparison {
        what: what.clone(),
        place: format!("{nodes} nodes"),
        aurora: of(aurora),
        mpi: of(mpi),
        ratio: aurora / mpi,
    })
}

/// The number that a text begins with.
fn number(text: &str) -> Option<f64> {
    text.split(' ').next()?.parse().ok()
}

/// Three digits, or all before the point.
fn digits(value: f64) -> String {
    let before = value.log10().floor().max(0.0) as usize + 1;
    format!("{value:.*}", 3_usize.saturating_sub(before))
}

/// The best row, the worst, and others at even distances between them, of rows in this order.
fn shown(rows: &[Comparison]) -> impl Iterator<Item = &Comparison> {
    let last = rows.len().saturating_sub(1);
    let places = (0..SHOWN).map(move |k| (k * last + (SHOWN - 1) / 2) / (SHOWN - 1));
    places.filter_map(|place| rows.get(place))
}

/// The section of the README below [`HEADING`].
pub fn section(results: &str) -> String {
    let rows = comparisons(results);
    let table: String = shown(&rows)
        .map(|Comparison { what, place, aurora, mpi, ratio }| {
            format!("| {what}, {place} | {aurora} | {mpi} | {ratio:.2} |\n")
        })
        .collect();
    let slower: Vec<_> = rows
        .iter()
        .rev()
        .filter(|row| row.ratio > 1.05)
        .map(|row| format!("{} ({:.2})", row.what, row.ratio))
        .collect();
    let dates = results.lines().filter(|line| line.starts_with("- Commit ")).filter_map(|line| line.split(", ").nth(1));
    let mut dates: Vec<_> = dates.filter_map(|date| date.split(';').next()).collect();
    dates.sort_unstable();
    let machine = results.lines().find_map(|line| line.strip_prefix("- Machine: ")).unwrap_or_default();
    let machine = machine.split(", Linux").next().unwrap_or_default();
    let programs = ["mm2", "psrs"].map(|program| Some(format!("{:.2} ({program})", least_speedup(results, program)?)));
    let programs = programs.into_iter().flatten().collect::<Vec<_>>().join(" and ");
    let programs = match &*programs {
        "" => String::new(),
        _ => format!(
            " On emulated nodes the speed-ups of the paper's programs, computed from measured sharing, are \
             {programs} of the best MPI's where they are least."
        ),
    };
    format!(
        "![Aurora's time divided by MPI's, for the eight rows of the table]({CHART})\n\n\
         [RESULTS.md](benches/RESULTS.md) compares {} figures with MPI, apart from caches that nobody reads: there \
         Aurora copies nothing between ranks of a machine. Here are the best, the worst, and six at even distances \
         between them.\n\n\
         | operation | Aurora | MPI | Aurora's time / MPI's |\n|---|---|---|---|\n{table}\n\
         MPI is faster by more than 5 % at: {}.{programs}\n\n\
         Medians of interleaved runs on {machine}, {} to {}. *Ranks* are on this machine, and MPI is Open MPI; \
         *nodes* are emulated on it, and MPI is the faster of Open MPI and MPICH with the best settings that we \
         know.\n",
        rows.len(),
        slower.join("; "),
        dates.first().unwrap_or(&"-"),
        dates.last().unwrap_or(&"-"),
    )
}

/// The least of Aurora's modelled speed-ups over the best MPI's, of a program of the paper on emulated nodes.
fn least_speedup(results: &str, program: &str) -> Option<f64> {
    let head = format!("| {program}, modelled speed-up");
    let row = results.lines().find(|line| line.starts_with(&head))?;
    row.split(" nodes: ").filter_map(|rest| number(rest.split([';', ' ']).next()?)).min_by(f64::total_cmp)
}

/// The colours of the chart: by day, and by night.
const STYLE: &str = "\
    text { font: 15px system-ui, sans-serif; fill: #1f2328 } .quiet { fill: #59636e } .paper { fill: #ffffff } \
    .line { stroke: #d1d9e0 } .one { stroke: #59636e } .faster { fill: #0072b2 } .slower { fill: #d55e00 } \
    @media (prefers-color-scheme: dark) { text { fill: #f0f6fc } .quiet { fill: #9198a1 } .paper { fill: #0d1117 } \
    .line { stroke: #3d444d } .one { stroke: #9198a1 } .faster { fill: #56b4e9 } .slower { fill: #e69f00 } }";

/// The width of the chart, the room beside the axis, and the heights of the head, of a row and of its bar.
const WIDTH: f64 = 800.0;
const MARGIN: f64 = 60.0;
const HEAD: f64 = 44.0;
const ROW: f64 = 46.0;
const BAR: f64 = 16.0;

/// A bar for each row that is shown, from the line where both are as fast to the left if Aurora is faster.
pub fn chart(results: &str) -> String {
    let rows = comparisons(results);
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
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (height) } role="img" {
            title { "Aurora's time divided by MPI's" }
            style { (PreEscaped(STYLE)) }
            rect.paper width=(WIDTH) height=(height) rx="6" {}
            text x="16" y="26" { "Aurora's time / MPI's: " tspan.faster { "Aurora is faster" } ", "
                tspan.slower { "MPI is faster" } }
            (axis)
            @for (row, top) in rows.iter().zip((0..).map(|row| HEAD + ROW * f64::from(row))) {
                @let (is_faster, end) = (row.ratio < 1.0, x(row.ratio));
                @let (left, right) = if is_faster { (end, x(1.0)) } else { (x(1.0), end) };
                text x="16" y=(top + 17.0) { (row.what.replace('`', "")) ", " (row.place) }
                rect class=(if is_faster { "faster" } else { "slower" }) x=(at(left)) y=(top + 24.0)
                    width=(at((right - left).max(2.0))) height=(BAR) {}
                text x=(at(if is_faster { left - 6.0 } else { right + 6.0 })) y=(top + 37.0)
                    text-anchor=(if is_faster { "end" } else { "start" }) { (format!("{:.2}", row.ratio)) }
            }
        }
    };
    picture.into_string() + "\n"
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
| a get | 2 | - | <= 25 us | 20.0 / 40.0 us | yes | Open MPI 2000.0 (defaults); MPICH 2015.3 (tuned) | 41 % |
| a stream | 2 | - | >= TCP | 2.473 GB/s | **no** | tcp 3.345 | 53 % |

| row | what | ranks | to be reached | Aurora: min / median / max | reached | beside: min / median / max | cores busy |
|---|---|---|---|---|---|---|---|
| load-4 | bare | 2 | - | 1 / **2** / 3 us | **no** | mpi-collective 2 / **4** / 8 us (0.50 x) | 39 % |
| adds | `add` | 4 on 2 cores | - | 1 / **50** / 60 G/s | no | mpi-isend 1 / **100** / 9 G/s (0.50 x) | 9 % |
| psrs | a sort | 2 | - | 1 / **2** / 3 ms | yes | rayon 2 / **4** / 8 ms (0.50 x) | 39 % |
| mm2 | a part | 2 | - | 1 / **2** / 3 % | yes | mpi-isend 2 / **4** / 8 % (0.50 x) | 39 % |

| mm2, modelled speed-up / MPI | >= 1.00 | no | slow, mm2, 16 nodes: 0.894; fast, mm2, 2 nodes: 0.750 |
";

    #[test]
    fn times_and_rates_are_compared_with_the_best_of_mpi() {
        let rows = comparisons(RESULTS);
        let rows: Vec<_> =
            rows.iter().map(|row| (&*row.what, &*row.place, &*row.aurora, &*row.mpi, row.ratio)).collect();
        let wanted = [
            ("a get", "2 nodes", "40.0 us", "2000 us", 0.02),
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
        let chart = chart(RESULTS);
        // From 0.02 to 1, on two decades and one.
        assert!(chart.contains(r#"<rect class="faster" x="128.2" y="68" width="385.1""#), "{chart}");
        assert!(chart.contains(r#"<rect class="slower" x="513.3""#), "{chart}");
        assert!(section(RESULTS).contains("faster by more than 5 % at: `add` (2.00); a load (1.20)."));
    }

    #[test]
    fn the_least_speed_up_of_all_networks_is_told() {
        assert_eq!(["mm2", "psrs"].map(|program| least_speedup(RESULTS, program)), [Some(0.75), None]);
        assert!(section(RESULTS).contains("are 0.75 (mm2) of"));
    }

    /// `UPDATE=1` writes them anew.
    #[test]
    fn the_front_page_shows_the_results_as_they_are() {
        if std::env::var_os("UPDATE").is_some() {
            update().expect("the front page can be written");
        }
        let read = |file: &str| results::read(results::path(file)).expect("it is there");
        let results = results::read(results::FILE).expect("they are there");
        let advice = "`UPDATE=1 cargo test --lib` writes it";
        assert!(read("README.md").contains(&format!("{HEADING}\n\n{}", section(&results))), "README.md: {advice}");
        assert_eq!(read(CHART), chart(&results), "{CHART}: {advice}");
    }
}
