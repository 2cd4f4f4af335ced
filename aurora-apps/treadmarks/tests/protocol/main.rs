//! The protocol: all schedules of small programs, random programs, the access patterns of the DSM studies.

mod exhaustive;
mod hostile;
mod messages;
mod patterns;
mod random;

/// Runs `test` with `count` seeds; `SEED=` sets the first seed. A panic prints the seed that replays it.
fn with_seeds(count: u64, test: impl Fn(&mut fastrand::Rng)) {
    let first = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let first = first.unwrap_or_else(|| fastrand::u64(..1 << 48));
    for seed in first..first + count {
        let run = std::panic::AssertUnwindSafe(|| test(&mut fastrand::Rng::with_seed(seed)));
        std::panic::catch_unwind(run).unwrap_or_else(|_| panic!("replay with SEED={seed}"));
    }
}
