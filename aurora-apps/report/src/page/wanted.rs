//! Charts that are left out, and the commands that would fill them.

use crate::series::Key;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// What is missing, by command.
#[derive(Debug, Default)]
pub struct Wanted {
    /// What each command would fill.
    by_command: BTreeMap<String, BTreeSet<String>>,
}

impl Wanted {
    /// A chart has one number of ranks.
    pub fn ranks(&mut self, chart: &str, key: &Key) {
        let program = program(key);
        self.add(format!("for p in 1 2 4; do aurora {program} --ranks $p --json >> runs.json; done"), chart.into());
    }

    /// Nothing to compare with.
    pub fn mpi(&mut self, key: &Key) {
        let chart = format!("Aurora's speed-up over MPI's: {}", key.problem);
        // Not every program has them all: the command names what it offers.
        let command =
            format!("mpirun -n 4 aurora {} --impl aurora,mpi-isend,mpi-collective --json >> runs.json", program(key));
        self.add(command, chart);
    }

    /// No time on a quiet machine to make a model from.
    pub fn alone(&mut self, key: &Key) {
        let chart = format!("Modelled speed-up: {}", key.problem);
        let command = format!("aurora {} --ranks 1 --label kind='computing alone' --json >> runs.json", program(key));
        self.add(command, chart);
    }

    /// No operation on a network.
    pub fn line_rate(&mut self) {
        let label = "--label network='155 Mbit/s, MTU 9000' --label mpi='Open MPI 4.1.4'";
        let bench = "aurora bench exchange --impl aurora,mpi-isend,mpi-collective";
        self.add(
            format!("mpirun -n 4 {bench} {label} --json >> runs.json"),
            "Operations against the rate of the wire".into(),
        );
    }

    fn add(&mut self, command: String, chart: String) {
        self.by_command.entry(command).or_default().insert(chart);
    }

    /// As a section; nothing if nothing is missing.
    pub fn section(&self) -> Markup {
        html! {
            @if !self.by_command.is_empty() {
                section {
                    h2 { "What these runs do not show" }
                    p { "Each command adds runs to a file; give that to " code { "aurora report" } " too." }
                    ul { @for (command, charts) in &self.by_command {
                        li { @for chart in charts { (chart) br; } code { (command) } }
                    } }
                }
            }
        }
    }
}

/// What follows `aurora` on the command line.
fn program(key: &Key) -> String {
    let problem = &key.problem;
    let size = match problem.name.as_str() {
        "mm2" => format!(" --size {}", problem.size),
        "psrs" => format!(" --keys {}", problem.size),
        "histogram" | "indexgather" => format!(" --table {}", problem.size),
        "wordcount" => format!(" --bytes {}", problem.size),
        "diffusion" => format!(" --rows {}", problem.size),
        "tsp" if problem.variant == "random" => format!(" --cities {}", problem.size),
        _ => String::new(),
    };
    let variant = match (problem.name.as_str(), problem.variant.as_str()) {
        ("mm2", kernel) if kernel != "tiled" => format!(" --kernel {kernel}"),
        ("psrs", input) if input != "uniform" => format!(" --input {input}"),
        ("tsp", instance) if !["random", "file"].contains(&instance) => format!(" --instance {instance}"),
        _ => String::new(),
    };
    let asked: String = problem.asked.iter().map(|(name, value)| format!(" --{name} {value}")).collect();
    format!("{}{size}{variant}{asked}", problem.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collect::Collection;
    use crate::fixture::{program, read};

    #[test]
    fn a_missing_chart_names_its_command() {
        let mut run = program("histogram", 1000, 4, &[("aurora", 1.0)]);
        run["results"][0]["updates"] = 500.into();
        let all = Collection::of(&read(&[run]));
        let mut wanted = Wanted::default();
        assert_eq!(wanted.section().into_string(), "");
        wanted.ranks("Measured speed-up", all.programs.keys().next().unwrap());
        let text = wanted.section().into_string();
        assert!(text.contains("aurora histogram --table 1000 --updates 500 --ranks $p --json"), "{text}");
    }
}
