//! Tables of measurements as text: lines of cells, or JSON.

use super::decimal::Decimal;
use super::error::{Error, Row};
use super::machines::SMALLEST_WEIGHT;
use super::measurements::{COLUMNS, Measurements, PrintedWeights, Run};
use crate::spelling::{LONGEST_NAME, nearest, quoted};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::fmt;

/// The maximum number of machines. A table has a number for each machine and run, so another kind of file could take
/// all memory.
const MOST_MACHINES: usize = 1000;

/// Reads a table: JSON if the text begins with `[` or `{`, otherwise lines.
///
/// The first line names the columns, and each other line is a run. Cells are separated by tabs if there is a tab
/// between the names, otherwise by spaces. Empty lines, and text after a `#`, are ignored. In JSON, each run is an
/// object whose keys are the columns.
///
/// | column | cell |
/// |---|---|
/// | `seconds` | elapsed time of the run |
/// | `speedup`, `efficiency` | printed values, the efficiency in per cent; may be missing, empty or `-` |
/// | `total` | the number of processors of the run; may be missing, and is checked |
/// | any other | a machine: the number of its processors in the run; empty, `-` or no key means none |
///
/// A line whose first cell is `PW` has the power weights that a table prints, one for each machine. If the first column
/// is `total`, the cell `PW` is in it. Otherwise the cell comes before the first column. The other cells are empty,
/// `-`, or missing at the end. In JSON the row is an object with `"total": "PW"`.
///
/// ```
/// use aurora_super::model::read;
/// let lines = read("SH  CSNT  seconds\n1  0  35609.729\n0  1  37839.885  # on Windows\n")?;
/// let json = read(r#"[{"SH": 1, "seconds": 35609.729}, {"CSNT": 1, "seconds": 37839.885}]"#)?;
/// assert_eq!(lines.machines(), json.machines());
/// # Ok::<(), aurora_super::model::Error>(())
/// ```
///
/// # Errors
/// The first error, with its line and column, or in JSON the number of its run and its key.
pub fn read(text: &str) -> Result<Measurements, Error> {
    let text = text.trim_start_matches('\u{feff}');
    let rows = if text.trim_start().starts_with(['[', '{']) { json(text)? } else { lines(text)? };
    measurements(&rows)
}

/// The cells of a run or of the power weights, each with the name of its column.
struct Cells {
    row: Row,
    is_weights: bool,
    cells: Vec<(String, String)>,
}

fn lines(text: &str) -> Result<Vec<Cells>, Error> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let mut lines = (1..).map(Row::Line).zip(lines).filter(|(_, line)| !line.trim().is_empty());
    let (row, head) = lines.next().ok_or(Error::Empty { what: "columns" })?;
    let tabs = head.trim().contains('\t');
    let cut = |line: &str| -> Vec<String> {
        let words: Vec<&str> = if tabs { line.split('\t').collect() } else { line.split_whitespace().collect() };
        words.into_iter().map(|cell| cell.trim().to_string()).collect()
    };
    let columns = cut(head.trim_end());
    if let Some(unnamed) = columns.iter().position(String::is_empty) {
        return Err(Error::NoName { row, column: unnamed + 1 });
    }
    unique(&columns, row)?;
    lines
        .map(|(row, line)| {
            let mut cells = cut(line);
            let is_weights = cells.first().is_some_and(|cell| is_weights(cell));
            let is_additional = is_weights && columns[0] != "total";
            if is_weights {
                if is_additional {
                    cells.remove(0);
                } else {
                    cells[0].clear();
                }
                cells.resize(cells.len().max(columns.len()), String::new());
            }
            // Spreadsheets write empty cells after the last one, and a comment may leave one too.
            while cells.len() > columns.len() && cells.last().is_some_and(String::is_empty) {
                cells.pop();
            }
            if cells.len() != columns.len() {
                let additional = usize::from(is_additional);
                return Err(Error::Cells { row, cells: cells.len() + additional, columns: columns.len() + additional });
            }
            Ok(Cells { row, is_weights, cells: columns.iter().cloned().zip(cells).collect() })
        })
        .collect()
}

