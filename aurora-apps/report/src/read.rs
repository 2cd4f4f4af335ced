//! Reads the output of `--json`: JSON objects one after the other, from files and from standard input.

use super::recorded::{Recorded, recorded};
use serde_json::{Deserializer, Value};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The name for standard input.
pub const STDIN: &str = "-";

/// The maximum length of a file: its runs take several times as much memory, and a device may have no end.
const LONGEST: u64 = MIB << 20;
const MIB: u64 = 64;

/// The content of a valid file, for error messages.
const RUNS: &str = "A file holds what `aurora ... --json` has printed on standard output, one object after the other, \
                    and nothing else";

/// The reason why a file cannot be read, and the remedy: the file as the user named it, and the line from 1 on.
#[derive(Debug, Error)]
pub enum Unread {
    /// The system returned an error.
    #[error("{0}: cannot be read: {1}")]
    File(String, io::Error),
    /// The file is too long.
    #[error("{0}: longer than {MIB} MiB: give files of fewer runs, and make a page of each. {RUNS}")]
    Long(String),
    /// The file is not JSON; the text is the parser's.
    #[error("{0}, line {1}: not JSON: {2}. {RUNS}")]
    NotJson(String, usize, String),
    /// The file has JSON of another kind.
    #[error(
        "{0}, line {1}: JSON, but no run: it has none of `app`, `bench`, `policy` and `machines`. Runs are what \
         `aurora mm2 --json`, the other programs, `aurora bench ... --json`, `aurora simulate --json` and \
         `aurora model --json` print; take this out of the file"
    )]
    NoRun(String, usize),
    /// The run that begins at that line has a missing or wrong part.
    #[error("{0}, line {1}: a run that cannot be: {2}. Print it again with this version's `--json`")]
    Broken(String, usize, String),
    /// There is no run in any of these files.
    #[error("no run in {0}: `aurora mm2 --json >> runs.json` writes one")]
    Empty(String),
    /// Standard input is named twice, and can be read only once.
    #[error("`-`, standard input, is given more than once")]
    StdinTwice,
}

/// Reads all files, in order; `-` is standard input. A run that occurs several times is read once.
///
/// # Errors
/// The first file and line that is no run; [`Unread::Empty`] if there is no run at all.
pub fn read(files: &[PathBuf]) -> Result<Vec<Recorded>, Unread> {
    if files.iter().filter(|file| is_stdin(file)).count() > 1 {
        return Err(Unread::StdinTwice);
    }
    let mut runs = Vec::new();
    for file in files {
        let name = if is_stdin(file) { "standard input".to_string() } else { file.display().to_string() };
        let bytes = bytes(&name, file)?;
        parse(&name, &bytes, &mut runs)?;
    }
    let mut seen = HashSet::new();
    runs.retain(|run| seen.insert(run.object.to_string()));
    if runs.is_empty() {
        let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        return Err(Unread::Empty(names.join(", ")));
    }
    Ok(runs)
}

/// Returns whether `file` is the name for standard input.
pub fn is_stdin(file: &Path) -> bool {
    file == Path::new(STDIN)
}

fn bytes(name: &str, file: &Path) -> Result<Vec<u8>, Unread> {
    let mut bytes = Vec::new();
    let read = match is_stdin(file) {
        true => io::stdin().lock().take(LONGEST + 1).read_to_end(&mut bytes),
        false => File::open(file).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes)),
    };
    match read {
        Ok(length) if length as u64 > LONGEST => Err(Unread::Long(name.into())),
        Ok(_) => Ok(bytes),
        Err(error) => Err(Unread::File(name.into(), error)),
    }
}

