//! Two builds of `aurora` compared, row by row.
//!
//! Both run the row's job in turns: old, new, old. Each turn has data of its own. The difference of the old build's two
//! runs within a turn is the noise ([`judgement`]). The jobs' counters show whether both builds sent the same number of
//! messages and bytes ([`count`]).

pub mod build;
pub mod count;
pub mod judgement;
mod report;

use crate::choice::Choice;
use crate::figures::job::{Outcome, Run};
use crate::figures::judge::{self, Lack};
use crate::figures::row::Row;
use crate::figures::{say, took};
use crate::{markdown, results};
use aurora_apps::report::Report;
use build::Builds;
use count::{Count, Counted};
use judgement::{Judgement, Turn};
use report::{HEAD, HEADING};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// The result of a row.
#[derive(Clone, PartialEq, Debug)]
pub enum Finding {
    /// Both builds know the row's job.
    Judged(Judgement, Vec<Counted>),
    /// The old build does not know the row's job. Contains the build's error.
    New(String),
    /// A run failed. Contains the run and its error.
    Failed(String),
}

/// Compares two builds of `aurora` in these rows, prints the table and writes it to a file if that is requested.
///
/// # Errors
/// If the old build is not usable, a row measures only MPI, or the table cannot be written.
pub fn compare(rows: Vec<Row>, choice: &Choice, new: &Path, old: &Path) -> Result<ExitCode, String> {
    let (others, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.picks()[0].0.starts_with("mpi"));
    if let Some(other) = others.first().filter(|_| !choice.is_whole()) {
        return Err(format!("the row `{}` is of MPI alone, which builds of Aurora do not change", other.name));
    }
    let builds = Builds::of(new, old)?;
    let begun = Instant::now();
    let mut runs = Runs { run: |run: &Run, build: &Path| run.attempt(build, choice.damage), done: Vec::new() };
    let (mut table, mut found) = (String::new(), Vec::new());
    let mut add = |text: &str| {
        table.push_str(text);
        table.push('\n');
        say(text);
    };
    if builds.are_the_same() {
        add("Both builds have the same bytes: every difference is noise.\n");
    }
    add(&markdown::head(HEAD));
    for row in &rows {
        let finding = match builds.lack(&row.job.alone(choice.reps()).words) {
            Some(why) => Finding::New(why),
            None => runs.finding(row, choice.reps(), &builds, choice.turns()),
        };
        add(&report::line(row, &finding));
        found.push((row.name, finding));
    }
    let took = took(runs.done.len(), begun);
    let (summary, is_fine) = report::summary(&found);
    if let Some(out) = choice.out() {
        results::write(&out, HEADING, &report::section(choice, &took, &table, &summary))?;
        say(&format!("\nwritten to {}", out.display()));
    }
    say(&format!("\n{took}\n{summary}"));
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// All runs of a comparison.
struct Runs<F> {
    run: F,
    done: Vec<Done>,
}

/// A completed run.
struct Done {
    run: Run,
    /// The number of the run among all runs of its job.
    number: usize,
    outcome: Result<Outcome, String>,
}

impl<F: FnMut(&Run, &Path) -> Result<Outcome, String>> Runs<F> {
    fn finding(&mut self, row: &Row, reps: usize, builds: &Builds, turns: usize) -> Finding {
        let (mut figures, mut old, mut new) = (Vec::new(), Vec::new(), Vec::new());
        for turn in 1..=turns {
            let mut samples = Vec::new();
            for (place, (name, build)) in builds.turn().into_iter().enumerate() {
                match self.sample(row, reps, build, turn, place) {
                    Ok(sample) => samples.push(sample),
                    Err(Lack { words, is_unknown: true }) if name == build::OLD => return Finding::New(words),
                    Err(lack) => return Finding::Failed(format!("{name} build, turn {turn}: {}", lack.words)),
                }
            }
            figures.push(Turn { old: [samples[0].0, samples[2].0], new: samples[1].0 });
            new.push(samples.swap_remove(1).1);
            old.extend(samples.into_iter().map(|(_, counts)| counts));
        }
        Finding::Judged(Judgement::of(&figures, row.figure.is_a_rate()), Counted::of(&old, &new))
    }

    /// A row's value in a run (the median of its repetitions) and the run's counters. The run is executed at the first
    /// request. All runs of a turn have the same data.
    fn sample(
        &mut self,
        row: &Row,
        reps: usize,
        build: &Path,
        turn: usize,
        place: usize,
    ) -> Result<(f64, Vec<Count>), Lack> {
        let (mut run, number) = (row.job.alone(reps), 3 * turn + place);
        run.words += &format!(" --seed={turn}");
        let at = self.done.iter().position(|done| done.run == run && done.number == number).unwrap_or_else(|| {
            let outcome = (self.run)(&run, build);
            self.done.push(Done { run, number, outcome });
            self.done.len() - 1
        });
        let outcome = self.done[at].outcome.as_ref().map_err(|why| Lack { words: why.clone(), is_unknown: false })?;
        let share = judge::share(row, row.picks()[0], outcome)?;
        Ok((share.value.median, counts(&share.result)))
    }
}

/// A job's counters: one number each for a program, the medians of all repetitions for an operation.
fn counts(of: &Report) -> Vec<Count> {
    let whole = [("messages", of.messages), ("bytes", of.bytes)];
    let whole = whole.into_iter().filter_map(|(name, number)| Some((name, number? as f64)));
    let medians = ["messages_sent", "bytes_sent", "packets_sent", "packets_resent"];
    whole.chain(medians.into_iter().filter_map(|name| Some((name, of.figure(name)?.median)))).collect()
}

#[cfg(test)]
mod tests {
    use super::report::{line, summary};
    use super::*;
    use crate::figures::judge::tests::{figures, outcome, row};
    use crate::figures::row::{Figure, Job};
    use aurora_apps::report::Spread;
    use aurora_apps::report::figures::Figures;

    /// The runs and the findings for these rows; the new build takes `times` as long as the old build.
    fn compared(rows: &[Row], times: f64) -> (Vec<String>, Vec<(&'static str, Finding)>) {
        let builds = Builds { old: "old".into(), new: "new".into() };
        let mut calls = Vec::new();
        let run = |run: &Run, build: &Path| {
            calls.push(format!("{} {}", build.display(), run.words));
            let times = if build.ends_with("new") { times } else { 1.0 };
            let messages_sent = Some(Spread { min: 1.0, median: (10.0 * times).floor(), max: 12.0 });
            let (ranks, reps) = (run.ranks, run.reps);
            let figures = Figures { messages_sent, ranks, reps, ..figures("aurora", 1e-5 * times) };
            if times.is_nan() { Err("killed".into()) } else { Ok(outcome(run, vec![figures.into()])) }
        };
        let mut runs = Runs { run, done: Vec::new() };
        let found = rows.iter().map(|row| (row.name, runs.finding(row, 10, &builds, 2))).collect();
        drop(runs);
        (calls, found)
    }

    #[test]
    fn builds_take_turns_on_the_same_data_and_rows_share_them() {
        let (calls, found) = compared(&[row("get"), row("put")], 1.0);
        let turn = |turn: usize| {
            ["old", "new", "old"].map(|build| format!("{build} bench get --impl=aurora --reps=10 --seed={turn}"))
        };
        assert_eq!(calls, [turn(1), turn(2)].concat());
        assert_eq!(summary(&found), ("no row is slower".into(), true));
        let said = line(&row("get"), &found[0].1);
        let figures = "10.0 (10.0..10.0) us | 10.0 us | 1.000 | +-0.0 % | same | messages_sent same 10 |";
        assert_eq!(said, format!("| get | in words, 2 ranks | {figures}"));
    }

    #[test]
    fn jobs_that_differ_are_not_shared() {
        let get = row("get");
        let by_4 = Row { job: Job { ranks: 4, ..get.job }, ..get };
        let fewer = Row { job: Job { fewer: 2, ..get.job }, ..get };
        let (calls, _) = compared(&[get, by_4, fewer], 1.0);
        assert_eq!((calls.len(), &calls[12][..]), (18, "old bench get --impl=aurora --reps=5 --seed=1"));
    }

    #[test]
    fn the_last_line_names_what_is_slower() {
        let (_, mut found) = compared(&[row("get"), row("put")], 1.2);
        assert_eq!(summary(&found), ("counts differ: get, put\nslower: get, put".into(), false));
        let said = line(&row("get"), &found[0].1);
        assert!(said.ends_with("| 1.200 | +-0.0 % | **slower** | **messages_sent 10 -> 12** |"), "{said}");
        found.truncate(1);
        found.extend(compared(&[row("put")], 0.8).1);
        assert_eq!(summary(&found), ("faster: put\ncounts differ: get, put\nslower: get".into(), false));
    }

    #[test]
    fn a_row_that_the_old_build_does_not_know_is_new_and_one_that_fails_is_not() {
        let unknown = Row { figure: Figure::new("ready_seconds", "us", 1e6), ..row("unknown") };
        let (calls, found) = compared(&[unknown], 1.2);
        assert_eq!((calls.len(), &found[0].1), (1, &Finding::New("aurora says no ready_seconds".into())));
        assert_eq!(summary(&found), ("new rows: unknown\nno row is slower".into(), true));
        let (_, found) = compared(&[row("get")], -1.0);
        assert!(matches!(&found[0].1, Finding::Failed(why) if why.starts_with("new build, turn 1: aurora has no min")));
        let (_, found) = compared(&[row("get")], f64::NAN);
        assert_eq!(found[0].1, Finding::Failed("new build, turn 1: killed".into()));
        assert_eq!(summary(&found), ("failed: get\nno row is slower".into(), false));
    }

    #[test]
    fn a_program_counts_messages_and_bytes() {
        let program = Report { messages: Some(12), bytes: Some(34), ..Report::default() };
        assert_eq!(counts(&program), [("messages", 12.0), ("bytes", 34.0)]);
        // The bytes of an operation are those that it was asked to move.
        assert_eq!(counts(&Figures { bytes: 8, ..Figures::default() }.into()), []);
    }
}
