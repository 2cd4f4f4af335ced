//! The rows of the table.

use aurora_suite::figures::job::Stage;
use aurora_suite::figures::row::{Figure, Job, Reach, Row, Unit};

const fn job(ranks: usize, words: &'static str) -> Job {
    long(ranks, words, 1)
}

const fn long(ranks: usize, words: &'static str, fewer: usize) -> Job {
    Job { stage: Stage::Node { ranks }, words, fewer }
}

const LOAD_4: Job = job(2, "bench read-cache --bytes=4194304 --impl=aurora,mpi-collective");
const LOAD_64: Job = job(2, "bench read-cache --bytes=67108864 --impl=aurora,mpi-collective");
const LOAD_512: Job = long(2, "bench read-cache --bytes=536870912 --impl=aurora,mpi-collective", 2);
const LOAD_4_BY_4: Job = job(4, "bench read-cache --bytes=4194304 --impl=aurora,mpi-collective");
const LOAD_64_BY_4: Job = job(4, "bench read-cache --bytes=67108864 --impl=aurora,mpi-collective");
const LOAD_512_BY_4: Job = long(4, "bench read-cache --bytes=536870912 --impl=aurora,mpi-collective", 2);
const OURS_ALONE: Job = long(4, "bench read-cache --bytes=536870912 --impl=aurora", 5);
const MPI_ALONE: Job = long(4, "bench read-cache --bytes=536870912 --impl=mpi-collective", 5);
const GET: Job = job(2, "bench get --impl=aurora,mpi-isend");
const PUT: Job = job(2, "bench put --impl=aurora,mpi-isend");
const LOCAL: Job = job(2, "bench local");
const UPDATES_1E6: Job = job(2, "bench updates --table=1000000 --impl=aurora,mpi-alltoallv");
const UPDATES_1E8: Job = job(2, "bench updates --table=100000000 --impl=aurora,mpi-alltoallv");
const READS_1E6: Job = job(2, "bench reads --table=1000000 --impl=aurora,mpi-alltoallv");
const READS_1E8: Job = job(2, "bench reads --table=100000000 --impl=aurora,mpi-alltoallv");
const BARRIER: Job = job(2, "bench barrier --impl=aurora,mpi-collective");
const BARRIER_BY_4: Job = job(4, "bench barrier --impl=aurora,mpi-collective");
const REDUCE_8: Job = job(2, "bench all-reduce --bytes=8 --impl=aurora,mpi-collective");
const REDUCE_8_BY_3: Job = job(3, "bench all-reduce --bytes=8 --impl=aurora,mpi-collective");
const REDUCE_8_BY_7: Job = job(7, "bench all-reduce --bytes=8 --impl=aurora,mpi-collective");
const REDUCE_8K: Job = job(2, "bench all-reduce --bytes=8192 --impl=aurora,mpi-collective");
const REDUCE_8K_BY_3: Job = job(3, "bench all-reduce --bytes=8192 --impl=aurora,mpi-collective");
const REDUCE_1M: Job = job(2, "bench all-reduce --bytes=1048576 --impl=aurora,mpi-collective");
const MM2: Job = job(2, "mm2 --size=704 --impl=aurora,mpi-collective");
const PSRS: Job = job(2, "psrs --keys=8388608 --impl=aurora,rayon");
const MM2_ALL: Job = job(2, "mm2 --size=704 --impl=aurora,mpi-collective,mpi-isend");
const PSRS_ALL: Job = job(2, "psrs --keys=8388608 --impl=aurora,mpi-collective,mpi-isend");
const DIFFUSION: Job = job(2, "diffusion --impl=aurora,mpi-collective,mpi-isend");
const DIFFUSION_SMALL: Job =
    job(2, "diffusion --rows=200 --cols=200 --steps=2000 --impl=aurora,mpi-collective,mpi-isend");
