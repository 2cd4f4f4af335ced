//! Ranks that are threads of this process.

mod support;

use aurora_net::bootstrap::{Failure, Launch, Launcher, Options, Seat, run};
use aurora_net::{Bulk, Outbox, Payload, Rank, Route, Transport};
use std::net::UdpSocket;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use support::{Checker, Kind, connect, content, exchange, header, wait};

fn threads<R: Send>(size: usize, body: impl Fn(Seat) -> Result<R, Failure> + Sync) -> Result<R, Failure> {
    run(Launch::Threads(size), Options::default(), body)
}

fn random_transfers(route: Route) {
    for size in 1..=4 {
        let seed = 7 * size as u64;
        let received = threads(size, |seat| {
            assert_eq!((seat.size(), seat.launcher()), (size, Launcher::Threads));
            exchange(&seat, Some(route), seed, 300)
        });
        let received = received.unwrap_or_else(|failure| panic!("{size} ranks: {failure}"));
        assert_eq!(received > 0, size > 1);
    }
}

#[test]
fn local_random_transfers_arrive_intact() {
    random_transfers(Route::Local);
}

#[test]
fn shm_random_transfers_arrive_intact() {
    random_transfers(Route::Shm);
}

#[test]
fn udp_random_transfers_arrive_intact() {
    random_transfers(Route::Udp);
}

#[test]
fn the_value_of_rank_0_is_returned() {
    assert_eq!(threads(3, |seat| Ok(seat.rank())), Ok(Rank::new(0)));
    assert_eq!(threads(0, |_| Ok(())), Err(Failure::start("a job has at least one rank")));
}

#[test]
fn jobs_run_side_by_side() {
    std::thread::scope(|scope| {
        for seed in 0..3 {
            scope.spawn(move || threads(2, |seat| exchange(&seat, None, seed, 100)).unwrap());
        }
    });
}

#[test]
fn a_seat_connects_more_than_once() {
    threads(2, |seat| {
        let first = connect(&seat, None)?;
        let second = connect(&seat, None)?;
        let other = Rank::new(1 - seat.rank().index());
        for endpoint in [&first, &second] {
            endpoint.act(|_, out| out.send(other, header(Kind::Total, 0), Payload::Empty));
            wait(endpoint, seat.rank(), |checker, _| checker.totals[other.index()])?;
        }
        seat.finish()
    })
    .unwrap();
}

#[test]
fn threads_share_memory_unless_a_route_is_forced() {
    threads(4, |seat| {
        let node = connect(&seat, None)?.node().clone();
        assert_eq!((node.leader(), node.ranks().len()), (Rank::new(0), 4));
        for route in [Route::Local, Route::Udp] {
            let node = connect(&seat, Some(route))?.node().clone();
            assert_eq!(node.ranks(), [seat.rank()]);
            assert_eq!(node.share(1, 10).unwrap().len(), 10);
        }
        seat.finish()
    })
    .unwrap();
}

