//! A progress bar for those who wait at a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stdout};
use std::time::{Duration, Instant};

/// How long a run must have taken before a bar appears.
const PATIENCE: Duration = Duration::from_secs(2);

/// Shows how many repetitions are done, once a run turns out to be long.
pub struct Progress {
    started: Instant,
    of: u64,
    wanted: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Of `of` repetitions; `wanted` by a rank that speaks and prints for people.
    pub fn new(of: usize, wanted: bool) -> Self {
        Progress { started: Instant::now(), of: of as u64, wanted: wanted && stdout().is_terminal(), bar: None }
    }

    /// So many are done.
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
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} repetitions, {eta} to go");
    let bar = ProgressBar::new(of);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
