//! Sources: descriptors and doorbells that a handler watches.

use aurora_net::bootstrap::{Failure, Launch, Options, Seat, run};
use aurora_net::{
    Doorbell, Endpoint, Error, Handler, Outbox, Payload, Placement, Rank, Received, Route, Source, Transport,
};
use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, PipeReader, PipeWriter, Read, Write, pipe};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// The action of a [`Watcher`] when a source is ready.
enum Action {
    /// Counts the report.
    Note,
    /// Counts the report, if the endpoint still keeps the descriptor open.
    Open(Weak<OwnedFd>),
    /// Reads at most this number of bytes; unwatches the source at its end.
    Read(Arc<OwnedFd>, usize),
    /// Reads at most this number of bytes and ignores the end.
    ReadOn(Arc<OwnedFd>, usize),
    /// Unwatches these sources.
    Unwatch(Vec<Source>),
    /// Sends a transfer to this rank.
    Send(Rank),
}

/// Watches sources and counts their reports, in order.
#[derive(Default)]
struct Watcher {
    actions: HashMap<Source, Action>,
    calls: Vec<Source>,
    read: HashMap<Source, Vec<u8>>,
    /// The number of messages by which the other rank has confirmed reports of its doorbell.
    delivered: usize,
    is_calm: bool,
    other_is_calm: bool,
    failure: Option<Failure>,
}

impl Watcher {
    fn add(&mut self, source: Source, action: Action) -> Source {
        assert!(self.actions.insert(source, action).is_none(), "{source:?} is not new");
        source
    }

    fn calls(&self, source: Source) -> usize {
        self.calls.iter().filter(|called| **called == source).count()
    }

    fn read(&self, source: Source) -> &[u8] {
        self.read.get(&source).map_or(&[], Vec::as_slice)
    }
}

impl Handler for Watcher {
    fn place(&mut self, _: Rank, _: &[u8], _: usize) -> Placement {
        Placement::Buffer
    }
    fn deliver(&mut self, from: Rank, header: &[u8], _: Received, out: &mut Outbox) {
        self.other_is_calm |= header == CALM;
        self.delivered += usize::from(header == RUNG);
        if header == STORM && !(self.is_calm && self.other_is_calm) {
            out.send(from, STORM, Payload::Empty);
        }
    }

    fn ready(&mut self, source: Source, out: &mut Outbox) {
        self.calls.push(source);
        match self.actions.get(&source).expect("a source of ours") {
            Action::Note => {}
            Action::Open(descriptor) => assert_eq!(descriptor.strong_count(), 1),
            Action::Send(to) => out.send(*to, RUNG, Payload::Empty),
            Action::Unwatch(sources) => sources.iter().for_each(|source| out.unwatch(*source)),
            Action::Read(descriptor, most) | Action::ReadOn(descriptor, most) => {
                let mut bytes = vec![0; *most];
                let count = rustix::io::read(descriptor, &mut bytes).expect("ready to be read");
                self.read.entry(source).or_default().extend(&bytes[..count]);
                if count == 0 && matches!(self.actions[&source], Action::Read(..)) {
                    out.unwatch(source);
                }
            }
        }
    }
}

const RUNG: &[u8] = b"rung";
const STORM: &[u8] = b"storm";
const CALM: &[u8] = b"calm";

const ROUTES: [Route; 3] = [Route::Local, Route::Shm, Route::Udp];

fn connect(seat: &Seat, route: Route) -> Result<Endpoint<Watcher>, Failure> {
    let transport = Transport { route: Some(route), ..Transport::default() };
    let endpoint = seat.connect(Watcher::default(), transport).map_err(|error| error.into_failure(seat.rank()))?;
    let handle = endpoint.clone();
    seat.on_failure(Box::new(move |failure| handle.act(|watcher, _| watcher.failure = Some(failure.clone()))));
    Ok(endpoint)
}