#[test]
fn a_failure_ends_the_others_waits_and_is_returned() {
    for failing in 0..3 {
        let start = Instant::now();
        let outcome: Result<(), Failure> = threads(3, |seat| {
            let endpoint = connect(&seat, None)?;
            if seat.rank() == failing {
                return Err(Failure::of(seat.rank(), "no more tea"));
            }
            let heard = wait(&endpoint, seat.rank(), |_, _| None::<()>).unwrap_err();
            assert!(!heard.origin);
            Err(heard)
        });
        let failure = outcome.unwrap_err();
        assert_eq!(failure.to_string(), format!("rank {failing} failed: no more tea"));
        assert!(failure.origin);
        assert!(start.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn a_panic_is_a_failure_with_its_place() {
    let outcome = threads(2, |seat| {
        if seat.rank() == 1 {
            panic!("out of {}", "cheese");
        }
        seat.finish()
    });
    let text = outcome.unwrap_err().to_string();
    assert!(text.starts_with("rank 1 failed: panicked: out of cheese (at aurora-net/tests/threads.rs:"), "{text}");
}

#[test]
fn a_failure_before_the_others_connect_reaches_them() {
    let outcome = threads(3, |seat| {
        if seat.rank() == 2 {
            return Err(Failure::of(seat.rank(), "early"));
        }
        connect(&seat, None).map(drop)
    });
    assert_eq!(outcome.unwrap_err().cause, "early");
}

#[test]
fn the_daemon_serves_while_its_rank_computes_and_after_its_body() {
    let asked = Barrier::new(2);
    threads(2, |seat| {
        let endpoint = connect(&seat, None)?;
        if seat.rank() == 0 {
            for id in 0..10 {
                endpoint.act(|checker, out| checker.send(Rank::new(1), Kind::Ask, id, 10, out));
                wait(&endpoint, seat.rank(), |checker, _| checker.answers.pop())?;
            }
        }
        // Rank 1 does not use its endpoint until then.
        asked.wait();
        Ok(())
    })
    .unwrap();
}

#[test]
fn the_handlers_timer_wakes_a_waiter_and_the_daemon() {
    threads(1, |seat| {
        let endpoint = connect(&seat, None)?;
        let start = Instant::now();
        let soon = start + Duration::from_millis(30);
        endpoint.act(|checker, _| checker.alarm = Some(start + Duration::from_secs(60)));
        endpoint.act(|checker, _| checker.alarm = Some(soon));
        wait(&endpoint, seat.rank(), |checker, _| (checker.alarms == 1).then_some(()))?;
        assert!(start.elapsed() >= Duration::from_millis(30));
        endpoint.act(|checker, _| checker.alarm = Some(Instant::now()));
        let deadline = Instant::now() + Duration::from_secs(5);
        while endpoint.act(|checker, _| checker.alarms) < 2 {
            assert!(Instant::now() < deadline, "the daemon sleeps");
            std::thread::yield_now();
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_condition_sees_what_comes_of_its_own_sends() {
    threads(2, |seat| {
        let endpoint = connect(&seat, None)?;
        let other = Rank::new(1 - seat.rank().index());
        let mut sent = false;
        // Nothing else could wake this thread.
        wait(&endpoint, seat.rank(), |checker, out| {
            if !std::mem::replace(&mut sent, true) {
                checker.send(other, Kind::Data, 1, 100, out);
                assert_eq!(checker.lent(), 1);
                return None;
            }
            (checker.lent() == 0).then_some(())
        })?;
        seat.finish()
    })
    .unwrap();
}

#[test]
fn a_closed_endpoint_acts_but_sends_nothing() {
    threads(2, |seat| {
        let endpoint = connect(&seat, None)?;
        let other = Rank::new(1 - seat.rank().index());
        endpoint.close();
        endpoint.close();
        let lent = endpoint.act(|checker, out| {
            checker.send(other, Kind::Data, 1, 100, out);
            checker.lent()
        });
        assert_eq!(lent, 1);
        assert_eq!(endpoint.act(|checker, _| checker.lent()), 0);
        assert_eq!(endpoint.traffic().transfers_out, 0);
        seat.finish()
    })
    .unwrap();
}

#[test]
fn waiting_on_a_closed_endpoint_and_calling_it_from_inside_are_panics() {
    let outcome = threads(1, |seat| {
        let endpoint = connect(&seat, None)?;
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| endpoint.wait(|_, _| None::<()>));
            std::thread::sleep(Duration::from_millis(20));
            endpoint.close();
            assert!(waiter.join().is_err());
        });
        endpoint.act(|_, _| endpoint.traffic());
        Ok(())
    });
    assert!(outcome.unwrap_err().cause.contains("from inside one of its own calls"));
}

/// Counts the actions that have run.
#[derive(Clone, Default)]
struct Done(Arc<AtomicUsize>);

impl Done {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn is(&self, done: usize) -> bool {
        self.0.load(Ordering::SeqCst) == done
    }
}

#[test]
fn what_is_asked_for_inside_of_a_call_is_done_behind_it() {
    let outcome = threads(1, |seat| {
        let endpoint = connect(&seat, None)?;
        let (done, soon) = (Done::default(), |done: Done| endpoint.act_soon(move |_, _| done.add()));
        soon(done.clone());
        assert!(done.is(1), "outside of a call it is done at once");
        endpoint.act(|_, _| {
            (0..3).for_each(|_| soon(done.clone()));
            assert!(done.is(1));
        });
        // No other thread takes the lock: the daemon runs the action.
        let until = Instant::now() + Duration::from_secs(20);
        while !done.is(4) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(done.is(4));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            endpoint.act(|_, _| {
                soon(done.clone());
                panic!("amid a call");
            })
        }));
        assert!(panicked.is_err());
        endpoint.act(|_, _| assert!(done.is(5), "what was asked for before comes first"));
        seat.finish()
    });
    assert_eq!(outcome, Ok(()));
}

#[test]
fn nothing_is_left_behind() {
    // The names of this job's threads; other tests of this binary have other sizes.
    let ours = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        tasks
            .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok())
            .filter(|name| ["aurora-rank-6", "aurora-daemon-6"].contains(&name.trim()))
            .count()
    };
    // A thread sets its name when it starts to run, and is still listed for a moment after it was joined.
    let until = |condition: &dyn Fn() -> bool| {
        let deadline = Instant::now() + Duration::from_secs(5);
        while !condition() {
            assert!(Instant::now() < deadline, "{} threads", ours());
            std::thread::yield_now();
        }
    };
    threads(7, |seat| {
        let _endpoint = connect(&seat, None)?;
        if seat.rank() == 6 {
            until(&|| ours() == 2);
        }
        seat.finish()
    })
    .unwrap();
    until(&|| ours() == 0);
}

