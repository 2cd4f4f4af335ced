//! `aurora simulate` as a user types it.

mod support;

use serde_json::Value;
use std::fs;
use std::process::Command;
use support::{aurora, stderr, stdout};
use tempfile::NamedTempFile;

/// Returns the objects that a command line prints.
fn objects(line: &str) -> Vec<Value> {
    let output = aurora(line);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{line}");
    stdout(&output).lines().map(|line| serde_json::from_str(line).expect("an object")).collect()
}

/// A file with this content, and its name.
fn listed(content: &str) -> (NamedTempFile, String) {
    let file = NamedTempFile::new().expect("a file");
    fs::write(&file, content).expect("written");
    let name = file.path().to_str().expect("text").to_string();
    (file, name)
}

#[test]
fn static_parts_load_as_many_blocks_as_the_paper_s_machine() {
    let all = objects("simulate --nodes 2 --policy S --reps 2 --json");
    let [two] = &all[..] else { panic!("{all:?}") };
    assert_eq!(two["loads"], 1024.0);
    assert_eq!((two["instructions"].as_u64(), two["nodes"].as_u64()), (Some(32768), Some(2)));
    let share = |key: &str| two[key].as_f64().expect("a number");
    assert!((share("imbalance") - 0.0025).abs() < 0.004 && (share("communication") - 0.0016).abs() < 0.0005, "{two}");
    assert!((share("imbalance") + share("communication") + share("efficiency") - 1.0).abs() < 1e-9, "{two}");
}

#[test]
fn an_object_says_what_was_simulated_and_what_it_came_to() {
    let line = "simulate --nodes 2,4,..,8 --policy tail,S --speeds 1:3 --transfers multicast --blocks 8 --reps 3 \
                --seed 5 --json --label study=mine";
    let all = objects(line);
    let places: Vec<_> = all.iter().map(|point| (point["nodes"].as_u64(), point["policy"].as_str())).collect();
    let expected = [2, 4, 8].map(|nodes| ["S", "tail"].map(|policy| (Some(nodes), Some(policy))));
    assert_eq!(places, expected.concat());
    let point = all[0].as_object().expect("an object");
    for (key, expected) in [("mode", "paper"), ("speeds", "1:3"), ("transfers", "multicast")] {
        assert_eq!(point[key], expected);
    }
    for (key, expected) in [("blocks", 8), ("reps", 3), ("seed", 5), ("work", 20_000), ("instructions", 512)] {
        assert_eq!(point[key], expected, "{key}");
    }
    for key in ["imbalance", "communication", "efficiency", "loads", "makespan", "management_us", "load"] {
        assert!(point[key].as_f64().is_some_and(|value| value >= 0.0), "{key}: {}", point[key]);
    }
    assert!(point["command"].as_str().is_some_and(|command| command.contains("--speeds 1:3")));
    assert_eq!(point["labels"]["study"], "mine");
    assert!(["machine", "date"].iter().all(|key| point[*key].is_string()));
}

#[test]
fn own_mode_has_cases_versions_and_numbers_of_instructions_in_flight() {
    let all = objects("simulate --mode own --case 256r2 --nodes 2,8 --in-flight 1,6 --reps 1 --json");
    let places: Vec<_> = all.iter().map(|point| (&point["nodes"], &point["in_flight"], &point["policy"])).collect();
    assert_eq!(places.len(), 12, "{places:?}");
    let one = &all[0];
    for (key, expected) in [("mode", "own"), ("case", "256r2"), ("policy", "S")] {
        assert_eq!(one[key], expected);
    }
    // The paper's values for two nodes give 10.5 ms.
    assert!((one["latency"].as_f64().expect("a number") - 10_545.0).abs() < 1.0, "{one}");
    assert!(one.get("blocks").is_none() && one.get("asked_latency").is_none(), "{one}");
    for key in ["parallelism", "miss_ratio", "p_c", "synchronisation", "load_time", "merges", "messages", "loads"] {
        assert!(one[key].as_f64().is_some_and(|value| value >= 0.0), "{key}: {one}");
    }
    let parallelism = |limit: u64| {
        let of = |point: &&Value| point["in_flight"] == limit && point["nodes"] == 2 && point["policy"] == "D";
        all.iter().find(of).and_then(|point| point["parallelism"].as_f64()).expect("a number")
    };
    assert!(parallelism(1) <= 1.0 && parallelism(6) > 4.0, "{} {}", parallelism(1), parallelism(6));

    let by_ssp = objects("simulate --mode own --case 256r1 --nodes 2 --schedule ssp --in-flight 4 --reps 1 --json");
    let names: Vec<_> = by_ssp.iter().filter_map(|point| point["policy"].as_str()).collect();
    assert_eq!(names, ["G", "D ssp", "N"]);
    let ssp =
        objects("simulate --mode own --variant S,D --schedule ssp --blocks 8 --nodes 4 --reps 1 --latency 0 --json");
    let names: Vec<_> = ssp.iter().filter_map(|point| point["policy"].as_str()).collect();
    assert_eq!((names, &ssp[0]["asked_latency"], &ssp[0]["blocks"]), (vec!["G", "D ssp"], &0.0.into(), &8.into()));
}