/// Reads the runs of one file.
///
/// # Errors
/// As [`read`].
pub fn parse(file: &str, bytes: &[u8], runs: &mut Vec<Recorded>) -> Result<(), Unread> {
    let mut values = Deserializer::from_slice(bytes).into_iter::<Value>();
    let (mut line, mut counted) = (1, 0);
    loop {
        let begin = begin_after(bytes, values.byte_offset());
        line += bytes[counted..begin].iter().filter(|byte| **byte == b'\n').count();
        counted = begin;
        let Some(value) = values.next() else { return Ok(()) };
        let value = value.map_err(|error| {
            let what = error.to_string();
            // The message already starts with the place, so the parser's own place is removed.
            let what = what.split(" at line ").next().unwrap_or_default().to_string();
            Unread::NotJson(file.into(), error.line(), what)
        })?;
        match recorded(file, line, value) {
            Ok(Some(run)) => runs.push(run),
            Ok(None) => return Err(Unread::NoRun(file.into(), line)),
            Err(what) => return Err(Unread::Broken(file.into(), line, what)),
        }
    }
}

/// Returns the position of the first character at or behind `offset` that is not white space.
fn begin_after(bytes: &[u8], offset: usize) -> usize {
    bytes[offset..].iter().position(|byte| !byte.is_ascii_whitespace()).map_or(offset, |at| offset + at)
}

#[cfg(test)]
mod tests {
    use super::super::series::{Key, Series};
    use super::*;
    use std::fs;

    /// A run of a program, one of an operation, one of a simulation.
    const RUN: &str = include_str!("../pages/one.json");
    const BENCH: &str = include_str!("../pages/operation.json");
    const SIMULATIONS: &str = include_str!("../pages/alone.json");
    const FARMS: &str = include_str!("../pages/farm.json");
    const MODELS: &str = include_str!("../pages/model.json");

    fn parsed(text: &str) -> Result<Vec<Recorded>, Unread> {
        let mut runs = Vec::new();
        parse("runs.json", text.as_bytes(), &mut runs).map(|()| runs)
    }

    #[test]
    fn objects_follow_each_other_in_any_layout() {
        let pretty = format!("{:#}", serde_json::from_str::<Value>(RUN).unwrap());
        let runs = parsed(&format!("\n{RUN}{pretty}{}  \n\n{RUN}", BENCH.trim_end())).unwrap();
        assert_eq!(runs.iter().map(|run| run.line).collect::<Vec<_>>()[..2], [2, 3]);
        assert_eq!(runs.len(), 4);
        assert!(runs[2].results()[0].operation.as_ref().is_some_and(|operation| operation.ranks == 2));
    }

