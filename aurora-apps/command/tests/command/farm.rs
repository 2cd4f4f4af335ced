//! `aurora farm` as a user types it.

use super::support::{aurora, stderr, stdout};
use serde_json::Value;

#[test]
fn each_policy_has_a_row_beside_its_simulation() {
    let output =
        aurora("farm --speed 1,3 --units 6 --unit-seconds 0.01 --policy S,ect --reps 2 --seed 7 --route local");
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        text.starts_with("farm of 6 units of 0.01 s, 2 ranks, seed 7\nspeeds, to be learnt: 0.333, 1.000\n"),
        "{text}"
    );
    for part in ["\nS  ", "\nect  ", "run / simulation", "earliest completion time", "\nresult     verified\n"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    // Three units of 0.01 s each on both ranks.
    assert!(text.contains("the fastest rank alone         0.0600      1.0000"), "{text}");
}

#[test]
fn json_has_the_counters_of_each_rank() {
    let output = aurora("farm --ranks 3 --units 5 --steps 4 --drawn --unit-seconds 0.02 --policy all --reps 1 --json");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_str(&stdout(&output)).expect("one object");
    assert_eq!((&report["app"], &report["verified"], &report["ranks"]), (&"farm".into(), &true.into(), &3.into()));
    let policies = report["policies"].as_array().expect("a list");
    let names: Vec<&str> = policies.iter().filter_map(|of| of["policy"].as_str()).collect();
    assert_eq!(names, ["syn", "S", "R", "SR", "SS", "tail", "ect"]);
    for of in policies {
        let ranks = of["by_rank"].as_array().expect("a list");
        let sum = |name: &str| ranks.iter().filter_map(|rank| rank[name].as_f64()).sum::<f64>();
        assert_eq!((ranks.len(), sum("instructions")), (3, 20.0), "{of}");
        assert!(sum("busy_seconds") > 0.0 && sum("weight") > 1.0, "{of}");
        assert!(ranks[0]["merges"].is_u64() && ranks[0]["loaded_bytes"].is_u64() && ranks[0]["idle_seconds"].is_f64());
        assert!(of["simulated_seconds"]["median"].as_f64().is_some_and(|seconds| seconds > 0.0), "{of}");
    }
}

#[test]
fn ranks_are_those_of_the_speeds_or_of_the_paper() {
    let ranks = |line: &str| -> Value {
        let output = aurora(&format!("{line} --units 2 --unit-seconds 0.001 --reps 1 --policy S --route local --json"));
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        let report: Value = serde_json::from_str(&stdout(&output)).expect("one object");
        report["ranks"].clone()
    };
    assert_eq!([ranks("farm"), ranks("farm --speed 2,1,1"), ranks("farm --ranks 5")], [12, 3, 5].map(Value::from));
}

#[test]
fn a_farm_that_cannot_be_is_refused() {
    for (line, expected) in [
        ("farm --speed 1,1 --ranks 3", &["--speed <S,S,..>", "'1,1'", "2 speeds for 3 ranks: write one for each"][..]),
        ("farm --speed 1,0", &["'0'", "--speed <S,S,..>", "a speed is a number from 0.000001 to 1000000"]),
        ("farm --speed -1,1", &["'-1'", "--speed <S,S,..>", "a speed is a number"]),
        ("farm --speed NaN", &["'NaN'", "--speed <S,S,..>", "a speed is a number"]),
        ("farm --speed 1,", &["''", "--speed <S,S,..>", "a speed is a number"]),
        ("farm --unit-seconds 0", &["--unit-seconds <SECONDS>", "takes 0.0001 s or more"]),
        ("farm --unit-seconds 400", &["--unit-seconds <SECONDS>", "more than 1000 s on the slowest rank"]),
        ("farm --steps 100 --unit-seconds 1e-3", &["--unit-seconds <SECONDS>", "longer units, or fewer steps"]),
        ("farm --units 0", &["--units <N>", "from 1 to 1000000"]),
        ("farm --units 1001 --steps 1000", &["--steps <N>", "'1000'", "1 to 1000000 instructions in all"]),
        ("farm --policy best", &["--policy <LIST>", "no policy `best`", "tail, ect"]),
        ("farm --in-flight 0", &["--in-flight <N>", "from 1"]),
    ] {
        let output = aurora(line);
        let text = stderr(&output);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{line}: {text}");
        expected.iter().for_each(|part| assert!(text.contains(part), "{line}: {part} is not in {text}"));
    }
    let output = aurora("farm --units 3 --unit-seconds 0.001 --reps 1 --ranks 2 --policy S --route local --damage");
    assert!(output.status.code() == Some(1) && stdout(&output).contains("NOT VERIFIED"), "{}", stdout(&output));
}