#[test]
fn the_same_seed_gives_the_same_figures_on_any_number_of_threads() {
    let figures = |threads: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aurora"));
        let command = command.env("RAYON_NUM_THREADS", threads);
        let output = command.args("simulate --nodes 3,8 --blocks 12 --reps 5 --json".split(' ')).output();
        let text = stdout(&output.expect("it starts"));
        let all: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
        let keys = ["policy", "nodes", "imbalance", "communication", "efficiency", "loads", "makespan"];
        all.iter().map(|point| keys.map(|key| point[key].clone())).collect::<Vec<_>>()
    };
    let one = figures("1");
    assert_eq!(one.len(), 14);
    assert_eq!(one, figures("3"));
}

#[test]
fn a_repetition_has_the_seed_after_the_one_before() {
    let of = |line: &str| objects(&format!("simulate --nodes 4 --policy R --blocks 8 --json {line}"))[0].clone();
    let mean = |key: &str| (of("--reps 1 --seed 7")[key].as_f64(), of("--reps 1 --seed 8")[key].as_f64());
    let (Some(one), Some(other)) = mean("efficiency") else { panic!("no numbers") };
    let both = of("--reps 2 --seed 7")["efficiency"].as_f64().expect("a number");
    assert!(one != other && ((one + other) / 2.0 - both).abs() < 1e-12, "{one} {other} {both}");
}

#[test]
fn a_table_has_policies_in_rows_and_nodes_in_columns() {
    let output = aurora("simulate --nodes 1,2 --policy S,syn --reps 1 --blocks 4 --work 1000 --load 10");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    let text = stdout(&output);
    assert!(
        text.starts_with("product of 4 x 4 blocks, 64 instructions of 0 to 1000 units, 10 units to send or"),
        "{text}"
    );
    assert!(text.contains("paper mode, homogeneous, unicast, means of 1 repetition from seed 0 on"), "{text}");
    let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> = text.lines().map(words).collect();
    let measure = |name: &str| {
        let at = lines.iter().position(|line| line.first().is_some_and(|word| word == name) && line[1] == "by");
        &lines[at.unwrap_or_else(|| panic!("no {name} in {text}"))..][..3]
    };
    assert_eq!(measure("efficiency")[0], ["efficiency", "by", "nodes", "1", "2"]);
    assert_eq!(measure("efficiency")[1][..2], ["syn", "1.0000"]);
    assert_eq!(measure("imbalance")[2][..2], ["S", "0.0000"]);
    // Two nodes have two columns of B each, and together all of A: 8 blocks of A for each node.
    assert_eq!(measure("loads")[1..], [words("syn 0 16"), words("S 0 16")]);
}

