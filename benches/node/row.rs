//! The rows of the table.

use aurora_suite::figures::job::Stage;
use aurora_suite::figures::row::Reach::{Any, Limit, OfBeside};
use aurora_suite::figures::row::{Figure, Job, Reach, Row, Scale, row};

const fn job(words: &'static str) -> Job {
    Job { stage: Stage::Node, ranks: 2, words, fewer: 1, payload: None }
}

const fn by(ranks: usize, job: Job) -> Job {
    Job { ranks, ..job }
}

const fn long(fewer: usize, job: Job) -> Job {
    Job { fewer, ..job }
}

const LOAD_4: Job = job("bench read-cache --bytes=4194304 --impl=aurora,mpi-collective");
const LOAD_64: Job = job("bench read-cache --bytes=67108864 --impl=aurora,mpi-collective");
const LOAD_512: Job = long(2, job("bench read-cache --bytes=536870912 --impl=aurora,mpi-collective"));
const OURS_ALONE: Job = long(5, by(4, job("bench read-cache --bytes=536870912 --impl=aurora")));
const MPI_ALONE: Job = long(5, by(4, job("bench read-cache --bytes=536870912 --impl=mpi-collective")));
const GET: Job = job("bench get --impl=aurora,mpi-isend");
const PUT: Job = job("bench put --impl=aurora,mpi-isend");
const LOCAL: Job = job("bench local");
const UPDATES_1E6: Job = job("bench updates --table=1000000 --impl=aurora,mpi-alltoallv");
const UPDATES_1E8: Job = job("bench updates --table=100000000 --impl=aurora,mpi-alltoallv");
const READS_1E6: Job = job("bench reads --table=1000000 --impl=aurora,mpi-alltoallv");
const READS_1E8: Job = job("bench reads --table=100000000 --impl=aurora,mpi-alltoallv");
const BARRIER: Job = job("bench barrier --impl=aurora,mpi-collective");
const REDUCE_8: Job = job("bench all-reduce --bytes=8 --impl=aurora,mpi-collective");
const REDUCE_8K: Job = job("bench all-reduce --bytes=8192 --impl=aurora,mpi-collective");
const REDUCE_1M: Job = job("bench all-reduce --bytes=1048576 --impl=aurora,mpi-collective");
const SCALAR: Job = job("bench scalar-sum");
const MM2: Job = job("mm2 --size=704 --impl=aurora,mpi-collective");
const PSRS: Job = job("psrs --keys=8388608 --impl=aurora,rayon");
const PSRS_ALL: Job = job("psrs --keys=8388608 --impl=aurora,mpi-collective,mpi-isend");
const DIFFUSION: Job = job("diffusion --impl=aurora,mpi-collective,mpi-isend");
const DIFFUSION_SMALL: Job = job("diffusion --rows=200 --cols=200 --steps=2000 --impl=aurora,mpi-collective,mpi-isend");
const HISTOGRAM: Job = job("histogram --impl=accumulate,mpi-collective,mpi-isend");
const HISTOGRAM_LARGE: Job = job("histogram --table=10000000 --impl=aurora,mpi-collective,mpi-isend");
const TOUCH: Job = job("bench first-touch --bytes=67108864");

const COPY_64K: Job = job("bench copy --bytes=65536");
const COPY_1M: Job = job("bench copy --bytes=1048576");
const COPY_1M_BUSY: Job = job("bench copy --bytes=1048576 --target=computing");
const COPY_64M: Job = job("bench copy --bytes=67108864");
const COPY_2G: Job = long(2, job("bench copy --bytes=2147483648"));

const NANOS: Figure = Figure::new("seconds", "ns", 1e9);
const MICROS: Figure = Figure::new("seconds", "us", 1e6);
const MILLIS: Figure = Figure::new("seconds", "ms", 1e3);
const READY: Figure = Figure::new("ready_seconds", "us", 1e6);
const WITH_READ: Figure = Figure::new("with_read_seconds", "ms", 1e3);
const MEMORY: Figure = Figure::new("pss_bytes", "MiB", 1.0 / (1 << 20) as f64);
const SHARING: Figure = Figure { scale: Scale::OfComputing, ..Figure::new("sharing_seconds", "%", 100.0) };
const PER_SECOND: Figure = Figure::new("per_second", "million/s", 1e-6);

