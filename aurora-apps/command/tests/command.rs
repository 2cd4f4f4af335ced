//! The `aurora` command as a user types it.

#[path = "command/checked.rs"]
mod checked;
#[path = "command/farm.rs"]
mod farm;
#[path = "command/observed.rs"]
mod observed;
#[path = "command/started.rs"]
mod started;
mod support;

use aurora_apps::implementation::{Implementation, Offer, Program};
use aurora_apps::job::{App, Job};
use aurora_apps::sor::{Problem, Sor};
use aurora_core::Config;
use serde_json::Value;
use std::process::Command;
use support::{aurora, stderr, stdout, with_figures};

#[test]
fn a_table_says_verified_once() {
    for line in [
        "mm2 --size 33 --reps 2 --ranks 3 --route local",
        "mm2 --size 33 --kernel dot --reps 1 --ranks 2 --route local",
        "psrs --keys 1000 --input zipf --reps 2 --ranks 3 --route local",
        "histogram --table 1000 --updates 5000 --reps 2 --ranks 3 --route local",
        "wordcount --bytes 10000 --words 300 --reps 2 --ranks 3 --route local",
        "indexgather --table 1000 --reads 3000 --reps 2 --ranks 3 --route local",
        "diffusion --rows 33 --cols 20 --steps 7 --reps 2 --ranks 3 --route local",
        "sor --size s --reps 2 --ranks 3 --route local",
        "sor --size s --impl pages --reps 2 --ranks 3 --route local",
        "sor --size s --impl treadmarks --reps 2 --ranks 3 --route local",
        "sparse-mm --size 70 --block 16 --reps 2 --ranks 3 --route local",
        "cholesky --size 70 --tile 16 --reps 2 --ranks 3 --route local",
        "tsp --instance gr17 --reps 2 --ranks 3 --route local",
    ] {
        let output = aurora(line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        let text = stdout(&output);
        assert_eq!(text.matches("verified").count(), 1, "{text}");
        assert!(text.contains("sharing") && text.contains("speed-up"), "{text}");
    }
}

#[test]
fn json_is_the_last_line() {
    let output = aurora("psrs --keys 5Ki --reps 3 --seed 9 --ranks 2 --route local --json");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let last = text.lines().last().expect("a line");
    let report = with_figures(last);
    assert_eq!(report["app"], "psrs");
    assert_eq!(report["impl"], "aurora");
    assert_eq!(report["ranks"], 2);
    assert_eq!(report["size"], 5 << 10);
    assert_eq!(report["reps"], 3);
    assert_eq!(report["seed"], 9);
    assert_eq!(report["verified"], true);
    for spread in ["seconds", "sharing_seconds"] {
        let of = |name: &str| report[spread][name].as_f64().expect("a number");
        assert!(of("min") <= of("median") && of("median") <= of("max"));
    }
    for number in ["sequential_seconds", "speedup", "messages", "bytes"] {
        assert!(report[number].is_number(), "{number}");
    }
    assert_eq!(report["phases"][0]["kind"], "computing");
    assert_eq!((&report["schema"], &report["version"]), (&1.into(), &env!("CARGO_PKG_VERSION").into()));
    assert!(report["commit"].is_string());
}

/// On 8 ranks that are processes: a barrier after each of 20 half-sweeps and one before them, and two edges of one page
/// over each of 7 borders.
#[test]
fn treadmarks_counts_by_causes() {
    let output = aurora("sor --size s --impl treadmarks --reps 1 --seed 5 --ranks 8 --json");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = with_figures(stdout(&output).trim());
    assert_eq!((&report["barrier_messages"], &report["diff_requests"]), (&(14 * 21).into(), &(14 * 20).into()));
    assert_eq!((&report["false_sharing"], &report["accumulated_bytes"]), (&0.into(), &0.into()));
    assert!(report["diff_bytes"].as_u64().is_some_and(|bytes| bytes <= 14 * 20 * 280), "{report}");
    // Ranks that are threads count the same.
    let implementations = vec![Implementation::Treadmarks];
    let job = Job { implementations, reps: 1, seed: Some(5), ..Job::of(Sor { problem: Problem::S }) };
    let threads = Config::threads(8).run(|world| Sor::run(world, &job, &mut |_| ())).expect("a job");
    assert_eq!(threads.main.measures.len(), 6);
    threads.main.measures.iter().for_each(|(cause, count)| assert_eq!(report[cause], *count, "{cause}"));
}

#[test]
fn a_wrong_result_is_exit_code_1() {
    for line in [
        "mm2 --size 33 --reps 1 --ranks 2 --route local --damage",
        "psrs --keys 1000 --reps 1 --ranks 2 --route local --damage",
        "histogram --table 1000 --updates 500 --impl accumulate --reps 1 --ranks 2 --route local --damage",
        "wordcount --bytes 1000 --words 30 --reps 1 --ranks 2 --route local --damage",
        "indexgather --table 1000 --reads 300 --reps 1 --ranks 2 --route local --damage",
        "diffusion --rows 9 --cols 9 --reps 1 --ranks 2 --route local --damage",
        "sor --size s --reps 1 --ranks 2 --route local --damage",
        "sor --size s --impl pages --reps 1 --ranks 2 --route local --damage",
        "sor --size s --impl treadmarks --reps 1 --ranks 2 --route local --damage",
        "sparse-mm --size 70 --block 16 --reps 1 --ranks 2 --route local --damage",
        "cholesky --size 70 --tile 16 --reps 1 --ranks 2 --route local --damage",
        "tsp --instance burma14 --reps 1 --ranks 2 --route local --damage",
    ] {
        let output = aurora(line);
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(stdout(&output).contains("NOT VERIFIED"));
        let output = aurora(&format!("{line} --json"));
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(stdout(&output).contains("\"verified\":false"));
    }
}

#[test]
fn wrong_arguments_are_exit_code_2_and_name_what_is_allowed() {
    let mpi: &[&str] = if cfg!(feature = "mpi") { &["--impl", "mpirun -n"] } else { &["--impl", "--features mpi"] };
    let cases: [(&str, &[&str]); 56] = [
        ("mm2 --impl mpi-alltoallv", &["--impl", "aurora", "mpi-collective"]),
        ("mm2 --impl aurora,mpi-collective", mpi),
        ("psrs --impl mpi-collective", mpi),
        ("psrs --impl aurora,aurora", &["--impl", "more than once"]),
        ("mm2 --kernel fast", &["--kernel", "tiled", "dot"]),
        ("psrs --input random", &["--input", "uniform", "zipf"]),
        ("mm2 --route tcp", &["--route", "auto", "local", "shm", "udp"]),
        ("mm2 --ranks 0", &["--ranks", "from 1 to 1024"]),
        ("mm2 --ranks x", &["--ranks", "a whole number from 1 to 1024"]),
        ("psrs --keys 1X", &["--keys", "a whole number from 0 on, also with K, M or G (thousands, millions"]),
        ("mm2 --ranks 2 --weights 1,2,3", &["'1,2,3'", "--weights", "3 weights for 2 ranks: give one for each rank"]),
        ("diffusion --ranks 2 --weights 0,0", &["'0,0'", "--weights", "all weights are 0"]),
        ("bench check-cost --limit 0", &["--limit", "seconds, more than 0"]),
        ("psrs --ranks 5000", &["--ranks", "from 1 to 1024"]),
        ("mm2 --size 0", &["--size", "from 1 "]),
        ("mm2 --size 4000000000", &["--size", "the most that fits"]),
        ("psrs --keys 9000000000000000", &["--keys", "the most that fits"]),
        ("psrs --keys -5", &["-5"]),
        ("mm2 --reps 0", &["--reps", "from 1 to "]),
        ("psrs --impl accumulate", &["--impl", "aurora, mpi-isend, mpi-collective, sequential, naive, rayon"]),
        ("histogram --impl rayon", &["--impl", "aurora, accumulate, mpi-isend, mpi-collective, sequential, naive"]),
        ("histogram --table 9000000000000000", &["--table", "the most that fits"]),
        ("wordcount --impl rayon", &["--impl", "aurora, mpi-collective, sequential, naive"]),
        ("wordcount --bytes 900000000000000", &["--bytes", "the most that fits"]),
        ("indexgather --impl rayon", &["--impl", "aurora, naive, sequential"]),
        ("indexgather --table 0", &["--table", "from 1 "]),
        ("indexgather --table 9000000000000000", &["--table", "the most that fits"]),
        ("indexgather --reads 9000000000000000", &["--reads", "the most that fits"]),
        (
            "mm2 --impl rayon",
            &["--impl", "aurora, aurora-whole, mpi-isend", "mpi-ring, mpi-collective, sequential, naive"],
        ),
        ("mm2 --weights 1,x", &["--weights", "a weight is a number, 0 or greater"]),
        ("diffusion --weights 1,-3", &["'-3'", "--weights", "a weight is a number, 0 or greater"]),
        ("diffusion --weights 1,,3", &["--weights", "a weight is a number, 0 or greater"]),
        ("diffusion --impl mpi-ring", &["--impl", "aurora, mpi-isend, mpi-collective, sequential, naive"]),
        ("diffusion --rows 0", &["--rows", "from 1 "]),
        ("diffusion --rows 4000000000 --cols 4000000000", &["--rows", "the most that fits"]),
        ("sor --size d", &["--size", "a, b, c, paper, s"]),
        ("sor --impl mpi-isend", &["--impl", "aurora, pages, treadmarks, naive, sequential"]),
        ("sor --impl aurora,naive", &["'naive'", "--impl", "runs the size `s`", "add `--size s`, or leave it out"]),
        ("sparse-mm --impl naive", &["--impl", "aurora, sequential"]),
        ("sparse-mm --size 0", &["--size", "from 1 to 1239842816"]),
        ("sparse-mm --size 1000000000 --block 32768", &["--size", "the most that fits"]),
        ("sparse-mm --size 40000 --block 1", &["'1'", "--block", "need blocks of at least 2 rows"]),
        ("sparse-mm --block 32769", &["--block", "from 1 to 32768"]),
        ("sparse-mm --density 101%", &["'101%'", "--density", "a fraction from 0 to 1"]),
        ("sparse-mm --density 12.5", &["'12.5'", "--density", "per cent with its sign"]),
        ("cholesky --size 0", &["--size", "from 1 to 2097152"]),
        ("cholesky --size 2000000 --tile 8192", &["--size", "the most that fits"]),
        ("cholesky --size 500 --tile 1", &["'1'", "--tile", "needs tiles of at least 2 rows"]),
        ("cholesky --policy best", &["--policy", "no policy `best`", "tail, ect"]),
        ("tsp --instance gr48", &["--instance", "burma14", "gr17", "gr21"]),
        ("tsp --cities 65", &["--cities", "from 1 to 64"]),
        ("tsp --cities 9 --file x.tsp", &["--cities", "--file"]),
        ("tsp --file no-such-file", &["'no-such-file'", "--file <X.tsp>", "cannot be read: No such file"]),
        ("tsp --file /dev/zero", &["'/dev/zero'", "--file <X.tsp>", "no ordinary file"]),
        ("tsp --file Cargo.toml", &["'Cargo.toml'", "--file <X.tsp>", "line"]),
        ("tsp --impl rayon", &["--impl", "aurora", "naive", "sequential"]),
    ];
    for (line, expected) in cases {
        let output = aurora(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        let text = stderr(&output);
        for part in expected {
            assert!(text.contains(part), "{line}: {part} is not in {text}");
        }
        assert!(!text.contains(".rs:") && !text.contains("..="), "{line}: {text}");
        assert_eq!(stdout(&output), "", "{line}");
    }
}

#[test]
fn a_program_takes_those_implementations_that_its_help_shows() {
    let shown = |line: &str| {
        let help = stdout(&aurora(&format!("{line} --help")));
        let list = help.split("--impl <IMPL>").nth(1).unwrap_or_else(|| panic!("{help}"));
        let list = list.split("[default: aurora]").next().expect("a list");
        let names = list.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split_once(':'));
        names.map(|(name, _)| name.to_string()).collect::<Vec<_>>()
    };
    let lines =
        ["mm2", "psrs", "histogram", "wordcount", "indexgather", "diffusion", "sor", "sparse-mm", "cholesky", "tsp"];
    for (line, program) in lines.into_iter().zip(Program::ALL) {
        let offered = program.implementations().iter().map(|of| of.name()).collect::<Vec<_>>();
        assert_eq!((program.name(), shown(line)), (line, offered.iter().map(|name| name.to_string()).collect()));
    }
    assert_eq!(shown("bench reads"), ["aurora", "mpi-alltoallv"]);
    assert_eq!(shown("bench stream"), ["aurora", "mpi-isend", "tcp"]);
}

#[test]
fn each_command_tells_the_version() {
    for line in ["--version", "mm2 --version", "bench put --version", "simulate --version"] {
        let output = aurora(line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        assert!(stdout(&output).contains(env!("CARGO_PKG_VERSION")), "{line}");
    }
}

#[test]
fn a_million_keys_are_a_million() {
    for (keys, size) in [("1M", 1_000_000), ("1e6", 1_000_000), ("1_000_000", 1_000_000), ("1Mi", 1 << 20)] {
        let output = aurora(&format!("psrs --keys {keys} --reps 1 --ranks 2 --route local --json"));
        let report = with_figures(stdout(&output).trim());
        assert_eq!(report["results"][0]["size"], size, "{keys}");
    }
}

#[test]
fn a_negative_number_is_refused_by_its_argument() {
    for (line, argument) in [
        ("mm2 --size -3", "--size <N>"),
        ("psrs --keys -1 --ranks 2", "--keys <N>"),
        ("diffusion --rows -4 --cols 3", "--rows <N>"),
        ("bench get --reps -2", "--reps <N>"),
        ("mm2 --ranks -2", "--ranks <N>"),
    ] {
        let output = aurora(line);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{line}: {text}");
        assert!(text.contains("invalid value '-") && text.contains(argument), "{line}: {text}");
    }
}

/// Scripts that compare an older build with a newer one use this to find the commands that a build has.
#[test]
fn help_comes_only_for_what_there_is() {
    let code = |line: &str| aurora(&format!("{line} --help")).status.code();
    for known in
        ["bench get --impl=aurora --reps=3", "bench read-cache --bytes=4194304", "mm2 --size=704 --impl=aurora"]
    {
        assert_eq!(code(known), Some(0), "{known}");
    }
    for unknown in ["juggle", "bench juggle", "bench get --bytes=8", "bench get --impl=juggler", "mm2 --size=x"] {
        assert_eq!(code(unknown), Some(2), "{unknown}");
    }
}

#[test]
fn a_launcher_with_another_size_is_refused_once() {
    let refused = |rank: &str| {
        Command::new(env!("CARGO_BIN_EXE_aurora"))
            .args(["mm2", "--ranks", "3"])
            .env("OMPI_COMM_WORLD_RANK", rank)
            .env("OMPI_COMM_WORLD_SIZE", "4")
            .output()
            .expect("the command starts")
    };
    let (first, second) = (refused("0"), refused("1"));
    assert_eq!((first.status.code(), second.status.code()), (Some(2), Some(2)));
    assert!(stderr(&first).contains("--ranks") && stderr(&first).contains('4'));
    assert_eq!(stderr(&second), "");
}

#[test]
fn info_tells_the_ranks() {
    let output = aurora("info --ranks 2 --route local --json");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let info: Value = serde_json::from_str(stdout(&output).trim()).expect("an object");
    assert_eq!(info["ranks"], 2);
    assert_eq!(info["launcher"], "threads");
    assert!(info["udp"].is_null());

    let output = aurora("info --ranks 2 --route udp");
    let text = stdout(&output);
    for line in ["launcher", "nodes", "receive buffer", "MTU", "GSO"] {
        assert_eq!(text.matches(line).count(), 1, "{line} in {text}");
    }
}

#[test]
fn a_rank_that_is_bound_to_a_core_is_on_the_same_machine() {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("a list");
    let core = allowed.trim().split([',', '-']).next().expect("a core");
    let report = |words: &[&str]| -> Value {
        let output = Command::new(words[0]).args(&words[1..]).args(["info", "--ranks=1", "--json"]).output();
        serde_json::from_slice(&output.expect("it starts").stdout).expect("an object")
    };
    let (free, bound) =
        (report(&[env!("CARGO_BIN_EXE_aurora")]), report(&["taskset", "-c", core, env!("CARGO_BIN_EXE_aurora")]));
    assert_eq!((&bound["machine"], &bound["cores"]), (&free["machine"], &free["cores"]));
    assert_eq!(bound["allowed_cores"], 1);
}

#[test]
fn a_job_of_processes_speaks_with_one_voice() {
    for line in [
        "mm2 --size 65 --reps 1 --ranks 3",
        "psrs --keys 10007 --input few --reps 1 --ranks 2 --route udp",
        "tsp --cities 9 --reps 2 --ranks 3 --route udp",
    ] {
        let output = aurora(line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", stderr(&output));
        assert_eq!(stdout(&output).matches("verified").count(), 1);
        assert_eq!(stderr(&output), "", "{line}");

        let output = aurora(&format!("{line} --damage --json"));
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert_eq!(stdout(&output).lines().count(), 1);
        assert_eq!(stderr(&output), "", "{line}");
    }
}

#[test]
fn a_histogram_says_what_each_behaviour_gains() {
    let line = "histogram --table 300 --updates 400 --reps 1 --ranks 2 --impl naive,accumulate,aurora --route udp";
    let output = aurora(line);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("histogram 300 counters, updates 400, accumulate: 2 ranks"), "{text}");
    for name in ["aurora", "accumulate"] {
        let ratio = text.lines().find(|line| line.ends_with(&format!("times as long as by `{name}`")));
        assert!(ratio.is_some_and(|ratio| ratio.starts_with("without a behaviour it takes")), "{text}");
    }
    let report = with_figures(stdout(&aurora(&format!("{line} --json"))).trim());
    assert_eq!((&report["impl"], &report["updates"]), (&"aurora".into(), &400.into()));
    let results = report["results"].as_array().expect("a list");
    assert!(results.iter().all(|result| result["verified"] == true && result["messages"].is_number()), "{report}");
}

#[test]
fn reads_without_a_gather_say_how_much_longer_they_take() {
    let line = "indexgather --table 3000 --reads 500 --reps 1 --ranks 2 --impl naive,aurora,sequential --route udp";
    let output = aurora(line);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("indexgather 3000 random, reads 500, naive: 2 ranks"), "{text}");
    assert_eq!(text.matches("without a behaviour it takes").count(), 1, "{text}");
    let report = with_figures(stdout(&aurora(&format!("{line} --json"))).trim());
    assert_eq!((&report["impl"], &report["reads"]), (&"aurora".into(), &500.into()));
    let results = report["results"].as_array().expect("a list");
    assert!(results.iter().all(|result| result["verified"] == true), "{report}");
    // The naive program sends each of its remote reads by itself.
    let messages = |of: usize| results[of]["messages"].as_u64().expect("a number");
    assert!(messages(0) > 10 * messages(1), "{report}");
}

#[test]
fn a_program_without_its_behaviour_says_how_much_longer_it_takes() {
    let output = aurora("diffusion --rows 40 --cols 30 --steps 9 --reps 1 --ranks 2 --impl aurora,naive --route udp");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("diffusion 40 fixed, cols 30, steps 9, naive: 2 ranks"), "{text}");
    assert!(text.contains("without a behaviour it takes"), "{text}");
}

