//! Announces why a job under mpirun ends: once per machine.

use super::Failure;
use crate::Rank;
use crate::key::{JobKey, Proof};
use std::io::{self, ErrorKind};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Time for mpirun to forward the message: MPICH's drops output that it has not forwarded when a job aborts.
const FORWARDING: Duration = Duration::from_millis(100);

/// The time that a rank that was only notified of a failure waits to be killed. Open MPI can take 3 s to kill ranks of
/// other machines. A longer wait would make other ranks report this silent rank as lost.
pub(super) const WAIT_TO_BE_ENDED: Duration = Duration::from_secs(3);

/// The maximum number of datagrams read from the announcement socket: more than the system keeps in a socket.
const LOOKS: usize = 1024;

/// The right to announce why the job ends: the rank that first binds the job's abstract socket on a machine has it.
/// The name becomes free when that rank's process ends, so this rank also sends a proof to all others, each at an
/// abstract socket of its own.
///
/// All processes of a machine can see bound names and send to them. So each name is derived from the job's key: a
/// process that knows one name cannot derive the next. A datagram must prove that it comes from the job. No process
/// connects to these sockets, so there is no connection queue to fill.
pub(super) struct Announcer {
    key: JobKey,
    size: usize,
    held: Mutex<Option<UnixDatagram>>,
    /// The socket at which other ranks report that they have announced the failure.
    announced: Option<UnixDatagram>,
}

impl Announcer {
    pub fn of_job(key: JobKey, rank: Rank, size: usize) -> Self {
        let announced =
            bind(&announced_at(&key, rank.index())).and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
        Announcer { key, size, held: Mutex::new(None), announced: announced.ok() }
    }

    /// Prints why the job is about to end. If another rank of this machine has done so, waits to be killed instead.
    pub fn announce(&self, failure: &Failure) {
        if !self.is_first() {
            thread::sleep(WAIT_TO_BE_ENDED);
            return;
        }
        failure.print();
        thread::sleep(FORWARDING);
    }

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
            // If the system refuses a socket, two announcements are better than none.
            Err(error) => error.kind() != ErrorKind::AddrInUse,
        }
    }

    fn was_announced(&self) -> bool {
        let Some(announced) = &self.announced else { return false };
        let (mut answer, proof) = ([0; Proof::LEN + 1], self.proof());
        let looks =
            (0..LOOKS).map_while(|_| announced.recv(&mut answer).ok().map(|length| proof.is(&answer[..length])));
        looks.into_iter().any(|ours| ours)
    }

    fn tell_others(&self) {
        let Some(from) = &self.announced else { return };
        let proof = self.proof().to_bytes();
        for rank in 0..self.size {
            // The sockets of ranks on other machines do not exist here.
            let _ = SocketAddr::from_abstract_name(announced_at(&self.key, rank))
                .and_then(|address| from.send_to_addr(&proof, &address));
        }
    }

    fn proof(&self) -> Proof {
        self.key.prove("announcer: announced", &[])
    }
}

fn bind(name: &str) -> io::Result<UnixDatagram> {
    SocketAddr::from_abstract_name(name).and_then(|address| UnixDatagram::bind_addr(&address))
}

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

    /// A rank that detects the failure late may live longer than the rank that announced it.
    #[test]
    fn nor_does_another_when_the_first_has_gone() {
        let [a, b, c] = announcers();
        assert!(a.is_first());
        drop(a);
        assert_eq!([&b, &c].map(Announcer::is_first), [false, false]);
    }

    #[test]
    fn datagrams_of_other_processes_do_not_prevent_an_announcement() {
        let [a, b, _] = announcers();
        let stranger = UnixDatagram::unbound().unwrap();
        let address = SocketAddr::from_abstract_name(announced_at(&a.key, 0)).unwrap();
        for junk in [&[1][..], &[], &[0; Proof::LEN], &[7; 100]] {
            stranger.send_to_addr(junk, &address).unwrap();
        }
        assert!(a.is_first() && !b.is_first());
    }
}