const fn own(kind: &'static str) -> Figure {
    Figure { kinds: [Some(kind), Some("slice")], ..NANOS }
}

const fn fresh(kind: &'static str) -> Figure {
    Figure { kinds: [Some(kind), None], ..Figure::new("gigabytes_per_second", "GB/s", 1.0) }
}

const VECTOR: Figure = Figure { kinds: [Some("vector"), Some("memfd")], ..fresh("vector") };

const fn copied(figure: Figure) -> Figure {
    Figure { kinds: [Some("distmemcpy"), Some("memcpy")], ..figure }
}

const FASTER: Reach = OfBeside(1.0);

/// All rows of the table.
pub const ROWS: [Row; 56] = [
    row("load-4", "ReadCache of 4 MiB, ready after the last rank has entered", LOAD_4, READY, Limit(5.0)),
    row("load-64", "ReadCache of 64 MiB, ready", LOAD_64, READY, Limit(5.0)),
    row("load-512", "ReadCache of 512 MiB, ready", LOAD_512, READY, Limit(5.0)),
    row("read-4", "ReadCache of 4 MiB and one full read", LOAD_4, WITH_READ, OfBeside(0.6)),
    row("read-64", "ReadCache of 64 MiB and one full read", LOAD_64, WITH_READ, OfBeside(0.6)),
    row("read-512", "ReadCache of 512 MiB and one full read", LOAD_512, WITH_READ, OfBeside(0.6)),
    row("load-4-by-4", "ReadCache of 4 MiB, ready after the last rank has entered", by(4, LOAD_4), READY, Limit(60.0)),
    row("load-64-by-4", "ReadCache of 64 MiB, ready", by(4, LOAD_64), READY, Limit(60.0)),
    row("load-512-by-4", "ReadCache of 512 MiB, ready", by(4, LOAD_512), READY, Limit(60.0)),
    row("read-4-by-4", "ReadCache of 4 MiB and one full read", by(4, LOAD_4), WITH_READ, OfBeside(0.6)),
    row("read-64-by-4", "ReadCache of 64 MiB and one full read", by(4, LOAD_64), WITH_READ, OfBeside(0.6)),
    row("read-512-by-4", "ReadCache of 512 MiB and one full read", by(4, LOAD_512), WITH_READ, OfBeside(0.6)),
    row("memory", "physical memory (PSS) of all ranks that cache 512 MiB", OURS_ALONE, MEMORY, Limit(560.0)),
    row("memory-mpi", "PSS of all ranks after Open MPI's allgather of 512 MiB", MPI_ALONE, MEMORY, Any),
    row("get", "`at` of 8 bytes on another rank; MPI: message and answer", GET, MICROS, Limit(0.1)),
    row("put", "`put` of 8 bytes on another rank; MPI: message and answer", PUT, MICROS, Limit(0.1)),
    row("copy-64k", "`distmemcpy` of 64 KiB, beside `memcpy`", COPY_64K, copied(MICROS), OfBeside(1.2)),
    row("copy-1m", "`distmemcpy` of 1 MiB", COPY_1M, copied(MICROS), OfBeside(1.2)),
    row("copy-1m-busy", "`distmemcpy` of 1 MiB, the other rank computes", COPY_1M_BUSY, copied(MICROS), OfBeside(1.2)),
    row("copy-64m", "`distmemcpy` of 64 MiB", COPY_64M, copied(MILLIS), OfBeside(1.2)),
    row("copy-2g", "`distmemcpy` of 2 GiB", COPY_2G, copied(MILLIS), OfBeside(1.2)),
    row("fetch-add", "`fetch_add` of a GScalar on another rank", job("bench fetch-add"), MICROS, Limit(0.2)),
    row("scalar-sum", "`accumulate` into a GScalar by all, then `read_cache`", SCALAR, MICROS, Limit(5.0)),
    row("at-8", "`at` of 8 bytes of its own, beside an index into a slice", LOCAL, own("at-8"), Limit(5.0)),
    row("at-64", "`at` of 64 bytes of its own", LOCAL, own("at-64"), Limit(20.0)),
    row("put-8", "`put` of 8 bytes of its own", LOCAL, own("put-8"), Any),
    row("guard-at", "`at` of 8 bytes inside an OwnerComputes", LOCAL, own("guard-at"), OfBeside(1.1)),
    row("guard-index", "an index into an OwnerComputes", LOCAL, own("guard-index"), OfBeside(1.1)),
    row("guard-open", "opening and closing an OwnerComputes", LOCAL, own("guard-open"), Limit(300.0)),
    row("updates-1e6", "random updates by ReleaseC of a table of 1e6", UPDATES_1E6, PER_SECOND, Limit(200.0)),
    row("updates-1e8", "random updates by ReleaseC of a table of 1e8", UPDATES_1E8, PER_SECOND, Limit(100.0)),
    row("reads-1e6", "random reads by `at_many` of a table of 1e6", READS_1E6, PER_SECOND, Limit(150.0)),
    row("reads-1e8", "random reads by `at_many` of a table of 1e8", READS_1E8, PER_SECOND, Limit(80.0)),
    row("barrier", "barrier", BARRIER, MICROS, Limit(1.0)),
    row("barrier-by-4", "barrier", by(4, BARRIER), MICROS, Limit(10.0)),
    row("reduce-8", "`all_reduce` of 8 bytes", REDUCE_8, MICROS, FASTER),
    row("reduce-8-by-3", "`all_reduce` of 8 bytes", by(3, REDUCE_8), MICROS, FASTER),
    row("reduce-8-by-7", "`all_reduce` of 8 bytes", by(7, REDUCE_8), MICROS, FASTER),
    row("reduce-8k", "`all_reduce` of 8 KiB", REDUCE_8K, MICROS, FASTER),
    row("reduce-8k-by-3", "`all_reduce` of 8 KiB", by(3, REDUCE_8K), MICROS, FASTER),
    row("reduce-1m", "`all_reduce` of 1 MiB", REDUCE_1M, MICROS, FASTER),
    row("mm2", "mm2 704, tiled: time of sharing by time of computing", MM2, SHARING, Limit(1.0)),
    row("psrs", "psrs of 8 Mi keys, beside rayon's `par_sort_unstable` on as many threads", PSRS, MILLIS, FASTER),
    row("mm2-704", "mm2, 704 x 704", job("mm2 --size=704 --impl=aurora,mpi-collective,mpi-isend"), MILLIS, FASTER),
    row("psrs-8m", "psrs of 8 Mi keys", PSRS_ALL, MILLIS, FASTER),
    row("diffusion-1000", "diffusion on 1000 x 1000 cells, 100 steps", DIFFUSION, MILLIS, FASTER),
    row("diffusion-200", "diffusion on 200 x 200 cells, 2000 steps", DIFFUSION_SMALL, MILLIS, FASTER),
    row("histogram-1e5", "histogram by Accumulate: 1e6 updates of a table of 1e5", HISTOGRAM, MILLIS, FASTER),
    row("histogram-1e7", "histogram by ReleaseC: 1e6 updates of a table of 1e7", HISTOGRAM_LARGE, MILLIS, FASTER),
    row("tsp", "tsp, a search of a millisecond", job("tsp --impl=aurora,mpi-collective,mpi-isend"), MILLIS, FASTER),
    row("touch-anonymous", "first touch of 64 MiB of anonymous memory", TOUCH, fresh("anonymous"), Any),
    row("touch-huge", "first touch of 64 MiB with huge pages advised", TOUCH, fresh("huge-pages"), Any),
    row("touch-memfd", "first touch of 64 MiB of a memfd", TOUCH, fresh("memfd"), Any),
    row("touch-vector", "a new vector, of which each rank fills 64 MiB, beside a memfd", TOUCH, VECTOR, OfBeside(4.0)),
    row("touch-first", "first touch of 64 MiB by a ReadCache, read once", TOUCH, fresh("first-read-cache"), Any),
    row("touch-second", "touch of 64 MiB by a later ReadCache, read once", TOUCH, fresh("second-read-cache"), Any),
];
