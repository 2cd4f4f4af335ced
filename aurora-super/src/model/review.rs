//! Printed speed-ups and efficiencies compared with recomputed ones: the differences, and the rules that explain them.

use super::decimal::Decimal;
use super::finding::Finding;
use super::machines::{Configuration, Machines};
use super::measurements::{Measured, Measurements};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The agreement of a printed number with the recomputed one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Agreement {
    /// All printed digits are equal.
    Equal,
    /// They differ by no more than the precision of the printed times allows. Each time is known to half a unit of its
    /// last digit.
    Rounding,
    /// They contradict each other.
    Contradiction,
}

/// Measurements after a review of the printed speed-ups, efficiencies and power weights.
#[derive(Clone, PartialEq, Debug)]
pub struct Review {
    /// The measurements: with each [`Finding::DecimalPoint`] corrected by [`corrected`](Self::corrected), unchanged by
    /// [`as_printed`](Self::as_printed).
    pub measurements: Measurements,
    /// For each run, the agreement of its printed speed-up with equation (3).
    pub speedups: Vec<Option<Agreement>>,
    /// For each run, the agreement of its printed efficiency with equation (6).
    pub efficiencies: Vec<Option<Agreement>>,
    /// For each machine, the agreement of its printed power weight with equation (2).
    pub weights: Vec<Option<Agreement>>,
    /// The contradictions, those of times first and those of power weights last.
    pub findings: Vec<Finding>,
}

/// The maximum number of places by which a decimal point is moved.
const FURTHEST_POINT: i32 = 9;

/// The minimum number of digits of a time that is corrected. A time with fewer digits would fit in too many ways.
const FEWEST_DIGITS: usize = 3;

impl Review {
    /// Corrects times whose decimal point is misplaced, and compares the printed values with the results of the
    /// equations.
    pub fn corrected(measurements: &Measurements) -> Self {
        let times = times(measurements);
        let correct = |(run, finding): (&usize, &Finding)| match finding {
            Finding::DecimalPoint { corrected, .. } => Some((*run, corrected.clone())),
            _ => None,
        };
        let corrected = measurements.with_times(&times.iter().filter_map(correct).collect());
        // A correction that makes the table invalid is not used.
        let corrected = corrected.unwrap_or_else(|_| measurements.clone());
        Self::of(corrected, times)
    }

    /// Compares the printed values with the results of the equations for the times as they are printed.
    pub fn as_printed(measurements: &Measurements) -> Self {
        Self::of(measurements.clone(), times(measurements))
    }

    fn of(measurements: Measurements, times: BTreeMap<usize, Finding>) -> Self {
        let table = &measurements;
        let agreements = |printed: fn(&Measured) -> Option<&Decimal>, value: &dyn Fn(&Measured) -> f64| -> Vec<_> {
            let compare = |run| printed(run).map(|printed| agreement(printed, value(run), slack(table, run)));
            table.runs().iter().map(compare).collect()
        };
        let speedups = agreements(Measured::printed_speedup, &|run| table.speedup(run));
        let efficiencies = agreements(Measured::printed_efficiency, &|run| table.efficiency(run).percent());

        let mut findings: Vec<Finding> = times.values().cloned().collect();
        for (index, run) in table.runs().iter().enumerate() {
            let is_used = |finding: &Finding| matches!(finding, Finding::DecimalPoint { corrected, .. } if corrected == run.seconds());
            if times.get(&index).is_some_and(|finding| !is_used(finding)) {
                // Values that were calculated from a wrong time are not reviewed.
                continue;
            }
            let wrong = |agreement: Option<Agreement>| agreement == Some(Agreement::Contradiction);
            if let Some(printed) = run.printed_speedup().filter(|_| wrong(speedups[index])) {
                let (printed, recomputed) = (printed.clone(), table.speedup(run));
                findings.push(Finding::Unexplained { row: run.row(), column: "speedup", printed, recomputed });
            }
            if let Some(printed) = run.printed_efficiency().filter(|_| wrong(efficiencies[index])) {
                findings.push(explain(table, run, printed));
            }
        }
        let weights = weights(table, &mut findings);
        Review { speedups, efficiencies, weights, findings, measurements }
    }
}

