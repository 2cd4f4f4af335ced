//! The counters as tables for people.

use super::{Cost, Costs, Kind, Stats, join};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// With more ranks than this a table has rows for the minimum, the median and the maximum.
const MOST_ROWS: usize = 8;

/// The counters of all ranks of a job, in rank order.
pub(crate) struct Job<'a>(pub(crate) &'a [Stats]);

/// A row of the table of ranks.
struct Row {
    /// Elapsed, computing, sharing, waiting.
    seconds: [f64; 4],
    /// Messages, bytes, packets, and packets sent again.
    numbers: [u64; 4],
}

impl Row {
    fn of(stats: &Stats) -> Self {
        let Stats { computing, sharing, waiting, traffic, .. } = stats;
        Row {
            seconds: [stats.elapsed(), *computing, *sharing, *waiting].map(|time| time.as_secs_f64()),
            numbers: [traffic.transfers_out, traffic.bytes_out, traffic.packets_out, traffic.packets_resent],
        }
    }

    /// Sorts each column by itself and takes the values at `place`.
    fn nth(rows: &[Row], place: usize) -> Self {
        let seconds = |column: usize| {
            let mut values: Vec<f64> = rows.iter().map(|row| row.seconds[column]).collect();
            values.sort_by(f64::total_cmp);
            values[place]
        };
        let number = |column: usize| {
            let mut values: Vec<u64> = rows.iter().map(|row| row.numbers[column]).collect();
            values.sort_unstable();
            values[place]
        };
        Row { seconds: [0, 1, 2, 3].map(seconds), numbers: [0, 1, 2, 3].map(number) }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, name: &str, digits: usize) -> fmt::Result {
        let Row { seconds, numbers: [messages, bytes, packets, resent] } = self;
        write!(f, "{name:<7}")?;
        seconds.iter().try_for_each(|time| write!(f, "{time:>13.digits$}"))?;
        writeln!(f, "{messages:>11}{:>12}{packets:>10}{resent:>8}", megabytes(*bytes))
    }
}

impl fmt::Display for Job<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<Row> = self.0.iter().map(Row::of).collect();
        let longest = self.0.iter().map(Stats::elapsed).max().unwrap_or_default();
        // A phase takes microseconds, a job perhaps days.
        let digits = if longest < Duration::from_secs(1000) { 6 } else { 3 };
        writeln!(
            f,
            "{:<7}{:>13}{:>13}{:>13}{:>13}{:>11}{:>12}{:>10}{:>8}",
            "rank", "seconds", "computing", "sharing", "waiting", "messages", "MB", "packets", "resent"
        )?;
        if rows.len() > MOST_ROWS {
            let last = rows.len() - 1;
            for (name, place) in [("least", 0), ("middle", last / 2), ("most", last)] {
                Row::nth(&rows, place).write(f, name, digits)?;
            }
        } else {
            for (row, stats) in rows.iter().zip(self.0) {
                row.write(f, &stats.rank.index().to_string(), digits)?;
            }
        }
        let (mut job, mut objects) = (Costs::new(), BTreeMap::<&str, Costs>::new());
        for stats in self.0 {
            join(&mut job, &stats.job);
            for (name, costs) in &stats.objects {
                join(objects.entry(name).or_default(), costs);
            }
        }
        let whom = if rows.len() > 1 { "all ranks together" } else { "this rank" };
        writeln!(f, "{whom:<49}{:>11}{:>12}{:>10}{:>18}", "messages", "MB", "waits", "seconds")?;
        // The highest costs first.
        let mut objects: Vec<_> = objects.into_iter().collect();
        let weight = |costs: &Costs| {
            let mut total = Cost::default();
            costs.values().for_each(|cost| total.add(cost));
            (total.waiting, total.bytes)
        };
        objects.sort_by_key(|(_, costs)| std::cmp::Reverse(weight(costs)));
        for (name, costs) in objects.iter().map(|(name, costs)| (*name, costs)).chain([("no object", &job)]) {
            writeln!(f, "{name}")?;
            for kind in Kind::ALL {
                if let Some(cost) = costs.get(&kind) {
                    write_cost(f, kind, cost, digits)?;
                }
            }
        }
        Ok(())
    }
}

fn write_cost(f: &mut fmt::Formatter<'_>, kind: Kind, cost: &Cost, digits: usize) -> fmt::Result {
    let Cost { messages, bytes, waits, waiting } = *cost;
    let (megabytes, seconds) = (megabytes(bytes), waiting.as_secs_f64());
    writeln!(f, "  {kind:<47}{messages:>11}{megabytes:>12}{waits:>10}{seconds:>18.digits$}")
}

fn megabytes(bytes: u64) -> String {
    format!("{:.3}", bytes as f64 / 1e6)
}

/// A table: times and messages, and the costs of each object by kind.
impl fmt::Display for Stats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Job(std::slice::from_ref(self)).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::stats;
    use super::*;

    #[test]
    fn a_few_ranks_have_a_row_each_and_objects_the_sum_of_all() {
        let all = [stats(0, 1), stats(1, 2)];
        let table = Job(&all).to_string();
        let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["0", "0.009000", "0.005000", "0.002000", "0.002000", "2", "0.000", "0", "0"]);
        assert_eq!(lines[2][0], "1");
        assert_eq!(lines[4], ["a", "vector"]);
        assert_eq!(lines[5], ["load", "3", "0.000", "2", "0.003000"]);
        assert_eq!(lines[6..8], [vec!["no", "object"], vec!["barrier", "3", "0.000", "2", "0.003000"]]);
        assert_eq!(lines.len(), 8);
        assert!(table.lines().all(|line| line.len() <= 100), "{table}");
    }

    #[test]
    fn a_short_phase_has_digits_and_a_long_job_room() {
        let short = Stats { computing: Duration::from_micros(7), ..stats(0, 0) }.to_string();
        assert!(short.contains(" 0.000007 "), "{short}");
        let days = Duration::from_secs(640_000);
        let waits = Cost { waits: 12, waiting: days, ..Cost::default() };
        let long = Stats { job: [(Kind::Barrier, waits)].into(), computing: days, ..stats(0, 1) }.to_string();
        let row = ["barrier", "0", "0.000", "12", "640000.000"];
        assert!(long.lines().any(|line| line.split_whitespace().eq(row)), "{long}");
        assert!(long.lines().all(|line| line.len() <= 100), "{long}");
    }

    #[test]
    fn many_ranks_have_the_least_the_middle_and_the_most() {
        let all: Vec<Stats> = (0..21).map(|rank| stats(rank, 100 - rank as u64)).collect();
        let table = Job(&all).to_string();
        let messages = |line: &str| line.split_whitespace().nth(5).map(str::to_string);
        let counts: Vec<_> = table.lines().skip(1).take(3).map(messages).collect();
        assert_eq!(counts, ["160", "180", "200"].map(|number| Some(number.to_string())));
    }
}
