//! `aurora simulate` as a user types it.

#[path = "simulate/arguments.rs"]
mod arguments;
#[path = "simulate/search.rs"]
mod search;
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
    let both = of("--reps 2 --seed 7");
    let mean = both["efficiency"].as_f64().expect("a number");
    assert!(one != other && ((one + other) / 2.0 - mean).abs() < 1e-12, "{one} {other} {mean}");
    // The sample standard deviation of two values.
    let spread = ["deviation", "min", "max"].map(|key| both["spread"]["efficiency"][key].as_f64().expect("a number"));
    let expected = [(one - other).abs() / 2.0_f64.sqrt(), one.min(other), one.max(other)];
    assert!(spread.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{spread:?}");
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

/// The mean of 8 numbers that are drawn evenly from 0 to 1000 has a mean of 500, and a standard deviation of
/// 1000 / sqrt(12 x 8). Alone, a node computes their sum.
#[test]
fn spreads_are_those_of_the_distribution_that_is_drawn_from() {
    for (blocks, draws) in [(1, 1.0_f64), (2, 8.0)] {
        let line = format!("simulate --nodes 1 --policy S --blocks {blocks} --work 1000 --reps 20000 --seed 3 --json");
        let point = &objects(&line)[0];
        let number = |value: &Value| value.as_f64().expect("a number") / draws;
        let spread = &point["spread"]["makespan"];
        let [mean, deviation, least, most] =
            [&point["makespan"], &spread["deviation"], &spread["min"], &spread["max"]].map(number);
        let expected = 1000.0 / (12.0 * draws).sqrt();
        // The standard errors are 0.7 % of the deviation for the mean, and at most 0.5 % for the deviation.
        assert!((mean - 500.0).abs() < 0.04 * expected, "{draws}: {mean}");
        assert!((deviation / expected - 1.0).abs() < 0.03, "{draws}: {deviation} {expected}");
        assert!(
            least < 500.0 - 3.0 * expected.min(166.0) && most > 500.0 + 3.0 * expected.min(166.0),
            "{least} {most}"
        );
        let exact = &point["spread"]["efficiency"];
        assert_eq!((&exact["deviation"], &exact["min"], &exact["max"]), (&0.0.into(), &1.0.into(), &1.0.into()));
    }
    let table = stdout(&aurora("simulate --nodes 1,2 --policy S --blocks 2 --work 1000 --reps 50 --spread"));
    let seconds = table.split("seconds by nodes").nth(1).expect("seconds").lines().skip(1).take(4);
    let rows: Vec<Vec<&str>> = seconds.map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), ["S", "deviation", "min", "max"], "{table}");
    let [mean, deviation, least, most] = [0, 1, 2, 3].map(|row| rows[row][1].parse::<f64>().expect("a number"));
    assert!(least + deviation < mean && mean + deviation < most && deviation > 0.0, "{table}");
}

#[test]
fn what_is_not_drawn_is_run_once() {
    let reps = |line: &str| {
        let all = objects(&format!("simulate --nodes 4 --blocks 4 --json {line}"));
        all.iter().map(|point| (point["policy"].as_str().expect("text").to_string(), point["reps"].clone())).collect()
    };
    let all: Vec<(String, Value)> = reps("--costs equal --reps 3");
    let expected = [("syn", 1), ("S", 1), ("R", 3), ("SR", 3), ("SS", 3), ("tail", 1), ("ect", 1)];
    assert_eq!(all, expected.map(|(policy, reps)| (policy.to_string(), reps.into())));
    let drawn: Vec<(String, Value)> = reps("--reps 3 --policy S,tail");
    assert!(drawn.iter().all(|(_, reps)| *reps == 3), "{drawn:?}");

    let case = "simulate --mode own --case 256r2 --nodes 2";
    let (equal, drawn) = (stdout(&aurora(case)), stdout(&aurora(&format!("{case} --costs drawn --reps 4"))));
    assert!(equal.contains("one run: nothing is drawn, so all repetitions would be equal"), "{equal}");
    assert!(drawn.contains("means of 4 repetitions from seed 0 on") && drawn.contains("largest standard"), "{drawn}");
    let some = stdout(&aurora("simulate --nodes 4 --blocks 4 --costs equal --policy S,R"));
    assert!(some.contains("means of 16 repetitions from seed 0 on\nS: one run, because nothing is drawn"), "{some}");
    assert!(some.contains("64 instructions of 10000 units, 250 units to send"), "{some}");
}

/// `tests/tables` has the tables of the version before the options of size, spread and cost, without the simulator's
/// own time. The first line is the command.
#[test]
fn tables_and_seeds_of_before_give_the_same_values() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tables");
    let mut compared = 0;
    for file in fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path()) {
        let before = fs::read_to_string(&file).expect("text");
        let (command, tables) = before.split_once('\n').expect("a command");
        let now = stdout(&aurora(command.trim_start_matches("aurora ")));
        for table in tables.split("\n\n").map(str::trim).filter(|table| !table.is_empty()) {
            assert!(now.contains(&format!("\n{table}\n")), "{command}\nbefore:\n{table}\nnow:\n{now}");
            compared += 1;
        }
    }
    assert_eq!(compared, 92);
}

