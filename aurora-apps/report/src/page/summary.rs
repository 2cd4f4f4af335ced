//! What the figures come to, in words: also where Aurora is slower.

use super::text::{count, list, three};
use crate::collect::Collection;
use crate::profile;
use crate::recorded::{Recorded, What};
use crate::versus::{Basis, Versus};
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// The first thing on the page.
pub fn section(all: &[Recorded], of: &Collection, versus: &[Versus<'_>]) -> Markup {
    html! {
        section {
            p { (extent(all)) }
            @if !of.wrong.is_empty() {
                p.warning {
                    strong { "Wrong results. " }
                    "These are in no figure: "
                    (list(of.wrong.iter().map(|(run, who)| format!("{who} in run {}", run + 1)))) "."
                }
            }
            @for (profile, runs) in &by_profile(all) {
                @if let Some(notice) = profile::notice(profile) {
                    p.warning { (count(*runs, "run")) ": " (notice) "." }
                }
            }
            @for basis in [Basis::Measured, Basis::Modelled, Basis::Sharing, Basis::Operation] {
                (comparisons(basis, versus))
            }
            @if versus.is_empty() && !(of.programs.is_empty() && of.benches.is_empty()) {
                p { "There is nothing here that Aurora could be compared with: these runs have no other system with as many ranks." }
            }
            (slower(of, versus))
        }
    }
}

/// How many measured runs are of builds by each profile.
fn by_profile(all: &[Recorded]) -> BTreeMap<&str, usize> {
    let mut runs = BTreeMap::new();
    for run in all.iter().filter(|run| !matches!(run.what, What::Simulation(_))) {
        *runs.entry(run.circumstances.profile.as_str()).or_default() += 1;
    }
    runs
}

fn extent(all: &[Recorded]) -> String {
    let of =
        |figure: fn(&Recorded) -> &str| all.iter().map(figure).filter(|text| !text.is_empty()).collect::<BTreeSet<_>>();
    let (dates, machines) = (of(|run| &run.circumstances.date), of(|run| &run.circumstances.machine));
    let day = |date: &&str| date.split('T').next().unwrap_or_default().to_string();
    let when = match (dates.first().map(day), dates.last().map(day)) {
        (Some(first), Some(last)) if first != last => format!(" from {first} to {last}"),
        (Some(day), _) => format!(" of {day}"),
        _ => String::new(),
    };
    let machines = if machines.is_empty() { "a machine that is not on record".into() } else { list(machines) };
    let simulated = all.iter().filter(|run| matches!(run.what, What::Simulation(_))).count();
    let (simulations, runs) = (count(simulated, "simulation"), count(all.len() - simulated, "run"));
    match all.len() - simulated {
        0 => format!("{simulations}{when}, on {machines}."),
        _ if simulated > 0 => {
            format!("{runs} and {simulations}{when}, on {machines}. Results of runs that are shown were verified.")
        }
        _ => format!("{runs}{when}, on {machines}. Results that are shown were verified."),
    }
}

fn name(basis: Basis) -> &'static str {
    match basis {
        Basis::Measured => "Applications, measured",
        Basis::Modelled => "Applications, modelled (sequential time / ranks + measured sharing)",
        Basis::Sharing => "Sharing in applications, measured while nobody computes",
        Basis::Operation => "Single operations, measured",
    }
}

