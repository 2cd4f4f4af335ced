//! Simulated super-programs: what each policy comes to by nodes, and by instructions in flight.

use super::figure::Figure;
use super::table::Table;
use super::text::{count, three};
use crate::Spread;
use crate::chart::{Curve, Curves, Guide, Mark, Style, ink};
use crate::recorded::Recorded;
use crate::simulation::{Figures, Lines, Runs, Setting, collect};
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// One cluster.
type Panel<'p> = (&'p Setting, Runs<'p>);

/// Charts and a table for each program that was simulated; nothing if none was.
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

/// By nodes; where there are several numbers of instructions in flight, with the most of them, and on the most nodes by
/// those.
fn charts(all: &[Recorded], panels: &[Panel<'_>]) -> Vec<Markup> {
    let limits = || panels.chunk_by(|(one, _), (other, _)| order(&one.of_any_limit()) == order(&other.of_any_limit()));
    let mut charts = Vec::new();
    for measure in &BY_NODES {
        for (setting, runs) in limits().filter_map(|panels| panels.last()) {
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
    let Setting { mode, blocks, work, load, asked_latency, .. } = setting;
    let latency = if asked_latency.is_empty() { String::new() } else { format!(", latency {asked_latency}") };
    match setting.case.as_deref().filter(|case| *case != "none") {
        Some(case) => format!("case {case}{latency}, {mode} mode"),
        None => format!("product of {blocks} x {blocks} blocks, work up to {work}, load {load}{latency}, {mode} mode"),
    }
}

/// The papers' order: equal nodes before others, unicast before multicast.
fn order(setting: &Setting) -> (bool, String, bool, String, Option<usize>) {
    let Setting { speeds, transfers, in_flight, .. } = setting;
    (speeds != "homogeneous", speeds.clone(), transfers != "unicast", transfers.clone(), *in_flight)
}

fn place(setting: &Setting) -> String {
    let speeds = match setting.speeds.as_str() {
        "homogeneous" => "equal nodes".to_string(),
        "1:3" => "nodes 1:3".to_string(),
        other => format!("nodes of {other}"),
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
            let mean = |figure: fn(&Figures) -> f64| points.get(nodes)?.mean(|figures| Some(figure(figures)));
            let means = [mean(|of| of.efficiency), mean(|of| of.imbalance), mean(|of| of.communication)];
            html! { @if let [Some(efficiency), Some(imbalance), Some(communication)] = means {
                (format!("{efficiency:.3}")) br; small { (format!("{imbalance:.3} {communication:.3}")) }
            } }
        })
    });
    table.of("Efficiency by nodes; small: imbalance and communication.", rows)
}

/// What goes up in a chart.
struct Measure {
    title: &'static str,
    axis: &'static str,
    /// Of a point, and of that of S in the same place, if there is one.
    of: fn(&Runs<'_>, Option<&Runs<'_>>) -> Option<f64>,
    /// Whether its axis begins where the figures do, if that is nearer to 1 than to 0.
    cut: bool,
    guide: Guide,
    /// Which quantity of the papers it is.
    note: &'static str,
}

const PLAIN: Measure = Measure { title: "", axis: "", of: |_, _| None, cut: false, guide: Guide::None, note: "" };

const PARALLELISM: Measure = Measure {
    title: "Actual parallelism",
    axis: "instructions delivered and not committed, on a node",
    of: |point, _| point.mean(|figures| figures.parallelism),
    note: "The quantity of Figures 3 and 6 of the paper on data representation.",
    ..PLAIN
};

