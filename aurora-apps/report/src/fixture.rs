//! Made-up runs for tests: round figures that nobody has measured.

use super::page::{Known, Version};
use serde_json::{Value, json};

fn spread(median: f64) -> Value {
    json!({ "min": median * 0.9, "median": median, "max": median * 1.2 })
}

fn told(mut main: Value, results: Vec<Value>) -> Value {
    let object = main.as_object_mut().expect("an object");
    object.insert("command".into(), "aurora made-up --json".into());
    object.insert("machine".into(), "Made up for a test, 2 cores, 1 GiB, Linux 0".into());
    object.insert("date".into(), "2001-01-01T00:00:00Z".into());
    object.insert("labels".into(), json!({}));
    object.insert("results".into(), results.into());
    main
}

/// A run of an application whose sequential program takes 0.04 s, and of which a quarter of the time is sharing.
pub fn program(app: &str, size: usize, ranks: usize, implementations: &[(&str, f64)]) -> Value {
    let one = |(implementation, seconds): &(&str, f64)| {
        let ours = !implementation.starts_with("mpi");
        json!({
            "app": app, "impl": implementation, "variant": "tiled", "ranks": ranks, "size": size, "reps": 5, "seed": 7,
            "seconds": spread(*seconds), "sharing_seconds": spread(seconds / 4.0), "hidden_seconds": spread(seconds / 8.0),
            "sequential_seconds": 0.04, "speedup": 0.04 / seconds,
            "messages": ours.then_some(12 * ranks), "bytes": ours.then_some(1_000_000 * (ranks - 1)),
            "phases": [
                { "name": "load", "kind": "sharing", "seconds": spread(seconds / 4.0) },
                { "name": "multiply", "kind": "computing", "seconds": spread(seconds * 0.75) },
            ],
            "verified": true,
        })
    };
    let results: Vec<Value> = implementations.iter().map(one).collect();
    told(results[0].clone(), results)
}

/// A run of an operation on 32 MB.
pub fn bench(bench: &str, ranks: usize, implementations: &[(&str, f64)]) -> Value {
    let one = |(implementation, seconds): &(&str, f64)| {
        json!({
            "bench": bench, "impl": implementation, "variant": "", "memory": null, "access": null, "ranks": ranks,
            "bytes": 32_000_000, "reps": 10, "times": 1, "seed": 7, "verified": true, "seconds": spread(*seconds),
            "cpu_seconds": spread(*seconds), "packets_resent": spread(0.0),
        })
    };
    let results: Vec<Value> = implementations.iter().map(one).collect();
    told(results[0].clone(), results)
}

/// A simulation of a policy on so many nodes, of which half of what is lost is communication.
pub fn simulation(policy: &str, nodes: usize, efficiency: f64) -> Value {
    let lost = (1.0 - efficiency) / 2.0;
    json!({
        "policy": policy, "nodes": nodes, "mode": "paper", "speeds": "homogeneous", "transfers": "unicast", "blocks": 32, "reps": 16,
        "seed": 0, "load": 250.0, "work": 20000, "imbalance": lost, "communication": lost, "efficiency": efficiency, "loads": 1024.0,
        "makespan": 1e6, "instructions": 32768, "management_us": 0.5, "command": "aurora simulate made-up --json",
        "machine": "Made up for a test, 2 cores, 1 GiB, Linux 0", "date": "2001-01-01T00:00:00Z", "labels": {},
    })
}

/// A simulation of a version of a paper's case, which takes so many seconds.
pub fn case(version: &str, nodes: usize, in_flight: usize, seconds: f64) -> Value {
    let mut run = simulation(version, nodes, 0.75);
    for (key, value) in [
        ("mode", json!("own")),
        ("case", json!("256r1")),
        ("in_flight", json!(in_flight)),
        ("latency", json!(27_485.0)),
        ("makespan", json!(seconds * 1e6)),
        ("parallelism", json!(in_flight as f64 * 0.9)),
        ("miss_ratio", json!(0.5)),
        ("synchronisation", json!(if version == "S" { 0.0 } else { 27_485.0 })),
    ] {
        run[key] = value;
    }
    let object = run.as_object_mut().expect("an object");
    ["blocks", "work", "load"].iter().for_each(|key| drop(object.remove(*key)));
    run
}

/// The same run with other values.
pub fn with(mut run: Value, values: &[(&str, Value)]) -> Value {
    values.iter().for_each(|(key, value)| run[*key] = value.clone());
    run
}

/// The same run with a label.
pub fn labelled(mut run: Value, key: &str, value: &str) -> Value {
    run["labels"][key] = value.into();
    run
}

/// The runs of a file that says this.
pub fn read(runs: &[Value]) -> Vec<super::recorded::Recorded> {
    let mut read = Vec::new();
    let text = runs.iter().map(|run| format!("{run}\n")).collect::<String>();
    super::read::parse("made-up.json", text.as_bytes(), &mut read).expect("runs");
    read
}

/// What is known of two programs and two operations.
pub fn known() -> Known<'static> {
    const VERSIONS: &[Version] = &[
        Version { app: "mm2", implementation: "aurora", lines: 20 },
        Version { app: "mm2", implementation: "mpi-isend", lines: 50 },
    ];
    let payload = |key: &super::series::Key, nodes: usize| {
        let bytes = key.problem.size;
        ["read-cache", "exchange"].contains(&key.problem.name.as_str()).then_some(bytes - bytes / nodes)
    };
    Known { versions: VERSIONS, payload }
}
