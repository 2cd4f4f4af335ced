//! The model of a file, for people.

use crate::table::{Table, count};
use aurora_apps::report::decimals;
use aurora_apps::report::model::{Farmed, Model, Number, Predicted, Run};
use aurora_super::model::{Agreement, Decimal};
use std::collections::HashSet;
use std::fmt::{self, Display, Formatter};

/// The minimum number of significant digits of times, speed-ups and power weights.
const DIGITS: usize = 5;

/// The explanation of the last two columns of the runs.
const HETEROGENEITY: &str = "\
H   heterogeneity, equation (7): the sum of 1 - W over the processors / the number of machines in use. It is 0 if all
    processors are of the fastest machine, and can exceed 1
H'  the same sum / the number of processors, from 0 to below 1: the share of power that is missing, compared with as
    many processors of the fastest machine";

impl Display for Table<'_, Model> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let model = self.0;
        let (runs, machines) = (count(model.runs.len(), "run"), count(model.machines.len(), "machine"));
        writeln!(f, "{}: {runs} on {machines}\n", model.file)?;
        draw(f, self.machines())?;
        writeln!(f)?;
        draw(f, self.runs())?;
        writeln!(f, "{HETEROGENEITY}")?;
        self.differences(f)?;
        if !model.predictions.is_empty() {
            writeln!(f)?;
            let head = ["predicted", "efficiency %", "speed-up", "seconds", "measured", "off by %", "efficiency from"];
            let rows = model.predictions.iter().map(cells);
            draw(f, [head.map(String::from).to_vec()].into_iter().chain(rows).collect())?;
        }
        // Predictions for one configuration from two origins have warnings in common.
        let mut seen = HashSet::new();
        let warnings = model.predictions.iter().flat_map(|of| of.warnings.iter().map(|text| (&of.configuration, text)));
        for (configuration, text) in warnings.filter(|warning| seen.insert(*warning)) {
            writeln!(f, "warning: {configuration}: {text}")?;
        }
        model.farm.as_ref().map_or(Ok(()), |farm| write!(f, "\n{}", Table(farm)))
    }
}

impl Table<'_, Model> {
    /// Returns a line for each machine, and below printed digits that differ a line with marks.
    fn machines(&self) -> Vec<Vec<String>> {
        let mut head = ["machine", "seconds on 1 processor", "power weight W"].map(String::from).to_vec();
        let printed = || self.0.machines.iter().filter_map(|machine| machine.printed_power_weight.as_ref());
        head.extend(printed().next().map(|_| "printed".to_string()));
        let places = printed().map(Decimal::places).fold(6, usize::max);
        let mut rows = vec![head];
        for machine in &self.0.machines {
            let (printed, weight) = (machine.printed_power_weight.as_ref(), machine.power_weight);
            let mut row = vec![machine.name.clone(), machine.seconds.to_string(), decimals(weight, places, DIGITS)];
            row.extend(printed.map(Decimal::to_string));
            rows.push(row);
            let marks = differing(printed, weight, machine.agreement);
            if !marks.is_empty() {
                rows.push(vec![String::new(), String::new(), String::new(), marks]);
            }
        }
        rows
    }

    /// Returns a line for each run, and below printed digits that differ a line with marks.
    fn runs(&self) -> Vec<Vec<String>> {
        let corrected = self.0.runs.iter().any(|run| run.printed_seconds.is_some());
        let printed = |of: fn(&Run) -> &Number| self.0.runs.iter().any(|run| of(run).printed.is_some());
        let (speedups, efficiencies) = (printed(|run| &run.speedup), printed(|run| &run.efficiency));
        let most = |of: fn(&Run) -> &Number, least| {
            self.0.runs.iter().filter_map(|run| of(run).printed.as_ref()).map(Decimal::places).fold(least, usize::max)
        };
        let places = [most(|run| &run.speedup, 4), most(|run| &run.efficiency, 2)];

        let mut head = vec!["".into(), "n".into()];
        head.extend(self.0.machines.iter().map(|machine| machine.name.clone()));
        let shown = |wanted: bool| wanted.then(|| "printed".to_string());
        head.push("seconds".into());
        head.extend(shown(corrected));
        head.push("speed-up".into());
        head.extend(shown(speedups));
        head.push("efficiency %".into());
        head.extend(shown(efficiencies));
        head.extend(["H", "H'"].map(String::from));

        let mut rows = vec![head];
        for run in &self.0.runs {
            let mut row = vec![run.row.to_string(), run.total().to_string()];
            row.extend(run.processors.iter().map(u32::to_string));
            let mut under = vec![String::new(); row.len() + 1];
            row.push(run.seconds.to_string());
            if corrected {
                let printed = run.printed_seconds.as_ref();
                row.push(printed.map(Decimal::to_string).unwrap_or_default());
                under.push(printed.map(|p| marks(&p.to_string(), run.seconds.value())).unwrap_or_default());
            }
            for ((number, places), is_printed) in
                [&run.speedup, &run.efficiency].into_iter().zip(places).zip([speedups, efficiencies])
            {
                row.push(decimals(number.recomputed, places, 4));
                under.push(String::new());
                if is_printed {
                    row.push(number.printed.as_ref().map(Decimal::to_string).unwrap_or_default());
                    under.push(differing(number.printed.as_ref(), number.recomputed, number.agreement));
                }
            }
            row.extend([run.heterogeneity, run.heterogeneity_per_processor].map(|h| decimals(h, 4, 3)));
            rows.push(row);
            if under.iter().any(|mark| !mark.is_empty()) {
                rows.push(under);
            }
        }
        rows
    }

    fn differences(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let numbers = self.0.runs.iter().flat_map(|run| [run.speedup.agreement, run.efficiency.agreement]);
        let agreements = numbers.chain(self.0.machines.iter().map(|machine| machine.agreement));
        let agreements: Vec<Agreement> = agreements.flatten().collect();
        let rounded = agreements.iter().filter(|agreement| **agreement == Agreement::Rounding).count();
        if agreements.is_empty() {
            return Ok(());
        }
        if rounded == 0 && self.0.findings.is_empty() {
            return writeln!(f, "\nall printed digits are equal to the recomputed ones");
        }
        writeln!(f, "\n^ a printed digit that differs from the recomputed one")?;
        writeln!(f, "within the rounding of the printed times: {}", count(rounded, "number"))?;
        writeln!(f, "in contradiction to the rest of the table: {}", count(self.0.findings.len(), "number"))?;
        let corrected = self.0.runs.iter().any(|run| run.printed_seconds.is_some());
        self.0.findings.iter().try_for_each(|found| writeln!(f, "- {}", found.text))?;
        if corrected {
            writeln!(f, "the corrected time is used here; --as-printed uses the printed one")?;
        }
        Ok(())
    }
}

