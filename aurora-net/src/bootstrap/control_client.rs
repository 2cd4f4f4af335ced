//! A rank's side of the control plane: keeps the coordinator's notices until the rank asks for them.

use super::Failure;
use super::coordinator::{Notice, Report};
use super::seat::ControlPlane;
use crate::route::Contact;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Called once, when another rank has failed.
pub(crate) type OnFailure = Box<dyn Fn(Failure) + Send + Sync>;

/// Sends a rank's reports to the coordinator. Does not block for long; any thread may call it.
pub(crate) type Reporter = Arc<dyn Fn(Report) + Send + Sync>;

#[derive(Default)]
pub(crate) struct Notices {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    contacts: Option<Vec<Contact>>,
    finished: bool,
    failure: Option<Failure>,
    on_failure: Option<OnFailure>,
    said_finished: bool,
}

impl Notices {
    /// Stores a notice. Runs the failure callback on a thread of its own: the callback waits for the endpoint's lock,
    /// under which code of the program may block, and the calling thread may have to end the process then.
    pub fn handle(&self, notice: Notice) {
        let mut state = self.lock();
        let mut callback = None;
        match notice {
            Notice::Contacts(contacts) => state.contacts = Some(contacts),
            Notice::Finished => state.finished = true,
            Notice::Failed(failure) => {
                if state.failure.is_none() {
                    callback = state.on_failure.take().map(|call| (call, failure.clone()));
                    state.failure = Some(failure);
                }
            }
        }
        drop(state);
        self.changed.notify_all();
        if let Some((call, failure)) = callback {
            let callback = Arc::new(move || call(failure.clone()));
            let started = thread::Builder::new().name("aurora-failure".into()).spawn({
                let callback = callback.clone();
                move || callback()
            });
            if started.is_err() {
                callback();
            }
        }
    }

    fn until<T>(&self, mut ready: impl FnMut(&mut State) -> Option<T>) -> Result<T, Failure> {
        let mut state = self.lock();
        loop {
            if let Some(value) = ready(&mut state) {
                return Ok(value);
            }
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The control plane of a rank whose coordinator is in this process or behind a socket.
pub(crate) struct ControlClient {
    pub notices: Arc<Notices>,
    pub reporter: Reporter,
}

impl ControlPlane for ControlClient {
    fn exchange(&self, contact: Contact) -> Result<Vec<Contact>, Failure> {
        (self.reporter)(Report::Contact(contact));
        self.notices.until(|state| state.contacts.take())
    }

    fn finish(&self) -> Result<(), Failure> {
        if !std::mem::replace(&mut self.notices.lock().said_finished, true) {
            (self.reporter)(Report::Finished);
        }
        self.notices.until(|state| state.finished.then_some(()))
    }

    fn fail(&self, failure: &Failure) {
        let mut state = self.notices.lock();
        let callback = state.on_failure.take();
        state.failure.get_or_insert_with(|| failure.clone());
        drop(state);
        self.notices.changed.notify_all();
        // Dropped outside the lock, as in `leave`: this may close an endpoint whose daemon is about to report a
        // failure.
        drop(callback);
        (self.reporter)(Report::Failed(failure.clone()));
    }

    fn on_failure(&self, callback: OnFailure) {
        let mut state = self.notices.lock();
        match state.failure.clone() {
            None => state.on_failure = Some(callback),
            Some(failure) => {
                drop(state);
                callback(failure);
            }
        }
    }

    fn leave(&self) {
        // Dropped outside the lock: this may close an endpoint whose daemon is about to report a failure.
        let callback = self.notices.lock().on_failure.take();
        drop(callback);
    }

    fn alarm(&self) -> Arc<dyn Fn(Failure) + Send + Sync> {
        let (notices, reporter) = (self.notices.clone(), self.reporter.clone());
        Arc::new(move |failure| {
            reporter(Report::Failed(failure.clone()));
            notices.handle(Notice::Failed(failure));
        })
    }
}