#[test]
fn a_job_that_sends_says_how_much() {
    let output = aurora("mm2 --size 64 --reps 2 --ranks 2 --route udp --json");
    let report = with_figures(stdout(&output).trim());
    // Half of a 64 x 64 matrix from each of two ranks, in each of two stages.
    assert!(report["bytes"].as_u64().expect("a number") >= 2 * 64 * 64 * 4);
    assert!(report["messages"].as_u64().expect("a number") >= 4);
}

#[test]
fn a_variable_that_cannot_be_is_exit_code_2_as_an_argument_is() {
    for (name, value) in [("AURORA_ROUTE", "tcp"), ("AURORA_RUOTE", "udp")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aurora"));
        let output = command.args(["mm2", "--size", "4", "--ranks", "2"]).env(name, value).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(name), "{}", stderr(&output));
    }
}

#[test]
fn ranks_that_gain_nothing_say_why() {
    // Two processes gain nothing for data this small.
    let output = aurora("mm2 --size 8 --reps 3 --ranks 2 --route udp");
    let text = stdout(&output);
    let line = text.lines().find(|line| line.starts_with("speed-up")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("% of a repetition is sharing") || line.contains("no faster together"), "{text}");
    let alone = stdout(&aurora("mm2 --size 8 --reps 3 --ranks 1"));
    assert!(!alone.contains("% of a repetition") && !alone.contains("no faster together"), "{alone}");
}

#[test]
fn shells_complete_the_words() {
    for shell in ["bash", "zsh", "fish"] {
        let output = aurora(&format!("completions {shell}"));
        let text = stdout(&output);
        assert!(output.status.success() && text.contains("check-cost") && text.contains("mpi-alltoallv"), "{text}");
    }
}

#[test]
fn results_that_cannot_be_written_are_exit_code_1() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has one");
    let mut command = Command::new(env!("CARGO_BIN_EXE_aurora"));
    let command = command.args(["mm2", "--size", "4", "--ranks", "1", "--reps", "1", "--json"]).stdout(full);
    let output = command.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("cannot be written to standard output"), "{text}");
}
