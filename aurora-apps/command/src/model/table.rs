//! The model of a file, for people.

use super::{Farmed, Model, Number, Origin, Predicted};
use crate::table::count;
use aurora_super::model::{Agreement, Decimal};
use std::fmt::{self, Display, Formatter};

impl Display for Model {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (runs, machines) = (count(self.runs.len(), "run"), count(self.machines.len(), "machine"));
        writeln!(f, "{}: {runs} on {machines}\n", self.file)?;
        let head = ["machine", "seconds on 1 processor", "power weight W"].map(String::from).to_vec();
        let machine = |machine: &super::Machine| {
            vec![machine.name.clone(), machine.seconds.to_string(), format!("{:.6}", machine.power_weight)]
        };
        draw(f, [head].into_iter().chain(self.machines.iter().map(machine)).collect())?;
        writeln!(f)?;
        draw(f, self.runs())?;
        self.differences(f)?;
        if !self.predictions.is_empty() {
            writeln!(f)?;
            let head = ["predicted", "efficiency %", "speed-up", "seconds", "measured", "off by %", "efficiency from"];
            let rows = self.predictions.iter().map(Predicted::cells);
            draw(f, [head.map(String::from).to_vec()].into_iter().chain(rows).collect())?;
        }
        self.farm.as_ref().map_or(Ok(()), |farm| write!(f, "\n{farm}"))
    }
}

impl Model {
    /// Returns a line for each run, and below printed digits that differ a line with marks.
    fn runs(&self) -> Vec<Vec<String>> {
        let corrected = self.runs.iter().any(|run| run.printed_seconds.is_some());
        let printed = |of: fn(&super::Run) -> &Number| self.runs.iter().any(|run| of(run).printed.is_some());
        let (speedups, efficiencies) = (printed(|run| &run.speedup), printed(|run| &run.efficiency));
        let most = |of: fn(&super::Run) -> &Number, least| {
            self.runs.iter().filter_map(|run| of(run).printed.as_ref()).map(Decimal::places).fold(least, usize::max)
        };
        let places = [most(|run| &run.speedup, 4), most(|run| &run.efficiency, 2)];

        let mut head = vec!["".into(), "n".into()];
        head.extend(self.machines.iter().map(|machine| machine.name.clone()));
        let shown = |wanted: bool| wanted.then(|| "printed".to_string());
        head.push("seconds".into());
        head.extend(shown(corrected));
        head.push("speed-up".into());
        head.extend(shown(speedups));
        head.push("efficiency %".into());
        head.extend(shown(efficiencies));
        head.extend(["H", "H'"].map(String::from));

        let mut rows = vec![head];
        for run in &self.runs {
            let total: u64 = run.processors.iter().copied().map(u64::from).sum();
            let mut row = vec![run.row.to_string(), total.to_string()];
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
                row.push(format!("{:.places$}", number.recomputed));
                under.push(String::new());
                if is_printed {
                    row.push(number.printed.as_ref().map(Decimal::to_string).unwrap_or_default());
                    under.push(number.marks());
                }
            }
            row.extend([run.heterogeneity, run.heterogeneity_per_processor].map(|h| format!("{h:.4}")));
            rows.push(row);
            if under.iter().any(|mark| !mark.is_empty()) {
                rows.push(under);
            }
        }
        rows
    }

    fn differences(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let numbers = || self.runs.iter().flat_map(|run| [&run.speedup, &run.efficiency]);
        let rounded = numbers().filter(|number| number.agreement == Some(Agreement::Rounding)).count();
        let printed = numbers().filter(|number| number.printed.is_some()).count();
        if printed == 0 {
            return Ok(());
        }
        if rounded == 0 && self.findings.is_empty() {
            return writeln!(f, "\nall printed digits are equal to the recomputed ones");
        }
        writeln!(f, "\n^ a printed digit that differs from the recomputed one")?;
        writeln!(f, "within the rounding of the printed times: {}", count(rounded, "number"))?;
        writeln!(f, "in contradiction to the rest of the table: {}", count(self.findings.len(), "number"))?;
        let corrected = self.runs.iter().any(|run| run.printed_seconds.is_some());
        self.findings.iter().try_for_each(|found| writeln!(f, "- {}", found.text))?;
        if corrected {
            writeln!(f, "the corrected time is used here; --as-printed uses the printed one")?;
        }
        Ok(())
    }
}

impl Number {
    fn marks(&self) -> String {
        let differs = self.printed.as_ref().filter(|_| self.agreement != Some(Agreement::Equal));
        differs.map(|printed| marks(&printed.to_string(), self.recomputed)).unwrap_or_default()
    }
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

impl Predicted {
    fn cells(&self) -> Vec<String> {
        let off = self.measured.map(|measured| format!("{:+.2}", 100.0 * (self.seconds / measured - 1.0)));
        vec![
            self.configuration.clone(),
            format!("{:.4}", self.efficiency),
            format!("{:.4}", self.speedup),
            format!("{:.3}", self.seconds),
            self.measured.map(|measured| measured.to_string()).unwrap_or_default(),
            off.unwrap_or_default(),
            self.from.to_string(),
        ]
    }
}

impl Display for Origin {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Measured(configuration) => write!(f, "{configuration}"),
            Origin::Nearest(configuration) => write!(f, "{configuration}, the nearest measured"),
            Origin::Curve(curve) => write!(
                f,
                "curve 1 / (1 + {:.4} (n - 1)) through {}, deviation {:.1} %",
                curve.serial_fraction,
                count(curve.runs, "run"),
                100.0 * curve.deviation
            ),
            Origin::Given => write!(f, "given"),
        }
    }
}

impl Display for Farmed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let units = count(self.units as usize, "equal unit");
        writeln!(f, "farm of {units}, each {:.6} s on {}", self.unit_seconds, self.fastest)?;
        let head = ["seconds", "measured", "first come", "earliest completion", "ideal", "first come / earliest"];
        let rows = self.configurations.iter().map(|on| {
            let makespans = &on.makespans;
            vec![
                on.configuration.clone(),
                on.measured.map(|measured| measured.to_string()).unwrap_or_default(),
                format!("{:.2}", makespans.first_come),
                format!("{:.2}", makespans.earliest_completion),
                format!("{:.2}", makespans.ideal),
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