/// Compares the printed power weights with equation (2), and reports contradictions.
fn weights(table: &Measurements, findings: &mut Vec<Finding>) -> Vec<Option<Agreement>> {
    let machines = table.machines();
    let Some(printed) = table.printed_weights() else { return vec![None; machines.names().len()] };
    let named = machines.names().iter().zip(machines.weights()).zip(table.references());
    let compare = |(((machine, weight), run), number): (((&String, &f64), &Measured), &Decimal)| {
        let found = agreement(number, *weight, slack(table, run));
        if found == Agreement::Contradiction {
            let (row, machine, printed) = (printed.row(), machine.clone(), number.clone());
            findings.push(Finding::PowerWeight { row, machine, printed, recomputed: *weight });
        }
        Some(found)
    };
    named.zip(printed.weights()).map(compare).collect()
}

/// By equation (3) the product of time and speed-up is min T_j in every row: a row whose product differs from that of
/// most rows is wrong.
fn times(table: &Measurements) -> BTreeMap<usize, Finding> {
    let printed = |(index, run): (usize, &Measured)| {
        let (seconds, speedup) = (run.seconds().clone(), run.printed_speedup()?.clone());
        Some((index, run.row(), seconds, speedup))
    };
    let rows: Vec<_> = table.runs().iter().enumerate().filter_map(printed).collect();
    let mut products: Vec<f64> =
        rows.iter().map(|(_, _, seconds, speedup)| seconds.value() * speedup.value()).collect();
    products.sort_by(f64::total_cmp);
    let Some(usual) = products.get(products.len() / 2).copied() else { return BTreeMap::new() };
    let fits = |seconds: &Decimal, speedup: &Decimal| {
        // Both the row's numbers and the usual product, made of such numbers, are rounded.
        let slack = 2.0 * (seconds.uncertainty() + speedup.uncertainty());
        (seconds.value() * speedup.value() / usual - 1.0).abs() <= slack
    };
    if 2 * rows.iter().filter(|(_, _, seconds, speedup)| fits(seconds, speedup)).count() <= rows.len() {
        // There is no majority of rows that agree.
        return BTreeMap::new();
    }
    let wrong = rows.into_iter().filter(|(_, _, seconds, speedup)| !fits(seconds, speedup));
    wrong
        .map(|(index, row, printed, speedup)| {
            let implied = usual / speedup.value();
            let points = (1..=FURTHEST_POINT).flat_map(|by| [by, -by]).map(|by| printed.shifted(by));
            let corrected = points.filter(|_| printed.digits() >= FEWEST_DIGITS).find(|time| fits(time, &speedup));
            let finding = match corrected {
                Some(corrected) => Finding::DecimalPoint { row, printed, speedup, implied, corrected },
                None => {
                    let implied_speedup = usual / printed.value();
                    Finding::TimeAndSpeedup { row, printed, speedup, implied, implied_speedup }
                }
            };
            (index, finding)
        })
        .collect()
}

/// Explains an efficiency that contradicts equation (6).
fn explain(table: &Measurements, run: &Measured, printed: &Decimal) -> Finding {
    let (row, printed) = (run.row(), printed.clone());
    let (machines, configuration, slack) = (table.machines(), run.configuration(), slack(table, run));
    let efficiency = table.efficiency(run);
    let recomputed = efficiency.percent();
    if agreement(&printed, efficiency.fraction(), slack) != Agreement::Contradiction {
        return Finding::Fraction { row, printed, recomputed };
    }
    let speedup = table.speedup(run);
    let explains = |other: &Configuration| {
        agreement(&printed, 100.0 * speedup / machines.power_of(other), slack) != Agreement::Contradiction
    };
    match others(machines, configuration, 100.0 * speedup / printed.value()).find(explains) {
        Some(other) => Finding::Denominator {
            row,
            printed,
            speedup,
            taken: other.to_string(),
            taken_power: machines.power_of(&other),
            configuration: configuration.to_string(),
            power: machines.power_of(configuration),
            recomputed,
        },
        None => Finding::Unexplained { row, column: "efficiency", printed, recomputed },
    }
}

