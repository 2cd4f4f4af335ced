//! A progress bar for users at a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr, stdout};
use std::time::{Duration, Instant};

/// The time after which a bar appears.
const PATIENCE: Duration = Duration::from_secs(2);

/// Shows the number of completed repetitions, if a run is long.
pub struct Progress {
    started: Instant,
    of: u64,
    wanted: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Makes a progress bar for `of` repetitions. `wanted` is true on a rank that prints for people.
    pub fn new(of: usize, wanted: bool) -> Self {
        Progress { started: Instant::now(), of: of as u64, wanted: wanted && stdout().is_terminal(), bar: None }
    }

    /// Makes a progress bar on standard error, for a program that prints to standard output later, or while it runs if
    /// `prints` is true: not on the same terminal then. The number of repetitions is not known if `of` is 0.
    pub fn beside(of: usize, prints: bool) -> Self {
        let wanted = stderr().is_terminal() && !(prints && stdout().is_terminal());
        Progress { started: Instant::now(), of: of as u64, wanted, bar: None }
    }

    /// Shows that `done` repetitions are completed.
    pub fn done(&mut self, done: usize) {
        if self.wanted && self.bar.is_none() && self.started.elapsed() > PATIENCE {
            self.bar = Some(bar(self.of).with_elapsed(self.started.elapsed()));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(of: u64) -> ProgressBar {
    let template =
        if of > 0 { "{bar:40} {pos}/{len} repetitions, {eta} to go" } else { "{pos} repetitions, {elapsed}" };
    let style = ProgressStyle::with_template(template);
    let bar = ProgressBar::new(of);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
