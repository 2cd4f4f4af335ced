//! The functions that every rank runs.

use aurora_core::{Result, World};
use std::any::type_name;

type Function = dyn Fn(&World) -> Result<()> + Send + Sync;

/// A function that every rank of a world runs, and the expected end of the world.
pub struct Body {
    name: String,
    run: Box<Function>,
    end: End,
    least: usize,
    hidden: bool,
}

/// The way in which a body ends its world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The world is unchanged: another body may follow.
    Clean,
    /// A rank leaves while the other ranks continue, so no body can follow.
    Last,
    /// The job fails with an error that contains this.
    Fails(&'static str),
}

impl Body {
    /// A body named after its function.
    pub fn of<F>(run: F) -> Self
    where
        F: Fn(&World) -> Result<()> + Send + Sync + 'static,
    {
        let path = type_name::<F>();
        Body::named(path.split_once("::").map_or(path, |(_, name)| name), run)
    }

    /// A body with a name of the form `module::function`.
    pub fn named(name: impl Into<String>, run: impl Fn(&World) -> Result<()> + Send + Sync + 'static) -> Self {
        Body { name: name.into(), run: Box::new(run), end: End::Clean, least: 1, hidden: false }
    }

    /// Sets another end than [`End::Clean`].
    #[must_use]
    pub fn ends(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    /// Sets the minimum number of ranks on which the body tests something.
    #[must_use]
    pub fn from_ranks(mut self, least: usize) -> Self {
        self.least = least;
        self
    }

    /// Marks a body for a test of the tests, which requests the body by name.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// The module and the name of the function.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The way in which it ends its world.
    pub fn end(&self) -> End {
        self.end
    }

    /// True if it is a trial on `size` ranks.
    pub fn suits(&self, size: usize) -> bool {
        size >= self.least && !self.hidden
    }

    /// Runs the body on this rank. An error contains the rank.
    ///
    /// # Errors
    /// The body's error.
    pub fn run(&self, world: &World) -> Result<()> {
        (self.run)(world).map_err(|error| crate::check::amid(world.rank().to_string(), error))
    }
}
