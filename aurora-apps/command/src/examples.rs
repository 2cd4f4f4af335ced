//! Three example commands for each help text, as users type them.

/// Returns the examples of a command, by the words behind `aurora`.
pub fn of(words: &str) -> Option<[&'static str; 3]> {
    let (_, examples) = EXAMPLES.iter().find(|(command, _)| *command == words)?;
    Some(*examples)
}

/// Returns an example of the file that a command reads, and its explanation.
pub fn file_of(words: &str) -> Option<&'static str> {
    (words == "model").then_some(MODEL_FILE)
}

/// Two machines, each measured on one processor, and two runs on several processors.
const MODEL_FILE: &str = "\
# Text after `#` is a comment. Separate cells by spaces or by tabs.
total  SH  CSNT  seconds    speedup   efficiency
1      1   0     35609.729  1         100
1      0   1     37839.885  0.941063  100
6      4   2     7782.309   4.575728  77.7904
8      6   2     5633.393   -         -
PW     1   0.9411

seconds     elapsed time of the run
speedup     printed value, optional: `min T_j / T`, with T_j the time on one processor of j
efficiency  printed value in per cent, optional: speed-up / sum of W over the processors
total       number of processors, optional
SH, CSNT    machines, as all other columns: number of processors of the machine in the run
PW          optional row of printed power weights `W = min T_j / T_j`, one for each machine
-           value that is not known; for a machine, no processors

