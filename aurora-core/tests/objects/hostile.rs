//! Objects that neglect their duties: they harm only themselves, or end the job with an error, and never hang it.

use super::*;
use aurora_core::object::Place;
use std::time::Instant;

/// Panics in one of its methods, after a message has arrived.
struct Evil {
    panics_in: &'static str,
    arrived: bool,
}

impl Evil {
    fn at(&self, method: &str) {
        assert!(!self.arrived || self.panics_in != method, "evil {method}");
    }
}

impl SharedObject for Evil {
    fn place(&mut self, _: Rank, _: &[u8], _: usize, _: &Cx<'_>) -> Place {
        self.arrived = true;
        self.at("place");
        Place::Buffer
    }

    fn deliver(&mut self, _: Rank, _: &[u8], _: Received, cx: &mut Cx<'_>) -> Read<()> {
        self.arrived = true;
        if self.panics_in == "shut" || self.panics_in == "failed" {
            cx.fail(cx.error("at fault on purpose"));
        }
        Ok(())
    }

    fn request(&mut self, call: Call, _: &[u8], _: Received, cx: &mut Cx<'_>) -> Read<()> {
        let answer = cx.sound().map(|()| Payload::Empty);
        cx.answer(call, answer);
        Ok(())
    }

    fn advance(&mut self, _: &mut Cx<'_>) {
        self.at("advance");
    }

    fn shut(&mut self) {
        self.at("shut");
    }

    fn failed(&mut self, _: &mut Cx<'_>) {
        self.at("failed");
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.at("poll_timeout");
        None
    }
}

/// The outcome of a message of rank 1 on rank 0.
fn provoked(world: &World, panics_in: &'static str) -> Result<()> {
    let evil = world.share(Plan::new("Evil", &10), |_| Ok(Evil { panics_in, arrived: false }))?;
    let sound = keeper(world)?;
    sound.act(|keeper, _| {
        keeper.answers = true;
        Ok(())
    })?;
    world.barrier()?;
    if world.rank() == 1 {
        evil.act(|_, cx| {
            cx.send(Rank::new(0), &(), vec![0; 100].into_payload(), How::default());
            Ok(())
        })?;
    }
    // Until rank 0 has received the message.
    while evil.ask(Rank::new(0), "knock", &(), Payload::Empty).is_ok() {}
    assert_eq!(sound.ask(Rank::new(0), "knock", &(), Payload::Empty)?, [7], "the other one goes on");
    world.barrier()
}

#[test]
fn a_panic_in_what_follows_a_message_poisons_that_object_alone() {
    for panics_in in ["place", "advance", "poll_timeout"] {
        on_all_routes(2, |world| provoked(world, panics_in));
    }
}

#[test]
fn a_panic_where_an_object_should_tidy_up_ends_the_job() {
    for panics_in in ["shut", "failed"] {
        for error in fails_on_all_routes(2, |world| provoked(world, panics_in)) {
            assert!(error.contains(&format!("evil {panics_in}")), "{error}");
        }
    }
}

#[test]
fn ranks_that_do_not_exist_and_headers_that_are_too_long() {
    on_all_routes(2, |world| {
        let keeper = keeper(world)?;
        let asked = keeper.ask(Rank::new(99), "knock", &(), Payload::Empty);
        assert!(matches!(asked, Err(Error::NoSuchRank { rank, size: 2, .. }) if rank == 99), "{asked:?}");
        let asked = keeper.ask(Rank::new(0), "knock", &vec![1u8; 5000], Payload::Empty);
        assert!(asked.is_err_and(|error| error.to_string().contains("1000 bytes are allowed")));
        world.barrier()?;
        if world.is_root() {
            keeper.act(|_, cx| {
                cx.send(Rank::new(99), &(), Payload::Empty, How::default());
                Ok(())
            })?;
        }
        // All ranks get the error.
        while keeper.act(|_, cx| Ok(cx.sound()))?.is_ok() {}
        world.barrier()
    });
}
