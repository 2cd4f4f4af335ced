//! The access patterns of four of the nine programs of the comparison of TreadMarks with PVM, without their
//! arithmetic. The expected numbers are those of the comparison, or follow from its text.

use aurora_treadmarks::counts::Counts;
use aurora_treadmarks::sim::{Network, Sim, Step};

const RANKS: usize = 8;

/// The counts of all ranks together.
fn run(arrays: &[(usize, usize)], program: impl Fn(usize) -> Vec<Step>) -> Counts {
    let mut sim = Sim::new(arrays, (0..RANKS).map(program), Network::default());
    sim.run(|_, _, _| ()).expect("the ranks come to the same barriers");
    sim.counts().sum()
}

/// Half-sweeps of red-black SOR on 1024 x 3072 `f32`: a row of one colour has 6144 bytes.
fn sor(half_sweeps: usize) -> Counts {
    const ROWS: usize = 1024;
    const ROW: usize = 6144;
    const BAND: usize = ROWS / RANKS;
    run(&[(ROWS * ROW, ROW); 2], |rank| {
        let band = rank * BAND..(rank + 1) * BAND;
        // Other ranks see the first and the last row alone.
        let edges = [band.start, band.end - 1];
        let write = |half: usize, value: usize| {
            edges.map(|row| Step::Write(half, row * ROW, vec![value as u8 + 1; ROW])).into_iter()
        };
        let neighbours = [band.start.checked_sub(1), Some(band.end).filter(|row| *row < ROWS)];
        let read = |half| neighbours.into_iter().flatten().map(move |row| Step::Read(half, row * ROW..(row + 1) * ROW));
        let begin = write(0, 0).chain(write(1, 0)).chain([Step::Barrier]);
        let sweep = |sweep: usize| {
            let own = sweep % 2;
            read(1 - own).chain(write(own, sweep + 1)).chain([Step::Barrier])
        };
        begin.chain((0..half_sweeps).flat_map(sweep)).collect()
    })
}

#[test]
fn sor_takes_70_messages_a_half_sweep() {
    // The first iteration is not measured, as in the comparison.
    let counts = sor(101) - sor(1);
    assert_eq!(counts.barrier, 100 * 14);
    assert_eq!((counts.requests, counts.answers), (100 * 28, 100 * 28), "two pages of each of 14 edge rows");
    assert_eq!(counts.messages(), 7000, "with one barrier more the comparison's 7014");
    assert_eq!(counts.data, 8_601_600, "8602 KB; the comparison has 8853, headers included");
    assert_eq!((counts.one_request_a_page, counts.false_sharing, counts.accumulated), (1400, 0, 0));
}

#[test]
fn a_transpose_of_fft_takes_1792_messages() {
    const PLANE: usize = 64 * 64 * 16;
    const OWN: usize = 64 / RANKS;
    let transposes = |times: usize| {
        run(&[(64 * PLANE, PLANE)], |rank| {
            let write = move |time: usize| {
                (rank * OWN..(rank + 1) * OWN)
                    .map(move |plane| Step::Write(0, plane * PLANE, vec![time as u8 + 1; PLANE]))
            };
            let rows = |plane: usize| plane * PLANE + rank * OWN * 1024..plane * PLANE + (rank + 1) * OWN * 1024;
            let read = move || (0..64).map(move |plane| Step::Read(0, rows(plane)));
            let transpose = |time| write(time).chain([Step::Barrier]).chain(read()).chain([Step::Barrier]);
            (0..times).flat_map(transpose).collect()
        })
    };
    let counts = transposes(3) - transposes(2);
    assert_eq!(counts.requests + counts.answers, 1792, "two pages of each of 56 planes and rank, there and back");
    assert_eq!(counts.data, 56 * 8 * 8192);
}

#[test]
fn an_iteration_of_is_takes_78_messages_and_56_times_its_buckets() {
    // Each rank adds to all buckets under a lock, in the order of ranks; then all read all of them.
    let iterations = |pages: usize, times: usize| {
        let bytes = pages * 4096;
        run(&[(bytes, bytes)], |rank| {
            let iteration = |time: usize| {
                let sum = (time * RANKS + rank + 1) as u32;
                let sums = bytemuck::cast_slice(&vec![sum; bytes / 4]).to_vec();
                let turn = Step::Compute(rank as u64 * 1_000_000_000);
                [
                    turn,
                    Step::Acquire(0),
                    Step::Read(0, 0..bytes),
                    Step::Write(0, 0, sums),
                    Step::Release(0),
                    Step::Barrier,
                    Step::Read(0, 0..bytes),
                    Step::Barrier,
                ]
            };
            (0..times).flat_map(iteration).collect()
        })
    };
    for pages in [1, 32] {
        let counts = iterations(pages, 11) - iterations(pages, 1);
        assert_eq!(counts.barrier, 10 * 28);
        assert_eq!(counts.lock, 10 * 22);
        assert_eq!(counts.requests + counts.answers, 10 * 28 * pages as u64);
        assert_eq!(counts.data, 10 * 56 * pages as u64 * 4096);
        assert_eq!(counts.data - counts.accumulated, 10 * 14 * pages as u64 * 4096, "as much as message passing sends");
    }
    // The comparison's text has 782 messages for ten iterations with 2^10 buckets.
    assert_eq!((iterations(1, 11) - iterations(1, 1)).messages(), 780);
}

#[test]
fn a_step_of_barnes_asks_every_rank_for_every_page() {
    // Bodies that are near in space, and so belong to one rank, are scattered in memory.
    const BODY: usize = 112;
    const BODIES: usize = 4096;
    const PAGES: u64 = (BODIES * BODY / 4096) as u64;
    let steps = |times: usize| {
        run(&[(BODIES * BODY, BODIES * BODY)], |rank| {
            let step = |time: usize| {
                let own = (0..BODIES).filter(move |body| body % RANKS == rank);
                let update = own.map(move |body| Step::Write(0, body * BODY, vec![time as u8 + 1; 80]));
                let build = [Step::Read(0, 0..BODIES * BODY), Step::Barrier, Step::Barrier];
                build.into_iter().chain(update).chain([Step::Barrier])
            };
            (0..times).flat_map(step).collect()
        })
    };
    let counts = steps(3) - steps(2);
    assert_eq!(counts.messages(), PAGES * 112 + 42);
    assert_eq!(counts.false_sharing, PAGES * 8 * 6, "each reader asks seven writers");
    assert_eq!(counts.data, 7 * BODIES as u64 * 80);
}
