//! Two builds of `aurora` compared, row by row.
//!
//! Both carry out the row's job in turns, old, new, old; a turn has data of its own. How far the two runs of the old
//! build are apart within a turn says what is noise here and now ([`judgement`]). What the jobs count says whether they
//! sent the same ([`count`]).

pub mod build;
pub mod count;
pub mod judgement;
mod report;

use crate::choice::Choice;
use crate::results;
use build::Builds;
use count::{Count, Counted};
use judgement::{Judgement, Turn};
use report::{HEAD, HEADING};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// A row that two builds can both fill.
pub trait Contested {
    /// Where its job runs.
    type Stage: Clone + PartialEq;
    /// What its job says.
    type Said: Clone;

    /// As `--rows` calls it.
    fn name(&self) -> &'static str;
    /// In words.
    fn what(&self) -> String;
    /// Its job, with Aurora as the only implementation.
    fn job(&self) -> Job<Self::Stage>;
    /// The name of its unit.
    fn unit(&self) -> &'static str;
    /// A figure in it.
    fn show(&self, value: f64) -> String;
    /// Whether more of it is better.
    fn more_is_better(&self) -> bool;
    /// Its figure in what the job has said.
    ///
    /// # Errors
    /// Why there is none.
    fn sample(&self, said: &Self::Said) -> Result<Sample, Lack>;
}

/// A job; rows that need the same one share its runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Job<S> {
    /// Where it runs.
    pub stage: S,
    /// What follows `aurora`, without the seed.
    pub words: Vec<String>,
}

/// A row's figure of one run, the middle one of its repetitions, and what the run has counted.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    /// In the row's unit.
    pub figure: f64,
    /// By name.
    pub counts: Vec<Count>,
}

/// Why a run has no figure of a row.
#[derive(Clone, PartialEq, Debug)]
pub enum Lack {
    /// This build does not measure that.
    Unknown(String),
    /// It does, and has failed.
    Failed(String),
}

/// What has come of a row.
#[derive(Clone, PartialEq, Debug)]
pub enum Finding {
    /// Both builds know it.
    Judged(Judgement, Vec<Counted>),
    /// The old build does not know it: what it says.
    New(String),
    /// A run has failed: which, and why.
    Failed(String),
}

