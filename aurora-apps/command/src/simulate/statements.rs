//! The statements of the papers about their figures, compared with the simulation. The stored texts of the papers have
//! no values of the figures, so the statements are those of their prose.

use super::Point;
use crate::table::count;
use std::fmt::{self, Display, Formatter};

/// The statements that a simulation can be compared with.
pub struct Statements<'p>(pub &'p [Point]);

/// A statement about each number of nodes.
struct Statement {
    /// The figure of the paper.
    figure: &'static str,
    text: &'static str,
    /// Returns whether it holds, and the values; `None` if the simulation does not have all of them.
    holds: fn(&Of<'_>) -> Option<(bool, String)>,
}

/// The points of a number of nodes.
struct Of<'p>(Vec<&'p Point>);

impl Of<'_> {
    /// Returns the mean of a quantity of a policy, with this number of instructions in flight or with the most.
    fn get(&self, policy: &str, limit: Option<u32>, quantity: &str) -> Option<f64> {
        let of_policy = self.0.iter().filter(|point| point.policy == policy);
        let in_flight = |point: &Point| point.own.map_or(0, |own| own.in_flight);
        let mut fits = of_policy.filter(|point| limit.is_none_or(|limit| in_flight(point) == limit));
        let first = fits.next()?;
        let most = fits.fold(first, |most, point| if in_flight(point) > in_flight(most) { point } else { most });
        Some(most.figures.get(quantity)?.mean)
    }

    /// Returns the times of policies with these numbers of instructions in flight.
    fn seconds<const N: usize>(&self, of: [(&str, Option<u32>); N]) -> Option<[f64; N]> {
        let found = of.iter().map(|(policy, limit)| Some(self.get(policy, *limit, "makespan")? / 1e6));
        found.collect::<Option<Vec<f64>>>()?.try_into().ok()
    }

    fn nodes(&self) -> u32 {
        self.0.first().map_or(0, |point| point.nodes)
    }

    fn all<const N: usize>(&self, policies: [&str; N], quantity: &str) -> Option<[f64; N]> {
        let found: Option<Vec<f64>> = policies.iter().map(|policy| self.get(policy, None, quantity)).collect();
        found?.try_into().ok()
    }
}

/// Writes values with their names.
fn values<const N: usize>(names: [&str; N], values: [f64; N], digits: usize) -> String {
    let texts: Vec<String> = names.iter().zip(values).map(|(name, value)| format!("{name} {value:.digits$}")).collect();
    texts.join(", ")
}

/// Compares the imbalance of the first policy with that of the others.
fn first_is_most<const N: usize>(of: &Of<'_>, names: [&str; N]) -> Option<(bool, String)> {
    let all = of.all(names, "imbalance")?;
    Some((all[1..].iter().all(|other| *other < all[0]), values(names, all, 4)))
}

/// S2 section 6, about its simulation.
const SUPER: [Statement; 5] = [
    Statement {
        figure: "Figure 1",
        text: "syn has more imbalance than all asynchronous policies",
        holds: |of| first_is_most(of, ["syn", "S", "R", "SR", "SS"]),
    },
    Statement {
        figure: "Figure 1",
        text: "the dynamic policies R, SR and SS have less imbalance than S",
        holds: |of| first_is_most(of, ["S", "R", "SR", "SS"]),
    },
    Statement {
        figure: "Figure 1",
        text: "R, SR and SS differ very little in imbalance (here: by at most 0.01)",
        holds: |of| {
            let names = ["R", "SR", "SS"];
            let all = of.all(names, "imbalance")?;
            let [most, least] = [all.into_iter().fold(0.0, f64::max), all.into_iter().fold(1.0, f64::min)];
            Some((most - least <= 0.01, values(names, all, 4)))
        },
    },
    Statement {
        figure: "Figure 2",
        text: "R has the most communication, and S the least",
        holds: |of| {
            let names = ["R", "SR", "SS", "S"];
            let all = of.all(names, "communication")?;
            let between = all[1..3].iter().all(|other| *other <= all[0] && *other >= all[3]);
            Some((between, values(names, all, 4)))
        },
    },
    Statement {
        figure: "Figures 1 and 2",
        text: "SS is a better alternative to S: its imbalance and communication are less in sum",
        holds: |of| {
            let [imbalances, loads] = ["imbalance", "communication"].map(|name| of.all(["SS", "S"], name));
            let (imbalances, loads) = (imbalances?, loads?);
            let sums = [imbalances[0] + loads[0], imbalances[1] + loads[1]];
            Some((sums[0] < sums[1], values(["SS", "S"], sums, 4)))
        },
    },
];

/// S0 section 4, about all its cases.
const DATA: [Statement; 3] = [
    Statement {
        figure: "Figure 2",
        text: "D is faster than S in most cases, but not on very few nodes",
        holds: |of| {
            let all = of.seconds(["D", "S"].map(|name| (name, None)))?;
            (of.nodes() > 2).then(|| (all[0] < 0.999 * all[1], values(["D", "S"], all, 3) + " s"))
        },
    },
    Statement {
        figure: "Figure 2",
        text: "R is slower than S",
        holds: |of| {
            let all = of.seconds(["R", "S"].map(|name| (name, None)))?;
            Some((all[0] > all[1], values(["R", "S"], all, 3) + " s"))
        },
    },
    Statement {
        figure: "Figure 3",
        text: "fewer than 5 of 6 threads are alive",
        holds: |of| {
            let names = ["S", "D"];
            let all = names.map(|name| of.get(name, Some(6), "parallelism"));
            let [Some(simple), Some(distributed)] = all else { return None };
            Some((simple < 5.0 && distributed < 5.0, values(names, [simple, distributed], 2)))
        },
    },
];