#[test]
fn foreign_datagrams_are_counted_and_dropped() {
    threads(2, |seat| {
        let endpoint = connect(&seat, Some(Route::Udp))?;
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = endpoint.udp().unwrap().address;
        for len in [0, 1, 7, 8, 24, 100, 1472] {
            stranger.send_to(&content(seat.rank(), 5, len), address).unwrap();
        }
        let deadline = Instant::now() + Duration::from_secs(5);
        loop {
            let traffic = endpoint.traffic();
            if traffic.datagrams_foreign + traffic.datagrams_corrupt == 7 {
                assert_eq!(traffic.datagrams_foreign, 4, "the longer ones had a key");
                break;
            }
            assert!(Instant::now() < deadline, "{traffic:?}");
            std::thread::yield_now();
        }
        seat.finish()
    })
    .unwrap();
}

#[test]
fn a_silent_peer_is_lost_and_lent_memory_comes_back() {
    for route in [Route::Shm, Route::Udp] {
        a_silent_peer_is_lost(route);
    }
}

fn a_silent_peer_is_lost(route: Route) {
    let closed = Barrier::new(2);
    threads(2, |seat| {
        let me = seat.rank();
        let silence = Duration::from_millis(300);
        let endpoint = seat
            .connect(Checker::new(me, 2), Transport { route: Some(route), silence, ..Transport::default() })
            .map_err(|error| Failure::of(me, error))?;
        if me == 1 {
            endpoint.close();
            closed.wait();
        } else {
            // Otherwise it might acknowledge everything before it closes.
            closed.wait();
            let start = Instant::now();
            let send = |checker: &mut Checker, out: &mut Outbox| {
                checker.send(Rank::new(1), Kind::Data, 1, 100_000, out);
            };
            endpoint.act(send);
            endpoint.wait(|checker, _| (checker.lost == [1] && checker.lent() == 0).then_some(()));
            let took = start.elapsed();
            assert!((silence..silence * 60).contains(&took), "{took:?}");
            // Later transfers are released at once, and the loss is not reported again.
            endpoint.act(send);
            assert_eq!(endpoint.act(|checker, _| (checker.lent(), checker.lost.len())), (0, 1));
        }
        seat.finish()
    })
    .unwrap();
}

#[test]
fn a_transfer_between_threads_of_one_process_counts_alike_on_every_route() {
    for route in [Route::Local, Route::Shm, Route::Udp] {
        threads(2, |seat| {
            let endpoint = connect(&seat, Some(route))?;
            let other = Rank::new(1 - seat.rank().index());
            endpoint.act(|checker, out| checker.send(other, Kind::Data, 1, 50_000, out));
            wait(&endpoint, seat.rank(), |checker, _| {
                (checker.received[other.index()] == 1 && checker.lent() == 0).then_some(())
            })?;
            let traffic = endpoint.traffic();
            assert_eq!((traffic.transfers_out, traffic.bytes_out), (1, 50_009), "{route}");
            assert_eq!((traffic.transfers_in, traffic.bytes_in), (1, 50_009), "{route}");
            seat.finish()
        })
        .unwrap();
    }
}

#[test]
fn different_routes_are_an_error() {
    for routes in [[Route::Local, Route::Udp], [Route::Shm, Route::Udp], [Route::Local, Route::Shm]] {
        let outcome = threads(2, |seat| {
            let route = routes[seat.rank().index()];
            let other = Rank::new(1 - seat.rank().index());
            let error = seat
                .connect(Checker::new(seat.rank(), 2), Transport { route: Some(route), ..Transport::default() })
                .unwrap_err();
            let expected =
                format!("{other} offers no address for the route `{route}`: do all ranks use the same route?");
            assert_eq!(error.to_string(), expected);
            seat.finish()
        });
        assert_eq!(outcome, Ok(()));
    }
}

