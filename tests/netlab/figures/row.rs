//! The rows of `tests/netlab/measure`.

use aurora_apps::bench::{By, Operation};
use aurora_suite::figures::job::Stage;
use aurora_suite::figures::row::{Figure, Job, Reach, Row, Unit};
use aurora_suite::netlab::Shape;

/// 155 Mbit/s, MTU 9000, 128 KB queue: the paper's network.
pub const PAPER: Shape = Shape { rate: "155mbit", queue_kb: 128, mtu: 9000, lost_of_thousand: 0 };
pub const SMALL: Shape = Shape { mtu: 1500, ..PAPER };
pub const FAST: Shape = Shape { rate: "1gbit", ..PAPER };

/// An operation in words; its payload, if the rate of a link bounds it.
type Words = (&'static str, Option<Operation>);

const fn load(words: &'static str, bytes: usize) -> Words {
    (words, Some(Operation::ReadCache { bytes, late: None }))
}

const fn gather(words: &'static str, by: By) -> Words {
    (words, Some(Operation::Gather { bytes: 1 << 20, by }))
}

const LOAD_512: Words = load("bench read-cache --bytes=1048576 --impl=aurora,mpi-collective,mpi-isend", 1_048_576);
const LOAD_704: Words = load("bench read-cache --bytes=1982464 --impl=aurora,mpi-collective,mpi-isend", 1_982_464);
const LOAD_2048: Words = load("bench read-cache --bytes=16777216 --impl=aurora,mpi-collective,mpi-isend", 16_777_216);
const LATE: Words =
    load("bench read-cache --bytes=1982464 --late-rank-ms=100 --impl=aurora,mpi-collective,mpi-isend", 1_982_464);
const KEYS: Words = (
    "bench exchange --keys=8000000 --impl=aurora,mpi-collective,mpi-isend",
    Some(Operation::Exchange { keys: 8_000_000 }),
);
const GATHER: Words = gather("bench gather --bytes=1048576 --impl=aurora,mpi-collective,mpi-isend", By::Push);
const PULL: Words = gather("bench gather --bytes=1048576 --pull --impl=aurora,mpi-collective,mpi-isend", By::Pull);
const COMPUTING: Words = ("bench get --target=computing --impl=aurora,mpi-isend", None);
const IDLE: Words = ("bench get --target=idle --impl=aurora,mpi-isend", None);
const REDUCE_8: Words = ("bench all-reduce --bytes=8 --impl=aurora,mpi-collective", None);
const REDUCE_8K: Words = ("bench all-reduce --bytes=8192 --impl=aurora,mpi-collective", None);
const REDUCE_1M: Words = ("bench all-reduce --bytes=1048576 --impl=aurora,mpi-collective", None);

const STEADY: Reach = Reach::Steady(1.05, 1.05);
const COLLECTIVE: Reach = Reach::NoWorse("mpi-collective", "Open MPI's collective");

/// All of them.
pub const ROWS: [Row; 21] = [
    row("load-4", "ReadCache of 704 x 704 i32", lab(4, PAPER, LOAD_704), STEADY),
    row("load-8", "ReadCache of 704 x 704 i32", lab(8, PAPER, LOAD_704), STEADY),
    row("load-16", "ReadCache of 704 x 704 i32", lab(16, PAPER, LOAD_704), STEADY),
    CPU,
    row("load-512", "ReadCache of 512 x 512 i32", lab(16, PAPER, LOAD_512), Reach::AtMost(1.08)),
    row("exchange-4", "exchange of 8 M keys", lab(4, PAPER, KEYS), Reach::AtMost(1.05)),
    row("exchange-8", "exchange of 8 M keys", lab(8, PAPER, KEYS), Reach::AtMost(1.05)),
    row("exchange-16", "exchange of 8 M keys", lab(16, PAPER, KEYS), Reach::AtMost(1.05)),
    row("mtu-1500", "MTU 1500, ReadCache of 704 x 704", lab(8, SMALL, LOAD_704), Reach::AtMost(1.10)),
    row("gigabit", "1 Gbit/s, ReadCache of 16 MiB", lab(4, FAST, LOAD_2048), Reach::AtMost(1.05)),
    row("loss-0.1", "MTU 1500, 0.1 % loss", lab(4, lossy(1), LOAD_704), Reach::AtMost(1.08)),
    row("loss-1", "MTU 1500, 1 % loss", lab(4, lossy(10), LOAD_704), Reach::AtMost(1.15)),
    row("late", "a rank enters 100 ms late; from then", lab(8, PAPER, LATE), Reach::AtMost(1.05)),
    row("gather", "15 ranks send 1 MiB each to one", lab(16, PAPER, GATHER), Reach::AtMost(1.08)),
    row("gather-pull", "the same, read by the one", lab(16, PAPER, PULL), Reach::AtMost(1.08)),
    row("get-computing", "1 Gbit/s, `at` of 8 bytes, target computes", lab(2, FAST, COMPUTING), Reach::AtMost(25.0)),
    row("get-idle", "1 Gbit/s, `at` of 8 bytes, target idle", lab(2, FAST, IDLE), Reach::AtMost(60.0)),
    row("reduce-8", "`all_reduce` of 8 bytes", lab(4, PAPER, REDUCE_8), COLLECTIVE),
    row("reduce-8k", "`all_reduce` of 8 KiB", lab(4, PAPER, REDUCE_8K), COLLECTIVE),
    row("reduce-1m", "`all_reduce` of 1 MiB", lab(4, PAPER, REDUCE_1M), COLLECTIVE),
    row("stream", "64 MiB over loopback, datagrams of 1472 bytes", STREAM, Reach::NoWorse("tcp", "TCP")),
];

const CPU: Row = Row {
    figure: Figure::Named("cpu_seconds"),
    unit: Unit::CPU_SECONDS,
    ..row("load-16-cpu", "CPU seconds of the same", lab(16, PAPER, LOAD_704), COLLECTIVE)
};

/// Where shared memory is not the point.
const STREAM: (Job, Unit) = {
    let words = "bench stream --bytes=67108864 --route=udp --impl=aurora,tcp";
    (Job { stage: Stage::Alone { ranks: 2, mtu: Some(1500) }, words, fewer: 1 }, Unit::rate_of(64 << 20))
};

const fn lossy(of_thousand: usize) -> Shape {
    Shape { lost_of_thousand: of_thousand, ..SMALL }
}

const fn lab(nodes: usize, shape: Shape, (words, payload): Words) -> (Job, Unit) {
    let unit = match payload {
        Some(operation) => Unit::bound_of(operation),
        None => Unit::MICROS.digits(1),
    };
    (Job { stage: Stage::Lab { nodes, shape }, words, fewer: 1 }, unit)
}

const fn row(name: &'static str, what: &'static str, (job, unit): (Job, Unit), reach: Reach) -> Row {
    Row { name, what, job, figure: Figure::Named("seconds"), kinds: [None; 2], unit, reach }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_is_that_of_the_words() {
        let bytes = |nodes, (words, payload): Words| {
            let size = words.split(['=', ' ']).find_map(|word| word.parse::<usize>().ok()).expect("a size");
            (size, payload.expect("a payload").most_into_a_rank(nodes))
        };
        for words in [LOAD_512, LOAD_704, LOAD_2048, LATE] {
            let (size, into) = bytes(4, words);
            assert_eq!(into, size / 4 * 3, "{words:?}");
        }
        for words in [GATHER, PULL] {
            let (size, into) = bytes(16, words);
            assert_eq!(into, size * 15, "{words:?}");
        }
        let (keys, into) = bytes(4, KEYS);
        assert!((keys * 75 / 100..keys * 76 / 100).contains(&into), "{into}");
        assert!(ROWS.iter().all(|row| row.starts_together() == (row.name != "late")));
    }
}
