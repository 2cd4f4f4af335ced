//! Aurora compared with MPI on the front page: eight rows of `benches/RESULTS.md`, as a table and as a chart.
//!
//! The rows are chosen by rank: the best, the worst, and six at even distances between them.

mod chart;
mod comparison;

use crate::figures::row::three_digits;
use crate::{markdown, results};
use chart::chart;
use comparison::{Comparison, comparisons, least_speedup, shown};
use std::collections::BTreeSet;
use std::fs;

/// The section of the README that [`section`] writes.
const HEADING: &str = "## Performance";

/// The chart, as a path from the root.
const CHART: &str = "docs/src/images/performance.svg";

/// Writes the chart and the README's section from the results.
///
/// # Errors
/// The system's error, with the file; or a row that cannot be read.
pub fn update() -> Result<(), String> {
    let results = results::read(results::FILE)?;
    fs::write(results::path(CHART), chart(&results)?).map_err(|error| format!("{CHART}: {error}"))?;
    results::write(&results::path("README.md"), HEADING, &section(&results)?)
}

/// The section of the README below [`HEADING`].
///
/// # Errors
/// If a row cannot be read or is missing.
fn section(results: &str) -> Result<String, String> {
    let rows = comparisons(results)?;
    let cells = |Comparison { what, place, aurora, mpi, ratio }: &Comparison| {
        [what.clone(), place.clone(), aurora.clone(), mpi.clone(), three_digits(*ratio)]
    };
    let table = markdown::table("operation|on|Aurora|MPI|ratio of times", shown(&rows).map(cells));
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
         {table}\n\
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

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: &str = "\
- Machine: AMD EPYC, 2 cores, 24 GiB, Linux 6.18.
- Commit 89b2b43, 2026-11-21; 65 jobs in 13.0 minutes.

| row | what | on | to be reached | Aurora | reached | beside | cores busy |
|---|---|---|---|---|---|---|---|
| load-8 | a load | 8 nodes | <= 1.05 x 200.0 ms, max/min <= 1.05 | **1.020** / **1.500** x bound | yes \
    | Open MPI **2.000** (tuned); MPICH **1.250** (tuned) | 74 % |
| cpu | CPU seconds | 16 nodes | - | **0.1362** / **0.1321** CPU s | yes \
    | Open MPI **0.1** (tuned); MPICH **0.2** (tuned) | 98 % |
| get | a get | 2 nodes | <= 25 us | **20.0** / **40.0** us | yes \
    | Open MPI **2000.0** (defaults); MPICH **2015.3** (tuned) | 98 % (full) |
| stream | a stream | 2 processes | >= TCP | **2.473** GB/s | **no** | tcp **3.345** | 53 % |

| row | what | on | to be reached | Aurora | reached | beside | cores busy |
|---|---|---|---|---|---|---|---|
| load-4 | bare | 2 ranks | - | 1 / **2** / 3 us | **no** | mpi-collective 2 / **4** / 8 us (0.50 x) | 39 % |
| adds | `add` | 4 ranks on 2 cores | - | 1 / **50.0** / 60 G/s | no | mpi-isend 1 / **100** / 9 G/s (0.50 x) | 9 % |
| psrs | a sort | 2 ranks | - | 1 / **2** / 3 ms | yes | rayon 2 / **4** / 8 ms (0.50 x) | 39 % |
| mm2 | a part | 2 ranks | - | 1 / **2** / 3 % | yes | mpi-isend 2 / **4** / 8 % (0.50 x) | 39 % |

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
            ("`add`", "4 ranks on 2 cores", "50.0 G/s", "100 G/s", 2.0),
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
        // From 0.02 to 1, on an axis of two decades below 1 and one above.
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
            ("**40.0** us", "**40.0** miles"),
            ("(0.50 x)", "(0.00 x)"),
            ("**1.020** / **1.500** x", "**1.020** x"),
            ("; MPICH **1.250**", "; **1.250**"),
            ("Open MPI **2000.0** (defaults); MPICH **2015.3**", "**2000.0** (defaults); **2015.3**"),
        ] {
            assert!(RESULTS.contains(whole) && comparisons(&RESULTS.replace(whole, damaged)).is_err(), "{damaged}");
        }
    }

    /// With `UPDATE=1` it writes them again.
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
