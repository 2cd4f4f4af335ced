//! An action that runs once, behind a `dyn`: the code around it is compiled once, and not again for each action.

/// An action, and its outcome.
pub(crate) struct Once<F, R> {
    action: Option<F>,
    outcome: Option<R>,
}

impl<F, R> Once<F, R> {
    pub(crate) fn new(action: F) -> Self {
        Once { action: Some(action), outcome: None }
    }

    /// Runs the action, with the arguments that `run` gives it.
    pub(crate) fn run(&mut self, run: impl FnOnce(F) -> R) {
        self.outcome = self.action.take().map(run);
    }

    /// As [`run`](Self::run), for an action that may fail.
    pub(crate) fn try_run<E>(&mut self, run: impl FnOnce(F) -> Result<R, E>) -> Result<(), E> {
        self.outcome = self.action.take().map(run).transpose()?;
        Ok(())
    }

    /// `None`: the action has not run, or has failed.
    pub(crate) fn outcome(self) -> Option<R> {
        self.outcome
    }

    pub(crate) fn expect(self) -> R {
        self.outcome.expect("an action runs once")
    }
}