fn json(text: &str) -> Result<Vec<Cells>, Error> {
    let objects: Vec<Object> = serde_json::from_str(text).map_err(|error| {
        let what = error.to_string();
        // The error has the place already.
        let what = what.split(" at line ").next().unwrap_or_default().to_string();
        Error::Json { line: error.line(), column: error.column(), what }
    })?;
    let rows = (1..).map(Row::Row).zip(objects);
    rows.map(|(row, Object(mut cells))| {
        unique(&cells.iter().map(|(column, _)| column.clone()).collect::<Vec<_>>(), row)?;
        let mark = cells.iter_mut().find(|(key, value)| key == "total" && is_weights(value.trim_matches('"')));
        let is_weights = mark.map(|(_, value)| value.clear()).is_some();
        Ok(Cells { row, is_weights, cells })
    })
    .collect()
}

/// Keys and the text of their values, in the order of the file.
struct Object(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a run, an object whose keys are machines and `seconds`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut cells = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    cells.push((key, if value.get() == "null" { String::new() } else { value.get().into() }));
                }
                Ok(Object(cells))
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

fn unique(columns: &[String], row: Row) -> Result<(), Error> {
    // Each cell has a copy of its column's name.
    if let Some(long) = columns.iter().find(|column| column.len() > LONGEST_NAME) {
        return Err(Error::Name { name: quoted(long) });
    }
    let mut seen = HashSet::new();
    let twice = columns.iter().find(|column| !seen.insert(*column));
    twice.map_or(Ok(()), |name| Err(Error::Duplicate { at: row.to_string(), name: name.clone() }))
}

/// Returns whether a cell marks the row of power weights.
fn is_weights(cell: &str) -> bool {
    cell.eq_ignore_ascii_case("PW")
}

fn measurements(rows: &[Cells]) -> Result<Measurements, Error> {
    let mut machines: Vec<&str> = Vec::new();
    for (column, _) in rows.iter().flat_map(|row| &row.cells) {
        if !COLUMNS.contains(&column.as_str()) && !machines.contains(&column.as_str()) {
            machines.push(column);
        }
        if machines.len() > MOST_MACHINES {
            return Err(Error::TooManyMachines { most: MOST_MACHINES });
        }
    }
    let (weights, rows): (Vec<&Cells>, Vec<&Cells>) = rows.iter().partition(|row| row.is_weights);
    if let [first, second, ..] = weights[..] {
        return Err(Error::Weights { row: second.row, first: first.row });
    }
    if !rows.is_empty() && rows.iter().all(|row| row.cell("seconds").is_none()) {
        let is_cut_by_commas = machines.iter().any(|name| name.split(',').any(|part| COLUMNS.contains(&part.trim())));
        return Err(if is_cut_by_commas { Error::Commas } else { Error::NoTimes { nearest: like_seconds(&machines) } });
    }
    let weights = weights.first().map(|row| row.weights(&machines)).transpose()?;
    let runs = rows.iter().map(|row| row.run(&machines)).collect::<Result<Vec<_>, _>>()?;
    Ok(Measurements::new(machines, runs)?.with_printed_weights(weights))
}

/// The column that most probably has the elapsed times.
fn like_seconds(columns: &[&str]) -> Option<String> {
    const SAME: [&str; 9] = ["time", "times", "elapsed", "runtime", "duration", "wall", "sec", "s", "t"];
    let same = columns.iter().find(|column| SAME.contains(&column.to_lowercase().as_str()));
    nearest("seconds", columns.iter().copied()).or_else(|| same.map(|column| column.to_string()))
}

