//! Events other than transfers that wake an object.

use super::*;
use aurora_core::object::Source;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Wants to be called after a while.
struct Alarm {
    at: Option<Instant>,
    rung: bool,
}

impl SharedObject for Alarm {
    fn poll_timeout(&self) -> Option<Instant> {
        self.at
    }

    fn handle_timeout(&mut self, now: Instant, cx: &mut Cx<'_>) {
        self.rung = self.at.take().is_some_and(|at| at <= now);
        cx.progress();
    }
}

/// Its `poll_timeout` is always due.
struct Restless {
    called: usize,
}

impl SharedObject for Restless {
    fn poll_timeout(&self) -> Option<Instant> {
        (self.called < 1_000_000).then(Instant::now)
    }

    fn handle_timeout(&mut self, _: Instant, _: &mut Cx<'_>) {
        self.called += 1;
        // More than 100 s in all.
        std::thread::sleep(Duration::from_micros(100));
    }
}

#[test]
fn a_time_that_has_always_passed_keeps_nobody_from_working() {
    on_all_routes(2, |world| {
        let restless = world.share(Plan::new("Restless", &9), |_| Ok(Restless { called: 0 }))?;
        world.barrier()?;
        restless.act(|restless, _| {
            restless.called = 1_000_000;
            Ok(())
        })?;
        world.barrier()
    });
}

#[test]
fn timeouts_come_when_they_are_due() {
    on_all_routes(2, |world| {
        let at = Instant::now() + Duration::from_millis(30);
        let alarm = world.share(Plan::new("Alarm", &7), |_| Ok(Alarm { at: Some(at), rung: false }))?;
        alarm.wait(ONE, |alarm, _| alarm.rung.then_some(Ok(())))?;
        assert!(Instant::now() >= at);
        world.barrier()
    });
}

/// A worker thread counts. The object takes the count when the worker rings.
#[derive(Default)]
struct Worker {
    bell: Option<Source>,
    rings: u32,
}

impl SharedObject for Worker {
    fn ready(&mut self, source: Source, cx: &mut Cx<'_>) {
        assert_eq!(Some(source), self.bell);
        self.rings += 1;
        cx.progress();
    }
}

#[test]
fn a_thread_of_the_objects_own_rings() {
    on_all_routes(2, |world| {
        let worker = world.share(Plan::new("Worker", &9), |_| Ok(Worker::default()))?;
        let bell = worker.act(|worker, cx| {
            let (source, bell) = cx.doorbell()?;
            worker.bell = Some(source);
            Ok(bell)
        })?;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                bell.ring();
            });
            worker.wait(ONE, |worker, _| (worker.rings > 0).then_some(Ok(())))
        })?;
        // Its own threads reach it too.
        let reach = worker.reach();
        let of_thread = std::thread::spawn(move || {
            let rings = reach.act(|worker, _| Ok(worker.rings));
            (rings, reach)
        });
        let (rings, reach) = of_thread.join().expect("it has not panicked");
        assert!(rings? > 0);
        // While no thread waits, the daemon is woken.
        bell.ring();
        let until = Instant::now() + Duration::from_secs(30);
        while worker.act(|worker, _| Ok(worker.rings))? < 2 {
            assert!(Instant::now() < until, "the daemon sleeps on");
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(worker);
        world.barrier()?;
        bell.ring();
        assert!(matches!(reach.act(|_, _| Ok(())), Ok(()) | Err(Error::Ended { .. })));
        world.barrier()
    });
}

/// A quiet act wakes the waiting thread if it has made progress, or has ended the object.
#[test]
fn a_quiet_act_without_progress_wakes_nobody() {
    Config::threads(1)
        .run(|world| {
            const ACTS: usize = 200;
            let worker = world.share(Plan::new("Worker", &9), |_| Ok(Worker::default()))?;
            let (reach, looks) = (worker.reach(), AtomicUsize::new(0));
            let quiet = std::thread::scope(|scope| {
                let acts = scope.spawn(|| -> Result<usize> {
                    std::thread::sleep(Duration::from_millis(50));
                    let before = looks.load(Ordering::Relaxed);
                    for _ in 0..ACTS {
                        reach.act_quietly(|worker, _| {
                            worker.rings += 1;
                            Ok(())
                        })?;
                        std::thread::sleep(Duration::from_micros(200));
                    }
                    let quiet = looks.load(Ordering::Relaxed) - before;
                    reach.act_quietly(|_, cx| {
                        cx.progress();
                        Ok(quiet)
                    })
                });
                worker.wait(ONE, |worker, _| {
                    looks.fetch_add(1, Ordering::Relaxed);
                    (worker.rings >= ACTS as u32).then_some(Ok(()))
                })?;
                acts.join().expect("it does not panic")
            })?;
            assert!(quiet < ACTS / 4, "{quiet} looks in {ACTS} quiet acts");
            let fault = std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(50));
                    reach.act_quietly(|_, cx| {
                        cx.fail(cx.error("it ends here"));
                        Ok(())
                    })
                });
                worker.wait(ONE, |_, _| None::<Result<()>>)
            });
            assert!(fault.unwrap_err().to_string().contains("it ends here"));
            Ok(())
        })
        .unwrap();
}
