//! The command line for clap, with the parts that all commands share.

use crate::arguments::Arguments;
use crate::examples;
use crate::implementation::parser_of;
use aurora_apps::job::IMPLEMENTATIONS;
use clap::CommandFactory;

/// Returns the command line.
pub fn definition() -> clap::Command {
    finished(Arguments::command(), "")
}

/// Adds the meaning of the units to the help of each size in bytes, because units of counts are powers of 1000.
fn with_units(argument: clap::Arg) -> clap::Arg {
    let is_a_size = argument.get_value_names().is_some_and(|names| names.iter().any(|name| name == "B"));
    match argument.get_help() {
        Some(help) if is_a_size => {
            let help = format!("{help}; K, M, G and T are powers of 1024");
            argument.help(help)
        }
        _ => argument,
    }
}

/// Adds the parts that all commands share; `words` are the words that call this command. A negative number counts as a
/// value, so that the error names its argument and not an unknown option. `--impl` accepts the implementations of the
/// command with this name.
fn finished(command: clap::Command, words: &str) -> clap::Command {
    let name = command.get_name().to_string();
    let command = match examples::of(words) {
        Some(examples) => {
            let file = examples::file_of(words).map(|text| format!("\n\nThe file:\n  {}", text.replace('\n', "\n  ")));
            let file = file.unwrap_or_default().replace("  \n", "\n");
            command.after_help(format!("Examples:\n  {}{file}", examples.join("\n  ")))
        }
        None => command,
    };
    let inner = |command: clap::Command| {
        let words = format!("{words} {}", command.get_name());
        finished(command, words.trim_start())
    };
    command.mut_subcommands(inner).mut_args(|argument| match argument.get_action().takes_values() {
        true if argument.get_id() == IMPLEMENTATIONS => argument.value_parser(parser_of(&name)),
        true => with_units(argument.allow_negative_numbers(true)),
        false => argument,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        definition().debug_assert();
    }

    #[test]
    fn the_file_in_the_help_of_model_is_a_table_without_contradictions() {
        let text = examples::file_of("model").expect("a file");
        let table = text.split("\n\n").next().expect("its first part");
        let table = aurora_super::model::read(table).expect("a table");
        assert!(table.printed_weights().is_some() && table.runs().len() == 4);
        assert_eq!(aurora_super::model::Review::as_printed(&table).findings, []);
        let json = text.lines().find(|line| line.starts_with('[')).expect("a line of JSON");
        assert!(aurora_super::model::read(json).expect("a table").printed_weights().is_some());
        let help = definition().find_subcommand_mut("model").expect("a command").render_help().to_string();
        assert!(help.contains("  PW     1   0.9411\n") && help.contains("H'  the same sum"), "{help}");
    }

    /// Collects all commands, by the words behind `aurora`.
    fn commands(of: &clap::Command, words: &str, all: &mut Vec<String>) {
        all.push(words.trim_start().into());
        of.get_subcommands().for_each(|inner| commands(inner, &format!("{words} {}", inner.get_name()), all));
    }

    #[test]
    fn each_help_has_three_examples_that_can_be_typed() {
        let mut all = Vec::new();
        commands(&definition(), "", &mut all);
        assert!(all.len() > 30, "{all:?}");
        for words in all {
            let examples = examples::of(&words).unwrap_or_else(|| panic!("no examples of `{words}`"));
            for example in examples {
                // Split like a shell; a launcher may come before the command, or a pipe behind it.
                let typed = example.replace('\'', "");
                let (_, line) = typed.rsplit_once("aurora ").map_or(("", ""), |(before, line)| (before, line));
                let parsed = definition().try_get_matches_from(["aurora"].into_iter().chain(line.split(' ')));
                // A title of several words is one argument in a shell only.
                let is_quoted = example.contains('\'');
                assert!(is_quoted || parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
                assert!(example.contains(&format!("aurora {words}")) || words == "report", "{example}");
            }
        }
    }
}
