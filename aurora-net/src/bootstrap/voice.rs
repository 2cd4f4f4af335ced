//! Who says why a job ends that mpirun has started: one rank of each machine, once.

use super::Failure;
use crate::Rank;
use std::io::{self, ErrorKind, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// What mpirun may take to pass our words on: MPICH's forgets those that it has not passed on when a job is aborted.
const FORWARDING: Duration = Duration::from_millis(100);

/// How long a rank that has only heard of a failure waits to be ended. Longer would be better between machines, where Open MPI takes
/// up to 3 s for that; but a rank that waits here is silent, and others must not take it for lost before.
pub(super) const QUIET: Duration = Duration::from_secs(3);

/// The right to say why the job ends, one for each machine: whoever binds the job's abstract socket first. The name goes with
/// the process that holds it, however that ends; so that it is not taken again by a rank that finds out later and lives a little
/// longer, who has it first tells the others, each at an abstract socket of its own.
pub(super) struct Voice {
    name: String,
    size: usize,
    held: Mutex<Option<UnixListener>>,
    /// Where others say that they have spoken.
    told: Option<UnixDatagram>,
}

impl Voice {
    /// That of `rank`, in a job of `size` ranks that go by `number`.
    pub fn of_job(number: u64, rank: Rank, size: usize) -> Self {
        let name = format!("aurora-voice-{number:016x}");
        let told = SocketAddr::from_abstract_name(ear(&name, rank.index()))
            .and_then(|address| UnixDatagram::bind_addr(&address))
            .and_then(|socket| socket.set_nonblocking(true).map(|()| socket))
            .ok();
        Voice { name, size, held: Mutex::new(None), told }
    }

    /// Says why the job is about to end, unless another rank of this machine has said it: that one is left the time to end
    /// us all.
    pub fn last_words(&self, failure: &Failure) {
        if !self.take() {
            thread::sleep(QUIET);
            return;
        }
        let _ = writeln!(io::stderr(), "aurora: {failure}");
        thread::sleep(FORWARDING);
    }

    /// Whether nobody on this machine has it, or has had it.
    fn take(&self) -> bool {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let bound = SocketAddr::from_abstract_name(&self.name).and_then(|name| UnixListener::bind_addr(&name));
        match bound {
            Ok(listener) => {
                *held = Some(listener);
                let free = !self.was_told();
                if free {
                    self.tell();
                }
                free
            }
            // Where the system gives us no socket, two voices are better than none.
            Err(error) => error.kind() != ErrorKind::AddrInUse,
        }
    }

    fn was_told(&self) -> bool {
        self.told.as_ref().is_some_and(|told| told.recv(&mut [0]).is_ok())
    }

    fn tell(&self) {
        let Some(from) = &self.told else { return };
        for rank in 0..self.size {
            // Those of other machines have no such socket here.
            let _ = SocketAddr::from_abstract_name(ear(&self.name, rank))
                .and_then(|address| from.send_to_addr(&[1], &address));
        }
    }
}

/// Where a rank hears that another has spoken.
fn ear(voice: &str, rank: usize) -> String {
    format!("{voice}-{rank}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voices() -> [Voice; 3] {
        let number = crate::bootstrap::seat::JobKey::random().unwrap().0;
        [0, 1, 2].map(|rank| Voice::of_job(number, Rank::new(rank), 3))
    }

    #[test]
    fn one_speaks() {
        let [a, b, c] = voices();
        assert_eq!([&b, &a, &c, &b].map(Voice::take), [true, false, false, false]);
    }

    /// Who was late to find out what has happened is not killed yet when the first has ended.
    #[test]
    fn nor_does_another_when_the_first_has_gone() {
        let [a, b, c] = voices();
        assert!(a.take());
        drop(a);
        assert_eq!([&b, &c].map(Voice::take), [false, false]);
    }
}