#[test]
fn speeds_from_a_file_decide_how_many_nodes_there_are() {
    let (_file, name) = listed("# two racks\n1\n1\n2.5\n4\n");
    let all = objects(&format!("simulate --speeds {name} --policy S --blocks 8 --reps 1 --json"));
    assert_eq!((all.len(), &all[0]["nodes"], all[0]["speeds"].as_str()), (1, &4.into(), Some(name.as_str())));
    let all = objects(&format!("simulate --speeds {name} --nodes 1,3 --policy S --blocks 8 --reps 1 --json"));
    assert_eq!(all.iter().map(|point| point["nodes"].as_u64()).collect::<Vec<_>>(), [Some(1), Some(3)]);
    let output = aurora(&format!("simulate --speeds {name} --nodes 2,8"));
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("it has speeds of 4 nodes, and `--nodes` asks for 8: add lines"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn speeds_that_are_none_are_told_with_their_line() {
    for (content, expected) in [
        ("1\n0\n", "line 2: `0` is not the speed of a node: write a number above 0"),
        ("1\n\nNaN\n", "line 3: `NaN` is not the speed of a node"),
        ("-2\n", "line 1: `-2` is not the speed of a node"),
        ("1\n1e999\n", "line 2: `1e999` is not the speed"),
        ("fast\n", "line 1: `fast` is not the speed"),
        ("", "it has no speeds: write one a line"),
    ] {
        let (_file, name) = listed(content);
        let output = aurora(&format!("simulate --speeds {name}"));
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{content}");
        assert!(
            stderr(&output).contains(expected) && stderr(&output).contains("--speeds <SPEEDS>"),
            "{}",
            stderr(&output)
        );
    }
    let output = aurora("simulate --speeds /dev/zero");
    assert!(stderr(&output).contains("longer than 4 MiB, so no list of speeds"), "{}", stderr(&output));
}

#[test]
fn arguments_that_cannot_be_are_exit_code_2_and_say_what_can() {
    for (options, expected) in [
        ("--policy tial", "there is no policy `tial` (did you mean `tail`?): use one of syn, S, R, SR, SS, tail, ect"),
        ("--policy S,X", "there is no policy `X`: use one of syn, S, R, SR, SS, tail, ect"),
        ("--nodes 0", "`0` is not a number of nodes: write numbers from 1 to 65536"),
        ("--nodes 65537", "`65537` is not a number of nodes"),
        ("--nodes -4", "`-4` is not a number of nodes"),
        ("--nodes 2,4,..,60", "the sequence comes to 32 and 64, not to 60"),
        ("--nodes 2,5,9,..,60", "neither double nor rise in equal steps"),
        ("--reps 0", "from 1 to 1000000"),
        ("--blocks 0", "from 1 to 1024"),
        ("--blocks 1025", "from 1 to 1024"),
        ("--work 0", "from 1 to "),
        ("--load -1", "a number of units from 0 to 1000000000"),
        ("--load NaN", "a number of units from 0"),
        ("--mode real", "possible values: paper, own"),
        ("--transfers broadcast", "unicast, multicast"),
        (
            "--speeds 1:4",
            "Speeds are `homogeneous`, `1:3`, or the name of a file with one speed a line; of ratios only 1:3 is",
        ),
        (
            "--case 256r2",
            "the argument '--case <CASE>' cannot be used here: it belongs to own mode: add `--mode own`, or leave",
        ),
        ("--in-flight 4", "'--in-flight <LIST>' cannot be used here: it belongs to own mode"),
        ("--schedule ssp", "'--schedule <SCHEDULE>' cannot be used here: it belongs to own mode"),
        ("--policy S --schedule bss", "it belongs to own mode"),
        ("--variant S", "'--variant <LIST>' cannot be used here: it belongs to own mode"),
        ("--mode own --transfers multicast", "own mode sends each block to who asks for it"),
        ("--mode own --in-flight 0", "`0` is not a number of instructions: write numbers from 1 to 65536"),
        ("--mode own --case 512s", "there is no case `512s`: use one of 256r1, 256r2, 128r, 256s, 128s"),
        ("--mode own --case 256s --nodes 5", "2, 4, 6 and 8 nodes only; set the latency by `--latency`"),
        ("--mode own --case 256s --blocks 4", "cannot be used with"),
        ("--mode own --variant S,X", "there is no version `X`: use one of S, R, D, M, G, N"),
        ("--mode own --variant S --policy S", "cannot be used with"),
        ("--mode own --latency -1", "a number of units from 0"),
        ("--mode own --schedule ssp", "a schedule is one of variants: add `--variant <LIST>`, or `--case <CASE>`"),
        (
            "--mode own --policy S --schedule ssp",
            "'--schedule <SCHEDULE>' cannot be used here: a schedule is one of variants",
        ),
        ("--mode own --case 256r2 --policy S --schedule ssp", "a schedule is one of variants"),
        ("--mode own --case none --blocks 8", "there is no case `none`: use one of 256r1"),
        ("--seed -1", "'--seed <N>': a whole number from 0 on"),
        ("--seed 18446744073709551616", "a whole number from 0 on"),
        ("--in-flight 4", "Usage: aurora simulate [OPTIONS]"),
        ("--reps -1", "from 1 to 1000000"),
        ("--blocks -1", "from 1 to 1024"),
        ("--label mine=1", "--json"),
    ] {
        let output = aurora(&format!("simulate {options}"));
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{options}");
        assert!(stderr(&output).contains(expected), "{options}: {}", stderr(&output));
    }
}

/// The speeds for these numbers of nodes and 7 policies would take 2 GB if they were all made at once.
#[test]
fn what_is_asked_for_takes_memory_when_it_is_simulated() {
    let counts = (0..1000).map(|count| (65_536 - count).to_string()).collect::<Vec<_>>().join(",");
    let line = format!(
        "ulimit -v 1500000; {} simulate --nodes {counts} --blocks 1 --reps 1 --json",
        env!("CARGO_BIN_EXE_aurora")
    );
    let output = Command::new("sh").args(["-c", &format!("{line} | head -n 1")]).output().expect("it starts");
    assert!(stdout(&output).contains("\"policy\":\"syn\""), "{}", stderr(&output));
}

#[test]
fn of_ranks_that_a_launcher_has_started_one_speaks() {
    let rank = |rank: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aurora"));
        let command = command.env("OMPI_COMM_WORLD_RANK", rank).env("OMPI_COMM_WORLD_SIZE", "2");
        command.args("simulate --nodes 2 --policy S --blocks 2 --reps 1".split(' ')).output().expect("it starts")
    };
    let (first, second) = (rank("0"), rank("1"));
    assert!(stdout(&first).contains("efficiency by nodes") && second.status.success());
    assert_eq!((stdout(&second), stderr(&second)), (String::new(), String::new()));
}
