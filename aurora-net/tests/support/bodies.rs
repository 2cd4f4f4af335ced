//! The bodies of jobs under test.

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
                // A rank that sees the others' numbers shares their memory.
                while !(0..seat.size()).all(|rank| number(&segment, rank).load(SeqCst) == id) {
                    // Another rank may not have got its memory.
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
                // Gives the other ranks time to get where they are meant to be.
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
                        // Other ranks report the leader's failure.
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

/// The transfers that a rank sends before it is killed, while another does not read.
pub const LAST_WORDS: u64 = 300;

/// Rank 1 writes into its ring to rank 2, which cannot read before the leader, rank 0, has recorded the death of rank
/// 1.
fn last_words(seat: &Seat) -> Result<String, Failure> {
    let endpoint = connect(seat, Some(Route::Shm))?;
    if seat.rank() == 1 {
        // Waits until rank 2 has stopped reading.
        std::thread::sleep(Duration::from_millis(200));
        endpoint.act(|checker, out| {
            (0..LAST_WORDS).for_each(|id| checker.send(Rank::new(2), Kind::Data, 2 * id, 100, out));
        });
        return Err(commit(seat, "kill"));
    }
    if seat.rank() == 2 {
        // No other thread reads while this one holds the lock.
        endpoint.act(|checker, _| {
            std::thread::sleep(Duration::from_millis(600));
            assert_eq!(checker.received[1], 0);
        });
    }
    let heard = endpoint.wait(|checker, _| checker.died.map(|_| checker.received[1]));
    let faults = endpoint.act(|checker, _| std::mem::take(&mut checker.faults));
    print(&format!("heard {heard}, faults {faults:?}"));
    // The first rank that leaves ends all ranks.
    std::thread::sleep(Duration::from_secs(1));
    Ok("done".into())
}

/// The route with this name; the best route without a name.
fn route(name: Option<&String>) -> Option<Route> {
    let route = [Route::Local, Route::Shm, Route::Udp].into_iter().find(|route| Some(&route.to_string()) == name);
    assert_eq!(route.is_some(), name.is_some());
    route
}

fn number(segment: &Segment, at: usize) -> &AtomicU64 {
    assert!(at < segment.len() / 8);
    let start = segment.as_ptr().cast::<u64>();
    #[allow(unsafe_code)]
    // SAFETY: inside the segment and aligned; the reference does not outlive the handle; all ranks use it as an atomic.
    unsafe {
        AtomicU64::from_ptr(start.wrapping_add(at))
    }
}

/// Commits the fault that the driver asks for.
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

/// The CPU time of this process in clock ticks.
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
