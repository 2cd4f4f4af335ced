//! The table, as Markdown.

use crate::job::{Figures, Outcome, Spread, Starter};
use crate::judge::{Measured, Unit};
use crate::row::{Row, Stage};
use aurora_suite::mpi::Flavour;
use std::fmt::Write;

/// A row, or why there is none.
pub type Line = (Row, Result<Measured, Vec<String>>);

/// The head of the first table.
pub const HEAD: &str = "\
| what | N | bound | to be reached | Aurora, beside Open MPI / MPICH | reached | the others' best | cores busy |
|---|---|---|---|---|---|---|---|";

/// A row of the first table; a failure is a line of its own.
pub fn summary((row, result): &Line) -> String {
    let ranks = row.stage.ranks();
    match result {
        Err(reasons) => format!("\nNOT A ROW: {} ({}, N = {ranks}): {}\n", row.what, row.name, reasons.join("; ")),
        Ok(measured) => {
            let bound = row.bound().map_or("-".into(), |bound| format!("{:.2} ms", bound * 1e3));
            let unit = measured.unit();
            let aurora = measured.aurora().into_iter().map(|figures| unit.show(measured.value(figures).median));
            let aurora = aurora.collect::<Vec<_>>().join(" / ");
            let short = measured.shortfalls();
            let reached = if short.is_empty() { "yes".into() } else { format!("**no**: {}", short.join(", ")) };
            let full = if measured.is_full() { " (full)" } else { "" };
            format!(
                "| {} | {ranks} | {bound} | {} | {aurora} {} | {reached} | {} | {:.0} %{full} |",
                row.what,
                measured.goal(),
                unit.name(),
                best(measured),
                measured.busy() * 100.0,
            )
        }
    }
}

fn best(measured: &Measured) -> String {
    let starters = if measured.on_lab() {
        vec![Starter::Mpi(Flavour::Open), Starter::Mpi(Flavour::Mpich)]
    } else {
        vec![Starter::Itself]
    };
    let unit = measured.unit();
    let words = starters.into_iter().filter_map(|starter| {
        let (outcome, figures) = measured.best(starter)?;
        let value = unit.show(measured.value(figures).median);
        Some(match starter {
            Starter::Itself => format!("{} {value}", figures.implementation),
            _ => format!("{starter} {value} ({}, {})", figures.implementation, outcome.tuning.name),
        })
    });
    words.collect::<Vec<_>>().join("; ")
}

/// Everything that was measured for a row.
pub fn details((row, result): &Line) -> Option<String> {
    let measured = result.as_ref().ok()?;
    let unit = measured.unit();
    let mut text = format!("### {}: {}, N = {}\n\n", row.name, row.what, row.stage.ranks());
    let _ = writeln!(text, "{}: `aurora bench {}`\n", stage(row.stage), row.arguments().join(" "));
    let _ = writeln!(
        text,
        "| job | implementation | min | median | max ({}) | CPU seconds | of the cores | packets sent | resent |\n\
         |---|---|---|---|---|---|---|---|---|",
        unit.name()
    );
    for outcome in &measured.outcomes {
        for figures in &outcome.results {
            let _ = writeln!(text, "{}", detail(measured, outcome, figures, unit));
        }
    }
    text.push('\n');
    for outcome in &measured.outcomes {
        let _ = writeln!(text, "- {}", conditions(outcome));
    }
    Some(text)
}

fn detail(measured: &Measured, outcome: &Outcome, figures: &Figures, unit: Unit) -> String {
    let Spread { min, median, max } = measured.value(figures);
    let packets = |of: Option<Spread>| of.map_or("-".into(), |packets| format!("{:.1}", packets.median));
    format!(
        "| {}, {} | {} | {} | {} | {} | {:.5} | {:.0} % | {} | {} |",
        outcome.starter,
        outcome.tuning.name,
        figures.implementation,
        unit.show(min),
        unit.show(median),
        unit.show(max),
        figures.cpu_seconds.median,
        Measured::own_share(figures) * 100.0,
        packets(figures.packets_sent),
        packets(figures.packets_resent),
    )
}

fn conditions(outcome: &Outcome) -> String {
    let mut text = format!("{}, {}", outcome.starter, outcome.tuning.name);
    if !outcome.tuning.variables.is_empty() {
        let _ = write!(text, " (`{}`)", outcome.tuning.words());
    }
    let _ = write!(text, ": cores {:.0} % busy", outcome.busy.unwrap_or(f64::NAN) * 100.0);
    if let Some(network) = outcome.network {
        let _ = write!(
            text,
            ", {} packets dropped by full queues, {} lost, {} sent again by TCP",
            network.overflowed, network.lost, network.tcp_resent
        );
    }
    for remark in &outcome.remarks {
        let _ = write!(text, "; {remark}");
    }
    text
}

fn stage(stage: Stage) -> String {
    match stage {
        Stage::Lab { nodes, shape } => format!(
            "{nodes} nodes, {}, MTU {}, port queue {} KB, loss {} %",
            shape.rate,
            shape.mtu,
            shape.queue_kb,
            shape.percent()
        ),
        Stage::Loopback { mtu } => format!("Two processes on loopback, IP packets of {mtu} bytes"),
    }
}