const HISTOGRAM: Job = job(2, "histogram --impl=accumulate,mpi-collective,mpi-isend");
const HISTOGRAM_LARGE: Job = job(2, "histogram --table=10000000 --impl=aurora,mpi-collective,mpi-isend");
const TSP: Job = job(2, "tsp --impl=aurora,mpi-collective,mpi-isend");
const FETCH_ADD: Job = job(2, "bench fetch-add");
const SCALAR_SUM: Job = job(2, "bench scalar-sum");
const TOUCH: Job = job(2, "bench first-touch --bytes=67108864");

/// All of them.
pub const ROWS: [Row; 50] = [
    row("load-4", "ReadCache of 4 MiB, ready after the last rank has entered", ready(LOAD_4, 5.0)),
    row("load-64", "ReadCache of 64 MiB, ready", ready(LOAD_64, 5.0)),
    row("load-512", "ReadCache of 512 MiB, ready", ready(LOAD_512, 5.0)),
    row("read-4", "ReadCache of 4 MiB and one full read", with_read(LOAD_4)),
    row("read-64", "ReadCache of 64 MiB and one full read", with_read(LOAD_64)),
    row("read-512", "ReadCache of 512 MiB and one full read", with_read(LOAD_512)),
    row("load-4-by-4", "ReadCache of 4 MiB, ready after the last rank has entered", ready(LOAD_4_BY_4, 60.0)),
    row("load-64-by-4", "ReadCache of 64 MiB, ready", ready(LOAD_64_BY_4, 60.0)),
    row("load-512-by-4", "ReadCache of 512 MiB, ready", ready(LOAD_512_BY_4, 60.0)),
    row("read-4-by-4", "ReadCache of 4 MiB and one full read", with_read(LOAD_4_BY_4)),
    row("read-64-by-4", "ReadCache of 64 MiB and one full read", with_read(LOAD_64_BY_4)),
    row("read-512-by-4", "ReadCache of 512 MiB and one full read", with_read(LOAD_512_BY_4)),
    row("memory", "physical memory (PSS) of all ranks that cache 512 MiB", pss(OURS_ALONE, Reach::AtMost(560.0))),
    row("memory-mpi", "the same with Open MPI's allgather", pss(MPI_ALONE, Reach::Nothing)),
    row("get", "`at` of 8 bytes of another rank's", single(GET, 0.1)),
    row("put", "`put` of 8 bytes of another rank's", single(PUT, 0.1)),
    row("fetch-add", "`fetch_add` of a GScalar of another rank's", single(FETCH_ADD, 0.2)),
    row("scalar-sum", "`accumulate` into a GScalar by all, then `read_cache`", single(SCALAR_SUM, 5.0)),
    row("at-8", "`at` of 8 bytes of its own, beside an index into a slice", local("at-8", Reach::AtMost(5.0))),
    row("at-64", "`at` of 64 bytes of its own", local("at-64", Reach::AtMost(20.0))),
    row("put-8", "`put` of 8 bytes of its own", local("put-8", Reach::Nothing)),
    row("guard-at", "`at` of 8 bytes inside an OwnerComputes", local("guard-at", Reach::OfBeside(1.1))),
    row("guard-index", "an index into an OwnerComputes", local("guard-index", Reach::OfBeside(1.1))),
    row("guard-open", "opening and closing an OwnerComputes", local("guard-open", Reach::AtMost(1000.0))),
    row("updates-1e6", "random updates by ReleaseC, T = 1e6", rate(UPDATES_1E6, 200.0)),
    row("updates-1e8", "random updates by ReleaseC, T = 1e8", rate(UPDATES_1E8, 100.0)),
    row("reads-1e6", "random reads by `at_many`, T = 1e6", rate(READS_1E6, 150.0)),
    row("reads-1e8", "random reads by `at_many`, T = 1e8", rate(READS_1E8, 80.0)),
    row("barrier", "barrier", single(BARRIER, 1.0)),
    row("barrier-by-4", "barrier", single(BARRIER_BY_4, 10.0)),
    row("reduce-8", "`all_reduce` of 8 bytes", no_slower(REDUCE_8)),
    row("reduce-8-by-3", "`all_reduce` of 8 bytes", no_slower(REDUCE_8_BY_3)),
    row("reduce-8-by-7", "`all_reduce` of 8 bytes", no_slower(REDUCE_8_BY_7)),
    row("reduce-8k", "`all_reduce` of 8 KiB", no_slower(REDUCE_8K)),
    row("reduce-8k-by-3", "`all_reduce` of 8 KiB", no_slower(REDUCE_8K_BY_3)),
    row("reduce-1m", "`all_reduce` of 1 MiB", no_slower(REDUCE_1M)),
    row("mm2", "mm2 704, tiled: time of sharing by time of computing", SHARING),
    row("psrs", "psrs of 8 Mi keys, beside rayon's `par_sort_unstable` on as many threads", program(PSRS)),
    row("mm2-704", "mm2, 704 x 704", program(MM2_ALL)),
    row("psrs-8m", "psrs of 8 Mi keys", program(PSRS_ALL)),
    row("diffusion-1000", "diffusion on 1000 x 1000 cells, 100 steps", program(DIFFUSION)),
    row("diffusion-200", "diffusion on 200 x 200 cells, 2000 steps", program(DIFFUSION_SMALL)),
    row("histogram-1e5", "histogram by Accumulate, a table of 1e5, 1e6 updates", program(HISTOGRAM)),
    row("histogram-1e7", "histogram by ReleaseC, a table of 1e7, 1e6 updates", program(HISTOGRAM_LARGE)),
    row("tsp", "tsp, its default instance", program(TSP)),
    row("touch-anonymous", "first touch of 64 MiB of anonymous memory", touch("anonymous")),
    row("touch-huge", "with huge pages advised", touch("huge-pages")),
    row("touch-memfd", "of a memfd", touch("memfd")),
    row("touch-first", "by the first ReadCache of a vector, with one full read", touch("first-read-cache")),
    row("touch-second", "by a later one", touch("second-read-cache")),
];

