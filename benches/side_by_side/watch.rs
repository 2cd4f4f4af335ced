//! A job that does not go on is ended, and says what it was doing.

use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Ten times what the slowest machine should take between two signs of life.
const LIMIT: Duration = Duration::from_secs(60);

/// What goes on, and since when without a sign of life.
#[derive(Clone, Debug, PartialEq)]
struct Task {
    what: String,
    since: Instant,
}

impl Task {
    fn complaint(&self, now: Instant) -> Option<String> {
        let is_over = now.duration_since(self.since) >= LIMIT;
        is_over.then(|| format!("error: {}: silent for {LIMIT:?}, the job is ended", self.what))
    }
}

/// Ends the process when what goes on gives no sign of life for a minute.
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<Mutex<Option<Task>>>);

impl Watch {
    /// One that looks each second.
    #[allow(clippy::print_stderr)]
    pub fn start() -> Self {
        let watch = Watch::default();
        let seen = watch.clone();
        thread::spawn(move || {
            loop {
                thread::sleep(Duration::from_secs(1));
                if let Some(complaint) = seen.with(|task| task.as_ref()?.complaint(Instant::now())) {
                    eprintln!("{complaint}");
                    process::exit(1);
                }
            }
        });
        watch
    }

    /// This begins, or still goes on; none: nothing does.
    pub fn sees(&self, what: Option<&str>) {
        let what = what.map(|what| Task { what: what.into(), since: Instant::now() });
        self.with(|task| *task = what);
    }

    /// What goes on is alive.
    pub fn sign(&self) {
        self.with(|task| task.iter_mut().for_each(|task| task.since = Instant::now()));
    }

    fn with<R>(&self, of: impl FnOnce(&mut Option<Task>) -> R) -> R {
        of(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gives_no_sign_for_a_minute_is_named() {
        let watch = Watch::default();
        let complaint =
            |after: Duration| watch.with(|task| task.as_ref().and_then(|task| task.complaint(task.since + after)));
        assert_eq!(complaint(LIMIT), None);
        watch.sees(Some("mm2/x"));
        assert_eq!(complaint(LIMIT - Duration::from_millis(1)), None);
        assert!(complaint(LIMIT).is_some_and(|said| said.contains("mm2/x: silent for 60s")));
        let before = watch.with(|task| task.clone());
        thread::sleep(Duration::from_millis(2));
        watch.sign();
        assert_ne!(watch.with(|task| task.clone()), before);
        watch.sees(None);
        assert_eq!(complaint(LIMIT), None);
    }
}
