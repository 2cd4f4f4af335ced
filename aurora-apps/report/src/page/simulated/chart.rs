//! Charts of simulations, with a curve for each policy.

use crate::Spread;
use crate::chart::curves::{Curve, Curves, Guide, Mark, Style};
use crate::chart::ink;
use crate::page::figure::framed;
use crate::page::provenance;
use crate::page::text::{count, three};
use crate::recorded::Recorded;
use crate::simulation::{Figures, Point, Policies, Policy};
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// What goes up in a chart.
pub struct Measure {
    pub title: &'static str,
    pub axis: &'static str,
    /// Of a point's figures, and of those of S in the same place, if there are any.
    pub of: fn(&Figures, Option<&Figures>) -> Option<f64>,
    /// Whether its axis begins where the figures do, if that is nearer to 1 than to 0.
    pub cut: bool,
    /// What it is held against.
    pub guide: Guide,
    pub note: &'static str,
}

/// A policy, and its points by what goes to the right.
pub type Line<'p> = (&'p Policy, BTreeMap<usize, &'p Point>);

/// By nodes.
pub fn lines(policies: &Policies) -> Vec<Line<'_>> {
    let line = |(policy, points)| (policy, BTreeMap::iter(points).map(|(nodes, point)| (*nodes, point)).collect());
    policies.iter().map(line).collect()
}

impl Measure {
    /// All policies; and where `syn` presses the others to one side, those once more without it.
    pub fn charts(&self, all: &[Recorded], title: &str, along: &'static str, lines: &[Line<'_>]) -> Vec<Markup> {
        let mut charts = Vec::from_iter(self.chart(all, title, along, lines));
        let (steps, others): (Vec<_>, Vec<_>) = lines.iter().cloned().partition(|(policy, _)| policy.name == "syn");
        let lost = |of: &[Line<'_>]| {
            let values = self.values(of).into_iter().flat_map(|(_, points)| points).map(|(_, value)| value);
            values.map(|value| if self.cut { 1.0 - value } else { value }).fold(0.0, f64::max)
        };
        if !charts.is_empty() && lost(&steps) > 2.0 * lost(&others) {
            charts.extend(self.chart(all, &format!("{title}, without syn"), along, &others));
        }
        charts
    }

    /// The values of all policies that have any.
    fn values<'p>(&self, lines: &[Line<'p>]) -> Vec<(&'p Policy, Vec<(usize, f64)>)> {
        let base = lines.iter().find(|(policy, _)| policy.name == "S").map(|(_, points)| points);
        let value = |at: usize, point: &Point| {
            (self.of)(&point.figures, base.and_then(|base| base.get(&at)).map(|point| &point.figures))
        };
        let values = lines.iter().map(|(policy, points)| {
            (*policy, points.iter().filter_map(|(at, point)| Some((*at, value(*at, point)?))).collect::<Vec<_>>())
        });
        values.filter(|(_, points)| !points.is_empty()).collect()
    }

    /// None where there is no curve, or nothing but zeros.
    fn chart(&self, all: &[Recorded], title: &str, along: &'static str, lines: &[Line<'_>]) -> Option<Markup> {
        let values = self.values(lines);
        let curves = values.iter().map(|(policy, points)| Curve {
            style: style(policy),
            points: points.iter().map(|(at, value)| (*at, Spread::exactly(*value))).collect(),
        });
        let each = || values.iter().flat_map(|(_, points)| points).map(|(_, value)| *value);
        let least = each().fold(1.0, f64::min);
        let from = if self.cut && least >= 0.5 { (least * 10.0).floor() / 10.0 } else { 0.0 };
        let chart = Curves { title: self.axis.into(), along, from, guide: self.guide, curves: curves.collect() };
        if !chart.is_worth_it() || each().all(|value| value == 0.0) {
            return None;
        }
        let legend = values.iter().filter_map(|(policy, points)| {
            let (at, last) = points.last()?;
            Some((policy.name.clone(), style(policy), *at, *last))
        });
        let points = || lines.iter().flat_map(|(_, points)| points.values());
        let reps: BTreeSet<usize> = points().map(|point| point.reps).collect();
        let caption = html! {
            (self.note)
            @if from > 0.0 { " The axis begins at " (three(from)) "." }
            @if let (Some(least), Some(most)) = (reps.first(), reps.last()) {
                " Means of " @if least < most { (least) " to " } (count(*most, "repetition")) "."
            }
        };
        let runs = points().flat_map(|point| point.runs.iter().copied());
        Some(framed(title, &chart, legend.collect(), &caption, &provenance::from(all, runs)))
    }
}

/// The same in each chart. `syn`, which goes in steps, is dashed.
fn style(policy: &Policy) -> Style {
    let mark = match policy.name.as_str() {
        "S" | "G" => Mark::Square,
        "R" | "R ssp" => Mark::Triangle,
        "SR" | "SS" | "M" | "N" => Mark::Diamond,
        _ => Mark::Circle,
    };
    let hollow = ["SS", "syn", "G", "N", "R ssp", "D ssp"].contains(&policy.name.as_str());
    Style { ink: ink::of_policy(&policy.name), mark, hollow, dashed: policy.name == "syn" }
}
