//! The process at the other end of a unix socket.
//!
//! Invariants that the unsafe code here relies on:
//!
//! 1. `ucred` consists of three integers, so every value that Linux may write is valid. (A process of another PID
//!    namespace has the pid 0, so the field must not be of a type without 0.)
//! 2. `getsockopt` writes at most `length` bytes, which is the size of the destination.
#![allow(unsafe_code)]

use rustix::process::geteuid;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The process at the other end: the one that has connected, or the listening one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Peer {
    /// Its process id, as seen by this process; 0 if not visible.
    pub pid: i32,
    /// Its effective user when it connected or listened.
    pub uid: u32,
}

impl Peer {
    pub fn of(socket: impl AsFd) -> io::Result<Peer> {
        let mut found = libc::ucred { pid: 0, uid: libc::uid_t::MAX, gid: libc::gid_t::MAX };
        let mut length = size_of::<libc::ucred>() as libc::socklen_t;
        // SAFETY: invariants 1 and 2.
        let refused = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut found).cast(),
                &raw mut length,
            )
        };
        match refused {
            0 => Ok(Peer { pid: found.pid, uid: found.uid }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub fn is_same_user(self) -> bool {
        self.uid == geteuid().as_raw()
    }
}

pub(crate) fn is_same_user(socket: impl AsFd) -> bool {
    Peer::of(socket).is_ok_and(Peer::is_same_user)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_pair_of_our_own_is_of_this_process() {
        let (near, far) = UnixStream::pair().unwrap();
        let own = Peer { pid: std::process::id() as i32, uid: geteuid().as_raw() };
        assert_eq!((Peer::of(&near).unwrap(), Peer::of(&far).unwrap()), (own, own));
        assert!(is_same_user(&near) && !is_same_user(std::io::stdin()));
    }
}
