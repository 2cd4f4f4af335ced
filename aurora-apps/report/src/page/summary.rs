//! The summary of the figures in words, also where Aurora is slower.

use super::text::{count, list, three};
use crate::collect::{Collection, Point};
use crate::profile;
use crate::recorded::Recorded;
use crate::study::{Basis, Study, Versus};
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// One comparison, and its study.
type Compared<'s> = (&'s Study<'s>, &'s Versus<'s>);

/// The kinds of figures in the order of the page.
const BASES: [(Basis, &str); 4] = [
    (Basis::Measured, "Applications, measured"),
    (Basis::Modelled, "Applications, modelled (sequential time / ranks + measured sharing)"),
    (Basis::Sharing, "Sharing in applications, measured while nobody computes"),
    (Basis::Operation, "Single operations, measured"),
];

/// Returns the first section of the page.
pub fn section(all: &[Recorded], of: &Collection, studies: &[Study<'_>]) -> Markup {
    let compared = BASES.map(|(basis, name)| {
        let studies = studies.iter().filter(|study| study.basis == basis);
        let compared = studies.flat_map(|study| study.versus.iter().map(move |versus| (study, versus)));
        (name, compared.collect::<Vec<Compared<'_>>>())
    });
    let comparisons = compared.iter().map(|(_, of)| of.len()).sum::<usize>();
    let slower = compared.iter().flat_map(|(_, of)| of).filter(|(_, versus)| versus.ratio < 1.0).count();
    let mut profiles: BTreeMap<&str, usize> = BTreeMap::new();
    for run in all.iter().filter(|run| !run.is_simulation() && !run.is_model()) {
        *profiles.entry(&run.circumstances.profile).or_default() += 1;
    }
    let no_gain = no_gain(studies);
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
            @for (profile, runs) in &profiles {
                @if let Some(notice) = profile::notice(profile) {
                    p.warning { (count(*runs, "run")) ": " (notice) "." }
                }
            }
            @for (name, of) in &compared { (verdict(name, of)) }
            @if comparisons == 0 && !studies.is_empty() {
                p {
                    "There is nothing here that Aurora could be compared with: these runs have no other system with as \
                     many ranks."
                }
            }
            @if comparisons > 0 || !no_gain.is_empty() { h2 { "Where Aurora is slower" } }
            @if comparisons > 0 && slower == 0 {
                p { "In none of " (comparisons) " comparisons, by the middle of the repetitions." }
            }
            @if slower > 0 {
                p {
                    "In " (slower) " of " (comparisons) " comparisons, by the middle of the repetitions. The other's \
                     time as a part of Aurora's, and with how many ranks; where the ranges of both overlap, there is \
                     a ~."
                }
                @for (name, of) in &compared { (losses(name, of)) }
            }
            @if !no_gain.is_empty() {
                h3 { "Speed-ups below 1, measured: slower than the sequential program on one core" }
                ul { @for line in no_gain { li { (line) } } }
            }
        }
    }
}

/// Returns the number of runs, their days and their machines, in words.
fn extent(all: &[Recorded]) -> String {
    let of = |figure: fn(&Recorded) -> &str| {
        all.iter().map(figure).filter(|text| !text.is_empty()).collect::<BTreeSet<&str>>()
    };
    let days = of(|run| run.circumstances.date.split('T').next().unwrap_or_default());
    let when = match (days.first(), days.last()) {
        (Some(first), Some(last)) if first != last => format!(" from {first} to {last}"),
        (Some(day), _) => format!(" of {day}"),
        _ => String::new(),
    };
    let machines = of(|run| &run.circumstances.machine);
    let machines = if machines.is_empty() { "a machine that is not on record".into() } else { list(machines) };
    let simulated = all.iter().filter(|run| run.is_simulation()).count();
    let models = all.iter().filter(|run| run.is_model()).count();
    let runs = all.len() - simulated - models;
    let kinds = [(runs, "run"), (simulated, "simulation"), (models, "model")];
    let kinds: Vec<_> = kinds.into_iter().filter(|(number, _)| *number > 0).collect();
    let verified = match (runs, kinds.len()) {
        (0, _) => "",
        (_, 1) => " Results that are shown were verified.",
        _ => " Results of runs that are shown were verified.",
    };
    format!("{}{when}, on {machines}.{verified}", list(kinds.into_iter().map(|(number, noun)| count(number, noun))))
}