impl Cells {
    fn run(&self, machines: &[&str]) -> Result<Run, Error> {
        if self.cell("seconds").is_none() {
            let keys: Vec<&str> = self.cells.iter().map(|(key, _)| key.as_str()).collect();
            return Err(Error::NoTime { row: self.row, nearest: like_seconds(&keys) });
        }
        let processors = machines.iter().map(|machine| self.count(machine)).collect::<Result<Vec<_>, _>>()?;
        let sum = processors.iter().copied().map(u64::from).sum();
        if let Some(total) = self.known("total") {
            let expected = "a number of processors: write the sum of the machines', or leave the column out";
            let found = total.parse().map_err(|_| self.number("total", total, expected))?;
            if found != sum {
                return Err(Error::Total { row: self.row, found, sum });
            }
        }
        let time = self.cell("seconds").unwrap_or_default();
        let time = Decimal::parse(time)
            .ok_or_else(|| self.number("seconds", time, "an elapsed time: write seconds, a positive number"))?;
        let decimal = |column, expected| {
            let parse = |text| Decimal::parse(text).ok_or_else(|| self.number(column, text, expected));
            self.known(column).map(parse).transpose()
        };
        Ok(Run {
            row: Some(self.row),
            processors,
            seconds: time,
            speedup: decimal("speedup", "a speed-up: write a positive number, or `-` if it is not known")?,
            efficiency: decimal(
                "efficiency",
                "an efficiency: write per cent, a positive number, or `-` if it is not known",
            )?,
        })
    }

    fn weights(&self, machines: &[&str]) -> Result<PrintedWeights, Error> {
        let other = |(column, _): &&(String, String)| !machines.contains(&&**column) && self.known(column).is_some();
        if let Some((column, cell)) = self.cells.iter().find(other) {
            return Err(self.number(column, cell, "a power weight of a machine: leave this cell empty, or write `-`"));
        }
        let expected = "a power weight: write a number above 0 and up to 1 for each machine; the fastest has 1";
        let weight = |machine: &&str| {
            let cell = self.known(machine).unwrap_or("-");
            let weight = Decimal::parse(cell).filter(|weight| (SMALLEST_WEIGHT..=1.0).contains(&weight.value()));
            weight.ok_or_else(|| self.number(machine, cell, expected))
        };
        let weights = machines.iter().map(weight).collect::<Result<Vec<_>, _>>()?;
        let places = weights.iter().map(Decimal::places).max().unwrap_or(0);
        let weights = weights.into_iter().map(|weight| weight.in_column(places)).collect();
        Ok(PrintedWeights { row: self.row, weights })
    }

    fn count(&self, machine: &str) -> Result<u32, Error> {
        let expected = "a number of processors: write a whole number from 0 to 4294967295. Every column but `total`, \
                        `seconds`, `speedup` and `efficiency` is a machine";
        let parse = |count: &str| count.parse().map_err(|_| self.number(machine, count, expected));
        self.known(machine).map_or(Ok(0), parse)
    }

    fn cell(&self, column: &str) -> Option<&str> {
        self.cells.iter().find(|(name, _)| name == column).map(|(_, cell)| cell.as_str())
    }

    /// Returns the cell of a column, unless it is empty or `-`.
    fn known(&self, column: &str) -> Option<&str> {
        self.cell(column).filter(|cell| !matches!(*cell, "" | "-"))
    }

