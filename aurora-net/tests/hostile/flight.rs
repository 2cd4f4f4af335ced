//! The limit of descriptors in flight between a user's processes.

use super::support::job::{Job, Outcome, check};
use libtest_mimic::Trial;
use rustix::fs::Uid;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, sendmsg, socketpair,
};
use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};
use rustix::thread::set_thread_uid;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::thread::{self, JoinHandle};
use std::time::Duration;

const ALLOWED: u64 = 100;

/// The time for which other processes keep the descriptors in flight.
const KEPT: Duration = Duration::from_millis(300);

pub fn trials() -> Vec<Trial> {
    match geteuid().is_root() {
        true => vec![Trial::test("descriptors_under_way_are_waited_for", waited_for)],
        false => Vec::new(),
    }
}

fn waited_for() -> Outcome {
    let ended = Job::start(&[], 4, &["threads", "flight"]).end();
    check(ended.status.success() && ended.stdout == "shared by 4 of 4\n", || format!("{ended:?}"))
}

/// Changes to a user with the maximum number of descriptors in flight. They are received a little later.
pub fn begin() -> JoinHandle<()> {
    set_thread_uid(Uid::from_raw(54_321)).expect("root may become anybody");
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(ALLOWED), maximum }).unwrap();
    let (near, far) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    let file = std::fs::File::open("/dev/null").unwrap();
    let one = [file.as_fd()];
    for _ in 0..=ALLOWED {
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut room);
        assert!(control.push(SendAncillaryMessage::ScmRights(&one)));
        sendmsg(&near, &[IoSlice::new(&[0])], &mut control, SendFlags::NOSIGNAL).unwrap();
    }
    thread::spawn(move || {
        thread::sleep(KEPT);
        drop((near, far));
    })
}
