//! Ends a job without progress, with a message that names its task.

use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Ten times the longest expected time between two signs of progress on the slowest machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The present task, and the time of its last sign of progress.
type Task = Option<(String, Instant)>;

/// Ends the process when its task gives no sign of progress for a minute.
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<Mutex<Task>>);

impl Watch {
    /// Starts a thread that checks the task every second.
    #[allow(clippy::print_stderr)]
    pub fn start() -> Self {
        let watch = Watch::default();
        let seen = watch.clone();
        thread::spawn(move || {
            loop {
                thread::sleep(Duration::from_secs(1));
                if let Some(complaint) = seen.complaint(Instant::now()) {
                    eprintln!("{complaint}");
                    process::exit(1);
                }
            }
        });
        watch
    }

    /// Sets the present task. `None`: there is no task.
    pub fn sees(&self, what: Option<&str>) {
        self.with(|task| *task = what.map(|what| (what.into(), Instant::now())));
    }

    /// Notes a sign of progress of the present task.
    pub fn sign(&self) {
        self.with(|task| task.iter_mut().for_each(|(_, since)| *since = Instant::now()));
    }

    fn complaint(&self, now: Instant) -> Option<String> {
        let task = self.with(|task| task.clone());
        let (what, _) = task.filter(|(_, since)| now.duration_since(*since) >= LIMIT)?;
        Some(format!("error: {what}: silent for {LIMIT:?}, the job is ended"))
    }

    fn with<R>(&self, of: impl FnOnce(&mut Task) -> R) -> R {
        of(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gives_no_sign_for_a_minute_is_named() {
        let watch = Watch::default();
        let complaint = |after: Duration| watch.complaint(Instant::now() + after);
        assert_eq!(complaint(LIMIT), None);
        watch.sees(Some("mm2/x"));
        assert_eq!(complaint(LIMIT - Duration::from_secs(30)), None);
        assert!(complaint(LIMIT).is_some_and(|said| said.contains("mm2/x: silent for 60s")));
        let before = watch.with(|task| task.clone());
        thread::sleep(Duration::from_millis(2));
        watch.sign();
        assert_ne!(watch.with(|task| task.clone()), before);
        watch.sees(None);
        assert_eq!(complaint(LIMIT), None);
    }
}