/// S0 section 4, about blocks of 128 x 128 and of 256 x 256.
const SMALL_BLOCKS: Statement = Statement {
    figure: "section 4",
    text: "blocks of 128 x 128 are delay bound from 4 nodes on (here: an efficiency of D below 0.95)",
    holds: |of| {
        let efficiency = of.get("D", None, "efficiency")?;
        (of.nodes() >= 4).then(|| (efficiency < 0.95, format!("D {efficiency:.3}")))
    },
};
const LARGE_BLOCKS: Statement = Statement {
    figure: "section 4",
    text: "blocks of 256 x 256 are bound by the processors (here: an efficiency of D of 0.95 or more)",
    holds: |of| of.get("D", None, "efficiency").map(|of| (of >= 0.95, format!("D {of:.3}"))),
};

/// S0 section 4, about 256r1.
const THREADS: [Statement; 2] = [
    Statement {
        figure: "Figure 5",
        text: "4 threads are faster than 1, and 8 are hardly faster than 4 (here: by at most 5 %)",
        holds: |of| {
            let [one, four, eight] = of.seconds([1, 4, 8].map(|limit| ("D", Some(limit))))?;
            Some((four < one && eight >= 0.95 * four, format!("D {one:.2}, {four:.2}, {eight:.2} s")))
        },
    },
    Statement {
        figure: "Figures 5 and 6",
        text: "M and N are the best versions (here: at most 1 % slower than any other)",
        holds: |of| {
            let names = ["M", "N", "S", "D", "G"];
            let all = of.seconds(names.map(|name| (name, None)))?;
            let best = all.into_iter().fold(f64::INFINITY, f64::min);
            Some((all[..2].iter().all(|of| *of <= 1.01 * best), values(names, all, 2) + " s"))
        },
    },
];

/// S2 section 5, about its experiment.
const EXPERIMENT: Statement = Statement {
    figure: "Figure 5",
    text: "8 threads are considerably faster than 4 (here: by 15 % or more), and 16 are hardly faster than 8 (here: by \
           10 % or less)",
    holds: |of| {
        let [four, eight, most] = of.seconds([4, 8, 16].map(|limit| ("R", Some(limit))))?;
        let holds = eight <= 0.85 * four && most >= 0.9 * eight;
        // One node loads nothing.
        (of.nodes() > 1).then(|| (holds, format!("{four:.2}, {eight:.2}, {most:.2} s with 4, 8, 16")))
    },
};

impl Statements<'_> {
    fn of(&self) -> (&'static str, Vec<&'static Statement>) {
        let Some(first) = self.0.first() else { return ("", Vec::new()) };
        let case = first.own.map(|own| own.case);
        match (first.product, case) {
            (Some(of), None) if of.is_of_the_paper() && first.costs == "drawn" => {
                ("the paper on super-programming", SUPER.iter().collect())
            }
            (None, Some("s2")) if !first.versions => ("the paper on super-programming", vec![&EXPERIMENT]),
            (None, Some(case)) if case != "s2" && first.versions => {
                let blocks = if case.starts_with("128") { &SMALL_BLOCKS } else { &LARGE_BLOCKS };
                let threads = THREADS.iter().filter(|_| case == "256r1");
                ("the paper on data representation", DATA.iter().chain([blocks]).chain(threads).collect())
            }
            _ => ("", Vec::new()),
        }
    }
}

/// Writes a line for each statement that can be compared, and nothing if there is none.
impl Display for Statements<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (paper, statements) = self.of();
        let mut nodes: Vec<u32> = self.0.iter().map(|point| point.nodes).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut has_head = false;
        for statement in statements {
            let at = |nodes: &u32| {
                let of = Of(self.0.iter().filter(|point| point.nodes == *nodes).collect());
                (statement.holds)(&of).map(|(holds, values)| (*nodes, holds, values))
            };
            let compared: Vec<(u32, bool, String)> = nodes.iter().filter_map(at).collect();
            if compared.is_empty() {
                continue;
            }
            if !has_head {
                writeln!(f, "\nstatements of {paper}, and this simulation:")?;
                has_head = true;
            }
            let against: Vec<&(u32, bool, String)> = compared.iter().filter(|(_, holds, _)| !holds).collect();
            let verdict = match against.len() {
                0 => "agrees",
                all if all == compared.len() => "disagrees",
                _ => "in part",
            };
            writeln!(f, "  {verdict:11}{} ({})", statement.text, statement.figure)?;
            for (nodes, _, values) in against {
                writeln!(f, "{:13}not on {}: {values}", "", count(*nodes as usize, "node"))?;
            }
        }
        if has_head && self.0.iter().any(|point| point.reps > 1) {
            writeln!(
                f,
                "  A difference that is small compared with the standard deviations may be chance: use more `--reps`."
            )?;
        }
        if has_head && self.0.iter().any(|point| point.policy == "R" && point.versions) {
            let stays = self.0.iter().any(|point| point.own.is_some_and(|own| own.results_stay));
            let here = match stays {
                true => "stays with the owner of its part",
                false => "is on the node that began it; with `--results-stay` it stays with the owner of its part",
            };
            writeln!(f, "  The paper does not tell where a result of R is: here it {here}.")?;
        }
        Ok(())
    }
}
