//! The rows of `tests/netlab/measure`.

use aurora_apps::bench::{By, Operation};
use aurora_suite::figures::job::Stage;
use aurora_suite::figures::row::Reach::{self, Limit};
use aurora_suite::figures::row::{Figure, Job, Row, Scale, row};
use aurora_suite::netlab::Shape;

/// 155 Mbit/s, MTU 9000, 128 KB queue: the paper's network.
pub const PAPER: Shape = Shape { rate: "155mbit", queue_kb: 128, mtu: 9000, lost_of_thousand: 0 };
pub const SMALL: Shape = Shape { mtu: 1500, ..PAPER };
pub const FAST: Shape = Shape { rate: "1gbit", ..PAPER };

const MICROS: Figure = Figure { digits: Some(1), ..Figure::new("seconds", "us", 1e6) };
const CPU: Figure = Figure { digits: Some(4), ..Figure::new("cpu_seconds", "CPU s", 1.0) };
const OF_BOUND: Figure = Figure::time("x bound", Scale::OfBound);
const GIGABYTES: Figure = Figure::time("GB/s", Scale::Bytes(64 << 20));

/// Two processes of this machine over loopback, because shared memory is not measured here; or a lab, if it is named.
const fn job(words: &'static str, payload: Option<Operation>) -> Job {
    Job { stage: Stage::Alone(Some(1500)), ranks: 2, words, fewer: 1, payload }
}

const fn load(words: &'static str, bytes: usize) -> Job {
    job(words, Some(Operation::ReadCache { bytes, late: None }))
}

const fn gather(words: &'static str, by: By) -> Job {
    job(words, Some(Operation::Gather { bytes: 1 << 20, by }))
}

const fn lossy(of_thousand: usize) -> Shape {
    Shape { lost_of_thousand: of_thousand, ..SMALL }
}

const fn lab(nodes: usize, shape: Shape, job: Job) -> Job {
    Job { stage: Stage::Lab(shape), ranks: nodes, ..job }
}

const LOAD_512: Job = load("bench read-cache --bytes=1048576 --impl=aurora,mpi-collective,mpi-isend", 1_048_576);
const LOAD_704: Job = load("bench read-cache --bytes=1982464 --impl=aurora,mpi-collective,mpi-isend", 1_982_464);
const LOAD_2048: Job = load("bench read-cache --bytes=16777216 --impl=aurora,mpi-collective,mpi-isend", 16_777_216);
const LATE: Job =
    load("bench read-cache --bytes=1982464 --late-rank-ms=100 --impl=aurora,mpi-collective,mpi-isend", 1_982_464);
const EXCHANGE: Operation = Operation::Exchange { keys: 8_000_000 };
const KEYS: Job = job("bench exchange --keys=8000000 --impl=aurora,mpi-collective,mpi-isend", Some(EXCHANGE));
const GATHER: Job = gather("bench gather --bytes=1048576 --impl=aurora,mpi-collective,mpi-isend", By::Push);
const PULL: Job = gather("bench gather --bytes=1048576 --pull --impl=aurora,mpi-collective,mpi-isend", By::Pull);
const COMPUTING: Job = job("bench get --target=computing --impl=aurora,mpi-isend", None);
const IDLE: Job = job("bench get --target=idle --impl=aurora,mpi-isend", None);
const REDUCE_8: Job = job("bench all-reduce --bytes=8 --impl=aurora,mpi-collective", None);
const REDUCE_8K: Job = job("bench all-reduce --bytes=8192 --impl=aurora,mpi-collective", None);
const REDUCE_1M: Job = job("bench all-reduce --bytes=1048576 --impl=aurora,mpi-collective", None);
const STREAM: Job = job("bench stream --bytes=67108864 --route=udp --impl=aurora,tcp", None);

const STEADY: Reach = Reach::Steady(1.05, 1.05);
const COLLECTIVE: Reach = Reach::NoWorse("mpi-collective", "Open MPI's collective");
const TCP: Reach = Reach::NoWorse("tcp", "TCP");