#[test]
fn sizes_and_a_bandwidth_give_the_cost_of_a_block() {
    let line =
        "simulate --nodes 4 --policy S --reps 1 --json --instruction 20 --rows 32768 --density 5% --bandwidth 155";
    let point = &objects(&format!("{line} --blocks 64"))[0];
    // Blocks of 512 x 512: 13107 numbers of 12 bytes and 513 ends of rows, in 18 packets with 98 bytes around each.
    assert_eq!((&point["bytes"], &point["work"]), (&159_336.into(), &40_000.into()));
    assert_eq!(point["load"].as_f64(), Some(f64::from(159_336 + 18 * 98) * 8.0 / 155.0));
    // The result has no zeros: 512 x 512 numbers of 8 bytes take less than compressed rows.
    assert_eq!(point["result_bytes"], 2_097_152);
    let own = objects(&format!("{line} --blocks 8 --mode own --load 0 --dispatcher 7"));
    let bytes =
        objects(&line.replace("--rows 32768 --density 5%", "--block-bytes 10200000 --mode own --load 0 --blocks 8"));
    assert_eq!((&own[0]["bytes"], &own[0]["dispatcher"]), (&10_082_720.into(), &7.0.into()));
    assert!(bytes[0]["load_time"].as_f64() > own[0]["load_time"].as_f64(), "{} {}", bytes[0], own[0]);
    let text = stdout(&aurora(&line.replace("--json ", "").replace("--nodes 4", "--nodes 4 --blocks 64")));
    let about = "matrices of 32768 x 32768, blocks of 512 x 512 with 5 % non-zeros: 159336 bytes, 8.315 ms on a link \
                 of 155 Mbit/s";
    assert!(text.contains(about), "{text}");
}

#[test]
fn the_dispatcher_s_time_and_results_that_stay_change_what_they_should() {
    let makespan = |line: &str| {
        let all = objects(&format!("simulate --mode own --nodes 8 --json {line}"));
        all.iter().map(|point| point["makespan"].as_f64().expect("a number")).collect::<Vec<_>>()
    };
    let (free, busy) = (makespan("--case 128s"), makespan("--case 128s --dispatcher 100"));
    assert!(free.iter().zip(&busy).all(|(free, busy)| *busy > 1.5 * free), "{free:?} {busy:?}");
    let share =
        |line: &str| objects(&format!("simulate --mode own --nodes 8 --json {line}"))[0]["dispatcher_busy"].clone();
    assert!(share("--case 128s") == 0.0 && share("--case 128s --dispatcher 100").as_f64() > Some(0.9));
    let (float, stay) = (makespan("--case 256r2"), makespan("--case 256r2 --results-stay"));
    // Only the second version, R, updates results remotely.
    assert!(float[0] == stay[0] && float[1] != stay[1] && float[2] == stay[2], "{float:?} {stay:?}");
}

#[test]
fn statements_of_the_papers_are_compared() {
    let text = |line: &str| stdout(&aurora(&format!("simulate {line}")));
    let case = text("--mode own --case 256r2");
    for part in [
        "4 x 4 blocks of the result (eP 16), 64 instructions each (aP), blocks of 256 x 256; 18.5 ms an ",
        "  agrees     D is faster than S in most cases, but not on very few nodes (Figure 2)\n  dis",
        "  disagrees  R is slower than S (Figure 2)\n             not on 2 nodes: R 4.747, S 5.073 s\n",
        "not on 8 nodes: R 1.239, S 2.943 s\n",
        "with `--results-stay` it stays with the owner",
    ] {
        assert!(case.contains(part), "{part}: {case}");
    }
    let policies = text("--mode own --case 256r2 --policy S,R --nodes 8 --reps 1");
    assert!(!policies.contains("statements of"), "the policy R is not the version R: {policies}");
    let two = text("--mode own --case 256s --nodes 2");
    assert!(!two.contains("D is faster than S"), "{two}");
    // The other cases, in which the paper is right.
    let wins = text("--mode own --case 128r --nodes 8 --results-stay");
    assert!(wins.contains("  agrees     R is slower than S") && wins.contains("here it stays with"), "{wins}");
    let model = text("--mode own --case s2 --nodes 8 --reps 2");
    assert!(model.contains("model of an experiment that the paper on super-programming ran on real nodes"), "{model}");
    assert!(model.contains("  agrees     8 threads are considerably faster than 4"), "{model}");
    let paper = text("--speeds 1:3 --nodes 2,64 --reps 2");
    assert!(paper.contains("  agrees     syn has more imbalance than all") && paper.contains("  in part "), "{paper}");
    for other in ["--blocks 8 --nodes 2 --reps 1", "--load 100 --nodes 2 --reps 1", "--nodes 2 --reps 1 --policy tail"]
    {
        assert!(!text(other).contains("statements of"), "{other}");
    }
}

#[test]
fn clusters_are_compared_with_the_first() {
    let text = stdout(&aurora("simulate --nodes 2,4 --policy S,R --reps 2 --speeds homogeneous --speeds 1:3:5"));
    assert_eq!(text.matches("seconds by nodes").count(), 2, "{text}");
    let seconds = |cluster: usize| text.split("seconds by nodes").nth(cluster).expect("seconds");
    let gain = text.split("gain by nodes").nth(1).expect("a gain");
    let number =
        |of: &str, column: usize| of.lines().nth(1).and_then(|row| row.split_whitespace().nth(column)?.parse().ok());
    let of: Option<Vec<f64>> = [seconds(1), seconds(2), gain].iter().map(|of| number(of, 1)).collect();
    let [one, other, gain]: [f64; 3] = of.expect("numbers").try_into().expect("three");
    assert!(
        (one / other - gain).abs() < 1e-3 && text.contains("gain: seconds on homogeneous / seconds on 1:3:5"),
        "{text}"
    );
    assert!(text.contains("\n  (sums of speeds)       2.000     2.500\n"), "{text}");
    let own = objects("simulate --speeds 1:3 --speeds 2:6 --nodes 4 --policy S --reps 1 --blocks 8 --json");
    let speedup = |at: usize| own[at]["speedup"].as_f64().expect("a number");
    assert!((speedup(1) / speedup(0) - 2.0).abs() < 1e-9 && own[1]["power"] == 16.0, "{own:?}");
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
