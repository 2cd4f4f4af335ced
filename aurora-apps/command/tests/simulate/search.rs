//! The search of `aurora simulate` for a number of nodes.

use crate::support::{aurora, stdout};
use crate::{listed, objects};
use serde_json::Value;
use tempfile::NamedTempFile;

/// The nodes, seconds and efficiencies of the points that a search for one policy tried.
fn tried(line: &str) -> Vec<(u64, f64, f64)> {
    let number = |point: &Value, key: &str| point[key].as_f64().expect("a number");
    let all = objects(&format!("simulate --reps 2 --json {line}"));
    let of =
        |point: &Value| (number(point, "nodes") as u64, number(point, "makespan") / 1e6, number(point, "efficiency"));
    all.iter().map(of).collect()
}

#[test]
fn a_search_finds_the_number_of_nodes() {
    // 512 instructions of 10 ms in the mean: 5.1 s on one node.
    let within = tried("--blocks 8 --policy S --within 0.5");
    let nodes: Vec<u64> = within.iter().map(|(nodes, ..)| *nodes).collect();
    assert_eq!(nodes, (nodes[0]..=nodes[nodes.len() - 1]).collect::<Vec<_>>());
    assert!((9..=10).contains(&nodes[0]), "{within:?}");
    let (found, before) = within.split_last().expect("some");
    assert!(found.1 <= 0.5 && before.iter().all(|(_, seconds, _)| *seconds > 0.5), "{within:?}");
    let text = stdout(&aurora("simulate --reps 2 --blocks 8 --policy S,tail --within 0.5"));
    assert!(
        text.starts_with("product of 8 x 8 blocks") && text.contains("finishes within 0.5 s, in the mean"),
        "{text}"
    );
    let row = text.lines().find(|line| line.trim_start().starts_with("S ")).expect("a row of S");
    assert_eq!(row.split_whitespace().nth(1), Some(found.0.to_string().as_str()), "{text}");

    let listed = tried("--blocks 8 --policy S --within 0.5 --nodes 4,8,..,64");
    let nodes: Vec<u64> = listed.iter().map(|(nodes, ..)| *nodes).collect();
    assert!(nodes[..2] == [4, 8] && listed[listed.len() - 1].1 <= 0.5, "{listed:?}");

    let first = stdout(&aurora("simulate --reps 2 --blocks 8 --policy S --within 9 --nodes 4,8"));
    assert!(first.lines().any(|line| line.starts_with("  S  ") && line.ends_with("4 to 4")), "{first}");

    let efficient = tried("--blocks 8 --policy tail --efficient 80%");
    let last = efficient.iter().rfind(|(.., efficiency)| *efficiency >= 0.8).expect("one node").0;
    let end = efficient[efficient.len() - 1].0;
    assert!(last > 8 && (2 * last - 2..=2 * last).contains(&end), "{efficient:?}");

    let (_file, name) = listed_speeds();
    let of_file = tried(&format!("--blocks 8 --policy S --within 3 --speeds {name}"));
    assert_eq!(of_file.last().map(|(nodes, ..)| *nodes), Some(2), "{of_file:?}");
    let never = stdout(&aurora("simulate --reps 2 --blocks 2 --policy S --within 0.001"));
    assert!(never.contains("none  the least time is ") && never.contains("(tried "), "{never}");
}

/// Three nodes with the speeds 1, 1 and 8.
fn listed_speeds() -> (NamedTempFile, String) {
    listed("1\n1\n8\n")
}
