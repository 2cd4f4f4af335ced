//! Every figure with its command and machine.

use super::text::count;
use crate::report::recorded::Recorded;
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

/// All runs with their files, commands and labels.
pub fn appendix(all: &[Recorded]) -> Markup {
    html! {
        section {
            h2 #runs { "All runs" }
            .wide { table {
                thead { tr { th.text { "run" } th.text { "command" } th.text { "labels" } th.text { "machine, date" } th.text { "file, line" } } }
                tbody { @for (number, run) in all.iter().enumerate() {
                    tr id={ "run-" (number + 1) } {
                        td.text { (number + 1) }
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
    use crate::report::fixture::{program, read};

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
