//! Charts that are left out, and the commands that would give their figures.

use crate::series::Key;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};

/// The charts that each command would give.
#[derive(Debug, Default)]
pub struct Wanted(BTreeMap<String, BTreeSet<String>>);

impl Wanted {
    /// Adds a chart that has only one number of ranks.
    pub fn ranks(&mut self, chart: String, key: &Key) {
        self.add(format!("for p in 1 2 4; do aurora {} --ranks $p", program(key)), "; done", chart);
    }

    /// Adds a chart that lacks a system to compare with. Not every program has all versions: the command names those
    /// that it offers.
    pub fn mpi(&mut self, key: &Key) {
        if ["sor", "sparse-mm", "cholesky"].contains(&key.problem.name.as_str()) {
            // These programs have no version over MPI.
            return;
        }
        let command = format!("mpirun -n 4 aurora {} --impl aurora,mpi-isend,mpi-collective", program(key));
        self.add(command, "", format!("Aurora's speed-up over MPI's: {}", key.problem));
    }

    /// Adds a model that lacks the time on a quiet machine.
    pub fn alone(&mut self, key: &Key) {
        let command = format!("aurora {} --ranks 1 --label kind='computing alone'", program(key));
        self.add(command, "", format!("Modelled speed-up: {}", key.problem));
    }

    /// Adds the chart of operations on a network.
    pub fn line_rate(&mut self) {
        let command = "mpirun -n 4 aurora bench exchange --impl aurora,mpi-isend,mpi-collective \
                       --label network='155 Mbit/s, MTU 9000' --label mpi='Open MPI 4.1.4'";
        self.add(command.into(), "", "Operations against the rate of the wire".into());
    }

    fn add(&mut self, command: String, end: &str, chart: String) {
        self.0.entry(format!("{command} --json >> runs.json{end}")).or_default().insert(chart);
    }

    /// Returns the section of the page; empty if nothing is missing.
    pub fn section(&self) -> Markup {
        html! {
            @if !self.0.is_empty() {
                section {
                    h2 { "What these runs do not show" }
                    p { "Each command adds runs to a file; give that to " code { "aurora report" } " too." }
                    ul { @for (command, charts) in &self.0 {
                        li { @for chart in charts { (chart) br; } code { (command) } }
                    } }
                }
            }
        }
    }
}

/// Returns the arguments of `aurora` for a problem.
fn program(key: &Key) -> String {
    let problem = &key.problem;
    let size = match problem.name.as_str() {
        "mm2" | "sparse-mm" | "cholesky" => format!(" --size {}", problem.size),
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
        ("sor", size) => format!(" --size {size}"),
        ("sparse-mm", density) if density != "12.5%" => format!(" --density {density}"),
        ("tsp", instance) if !["random", "file"].contains(&instance) => format!(" --instance {instance}"),
        _ => String::new(),
    };
    let asked: String = problem.asked.iter().map(|(name, value)| format!(" --{name} {value}")).collect();
    format!("{}{size}{variant}{asked}", problem.name)
}
