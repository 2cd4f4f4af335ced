//! Simulated super-programs: imbalance, communication and efficiency by nodes, with a curve for each policy.

use super::figure::framed;
use super::provenance;
use super::text::{count, three};
use crate::report::Spread;
use crate::report::chart::curves::{Curve, Curves, Guide, Mark, Style};
use crate::report::chart::ink;
use crate::report::recorded::Recorded;
use crate::report::simulation::{Figures, Point, Policies, Policy, Setting, collect};
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// What goes up in a chart.
struct Measure {
    title: &'static str,
    axis: &'static str,
    of: fn(&Figures) -> f64,
    /// Whether its axis begins where the figures do, if that is nearer to 1 than to 0.
    cut: bool,
    note: &'static str,
}

const MEASURES: [Measure; 3] = [
    Measure {
        title: "Imbalance",
        axis: "share in which nodes have nothing to do",
        of: |figures| figures.imbalance,
        cut: false,
        note: "What Figure 1 of the paper shows of its own simulator.",
    },
    Measure {
        title: "Communication",
        axis: "share in which nodes send and receive blocks",
        of: |figures| figures.communication,
        cut: false,
        note: "What Figure 2 of the paper shows of its own simulator.",
    },
    Measure {
        title: "Efficiency",
        axis: "share in which nodes compute",
        of: |figures| figures.efficiency,
        cut: true,
        note: "What imbalance and communication leave of 1.",
    },
];

/// Charts and a table for each program that was simulated; nothing if none was.
pub fn sections(all: &[Recorded]) -> Markup {
    let settings = collect(all);
    let mut programs: BTreeMap<String, Vec<(&Setting, &Policies)>> = BTreeMap::new();
    for (setting, policies) in &settings {
        programs.entry(program(setting)).or_default().push((setting, policies));
    }
    programs.values_mut().for_each(|panels| panels.sort_by_key(|(setting, _)| order(setting)));
    html! {
        @for (program, panels) in &programs {
            section {
                h2 { "Super-programs, simulated: " (program) }
                p {
                    "In virtual time: nobody's clock is in these figures. A mark is the mean of the repetitions; policies on as "
                    "many nodes stand beside each other. Shares are of "
                    "what all nodes could have computed until the last instruction has run. The quantities are those of Jin and "
                    "Ziavras, 2004, section 4; the values of the paper's own curves are not at hand, and none is drawn here."
                }
                .charts { @for measure in &MEASURES { @for (setting, policies) in panels {
                    @for chart in measure.charts(all, setting, policies) { (chart) }
                } } }
                (table(panels))
            }
        }
    }
}

fn program(setting: &Setting) -> String {
    let Setting { mode, blocks, work, load, .. } = setting;
    format!("product of {blocks} x {blocks} blocks, work up to {work}, load {load}, {mode} mode")
}

/// The papers' order: equal nodes before others, unicast before multicast.
fn order(setting: &Setting) -> (bool, String, bool, String) {
    let Setting { speeds, transfers, .. } = setting;
    (speeds != "homogeneous", speeds.clone(), transfers != "unicast", transfers.clone())
}

fn place(setting: &Setting) -> String {
    let speeds = match setting.speeds.as_str() {
        "homogeneous" => "equal nodes".to_string(),
        "1:3" => "nodes 1:3".to_string(),
        other => format!("nodes of {other}"),
    };
    format!("{speeds}, {}", setting.transfers)
}

impl Measure {
    /// All policies; and where `syn` presses the others to one side, those once more without it.
    fn charts(&self, all: &[Recorded], setting: &Setting, policies: &Policies) -> Vec<Markup> {
        let title = format!("{}: {}", self.title, place(setting));
        let (steps, others): (Vec<_>, Vec<_>) = policies.iter().partition(|(policy, _)| policy.name == "syn");
        let mut charts = Vec::from_iter(self.chart(all, &title, &policies.iter().collect::<Vec<_>>()));
        let lost = |of: &[(&Policy, &BTreeMap<usize, Point>)]| {
            let figures = of.iter().flat_map(|(_, points)| points.values()).map(|point| (self.of)(&point.figures));
            figures.map(|value| if self.cut { 1.0 - value } else { value }).fold(0.0, f64::max)
        };
        if !charts.is_empty() && lost(&steps) > 2.0 * lost(&others) {
            charts.extend(self.chart(all, &format!("{title}, without syn"), &others));
        }
        charts
    }

