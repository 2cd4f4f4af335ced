//! What is drawn of simulations.

use super::chart::Measure;
use crate::chart::curves::Guide;

const PLAIN: Measure = Measure { title: "", axis: "", of: |_, _| None, cut: false, guide: Guide::None, note: "" };

/// By nodes.
pub const BY_NODES: [Measure; 7] = [
    Measure {
        title: "Imbalance",
        axis: "share in which nodes have nothing to do",
        of: |figures, _| Some(figures.imbalance),
        note: "The quantity of Figure 1 of the paper on super-programming.",
        ..PLAIN
    },
    Measure {
        title: "Communication",
        axis: "share in which nodes send and receive blocks",
        of: |figures, _| Some(figures.communication),
        note: "The quantity of Figure 2 of the paper on super-programming.",
        ..PLAIN
    },
    Measure {
        title: "Efficiency",
        axis: "share in which nodes compute",
        of: |figures, _| Some(figures.efficiency),
        cut: true,
        note: "What imbalance and communication leave of 1.",
        ..PLAIN
    },
    Measure {
        title: "Speed relative to S",
        axis: "time of S / time",
        of: |figures, base| {
            figures.parallelism?;
            base.filter(|_| figures.makespan > 0.0).map(|base| base.makespan / figures.makespan)
        },
        guide: Guide::One,
        note: "The quantity of Figure 2 of the paper on data representation. Below 1 S is faster.",
        ..PLAIN
    },
    PARALLELISM,
    Measure {
        title: "Cache misses",
        axis: "blocks asked for / operands read",
        of: |figures, _| figures.miss_ratio,
        note: "The quantity of Figure 4 of the paper on data representation.",
        ..PLAIN
    },
    Measure {
        title: "Synchronisation",
        axis: "time until a block is one incarnation, ms",
        of: |figures, _| figures.synchronisation.map(|units| units / 1e3),
        note: "The quantity of Figure 7 of the paper on data representation: from the last commitment on, of blocks that had several.",
        ..PLAIN
    },
];

/// By instructions in flight.
pub const BY_LIMIT: [Measure; 2] = [
    Measure {
        title: "Time",
        axis: "until the last instruction has run, s",
        of: |figures, _| Some(figures.makespan / 1e6),
        note: "The quantity of Figure 5 of the paper on data representation.",
        ..PLAIN
    },
    PARALLELISM,
];

const PARALLELISM: Measure = Measure {
    title: "Actual parallelism",
    axis: "instructions delivered and not committed, on a node",
    of: |figures, _| figures.parallelism,
    note: "The quantity of Figures 3 and 6 of the paper on data representation.",
    ..PLAIN
};