    #[test]
    fn what_is_no_run_is_named_with_its_line() {
        let other = |from: &str, to: &str| RUN.replace(from, to);
        let simulated = |from: &str, to: &str| SIMULATIONS.replace(from, to);
        let farm = |from: &str, to: &str| FARMS.replace(from, to);
        let model = |from: &str, to: &str| MODELS.replace(from, to);
        for (text, expected) in [
            (format!("{RUN}mpirun: something\n"), &["line 2: not JSON", "--json"][..]),
            (format!("{RUN}\n{{\"version\":\"0.1\"}}"), &["line 3: JSON, but no run"]),
            (format!("{RUN}{}", &RUN[..RUN.len() / 2]), &["line 2: not JSON: EOF"]),
            ("{\"app\":\"mm2\",\"results\":[]}".into(), &["no results"]),
            ("{\"app\":\"mm2\",\"results\":\"x\"}".into(), &["`results` are no list"]),
            (format!("[{}]", RUN.trim()), &["JSON, but no run"]),
            (other("\"size\"", "\"sighs\""), &["line 1: a run that cannot be", "`size`"]),
            (other("\"reps\":", "\"reps\":1844674407370955161"), &["nothing is repeated"]),
            (other("\"ranks\":2", "\"ranks\":0"), &["0 ranks"]),
            (other("\"ranks\":2", "\"ranks\":18446744073709551615"), &["no job of 18446744073709551615 ranks"]),
            (other("\"sequential_seconds\":0.04", "\"sequential_seconds\":1e300"), &["1e300 s is no time"]),
            (other("\"min\":", "\"min\":9"), &["not in order"]),
            (other("\"labels\":{}", "\"labels\":{\"nodes\":\"x\"}"), &["number from 1 on"]),
            (simulated("\"nodes\":2", "\"nodes\":0"), &["no 0 nodes"]),
            (simulated("\"efficiency\":", "\"efficiency\":1"), &["is no share of 1"]),
            (simulated("\"imbalance\":", "\"imbalance\":-"), &["is no share of 1"]),
            (simulated("\"loads\":", "\"loads\":-"), &["-1024 is no number of blocks"]),
            (simulated("\"reps\":16", "\"reps\":null"), &["null"]),
            (farm("\"units\":36", "\"units\":0"), &["no 0 nodes, units"]),
            (farm("\"sequential_seconds\":4.0", "\"sequential_seconds\":1e-99"), &["1e-99 s is no time"]),
            (farm("\"imbalance\":{\"min\":0.4", "\"imbalance\":{\"min\":-0.4"), &["cannot be"]),
            (farm("\"max\":0.6", "\"max\":1.6"), &["no shares of 1"]),
            (farm("\"policies\":[", "\"policies\":[7,"), &["a run that cannot be"]),
            (farm("\"model\"", "\"muddle\""), &["`model`"]),
            (farm("\"policies\":[", "\"policies\":[],\"others\":["), &["no policies"]),
            (farm("\"sequential_seconds\":4.0", "\"sequential_seconds\":0"), &["a time is not positive"]),
            (farm("\"speeds\":[0.5,", "\"speeds\":["), &["one speed for each rank"]),
            (farm("\"speeds\":[0.5,", "\"speeds\":[1.5,"), &["a part of the fastest"]),
            (farm("\"ideal\":1.9", "\"ideal\":1e308"), &["a time is not positive"]),
            (farm("\"speedup\":", "\"speedup\":-"), &["a speed-up is not positive"]),
            (farm("\"by_rank\":[{", "\"by_rank\":[],\"others\":[{"), &["one row of counters"]),
            (farm("\"weight\":0.5", "\"weight\":-0.5"), &["a weight is no part"]),
            (farm("\"app\":\"farm\"", "\"app\":\"mm2\""), &["`app` is not `farm`"]),
            (model("\"machines\":[", "\"machines\":7,\"others\":["), &["it has no list `machines`"]),
            (model("\"machines\":[", "\"machines\":[],\"others\":["), &["it has no `machines` or no `runs`"]),
            (model("\"power_weight\":0.625", "\"power_weight\":1.625"), &["`machines[1].power_weight` is above 1"]),
            (model("\"power_weight\":0.625", "\"power\":1"), &["`machines[1]`: missing field `power_weight`"]),
            (model("\"seconds\":\"52.50\"", "\"seconds\":\"-52.50\""), &["`runs[2].seconds` is \"-52.50\", and not"]),
            (model("\"seconds\":\"52.50\"", "\"seconds\":\"NaN\""), &["`runs[2].seconds` is \"NaN\", and not"]),
            (model("\"printed\":\"75.87\"", "\"printed\":\"0\""), &["`runs[4].efficiency.printed` is \"0\""]),
            (model("\"recomputed\":3.2,", "\"recomputed\":-3.2,"), &["`runs[3].speedup.recomputed` is -3.2"]),
            (model("\"recomputed\":3.2,", "\"recomputed\":\"x\","), &["`runs[3]`: invalid type"]),
            (
                model("_processor\":0.1875", "_processor\":-0.1875"),
                &["`runs[4].heterogeneity_per_processor` is -0.1875"],
            ),
            (
                model("\"processors\":[2,2]", "\"processors\":[2]"),
                &["`runs[4].processors` are not the processors of 2"],
            ),
            (model("\"processors\":[2,2]", "\"processors\":[0,0]"), &["`runs[4].processors` are not the processors"]),
            (model("\"measured\":31.25", "\"measured\":0"), &["`predictions[0].measured` is 0, and not a positive"]),
            (model("\"from\":{\"nearest\"", "\"from\":{\"next\""), &["`predictions[0]`: unknown variant `next`"]),
            (model("\"deviation\":0.0", "\"deviation\":-0.0"), &["`predictions[1].from.curve.deviation` is -0.0"]),
            (model("\"first_come\":50.0", "\"first_come\":-1"), &["`farm.configurations[0].first_come` is -1"]),
            (model("\"findings\":[", "\"findings\":[7,"), &["`findings[0]`: invalid type"]),
        ] {
            let error = parsed(&text).unwrap_err().to_string();
            assert!(
                error.starts_with("runs.json, line ") && expected.iter().all(|part| error.contains(part)),
                "{error}"
            );
        }
    }