/// Runs `body` on one of two ranks, on each route. The other one only ends.
fn on_each_route(body: impl Fn(&Endpoint<Watcher>) + Sync) {
    for route in ROUTES {
        let outcome = run(Launch::Threads(2), Options::default(), |seat| {
            let endpoint = connect(&seat, route)?;
            if seat.rank() == 0 {
                body(&endpoint);
            }
            seat.finish()
        });
        assert_eq!(outcome, Ok(()), "{route}");
    }
}

fn wait<R>(endpoint: &Endpoint<Watcher>, mut condition: impl FnMut(&Watcher) -> Option<R>) -> R {
    let start = Instant::now();
    endpoint.wait(|watcher, _| {
        assert!(watcher.failure.is_none() && start.elapsed() < Duration::from_secs(20));
        condition(watcher)
    })
}

/// Without waiting on the endpoint: the daemon drives.
fn until(endpoint: &Endpoint<Watcher>, condition: impl Fn(&Watcher) -> bool) {
    let start = Instant::now();
    while !endpoint.read(&condition).0 {
        assert!(start.elapsed() < Duration::from_secs(20), "the daemon sleeps");
        std::thread::sleep(Duration::from_micros(100));
    }
}

fn shared(descriptor: impl Into<OwnedFd>) -> Arc<OwnedFd> {
    Arc::new(descriptor.into())
}

/// A watched pipe; `action` gets its reading end.
fn watched_pipe(endpoint: &Endpoint<Watcher>, action: impl FnOnce(Arc<OwnedFd>) -> Action) -> (Source, PipeWriter) {
    let (reader, writer): (PipeReader, PipeWriter) = pipe().unwrap();
    let reader = shared(reader);
    let source = endpoint.act(|watcher, out| watcher.add(out.watch(reader.clone()).unwrap(), action(reader)));
    (source, writer)
}

fn watched_doorbell(endpoint: &Endpoint<Watcher>, action: Action) -> (Source, Doorbell) {
    endpoint.act(|watcher, out| {
        let (source, doorbell) = out.doorbell().unwrap();
        (watcher.add(source, action), doorbell)
    })
}

#[test]
fn a_source_is_reported_while_the_program_computes_and_while_it_waits() {
    on_each_route(|endpoint| {
        let (source, mut writer) = watched_pipe(endpoint, |reader| Action::Read(reader, 100));
        let (bell, doorbell) = watched_doorbell(endpoint, Action::Note);
        for turn in 1..=200 {
            doorbell.ring();
            writer.write_all(b"x").unwrap();
            let done = |watcher: &Watcher| watcher.calls(bell) == turn && watcher.read(source).len() == turn;
            match turn % 2 {
                0 => until(endpoint, done),
                _ => wait(endpoint, |watcher| done(watcher).then_some(())),
            }
        }
        // Rung by another thread, while one thread sleeps, and while two threads sleep.
        std::thread::scope(|scope| {
            for waiters in [1, 2] {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(20));
                    doorbell.ring();
                });
                let rung = move |watcher: &Watcher| (watcher.calls(bell) >= 200 + waiters).then_some(());
                let second = (waiters == 2).then(|| scope.spawn(move || wait(endpoint, rung)));
                wait(endpoint, rung);
                second.into_iter().for_each(|second| second.join().unwrap());
            }
        });
        assert_eq!(endpoint.read(|watcher| watcher.calls.len()).0, 402);
    });
}

#[test]
fn a_rank_alone_has_sources_too() {
    let outcome = run(Launch::Threads(1), Options::default(), |seat| {
        let endpoint = seat.connect(Watcher::default(), Transport::default()).unwrap();
        let (bell, doorbell) = watched_doorbell(&endpoint, Action::Note);
        doorbell.ring();
        wait(&endpoint, |watcher| (watcher.calls(bell) == 1).then_some(()));
        seat.finish()
    });
    assert_eq!(outcome, Ok(()));
}

#[test]
fn a_descriptor_is_reported_until_it_is_empty() {
    on_each_route(|endpoint| {
        let (source, mut writer) = watched_pipe(endpoint, |reader| Action::Read(reader, 1));
        writer.write_all(&[7; 100]).unwrap();
        until(endpoint, |watcher| watcher.read(source) == [7; 100]);
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(endpoint.read(|watcher| watcher.calls(source)).0, 100, "and no longer");
    });
}

