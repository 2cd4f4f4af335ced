//! The chapter of the book that lists all commands and their options.

use crate::definition::definition;
use crate::examples;
use clap::{Arg, Command};
use std::fmt::Write;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/command-line.md");

const BEGIN: &str = "# The command line

The command `aurora` is the package `aurora-command`. `cargo install --path aurora-apps/command` installs it, and
`cargo run --release --bin aurora --` runs it from the repository. This page is made from `aurora help COMMAND`.
";

/// The number of commands from which an option is described in one common table.
const SEVERAL: usize = 8;

/// Returns a help text as Markdown, in one cell of a table.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|").replace('<', "\\<")
}

/// Returns the option as a row of a table.
fn row(option: &Arg) -> Option<String> {
    if option.is_hide_set() {
        return None;
    }
    let name = match (option.get_long(), option.get_value_names()) {
        (Some("help" | "version"), _) => return None,
        (Some(long), Some(values)) if option.get_action().takes_values() => {
            format!("--{long} <{}>", values.join("> <"))
        }
        (Some(long), _) => format!("--{long}"),
        (None, values) => format!("<{}>", values.map_or(option.get_id().to_string(), |values| values.join("> <"))),
    };
    let help = option.get_long_help().or(option.get_help()).map(ToString::to_string).unwrap_or_default();
    let values = option.get_possible_values().into_iter().filter(|value| !value.is_hide_set()).map(|value| {
        let help = value.get_help().map(|help| format!(": {}", cell(&help.to_string()))).unwrap_or_default();
        format!("<br>`{}`{help}", value.get_name())
    });
    let values: String = values.filter(|_| option.get_action().takes_values()).collect();
    let defaults: Vec<_> = option.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let default = match defaults.join(",") {
        default if default.is_empty() || !option.get_action().takes_values() => String::new(),
        default => format!("<br>Default: `{default}`"),
    };
    Some(format!("| `{}` | {}{values}{default} |\n", name.replace('|', "\\|"), cell(&help)))
}

/// Collects the rows of a command, by its words. A command that has subcommands has no options of its own.
fn rows(command: &Command, words: &str, all: &mut Vec<(String, String, Vec<String>)>) {
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        let words = format!("{words} {}", inner.get_name()).trim_start().to_string();
        let about = inner.get_long_about().or(inner.get_about()).map(ToString::to_string).unwrap_or_default();
        all.push((words.clone(), about, inner.get_arguments().filter_map(row).collect()));
        rows(inner, &words, all);
    }
}

fn page() -> String {
    let (mut all, mut page) = (Vec::new(), String::from(BEGIN));
    rows(&definition(), "", &mut all);
    let name = |row: &String| row.split('`').nth(1).map(String::from);
    let mut several: Vec<&String> = Vec::new();
    let rows_of_all = || all.iter().flat_map(|(_, _, rows)| rows);
    let commands = |row: &String| rows_of_all().filter(|other| *other == row).count();
    for row in rows_of_all().filter(|row| commands(row) >= SEVERAL) {
        // A name with two meanings is described at each command.
        let is_one = rows_of_all().all(|other| other == row || name(other) != name(row) || commands(other) < SEVERAL);
        if is_one && !several.contains(&row) {
            several.push(row);
        }
    }
    page += "\n## Options of several commands\n\n| option | meaning |\n|---|---|\n";
    several.iter().for_each(|row| page += row);
    for (words, about, rows) in &all {
        write!(page, "\n## aurora {words}\n\n{}.\n", cell(about)).expect("a string takes all");
        let own: String = rows.iter().filter(|row| !several.contains(row)).map(String::as_str).collect();
        if !own.is_empty() {
            write!(page, "\n| option | meaning |\n|---|---|\n{own}").expect("a string takes all");
        }
        let names: Vec<_> = rows.iter().filter(|row| several.contains(row)).filter_map(name).collect();
        if !names.is_empty() {
            write!(page, "\nAlso: `{}`.\n", names.join("`, `")).expect("a string takes all");
        }
        if let Some(examples) = examples::of(words) {
            write!(page, "\n```sh\n{}\n```\n", examples.join("\n")).expect("a string takes all");
        }
        if let Some(file) = examples::file_of(words) {
            write!(page, "\nThe file:\n\n```text\n{file}\n```\n").expect("a string takes all");
        }
    }
    page
}

/// `UPDATE=1` writes the chapter again.
#[test]
fn the_book_has_the_command_line() {
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(PAGE, &page).expect("the book can be written");
    }
    let book = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        book == page,
        "docs/src/command-line.md is not that of the command: run the tests of aurora-command with UPDATE=1"
    );
}