    fn chart(&self, all: &[Recorded], title: &str, policies: &[(&Policy, &BTreeMap<usize, Point>)]) -> Option<Markup> {
        let value = |point: &Point| (self.of)(&point.figures);
        let exactly = |value| Spread { min: value, median: value, max: value };
        let curves = policies.iter().map(|(policy, points)| Curve {
            style: style(policy),
            points: points.iter().map(|(nodes, point)| (*nodes, exactly(value(point)))).collect(),
        });
        let points = || policies.iter().flat_map(|(_, points)| points.values());
        let least = points().map(value).fold(1.0, f64::min);
        let from = if self.cut && least >= 0.5 { (least * 10.0).floor() / 10.0 } else { 0.0 };
        let chart =
            Curves { title: self.axis.into(), along: "nodes", from, guide: Guide::None, curves: curves.collect() };
        if !chart.is_worth_it() {
            return None;
        }
        let legend = policies.iter().filter_map(|(policy, points)| {
            let (nodes, last) = points.last_key_value()?;
            Some((policy.name.clone(), style(policy), *nodes, value(last)))
        });
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
        "S" => Mark::Square,
        "R" => Mark::Triangle,
        "SR" | "SS" => Mark::Diamond,
        _ => Mark::Circle,
    };
    let hollow = ["SS", "syn"].contains(&policy.name.as_str());
    Style { ink: ink::of_policy(&policy.name), mark, hollow, dashed: policy.name == "syn" }
}

fn table(panels: &[(&Setting, &Policies)]) -> Markup {
    let nodes: BTreeSet<usize> =
        panels.iter().flat_map(|(_, policies)| policies.values()).flat_map(BTreeMap::keys).copied().collect();
    html! {
        .wide { table {
            caption { "Efficiency by nodes; small: imbalance and communication." }
            thead { tr {
                th.text { "cluster" } th.text { "policy" }
                @for nodes in &nodes { th { (nodes) } }
            } }
            tbody { @for (setting, policies) in panels { @for (policy, points) in *policies { tr {
                td.text { (place(setting)) } td.text { (policy.name) }
                @for nodes in &nodes { td { @if let Some(point) = points.get(nodes) { (cell(&point.figures)) } } }
            } } } }
        } }
    }
}

fn cell(Figures { imbalance, communication, efficiency, .. }: &Figures) -> Markup {
    html! { (format!("{efficiency:.3}")) br; small { (format!("{imbalance:.3} {communication:.3}")) } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::{read, simulation};
    use serde_json::Value;

    fn page(runs: &[Value]) -> String {
        sections(&read(runs)).into_string()
    }

    fn study(policies: &[(&str, f64)]) -> Vec<Value> {
        let at =
            |nodes: usize| policies.iter().map(move |(name, loss)| simulation(name, nodes, 1.0 - loss * nodes as f64));
        [2, 4, 8].into_iter().flat_map(at).collect()
    }

    fn titles(page: &str) -> Vec<&str> {
        page.split("<h4>").skip(1).filter_map(|rest| rest.split("</h4>").next()).collect()
    }

    #[test]
    fn a_panel_is_a_cluster_and_a_curve_a_policy() {
        let mut runs = study(&[("S", 0.01), ("tail", 0.002)]);
        let mut mixed = study(&[("S", 0.02)]);
        mixed.iter_mut().for_each(|run| run["speeds"] = "1:3".into());
        runs.splice(0..0, mixed);
        let page = page(&runs);
        let expected = ["Imbalance", "Communication", "Efficiency"]
            .map(|what| [format!("{what}: equal nodes, unicast"), format!("{what}: nodes 1:3, unicast")]);
        assert_eq!(titles(&page), expected.concat());
        assert!(page.contains("product of 32 x 32 blocks, work up to 20000, load 250, paper mode"), "{page}");
        assert!(page.contains("</svg>tail <small class=\"quiet\">0.984 at 8</small>"), "{page}");
        assert!(page.contains("The axis begins at 0.900."), "{page}");
        assert!(page.contains("0.984<br><small>0.008 0.008</small>"), "{page}");
    }

    #[test]
    fn where_syn_hides_the_others_they_are_drawn_alone_too() {
        let page = page(&study(&[("syn", 0.06), ("S", 0.01)]));
        let expected = ["Imbalance", "Communication", "Efficiency"].map(|what| {
            let title = format!("{what}: equal nodes, unicast");
            [title.clone(), format!("{title}, without syn")]
        });
        assert_eq!(titles(&page), expected.concat());
    }

    #[test]
    fn one_number_of_nodes_is_a_table() {
        let page = page(&[simulation("S", 64, 0.9)]);
        assert!(titles(&page).is_empty() && page.contains("<td class=\"text\">S</td>"), "{page}");
        assert_eq!(super::sections(&[]).into_string(), "");
    }
}
