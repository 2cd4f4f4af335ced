//! Who says why a job ends that mpirun has started: one rank of each machine, once.

use super::Failure;
use crate::Rank;
use crate::key::{JobKey, Proof};
use std::io::{self, ErrorKind, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// What mpirun may take to pass our words on: MPICH's forgets those that it has not passed on when a job is aborted.
const FORWARDING: Duration = Duration::from_millis(100);

/// How long a rank that has only heard of a failure waits to be ended. Longer would be better between machines, where
/// Open MPI takes up to 3 s for that; but a rank that waits here is silent, and others must not take it for lost
/// before.
pub(super) const WAIT_TO_BE_ENDED: Duration = Duration::from_secs(3);

/// Looks at what has come to an ear: more than the system keeps for one that nobody listens to.
const LOOKS: usize = 1024;

/// The right to say why the job ends, one for each machine: whoever binds the job's abstract socket first. The name
/// goes with the process that holds it, however that ends; so that it is not taken again by a rank that finds out later
/// and lives a little longer, who has it first tells the others, each at an abstract socket of its own.
///
/// All processes of a machine see these names once they are bound, and can send to them. So each name is derived from
/// the job's key: who knows one does not know the next, and cannot take it first; and what is sent has to prove that it
/// comes from the job. Nobody connects to them, so there is no queue of connections to fill.
pub(super) struct Announcer {
    key: JobKey,
    size: usize,
    held: Mutex<Option<UnixDatagram>>,
    /// Where others say that they have spoken.
    announced: Option<UnixDatagram>,
}

impl Announcer {
    /// That of `rank`, in a job of `size` ranks.
    pub fn of_job(key: JobKey, rank: Rank, size: usize) -> Self {
        let announced =
            bind(&announced_at(&key, rank.index())).and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
        Announcer { key, size, held: Mutex::new(None), announced: announced.ok() }
    }

    /// Says why the job is about to end, unless another rank of this machine has said it: that one is left the time to
    /// end us all.
    pub fn announce(&self, failure: &Failure) {
        if !self.is_first() {
            thread::sleep(WAIT_TO_BE_ENDED);
            return;
        }
        let _ = writeln!(io::stderr(), "aurora: {failure}");
        thread::sleep(FORWARDING);
    }

    /// Whether nobody on this machine has it, or has had it.
    fn is_first(&self) -> bool {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match bind(&format!("aurora-announcer-{}", self.key.prove("announcer", &[]).name())) {
            Ok(socket) => {
                *held = Some(socket);
                let free = !self.was_announced();
                if free {
                    self.tell_others();
                }
                free
            }
            // Where the system gives us no socket, two announcers are better than none.
            Err(error) => error.kind() != ErrorKind::AddrInUse,
        }
    }

    fn was_announced(&self) -> bool {
        let Some(announced) = &self.announced else { return false };
        let (mut said, proof) = ([0; Proof::LEN + 1], self.proof());
        let looks = (0..LOOKS).map_while(|_| announced.recv(&mut said).ok().map(|length| proof.is(&said[..length])));
        looks.into_iter().any(|ours| ours)
    }

    fn tell_others(&self) {
        let Some(from) = &self.announced else { return };
        let proof = self.proof().to_bytes();
        for rank in 0..self.size {
            // Those of other machines have no such socket here.
            let _ = SocketAddr::from_abstract_name(announced_at(&self.key, rank))
                .and_then(|address| from.send_to_addr(&proof, &address));
        }
    }

    /// What proves that a rank of this job has spoken.
    fn proof(&self) -> Proof {
        self.key.prove("announcer: announced", &[])
    }
}

fn bind(name: &str) -> io::Result<UnixDatagram> {
    SocketAddr::from_abstract_name(name).and_then(|address| UnixDatagram::bind_addr(&address))
}

/// Where a rank hears that another has spoken.
fn announced_at(key: &JobKey, rank: usize) -> String {
    format!("aurora-announced-{}", key.prove("announced", &[rank as u128]).name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announcers() -> [Announcer; 3] {
        let key = JobKey::random().unwrap();
        [0, 1, 2].map(|rank| Announcer::of_job(key, Rank::new(rank), 3))
    }

    #[test]
    fn one_speaks() {
        let [a, b, c] = announcers();
        assert_eq!([&b, &a, &c, &b].map(Announcer::is_first), [true, false, false, false]);
    }

    /// Who was late to find out what has happened is not killed yet when the first has ended.
    #[test]
    fn nor_does_another_when_the_first_has_gone() {
        let [a, b, c] = announcers();
        assert!(a.is_first());
        drop(a);
        assert_eq!([&b, &c].map(Announcer::is_first), [false, false]);
    }

    #[test]
    fn what_others_send_silences_nobody() {
        let [a, b, _] = announcers();
        let stranger = UnixDatagram::unbound().unwrap();
        let address = SocketAddr::from_abstract_name(announced_at(&a.key, 0)).unwrap();
        for junk in [&[1][..], &[], &[0; Proof::LEN], &[7; 100]] {
            stranger.send_to_addr(junk, &address).unwrap();
        }
        assert!(a.is_first() && !b.is_first());
    }
}