/// A row without its names.
type Content = (Job, Figure, [Option<&'static str>; 2], Unit, Reach);

const fn row(name: &'static str, what: &'static str, content: Content) -> Row {
    let (job, figure, kinds, unit, reach) = content;
    Row { name, what, job, figure, kinds, unit, reach }
}

const fn of(job: Job, figure: &'static str, unit: Unit, reach: Reach) -> Content {
    (job, Figure::Named(figure), [None; 2], unit, reach)
}

const fn program(job: Job) -> Content {
    of(job, "seconds", Unit::MILLIS, Reach::OfBeside(1.0))
}

const fn ready(job: Job, micros: f64) -> Content {
    of(job, "ready_seconds", Unit::MICROS, Reach::AtMost(micros))
}

const fn with_read(job: Job) -> Content {
    of(job, "with_read_seconds", Unit::MILLIS, Reach::OfBeside(0.6))
}

const fn single(job: Job, micros: f64) -> Content {
    of(job, "seconds", Unit::MICROS, Reach::AtMost(micros))
}

const fn no_slower(job: Job) -> Content {
    of(job, "seconds", Unit::MICROS, Reach::OfBeside(1.0))
}

const fn rate(job: Job, millions: f64) -> Content {
    of(job, "per_second", Unit::MILLIONS, Reach::AtLeast(millions))
}

const fn pss(job: Job, reach: Reach) -> Content {
    of(job, "pss_bytes", Unit::MEBIBYTES, reach)
}

const fn local(kind: &'static str, reach: Reach) -> Content {
    (LOCAL, Figure::Named("seconds"), [Some(kind), Some("slice")], Unit::NANOS, reach)
}

const fn touch(kind: &'static str) -> Content {
    (TOUCH, Figure::Named("gigabytes_per_second"), [Some(kind), None], Unit::GIGABYTES, Reach::Nothing)
}

const SHARING: Content = (MM2, Figure::SharingByComputing, [None; 2], Unit::PERCENT, Reach::AtMost(1.0));
