//! A shared FIFO queue with a home rank, as a shared object of a program's own:
//! `cargo run -p aurora-spmd --example queue`.
//!
//! Rank 0 pushes numbers, all others pop and square them; the sums are checked.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use aurora_core::object::decode;
use aurora_core::object::{Call, Cx, Holds, Malformed, Payload, Plan, Received, Shared, SharedObject};
use aurora_core::ops::Sum;
use aurora_core::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::marker::PhantomData;

/// A rank's part of a queue: at home the elements, encoded, and the ranks that wait for one.
struct Queue {
    size: usize,
    elements: VecDeque<Vec<u8>>,
    popping: VecDeque<Call>,
}

/// The payload of a push is the element; a pop has none, and its answer is one.
#[derive(Serialize, Deserialize)]
enum Request {
    Push,
    Pop,
}

impl SharedObject for Queue {
    fn request(
        &mut self,
        call: Call,
        header: &[u8],
        payload: Received,
        cx: &mut Cx<'_>,
    ) -> std::result::Result<(), Malformed> {
        match decode(header)? {
            Request::Push => {
                self.elements.push_back(payload.into_vec());
                cx.answer(call, Ok(Payload::Empty));
            }
            Request::Pop => self.popping.push_back(call),
        }
        Ok(())
    }

    /// Gives elements to the ranks that wait, in the order in which they have asked.
    fn advance(&mut self, cx: &mut Cx<'_>) {
        while let Err(error) = cx.sound()
            && let Some(call) = self.popping.pop_front()
        {
            cx.answer(call, Err(error));
        }
        while !self.elements.is_empty()
            && let Some(call) = self.popping.pop_front()
        {
            cx.answer(call, Ok(self.elements.pop_front().map_or(Payload::Empty, |bytes| Payload::Bytes(bytes.into()))));
        }
    }

    /// A pop waits until some other rank pushes.
    fn holds(&self, held: &mut Holds<'_>) {
        for call in &self.popping {
            held.call_any(call.from, (0..self.size).map(Rank::new).filter(|rank| *rank != call.from));
        }
    }
}

/// A queue of `T`, all of whose elements are on its home rank.
pub struct GQueue<T> {
    shared: Shared<Queue>,
    home: Rank,
    element: PhantomData<fn(T) -> T>,
}

impl<T: Serialize + DeserializeOwned> GQueue<T> {
    /// Collective.
    #[track_caller]
    pub fn new(world: &World, home: Rank) -> Result<Self> {
        let name = format!("GQueue<{}> on {home}", std::any::type_name::<T>());
        let queue = Queue { size: world.size(), elements: VecDeque::new(), popping: VecDeque::new() };
        let shared = world.share(Plan::new(name, &("GQueue", home)), |_| Ok(queue))?;
        Ok(GQueue { shared, home, element: PhantomData })
    }

    /// Appends an element.
    #[track_caller]
    pub fn push(&self, element: &T) -> Result<()> {
        let bytes = postcard::to_allocvec(element).map_err(|error| Error::user(error))?;
        self.shared.ask(self.home, "push", &Request::Push, Payload::Bytes(bytes.into())).map(drop)
    }

    /// The first element; waits for one.
    #[track_caller]
    pub fn pop(&self) -> Result<T> {
        let bytes = self.shared.ask(self.home, "pop", &Request::Pop, Payload::Empty)?;
        postcard::from_bytes(&bytes).map_err(|error| Error::user(error))
    }
}

fn main() -> Result<()> {
    const EACH: u64 = 1000;
    aurora_core::run(|world| {
        let queue = GQueue::<u64>::new(world, Rank::new(0))?;
        let poppers = world.size().max(2) as u64 - 1;
        if world.is_root() {
            (0..poppers * EACH).try_for_each(|number| queue.push(&number))?;
        }
        let pops = if world.is_root() && world.size() > 1 { 0 } else { EACH };
        let sum: u64 = (0..pops).map(|_| queue.pop().map(|number| number * number)).sum::<Result<_>>()?;
        let all = world.all_reduce(Sum, sum)?;
        assert_eq!(all, (0..poppers * EACH).map(|number| number * number).sum::<u64>());
        if world.is_root() {
            println!("{} numbers went through the queue", poppers * EACH);
        }
        Ok(())
    })
}
