//! Every figure with its command and machine.

use super::text::count;
use crate::recorded::{Recorded, What};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// So many commands stand under a figure; of more, the first, and where the others are.
const COMMANDS: usize = 2;

/// What runs a figure comes from, and on which machine it was measured.
pub fn from(all: &[Recorded], runs: impl IntoIterator<Item = usize>) -> Markup {
    let runs: BTreeSet<usize> = runs.into_iter().collect();
    let mut commands: Vec<&str> = Vec::new();
    for command in runs.iter().map(|run| command(&all[*run])) {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    let machines: BTreeSet<&str> = runs.iter().map(|run| machine(&all[*run])).collect();
    let shown = if commands.len() <= COMMANDS { commands.len() } else { 1 };
    html! {
        p.from {
            @for command in commands.iter().take(shown) { code { (command) } br; }
            @if shown < commands.len() { "and " (count(commands.len() - shown, "other command")) "; " }
            @for machine in machines { (machine) "; " }
            (count(runs.len(), "run")) ": " (links(&runs))
        }
    }
}

/// A run's number among all, from 1 on; ranges are drawn together.
fn links(runs: &BTreeSet<usize>) -> Markup {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for run in runs {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *run => *last = *run,
            _ => ranges.push((*run, *run)),
        }
    }
    html! {
        @for (number, (first, last)) in ranges.into_iter().enumerate() {
            @if number > 0 { ", " }
            a href={ "#run-" (first + 1) } { (first + 1) @if last > first { "–" (last + 1) } }
        }
    }
}

/// The command of a run, or what is known instead.
pub fn command(run: &Recorded) -> &str {
    let command = &run.circumstances.command;
    if command.is_empty() { "(no command on record)" } else { command }
}

fn machine(run: &Recorded) -> &str {
    let machine = &run.circumstances.machine;
    if machine.is_empty() { "an unknown machine" } else { machine }
}

/// Runs in a row of the list that were printed by one command: the first one, and how many they are.
fn together(all: &[Recorded]) -> Vec<(usize, usize)> {
    let same = |one: &Recorded, other: &Recorded| {
        let is_simulation = |run: &Recorded| matches!(run.what, What::Simulation(_));
        is_simulation(one) && is_simulation(other) && one.circumstances == other.circumstances && one.file == other.file
    };
    let mut groups: Vec<(usize, usize)> = Vec::new();
    for run in 0..all.len() {
        match groups.last_mut() {
            Some((first, count)) if same(&all[*first], &all[run]) => *count += 1,
            _ => groups.push((run, 1)),
        }
    }
    groups
}

/// All runs with their files, commands and labels. A command of `aurora simulate` prints many, which stand in one row.
pub fn appendix(all: &[Recorded]) -> Markup {
    html! {
        section {
            h2 #runs { "All runs" }
            .wide { table {
                thead { tr { th.text { "run" } th.text { "command" } th.text { "labels" } th.text { "machine, date" } th.text { "file, line" } } }
                tbody { @for (first, count) in together(all) { @let run = &all[first];
                    tr id={ "run-" (first + 1) } {
                        td.text {
                            (first + 1)
                            @if count > 1 { "–" (first + count) }
                            @for other in first + 1..first + count { span id={ "run-" (other + 1) } {} }
                        }
                        td.break { code { (command(run)) } }
                        td.break { @for (key, value) in run.circumstances.labels.iter() { (key) ": " (value) br; } }
                        td.break { (machine(run)) br; (run.circumstances.date) }
                        td.break { (run.file) ", " (run.line) }
                    }
                } }
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{program, read, simulation};

    #[test]
    fn what_one_command_simulated_is_one_row() {
        let mut other = simulation("S", 16, 0.9);
        other["command"] = "aurora simulate other --json".into();
        let runs =
            [simulation("S", 2, 0.9), simulation("S", 4, 0.9), other, program("mm2", 704, 2, &[("aurora", 0.02)])];
        let table = appendix(&read(&runs)).into_string();
        assert_eq!((table.matches("<tr").count(), table.matches("id=\"run-").count()), (4, 4), "{table}");
        assert!(table.contains("1–2") && table.contains("<span id=\"run-2\">"), "{table}");
    }

    #[test]
    fn a_figure_names_its_commands_machine_and_runs() {
        let run = |command: &str| {
            let mut run = program("mm2", 704, 2, &[("aurora", 0.02)]);
            run["command"] = command.into();
            run
        };
        let all = read(&[run("aurora a"), run("aurora b"), run("aurora <c>"), run("aurora a")]);
        let text = from(&all, [0, 3]).into_string();
        assert!(text.contains("aurora a") && text.contains("Made up for a test") && text.contains("2 runs"), "{text}");
        assert!(text.contains("#run-1\">1</a>, <a href=\"#run-4\">4</a>"), "{text}");
        let text = from(&all, [0, 1, 2, 3]).into_string();
        assert!(text.contains("aurora a") && text.contains("2 other commands") && text.contains(">1–4</a>"), "{text}");
        let table = appendix(&all).into_string();
        assert!(table.matches("id=\"run-").count() == 4 && table.contains("aurora &lt;c&gt;"), "{table}");
    }
}
