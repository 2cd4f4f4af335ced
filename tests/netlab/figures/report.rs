//! The table, as Markdown.

use aurora_apps::report::Spread;
use aurora_suite::figures::Table;
use aurora_suite::figures::job::Stage;
use aurora_suite::figures::judge::{FULL, Measured, Share};
use aurora_suite::machine;
use aurora_suite::mpi::Flavour;
use serde::Deserialize;
use std::fmt::Write;

/// The head of the first table.
pub const HEAD: &str = "\
| what | N | bound | to be reached | Aurora, beside Open MPI / MPICH | reached | the others' best | cores busy |
|---|---|---|---|---|---|---|---|";

/// A row of the first table.
pub fn line(measured: &Measured) -> String {
    let row = measured.row;
    let bound = row.bound().map_or("-".into(), |bound| format!("{:.2} ms", bound * 1e3));
    let aurora: Vec<_> = measured.ours().map(|share| row.unit.show(share.value.median)).collect();
    let short = measured.shortfalls();
    let reached = if short.is_empty() { "yes".into() } else { format!("**no**: {}", short.join(", ")) };
    let best = measured.starters().into_iter().filter_map(|starter| {
        let Share { job, who, value, .. } = measured.best(starter)?;
        let (value, tuning) = (row.unit.show(value.median), measured.outcomes[*job].run.tuning.name);
        Some(match row.job.stage {
            Stage::Lab { .. } => format!("{starter} {value} ({who}, {tuning})"),
            _ => format!("{who} {value}"),
        })
    });
    let full = if measured.busy() > FULL { " (full)" } else { "" };
    format!(
        "| {} | {} | {bound} | {} | {} {} | {reached} | {} | {:.0} %{full} |",
        row.what,
        row.job.stage.ranks(),
        row.goal(),
        aurora.join(" / "),
        row.unit.name,
        best.collect::<Vec<_>>().join("; "),
        measured.busy() * 100.0,
    )
}

/// Everything that was measured for a row.
fn details(measured: &Measured) -> String {
    let Measured { row, outcomes, shares } = measured;
    let mut text = format!(
        "### {}: {}\n\n{}: `aurora {}`\n\n\
         | job | implementation | min | median | max ({}) | CPU seconds | of the cores | packets sent | resent |\n\
         |---|---|---|---|---|---|---|---|---|\n",
        row.name,
        row.title(),
        row.job.stage,
        row.job.words,
        row.unit.name
    );
    for Share { job, who, value, said, .. } in shares {
        let run = &outcomes[*job].run;
        let median = |name: &str| Spread::deserialize(&said[name]).ok().map(|spread| spread.median);
        let packets = |name| median(name).map_or("-".into(), |packets| format!("{packets:.1}"));
        let [cpu, seconds] = ["cpu_seconds", "seconds"].map(|name| median(name).unwrap_or_default());
        let _ = writeln!(
            text,
            "| {}, {} | {who} | {} | {} | {} | {cpu:.5} | {:.0} % | {} | {} |",
            run.starter(),
            run.tuning.name,
            row.unit.show(value.min),
            row.unit.show(value.median),
            row.unit.show(value.max),
            cpu / seconds / machine::cores() as f64 * 100.0,
            packets("packets_sent"),
            packets("packets_resent"),
        );
    }
    let conditions = outcomes.iter().map(|outcome| format!("- {}\n", outcome.conditions()));
    text + "\n" + &conditions.collect::<String>()
}

/// The section of `benches/RESULTS.md`.
pub fn section(table: &Table, reps: usize) -> String {
    let details: Vec<String> = table.rows.iter().map(details).collect();
    let [openmpi, mpich] = Flavour::BOTH.map(Flavour::version);
    format!(
        "Written by `tests/netlab/measure`; what the cluster is: [tests/netlab](../tests/netlab/README.md).\n\n\
         - Machine: {}.\n- Open MPI {openmpi}, MPICH {mpich}, TCP with cubic.\n- Commit {}, {}; {}.\n\
         - {reps} repetitions, all implementations of a job in turns on the same data, every byte checked. Times \
         are the slowest\n  rank's, between barriers; the bound is the payload into the busiest node at the rate of \
         its link.\n\
         - Cores busy: of the whole job, of both MPIs the one that took most; above 90 % a row tells of the cores. \
         In the details: what an\n  implementation took during its own turn, by its ranks' CPU time.\n\n\
         {}## Details\n\n{}",
        machine::description(),
        machine::commit(),
        machine::today(),
        table.took,
        table.text(),
        details.join("\n"),
    )
}