/// Returns the marks of a printed number, unless all its digits are equal to those of `value`.
fn differing(printed: Option<&Decimal>, value: f64, agreement: Option<Agreement>) -> String {
    let differs = printed.filter(|_| agreement != Some(Agreement::Equal));
    differs.map(|printed| marks(&printed.to_string(), value)).unwrap_or_default()
}

/// Returns a text as wide as `printed`, with `^` under each digit that differs in `value`.
fn marks(printed: &str, value: f64) -> String {
    let places = printed.split_once('.').map_or(0, |(_, digits)| digits.len());
    let value = format!("{value:>0$.places$}", printed.len());
    // The texts are aligned at their ends, and so at the decimal point. Digits that `printed` does not have cannot be
    // marked.
    let value = value.chars().skip(value.len() - printed.len());
    printed.chars().zip(value).map(|(a, b)| if a == b { ' ' } else { '^' }).collect()
}

fn cells(of: &Predicted) -> Vec<String> {
    vec![
        of.configuration.clone(),
        decimals(of.efficiency, 4, DIGITS),
        decimals(of.speedup, 4, DIGITS),
        decimals(of.seconds, 3, DIGITS),
        of.measured.map(|measured| measured.to_string()).unwrap_or_default(),
        of.off().map(|off| format!("{off:+.2}")).unwrap_or_default(),
        of.from.to_string(),
    ]
}

impl Display for Table<'_, Farmed> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let units = count(self.0.units as usize, "equal unit");
        let each = decimals(self.0.unit_seconds, 6, DIGITS);
        writeln!(f, "farm of {units}, each {each} s on {}", self.0.fastest)?;
        let head = ["seconds", "measured", "first come", "earliest completion", "ideal", "first come / earliest"];
        let seconds = |seconds: f64| decimals(seconds, 2, if seconds < 10.0 { DIGITS } else { 4 });
        let rows = self.0.configurations.iter().map(|on| {
            let makespans = &on.makespans;
            vec![
                on.configuration.clone(),
                on.measured.map(|measured| measured.to_string()).unwrap_or_default(),
                seconds(makespans.first_come),
                seconds(makespans.earliest_completion),
                seconds(makespans.ideal),
                format!("{:.2}", makespans.first_come / makespans.earliest_completion),
            ]
        });
        draw(f, [head.map(String::from).to_vec()].into_iter().chain(rows).collect())
    }
}

/// Writes columns with the minimum width. The first column and a text at the end are aligned on the left, numbers on
/// the right.
fn draw(f: &mut Formatter<'_>, rows: Vec<Vec<String>>) -> fmt::Result {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let text = |column: usize| column == 0 || rows[0][column].ends_with("from");
    for row in &rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if text(column) { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_differ_are_marked() {
        assert_eq!(marks("92.7448", 92.74744), "     ^^");
        assert_eq!(marks("97.7615", 100.8228), "^^ ^^^^");
        assert_eq!(marks("1", 100.0), "^");
        assert_eq!(marks("3560.9729", 35609.729), "^^^^ ^^^^");
        assert_eq!(marks("100", 7.0), "^^^");
    }
}