/// Configurations with as many processors whose power may be `wanted`: all of them on the fastest machine, and those in
/// which processors of one machine are taken for another's, fewest first.
fn others(machines: &Machines, configuration: &Configuration, wanted: f64) -> impl Iterator<Item = Configuration> {
    let (weights, processors) = (machines.weights(), configuration.processors());
    let lacking = wanted - machines.power_of(configuration);
    let mut moves = Vec::new();
    for (from, to) in (0..weights.len()).flat_map(|from| (0..weights.len()).map(move |to| (from, to))) {
        // Between machines of one speed nothing changes: not a number, or infinite, and as u32 none or too many.
        let moved = (lacking / (weights[to] - weights[from])).round() as u32;
        if from != to && (1..=processors[from]).contains(&moved) && processors[to].checked_add(moved).is_some() {
            moves.push((moved, from, to));
        }
    }
    moves.sort_unstable();
    // One after the other: many machines have a million of them, and the first that explains it is enough.
    let moved = moves.into_iter().map(move |(moved, from, to)| {
        let mut other = processors.to_vec();
        other[from] -= moved;
        other[to] += moved;
        other
    });
    let fastest = weights.iter().position(|weight| *weight == 1.0);
    let alone = fastest.zip(u32::try_from(configuration.total()).ok()).map(|(fastest, total)| {
        let mut other = vec![0; weights.len()];
        other[fastest] = total;
        other
    });
    moved.chain(alone).map(|other| configuration.with(other))
}

fn agreement(printed: &Decimal, value: f64, slack: f64) -> Agreement {
    // A tie may be rounded either way, and is not exact in binary.
    let half = printed.half_unit() * (1.0 + 1e-9);
    match (printed.value() - value).abs() {
        difference if difference <= half => Agreement::Equal,
        difference if difference <= half + slack * value => Agreement::Rounding,
        _ => Agreement::Contradiction,
    }
}

