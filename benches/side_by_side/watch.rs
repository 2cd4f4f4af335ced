//! A job that does not go on is ended, and says what it was doing.

use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Ten times what the slowest machine should take between two signs of life.
const LIMIT: Duration = Duration::from_secs(60);

/// What goes on, and since when without a sign of life.
type Task = Option<(String, Instant)>;

/// Ends the process when what goes on gives no sign of life for a minute.
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<Mutex<Task>>);

impl Watch {
    /// One that looks each second.
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

    /// This begins, or still goes on; none: nothing does.
    pub fn sees(&self, what: Option<&str>) {
        self.with(|task| *task = what.map(|what| (what.into(), Instant::now())));
    }

    /// What goes on is alive.
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