/// How often Aurora is faster than the best of the others, and by how much.
fn comparisons(basis: Basis, versus: &[Versus<'_>]) -> Markup {
    let best = best(basis, versus);
    let faster: Vec<_> = best.iter().filter(|versus| versus.ratio > 1.0).collect();
    let apart = faster.iter().filter(|versus| !versus.overlap()).count();
    let by_ratio = |one: &&&Versus<'_>, other: &&&Versus<'_>| one.ratio.total_cmp(&other.ratio);
    html! {
        @if let (Some(least), Some(most)) = (best.iter().min_by(by_ratio), best.iter().max_by(by_ratio)) {
            p {
                strong { (name(basis)) ": " }
                "Aurora is faster than the fastest of the others in " (faster.len()) " of " (best.len()) " comparisons"
                " (in " (apart) " its slowest repetition too is faster than the other's fastest); "
                "the fastest other takes from " (three(least.ratio)) " (" (what(least)) ") to " (three(most.ratio))
                " (" (what(most)) ") times Aurora's time."
            }
        }
    }
}

/// Of each problem, place and number of ranks the strongest rival.
fn best<'v, 'c>(basis: Basis, versus: &'v [Versus<'c>]) -> Vec<&'v Versus<'c>> {
    let mut best: Vec<&Versus<'_>> = Vec::new();
    for versus in versus.iter().filter(|versus| versus.basis == basis) {
        let same = |other: &&mut &Versus<'_>| {
            other.key == versus.key && other.problem == versus.problem && other.ranks == versus.ranks
        };
        match best.iter_mut().find(same) {
            Some(other) if other.ratio > versus.ratio => *other = versus,
            Some(_) => {}
            None => best.push(versus),
        }
    }
    best
}

fn what(versus: &Versus<'_>) -> String {
    format!("{} · {} · {}", versus.problem, count(versus.ranks, "rank"), versus.other)
}

