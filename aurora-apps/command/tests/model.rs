//! `aurora model` as a user types it.

mod support;

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use support::{aurora, stderr, stdout};

const TABLE_2: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../aurora-super/data/table-2-tsp.tsv");
const TABLE_3: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../aurora-super/data/table-3-mm.tsv");

/// Returns the output for a file with these options, whose values may have spaces.
fn shown(file: &str, options: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_aurora")).args(["model", file]).args(options).output();
    let output = output.expect("it starts");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{options:?}");
    stdout(&output)
}

/// Returns the words of the line that begins with `begin`.
fn line<'t>(text: &'t str, begin: &str) -> Vec<&'t str> {
    let found = text.lines().find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("no `{begin}` in {text}"));
    found[begin.len()..].split_whitespace().collect()
}

/// Returns the output for a table on standard input.
fn shown_of(text: &str, options: &[&str]) -> String {
    let output = fed(text, options);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{options:?}");
    stdout(&output)
}

/// Returns the exit code and the text on standard error, with `text` on standard input.
fn piped(text: &str, options: &[&str]) -> (Option<i32>, String) {
    let output = fed(text, options);
    (output.status.code(), stderr(&output))
}

fn fed(text: &str, options: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_aurora"))
        .args(["model", "-"])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    child.wait_with_output().expect("it ends")
}

