//! A comparison as Markdown: a line for each row, and a summary.

use super::Finding;
use super::count::{self, Counted};
use super::judgement::{Judgement, Verdict};
use crate::choice::Choice;
use crate::figures::row::Row;
use crate::{machine, markdown};

/// The heading of its section in a file of results.
pub const HEADING: &str = "# Measured against another build";

/// The head of the table.
pub const HEAD: &str = "row|what|old: median (min..max)|new: median|new / old|old / old|verdict|counted";

/// A row of the table.
pub fn line(row: &Row, finding: &Finding) -> String {
    let none = || "-".to_string();
    let [old, new, ratio, own, verdict, counted] = match finding {
        Finding::New(why) => {
            [none(), none(), none(), none(), format!("new row: the old build does not know it ({why})"), none()]
        }
        Finding::Failed(why) => [none(), none(), none(), none(), format!("**failed**: {why}"), none()],
        Finding::Judged(Judgement { old, new, ratio, own, verdict }, counted) => {
            let verdict = if *verdict == Verdict::Slower { format!("**{verdict}**") } else { verdict.to_string() };
            let [least, middle, most, new] =
                [old.min, old.median, old.max, new.median].map(|value| row.figure.show(value));
            let (unit, own) = (row.figure.unit, format!("+-{:.1} %", own * 100.0));
            let (old, new) = (format!("{middle} ({least}..{most}) {unit}"), format!("{new} {unit}"));
            [old, new, format!("{ratio:.3}"), own, verdict, count::words(counted)]
        }
    };
    markdown::line(&[row.name.into(), row.title(), old, new, ratio, own, verdict, counted])
}

/// The last lines, and true if no row is slower and no row failed.
pub fn summary(found: &[(&str, Finding)]) -> (String, bool) {
    let named = |what: &str, is_it: &dyn Fn(&Finding) -> bool| {
        let names: Vec<_> = found.iter().filter(|(_, finding)| is_it(finding)).map(|(name, _)| *name).collect();
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    };
    let is = |finding: &Finding, of: Verdict| matches!(finding, Finding::Judged(found, _) if found.verdict == of);
    let differs = |finding: &Finding| match finding {
        Finding::Judged(_, counted) => counted.iter().any(Counted::is_another_number),
        _ => false,
    };
    let fine = [
        named("new rows", &|finding| matches!(finding, Finding::New(_))),
        named("faster", &|finding| is(finding, Verdict::Faster)),
        named("counts differ", &differs),
    ];
    let bad = [
        named("failed", &|finding| matches!(finding, Finding::Failed(_))),
        named("slower", &|finding| is(finding, Verdict::Slower)),
    ];
    let is_fine = bad.iter().all(Option::is_none);
    let last = bad[1].is_none().then(|| "no row is slower".to_string());
    let lines: Vec<_> = fine.into_iter().chain(bad).chain([last]).flatten().collect();
    (lines.join("\n"), is_fine)
}

/// The section for the file of results.
pub fn section(choice: &Choice, took: &str, table: &str, summary: &str) -> String {
    format!(
        "- Machine: {}.\n- Commit {}, {}, against another build; {took}.\n\
         - {} turns of old, new, old, on the same data within a turn; {} repetitions in a run unless the row has\n  \
           fewer, every byte checked.\n\n{table}\n{}\n",
        machine::description(),
        machine::commit(),
        machine::today(),
        choice.turns(),
        choice.reps(),
        summary.lines().map(|line| format!("- {line}\n")).collect::<String>(),
    )
}
