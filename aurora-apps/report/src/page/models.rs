//! The model of unequal machines: tables of runs, recomputed, with predictions and farms.

use super::figure::Figure;
use super::table::Table;
use super::text::{count, list, or_dash};
use crate::chart::{Curve, Curves, Guide, Mark, Scale, Style, ink};
use crate::model::{Farmed, Machine, Model, Number, OnFarm, Predicted, Run};
use crate::recorded::{Recorded, What};
use crate::{Spread, decimals};
use aurora_super::model::{Agreement, Decimal};
use maud::{Markup, html};
use std::collections::{BTreeMap, HashSet};

/// The minimum number of significant digits of times, speed-ups and power weights.
const DIGITS: usize = 5;

/// Returns a section for each model; nothing if there is none.
pub fn sections(all: &[Recorded]) -> Markup {
    let models = all.iter().enumerate().filter_map(|(run, recorded)| match &recorded.what {
        What::Model(model) => Some((run, &**model)),
        _ => None,
    });
    html! { @for (run, model) in models { (section(all, run, model)) } }
}

fn section(all: &[Recorded], run: usize, model: &Model) -> Markup {
    let mut seen = HashSet::new();
    let warnings = model.predictions.iter().flat_map(|of| of.warnings.iter().map(|text| (&of.configuration, text)));
    let warnings: Vec<_> = warnings.filter(|warning| seen.insert(*warning)).collect();
    html! {
        section {
            h2 { "Machines of different speeds: " (model.file) }
            p {
                "Measured times of one program, and the model of Al-Jaroodi et al. The power weight W of a \
                 machine is the time on one processor of the fastest machine / the time on one of its processors. \
                 Efficiency is the speed-up / the sum of W over the processors. H is the sum of 1 - W over the \
                 processors / the number of machines in use: it is 0 if all processors are of the fastest \
                 machine, and can exceed 1. H' is the same sum / the number of processors, the share of power \
                 that is missing. Small: a printed value that differs from the recomputed one."
            }
            .charts { @if let Some(chart) = efficiencies(run, model).draw(all) { (chart) } }
            (machines(model))
            (runs(model))
            @if !model.findings.is_empty() {
                p { "Contradictions in the printed table:" }
                ul { @for found in &model.findings { li { (found.text) } } }
            }
            @if !model.predictions.is_empty() { (predictions(model)) }
            @for (configuration, text) in warnings { p.warning { (configuration) ": " (text) "." } }
            @if let Some(farm) = &model.farm { (farmed(farm)) }
        }
    }
}

/// Returns the chart of efficiencies: a curve for each set of machines that runs use.
fn efficiencies(run: usize, model: &Model) -> Figure {
    let mut sets: BTreeMap<Vec<bool>, BTreeMap<usize, Vec<f64>>> = BTreeMap::new();
    for run in model.runs.iter().filter(|run| run.total() > 1) {
        let used = run.processors.iter().map(|count| *count > 0).collect();
        let points = sets.entry(used).or_default().entry(usize::try_from(run.total()).unwrap_or(usize::MAX));
        points.or_default().push(run.efficiency.recomputed);
    }
    let marks = [Mark::CIRCLE, Mark::SQUARE, Mark::TRIANGLE, Mark::DIAMOND];
    let inks = ["aurora", "S", "tcp", "R", "SS", "ect", "other"].map(ink::of);
    let curves = sets.into_iter().rev().enumerate().map(|(index, (used, points))| {
        let names = model.machines.iter().zip(used).filter(|(_, used)| *used).map(|(machine, _)| &machine.name);
        let style = Style {
            ink: inks[index % inks.len()],
            mark: marks[index % marks.len()],
            hollow: index >= inks.len(),
            dashed: false,
        };
        let points = points.into_iter().map(|(total, efficiencies)| (total, Spread::of(efficiencies))).collect();
        Curve { name: list(names), style, points }
    });
    Figure {
        title: format!("Efficiency by processors: {}", model.file),
        chart: Curves {
            axis: "efficiency, %".into(),
            along: "processors",
            scale: Scale::From(0.0),
            guide: Guide::None,
            curves: curves.collect(),
        },
        modelled: false,
        note: "A curve for each set of machines; a whisker joins several runs with as many processors.".into(),
        runs: vec![run],
    }
}