    fn number(&self, column: &str, found: &str, expected: &'static str) -> Error {
        Error::Number { at: format!("{}, column `{column}`", self.row), found: quoted(found), expected }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn tabs_spaces_and_json_say_the_same() {
        let tabs = "\u{feff}total\tSH\tCS NT\tseconds\tspeedup\tefficiency\r\n1\t1\t\t10\t1\t\t\r\n\r\n1\t-\t1\t20.0\t-\t100\r\n";
        let json = r#"[{"total": 1, "SH": 1, "seconds": 10, "speedup": 1, "efficiency": null},
                       {"CS NT": 1, "seconds": 20.0, "SH": 0, "efficiency": 100}]"#;
        let (tabs, json) = (read(tabs).unwrap(), read(json).unwrap());
        assert_eq!(tabs.machines(), json.machines());
        assert_eq!(tabs.machines().names(), ["SH", "CS NT"]);
        assert_eq!(tabs.runs()[1].row(), Row::Line(4));
        for (a, b) in tabs.runs().iter().zip(json.runs()) {
            assert_eq!((a.configuration(), a.seconds()), (b.configuration(), b.seconds()));
            assert_eq!((a.printed_speedup(), a.printed_efficiency()), (b.printed_speedup(), b.printed_efficiency()));
        }
        let spaces = read("# a comment\n  SH  seconds\n  1   10  # another\n").unwrap();
        assert_eq!(spaces.runs()[0].seconds().to_string(), "10");
    }

    #[test]
    fn power_weights_are_a_row_of_their_own() {
        let runs = "1 0 10 -\n0 1 20.0 -\n";
        for text in [
            format!("a b seconds speedup\n{runs}PW 1 0.50\n"),
            format!("a b seconds speedup\n{runs}pw 1 0.50 - -\n"),
            format!("a\tb\tseconds\tspeedup\nPw\t1\t0.50\t\t\n{}", runs.replace(' ', "\t")),
            "total a b seconds\n1 1 0 10\n1 0 1 20.0\nPW 1 0.50".into(),
            "a b seconds total\n1 0 10 1\n0 1 20.0 1\nPW 1 0.50 - -".into(),
            r#"[{"a": 1, "seconds": 10}, {"b": 1, "seconds": 20.0}, {"total": "PW", "a": 1, "b": 0.50}]"#.into(),
        ] {
            let table = read(&text).unwrap();
            let printed = table.printed_weights().unwrap();
            let weights = printed.weights().iter().map(|weight| (weight.to_string(), weight.places()));
            assert_eq!(weights.collect::<Vec<_>>(), [("1".into(), 2), ("0.50".into(), 2)], "{text}");
            assert_eq!((table.runs().len(), table.machines().names().len()), (2, 2), "{text}");
        }
        assert_eq!(read("a seconds\n1 10\n").unwrap().printed_weights(), None);
    }