/// Everything in which another is faster: one line for each rival, the worst first.
fn slower(of: &Collection, versus: &[Versus<'_>]) -> Markup {
    let slower = versus.iter().filter(|versus| versus.ratio < 1.0).count();
    let alone = no_gain(of);
    html! {
        @if !versus.is_empty() || !alone.is_empty() { h2 { "Where Aurora is slower" } }
        @if slower == 0 && !versus.is_empty() {
            p { "In none of " (versus.len()) " comparisons, by the middle of the repetitions." }
        }
        @if slower > 0 {
            p {
                "In " (slower) " of " (versus.len()) " comparisons, by the middle of the repetitions. The other's time as a part of "
                "Aurora's, and with how many ranks; where the ranges of both overlap, there is a ~."
            }
            @for basis in [Basis::Measured, Basis::Modelled, Basis::Sharing, Basis::Operation] { (losses(basis, versus)) }
        }
        @if !alone.is_empty() {
            h3 { "Speed-ups below 1, measured: slower than the sequential program on one core" }
            ul { @for line in alone { li { (line) } } }
        }
    }
}

/// So many rivals are listed; the rest is folded, with the worst of it said.
const LISTED: usize = 12;

fn losses(basis: Basis, versus: &[Versus<'_>]) -> Markup {
    let mut rivals: BTreeMap<_, Vec<&Versus<'_>>> = BTreeMap::new();
    for versus in versus.iter().filter(|versus| versus.basis == basis && versus.ratio < 1.0) {
        rivals.entry((&versus.problem, &versus.key.setting, versus.other)).or_default().push(versus);
    }
    let worst = |of: &[&Versus<'_>]| of.iter().map(|versus| versus.ratio).fold(1.0, f64::min);
    let mut rivals: Vec<_> = rivals.into_values().collect();
    rivals.sort_by(|one, other| worst(one).total_cmp(&worst(other)));
    let (listed, folded) = rivals.split_at(rivals.len().min(LISTED));
    html! {
        @if !listed.is_empty() {
            h3 { (name(basis)) }
            ul { @for rival in listed { (losses_to(rival)) } }
        }
        @if let Some(next) = folded.first() {
            details {
                summary { "and " (folded.len()) " more, none below " (three(worst(next))) }
                ul { @for rival in folded { (losses_to(rival)) } }
            }
        }
    }
}

/// To one rival, with each number of ranks.
fn losses_to(rival: &[&Versus<'_>]) -> Markup {
    let Versus { problem, key, other, .. } = rival[0];
    html! { li {
        (problem) " · " (key.setting.place()) " · " (other) ": "
        @for (number, versus) in rival.iter().enumerate() {
            @if number > 0 { ", " }
            span.slower { (three(versus.ratio)) } @if versus.overlap() { "~" } " at\u{a0}" (versus.ranks)
        }
    } }
}

/// Where several ranks take longer than one core alone.
fn no_gain(of: &Collection) -> Vec<String> {
    let mut lines = Vec::new();
    for (key, systems) in of.programs.iter().filter(|(key, _)| !key.setting.apart) {
        for (series, points) in systems.iter().filter(|(series, _)| series.is_aurora() && series.is_measured()) {
            let speedups = points.iter().filter_map(|(ranks, point)| Some((ranks, point.speedup?.median)));
            let losses = speedups.filter(|(_, speedup)| *speedup < 1.0);
            let losses: Vec<String> =
                losses.map(|(ranks, speedup)| format!("{} at\u{a0}{ranks}", three(speedup))).collect();
            if !losses.is_empty() {
                let place = key.setting.place();
                lines.push(format!("{} · {place} · {series}: {}", key.problem, losses.join(", ")));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{program, read};
    use crate::versus;

    fn summary(runs: &[serde_json::Value]) -> String {
        let all = read(runs);
        let of = Collection::of(&all);
        section(&all, &of, &versus::all(&of)).into_string()
    }

    #[test]
    fn what_is_slower_stands_there() {
        let run = |ranks, isend| {
            program("mm2", 704, ranks, &[("aurora", 0.02), ("mpi-isend", isend), ("mpi-collective", 0.03)])
        };
        let text = summary(&[run(2, 0.04), run(4, 0.01)]);
        assert!(text.contains("faster than the fastest of the others in 1 of 2 comparisons"), "{text}");
        assert!(
            text.contains("from 0.500 (mm2 704, tiled · 4 ranks · mpi-isend) to 1.50 (mm2 704, tiled · 2 ranks"),
            "{text}"
        );
        assert!(text.contains("In 1 of 4 comparisons"), "{text}");
        assert!(text.contains("mpi-isend: <span class=\"slower\">0.500</span> at\u{a0}4</li>"), "{text}");
        let text = summary(&[run(2, 0.04)]);
        assert!(text.contains("In none of 2 comparisons"), "{text}");
    }

    #[test]
    fn many_losses_are_folded_behind_the_worst() {
        let size = |number: usize| {
            let ratio = 0.5 + 0.01 * number as f64;
            program("mm2", 100 + number, 2, &[("aurora", 0.02), ("mpi-isend", 0.02 * ratio)])
        };
        let runs = |many: usize| (0..many).rev().map(size).collect::<Vec<_>>();
        let text = summary(&runs(LISTED + 3));
        let (listed, folded) = text.split_once("<details>").expect("some are folded");
        let losses = |of: &str| of.matches("<span class=\"slower\">").count();
        assert_eq!((losses(listed), losses(folded)), (LISTED, 3), "{text}");
        assert!(folded.starts_with("<summary>and 3 more, none below 0.620</summary>"), "{folded}");
        assert!(!summary(&runs(LISTED)).contains("<details>"));
    }

    #[test]
    fn no_rival_is_no_victory() {
        let text = summary(&[program("mm2", 704, 2, &[("aurora", 0.08)])]);
        assert!(
            text.contains("nothing here that Aurora could be compared with") && !text.contains("In none"),
            "{text}"
        );
        assert!(
            text.contains("slower than the sequential program") && text.contains("aurora: 0.500 at\u{a0}2"),
            "{text}"
        );
    }

    #[test]
    fn a_wrong_result_is_said_first() {
        let mut run = program("mm2", 704, 2, &[("aurora", 0.02), ("mpi-isend", 0.01)]);
        run["results"][1]["verified"] = false.into();
        let text = summary(&[run]);
        assert!(text.contains("Wrong results") && text.contains("mpi-isend in run 1"), "{text}");
    }
}
