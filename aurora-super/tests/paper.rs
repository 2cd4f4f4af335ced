//! The paper's Tables 2 and 3 and its prediction, recomputed.

use aurora_super::model::{Agreement, Farm, Finding, Measurements, Review, read};

const TABLE_2: &str = include_str!("../data/table-2-tsp.tsv");
const TABLE_3: &str = include_str!("../data/table-3-mm.tsv");

/// Columns of a file's runs, as text.
fn printed(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().filter(|line| !line.starts_with(['#', 'P'])).skip(1);
    lines.map(|line| line.split('\t').collect()).collect()
}

/// Prints a value with as many digits after the point as `like` has.
fn as_printed(value: f64, like: &str) -> String {
    format!("{value:.*}", like.split_once('.').map_or(0, |(_, digits)| digits.len()))
}

fn review(text: &str) -> Review {
    Review::corrected(&read(text).expect("a table"))
}

#[test]
fn table_2_to_the_last_digit_but_for_its_two_errors() {
    let table = review(TABLE_2).measurements;
    let mut different = Vec::new();
    for (run, cells) in table.runs().iter().zip(printed(TABLE_2)) {
        let recomputed = [
            as_printed(run.seconds().value(), cells[3]),
            as_printed(table.speedup(run), cells[4]),
            as_printed(table.efficiency(run).percent(), cells[5]),
        ];
        different.extend(recomputed.into_iter().zip(cells[3..].to_vec()).filter(|(ours, theirs)| ours != theirs));
    }
    assert_eq!(different, [("35609.7290".into(), "3560.9729"), ("100.8228".into(), "97.7615")]);
    assert_eq!(format!("{:.4?}", table.machines().weights()), "[1.0000, 0.9411]");
}

#[test]
fn table_2_s_errors_are_found_by_rules() {
    let review = review(TABLE_2);
    let [
        Finding::DecimalPoint { printed, corrected, .. },
        Finding::Denominator { taken, configuration, recomputed, .. },
    ] = &review.findings[..]
    else {
        panic!("{:#?}", review.findings);
    };
    assert_eq!((printed.to_string(), corrected.to_string()), ("3560.9729".into(), "35609.729".into()));
    assert_eq!((taken.as_str(), configuration.as_str()), ("SH=1,CSNT=1", "CSNT=2"));
    assert_eq!(format!("{recomputed:.4}"), "100.8228");
    // With the number as printed, the weight of CSNT would be a tenth.
    let as_printed = Review::as_printed(&read(TABLE_2).unwrap()).measurements;
    assert_eq!(format!("{:.3?}", as_printed.machines().weights()), "[1.000, 0.094]");
}

#[test]
fn the_power_weights_of_both_tables_are_equal_to_the_recomputed_ones() {
    for (text, printed) in [(TABLE_2, &["1", "0.9411"][..]), (TABLE_3, &["0.94", "0.33", "1"])] {
        let review = review(text);
        let weights = review.measurements.printed_weights().expect("a row PW").weights();
        assert_eq!(weights.iter().map(ToString::to_string).collect::<Vec<_>>(), printed);
        assert!(review.weights.iter().all(|weight| *weight == Some(Agreement::Equal)), "{:?}", review.weights);
    }
    // The misprinted time makes the weight of CSNT a tenth of the printed one.
    let found = Review::as_printed(&read(TABLE_2).expect("a table")).findings;
    let Some(Finding::PowerWeight { machine, recomputed, .. }) = found.last() else { panic!("{found:#?}") };
    assert_eq!((machine.as_str(), format!("{recomputed:.4}")), ("CSNT", "0.0941".into()));
}

#[test]
fn each_digit_of_table_2_counts() {
    let original = review(TABLE_2);
    let body = TABLE_2.find("efficiency\n").expect("a head") + "efficiency\n".len();
    let mut flipped = 0;
    for (at, digit) in TABLE_2.char_indices().skip(body).filter(|(_, c)| c.is_ascii_digit()) {
        let (line, column) =
            TABLE_2[..at].rsplit_once('\n').map(|(_, cells)| (cells, cells.matches('\t').count())).unwrap();
        let place = line.rsplit('\t').next().unwrap().chars().filter(char::is_ascii_digit).count();
        // From the seventh digit on a time is known better than six digits of a speed-up can tell.
        if column < 3 || column == 3 && place > 5 {
            continue;
        }
        let other = char::from_digit((digit.to_digit(10).unwrap() + 1) % 10, 10).unwrap().to_string();
        let text = format!("{}{other}{}", &TABLE_2[..at], &TABLE_2[at + 1..]);
        let changed = Review::corrected(&read(&text).expect("a table"));
        assert_ne!(changed.findings, original.findings, "{line}|{digit} -> {other}");
        flipped += 1;
    }
    assert_eq!(flipped, 121);
}