/// Returns the relative error that the speed-up and the efficiency of a run may have, because printed times have few
/// digits.
fn slack(table: &Measurements, run: &Measured) -> f64 {
    run.seconds().uncertainty() + table.references().map(|run| run.seconds().uncertainty()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    /// Amdahl's law on two machines, with every number right.
    const RIGHT: &str = "
        a  b  seconds  speedup  efficiency
        1  0   100.00   1.0000     100.00
        0  1   160.00   0.6250     100.00
        4  0    31.25   3.2000      80.00
        2  2    36.36   2.7503      84.62
        0  4    50.00   2.0000      80.00
    ";

    fn findings(from: &str, to: &str) -> Vec<String> {
        assert!(RIGHT.contains(from), "{from}");
        let review = Review::corrected(&read(&RIGHT.replace(from, to)).unwrap());
        review.findings.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn nothing_is_found_where_nothing_is_wrong() {
        let review = Review::corrected(&read(RIGHT).unwrap());
        assert_eq!(review.findings, []);
        assert_eq!(review, Review::as_printed(&review.measurements));
        assert!(review.speedups.iter().all(|speedup| *speedup == Some(Agreement::Equal)), "{:?}", review.speedups);
        // 36.36 s stand for 36.355 to 36.365: an efficiency of 84.61 to 84.64.
        let near = read(&RIGHT.replace("84.62", "84.64")).unwrap();
        assert_eq!(Review::corrected(&near).efficiencies[3], Some(Agreement::Rounding));
    }

    #[test]
    fn power_weights_are_compared_with_the_times_on_one_processor() {
        let review = |weights: &str| {
            let table = read(&format!("a b seconds\n1 0 100.0\n0 1 160.0\nPW {weights}\n")).unwrap();
            let review = Review::corrected(&table);
            (review.weights, review.findings.iter().map(Finding::to_string).collect::<Vec<_>>())
        };
        let (equal, rounding) = (Some(Agreement::Equal), Some(Agreement::Rounding));
        assert_eq!(review("1 0.625"), (vec![equal, equal], vec![]));
        assert_eq!(review("1 0.6"), (vec![equal, equal], vec![]));
        assert_eq!(review("1 0.6252"), (vec![equal, rounding], vec![]));
        // A whole number is exact, in a row of others that have places.
        assert_eq!(review("1 1.00").0, [equal, Some(Agreement::Contradiction)]);
        let (agreements, found) = review("1 0.652");
        assert_eq!(agreements, [equal, Some(Agreement::Contradiction)]);
        assert_eq!(
            found,
            ["line 4, column `b`: the power weight 0.652 is wrong: by (2) it is 0.625. Correct it, or the time on \
              one processor of b or of the fastest machine"]
        );
    }

    #[test]
    fn a_decimal_point_is_found_and_moved_back() {
        for (wrong, row) in [("312.5", 5), ("3.125", 5), ("3125", 5)] {
            let found = findings("31.25", wrong);
            let point = format!(
                "line {row}, column `seconds`: {wrong} contradicts the speed-up 3.2000 in its row: by the other rows, \
                 a run with this speed-up takes 31.25. With the decimal point moved it is 31.25"
            );
            assert_eq!(found, [point]);
        }
        let found = findings("100.00   1.0000", "10.000   1.0000");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with("With the decimal point moved it is 100.00"), "{found:?}");
    }

    #[test]
    fn a_time_that_is_simply_wrong_is_not_corrected() {
        assert_eq!(
            findings("31.25", "32.15"),
            [
                "line 5, columns `seconds` and `speedup`: 32.15 and 3.2000 contradict each other. By the other rows it is 31.25 s \
              for this speed-up, or a speed-up of 3.1104 for this time"
            ]
        );
        // 31 would fit, but too many numbers have these two digits.
        assert!(findings("31.25", "3.1")[0].starts_with("line 5, columns `seconds` and `speedup`: 3.1 and 3.2000"));
    }

    #[test]
    fn efficiencies_are_explained_where_they_can_be() {
        assert_eq!(
            findings("36.36   2.7503      84.62", "36.36   2.7503      75.87"),
            [
                "line 6, column `efficiency`: 75.87 has the wrong denominator: it fits 2.750275 / 3.625000, with the power of a=3,b=1. The \
              run is on a=2,b=2: by (6) 2.750275 / 3.250000 = 84.62 %"
            ]
        );
        assert_eq!(
            findings("84.62", "0.8462"),
            ["line 6, column `efficiency`: 0.8462 is a fraction where per cent is expected: 84.62"]
        );
        assert_eq!(findings("84.62", "82.46"), ["line 6, column `efficiency`: 82.46 is wrong: by (6) it is 84.62"]);
        assert_eq!(
            findings("100.00   1.0000     100.00", "100.00   -     90.00"),
            ["line 3, column `efficiency`: 90.00 is wrong: by (6) it is 100.00"]
        );
    }

    #[test]
    fn an_efficiency_divided_by_the_number_of_processors() {
        let text = "a b c seconds efficiency\n1 0 0 10 -\n0 1 0 20 -\n0 0 1 40 -\n0 2 2 8.000 31.25\n";
        let found = &Review::corrected(&read(text).unwrap()).findings[0].to_string();
        assert!(found.contains("1.250000 / 4.000000, with the power of a=4. The run is on b=2,c=2"), "{found}");
    }

    #[test]
    fn without_a_majority_a_speedup_is_only_compared() {
        let table = read("a seconds speedup\n1 100 1.000\n2 50 3.000\n").unwrap();
        let found: Vec<_> = Review::corrected(&table).findings.iter().map(Finding::to_string).collect();
        assert_eq!(found, ["line 3, column `speedup`: 3.000 is wrong: by (3) it is 2.000"]);
    }
}
