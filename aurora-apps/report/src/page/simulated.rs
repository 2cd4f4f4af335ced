//! Simulated super-programs: the results of each policy by nodes, and by instructions in flight.

use super::figure::Figure;
use super::overheads;
use super::table::Table;
use super::text::{count, list, three};
use crate::Spread;
use crate::chart::{Curve, Curves, Guide, Mark, Scale, Style, ink};
use crate::recorded::Recorded;
use crate::simulation::{Lines, Runs, Setting, Variation, collect};
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// One cluster.
type Panel<'p> = (&'p Setting, Runs<'p>);

/// Returns charts and a table for each simulated program; nothing if there is none.
pub fn sections(all: &[Recorded]) -> Markup {
    let mut programs: BTreeMap<String, Vec<Panel<'_>>> = BTreeMap::new();
    for panel in collect(all) {
        programs.entry(program(panel.0)).or_default().push(panel);
    }
    programs.values_mut().for_each(|panels| panels.sort_by_key(|(setting, _)| order(setting)));
    html! {
        @for (program, panels) in &programs {
            section {
                h2 { "Super-programs, simulated: " (program) }
                p {
                    "In virtual time: nobody's clock is in these figures. A mark is the mean of the repetitions; \
                     policies on as many nodes stand beside each other. Shares are of what all nodes could have \
                     computed until the last instruction has run. The quantities are those of Jin and Ziavras; the \
                     values of the papers' own curves are not at hand, and none is drawn here."
                }
                .charts { @for chart in charts(all, panels) { (chart) } }
                (efficiency(panels))
            }
        }
    }
}

