//! The trace of a failed job is complete, with all events of each rank up to the failure.

use aurora_core::Route;
use aurora_core::prelude::*;
use std::path::PathBuf;

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("aurora-{}-{name}.json", std::process::id()))
}

fn traced(name: &str, fails: impl Fn(&World, &ReadCache<'_, u64>) -> Result<()> + Sync) -> Vec<serde_json::Value> {
    let path = file(name);
    let failed = Config::threads(3).route(Route::Udp).trace(&path).run(|world| {
        let v = GVector::<u64>::new(world, 30)?;
        let all = v.read_cache()?;
        // All ranks have loaded before one fails.
        world.barrier()?;
        fails(world, &all)?;
        world.barrier()
    });
    failed.expect_err("it fails");
    let text = std::fs::read_to_string(&path).expect("the trace is there");
    std::fs::remove_file(&path).expect("it can be removed");
    let trace: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    trace["traceEvents"].as_array().expect("a list").clone()
}

fn has_all(events: &[serde_json::Value]) {
    for rank in 0..3 {
        let has = |ph: &str, name: &str| {
            let found = events.iter().any(|event| event["pid"] == rank && event["ph"] == ph && event["name"] == name);
            assert!(found, "no {ph} {name} of rank {rank} in {events:?}");
        };
        has("b", "ReadCache");
        has("e", "ReadCache");
        has("X", "a construction");
        has("M", "aurora_dropped");
    }
}

#[test]
fn of_a_rank_that_returns_an_error() {
    has_all(&traced("returned", |world, _| match world.rank() == 1 {
        true => Err(Error::user("enough")),
        false => Ok(()),
    }));
}

#[test]
fn of_a_rank_that_panics() {
    has_all(&traced("panicked", |world, all| {
        assert!(world.rank() != 2 || all[0] == 1, "nothing is here");
        Ok(())
    }));
}

#[test]
fn that_cannot_be_written() {
    let began = std::sync::atomic::AtomicBool::new(false);
    let outcome = Config::threads(2).trace("/nowhere/at/all.json").run(|_| {
        began.store(true, std::sync::atomic::Ordering::Relaxed);
        Ok(())
    });
    let error = outcome.expect_err("no such directory");
    assert!(matches!(&error, Error::TraceFile { path, .. } if path == "/nowhere/at/all.json"), "{error}");
    assert!(!began.into_inner());
}