    #[test]
    fn bad_power_weights_are_named_with_their_place() {
        let expected = "is not a power weight: write a number above 0 and up to 1 for each machine; the fastest has 1";
        for bad in ["0", "-0.5", "NaN", "inf", "1.01", "1e-10", "x", "-"] {
            let text = error_of(&format!("a b seconds\n1 0 3\n0 1 4\nPW 1 {bad}"));
            assert_eq!(text, format!("line 4, column `b`: `{bad}` {expected}"));
        }
        assert_eq!(error_of("a b seconds\n1 0 3\n0 1 4\nPW 1"), format!("line 4, column `b`: `-` {expected}"));
        assert_eq!(
            error_of(r#"[{"a": 1, "seconds": 3}, {"b": 1, "seconds": 4}, {"total": "pw", "a": 1, "b": null}]"#),
            format!("row 3, column `b`: `-` {expected}")
        );
        assert_eq!(
            error_of("a seconds\n1 3\nPW 1\npw 1"),
            "line 4: line 3 has the power weights `PW` already: keep one of the two rows"
        );
        assert_eq!(
            error_of("a seconds\n1 3\nPW 1 7"),
            "line 3, column `seconds`: `7` is not a power weight of a machine: leave this cell empty, or write `-`"
        );
        assert_eq!(
            error_of("a seconds\n1 3\nPW 1 - -"),
            "line 3: 4 values for 3 columns: write one for each; `-` stands for a value that is not known"
        );
        assert!(error_of("a seconds\nPW 1").starts_with("the table has no runs"));
        assert!(
            error_of(r#"[{"a": 1, "seconds": 3}, {"total": "PW", "a": 1, "b": 1}]"#).starts_with("b has no reference")
        );
    }

    #[test]
    fn a_bad_number_is_named_with_its_line_and_column() {
        let counts = "is not a number of processors: write a whole number from 0 to 4294967295. Every column but \
                      `total`, `seconds`, `speedup` and `efficiency` is a machine";
        for bad in ["-1", "1.5", "x", "NaN", "4294967296"] {
            assert_eq!(error_of(&format!("a b seconds\n1 {bad} 3")), format!("line 2, column `b`: `{bad}` {counts}"));
            let text = error_of(&format!(r#"[{{"a": 1, "seconds": 3}}, {{"a": 2, "b": "{bad}", "seconds": 2}}]"#));
            assert_eq!(text, format!("row 2, column `b`: `\"{bad}\"` {counts}"));
        }
        for bad in ["0", "-3", "NaN", "inf", "-", "1,5", "1e400"] {
            let expected = "is not an elapsed time: write seconds, a positive number";
            assert_eq!(
                error_of(&format!("a seconds\n\n1 {bad}")),
                format!("line 3, column `seconds`: `{bad}` {expected}")
            );
        }
        for bad in ["0", "-3", "NaN", "x"] {
            for (column, what) in [("speedup", "a speed-up: write"), ("efficiency", "an efficiency: write per cent,")] {
                let text = error_of(&format!("a seconds {column}\n1 3 {bad}"));
                let expected = format!("is not {what} a positive number, or `-` if it is not known");
                assert_eq!(text, format!("line 2, column `{column}`: `{bad}` {expected}"));
            }
        }
        assert_eq!(
            error_of("total a seconds\n2 1 3"),
            "line 2, column `total`: 2 processors, but the machines have 1: correct one of them"
        );
        assert_eq!(
            error_of("total a seconds\nx 1 3"),
            "line 2, column `total`: `x` is not a number of processors: write the sum of the machines', or leave the column \
             out"
        );
    }

    #[test]
    fn a_table_that_cannot_be() {
        for (text, what) in [("", "columns"), ("# nothing\n\n", "columns"), ("a seconds\n", "runs"), ("[]", "runs")] {
            assert!(error_of(text).starts_with(&format!("the table has no {what}: its first line names the columns")));
        }
        assert_eq!(
            error_of("a second\n1 3"),
            "there is no column `seconds`, the elapsed time of each run \
             (if `second` is that column, rename it to `seconds`)"
        );
        for name in ["time", "Time", "elapsed", "t", "sec"] {
            let hint = format!("(if `{name}` is that column, rename it to `seconds`)");
            assert!(error_of(&format!("a {name}\n1 3")).ends_with(&hint), "{name}");
        }
        assert_eq!(
            error_of("[{\"a\": 1, \"seconds\": 3}, {\"a\": 2, \"second\": 1.5}]"),
            "row 2 has no `seconds`, its elapsed time (if `second` is that column, rename it to `seconds`)"
        );
        assert_eq!(error_of("[{\"a\": 1, \"seconds\": 3}, {\"a\": 2}]"), "row 2 has no `seconds`, its elapsed time");
        assert_eq!(error_of("[{\"a\": 1}]"), "there is no column `seconds`, the elapsed time of each run");
        assert_eq!(
            error_of("a seconds\n1 3 4"),
            "line 2: 3 values for 2 columns: write one for each; `-` stands for a value that is not known"
        );
        assert_eq!(
            error_of("a\tseconds\n1 3"),
            "line 2: 1 value for 2 columns: write one for each; `-` stands for a value that is not known"
        );
        assert_eq!(
            error_of("a\t\tseconds\n1\t3"),
            "line 1: column 2 has no name: separate names by one tab, or all of them by spaces"
        );
        let twice = "`a` is named twice: give each machine and each column a name of its own";
        assert_eq!(error_of("a b a seconds\n1 0 0 3"), format!("line 1: {twice}"));
        assert_eq!(error_of(r#"[{"a": 1, "seconds": 3, "a": 2}]"#), format!("row 1: {twice}"));
        assert_eq!(
            error_of("a b seconds\n1 0 3\n0 0 4"),
            "line 3: the configuration has no processors: give at least one machine one processor"
        );
        assert_eq!(
            error_of("a b seconds\n1 0 3\n1 1 4"),
            "b has no reference time: add a run on one processor of b alone, or take b out"
        );
        assert_eq!(
            error_of("a seconds\n1 3\n1 4"),
            "line 3: the configuration a=1 is already in line 2: keep one of them, for example the median"
        );
        assert_eq!(
            error_of("seconds\n1"),
            "line 2: the configuration has no processors: give at least one machine one processor"
        );
    }

    #[test]
    fn a_thousand_machines_are_the_most() {
        let table = |machines| {
            let run = |index| format!("{{\"m{index}\": 1, \"seconds\": 2}}");
            format!("[{}]", (0..machines).map(run).collect::<Vec<_>>().join(","))
        };
        assert_eq!(read(&table(1000)).unwrap().machines().names().len(), 1000);
        assert_eq!(
            error_of(&table(1001)),
            "more than 1000 machines: every column but `total`, `seconds`, `speedup` and `efficiency` is one, so this is most \
             probably another file"
        );
    }

    #[test]
    fn names_and_numbers_are_short() {
        // Each cell has a copy of its column's name: the copies of this name would take 100 GB.
        let long = "x".repeat(500_000);
        let no_name = format!("`{}...` cannot be the name of a machine: it must not be empty,", "x".repeat(50));
        for text in [
            format!("{long}\n{}", "1\n".repeat(250_000)),
            format!("{long} {long}y seconds\n1 0 5\n"),
            format!("[{{\"{long}\": 1, \"seconds\": 2}}]"),
        ] {
            assert!(error_of(&text).starts_with(&no_name), "{}", &error_of(&text)[..200]);
        }
        assert!(error_of("a\u{1b}[31m seconds\n1 2").starts_with("`a\u{fffd}[31m` cannot be the name of a machine"));
        let bad = |cell: &str| error_of(&format!("a seconds\n1 {cell}\n"));
        assert_eq!(
            bad("\u{1b}[31m"),
            "line 2, column `seconds`: `\u{fffd}[31m` is not an elapsed time: write seconds, a positive number"
        );
        assert!(bad(&long).len() < 200);
        // More digits than can be printed.
        assert!(bad(&format!("1.{}", "3".repeat(70_000))).contains("`1.333"));
        assert!(error_of(&format!("a seconds speedup\n1 2 1.{}", "0".repeat(70_000))).contains("is not a speed-up"));
    }

    #[test]
    fn commas_separate_nothing() {
        assert_eq!(
            error_of("SH,CSNT,seconds\n1,0,3\n"),
            "cells are separated by commas, which may be part of numbers: separate them by tabs or by spaces"
        );
        assert!(error_of("a seconds,speedup\n1 3,1\n").starts_with("cells are separated by commas"));
    }

    #[test]
    fn json_that_cannot_be() {
        let how = "Write a list of runs, such as [{\"A\": 1, \"seconds\": 9.5}, {\"B\": 1, \"seconds\": 7}, {\"A\": 2, \"B\": 1, \
                   \"seconds\": 3.1}]";
        assert_eq!(error_of("[\n{\"a\": 1,}]"), format!("line 2, column 9: trailing comma. {how}"));
        assert_eq!(
            error_of("[1]"),
            format!(
                "line 1, column 2: invalid type: integer `1`, expected a run, an object whose keys are machines and `seconds`. {how}"
            )
        );
        let text = error_of("{\"a\": 1}");
        assert!(text.starts_with("line 1, column 0: invalid type: map, expected a sequence."), "{text}");
    }
}
