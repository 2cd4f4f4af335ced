//! What the ranks of a job under test do.

use super::{Kind, by_mpi, connect, connect_by, exchange, exchange_by, wait};
use aurora_net::bootstrap::{Failure, Seat};
use aurora_net::{Bulk, Rank, Route, Segment, Transport};
use std::process::Command;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

pub fn body(seat: &Seat, name: &str, rest: &[String]) -> Result<String, Failure> {
    let me = seat.rank();
    match name {
        "hello" => {
            print(&format!("hello from {me} of {}", seat.size()));
            Ok("done".into())
        }
        "exchange" => {
            let seed = rest[0].parse().unwrap();
            let received = match rest.get(1).map(String::as_str) {
                Some("bulk") => exchange_by(seat, by_mpi(), seed, 200)?,
                _ => exchange(seat, route(rest.get(1)), seed, 200)?,
            };
            Ok(format!("received {}", received > 0))
        }
        "differ" => {
            let bulk = if me == 1 { Bulk::Udp } else { Bulk::Mpi };
            let transport = Transport { bulk, ..by_mpi() };
            let error = connect_by(seat, transport).map(drop).expect_err("they are told differently");
            seat.finish()?;
            Ok(error.cause)
        }
        "share" => {
            let endpoint = connect(seat, None)?;
            let node = endpoint.node().clone();
            for id in 1..100 {
                let segment = node.share(id, 8 * seat.size()).map_err(|error| error.into_failure(me))?;
                number(&segment, me.index()).store(id, SeqCst);
                // Whoever sees the others' numbers sees the same memory.
                while !(0..seat.size()).all(|rank| number(&segment, rank).load(SeqCst) == id) {
                    // Another may not have been given its memory.
                    if let Some(failure) = endpoint.act(|checker, _| checker.failure.clone()) {
                        return Err(failure);
                    }
                    std::thread::yield_now();
                }
            }
            seat.finish()?;
            Ok(format!("shared by {} of {}", node.ranks().len(), seat.size()))
        }
        "idle" => {
            let endpoint = connect(seat, route(rest.first()))?;
            for to in me.others(seat.size()) {
                endpoint.act(|checker, out| checker.send(to, Kind::Ask, 1, 10, out));
            }
            let answers = seat.size() - 1;
            wait(&endpoint, me, |checker, _| (checker.answers.len() == answers).then_some(()))?;
            std::thread::sleep(Duration::from_millis(100));
            let before = processor_time();
            std::thread::sleep(Duration::from_secs(1));
            let used = processor_time() - before;
            seat.finish()?;
            match used {
                0..=1 => Ok("idle".into()),
                _ => Err(Failure::of(me, format_args!("{used} ticks of 10 ms while idle"))),
            }
        }
        "last-words" => last_words(seat),
        "fault" => {
            let [fault, rank, place, _grace, ..] = rest else {
                panic!("fault <fault> <rank> <place> <grace>");
            };
            if me == rank.parse::<usize>().unwrap() {
                let _endpoint = (place != "finish" && place != "compute").then(|| connect(seat, None)).transpose()?;
                // So that the others are where they are meant to be.
                std::thread::sleep(Duration::from_millis(200));
                return Err(commit(seat, fault));
            }
            match place.as_str() {
                "finish" => seat.finish()?,
                "wait" => {
                    let endpoint = connect(seat, None)?;
                    wait(&endpoint, me, |_, _| None::<()>)?;
                }
                "ask" => {
                    let endpoint = connect(seat, None)?;
                    std::thread::sleep(Duration::from_millis(400));
                    let to = Rank::new(rank.parse().unwrap());
                    endpoint.act(|checker, out| checker.send(to, Kind::Ask, 1, 10, out));
                    wait(&endpoint, me, |checker, _| checker.answers.pop())?;
                }
                "share" => {
                    let endpoint = connect(seat, None)?;
                    for id in 1.. {
                        if let Some(failure) = endpoint.act(|checker, _| checker.failure.clone()) {
                            return Err(failure);
                        }
                        // What has become of the leader is for others to say.
                        let shared = endpoint.node().share(id, 1 << 16);
                        shared.map_err(|error| Failure::of(me, error).heard())?;
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
                "compute" => loop {
                    std::thread::sleep(Duration::from_millis(100));
                },
                other => panic!("no place {other}"),
            }
            Ok("done".into())
        }
        other => panic!("no body {other}"),
    }
}

/// What a rank says before it is killed, while another does not listen.
pub const LAST_WORDS: u64 = 300;

/// Rank 1 fills a part of its ring to rank 2, which cannot read it before rank 0, its leader, has noted that it is
/// dead.
fn last_words(seat: &Seat) -> Result<String, Failure> {
    let endpoint = connect(seat, Some(Route::Shm))?;
    if seat.rank() == 1 {
        // Not before the other has stopped listening.
        std::thread::sleep(Duration::from_millis(200));
        endpoint.act(|checker, out| {
            (0..LAST_WORDS).for_each(|id| checker.send(Rank::new(2), Kind::Data, 2 * id, 100, out));
        });
        return Err(commit(seat, "kill"));
    }
    if seat.rank() == 2 {
        // Nobody else reads while the handler is busy.
        endpoint.act(|checker, _| {
            std::thread::sleep(Duration::from_millis(600));
            assert_eq!(checker.received[1], 0);
        });
    }
    let heard = endpoint.wait(|checker, _| checker.died.map(|_| checker.received[1]));
    let faults = endpoint.act(|checker, _| std::mem::take(&mut checker.faults));
    print(&format!("heard {heard}, faults {faults:?}"));
    // The first who leaves ends them all.
    std::thread::sleep(Duration::from_secs(1));
    Ok("done".into())
}

/// By its name; the best one where there is none.
fn route(name: Option<&String>) -> Option<Route> {
    let route = [Route::Local, Route::Shm, Route::Udp].into_iter().find(|route| Some(&route.to_string()) == name);
    assert_eq!(route.is_some(), name.is_some());
    route
}

/// One number in shared memory.
fn number(segment: &Segment, at: usize) -> &AtomicU64 {
    assert!(at < segment.len() / 8);
    let start = segment.as_ptr().cast::<u64>();
    #[allow(unsafe_code)]
    // SAFETY: inside the segment, aligned as it is, for no longer than the handle lives; all use it as an atomic.
    unsafe {
        AtomicU64::from_ptr(start.wrapping_add(at))
    }
}

/// What the driver asks a rank to do wrong.
fn commit(seat: &Seat, fault: &str) -> Failure {
    match fault {
        "error" => return Failure::of(seat.rank(), "out of tea"),
        "panic" => panic!("out of cheese"),
        "exit0" => std::process::exit(0),
        "exit3" => std::process::exit(3),
        "kill" => signal("KILL"),
        "stop" => signal("STOP"),
        other => panic!("no fault {other}"),
    }
    // The signal takes a moment.
    std::thread::sleep(Duration::from_secs(60));
    panic!("alive after {fault}");
}

/// Of this process, in clock ticks.
fn processor_time() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit(") ").next().unwrap().split(' ');
    fields.skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum()
}

fn signal(name: &str) {
    let me = std::process::id().to_string();
    let status = Command::new("kill").args(["-s", name, &me]).status();
    assert!(status.unwrap().success());
}

#[allow(clippy::print_stdout)]
pub fn print(text: &str) {
    println!("{text}");
}

#[allow(clippy::print_stderr)]
pub fn print_error(text: &str) {
    eprintln!("{text}");
}