#[test]
fn table_2_is_recomputed_and_its_two_errors_are_found() {
    let text = shown(TABLE_2, &["--predict", "SH=6, CSNT=2"]);
    assert_eq!(line(&text, "SH "), ["35609.729", "1.000000", "1"]);
    assert_eq!(line(&text, "CSNT "), ["37839.885", "0.941063", "0.9411"]);
    let rows = [
        ("4", "1 1 0 35609.729 3560.9729 1.000000 1 100.0000 100 0.0000 0.0000"),
        ("5", "1 0 1 37839.885 0.941063 0.941063 100.0000 100 0.0589 0.0589"),
        ("6", "2 0 2 18765.547 1.897612 1.897612 100.8228 97.7615 0.1179 0.0589"),
        ("7", "2 2 0 18068.563 1.970811 1.970811 98.5406 98.5406 0.0000 0.0000"),
        ("8", "4 2 2 14112.931 2.523199 2.523199 64.9953 64.9953 0.0589 0.0295"),
        ("9", "6 4 2 7782.309 4.575728 4.575728 77.7904 77.7904 0.0589 0.0196"),
        ("10", "8 6 2 5633.393 6.321187 6.321187 80.1965 80.1965 0.0589 0.0147"),
    ];
    for (number, row) in rows {
        assert_eq!(line(&text, &format!("line {number} ")).join(" "), row);
    }
    assert!(text.contains("\nH   heterogeneity, equation (7): ") && text.contains("\nH'  the same sum / "), "{text}");
    // Digits are marked under the two numbers, and nowhere else.
    let marks: Vec<_> = text
        .lines()
        .zip(text.lines().skip(1))
        .filter(|(_, marks)| marks.starts_with("  ") && marks.contains('^'))
        .collect();
    assert_eq!(marks.len(), 2, "{text}");
    for ((row, marks), (wrong, differ)) in marks.iter().zip([("3560.9729", "^^^^ ^^^^"), ("97.7615", "^^ ^^^^")]) {
        let at = row.find(wrong).expect("the number");
        assert_eq!((&marks[at..], marks[..at].trim()), (differ, ""), "{text}");
    }
    for part in [
        "within the rounding of the printed times: 0 numbers",
        "in contradiction to the rest of the table: 2 numbers",
        "- line 4, column `seconds`: 3560.9729 contradicts the speed-up 1 in its row: by the other rows, a run \
         with this speed-up takes 35609.727. With the decimal point moved it is 35609.729\n",
        "- line 6, column `efficiency`: 97.7615 has the wrong denominator: it fits 1.897612 / 1.941063, with the power of SH=1,CSNT=1. \
         The run is on CSNT=2: by (6) 1.897612 / 1.882127 = 100.8228 %\n",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(
        text.contains("77.7904    6.1315  5807.637  5633.393     +3.09  SH=4,CSNT=2, the nearest measured"),
        "{text}"
    );
    assert!(text.contains("through 4 runs, deviation 12.2 %"), "{text}");

    let printed = shown(TABLE_2, &["--as-printed"]);
    assert_eq!(line(&printed, "CSNT "), ["37839.885", "0.094106", "0.9411"]);
    let (row, marks) = printed
        .lines()
        .zip(printed.lines().skip(1))
        .find(|(row, _)| row.starts_with("CSNT "))
        .expect("the row of CSNT and its marks");
    assert_eq!(marks, format!("{}^^^", " ".repeat(row.len() - 4)), "{printed}");
    let finding = "- line 11, column `CSNT`: the power weight 0.9411 is wrong: by (2) it is 0.0941. Correct it, or the \
                   time on one processor of CSNT or of the fastest machine\n";
    assert!(printed.contains(finding), "{printed}");
}

#[test]
fn predictions_say_what_they_come_from() {
    for (from, efficiency, seconds, verdict) in [
        ("77.8%", "77.8000", "5806.918", "given"),
        ("SH=4,CSNT=2", "77.7904", "5807.637", "SH=4,CSNT=2"),
        ("SH=6,CSNT=2", "80.1965", "5633.393", "SH=6,CSNT=2"),
        ("curve", "62.7732", "7196.991", "curve"),
    ] {
        let text = shown(TABLE_2, &["--predict", "SH=6,CSNT=2", "--from", from]);
        let words = line(&text, "SH=6,CSNT=2 ");
        assert_eq!((words[0], words[2], words[5]), (efficiency, seconds, verdict), "{text}");
        assert_eq!(text.matches("SH=6,CSNT=2 ").count(), 1, "{text}");
    }
    let text = shown(TABLE_2, &["--predict", "SH=24", "--predict", "CSNT=3,SH=24"]);
    assert!(line(&text, "SH=24 ").ends_with(&["nearest", "measured"]) && text.contains("SH=24,CSNT=3 "), "{text}");
}

#[test]
fn an_efficiency_far_above_100_per_cent_has_a_warning() {
    let warned = |file: &str, options: &[&str]| shown(file, options).contains("is far above 100 %: check the times");
    assert!(warned(TABLE_3, &["--predict", "SH=6", "--from", "150%"]));
    // Two processors of CSNT have 100.8 %.
    assert!(!warned(TABLE_2, &["--predict", "CSNT=2", "--from", "CSNT=2"]));
}

#[test]
fn doubtful_predictions_have_warnings() {
    let warnings = |text: &str| text.lines().filter(|line| line.starts_with("warning: ")).map(String::from).collect();
    let shown_2 = |options: &[&str]| -> Vec<String> { warnings(&shown(TABLE_2, options)) };
    let none: [&str; 0] = [];
    assert_eq!(shown_2(&["--predict", "SH=6,CSNT=2", "--predict", "CSNT=1"]), none);
    assert_eq!(shown_2(&["--predict", "SH=24", "--from", "77.8%"]), none);
    let extrapolated = "warning: SH=24: 24 processors are more than those of any run on several processors (2 to 8): \
                        the efficiency is extrapolated";
    assert_eq!(shown_2(&["--predict", "SH=24"]), [extrapolated]);
    assert_eq!(shown_2(&["--predict", "SH=24", "--from", "SH=4,CSNT=2"]), [extrapolated]);

    let table = "a b seconds\n1 0 10\n0 1 20\n4 0 3\n";
    let text = shown_of(table, &["--predict", "a=3,b=1"]);
    assert_eq!(
        warnings(&text),
        [
            "warning: a=3,b=1: no run on several processors uses b: the efficiency is that of other machines",
            "warning: a=3,b=1: the curve goes through one run, so its deviation says nothing about its error: measure \
             another configuration",
        ]
    );
    assert!(text.contains("through 1 run\n") && !text.contains("deviation 0"), "{text}");
    let json: Value = serde_json::from_str(&shown_of(table, &["--predict", "a=3,b=1", "--json"])).expect("an object");
    let counts = [0, 1].map(|index| json["predictions"][index]["warnings"].as_array().map(Vec::len));
    assert_eq!(counts, [Some(1), Some(2)], "{json}");
}

#[test]
fn table_3_and_its_farm() {
    let text = shown(TABLE_3, &["--farm", "36", "--predict", "RCF=32"]);
    assert!(text.contains("within the rounding of the printed times: 11 numbers"), "{text}");
    assert_eq!(
        text.matches("column `efficiency`: 1 is a fraction where per cent is expected: 100.00").count(),
        3,
        "{text}"
    );
    assert_eq!(line(&text, "line 11 ")[7..], ["63.9149", "63.9152", "0.7830", "0.1958"]);
    assert!(text.contains("farm of 36 equal units, each 7.366389 s on CSNT"), "{text}");
    assert_eq!(line(&text, "SH=3,CSNT=3 "), ["55.708", "46.80", "46.80", "45.46", "1.00"]);
    assert_eq!(line(&text, "SH=6,RCF=3,CSNT=3 "), ["42.992", "44.87", "31.20", "27.48", "1.44"]);
    assert_eq!(line(&text, "SH=13,CSNT=3 "), ["34.591", "23.40", "23.40", "17.36", "1.00"]);
    assert!(text.lines().last().is_some_and(|last| last.starts_with("RCF=32 ")), "{text}");

    // Ten times as many units of the same size: no run has measured this.
    let text = shown(TABLE_3, &["--farm", "360", "--unit-seconds", "7.3663889"]);
    assert_eq!(line(&text, "SH=6,RCF=3,CSNT=3 ")[2..], ["274.78", "1.04"]);
}

#[test]
fn small_numbers_keep_their_digits() {
    let table = "a b seconds\n1 0 0.0012345678\n0 1 1234.5678\n0 4 400\n4 0 0.00041\n100000 1 0.0000001\n";
    let output = shown_of(table, &["--predict", "a=3", "--from", "a=4", "--farm", "7"]);
    // 75.2785 % of three processors: 0.0012345678 / (3 * 0.752785).
    assert_eq!(line(&output, "a=3 ")[..3], ["75.2785", "2.2584", "0.00054667"], "{output}");
    assert_eq!(line(&output, "b "), ["1234.5678", "0.0000010000"], "{output}");
    assert_eq!(line(&output, "line 6 ")[3..], ["0.0000001", "12345.6780", "12.35", "0.5000", "0.00001000"], "{output}");
    assert_eq!(line(&output, "line 4 ")[3..5], ["400", "0.000003086"], "{output}");
    assert!(output.contains("farm of 7 equal units, each 0.00017637 s on a"), "{output}");
    assert_eq!(line(&output, "a=4 ")[1..], ["0.00035273", "0.00035273", "0.00030864", "1.00"], "{output}");
}

#[test]
fn json_has_all_of_it() {
    let text = shown(TABLE_2, &["--json", "--predict", "SH=6,CSNT=2", "--farm", "9"]);
    let model: Value = serde_json::from_str(&text).expect("one object");
    assert_eq!(text.lines().count(), 1);
    let finding = |index: usize, key: &str| model["findings"][index][key].as_str().expect("text").to_string();
    assert_eq!((finding(0, "kind"), finding(0, "corrected")), ("decimal_point".into(), "35609.729".into()));
    assert_eq!((finding(1, "kind"), finding(1, "taken")), ("denominator".into(), "SH=1,CSNT=1".into()));
    assert_eq!(model["findings"].as_array().map(Vec::len), Some(2));
    assert!(finding(1, "text").starts_with("line 6, column `efficiency`"));
    assert_eq!(model["machines"][1]["name"], "CSNT");
    assert_eq!(model["machines"][1]["printed_power_weight"], "0.9411");
    assert_eq!(model["machines"][1]["agreement"], "equal");
    assert_eq!(model["runs"][0]["row"]["line"], 4);
    assert_eq!(model["runs"][0]["printed_seconds"], "3560.9729");
    assert_eq!(model["runs"][2]["efficiency"]["agreement"], "contradiction");
    assert_eq!(model["runs"][3]["efficiency"]["agreement"], "equal");
    let round = |value: &Value, places: usize| format!("{:.places$}", value.as_f64().expect("a number"));
    assert_eq!(round(&model["runs"][2]["efficiency"]["recomputed"], 4), "100.8228");
    assert_eq!(model["predictions"][0]["from"]["nearest"], "SH=4,CSNT=2");
    assert_eq!(round(&model["predictions"][1]["from"]["curve"]["serial_fraction"], 4), "0.0847");
    assert_eq!(model["farm"]["units"], 9);
    assert!(model["farm"]["configurations"][0]["first_come"].is_number());
}

#[test]
fn a_table_of_times_alone_from_standard_input() {
    let table = "a b seconds\n1 0 10\n0 1 20\n2 2 4\n";
    assert_eq!(piped(table, &["--predict", "a=3"]), (Some(0), String::new()));
    let json = r#"[{"a": 1, "seconds": 10}, {"a": 2, "seconds": 5.5}]"#;
    assert_eq!(piped(json, &["--json"]), (Some(0), String::new()));
}

#[test]
fn arguments_that_do_not_fit_are_exit_code_2_and_say_what_does() {
    for (options, expected) in [
        (
            "--predict SH=6,CNST=2",
            "'--predict <CONFIGURATION>': there is no machine `CNST` (did you mean `CSNT`?); the table has SH, CSNT",
        ),
        ("--predict SH=0", "machine SH: `0` is not a number of processors: write a whole number from 1 to 4294967295"),
        (
            "--predict SH=99999999999",
            "`99999999999` is not a number of processors: write a whole number from 1 to 4294967295",
        ),
        ("--predict SH", "`SH` is not MACHINE=PROCESSORS: write a configuration as SH=2,CSNT=2"),
        ("--predict SH=1,SH=2", "`SH` is named twice: name it once"),
        ("--predict SH=1,SH=2", "Usage: aurora model [OPTIONS] <FILE>"),
        ("--predict ,", "the configuration has no processors"),
        (
            "--predict SH=6 --from SH=5",
            "'--from <ORIGIN>': no run has the configuration SH=5; the measured ones are SH=1; CSNT=1; CSNT=2",
        ),
        ("--predict SH=6 --from CSTN=5", "did you mean `CSNT`?"),
        (
            "--predict SH=6 --from 0%",
            "`0%` is not an efficiency: write per cent, a positive number and `%`, for example 77.8%",
        ),
        ("--predict SH=6 --from NaN%", "`NaN%` is not an efficiency"),
        (
            "--predict SH=6 --from 77.8",
            "'--from <ORIGIN>': write a configuration (SH=2,CSNT=2), per cent with its sign (`77.8%`), or `curve`",
        ),
        ("--predict SH=6 --from curv", "invalid value 'curv' for '--from <ORIGIN>': write a configuration"),
        ("--from curve", "--predict"),
        ("--farm -3", "from 1 to 10000000"),
        ("--farm 9 --unit-seconds 1e308", "`1e308` is not the time of a unit: write seconds"),
        ("--farm 0", "from 1 to 10000000"),
        ("--farm 9 --unit-seconds 0", "'--unit-seconds <SECONDS>': unit: `0` is not the time of a unit: write seconds"),
        ("--farm 9 --unit-seconds -1", "`-1` is not the time of a unit"),
        ("--farm 9 --unit-seconds nan", "`NaN` is not the time of a unit"),
        ("--unit-seconds 3", "--farm"),
    ] {
        let output = aurora(&format!("model {TABLE_2} {options}"));
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{options}");
        assert!(stderr(&output).contains(expected), "{options}: {}", stderr(&output));
    }
    let alone = "a seconds\n1 3\n";
    let (code, output) = piped(alone, &["--predict", "a=2"]);
    assert!(
        code == Some(2) && output.contains("no other run has more than one processor") && output.contains("85%"),
        "{output}"
    );
    assert_eq!(aurora("model").status.code(), Some(2));
}

#[test]
fn a_file_that_is_no_table_is_exit_code_1_and_is_told_with_its_place() {
    for (table, expected) in [
        ("", "error: standard input: the table has no columns: its first line names the columns"),
        (
            "a seconds\n1 x\n",
            "error: standard input: line 2, column `seconds`: `x` is not an elapsed time: write seconds",
        ),
        ("a seconds\n1 0\n", "line 2, column `seconds`: `0` is not an elapsed time"),
        ("a seconds\n1 NaN\n", "line 2, column `seconds`: `NaN` is not an elapsed time"),
        ("SH CSNT seconds\n1 0 3\n2 2 1\n", "CSNT has no reference time: add a run on one processor of CSNT alone"),
        (
            "[{\"a\": 1,\n \"seconds\": }]",
            "error: standard input: line 2, column 13: expected value. Write a list of runs",
        ),
    ] {
        let (code, output) = piped(table, &[]);
        assert!(code == Some(1) && output.contains(expected), "{output}");
    }
    let output = aurora("model /nowhere/table.tsv");
    assert!(stderr(&output).starts_with("error: /nowhere/table.tsv: cannot be read: "), "{}", stderr(&output));
    assert_eq!(output.status.code(), Some(1));
    let output = aurora("model /dev/zero");
    assert!(stderr(&output).contains("/dev/zero: longer than 1 MiB, so no table of runs"), "{}", stderr(&output));
}

#[test]
fn of_ranks_that_a_launcher_has_started_one_speaks() {
    let ranks = |rank: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aurora"));
        let command =
            command.args(["model", TABLE_2]).env("OMPI_COMM_WORLD_RANK", rank).env("OMPI_COMM_WORLD_SIZE", "2");
        command.output().expect("it starts")
    };
    let (first, second) = (ranks("0"), ranks("1"));
    assert!(stdout(&first).contains("power weight") && second.status.success());
    assert_eq!((stdout(&second), stderr(&second)), (String::new(), String::new()));
}