#[test]
fn table_3_to_four_digits_and_the_rest_within_the_rounding_of_its_times() {
    let review = review(TABLE_3);
    let table = &review.measurements;
    assert_eq!(format!("{:.6?}", table.machines().weights()), "[0.944308, 0.328348, 1.000000]");
    let efficiency: Vec<String> =
        table.runs().iter().map(|run| format!("{:.4}", table.efficiency(run).percent())).collect();
    let recomputed = ["92.7474", "64.6394", "88.1850", "81.6119", "63.9149", "50.1862"];
    assert_eq!(efficiency, [["100.0000"; 3].as_slice(), &recomputed].concat());
    for (ours, cells) in efficiency.iter().zip(printed(TABLE_3)).skip(3) {
        let four = |text: &str| format!("{:.2}", text.parse::<f64>().unwrap());
        // 92.7474 and 92.7448 are both 92.75 and 92.74: four digits agree, rounded, to one unit.
        let units = |text: &str| four(text).replace('.', "").parse::<i32>().unwrap();
        assert!((units(ours) - units(cells[6])).abs() <= 1, "{ours} {}", cells[6]);
    }
    assert!(
        review
            .speedups
            .iter()
            .chain(&review.efficiencies[3..])
            .all(|agreement| { matches!(agreement, Some(Agreement::Equal | Agreement::Rounding)) })
    );
    // The column is in per cent, and on one processor says 1.
    assert!(matches!(
        &review.findings[..],
        [Finding::Fraction { .. }, Finding::Fraction { .. }, Finding::Fraction { .. }]
    ));
    // The paper: "the direct efficiency (speedup / No. of processors) is 51%".
    let twelve = &table.runs()[7];
    assert_eq!(format!("{:.2}", 100.0 * table.speedup(twelve) / 12.0), "51.40");
}

#[test]
fn heterogeneity_exceeds_1_by_equation_7_and_not_by_processor() {
    let (tsp, mm) = (review(TABLE_2).measurements, review(TABLE_3).measurements);
    let figures = |table: &Measurements, configuration: &str| {
        let machines = table.machines();
        let configuration = machines.configuration(configuration).unwrap();
        let (of_machines, of_processors) = (
            machines.heterogeneity(&configuration).unwrap(),
            machines.heterogeneity_per_processor(&configuration).unwrap(),
        );
        format!("{of_machines:.4} {of_processors:.4}")
    };
    assert_eq!(figures(&tsp, "CSNT=2"), "0.1179 0.0589");
    assert_eq!(figures(&tsp, "SH=2,CSNT=2"), "0.0589 0.0295");
    assert_eq!(figures(&mm, "RCF=3"), "2.0150 0.6717");
    assert_eq!(figures(&mm, "SH=6,RCF=3,CSNT=3"), "0.7830 0.1958");
    assert_eq!(figures(&mm, "SH=13,CSNT=3"), "0.3620 0.0452");
}

#[test]
fn the_prediction_for_six_and_two() {
    let table = review(TABLE_2).measurements;
    let to = table.machines().configuration("SH=6,CSNT=2").unwrap();
    let prediction = table.predict(&to, "77.8%".parse().unwrap()).unwrap();
    assert_eq!(format!("{:.4}, {:.1} s", prediction.speedup, prediction.seconds), "6.1323, 5806.9 s");
    let measured = table.run(&to).unwrap().seconds().value();
    assert_eq!(format!("{:+.2} %", 100.0 * (prediction.seconds / measured - 1.0)), "+3.08 %");

    let nearest = table.nearest(&to).unwrap();
    assert_eq!(nearest.configuration().to_string(), "SH=4,CSNT=2");
    // The efficiency of this problem does not fall with the processors, and the curve says that it does not fit.
    let curve = table.curve(&to).unwrap();
    assert_eq!(curve.runs, 4);
    assert_eq!(format!("{:.4} {:.3}", curve.serial_fraction, curve.deviation), "0.0847 0.122");
}

#[test]
fn a_slow_processor_should_not_take_a_last_unit() {
    let table = review(TABLE_3).measurements;
    let farm = Farm::of(&table, 36.try_into().unwrap());
    let figures = |configuration: &str| {
        let makespans =
            farm.makespans(table.machines(), &table.machines().configuration(configuration).unwrap()).unwrap();
        format!("{:.2} {:.2} {:.2}", makespans.first_come, makespans.earliest_completion, makespans.ideal)
    };
    assert_eq!(figures("SH=3,CSNT=3"), "46.80 46.80 45.46");
    assert_eq!(figures("SH=6,RCF=3,CSNT=3"), "44.87 31.20 27.48");
    assert_eq!(figures("SH=13,CSNT=3"), "23.40 23.40 17.36");
}
