//! The table, as Markdown.

use aurora_suite::figures::Table;
use aurora_suite::figures::job::Stage;
use aurora_suite::figures::judge::{Measured, Share};
use aurora_suite::figures::row::Job;
use aurora_suite::mpi::Flavour;
use aurora_suite::netlab::Shape;
use aurora_suite::{machine, markdown};

/// The medians of Aurora in both MPIs' jobs, and the best median of each MPI.
pub fn figures(measured: &Measured) -> [String; 2] {
    let (row, figure) = (measured.row, measured.row.figure);
    let median = |share: &Share| format!("**{}**", figure.show(share.value.median));
    let aurora: Vec<_> = measured.ours().map(median).collect();
    let best = measured.best().into_iter().map(|share| {
        let (who, value, run) = (share.who, median(share), measured.run(share));
        match row.job.stage {
            Stage::Lab(_) => format!("{} {value} ({who}, {})", run.starter(), run.setting),
            _ => format!("{who} {value}"),
        }
    });
    [format!("{} {}", aurora.join(" / "), figure.unit), best.collect::<Vec<_>>().join("; ")]
}

/// The place where a job runs.
fn place(Job { stage, ranks, .. }: Job) -> String {
    match stage {
        Stage::Lab(shape @ Shape { rate, mtu, queue_kb, .. }) => {
            format!("{ranks} nodes, {rate}, MTU {mtu}, port queue {queue_kb} KB, loss {} %", shape.percent())
        }
        Stage::Alone(Some(mtu)) => format!("Two processes on loopback, IP packets of {mtu} bytes"),
        _ => "This machine".into(),
    }
}

/// All measurements of a row.
fn details(Measured { row, outcomes, shares }: &Measured) -> String {
    let (name, title, place, words, figure) = (row.name, row.title(), place(row.job), row.job.words, row.figure);
    let cells = |Share { job, who, value, result, .. }: &Share| {
        let setup = outcomes[*job].run.setup();
        let named = |name: &str| result.figure(name).map(|spread| spread.median);
        let [cpu, seconds] = ["cpu_seconds", "seconds"].map(|name| named(name).unwrap_or_default());
        let [min, median, max] = [value.min, value.median, value.max].map(|value| figure.show(value));
        let [sent, resent] = ["packets_sent", "packets_resent"]
            .map(|name| named(name).map_or("-".into(), |packets| format!("{packets:.1}")));
        let share = cpu / seconds / machine::cores() as f64 * 100.0;
        let (cpu, share) = (format!("{cpu:.5}"), format!("{share:.0} %"));
        [setup, (*who).into(), min, median, max, cpu, share, sent, resent]
    };
    let columns =
        format!("job|implementation|min|median|max ({})|CPU seconds|of the cores|packets sent|resent", figure.unit);
    let table = markdown::table(&columns, shares.iter().map(cells));
    let jobs = outcomes.iter().map(|of| format!("- {}{}\n", of.run.setup(), of.seen.words(&of.run.variables)));
    let jobs: String = jobs.collect();
    format!("### {name}: {title}\n\n{place}: `aurora {words}`\n\n{table}\n{jobs}")
}

/// The section of `benches/RESULTS.md`.
pub fn section(table: &Table, reps: usize) -> String {
    let [openmpi, mpich] = Flavour::BOTH.map(Flavour::version);
    let (machine, commit, today) = (machine::description(), machine::commit(), machine::today());
    let details: Vec<String> = table.rows.iter().map(details).collect();
    format!(
        "Written by `tests/netlab/measure`; what the cluster is: [tests/netlab](../tests/netlab/README.md).\n\n\
         - Machine: {machine}.\n- Open MPI {openmpi}, MPICH {mpich}, TCP with cubic.\n- Commit {commit}, {today}; {}.\n\
         - {reps} repetitions, all implementations of a job in turns on the same data, every byte checked. Times \
         are the slowest\n  rank's, between barriers; the bound is the payload into the busiest node at the rate of \
         its link.\n\
         - Aurora: the medians beside Open MPI / beside MPICH; beside: the best median of each MPI.\n\
         - Cores busy: of the whole job, of both MPIs the one that took most; above 90 % a row tells of the cores. \
         In the details: what an\n  implementation took during its own turn, by its ranks' CPU time.\n\n\
         {}## Details\n\n{}",
        table.took,
        table.text(),
        details.join("\n"),
    )
}