#[test]
fn threads_have_no_mpi_to_move_bulk_data() {
    let outcome = threads(2, |seat| {
        let transport = Transport { bulk: Bulk::Mpi, ..Transport::default() };
        let error = seat.connect(Checker::new(seat.rank(), 2), transport).unwrap_err().to_string();
        assert!(
            error.contains("the launcher `threads` has started the ranks: start the program with mpirun"),
            "{error}"
        );
        let endpoint = connect(&seat, Some(Route::Udp))?;
        assert!(endpoint.attend().is_none());
        assert_eq!(endpoint.bulk().to_string(), "udp");
        seat.finish()
    });
    assert_eq!(outcome, Ok(()));
}

#[test]
fn an_endpoint_knows_its_node_and_its_routes() {
    let asked = [None, Some(Route::Local), Some(Route::Shm), Some(Route::Udp)];
    let wanted = [(3, Route::Local), (1, Route::Local), (3, Route::Shm), (1, Route::Udp)];
    for (route, (ranks, used)) in asked.into_iter().zip(wanted) {
        threads(3, |seat| {
            let endpoint = connect(&seat, route)?;
            assert_eq!((endpoint.node().ranks().len(), endpoint.nodes(), endpoint.routes()), (ranks, 1, &[used][..]));
            assert_eq!(endpoint.udp().is_some(), used == Route::Udp);
            seat.finish()
        })
        .unwrap();
    }
    threads(1, |seat| {
        assert!(connect(&seat, None)?.routes().is_empty());
        seat.finish()
    })
    .unwrap();
}

#[test]
fn a_real_interface_works_with_datagrams_that_a_network_carries() {
    let interfaces = if_addrs::get_if_addrs().unwrap();
    let real = interfaces.iter().find(|known| !known.is_loopback() && known.ip().is_ipv4());
    // There may be no such interface.
    if let Some(interface) = real.map(|known| known.name.clone()) {
        let options = Options { interface: Some(interface), ..Options::default() };
        run(Launch::Threads(3), options, |seat| {
            let endpoint = connect(&seat, Some(Route::Udp))?;
            let info = endpoint.udp().unwrap();
            assert!(!info.address.ip().is_loopback() && info.mtu <= 1472 && info.mtu <= info.mtu_limit, "{info}");
            exchange(&seat, Some(Route::Udp), 5, 300)
        })
        .unwrap();
    }
}

#[test]
fn packets_are_no_longer_than_allowed() {
    let with = |mtu| Transport { route: Some(Route::Udp), mtu, ..Transport::default() };
    threads(2, |seat| {
        let endpoint = seat.connect(Checker::new(seat.rank(), 2), with(Some(1500))).unwrap();
        assert_eq!(endpoint.udp().map(|info| (info.mtu, info.mtu_limit)), Some((1472, 1472)));
        let error = seat.connect(Checker::new(seat.rank(), 2), with(Some(1000))).unwrap_err().to_string();
        assert_eq!(error, "packets of 1000 bytes are not valid: set AURORA_MTU to a number from 1228 to 65535");
        let other = Rank::new(1 - seat.rank().index());
        endpoint.act(|checker, out| checker.send(other, Kind::Data, 1, 100_000, out));
        wait(&endpoint, seat.rank(), |checker, _| {
            (checker.received[other.index()] == 1 && checker.lent() == 0).then_some(())
        })?;
        // At least 70 packets, and acknowledgements.
        assert!(endpoint.traffic().packets_out >= 70);
        seat.finish()
    })
    .unwrap();
}

#[test]
fn an_unknown_interface_is_refused() {
    let options = Options { interface: Some("no-such".into()), ..Options::default() };
    let failure = run(Launch::Threads(2), options, |seat| seat.finish()).unwrap_err();
    let text = failure.to_string();
    assert!(text.starts_with("the job cannot start: no network interface is called `no-such`"), "{text}");
}

#[cfg(not(feature = "mpi"))]
#[test]
fn a_build_without_mpi_says_how_to_get_one_with() {
    let launch = Launch::Mpi(aurora_net::bootstrap::Announced { size: Some(4), ..Default::default() });
    let failure = run(launch, Options::default(), |seat| seat.finish()).unwrap_err();
    let text = failure.to_string();
    assert!(text.contains("one of 4 ranks") && text.contains("--features mpi"), "{text}");
}