/// Compares the builds in these rows, prints the table and writes it where that is wanted. `run` runs a job by a build.
///
/// # Errors
/// That it cannot be written.
pub fn compare<R: Contested>(
    rows: &[R],
    builds: &Builds,
    choice: &Choice,
    run: impl FnMut(&Job<R::Stage>, &Path) -> Result<R::Said, String>,
) -> Result<ExitCode, String> {
    let begun = Instant::now();
    let mut runs = Runs { run, done: Vec::new() };
    let mut table = String::new();
    let mut found = Vec::new();
    let mut say = |text: &str| {
        table.push_str(text);
        table.push('\n');
        let _ = writeln!(io::stdout(), "{text}");
    };
    if builds.are_the_same() {
        say("Both builds have the same bytes: every difference is noise.\n");
    }
    say(HEAD);
    for row in rows {
        let finding = match builds.lack(&row.job().words) {
            Some(why) => Finding::New(why),
            None => runs.finding(row, builds, choice.turns()),
        };
        say(&report::line(row, &finding));
        found.push((row.name(), finding));
    }
    let took = format!("{} jobs in {:.1} minutes", runs.done.len(), begun.elapsed().as_secs_f64() / 60.0);
    let (summary, is_fine) = report::summary(&found);
    if let Some(out) = choice.out() {
        results::write(&out, HEADING, &report::section(choice, &took, &table, &summary))?;
        let _ = writeln!(io::stdout(), "\nwritten to {}", out.display());
    }
    let _ = writeln!(io::stdout(), "\n{took}\n{summary}");
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// All runs of a comparison.
struct Runs<R: Contested, F> {
    run: F,
    done: Vec<Done<R>>,
}

/// A run that has been carried out.
struct Done<R: Contested> {
    job: Job<R::Stage>,
    /// Of all runs of this job.
    number: usize,
    said: Result<R::Said, String>,
}

impl<R, F> Runs<R, F>
where
    R: Contested,
    F: FnMut(&Job<R::Stage>, &Path) -> Result<R::Said, String>,
{
    fn finding(&mut self, row: &R, builds: &Builds, turns: usize) -> Finding {
        let (mut figures, mut old, mut new) = (Vec::new(), Vec::new(), Vec::new());
        for turn in 1..=turns {
            let mut samples = Vec::new();
            for (place, (name, build)) in builds.turn().into_iter().enumerate() {
                match self.sample(row, build, turn, 3 * turn + place) {
                    Ok(sample) => samples.push(sample),
                    Err(Lack::Unknown(why)) if name == build::OLD => return Finding::New(why),
                    Err(Lack::Unknown(why) | Lack::Failed(why)) => {
                        return Finding::Failed(format!("{name} build, turn {turn}: {why}"));
                    }
                }
            }
            figures.push(Turn { old: [samples[0].figure, samples[2].figure], new: samples[1].figure });
            new.push(samples.swap_remove(1).counts);
            old.extend(samples.into_iter().map(|sample| sample.counts));
        }
        Finding::Judged(Judgement::of(&figures, row.more_is_better()), Counted::of(&old, &new))
    }

    /// A row's figure in a run, which is carried out when it is first asked for. All runs of a turn have the same data.
    fn sample(&mut self, row: &R, build: &Path, turn: usize, number: usize) -> Result<Sample, Lack> {
        let job = row.job();
        let done = self.done.iter().position(|done| done.job == job && done.number == number);
        let at = done.unwrap_or_else(|| {
            let seed = [format!("--seed={turn}")];
            let seeded = Job { stage: job.stage.clone(), words: [&job.words[..], &seed].concat() };
            let said = (self.run)(&seeded, build);
            self.done.push(Done { job, number, said });
            self.done.len() - 1
        });
        row.sample(self.done[at].said.as_ref().map_err(|why| Lack::Failed(why.clone()))?)
    }
}

#[cfg(test)]
mod tests {
    use super::report::{line, summary};
    use super::*;

    /// A row whose figure is what its job says, or that has none.
    #[derive(Clone, Copy)]
    struct Fake(&'static str);

    impl Contested for Fake {
        type Stage = usize;
        type Said = f64;

        fn name(&self) -> &'static str {
            self.0
        }

        fn what(&self) -> String {
            "in words".into()
        }

        fn job(&self) -> Job<usize> {
            Job { stage: 2, words: vec!["bench".into()] }
        }

        fn unit(&self) -> &'static str {
            "us"
        }

        fn show(&self, value: f64) -> String {
            format!("{value:.1}")
        }

        fn more_is_better(&self) -> bool {
            false
        }

        fn sample(&self, said: &f64) -> Result<Sample, Lack> {
            match self.0 {
                "unknown" => Err(Lack::Unknown("it says no figure".into())),
                "wrong" => Err(Lack::Failed("wrong bytes".into())),
                _ => Ok(Sample { figure: *said, counts: vec![("messages", said.floor())] }),
            }
        }
    }

    /// What has been run for these rows, and found; the new build takes so many times as long as the old one.
    fn compared(rows: &[Fake], times: f64) -> (Vec<String>, Vec<(&'static str, Finding)>) {
        let builds = Builds { old: "old".into(), new: "new".into() };
        let mut calls = Vec::new();
        let run = |job: &Job<usize>, build: &Path| {
            calls.push(format!("{} {}", build.display(), job.words.join(" ")));
            match build.ends_with("new") {
                true if times.is_nan() => Err("killed".into()),
                true => Ok(10.0 * times),
                false => Ok(10.0),
            }
        };
        let mut runs = Runs { run, done: Vec::new() };
        let found = rows.iter().map(|row| (row.name(), runs.finding(row, &builds, 2))).collect();
        drop(runs);
        (calls, found)
    }

    #[test]
    fn builds_take_turns_on_the_same_data_and_rows_share_them() {
        let (calls, found) = compared(&[Fake("get"), Fake("put")], 1.0);
        let [one, two] = ["bench --seed=1", "bench --seed=2"];
        let turn = |seed: &str| ["old", "new", "old"].map(|build| format!("{build} {seed}"));
        assert_eq!(calls, [turn(one), turn(two)].concat());
        assert_eq!(summary(&found), ("no row is slower".into(), true));
        let said = line(&Fake("get"), &found[0].1);
        let figures = "10.0 (10.0..10.0) us | 10.0 us | 1.000 | +-0.0 % | same | messages same 10 |";
        assert_eq!(said, format!("| get | in words | {figures}"));
    }

    #[test]
    fn the_last_line_names_what_is_slower() {
        let (_, mut found) = compared(&[Fake("get"), Fake("put")], 1.2);
        assert_eq!(summary(&found), ("counts differ: get, put\nslower: get, put".into(), false));
        assert!(line(&Fake("get"), &found[0].1).ends_with("| 1.200 | +-0.0 % | **slower** | **messages 10 -> 12** |"));
        found.truncate(1);
        found.extend(compared(&[Fake("put")], 0.8).1);
        assert_eq!(summary(&found), ("faster: put\ncounts differ: get, put\nslower: get".into(), false));
    }

    #[test]
    fn a_row_that_the_old_build_does_not_know_is_new_and_one_that_fails_is_not() {
        let (calls, found) = compared(&[Fake("unknown")], 1.2);
        assert_eq!((calls.len(), &found[0].1), (1, &Finding::New("it says no figure".into())));
        assert_eq!(summary(&found), ("new rows: unknown\nno row is slower".into(), true));
        let (_, found) = compared(&[Fake("wrong")], 1.0);
        assert_eq!(found[0].1, Finding::Failed("old build, turn 1: wrong bytes".into()));
        let (_, found) = compared(&[Fake("get")], f64::NAN);
        assert_eq!(found[0].1, Finding::Failed("new build, turn 1: killed".into()));
        assert_eq!(summary(&found), ("failed: get\nno row is slower".into(), false));
    }
}