Each machine needs a run on one of its processors. Printed values are compared with the
recomputed ones. In JSON, each row is an object:
[{\"SH\": 1, \"seconds\": 9}, {\"CSNT\": 1, \"seconds\": 12}, {\"total\": \"PW\", \"SH\": 1, \"CSNT\": 0.75}]

The output has for each run the heterogeneity:
H   sum of 1 - W over the processors / number of machines in use: 0 if all processors are of
    the fastest machine; it can exceed 1
H'  the same sum / number of processors, from 0 to below 1: the share of power that is missing";

const EXAMPLES: [(&str, [&str; 3]); 36] = [
    ("", ["aurora mm2", "aurora run -n 4 ./my-program", "aurora check -n 4 -- ./my-program"]),
    ("mm2", ["aurora mm2", "aurora mm2 --size 2048 --ranks 2", "mpirun -n 2 aurora mm2 --impl aurora,mpi-isend"]),
    ("psrs", ["aurora psrs", "aurora psrs --keys 32M --input zipf", "aurora psrs --keys 8Mi --impl aurora,rayon"]),
    (
        "histogram",
        [
            "aurora histogram",
            "aurora histogram --table 1M --impl aurora,accumulate",
            "aurora histogram --table 1000 --updates 2000 --impl aurora,naive --route udp",
        ],
    ),
    (
        "wordcount",
        [
            "aurora wordcount",
            "aurora wordcount --bytes 100M --words 1M",
            "mpirun -n 2 aurora wordcount --impl aurora,mpi-collective",
        ],
    ),
    (
        "indexgather",
        [
            "aurora indexgather",
            "aurora indexgather --table 100M --reads 5M",
            "aurora indexgather --table 1M --reads 5000 --impl aurora,naive --route udp",
        ],
    ),
    (
        "diffusion",
        [
            "aurora diffusion",
            "aurora diffusion --rows 4000 --cols 4000 --steps 50",
            "aurora diffusion --ranks 2 --weights 1,3",
        ],
    ),
    (
        "sor",
        ["aurora sor", "aurora sor --size paper --impl aurora,pages,treadmarks", "aurora sor --size s --impl naive"],
    ),
    (
        "sparse-mm",
        [
            "aurora sparse-mm",
            "aurora sparse-mm --size 1000 --density 5% --block 100",
            "aurora sparse-mm --impl aurora,sequential --ranks 2",
        ],
    ),
    (
        "cholesky",
        [
            "aurora cholesky",
            "aurora cholesky --size 3000 --tile 200 --policy S",
            "aurora cholesky --impl aurora,sequential --ranks 2",
        ],
    ),
    (
        "farm",
        [
            "aurora farm",
            "aurora farm --speed 1,1,3 --policy R,ect --units 20",
            "aurora farm --ranks 4 --units 64 --steps 8 --drawn --unit-seconds 0.5 --json",
        ],
    ),
    (
        "tsp",
        ["aurora tsp", "aurora tsp --cities 22 --seed 2 --impl aurora,sequential", "aurora tsp --file my-cities.tsp"],
    ),
    (
        "run",
        [
            "aurora run -n 4 ./my-program",
            "aurora run -n 4 --route udp ./my-program --its-option",
            "aurora run -n 8 --launcher mpirun --hostfile hosts ./my-program",
        ],
    ),
    (
        "check",
        [
            "aurora check -n 4 -- ./my-program",
            "aurora check --limit 60 -- cargo run --example my-example",
            "aurora check -n 2 --launcher mpirun -- ./my-program --its-option",
        ],
    ),
    ("info", ["aurora info", "aurora info --ranks 2 --route udp", "mpirun -n 2 aurora info --json"]),
    (
        "report",
        [
            "aurora mm2 --json | aurora report - --out page.html",
            "aurora report runs.json --out page.html",
            "aurora report monday.json tuesday.json --out page.html --title 'Two days'",
        ],
    ),
    (
        "model",
        [
            "aurora model runs.tsv",
            "aurora model runs.tsv --predict SH=6,CSNT=2",
            "aurora model runs.tsv --farm 64 --unit-seconds 0.5",
        ],
    ),
    (
        "simulate",
        [
            "aurora simulate --nodes 4,16,64",
            "aurora simulate --policy S,tail --speeds homogeneous --speeds 1:3",
            "aurora simulate --within 60 --blocks 64 --rows 32768 --density 5% --bandwidth 155 --instruction 20",
        ],
    ),
    ("completions", ["aurora completions bash", "aurora completions zsh", "aurora completions fish"]),
    (
        "bench",
        [
            "aurora bench read-cache",
            "aurora bench updates --table 1M",
            "mpirun -n 2 aurora bench put --impl aurora,mpi-isend",
        ],
    ),
    (
        "bench read-cache",
        [
            "aurora bench read-cache",
            "aurora bench read-cache --bytes 256M --ranks 2",
            "mpirun -n 2 aurora bench read-cache --impl aurora,mpi-collective",
        ],
    ),
    (
        "bench exchange",
        [
            "aurora bench exchange",
            "aurora bench exchange --keys 32M --route udp",
            "mpirun -n 2 aurora bench exchange --impl aurora,mpi-collective,mpi-isend",
        ],
    ),
    (
        "bench gather",
        [
            "aurora bench gather",
            "aurora bench gather --bytes 16M --pull",
            "mpirun -n 2 aurora bench gather --impl aurora,mpi-collective",
        ],
    ),
    (
        "bench get",
        [
            "aurora bench get",
            "aurora bench get --target computing --route udp",
            "mpirun -n 2 aurora bench get --impl aurora,mpi-isend",
        ],
    ),
    (
        "bench put",
        [
            "aurora bench put",
            "aurora bench put --target computing --route udp",
            "mpirun -n 2 aurora bench put --impl aurora,mpi-isend",
        ],
    ),
    (
        "bench fetch-add",
        ["aurora bench fetch-add", "aurora bench fetch-add --tasks", "aurora bench fetch-add --ranks 2 --route udp"],
    ),
    (
        "bench scalar-sum",
        ["aurora bench scalar-sum", "aurora bench scalar-sum --ranks 4", "aurora bench scalar-sum --route udp --json"],
    ),
    ("bench local", ["aurora bench local", "aurora bench local --ranks 1", "aurora bench local --reps 100 --json"]),
    (
        "bench barrier",
        [
            "aurora bench barrier",
            "aurora bench barrier --ranks 4 --route udp",
            "mpirun -n 2 aurora bench barrier --impl aurora,mpi-collective",
        ],
    ),
    (
        "bench all-reduce",
        [
            "aurora bench all-reduce",
            "aurora bench all-reduce --bytes 8K --route udp",
            "mpirun -n 2 aurora bench all-reduce --bytes 1M --impl aurora,mpi-collective",
        ],
    ),
    (
        "bench stream",
        [
            "aurora bench stream",
            "aurora bench stream --bytes 256M --impl aurora,tcp",
            "mpirun -n 2 aurora bench stream --impl aurora,mpi-isend",
        ],
    ),
    (
        "bench copy",
        ["aurora bench copy", "aurora bench copy --bytes 64M", "aurora bench copy --target computing --route udp"],
    ),
    (
        "bench updates",
        [
            "aurora bench updates",
            "aurora bench updates --table 100M --updates 1M",
            "mpirun -n 2 aurora bench updates --impl aurora,mpi-alltoallv",
        ],
    ),
    (
        "bench reads",
        [
            "aurora bench reads",
            "aurora bench reads --table 100M --reads 1M --batch 1000",
            "mpirun -n 2 aurora bench reads --impl aurora,mpi-alltoallv",
        ],
    ),
    (
        "bench first-touch",
        [
            "aurora bench first-touch",
            "aurora bench first-touch --bytes 256M",
            "aurora bench first-touch --ranks 1 --json",
        ],
    ),
    (
        "bench check-cost",
        [
            "aurora bench check-cost",
            "aurora bench check-cost --app mm2,psrs",
            "aurora bench check-cost --ranks 3 --route udp",
        ],
    ),
];
