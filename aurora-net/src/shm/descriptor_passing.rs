//! Descriptor passing: messages of a few bytes with file descriptors, between processes of a node.
//!
//! Messages travel over abstract unix sockets of type SEQPACKET. Such a socket leaves no file behind and is reachable
//! only from the same network namespace of the same running system.

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, recvmsg,
    sendmsg, shutdown, socket_with,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

/// The maximum number of descriptors in one message (Linux permits 253).
pub(super) const MOST_DESCRIPTORS: usize = 128;

#[derive(Debug)]
pub(super) struct Message {
    pub bytes: Vec<u8>,
    pub descriptors: Vec<OwnedFd>,
}

const LONGEST: usize = 64;

/// The time limit for entering a listener's queue, and for sending while too many descriptors are in flight.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) const RETRY_INTERVAL: Duration = Duration::from_millis(1);

type Room<const DESCRIPTORS: usize> = [MaybeUninit<u8>; DESCRIPTORS];
const ROOM: usize = rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS));

#[derive(Debug)]
pub(super) struct Listener(OwnedFd);

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Listener {
    pub const QUEUE: i32 = i16::MAX as i32;

    pub fn bind(name: &[u8]) -> Result<Self, Errno> {
        let socket = socket()?;
        bind(&socket, &SocketAddrUnix::new_abstract_name(name)?)?;
        // The longest queue that the system permits: all ranks of a node may connect before the first is accepted.
        listen(&socket, Self::QUEUE)?;
        rustix::io::ioctl_fionbio(&socket, true)?;
        Ok(Listener(socket))
    }
}

#[derive(Debug)]
pub(super) struct Channel(OwnedFd);

impl From<OwnedFd> for Channel {
    fn from(socket: OwnedFd) -> Self {
        Channel(socket)
    }
}

impl Channel {
    /// Connects to a listener. Fails at once if there is none, with `AGAIN` if its queue stays full for [`TIMEOUT`].
    pub fn connect(name: &[u8]) -> Result<Self, Errno> {
        let socket = socket()?;
        let address = SocketAddrUnix::new_abstract_name(name)?;
        set_socket_timeout(&socket, Timeout::Send, Some(TIMEOUT))?;
        loop {
            match connect(&socket, &address) {
                Ok(()) => {
                    set_socket_timeout(&socket, Timeout::Send, None)?;
                    return Ok(Channel(socket));
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends a message. Blocks only while the receiver has very many unread messages, or while this user's processes
    /// have too many descriptors in flight: the latter fails with `TOOMANYREFS` after [`TIMEOUT`].
    pub fn send(&self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> Result<(), Errno> {
        let mut room: Room<ROOM> = [MaybeUninit::uninit(); ROOM];
        let mut control = SendAncillaryBuffer::new(&mut room);
        if !descriptors.is_empty() {
            let fits = control.push(SendAncillaryMessage::ScmRights(descriptors));
            assert!(fits, "{} descriptors in one message", descriptors.len());
        }
        let until = Instant::now() + TIMEOUT;
        loop {
            match sendmsg(&self.0, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(Errno::TOOMANYREFS) if Instant::now() < until => thread::sleep(RETRY_INTERVAL),
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for the next message. `None`: the channel is closed. `MFILE`: this process has no room for the
    /// descriptors.
    pub fn receive(&self) -> Result<Option<Message>, Errno> {
        self.receive_with(RecvFlags::empty())
    }

    /// The next message, if it has arrived; otherwise `AGAIN`.
    pub fn try_receive(&self) -> Result<Option<Message>, Errno> {
        self.receive_with(RecvFlags::DONTWAIT)
    }

    fn receive_with(&self, flags: RecvFlags) -> Result<Option<Message>, Errno> {
        let mut bytes = [0; LONGEST];
        let mut room: Room<ROOM> = [MaybeUninit::uninit(); ROOM];
        let mut control = RecvAncillaryBuffer::new(&mut room);
        let received = loop {
            let mut into = [IoSliceMut::new(&mut bytes)];
            match recvmsg(&self.0, &mut into, &mut control, flags | RecvFlags::CMSG_CLOEXEC) {
                // The other side has closed with unread messages. Reported once; its messages can still be read.
                Err(Errno::INTR | Errno::CONNRESET) => {}
                outcome => break outcome?,
            }
        };
        if received.flags.contains(ReturnFlags::CTRUNC) {
            // Linux does not deliver the rest; the descriptors received are closed again.
            return Err(Errno::MFILE);
        }
        if received.bytes == 0 {
            return Ok(None);
        }
        let mut descriptors = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(arrived) = message {
                descriptors.extend(arrived);
            }
        }
        Ok(Some(Message { bytes: bytes[..received.bytes].to_vec(), descriptors }))
    }

    /// Closes the channel for both sides and wakes a thread that waits in `receive`.
    pub fn close(&self) {
        // An error means that the other side has already closed it.
        let _ = shutdown(&self.0, Shutdown::Both);
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

pub(super) fn numbers(bytes: &[u8]) -> Option<(u64, u64)> {
    let (first, rest) = bytes.split_first_chunk()?;
    let second = rest.try_into().ok()?;
    Some((u64::from_le_bytes(*first), u64::from_le_bytes(second)))
}

fn socket() -> Result<OwnedFd, Errno> {
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strangers::accept;

    fn pair() -> (Channel, Channel) {
        let name = format!("aurora-test-{:016x}", getrandom::u64().unwrap());
        let listener = Listener::bind(name.as_bytes()).unwrap();
        let near = Channel::connect(name.as_bytes()).unwrap();
        (near, Channel(accept(&listener).unwrap().unwrap()))
    }

    #[test]
    fn messages_keep_their_bytes_and_descriptors_apart() {
        let (near, far) = pair();
        let file = std::fs::File::open("/dev/null").unwrap();
        near.send(b"one", &[file.as_fd(); 3]).unwrap();
        near.send(b"two", &[]).unwrap();
        near.send(b"three", &[file.as_fd(); MOST_DESCRIPTORS]).unwrap();
        let next = || far.receive().unwrap().map(|message| (message.bytes, message.descriptors.len())).unwrap();
        assert_eq!(next(), (b"one".to_vec(), 3));
        assert_eq!(next(), (b"two".to_vec(), 0));
        assert_eq!(next(), (b"three".to_vec(), MOST_DESCRIPTORS));
        assert_eq!(far.try_receive().unwrap_err(), Errno::AGAIN);
    }

    #[test]
    fn what_was_sent_before_the_end_arrives_and_then_the_end() {
        let (near, far) = pair();
        near.send(b"last", &[]).unwrap();
        far.send(b"unread", &[]).unwrap();
        drop(near);
        assert!(far.send(b"late", &[]).is_err());
        assert_eq!(far.receive().unwrap().unwrap().bytes, b"last");
        assert!(far.receive().unwrap().is_none());
    }

    #[test]
    fn closing_wakes_a_waiting_thread() {
        let (near, far) = pair();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| near.receive());
            std::thread::sleep(std::time::Duration::from_millis(20));
            near.close();
            assert!(matches!(waiter.join().unwrap(), Ok(None)));
        });
        assert!(matches!(far.receive(), Ok(None)));
    }

    #[test]
    fn without_a_listener_connecting_fails_at_once() {
        assert_eq!(Channel::connect(b"aurora-test-nobody").unwrap_err(), Errno::CONNREFUSED);
    }
}