    #[test]
    fn super_programs_by_two_policies_are_two_series_of_one_problem() {
        let of = |policy: &str, merges: u32| {
            let entries = format!("\"policy\":\"{policy}\",\"merges\":{merges},\"size\"");
            let run = parsed(&RUN.replace("\"size\"", &entries)).unwrap().remove(0);
            let (circumstances, result) = (&run.circumstances, &run.results()[0]);
            let (key, series) = (Key::of(circumstances, result), Series::of(circumstances, result));
            (key, series.to_string())
        };
        let (one, other) = (of("S", 0), of("tail", 3));
        assert_eq!(one.0, other.0);
        assert!(one.1.ends_with(", policy S") && other.1.ends_with(", policy tail"), "{one:?} {other:?}");
    }

    #[test]
    fn a_run_of_this_version_has_its_figures_in_its_results_alone() {
        let old: Value = serde_json::from_str(RUN).unwrap();
        let mut new = serde_json::json!({ "schema": 1, "version": "0.1.0", "commit": "f00" });
        for key in ["command", "machine", "date", "labels", "results"] {
            new[key] = old[key].clone();
        }
        let (old, new_runs) = (parsed(RUN).unwrap(), parsed(&new.to_string()).unwrap());
        assert_eq!((old[0].results(), &*new_runs[0].circumstances.commit), (new_runs[0].results(), "f00"));
        assert_eq!(old[0].results().len(), 1);
        new["schema"] = 2.into();
        new["labels"] = "another form".into();
        let error = parsed(&new.to_string()).unwrap_err().to_string();
        assert!(error.contains("it has the form 2 of a later version, and this one reads up to 1"), "{error}");
    }

    #[test]
    fn what_stood_there_before_there_were_labels_can_be_read() {
        let mut run: Value = serde_json::from_str(RUN).unwrap();
        for key in ["labels", "command", "machine", "date"] {
            assert!(run.as_object_mut().unwrap().remove(key).is_some());
        }
        assert!(run["results"][0].as_object_mut().unwrap().remove("hidden_seconds").is_some());
        let runs = parsed(&run.to_string()).unwrap();
        assert_eq!((&*runs[0].circumstances.command, runs[0].results()[0].hidden_seconds.max), ("", 0.0));
    }

    #[test]
    fn a_run_that_is_there_twice_is_one_and_none_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other, endless, empty, gone] =
            ["one", "other", "endless", "empty", "gone"].map(|name| folder.path().join(name));
        fs::write(&one, format!("{RUN}{}", RUN.replace("2001-01-01", "2001-01-02"))).unwrap();
        fs::write(&other, format!("{:#}", serde_json::from_str::<Value>(RUN).unwrap())).unwrap();
        let runs = read(&[one.clone(), other, one]).unwrap();
        assert_eq!(runs.iter().map(|run| run.line).collect::<Vec<_>>(), [1, 2]);

        fs::write(&endless, vec![b'\n'; (LONGEST + 1) as usize]).unwrap();
        fs::write(&empty, " \n").unwrap();
        for (files, expected) in [
            (&[PathBuf::from("/dev/zero")][..], &["/dev/zero: longer than 64 MiB: give files of fewer", "--json"][..]),
            (&[endless], &["longer than 64 MiB"]),
            (&[empty], &["no run in ", "aurora mm2 --json"]),
            (&[gone], &["cannot be read"]),
            (&["-".into(), "-".into()], &["standard input, is given more than once"]),
        ] {
            let error = read(files).unwrap_err().to_string();
            assert!(expected.iter().all(|part| error.contains(part)), "{error}");
        }
    }
}
