//! Farms on ranks: the run and the simulation of each policy, and the prediction of the model.

use super::provenance;
use super::table::Table;
use super::text::{count, seconds, spread, three};
use crate::chart::{Bar, Part, times};
use crate::farm::{ByPolicy, Farm};
use crate::recorded::{Recorded, What};
use crate::{Kind, Spread};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Returns the charts and a table of all verified farms; nothing if there is none.
pub fn section(all: &[Recorded]) -> Markup {
    let farm = |(run, recorded): (usize, &'_ Recorded)| match &recorded.what {
        What::Farm(farm) if farm.verified => Some((run, farm.clone())),
        _ => None,
    };
    let farms: Vec<(usize, Box<Farm>)> = all.iter().enumerate().filter_map(farm).collect();
    html! {
        @if !farms.is_empty() {
            section {
                h2 { "Super-programs on ranks, and their simulations" }
                p {
                    "Instructions sleep, in proportion to the speeds of the ranks. The simulation has the same \
                     instructions. Imbalance is the idle share of the time of all ranks, weighted by their speeds. The \
                     model is that of Al-Jaroodi et al. for equal units."
                }
                .charts { @for (run, farm) in &farms { (chart(all, *run, farm)) } }
                (table(&farms))
            }
        }
    }
}

/// Returns the program in words: `36 units of 100 ms`.
fn program(farm: &Farm) -> String {
    let steps = if farm.steps > 1 { format!(" in {} steps", farm.steps) } else { String::new() };
    let lengths = if farm.drawn { ", drawn" } else { "" };
    format!("{} of {}{steps}{lengths}", count(farm.units, "unit"), seconds(farm.unit_seconds))
}

/// Returns the ranks with their speeds, the fastest first: `3 ranks (1 x 1.00, 2 x 0.500), speeds to be learnt`.
fn cluster(farm: &Farm) -> String {
    let mut speeds: BTreeMap<String, usize> = BTreeMap::new();
    farm.speeds.iter().for_each(|speed| *speeds.entry(three(*speed)).or_default() += 1);
    let parts: Vec<String> = speeds.iter().rev().map(|(speed, ranks)| format!("{ranks} x {speed}")).collect();
    let known = if farm.known_speeds { "speeds known" } else { "speeds to be learnt" };
    format!("{} ({}), {known}", count(farm.ranks, "rank"), parts.join(", "))
}

fn chart(all: &[Recorded], run: usize, farm: &Farm) -> Markup {
    let bar = |name: String, median: f64, imbalance: f64, whole| {
        let part = |name: &str, kind, share: f64| (name.to_string(), kind, median * share);
        let phases = [part("work", Kind::Computing, 1.0 - imbalance), part("idle", Kind::Sharing, imbalance)];
        Bar { name, parts: Part::phases(phases), whole }
    };
    let both = |of: &ByPolicy| {
        let ByPolicy { policy, seconds, simulated_seconds, imbalance, simulated_imbalance, .. } = of;
        let simulated = (simulated_seconds.median, simulated_imbalance.median);
        [
            bar(format!("{policy}, run"), seconds.median, imbalance.median, Some(*seconds)),
            bar(format!("{policy}, simulated"), simulated.0, simulated.1, None),
        ]
    };
    let model = &farm.model;
    let part = |makespan: f64| format!("{} ({:.4} T)", seconds(makespan), makespan / farm.sequential_seconds);
    html! {
        figure {
            h4 { "Makespan of " (program(farm)) ": " (cluster(farm)) }
            (times(&farm.policies.iter().flat_map(both).collect::<Vec<_>>()))
            ul.legend {
                li { span.swatch.computing {} "ranks compute" }
                li { span.swatch.sharing {} "ranks are idle: imbalance" }
            }
            figcaption {
                "The median of " (count(farm.reps, "repetition")) "; the line below is the range. The fastest rank \
                 alone takes T = " (seconds(farm.sequential_seconds)) ". The model: first come, first served "
                (part(model.first_come)) ", earliest completion " (part(model.earliest_completion)) ", no rank idle "
                (part(model.ideal)) "."
            }
            (provenance::from(all, [run]))
        }
    }
}

fn table(farms: &[(usize, Box<Farm>)]) -> Markup {
    let rows = farms.iter().flat_map(|(_, farm)| farm.policies.iter().map(move |of| (&**farm, of)));
    let share = |of: Spread| html! { (format!("{:.3}", of.median)) };
    Table::<(&Farm, &ByPolicy)>::new()
        .lines("program", |(farm, _)| program(farm))
        .lines("ranks", |(farm, _)| cluster(farm))
        .text("policy", |(_, of)| of.policy.clone())
        .number("makespan, s", |(_, of)| spread(of.seconds))
        .number("simulated", |(_, of)| three(of.simulated_seconds.median))
        .number("run / simulation", |(_, of)| ratio(of.ratio))
        .number("imbalance", move |(_, of)| share(of.imbalance))
        .number("simulated", move |(_, of)| share(of.simulated_imbalance))
        .number("part of T", |(farm, of)| format!("{:.4}", of.seconds.median / farm.sequential_seconds))
        .number("speed-up", |(_, of)| three(of.speedup))
        .of(
            "Makespan and imbalance, medians; small: minimum and maximum. T is the time of the fastest rank alone.",
            rows,
        )
}

/// Writes a ratio that is close to 1.
fn ratio(Spread { min, median, max }: Spread) -> Markup {
    html! { (format!("{median:.3} ")) small { (format!("{min:.3}–{max:.3}")) } }
}
