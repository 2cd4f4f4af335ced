//! What the ranks of a job under test do.

use super::{connect, exchange, wait};
use aurora_net::bootstrap::{Failure, Seat};
use std::process::Command;
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
            let received = exchange(seat, None, seed, 200)?;
            Ok(format!("received {}", received > 0))
        }
        "fault" => {
            let [fault, rank, place, _grace] = rest else {
                panic!("fault <fault> <rank> <place> <grace>");
            };
            if me == rank.parse::<usize>().unwrap() {
                let _endpoint = (place == "wait").then(|| connect(seat, None)).transpose()?;
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