/// Returns a recomputed value, and below it the printed one if it differs.
fn compared(value: String, printed: Option<&Decimal>, agreement: Option<Agreement>) -> Markup {
    let differs = printed.filter(|_| agreement.is_some_and(|agreement| agreement != Agreement::Equal));
    let class = (agreement == Some(Agreement::Contradiction)).then_some("slower");
    html! { (value) @if let Some(printed) = differs { br; small class=[class] { "printed " (printed) } } }
}

fn machines(model: &Model) -> Markup {
    Table::<&Machine>::new()
        .text("machine", |of| of.name.clone())
        .number("seconds on 1 processor", |of| of.seconds)
        .number("power weight W", |of| {
            compared(decimals(of.power_weight, 6, DIGITS), of.printed_power_weight.as_ref(), of.agreement)
        })
        .of("", &model.machines)
}

fn runs(model: &Model) -> Markup {
    let number = |of: &Number, places: usize| {
        let places = of.printed.as_ref().map_or(places, |printed| printed.places().max(places));
        compared(decimals(of.recomputed, places, 4), of.printed.as_ref(), of.agreement)
    };
    let seconds = |of: &Run| {
        let wrong = of.printed_seconds.as_ref().map(|_| Agreement::Contradiction);
        compared(of.seconds.to_string(), of.printed_seconds.as_ref(), wrong)
    };
    Table::<&Run>::new()
        .text("configuration", |of| model.configuration(of))
        .number("processors", |of| of.total())
        .number("seconds", move |of| seconds(of))
        .number("speed-up", move |of| number(&of.speedup, 4))
        .number("efficiency, %", move |of| number(&of.efficiency, 2))
        .number("H", |of| decimals(of.heterogeneity, 4, 3))
        .number("H'", |of| decimals(of.heterogeneity_per_processor, 4, 3))
        .of(&format!("{} on {}.", count(model.runs.len(), "run"), count(model.machines.len(), "machine")), &model.runs)
}

fn predictions(model: &Model) -> Markup {
    Table::<&Predicted>::new()
        .text("prediction", |of| of.configuration.clone())
        .number("efficiency, %", |of| decimals(of.efficiency, 4, DIGITS))
        .number("speed-up", |of| decimals(of.speedup, 4, DIGITS))
        .number("seconds", |of| decimals(of.seconds, 3, DIGITS))
        .number("measured", |of| or_dash(of.measured, |measured| measured))
        .number("error, %", |of| or_dash(of.off(), |off| format!("{off:+.2}")))
        .lines("efficiency from", |of| of.from.to_string())
        .of("Predictions: modelled, not measured.", &model.predictions)
}

fn farmed(farm: &Farmed) -> Markup {
    let seconds = |seconds: f64| decimals(seconds, 2, DIGITS);
    let each = decimals(farm.unit_seconds, 6, DIGITS);
    let caption = format!(
        "A farm of {}, each {each} s on {}: seconds by each rule, modelled. Without idle processors it takes the \
         ideal time.",
        count(farm.units as usize, "equal unit"),
        farm.fastest
    );
    Table::<&OnFarm>::new()
        .text("configuration", |of| of.configuration.clone())
        .number("measured", |of| or_dash(of.measured, |measured| measured))
        .number("first come, first served", move |of| seconds(of.makespans.first_come))
        .number("earliest completion", move |of| seconds(of.makespans.earliest_completion))
        .number("ideal", move |of| seconds(of.makespans.ideal))
        .of(&caption, &farm.configurations)
}
