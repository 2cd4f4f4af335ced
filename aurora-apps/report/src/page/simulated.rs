//! Simulated super-programs: the results of each policy by nodes, and by instructions in flight.

use super::figure::Figure;
use super::overheads;
use super::table::Table;
use super::text::{count, list, three};
use crate::Spread;
use crate::chart::{Curve, Curves, Guide, Mark, Scale, Style, ink};
use crate::decimals::decimals;
use crate::recorded::Recorded;
use crate::simulation::{Lines, Runs, Setting, Variation, collect};
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// One cluster.
type Panel<'p> = (&'p Setting, Runs<'p>);

/// Returns charts and a table for each simulated program; nothing if there is none.
pub fn sections(all: &[Recorded]) -> Markup {
    // Two programs whose titles are equal after rounding have two sections.
    let mut programs: BTreeMap<(String, Setting), (Vec<Panel<'_>>, usize)> = BTreeMap::new();
    for (setting, runs) in collect(all) {
        let (runs, left_out) = runs.of_different_seeds();
        let (panels, all_left_out) = programs.entry((program(setting), setting.of_any_cluster())).or_default();
        panels.push((setting, runs));
        *all_left_out += left_out;
    }
    programs.values_mut().for_each(|(panels, _)| panels.sort_by_key(|(setting, _)| order(setting)));
    html! {
        @for ((program, _), (panels, left_out)) in &programs {
            section {
                h2 { "Super-programs, simulated: " (program) }
                p {
                    "In virtual time: nobody's clock is in these figures. A mark is the mean of the repetitions; \
                     policies on as many nodes stand beside each other, but not in a chart with the ideal. Shares are \
                     of what all nodes could have computed until the last instruction has run. The quantities are \
                     those of Jin and Ziavras; the values of the papers' own curves are not at hand, and none is drawn \
                     here."
                }
                @if let Some(left_out) = same_seeds(*left_out) { p { (left_out) } }
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

/// Says how many runs are left out because of their seeds; nothing if there are none.
fn same_seeds(left_out: usize) -> Option<String> {
    let (are, of) = match left_out {
        0 => return None,
        1 => ("is", "an earlier run of the same point has some of its seeds"),
        _ => ("are", "earlier runs of the same points have some of their seeds"),
    };
    Some(format!("{} {are} left out, because {of}.", count(left_out, "run")))
}

fn program(setting: &Setting) -> String {
    let Setting { mode, blocks, work, load, costs, rows, density, .. } = setting;
    let work = match costs.as_str() {
        "drawn" => format!("work up to {work}"),
        "equal" => format!("work {} each", *work as f64 / 2.0),
        costs => format!("work up to {work}, {costs} costs"),
    };
    let product = format!("product of {blocks} x {blocks} blocks, {work}, load {}", rounded(load));
    let case = setting.case().map(|case| format!("case {case}, {costs} costs"));
    let words = [
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
    format!("{}{words}{stay}, {mode} mode", case.unwrap_or(product))
}

/// Rounds a number to 3 decimal places, or more if it is small, without zeros at the end.
fn rounded(number: &str) -> String {
    let Ok(value) = number.parse() else { return number.into() };
    let text = decimals(value, 3, 3);
    match text.contains('e') {
        true => text,
        false => text.trim_end_matches('0').trim_end_matches('.').into(),
    }
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
    /// The axis is logarithmic if the figures span more than a decade, and else begins at 0.
    Wide,
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

const BY_NODES: [Measure; 9] = [
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
        form: Form::Wide,
        paper: None,
        note: "The time is virtual",
        ..mean("Time", "until the last instruction has run, s", ("makespan", 1e6), "", "")
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
        let figure = self.figure(title, along, &lines);
        let is_logarithmic = figure.as_ref().is_some_and(|figure| figure.chart.scale == Scale::Logarithmic);
        let mut charts = Vec::from_iter(figure.and_then(|figure| figure.draw(all)));
        if is_logarithmic || self.form == Form::Ideal {
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
        let mut chart =
            Curves { axis: self.axis.into(), along, scale: Scale::From(0.0), guide, curves: self.curves(lines) };
        let means = Spread::of(chart.points().map(|(_, value)| value.median));
        let is_wide = means.min > 0.0 && means.max > 10.0 * means.min;
        if self.form == Form::Logarithmic || self.form == Form::Wide && is_wide {
            chart.scale = Scale::Logarithmic;
        }
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
            _ if chart.scale == Scale::Logarithmic => {
                note += " The axis is logarithmic.";
                let left_out = list(chart.left_out().map(|(policy, at)| format!("{policy} at {at}")));
                if !left_out.is_empty() {
                    note +=
                        &format!(" A figure of 0 or below a millionth of the maximum has no place on it: {left_out}.");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulation;
    use serde_json::{Value, from_str, from_value};

    fn simulation(entries: &[(&str, Value)]) -> Simulation {
        let line = include_str!("../../pages/alone.json").lines().next().expect("a simulation");
        let mut object: Value = from_str(line).expect("an object");
        entries.iter().for_each(|(name, value)| object[*name] = value.clone());
        from_value(object).expect("a simulation")
    }

    #[test]
    fn a_title_has_the_cost_of_an_instruction_and_a_short_load() {
        for (costs, work, load, expected) in [
            ("drawn", 20_000, 250.0, "work up to 20000, load 250, paper mode"),
            ("equal", 20_000, 8_314.838_709_677_419, "work 10000 each, load 8314.839, paper mode"),
            ("equal", 5, 0.5, "work 2.5 each, load 0.5, paper mode"),
            ("odd", 5, 0.000_123_45, "work up to 5, odd costs, load 0.000123, paper mode"),
            ("drawn", 5, 0.0, "work up to 5, load 0, paper mode"),
            ("drawn", 5, 1e-7, "work up to 5, load 1.00e-7, paper mode"),
        ] {
            let of = simulation(&[("costs", costs.into()), ("work", work.into()), ("load", load.into())]);
            assert_eq!(program(&of.setting), format!("product of 32 x 32 blocks, {expected}"));
        }
        let case = simulation(&[("case", "256r1".into())]);
        assert_eq!(program(&case.setting), "case 256r1, equal costs, paper mode");
    }

    #[test]
    fn the_axis_of_times_is_logarithmic_from_a_decade_on() {
        let time = BY_NODES.iter().find(|measure| measure.title == "Time").expect("a chart of times");
        for (makespan, expected) in
            [(1e6, Scale::From(0.0)), (9.9e6, Scale::From(0.0)), (10.1e6, Scale::Logarithmic), (0.0, Scale::From(0.0))]
        {
            let [one, other] = [(2, 1e6), (4, makespan)]
                .map(|(nodes, makespan)| simulation(&[("nodes", nodes.into()), ("makespan", makespan.into())]));
            let runs = Runs(vec![(0, &one), (1, &other)]);
            let figure = time.figure("Time", "nodes", &runs.lines(|of| Some(of.nodes))).expect("a chart");
            assert_eq!(figure.chart.scale, expected, "{makespan}");
            assert_eq!(figure.note.contains("The axis is logarithmic."), expected == Scale::Logarithmic);
        }
    }
}