/// Returns how often Aurora is faster than the best of the other systems, and by which factor.
fn verdict(name: &str, of: &[Compared<'_>]) -> Markup {
    // The strongest rival for each problem, place and number of ranks.
    let (mut best, mut seen) = (of.to_vec(), HashSet::new());
    best.sort_by(|(_, one), (_, other)| one.ratio.total_cmp(&other.ratio));
    best.retain(|(study, versus)| seen.insert((std::ptr::from_ref(*study), versus.ranks)));
    let faster = || best.iter().filter(|(_, versus)| versus.ratio > 1.0);
    let in_words = |(study, versus): &Compared<'_>| {
        let ranks = count(versus.ranks, "rank");
        format!("{} ({} · {ranks} · {})", three(versus.ratio), study.problem, versus.other)
    };
    html! {
        @if let (Some(least), Some(most)) = (best.first(), best.last()) {
            p {
                strong { (name) ": " }
                "Aurora is faster than the fastest of the others in " (faster().count()) " of " (best.len())
                " comparisons (in " (faster().filter(|(_, versus)| !versus.overlap).count())
                " its slowest repetition too is faster than the other's fastest); the fastest other takes from "
                (in_words(least)) " to " (in_words(most)) " times Aurora's time."
            }
        }
    }
}

/// The maximum number of rivals in the list; the others are folded, with a line about the worst of them.
const LISTED: usize = 12;

/// Returns all comparisons in which another system is faster: one line for each rival, the worst first.
fn losses(name: &str, of: &[Compared<'_>]) -> Markup {
    let mut rivals: BTreeMap<_, Vec<&Compared<'_>>> = BTreeMap::new();
    for compared @ (study, versus) in of.iter().filter(|(_, versus)| versus.ratio < 1.0) {
        rivals.entry((study.problem, &study.key.setting, versus.other)).or_default().push(compared);
    }
    let worst = |of: &[&Compared<'_>]| of.iter().map(|(_, versus)| versus.ratio).fold(1.0, f64::min);
    let mut rivals: Vec<_> = rivals.into_values().collect();
    rivals.sort_by(|one, other| worst(one).total_cmp(&worst(other)));
    let (listed, folded) = rivals.split_at(rivals.len().min(LISTED));
    let lines = |rivals: &[Vec<&Compared<'_>>]| {
        html! { ul { @for rival in rivals { li {
            @let (study, versus) = rival[0];
            (study.problem) " · " (study.key.setting.place()) " · " (versus.other) ": "
            @for (number, (_, versus)) in rival.iter().enumerate() {
                @if number > 0 { ", " }
                span.slower { (three(versus.ratio)) } @if versus.overlap { "~" } " at\u{a0}" (versus.ranks)
            }
        } } } }
    };
    html! {
        @if !listed.is_empty() { h3 { (name) } (lines(listed)) }
        @if let Some(next) = folded.first() {
            details {
                summary { "and " (folded.len()) " more, none below " (three(worst(next))) }
                (lines(folded))
            }
        }
    }
}

/// Returns the cases in which several ranks take longer than one core alone.
fn no_gain(studies: &[Study<'_>]) -> Vec<String> {
    let loss = |point: &&Point| Some((point.ranks, point.speedup()?.median)).filter(|(_, speedup)| *speedup < 1.0);
    let mut lines = Vec::new();
    for study in studies.iter().filter(|study| study.basis == Basis::Measured) {
        for points in study.systems().filter(|points| points[0].series.is_aurora()) {
            let losses = points.iter().filter_map(loss);
            let losses: Vec<_> = losses.map(|(ranks, speedup)| format!("{} at\u{a0}{ranks}", three(speedup))).collect();
            if !losses.is_empty() {
                let (place, series) = (study.key.setting.place(), &points[0].series);
                lines.push(format!("{} · {place} · {series}: {}", study.problem, losses.join(", ")));
            }
        }
    }
    lines
}