const BY_NODES: [Measure; 7] = [
    Measure {
        title: "Imbalance",
        axis: "share in which nodes have nothing to do",
        of: |point, _| point.mean(|figures| Some(figures.imbalance)),
        note: "The quantity of Figure 1 of the paper on super-programming.",
        ..PLAIN
    },
    Measure {
        title: "Communication",
        axis: "share in which nodes send and receive blocks",
        of: |point, _| point.mean(|figures| Some(figures.communication)),
        note: "The quantity of Figure 2 of the paper on super-programming.",
        ..PLAIN
    },
    Measure {
        title: "Efficiency",
        axis: "share in which nodes compute",
        of: |point, _| point.mean(|figures| Some(figures.efficiency)),
        cut: true,
        note: "What imbalance and communication leave of 1.",
        ..PLAIN
    },
    Measure {
        title: "Speed relative to S",
        axis: "time of S / time",
        of: |point, base| {
            point.mean(|figures| figures.parallelism)?;
            let [own, base] = [point, base?].map(|point| point.mean(|figures| Some(figures.makespan)));
            own.filter(|own| *own > 0.0).and_then(|own| Some(base? / own))
        },
        guide: Guide::One,
        note: "The quantity of Figure 2 of the paper on data representation. Below 1 S is faster.",
        ..PLAIN
    },
    PARALLELISM,
    Measure {
        title: "Cache misses",
        axis: "blocks asked for / operands read",
        of: |point, _| point.mean(|figures| figures.miss_ratio),
        note: "The quantity of Figure 4 of the paper on data representation.",
        ..PLAIN
    },
    Measure {
        title: "Synchronisation",
        axis: "time until a block is one incarnation, ms",
        of: |point, _| point.mean(|figures| figures.synchronisation).map(|units| units / 1e3),
        note: "The quantity of Figure 7 of the paper on data representation: from the last commitment on, of blocks \
               that had several.",
        ..PLAIN
    },
];

const BY_LIMIT: [Measure; 2] = [
    Measure {
        title: "Time",
        axis: "until the last instruction has run, s",
        of: |point, _| point.mean(|figures| Some(figures.makespan)).map(|units| units / 1e6),
        note: "The quantity of Figure 5 of the paper on data representation.",
        ..PLAIN
    },
    PARALLELISM,
];

impl Measure {
    /// All policies; and where `syn` presses the others to one side, those once more without it.
    fn charts(&self, all: &[Recorded], title: &str, along: &'static str, mut lines: Lines<'_>) -> Vec<Markup> {
        let mut charts = Vec::from_iter(self.figure(title, along, &lines).and_then(|figure| figure.draw(all)));
        let lost = |lines: &Lines<'_>| {
            let values = self.curves(lines).into_iter().flat_map(|curve| curve.points).map(|(_, value)| value.median);
            values.map(|value| if self.cut { 1.0 - value } else { value }).fold(0.0, f64::max)
        };
        let steps: Lines<'_> = lines.extract_if(.., |(_, policy), _| *policy == "syn").collect();
        if !charts.is_empty() && lost(&steps) > 2.0 * lost(&lines) {
            let figure = self.figure(&format!("{title}, without syn"), along, &lines);
            charts.extend(figure.and_then(|figure| figure.draw(all)));
        }
        charts
    }

    /// The values of all policies that have any.
    fn curves(&self, lines: &Lines<'_>) -> Vec<Curve> {
        let base = lines.iter().find(|((_, policy), _)| *policy == "S").map(|(_, points)| points);
        let value = |(at, point): (&usize, &Runs<'_>)| {
            let value = (self.of)(point, base.and_then(|base| base.get(at)))?;
            Some((*at, Spread::exactly(value)))
        };
        let curves = lines.iter().map(|((_, policy), points)| {
            let points = points.iter().filter_map(value).collect();
            Curve { name: policy.to_string(), style: style(policy), points }
        });
        curves.filter(|curve| !curve.points.is_empty()).collect()
    }

    /// None where there is nothing but zeros.
    fn figure(&self, title: &str, along: &'static str, lines: &Lines<'_>) -> Option<Figure> {
        let mut chart =
            Curves { axis: self.axis.into(), along, from: 0.0, guide: self.guide, curves: self.curves(lines) };
        let least = chart.points().map(|(_, value)| value.median).fold(1.0, f64::min);
        if chart.points().all(|(_, value)| value.median == 0.0) {
            return None;
        }
        let mut note = self.note.to_string();
        if self.cut && least >= 0.5 {
            chart.from = (least * 10.0).floor() / 10.0;
            note += &format!(" The axis begins at {}.", three(chart.from));
        }
        let points = || lines.values().flat_map(|points| points.values());
        let reps: BTreeSet<usize> = points().map(|point| point.reps()).collect();
        if let (Some(least), Some(most)) = (reps.first(), reps.last()) {
            let from = if least < most { format!("{least} to ") } else { String::new() };
            note += &format!(" Means of {from}{}.", count(*most, "repetition"));
        }
        let runs = points().flat_map(|of| &of.0).map(|(run, _)| *run).collect();
        Some(Figure { title: title.into(), chart, modelled: false, note, runs })
    }
}

/// The same in each chart. `syn`, which goes in steps, is dashed.
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
