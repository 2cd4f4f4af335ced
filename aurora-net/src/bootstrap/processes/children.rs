//! The processes started by rank 0 and their connections.

use super::frame::{Frames, Trust};
use super::output::OutputPipe;
use super::parent::Control;
use super::{Claim, Up};
use crate::Rank;
use crate::key::JobKey;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::Arc;

/// The started processes. Dropping it kills them.
#[derive(Debug, Default)]
pub(super) struct Children(pub Vec<ChildRank>);

#[derive(Debug)]
pub(super) struct ChildRank {
    pub rank: Rank,
    pub process: Child,
    /// Wakes rank 0 when the process ends. `None`: the system refuses a pidfd, as the profiles of some containers do;
    /// the end is then noticed by the process's pipes, or by the next tick.
    pub pidfd: Option<OwnedFd>,
    pub output: [OutputPipe; 2],
    pub connection: Option<ControlSocket>,
    pub stopped_ticks: u32,
    pub left: bool,
    pub ended: bool,
}

/// A connection to the control socket. Its process may not have proved its rank yet.
#[derive(Debug)]
pub(super) struct ControlSocket {
    pub socket: Arc<UnixStream>,
    frames: Frames,
}

impl Children {
    /// Adds a newly started process, whose stdout and stderr are pipes.
    pub fn add(&mut self, rank: Rank, mut process: Child) -> io::Result<()> {
        let watched = ChildRank::watch(rank, &mut process);
        match watched {
            Ok((pidfd, output)) => {
                self.0.push(ChildRank {
                    rank,
                    process,
                    pidfd,
                    output,
                    connection: None,
                    stopped_ticks: 0,
                    left: false,
                    ended: false,
                });
                Ok(())
            }
            Err(error) => {
                process.kill()?;
                process.wait()?;
                Err(error)
            }
        }
    }

    /// Kills the processes that have not ended. Wait for them in reverse order: the first one may be the first of a
    /// namespace of process numbers, which ends after all others have been waited for.
    pub fn kill(&mut self) {
        for child in self.0.iter_mut().filter(|child| !child.ended) {
            // An error means that it is already dead.
            let _ = child.process.kill();
        }
    }

    /// True if this is the process id of a child that has not ended. The id of an ended process may have been reused.
    pub fn has(&self, process: i32) -> bool {
        self.0.iter().any(|child| !child.ended && Pid::from_child(&child.process).as_raw_pid() == process)
    }

    /// Reads a stranger's hello and stores a child's connection. Returns the stranger if its hello is incomplete.
    pub fn check(&mut self, mut stranger: ControlSocket, control: &Control, key: &JobKey) -> Option<ControlSocket> {
        match stranger.next(Trust::Stranger) {
            Ok(None) => return Some(stranger),
            Ok(Some(Up::Hello { rank, nonce, proof })) if Claim::Rank.proof(key, rank, nonce).is(&proof.to_bytes()) => {
                let child = self.0.iter_mut().find(|child| child.rank == rank);
                if let Some(child) = child
                    && control.welcome(rank, nonce, stranger.socket.clone())
                {
                    child.connection = Some(stranger);
                }
            }
            // The process is no child: its connection is closed.
            Ok(Some(_)) | Err(_) => {}
        }
        None
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        self.kill();
        for child in self.0.iter_mut().rev().filter(|child| !child.ended) {
            let _ = child.process.wait();
        }
    }
}

impl ChildRank {
    fn watch(rank: Rank, process: &mut Child) -> io::Result<(Option<OwnedFd>, [OutputPipe; 2])> {
        let pidfd = match pidfd_open(Pid::from_child(process), PidfdFlags::empty()) {
            Err(error @ (Errno::MFILE | Errno::NFILE)) => return Err(error.into()),
            pidfd => pidfd.ok(),
        };
        let stdout = process.stdout.take().expect("piped");
        let stderr = process.stderr.take().expect("piped");
        let output = [OutputPipe::new(rank, stdout)?, OutputPipe::new(rank, stderr)?];
        Ok((pidfd, output))
    }

    pub fn is_stopped(&self) -> bool {
        let look = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(waitid(WaitId::Pid(Pid::from_child(&self.process)), look), Ok(Some(status)) if status.stopped())
    }
}

impl ControlSocket {
    pub fn new(socket: UnixStream) -> Self {
        ControlSocket { socket: Arc::new(socket), frames: Frames::default() }
    }

    /// The next message, if it has arrived. After an error no further message will arrive.
    pub fn next(&mut self, trust: Trust) -> io::Result<Option<Up>> {
        match self.frames.receive(trust, |chunk| Ok(recv(&self.socket, chunk, RecvFlags::DONTWAIT)?.1)) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            outcome => outcome.map(Some),
        }
    }
}
