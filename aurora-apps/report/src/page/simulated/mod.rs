//! Simulated super-programs: what each policy comes to by nodes, and by instructions in flight.

mod chart;
mod measures;

use super::text::count;
use crate::recorded::Recorded;
use crate::simulation::{Figures, Point, Policies, Policy, Setting, collect};
use chart::{Line, lines};
use maud::{Markup, html};
use measures::{BY_LIMIT, BY_NODES};
use std::collections::{BTreeMap, BTreeSet};

/// One cluster.
type Panel<'p> = (&'p Setting, &'p Policies);

/// Charts and a table for each program that was simulated; nothing if none was.
pub fn sections(all: &[Recorded]) -> Markup {
    let settings = collect(all);
    let mut programs: BTreeMap<String, Vec<Panel<'_>>> = BTreeMap::new();
    for panel in &settings {
        programs.entry(program(panel.0)).or_default().push(panel);
    }
    programs.values_mut().for_each(|panels| panels.sort_by_key(|(setting, _)| order(setting)));
    html! {
        @for (program, panels) in &programs {
            section {
                h2 { "Super-programs, simulated: " (program) }
                p {
                    "In virtual time: nobody's clock is in these figures. A mark is the mean of the repetitions; policies on as "
                    "many nodes stand beside each other. Shares are of what all nodes could have computed until the last "
                    "instruction has run. The quantities are those of Jin and Ziavras; the values of the papers' own curves are "
                    "not at hand, and none is drawn here."
                }
                .charts { @for chart in charts(all, panels) { (chart) } }
                (table(panels))
            }
        }
    }
}

/// By nodes; where there are several numbers of instructions in flight, with the most of them, and by those.
fn charts(all: &[Recorded], panels: &[Panel<'_>]) -> Vec<Markup> {
    let mut limits: BTreeMap<_, Vec<Panel<'_>>> = BTreeMap::new();
    for panel in panels {
        limits.entry(order(&panel.0.of_any_limit())).or_default().push(*panel);
    }
    let mut charts = Vec::new();
    for measure in &BY_NODES {
        for (setting, policies) in limits.values().filter_map(|panels| panels.last()) {
            let title = format!("{}: {}", measure.title, place(setting));
            charts.extend(measure.charts(all, &title, "nodes", &lines(policies)));
        }
    }
    for panels in limits.values().filter(|panels| panels.len() > 1) {
        let (setting, nodes, lines) = by_limit(panels);
        for measure in &BY_LIMIT {
            let place = place(&setting.of_any_limit());
            let title = format!("{} by instructions in flight: {}, {place}", measure.title, count(nodes, "node"));
            charts.extend(measure.charts(all, &title, "in flight", &lines));
        }
    }
    charts
}

/// A cluster by instructions in flight, on the most nodes.
fn by_limit<'p>(panels: &[Panel<'p>]) -> (&'p Setting, usize, Vec<Line<'p>>) {
    let nodes = panels.iter().flat_map(|(_, policies)| policies.values()).flat_map(BTreeMap::keys).max();
    let nodes = nodes.copied().unwrap_or(1);
    let mut lines: BTreeMap<&Policy, BTreeMap<usize, &Point>> = BTreeMap::new();
    for (setting, policies) in panels {
        for (policy, points) in *policies {
            let point = points.get(&nodes).zip(setting.in_flight);
            lines.entry(policy).or_default().extend(point.map(|(point, limit)| (limit, point)));
        }
    }
    (panels[0].0, nodes, lines.into_iter().collect())
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

fn table(panels: &[Panel<'_>]) -> Markup {
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
    use crate::fixture::{case, read, simulation};
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
    fn a_case_is_drawn_by_nodes_and_by_instructions_in_flight() {
        let runs: Vec<Value> = [(2, 1), (8, 1), (2, 6), (8, 6)]
            .into_iter()
            .flat_map(|(nodes, limit)| [case("S", nodes, limit, 12.0), case("D", nodes, limit, 8.0)])
            .collect();
        let page = page(&runs);
        let place = "equal nodes, unicast";
        let by_nodes = ["Imbalance", "Communication", "Efficiency", "Speed relative to S", "Actual parallelism"]
            .into_iter()
            .chain(["Cache misses", "Synchronisation"])
            .map(|what| format!("{what}: {place}, 6 in flight"));
        let by_limit =
            ["Time", "Actual parallelism"].map(|what| format!("{what} by instructions in flight: 8 nodes, {place}"));
        assert_eq!(titles(&page), by_nodes.chain(by_limit).collect::<Vec<_>>());
        assert!(page.contains("<h2>Super-programs, simulated: case 256r1, own mode</h2>"), "{page}");
        assert!(page.contains("</svg>D <small class=\"quiet\">1.50 at 8</small>"), "{page}");
        assert!(page.contains("</svg>D <small class=\"quiet\">8.00 at 6</small>"), "{page}");
    }

    #[test]
    fn one_number_of_nodes_is_a_table() {
        let page = page(&[simulation("S", 64, 0.9)]);
        assert!(titles(&page).is_empty() && page.contains("<td class=\"text\">S</td>"), "{page}");
        assert_eq!(sections(&[]).into_string(), "");
    }
}
