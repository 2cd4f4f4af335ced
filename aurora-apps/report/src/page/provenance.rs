//! Every figure with its command and machine.

use super::table::Table;
use super::text::count;
use crate::recorded::Recorded;
use maud::{Markup, html};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// So many commands stand under a figure; of more, the first, and where the others are.
const COMMANDS: usize = 2;

/// What runs a figure comes from, and on which machine it was measured.
pub fn from(all: &[Recorded], runs: impl IntoIterator<Item = usize>) -> Markup {
    let runs: BTreeSet<usize> = runs.into_iter().collect();
    let circumstances = || runs.iter().map(|run| &all[*run].circumstances);
    let mut commands: Vec<&str> = Vec::new();
    for command in circumstances().map(|of| of.command()) {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    let machines: BTreeSet<&str> = circumstances().map(|of| of.machine()).collect();
    let shown = if commands.len() <= COMMANDS { commands.len() } else { 1 };
    // A run's number among all, from 1 on; ranges are drawn together.
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for run in &runs {
        match ranges.last_mut() {
            Some((_, last)) if *last == *run => *last += 1,
            _ => ranges.push((run + 1, run + 1)),
        }
    }
    html! {
        p.from {
            @for command in commands.iter().take(shown) { code { (command) } br; }
            @if shown < commands.len() { "and " (count(commands.len() - shown, "other command")) "; " }
            @for machine in machines { (machine) "; " }
            (count(runs.len(), "run")) ": "
            @for (number, (first, last)) in ranges.iter().enumerate() {
                @if number > 0 { ", " }
                a href={ "#run-" (first) } { (first) @if last > first { "–" (last) } }
            }
        }
    }
}

/// All runs with their files, commands and labels. A command of `aurora simulate` prints many, which stand in one row.
pub fn appendix(all: &[Recorded]) -> Markup {
    let same = |one: &Recorded, other: &Recorded| {
        let are_simulations = one.is_simulation() && other.is_simulation();
        are_simulations && one.circumstances == other.circumstances && one.file == other.file
    };
    let mut number = 0;
    let rows = all.chunk_by(same).map(|runs| {
        number += runs.len();
        (number + 1 - runs.len()..=number, &runs[0])
    });
    let numbers = |(runs, _): &(RangeInclusive<usize>, &Recorded)| {
        html! {
            @for run in runs.clone() { span id={ "run-" (run) } {} }
            (runs.start()) @if runs.end() > runs.start() { "–" (runs.end()) }
        }
    };
    let table = Table::<(RangeInclusive<usize>, &Recorded)>::new()
        .text("run", numbers)
        .lines("command", |(_, run)| html! { code { (run.circumstances.command()) } })
        .lines("labels", |(_, run)| {
            html! { @for (key, value) in run.circumstances.labels.iter() { (key) ": " (value) br; } }
        })
        .lines("machine, date", |(_, run)| html! { (run.circumstances.machine()) br; (run.circumstances.date) })
        .lines("file, line", |(_, run)| html! { (run.file) ", " (run.line) });
    html! { section { h2 #runs { "All runs" } (table.of("", rows)) } }
}