/// All rows.
pub const ROWS: [Row; 21] = [
    row("load-4", "ReadCache of 704 x 704 i32", lab(4, PAPER, LOAD_704), OF_BOUND, STEADY),
    row("load-8", "ReadCache of 704 x 704 i32", lab(8, PAPER, LOAD_704), OF_BOUND, STEADY),
    row("load-16", "ReadCache of 704 x 704 i32", lab(16, PAPER, LOAD_704), OF_BOUND, STEADY),
    row("load-16-cpu", "CPU seconds of a ReadCache of 704 x 704 i32", lab(16, PAPER, LOAD_704), CPU, COLLECTIVE),
    row("load-512", "ReadCache of 512 x 512 i32", lab(16, PAPER, LOAD_512), OF_BOUND, Limit(1.08)),
    row("exchange-4", "exchange of 8 M keys", lab(4, PAPER, KEYS), OF_BOUND, Limit(1.05)),
    row("exchange-8", "exchange of 8 M keys", lab(8, PAPER, KEYS), OF_BOUND, Limit(1.05)),
    row("exchange-16", "exchange of 8 M keys", lab(16, PAPER, KEYS), OF_BOUND, Limit(1.05)),
    row("mtu-1500", "MTU 1500, ReadCache of 704 x 704", lab(8, SMALL, LOAD_704), OF_BOUND, Limit(1.10)),
    row("gigabit", "1 Gbit/s, ReadCache of 16 MiB", lab(4, FAST, LOAD_2048), OF_BOUND, Limit(1.05)),
    row("loss-0.1", "MTU 1500, 0.1 % loss, ReadCache of 704 x 704", lab(4, lossy(1), LOAD_704), OF_BOUND, Limit(1.08)),
    row("loss-1", "MTU 1500, 1 % loss, ReadCache of 704 x 704", lab(4, lossy(10), LOAD_704), OF_BOUND, Limit(1.15)),
    row("late", "ReadCache of 704 x 704, one rank 100 ms late, from then", lab(8, PAPER, LATE), OF_BOUND, Limit(1.05)),
    row("gather", "15 ranks send 1 MiB each to one", lab(16, PAPER, GATHER), OF_BOUND, Limit(1.08)),
    row("gather-pull", "one rank reads 1 MiB from each of 15", lab(16, PAPER, PULL), OF_BOUND, Limit(1.08)),
    row("get-computing", "1 Gbit/s, `at` of 8 bytes, target computes", lab(2, FAST, COMPUTING), MICROS, Limit(25.0)),
    row("get-idle", "1 Gbit/s, `at` of 8 bytes, target idle", lab(2, FAST, IDLE), MICROS, Limit(60.0)),
    row("reduce-8", "`all_reduce` of 8 bytes", lab(4, PAPER, REDUCE_8), MICROS, COLLECTIVE),
    row("reduce-8k", "`all_reduce` of 8 KiB", lab(4, PAPER, REDUCE_8K), MICROS, COLLECTIVE),
    row("reduce-1m", "`all_reduce` of 1 MiB", lab(4, PAPER, REDUCE_1M), MICROS, COLLECTIVE),
    row("stream", "64 MiB over loopback, datagrams of 1472 bytes", STREAM, GIGABYTES, TCP),
];

#[cfg(test)]
mod tests {
    use super::*;
    use aurora_suite::results;

    #[test]
    fn the_results_have_each_row() {
        let results = results::read(results::FILE).expect("they are there");
        let missing = ROWS.iter().find(|row| !results.contains(&format!("\n### {}: {}\n", row.name, row.title())));
        assert!(missing.is_none(), "run tests/netlab/measure: {missing:?}");
    }

    #[test]
    fn the_payload_is_that_of_the_words() {
        for row in ROWS.iter().filter(|row| row.bound().is_some()) {
            let Row { job: Job { words, ranks, .. }, .. } = *row;
            let size = words.split(['=', ' ']).find_map(|word| word.parse::<usize>().ok()).expect("a size") as f64;
            let Stage::Lab(shape) = row.job.stage else { panic!("a lab") };
            let into = row.bound().unwrap_or_default() * shape.bits_per_second() / 8.0;
            let of_size = match row.job.command() {
                "read-cache" => (ranks - 1) as f64 / ranks as f64,
                "gather" => (ranks - 1) as f64,
                // Each key has 4 bytes. A rank keeps its share of its own keys, and some ranks get a little more.
                _ => 4.0 * (ranks - 1) as f64 / (ranks * ranks) as f64,
            };
            assert!((1.0..1.02).contains(&(into / size / of_size + 1e-9)), "{words}: {into} of {size}");
        }
        assert!(ROWS.iter().all(|row| row.starts_together() == (row.name != "late")));
    }
}
