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
    // 1 instruction of no cost: the search begins at one node.
    let free = objects("simulate --reps 1 --json --blocks 1 --policy S --within 0.000001");
    assert_eq!((free.len(), &free[0]["reached"]), (1, &true.into()));
    // The mean of 16 finishes in time, and the first repetitions do not.
    let close = stdout(&aurora("simulate --blocks 2 --policy S --seed 5 --nodes 2 --within 0.05189712"));
    assert!(close.lines().any(|line| line.starts_with("  S  ") && line.contains(" 2      0.0514 ")), "{close}");
    let many = stdout(&aurora("simulate --reps 2 --policy S,tail --efficient 99.9% --nodes 4,8"));
    assert!(many.contains("none  the highest efficiency is 0.99") && many.contains("at least 99.9 %"), "{many}");
    let holes = stdout(&aurora("simulate --reps 1 --policy S --efficient 90%"));
    assert!(holes.contains("; less with 7, 9, 12, 13, 14, .. ("), "{holes}");
    let never = stdout(&aurora("simulate --reps 2 --blocks 2 --policy S --within 0.001"));
    assert!(never.contains("none  the least time is ") && never.contains("(tried "), "{never}");
}

#[test]
fn far_points_have_few_repetitions_and_skipped_numbers_are_tried_below_the_answer() {
    let all = objects("simulate --reps 6 --policy tail --within 1.25 --json");
    let of = |point: &Value| (point["nodes"].as_u64().expect("a number"), point["reps"].as_u64().expect("a number"));
    let (nodes, reps): (Vec<u64>, Vec<u64>) = all.iter().map(of).unzip();
    let answer = all.iter().filter(|point| point["reached"] == true).map(|point| of(point).0).min().expect("one");
    assert!(all.iter().all(|point| point["within"] == 1.25), "{}", all[0]);
    assert!(nodes[0] > 256 && nodes[1] == nodes[0] + nodes[0] / 64 && nodes.contains(&(answer - 1)), "{nodes:?}");
    assert!(reps.iter().all(|reps| [4, 6].contains(reps)) && reps.contains(&4) && reps.contains(&6), "{reps:?}");
}

/// Three nodes with the speeds 1, 1 and 8.
fn listed_speeds() -> (NamedTempFile, String) {
    listed("1\n1\n8\n")
}