#[test]
fn what_was_ready_before_is_reported() {
    on_each_route(|endpoint| {
        let (reader, mut writer) = pipe().unwrap();
        writer.write_all(b"early").unwrap();
        let reader = shared(reader);
        let watch = |watcher: &mut Watcher, out: &mut Outbox| {
            watcher.add(out.watch(reader.clone()).unwrap(), Action::Read(reader.clone(), 9))
        };
        let source = endpoint.act(watch);
        until(endpoint, |watcher| watcher.read(source) == b"early");
        let error = endpoint.act(|_, out| out.watch(reader.clone())).unwrap_err();
        assert!(error.to_string().starts_with("cannot watch a descriptor: File exists"), "{error}");
        // The descriptor may be watched again, with another number.
        endpoint.act(|_, out| out.unwatch(source));
        writer.write_all(b"late").unwrap();
        let again = endpoint.act(watch);
        until(endpoint, |watcher| watcher.read(again) == b"late");
        assert_eq!(endpoint.read(|watcher| watcher.calls(source)).0, 1);
    });
}

/// The end is reported once, after everything that was written, whatever the handler does.
#[test]
fn a_descriptor_at_its_end_does_not_keep_the_endpoint_busy() {
    on_each_route(|endpoint| {
        let mut closed = Weak::new();
        let (empty, writer) = watched_pipe(endpoint, |reader| {
            closed = Arc::downgrade(&reader);
            Action::Open(closed.clone())
        });
        drop(writer);
        let (full, mut writer) = watched_pipe(endpoint, |reader| Action::ReadOn(reader, 10));
        writer.write_all(&[1; 100]).unwrap();
        drop(writer);
        let (near, mut far) = UnixStream::pair().unwrap();
        let near = shared(near);
        let half = endpoint
            .act(|watcher, out| watcher.add(out.watch(near.clone()).unwrap(), Action::ReadOn(near.clone(), 10)));
        far.write_all(&[2; 100]).unwrap();
        far.shutdown(Shutdown::Write).unwrap();
        // The reading end of this pipe is closed: an error for the writing end.
        let (reader, mut writer) = pipe().unwrap();
        writer.write_all(b"x").unwrap();
        let broken = endpoint.act(|watcher, out| watcher.add(out.watch(OwnedFd::from(writer)).unwrap(), Action::Note));
        drop(reader);
        until(endpoint, |watcher| {
            let ends = [empty, full, half, broken].map(|source| watcher.calls(source));
            ends[0] == 1 && ends[1] > 10 && ends[2] > 10 && ends[3] == 1
        });
        std::thread::sleep(Duration::from_millis(5));
        let (calls, _) = endpoint.read(|watcher| {
            assert_eq!((watcher.read(full), watcher.read(half)), (&[1; 100][..], &[2; 100][..]));
            [empty, full, half, broken].map(|source| watcher.calls(source))
        });
        assert_eq!((calls, closed.strong_count()), ([1, 11, 11, 1], 0));
    });
}

#[test]
fn many_sources_all_get_their_turn() {
    on_each_route(|endpoint| {
        let mut pipes: Vec<_> = (0..150).map(|_| watched_pipe(endpoint, |reader| Action::Read(reader, 1))).collect();
        // A source that is never read must not prevent reports of the others.
        let (greedy, mut writer) = watched_pipe(endpoint, |_| Action::Note);
        writer.write_all(b"x").unwrap();
        for (_, writer) in &mut pipes {
            writer.write_all(b"abc").unwrap();
        }
        wait(endpoint, |watcher| pipes.iter().all(|(source, _)| watcher.read(*source) == b"abc").then_some(()));
        assert!(endpoint.read(|watcher| watcher.calls(greedy)).0 > 0);
        endpoint.act(|_, out| out.unwatch(greedy));
        let calls = || endpoint.read(|watcher| watcher.calls.len()).0;
        let before = calls();
        pipes[77].1.write_all(b"d").unwrap();
        until(endpoint, |watcher| watcher.read(pipes[77].0) == b"abcd");
        assert_eq!(calls(), before + 1, "one is ready");
    });
}

