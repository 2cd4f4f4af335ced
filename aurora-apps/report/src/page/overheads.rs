//! The overheads of simulated policies: a bar for each policy, cut into imbalance and communication.

use super::provenance;
use super::simulated::repetitions;
use super::text::count;
use crate::Spread;
use crate::chart::{Bar, Part, bars, ink};
use crate::recorded::Recorded;
use crate::simulation::Runs;
use maud::{Markup, html};

/// One policy, with its runs.
type Row<'r> = (String, Runs<'r>, Bar);

/// Returns a chart of the policies on the maximum number of nodes; none of a single policy. If `syn` squeezes the other
/// bars to one side, there is a second chart without `syn`.
pub fn charts(all: &[Recorded], place: &str, runs: &Runs<'_>) -> Vec<Markup> {
    let nodes = runs.0.iter().map(|(_, of)| of.nodes).max().unwrap_or(1);
    let lines = runs.lines(|of| (of.nodes == nodes).then_some(of.nodes)).into_iter();
    let rows = lines.filter_map(|((_, policy), points)| {
        let runs = points.into_values().next()?;
        let bar = bar(policy, &runs)?;
        Some((policy.to_string(), runs, bar))
    });
    let rows: Vec<Row<'_>> = rows.collect();
    let title = format!("Overheads on {}: {place}", count(nodes, "node"));
    let most = |rows: &[Row<'_>]| rows.iter().map(|(.., bar)| bar.sum()).fold(0.0, f64::max);
    let mut charts = Vec::from_iter(chart(all, &title, &rows));
    let (steps, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(policy, ..)| policy == "syn");
    if most(&steps) > 2.0 * most(&others) {
        charts.extend(chart(all, &format!("{title}, without syn"), &others));
    }
    charts
}

/// Returns the bar of a policy, or `None` if it has no overhead.
fn bar(policy: &str, runs: &Runs<'_>) -> Option<Bar> {
    let part = |name: &str, ink, value| Part { name: name.into(), ink, value };
    let mean = |figure| runs.mean(figure).map(|of| of.mean);
    let (imbalance, communication) = (mean("imbalance")?, mean("communication")?);
    let mut parts = match mean("waiting") {
        None => vec![part("imbalance", ink::COMPUTING[0], imbalance)],
        Some(waiting) => vec![
            part("no instruction", ink::COMPUTING[0], (imbalance - waiting).max(0.0)),
            part("waiting for operands", ink::SHARING[1], waiting),
        ],
    };
    parts.push(part("communication", ink::SHARING[0], communication));
    let values: Vec<String> = parts.iter().map(|part| format!("{:.3}", part.value)).collect();
    // In each repetition, the overheads are the rest of the efficiency.
    let efficiency = runs.mean("efficiency").filter(|of| of.variation.is_some());
    let whole = efficiency.map(|of| {
        let Spread { min, median, max } = of.spread();
        Spread { min: 1.0 - max, median: 1.0 - median, max: 1.0 - min }
    });
    let bar = Bar { name: format!("{policy}: {}", values.join(" + ")), parts, whole };
    (bar.sum() > 0.0).then_some(bar)
}

fn chart(all: &[Recorded], title: &str, rows: &[Row<'_>]) -> Option<Markup> {
    if rows.len() < 2 {
        return None;
    }
    let all_bars: Vec<Bar> = rows.iter().map(|(.., bar)| bar.clone()).collect();
    let mut legend: Vec<&Part> = Vec::new();
    for part in all_bars.iter().flat_map(|bar| &bar.parts) {
        if !legend.iter().any(|known| known.name == part.name) {
            legend.push(part);
        }
    }
    Some(html! {
        figure {
            h4 { (title) }
            (bars("share of what all nodes could have computed", &all_bars))
            ul.legend { @for part in legend {
                li { span.swatch style={ "background:" (part.ink) } {} (part.name) }
            } }
            figcaption {
                "The numbers are the parts from the left. "
                @if all_bars.iter().any(|bar| bar.parts.len() > 2) {
                    "The first two are the imbalance: nodes without an instruction, and nodes whose instructions \
                     have no operands yet. "
                }
                @if all_bars.iter().any(|bar| bar.whole.is_some()) {
                    "The line on a bar goes from the minimum to the maximum of the sum; its tick is the mean. "
                }
                (repetitions(rows.iter().map(|(_, runs, _)| runs)))
            }
            (provenance::from(all, rows.iter().flat_map(|(_, runs, _)| &runs.0).map(|(run, _)| *run)))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulation;

    #[test]
    fn the_parts_of_a_bar_are_the_overheads_and_its_whisker_is_the_rest_of_the_efficiency() {
        let new = include_str!("../../pages/simulated.json").lines().rfind(|line| line.contains("\"reps\":16"));
        let simulation: Simulation = serde_json::from_str(new.expect("a simulation")).expect("a simulation");
        let values = |figure: &str| simulation.figures[figure];
        let bar = bar("R", &Runs(vec![(0, &simulation)])).expect("a bar");
        let [imbalance, waiting, communication] =
            ["imbalance", "waiting", "communication"].map(|figure| values(figure).mean);
        let parts: Vec<f64> = bar.parts.iter().map(|part| part.value).collect();
        assert_eq!(parts, [imbalance - waiting, waiting, communication]);
        let (whole, efficiency) = (bar.whole.expect("a whisker"), values("efficiency").spread());
        assert_eq!((whole.min, whole.max), (1.0 - efficiency.max, 1.0 - efficiency.min));
        assert!(whole.min < whole.max && (whole.median - bar.sum()).abs() < 1e-9, "{whole}");
    }
}
