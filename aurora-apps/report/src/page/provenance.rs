//! Every figure with its command and machine.

use super::table::Table;
use super::text::count;
use crate::recorded::Recorded;
use maud::{Markup, html};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// The maximum number of commands under a figure. If there are more, the first ones are shown, with a link to the
/// others.
const COMMANDS: usize = 2;

/// Returns the runs of a figure, and the machine on which they were measured.
pub fn from(all: &[Recorded], runs: impl IntoIterator<Item = usize>) -> Markup {
    let runs: Vec<usize> = BTreeSet::from_iter(runs).into_iter().collect();
    let circumstances = || runs.iter().map(|run| &all[*run].circumstances);
    let mut seen = BTreeSet::new();
    let commands: Vec<&str> = circumstances().map(|of| of.command()).filter(|command| seen.insert(*command)).collect();
    let machines: BTreeSet<&str> = circumstances().map(|of| of.machine()).collect();
    let shown = if commands.len() <= COMMANDS { commands.len() } else { 1 };
    html! {
        p.from {
            @for command in commands.iter().take(shown) { code { (command) } br; }
            @if shown < commands.len() { "and " (count(commands.len() - shown, "other command")) "; " }
            @for machine in machines { (machine) "; " }
            (count(runs.len(), "run")) ": "
            // A run's number among all runs, from 1 on; ranges are joined.
            @for (number, range) in runs.chunk_by(|one, next| one + 1 == *next).enumerate() {
                @if number > 0 { ", " }
                @let (first, last) = (range[0] + 1, range[range.len() - 1] + 1);
                a href={ "#run-" (first) } { (first) @if last > first { "–" (last) } }
            }
        }
    }
}

/// Returns all runs with their files, commands and labels. A command of `aurora simulate` prints many runs, which share
/// one row.
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
