//! What runs on every rank.

use aurora_core::{Result, World};
use std::any::type_name;

type Function = dyn Fn(&World) -> Result<()> + Send + Sync;

/// A function that every rank of a world runs, and what is to become of it.
pub struct Body {
    name: String,
    run: Box<Function>,
    end: End,
    least: usize,
    hidden: bool,
}

/// How a body ends its world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// All is as it was: another body may follow.
    Clean,
    /// A rank leaves while others go on, so nothing can follow.
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
        let name = path.split_once("::").map_or(path, |(_, name)| name);
        Body { name: name.to_string(), run: Box::new(run), end: End::Clean, least: 1, hidden: false }
    }

    /// It ends its world in another way than cleanly.
    #[must_use]
    pub fn ends(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    /// It says something only on so many ranks or more.
    #[must_use]
    pub fn from_ranks(mut self, least: usize) -> Self {
        self.least = least;
        self
    }

    /// It is for a test of the tests, which asks for it by name.
    #[must_use]
    pub fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// Module and function.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it ends its world.
    pub fn end(&self) -> End {
        self.end
    }

    /// Whether it is a trial on `size` ranks.
    pub fn suits(&self, size: usize) -> bool {
        size >= self.least && !self.hidden
    }

    /// Runs it on this rank; an error says on which.
    ///
    /// # Errors
    /// That of the body.
    pub fn run(&self, world: &World) -> Result<()> {
        (self.run)(world).map_err(|error| crate::check::amid(world.rank().to_string(), error))
    }
}