/// Returns charts by nodes. If there are several numbers of instructions in flight, the charts by nodes use the
/// maximum, and further charts, on the maximum number of nodes, are by instructions in flight.
fn charts(all: &[Recorded], panels: &[Panel<'_>]) -> Vec<Markup> {
    let limits = || panels.chunk_by(|(one, _), (other, _)| order(&one.of_any_limit()) == order(&other.of_any_limit()));
    let shown = || limits().filter_map(|panels| panels.last());
    let mut charts: Vec<Markup> =
        shown().flat_map(|(setting, runs)| overheads::charts(all, &place(setting), runs)).collect();
    for measure in &BY_NODES {
        for (setting, runs) in shown() {
            let title = format!("{}: {}", measure.title, place(setting));
            charts.extend(measure.charts(all, &title, "nodes", runs.lines(|of| Some(of.nodes))));
        }
    }
    for panels in limits().filter(|panels| panels.len() > 1) {
        let runs = Runs(panels.iter().flat_map(|(_, runs)| runs.0.clone()).collect());
        let nodes = runs.0.iter().map(|(_, of)| of.nodes).max().unwrap_or(1);
        let place = place(&panels[0].0.of_any_limit());
        for measure in &BY_LIMIT {
            let title = format!("{} by instructions in flight: {}, {place}", measure.title, count(nodes, "node"));
            let lines = runs.lines(|of| of.setting.in_flight.filter(|_| of.nodes == nodes));
            charts.extend(measure.charts(all, &title, "in flight", lines));
        }
    }
    charts
}

fn program(setting: &Setting) -> String {
    let Setting { mode, blocks, work, load, costs, rows, density, .. } = setting;
    let product = format!("product of {blocks} x {blocks} blocks, work up to {work}, load {load}");
    let case = setting.case.as_deref().filter(|case| *case != "none");
    let words = [
        (costs, "", " costs"),
        (rows, "", " rows"),
        (density, "density ", ""),
        (&setting.bytes, "", " bytes a block"),
        (&setting.bandwidth, "", " Mbit/s"),
        (&setting.asked_latency, "latency ", ""),
        (&setting.dispatcher, "dispatcher ", " a message"),
    ];
    let words = words.iter().filter(|(value, ..)| !value.is_empty());
    let words: String = words.map(|(value, before, after)| format!(", {before}{value}{after}")).collect();
    let stay = if setting.results_stay { ", results stay with their owners" } else { "" };
    format!("{}{words}{stay}, {mode} mode", case.map_or(product, |case| format!("case {case}")))
}

/// The papers' order: equal nodes first, and unicast before multicast.
fn order(setting: &Setting) -> (bool, String, bool, String, Option<usize>) {
    let Setting { speeds, transfers, in_flight, .. } = setting;
    (speeds != "homogeneous", speeds.clone(), transfers != "unicast", transfers.clone(), *in_flight)
}

fn place(setting: &Setting) -> String {
    let speeds = match setting.speeds.as_str() {
        "homogeneous" => "equal nodes".to_string(),
        ratio => format!("nodes {ratio}"),
    };
    let limit = setting.in_flight.map(|limit| format!(", {limit} in flight")).unwrap_or_default();
    format!("{speeds}, {}{limit}", setting.transfers)
}

fn efficiency(panels: &[Panel<'_>]) -> Markup {
    let nodes: BTreeSet<usize> = panels.iter().flat_map(|(_, runs)| &runs.0).map(|(_, of)| of.nodes).collect();
    let rows = panels.iter().flat_map(|(setting, runs)| {
        let lines = runs.lines(|of| Some(of.nodes)).into_iter();
        lines.map(|((_, policy), points)| (*setting, policy, points))
    });
    let table = Table::<(&Setting, &str, BTreeMap<usize, Runs<'_>>)>::new()
        .text("cluster", |(setting, ..)| place(setting))
        .text("policy", |(_, policy, _)| policy.to_string());
    let table = nodes.iter().fold(table, |table, nodes| {
        table.number(&nodes.to_string(), |(.., points)| {
            let means = ["efficiency", "imbalance", "communication"].map(|figure| points.get(nodes)?.mean(figure));
            html! { @if let [Some(efficiency), Some(imbalance), Some(communication)] = means {
                (format!("{:.3}", efficiency.mean))
                @if let Some(Variation { deviation, .. }) = efficiency.variation {
                    small { (format!(" ±{deviation:.3}")) }
                }
                br; small { (format!("{:.3} {:.3}", imbalance.mean, communication.mean)) }
            } }
        })
    });
    table.of("Efficiency by nodes; small: standard deviation, imbalance and communication.", rows)
}

type Text = &'static str;

/// The quantity on the vertical axis of a chart.
struct Measure {
    title: Text,
    axis: Text,
    /// The name of a mean, and the number of its units in one unit of the axis.
    figure: (Text, f64),
    form: Form,
    /// The paper's figure with this quantity, and a remark.
    paper: Option<(Text, Text)>,
    note: Text,
}

/// The form of a chart.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Form {
    /// The axis begins at 0.
    Plain,
    /// The axis begins at the figures, if they are nearer to 1 than to 0.
    Cut,
    /// The axis is logarithmic.
    Logarithmic,
    /// The ideal, the sum of the nodes' speeds, is drawn.
    Ideal,
    /// The value of policy S in the same place is divided by the figure; in own mode.
    OverS,
}

const SUPER: &str = "super-programming";
const DATA: &str = "data representation";

const fn mean(title: Text, axis: Text, figure: (Text, f64), of: Text, paper: Text) -> Measure {
    Measure { title, axis, figure, form: Form::Plain, paper: Some((of, paper)), note: "" }
}

const PARALLELISM: Measure = Measure {
    paper: Some(("Figures 3 and 6", DATA)),
    ..mean("Actual parallelism", "instructions delivered and not committed, on a node", ("parallelism", 1.0), "", "")
};

const BY_NODES: [Measure; 8] = [
    Measure {
        form: Form::Logarithmic,
        ..mean("Imbalance", "share in which nodes have nothing to do", ("imbalance", 1.0), "Figure 1", SUPER)
    },
    mean("Communication", "share in which nodes send and receive blocks", ("communication", 1.0), "Figure 2", SUPER),
    Measure {
        form: Form::Cut,
        paper: None,
        note: "What imbalance and communication leave of 1",
        ..mean("Efficiency", "share in which nodes compute", ("efficiency", 1.0), "", "")
    },
    Measure {
        form: Form::Ideal,
        paper: None,
        note: "The ideal is the sum of the nodes' speeds",
        ..mean("Speed-up", "time of all instructions on one node of speed 1 / time", ("speedup", 1.0), "", "")
    },
    Measure {
        form: Form::OverS,
        note: ". Below 1 S is faster",
        ..mean("Speed relative to S", "time of S / time", ("makespan", 1.0), "Figure 2", DATA)
    },
    PARALLELISM,
    mean("Cache misses", "blocks asked for / operands read", ("miss_ratio", 1.0), "Figure 4", DATA),
    Measure {
        note: ": from the last commitment on, of blocks that had several",
        ..mean(
            "Synchronisation",
            "time until a block is one incarnation, ms",
            ("synchronisation", 1e3),
            "Figure 7",
            DATA,
        )
    },
];

const BY_LIMIT: [Measure; 2] =
    [mean("Time", "until the last instruction has run, s", ("makespan", 1e6), "Figure 5", DATA), PARALLELISM];

impl Measure {
    /// Returns a chart of all policies. If `syn` squeezes the other curves to one side, there is a second chart without
    /// `syn`.
    fn charts(&self, all: &[Recorded], title: &str, along: &'static str, lines: Lines<'_>) -> Vec<Markup> {
        let mut charts = Vec::from_iter(self.figure(title, along, &lines).and_then(|figure| figure.draw(all)));
        if [Form::Logarithmic, Form::Ideal].contains(&self.form) {
            return charts;
        }
        let lost = |lines: &Lines<'_>| {
            let values = self.curves(lines).into_iter().flat_map(|curve| curve.points).map(|(_, value)| value.median);
            values.map(|value| if self.form == Form::Cut { 1.0 - value } else { value }).fold(0.0, f64::max)
        };
        let (steps, others): (Lines<'_>, Lines<'_>) = lines.into_iter().partition(|((_, policy), _)| *policy == "syn");
        if !charts.is_empty() && lost(&steps) > 2.0 * lost(&others) {
            let figure = self.figure(&format!("{title}, without syn"), along, &others);
            charts.extend(figure.and_then(|figure| figure.draw(all)));
        }
        charts
    }

    /// Returns the values of all policies that have values.
    fn curves(&self, lines: &Lines<'_>) -> Vec<Curve> {
        let base = lines.iter().find(|((_, policy), _)| *policy == "S").map(|(_, points)| points);
        let (name, units) = self.figure;
        let over_s = |at: &usize, own: &Runs<'_>, value: f64| {
            own.mean("parallelism")?;
            base?.get(at)?.mean(name).filter(|_| value > 0.0).map(|base| base.mean / value)
        };
        let value = |(at, runs): (&usize, &Runs<'_>)| {
            let own = runs.mean(name)?;
            let value = match self.form {
                // A quotient of means has no variation.
                Form::OverS => Spread::exactly(over_s(at, runs, own.mean)?),
                _ => own.spread().map(|value| value / units),
            };
            Some((*at, value))
        };
        let curves = lines.iter().map(|((_, policy), points)| {
            let points = points.iter().filter_map(value).collect();
            Curve { name: policy.to_string(), style: style(policy), points }
        });
        curves.filter(|curve| !curve.points.is_empty()).collect()
    }

    /// Makes the chart, or returns `None` if all values are 0.
    fn figure(&self, title: &str, along: &'static str, lines: &Lines<'_>) -> Option<Figure> {
        let points = || lines.values().flatten();
        let guide = match self.form {
            Form::OverS => Guide::One,
            Form::Ideal => {
                let power = |(nodes, runs): (&usize, &Runs<'_>)| Some((*nodes, runs.mean("power")?.mean));
                let powers: BTreeMap<usize, f64> = points().filter_map(power).collect();
                Guide::Power(Vec::from_iter(powers))
            }
            _ => Guide::None,
        };
        let scale = if self.form == Form::Logarithmic { Scale::Logarithmic } else { Scale::From(0.0) };
        let mut chart = Curves { axis: self.axis.into(), along, scale, guide, curves: self.curves(lines) };
        let least = chart.points().map(|(_, value)| value.min).fold(1.0, f64::min);
        if chart.points().all(|(_, value)| value.median == 0.0) {
            return None;
        }
        let paper = self.paper.map(|(figure, paper)| format!("The quantity of {figure} of the paper on {paper}"));
        let mut note = format!("{}{}.", paper.unwrap_or_default(), self.note);
        match self.form {
            Form::Cut if least >= 0.5 => {
                let from = (least * 10.0).floor() / 10.0;
                chart.scale = Scale::From(from);
                note += &format!(" The axis begins at {}.", three(from));
            }
            Form::Logarithmic => {
                note += " The axis is logarithmic.";
                let left_out = list(chart.left_out().map(|(policy, at)| format!("{policy} at {at}")));
                if !left_out.is_empty() {
                    note += &format!(" A figure of 0 has no place on it: {left_out}.");
                }
            }
            _ => {}
        }
        note += &format!(" {}", repetitions(points().map(|(_, runs)| runs)));
        if chart.points().any(|(_, value)| value.min < value.max) {
            note += " A whisker goes from the minimum to the maximum.";
        }
        let runs = points().flat_map(|(_, of)| &of.0).map(|(run, _)| *run).collect();
        Some(Figure { title: title.into(), chart, modelled: false, note, runs })
    }
}

/// Returns the number of repetitions of these points in words.
pub fn repetitions<'r>(points: impl Iterator<Item = &'r Runs<'r>>) -> String {
    let reps: BTreeSet<usize> = points.map(Runs::reps).collect();
    match (reps.first(), reps.last()) {
        (Some(least), Some(most)) if least < most => format!("Means of {least} to {}.", count(*most, "repetition")),
        (_, Some(most)) => format!("Means of {}.", count(*most, "repetition")),
        _ => String::new(),
    }
}

/// Returns the style of a policy, the same in each chart. `syn`, in which all nodes work in steps, is dashed.
fn style(policy: &str) -> Style {
    let mark = match policy {
        "S" | "G" => Mark::SQUARE,
        "R" | "R ssp" => Mark::TRIANGLE,
        "SR" | "SS" | "M" | "N" => Mark::DIAMOND,
        _ => Mark::CIRCLE,
    };
    let hollow = ["SS", "syn", "G", "N", "R ssp", "D ssp"].contains(&policy);
    Style { ink: ink::of(policy), mark, hollow, dashed: policy == "syn" }
}