#[test]
fn unwatched_inside_of_a_report_a_source_is_never_reported_again() {
    on_each_route(|endpoint| {
        // The first reported source unwatches all of them.
        let mut writers = Vec::new();
        endpoint.act(|watcher, out| {
            let mut sources = Vec::new();
            for _ in 0..10 {
                let (reader, mut writer) = pipe().unwrap();
                writer.write_all(b"never read").unwrap();
                sources.push(out.watch(OwnedFd::from(reader)).unwrap());
                writers.push(writer);
            }
            for source in &sources {
                watcher.add(*source, Action::Unwatch(sources.clone()));
            }
        });
        until(endpoint, |watcher| !watcher.calls.is_empty());
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(endpoint.read(|watcher| watcher.calls.len()).0, 1);
        // They have been closed.
        for writer in &mut writers {
            assert_eq!(writer.write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
        }
        let (bell, doorbell) = watched_doorbell(endpoint, Action::Note);
        endpoint.act(|_, out| out.unwatch(bell));
        doorbell.ring();
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(endpoint.read(|watcher| watcher.calls(bell)).0, 0);
    });
}

#[test]
fn a_file_is_refused_and_a_closed_endpoint_closes_its_sources() {
    on_each_route(|endpoint| {
        let plain = File::open(std::env::current_exe().unwrap()).unwrap();
        let error = endpoint.act(|_, out| out.watch(OwnedFd::from(plain))).unwrap_err();
        assert!(matches!(error, Error::System { .. }), "{error}");
        let (near, far) = UnixStream::pair().unwrap();
        let (source, doorbell) = endpoint.act(|_, out| {
            out.watch(OwnedFd::from(near)).unwrap();
            out.doorbell().unwrap()
        });
        endpoint.close();
        assert_eq!((&far).read(&mut [0; 1]).unwrap(), 0, "its other end is closed");
        doorbell.ring();
        endpoint.act(|watcher, out| {
            assert_eq!(watcher.calls, []);
            out.unwatch(source);
            let (later, _) = out.doorbell().unwrap();
            assert_ne!(later, source);
        });
    });
}

/// Each transfer is answered by another one, so that the waiting threads always have work.
#[test]
fn sources_are_reported_while_transfers_never_pause() {
    for route in ROUTES {
        let outcome = run(Launch::Threads(2), Options::default(), |seat| {
            let endpoint = connect(&seat, route)?;
            let other = Rank::new(1 - seat.rank().index());
            let (bell, doorbell) = watched_doorbell(&endpoint, Action::Send(other));
            endpoint.act(|_, out| (0..200).for_each(|_| out.send(other, STORM, Payload::Empty)));
            for turn in 0..100 {
                doorbell.ring();
                wait(&endpoint, |watcher| (watcher.calls(bell) > turn && watcher.delivered > turn).then_some(()));
            }
            endpoint.act(|watcher, out| {
                watcher.is_calm = true;
                out.send(other, CALM, Payload::Empty);
            });
            // The other rank may still wait for its own doorbell.
            wait(&endpoint, |watcher| watcher.other_is_calm.then_some(()));
            seat.finish()
        });
        assert_eq!(outcome, Ok(()), "{route}");
    }
}

/// Without an endpoint, as in a simulation, the driver of the handler reports ready sources at times that it chooses.
#[test]
fn a_simulation_makes_sources_ready_itself() {
    let (mut watcher, mut out) = (Watcher::default(), Outbox::default());
    let (source, _) = out.doorbell().unwrap();
    watcher.add(source, Action::Send(Rank::new(3)));
    watcher.ready(source, &mut out);
    assert_eq!(out.drain().map(|sent| sent.to).collect::<Vec<_>>(), [Rank::new(3)]);
    assert_eq!(watcher.calls, [source]);
}
